"""The search of `rounded_search`, compiled: nodes in arrays, everything rounded against the claim.

A node v holds two measures (p_v; r_v) as floats, which are taken exactly, and a weight w_v. What holds at every
moment is that the words have been split up so that their true measures are *at least* w_v (p_v; r_v): every step, every
scaling and every merging rounds down. So what rounding has dropped need not be followed: it is 1 − Σ w_v|p_v| of p,
and 1 − Σ w_v|r_v| of r, and `ends` counts it against both bounds.

All sums are of terms ≥ 0, so m of them are off by at most m units in the last place; each factor below allows for
twice that and more. Floats stay far from underflow, because what is below `_NOTHING` is dropped.
"""

from __future__ import annotations

import numpy as np

from symveil.languages.compiling import compiled
from symveil.verification.distances.sweeps import UNIT, flow_cost

# numba keeps compiled loops by this file alone: a digest of the others they use (tests/contracts/test_kept_loops.py)
COMPILED_FROM = "a1636c5a875b0ca9"

# columns of `figure` and `span`, which have a row for each node
WEIGHT, LOWER, UPPER, MINE, THEIRS = 0, 1, 2, 3, 4
START, END, DEPTH, CHILDREN, LAST_CHILD, HASH = 0, 1, 2, 3, 4, 5
# entries of `count`
NODES, ENTRIES, SHARES, WORK, VISITS = 0, 1, 2, 3, 4
# what `advance` came back for
DONE, ROOM, PAUSE = 0, 1, 2

_NOTHING = 2.0**-200
_CLOSED = 2.0**-42  # a gap that is not worth looking into
_STUCK = 1.0 - 2.0**-30  # a node that gives this much back to itself goes round for ever, as far as floats can tell
_SAME = 1.0 - 2.0**-40  # how close two nodes must be to be merged
_GRAIN = 2.0**32  # how finely they are told apart by their hash
_OFF_GRAIN = 0.381966  # so that fractions such as 1/2, which are common, do not lie on the edge of a grain
_BLOCK = 64
_TOLERANCE = 1e-13
_NARROW = 24  # states: as in `bracket`, where a node takes longer


@compiled
def ends(figure, nodes, alpha_above):
    """Both sums over all nodes, with what rounding dropped counted against them."""
    total, block = np.zeros(4), np.empty(4)
    for begin in range(0, nodes, _BLOCK):  # in blocks: then the errors are those of a block and of the blocks only
        block[:] = 0.0
        for v in range(begin, min(begin + _BLOCK, nodes)):
            weight = figure[v, WEIGHT]
            if weight > 0.0:
                for column in range(4):
                    block[column] += weight * figure[v, LOWER + column]
        for column in range(4):
            total[column] += block[column]
    lower, upper, mine, theirs = total[0], total[1], total[2], total[3]
    slack = (_BLOCK + nodes // _BLOCK + 9.0) * UNIT
    more = max(0.0, 1.0 - mine * (1.0 - slack)) * (1.0 + 4.0 * UNIT)
    less = max(0.0, 1.0 - theirs * (1.0 - slack)) * (1.0 + 4.0 * UNIT)
    lower = (lower * (1.0 - slack) - alpha_above * less * (1.0 + 4.0 * UNIT)) * (1.0 - 4.0 * UNIT)
    upper = (upper * (1.0 + slack) + more) * (1.0 + 4.0 * UNIT)
    return max(lower, 0.0), upper, more, less


@compiled
def set_gap(gaps, v, gap):
    """`gaps` is a tree in an array: leaves in its second half, and above them the larger one of each two."""
    at = len(gaps) // 2 + v
    gaps[at] = gap
    at //= 2
    while at > 0:
        gaps[at] = max(gaps[2 * at], gaps[2 * at + 1])
        at //= 2


@compiled
def widest(gaps):
    """The first node with the largest gap."""
    at, half = 1, len(gaps) // 2
    while at < half:
        at = 2 * at if gaps[2 * at] >= gaps[2 * at + 1] else 2 * at + 1
    return at - half


@compiled
def rehash(span, nodes, bucket):
    """Put all nodes but the first, which no word comes back to before it is met a second time, into an empty table."""
    for v in range(1, nodes):
        at = span[v, HASH] & (len(bucket) - 1)
        while bucket[at] >= 0:
            at = (at + 1) & (len(bucket) - 1)
        bucket[at] = v


@compiled
def sort_up(values, many):
    """The first `many` integers, sorted: by Shell's method, they are few."""
    gap = 1
    while 3 * gap < many:
        gap = 3 * gap + 1
    while gap > 0:
        for index in range(gap, many):
            moved, at = values[index], index
            while at >= gap and values[at - gap] > moved:
                values[at] = values[at - gap]
                at -= gap
            values[at] = moved
        gap //= 3


@compiled
def judge(states, mass, other, class_of, by_class, distance, alpha, alpha_above, relay_first, relays, spread, less):
    """Bounds on lv of two measures with one label, and on their masses: lower, upper, |p| and |r| from below."""
    many = len(states)
    slack = (many + 8.0) * UNIT
    mine, theirs, classes = 0.0, 0.0, 0.0
    for k in range(many):
        mine += mass[k]
        theirs += other[k]
    lower = mine - alpha_above * theirs
    lower = max(0.0, lower - slack * (mine + alpha_above * theirs))
    # bisimilar states show the same words, so what one of them has too little of the others may have too much of
    for k in range(many):
        by_class[class_of[states[k]], 0] += mass[k]
        by_class[class_of[states[k]], 1] += other[k]
    for k in range(many):
        own, their = by_class[class_of[states[k]], 0], alpha * by_class[class_of[states[k]], 1]
        classes += max(0.0, own - their + slack * (own + their))
        by_class[class_of[states[k]]] = 0.0
    upper = min(mine, classes) * (1.0 + slack)
    if mine > 0.0 and theirs > 0.0 and upper - lower > _CLOSED:
        chosen, need, scale = np.empty(many, np.int64), np.empty(many), np.empty(many)
        members, supply, spare = 0, False, 0.0
        for k in range(many):
            their = alpha * other[k]
            needed, size = mass[k] - their, mass[k] + their
            if abs(needed) > 8.0 * UNIT * size:
                chosen[members], need[members], scale[members] = states[k], needed, size
                members += 1
                supply = supply or needed > 0.0
            else:  # nothing, up to rounding
                spare += max(0.0, needed) + 8.0 * UNIT * size
        cost = 0.0
        if supply:
            cost = flow_cost(
                chosen[:members], need[:members], scale[:members], distance, alpha, relay_first, relays, spread,
                _TOLERANCE, less,
            )  # fmt: skip
        upper = min(upper, (cost + spare) * (1.0 + slack))
    return lower, max(lower, upper), mine * (1.0 - slack), theirs * (1.0 - slack)


@compiled
def is_same(span, state, entry, v, states, mass, other, depth):
    """How much of (mass; other) is a multiple of node v, from below; 0 if too little."""
    begin = span[v, START]
    if span[v, END] - begin != len(states) or span[v, DEPTH] != depth:
        return 0.0
    factor = 2.0
    for k in range(len(states)):
        if state[begin + k] != states[k]:
            return 0.0
        for held, new in ((entry[begin + k, 0], mass[k]), (entry[begin + k, 1], other[k])):
            if (held > 0.0) != (new > 0.0):
                return 0.0
            if held > 0.0:
                factor = min(factor, new / held)
    factor *= 1.0 - 4.0 * UNIT
    return factor if factor >= _SAME else 0.0


@compiled
def advance(
    first, successor, chance, label, rank, by_rank, comes_from, class_of, distance, alpha, alpha_above,
    relay_first, relays, spread, less,
    figure, span, state, entry, child, share, bucket, gaps, count, estimate,
    goal, required_below, required_above, horizon, budget, most_visits, pause,
):  # fmt: skip
    """Extend the node with the largest gap until the bracket is good enough, or nothing is open, or a limit is reached.

    `estimate` holds both ends without their rounding, and what rounding adds, as of the last time it was summed up.
    Words of all depths are alike where there is no horizon (−1). Returns DONE, or ROOM where the arrays are full, or
    PAUSE after `pause` visits.
    """
    size = len(label)
    ahead, by_class = np.zeros((size, 2)), np.zeros((size, 2))
    is_touched, touched = np.zeros(size, np.bool_), np.empty(size, np.int64)
    states, mass, other = np.empty(size, np.int64), np.empty(size), np.empty(size)
    resume = count[VISITS] + pause
    while True:
        low, high = estimate[0] - estimate[2], estimate[1] + estimate[3]
        if high - low <= goal and (low > required_above or high <= required_below):
            low, high, _, _ = ends(figure, count[NODES], alpha_above)
            if high - low <= goal and (low > required_above or high <= required_below):
                return DONE
            estimate[0], estimate[1], estimate[2], estimate[3] = low, high, 0.0, 0.0
        if gaps[1] <= 0.0 or count[WORK] >= budget or count[VISITS] >= most_visits:
            return DONE
        if count[NODES] + size > len(figure) or count[ENTRIES] + size > len(state) or count[SHARES] + size > len(child):
            return ROOM
        if count[VISITS] >= resume:
            return PAUSE
        count[VISITS] += 1
        v = widest(gaps)
        if span[v, LAST_CHILD] < 0:
            # --- one transition, rounded down ---
            many = 0
            for k in range(span[v, START], span[v, END]):
                for arc in range(first[state[k]], first[state[k] + 1]):
                    x = successor[arc]
                    if not is_touched[x]:
                        is_touched[x] = True
                        touched[many] = rank[x]
                        many += 1
                    ahead[x, 0] += entry[k, 0] * chance[arc]
                    ahead[x, 1] += entry[k, 1] * chance[arc]
            sort_up(touched, many)
            depth = span[v, DEPTH] + 1 if horizon >= 0 else 0
            span[v, CHILDREN] = count[SHARES]
            done = 0
            while done < many:
                # --- the states of one label: scaled, rounded down ---
                code, total, end = label[by_rank[touched[done]]], 0.0, done
                while end < many and label[by_rank[touched[end]]] == code:
                    x = by_rank[touched[end]]
                    down = 1.0 - (comes_from[x] + 4.0) * UNIT
                    ahead[x, 0] *= down
                    ahead[x, 1] *= down
                    total += ahead[x, 0] + ahead[x, 1]
                    end += 1
                members, support = 0, 0
                mixed = np.uint64(1469598103934665603) + np.uint64(depth)
                for k in range(done, end):
                    x = by_rank[touched[k]]
                    if total > _NOTHING:
                        mine = ahead[x, 0] / total * (1.0 - 4.0 * UNIT)
                        theirs = ahead[x, 1] / total * (1.0 - 4.0 * UNIT)
                        mine = mine if mine > _NOTHING else 0.0
                        theirs = theirs if theirs > _NOTHING else 0.0
                        if mine > 0.0 or theirs > 0.0:
                            states[members], mass[members], other[members] = x, mine, theirs
                            members += 1
                            support += (mine > 0.0) + (theirs > 0.0)
                            for grains in (x, int(mine * _GRAIN + _OFF_GRAIN), int(theirs * _GRAIN + _OFF_GRAIN)):
                                mixed = (mixed ^ np.uint64(grains)) * np.uint64(1099511628211)
                                mixed ^= mixed >> np.uint64(29)
                    ahead[x] = 0.0
                    is_touched[x] = False
                done = end
                if members == 0:
                    continue
                # --- a node that is there already, or a new one ---
                key = np.int64(mixed >> np.uint64(2))
                at = key & (len(bucket) - 1)
                factor = 0.0
                while bucket[at] >= 0:
                    if span[bucket[at], HASH] == key:
                        factor = is_same(
                            span, state, entry, bucket[at], states[:members], mass[:members], other[:members], depth
                        )
                        if factor > 0.0:
                            break
                    at = (at + 1) & (len(bucket) - 1)
                if factor == 0.0:
                    new = count[NODES]
                    bucket[at] = new
                    count[NODES] += 1
                    count[WORK] += 1 + (support // _NARROW) ** 2
                    begin = count[ENTRIES]
                    count[ENTRIES] += members
                    state[begin : begin + members] = states[:members]
                    entry[begin : begin + members, 0] = mass[:members]
                    entry[begin : begin + members, 1] = other[:members]
                    span[new, START], span[new, END] = begin, begin + members
                    span[new, DEPTH], span[new, HASH], span[new, LAST_CHILD] = depth, key, -1
                    figure[new, WEIGHT] = 0.0
                    (figure[new, LOWER], figure[new, UPPER], figure[new, MINE], figure[new, THEIRS]) = judge(
                        states[:members], mass[:members], other[:members], class_of, by_class, distance, alpha,
                        alpha_above, relay_first, relays, spread, less,
                    )  # fmt: skip
                    factor = 1.0
                child[count[SHARES]] = bucket[at]
                share[count[SHARES]] = total * factor * (1.0 - 2.0 * UNIT)
                count[SHARES] += 1
            span[v, LAST_CHILD] = count[SHARES]
        # --- the weight moves on; what comes straight back goes round for ever: a geometric series ---
        set_gap(gaps, v, 0.0)
        back = 0.0
        for k in range(span[v, CHILDREN], span[v, LAST_CHILD]):
            if child[k] == v:
                back += share[k] * (1.0 - 2.0 * UNIT)
        if back >= _STUCK:
            continue  # the weight stays, and so do its bounds
        weight = figure[v, WEIGHT]
        figure[v, WEIGHT] = 0.0
        estimate[0] -= weight * figure[v, LOWER]
        estimate[1] -= weight * figure[v, UPPER]
        if back > 0.0:
            weight = weight / (1.0 - back) * (1.0 - 4.0 * UNIT)
        for k in range(span[v, CHILDREN], span[v, LAST_CHILD]):
            u = child[k]
            if u == v:
                continue
            given = weight * share[k] * (1.0 - 2.0 * UNIT)
            if not given > _NOTHING:
                continue
            figure[u, WEIGHT] = (figure[u, WEIGHT] + given) * (1.0 - UNIT) if figure[u, WEIGHT] > 0.0 else given
            estimate[0] += given * figure[u, LOWER]
            estimate[1] += given * figure[u, UPPER]
            gap = figure[u, UPPER] - figure[u, LOWER]
            if gap > _CLOSED and not 0 <= horizon <= span[u, DEPTH]:
                set_gap(gaps, u, figure[u, WEIGHT] * gap)
