"""The search of `rounded_search`, compiled: nodes in arrays, everything rounded against the claim.

A node v holds two measures (p_v; r_v) as floats, which are taken exactly, and a weight w_v. What holds at every
moment is that the words have been split up so that their true measures are *at least* w_v (p_v; r_v): every step, every
scaling and every merging rounds down. So what rounding has dropped need not be followed: it is 1 − Σ w_v|p_v| of p,
and 1 − Σ w_v|r_v| of r, and `ends` counts it against both bounds.

All sums are of terms ≥ 0, so m of them are off by at most m units in the last place; each factor below allows for
twice that and more. Floats stay far from underflow, because what is below `_NOTHING` is dropped.
"""

from __future__ import annotations

import cython
import numpy as np

from symveil.numbers.compiled import built_from

if not cython.compiled:
    from symveil.numbers.compiled import (
        Floats,
        FloatTable,
        Ints,
        IntTable,
        NewBools,
        NewFloats,
        NewFloatTable,
        NewInts,
        NewIntTable,
        wrapped,
    )
    from symveil.verification.distances.sweep_loops import UNIT, Scratch, flow_cost_of

    # columns of `figure` and `span`, which have a row for each node
    WEIGHT, LOWER, UPPER, MINE, THEIRS = 0, 1, 2, 3, 4
    START, END, DEPTH, CHILDREN, LAST_CHILD, HASH = 0, 1, 2, 3, 4, 5
    # entries of `count`
    NODES, ENTRIES, SHARES, WORK, VISITS = 0, 1, 2, 3, 4
    # what `advance` came back for
    DONE, ROOM, PAUSE = 0, 1, 2

built_from("", __name__)

_NOTHING = 2.0**-200
_CLOSED = 2.0**-42  # a gap that is not worth looking into
_STUCK = 1.0 - 2.0**-30  # a node that gives this much back to itself goes round for ever, as far as floats can tell
_SAME = 1.0 - 2.0**-40  # how close two nodes must be to be merged
_GRAIN = 2.0**32  # how finely they are told apart by their hash
_OFF_GRAIN = 0.381966  # so that fractions such as 1/2, which are common, do not lie on the edge of a grain
_BLOCK = 64
_TOLERANCE = 1e-13
_SEED, _PRIME = 1469598103934665603, 1099511628211  # of the hash
_NARROW = 24  # states: as in `bracket`, where a node takes longer


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _ends(
    figure: FloatTable, nodes: cython.longlong, alpha_above: cython.double, block: NewFloats, total: NewFloats
) -> cython.void:
    """`ends`, into `total`."""
    end: cython.longlong
    more: cython.double
    less: cython.double
    for column in range(4):
        total[column] = 0.0
    begin: cython.longlong = 0
    while begin < nodes:  # in blocks: then the errors are those of a block and of the blocks only
        for column in range(4):
            block[column] = 0.0
        end = min(begin + _BLOCK, nodes)
        for v in range(begin, end):
            weight = figure[v, WEIGHT]
            if weight > 0.0:
                for column in range(4):
                    block[column] += weight * figure[v, LOWER + column]
        for column in range(4):
            total[column] += block[column]
        begin = end
    lower, upper, mine, theirs = total[0], total[1], total[2], total[3]
    slack = (_BLOCK + nodes // _BLOCK + 9.0) * UNIT
    more = max(0.0, 1.0 - mine * (1.0 - slack)) * (1.0 + 4.0 * UNIT)
    less = max(0.0, 1.0 - theirs * (1.0 - slack)) * (1.0 + 4.0 * UNIT)
    lower = (lower * (1.0 - slack) - alpha_above * less * (1.0 + 4.0 * UNIT)) * (1.0 - 4.0 * UNIT)
    upper = (upper * (1.0 + slack) + more) * (1.0 + 4.0 * UNIT)
    total[0], total[1], total[2], total[3] = max(lower, 0.0), upper, more, less


def ends(figure: FloatTable, nodes: cython.longlong, alpha_above: cython.double) -> tuple[float, float, float, float]:
    """Both sums over all nodes, with what rounding dropped counted against them."""
    total: NewFloats = np.empty(4)
    _ends(figure, nodes, alpha_above, np.empty(4), total)
    return total[0], total[1], total[2], total[3]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _set_gap(gaps: NewFloats, v: cython.longlong, gap: cython.double) -> cython.void:
    at: cython.longlong = len(gaps) // 2 + v
    gaps[at] = gap
    at //= 2
    while at > 0:
        gaps[at] = max(gaps[2 * at], gaps[2 * at + 1])
        at //= 2


def set_gap(gaps: NewFloats, v: cython.longlong, gap: cython.double) -> None:
    """`gaps` is a tree in an array: leaves in its second half, and above them the larger one of each two."""
    _set_gap(gaps, v, gap)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _widest(gaps: Floats) -> cython.longlong:
    """The first node with the largest gap."""
    at: cython.longlong = 1
    half: cython.longlong = len(gaps) // 2
    while at < half:
        at = 2 * at if gaps[2 * at] >= gaps[2 * at + 1] else 2 * at + 1
    return at - half


def rehash(span: IntTable, nodes: cython.longlong, bucket: NewInts) -> None:
    """Put all nodes but the first, which no word comes back to before it is met a second time, into an empty table."""
    with cython.nogil:
        for v in range(1, nodes):
            at: cython.longlong = span[v, HASH] & (len(bucket) - 1)
            while bucket[at] >= 0:
                at = (at + 1) & (len(bucket) - 1)
            bucket[at] = v


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sort_up(values: NewInts, many: cython.longlong) -> cython.void:
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


@cython.cclass
class Bounds:
    """What `judge` needs of the chain, and room for it to work in."""

    class_of: Ints
    by_class: NewFloatTable
    distance: FloatTable
    alpha: cython.double
    alpha_above: cython.double
    relay_first: Ints
    relays: Ints
    spread: FloatTable
    less: cython.double
    chosen: NewInts
    need: NewFloats
    scale: NewFloats
    judged: NewFloats
    flow: Scratch

    def __init__(
        self, class_of: Ints, distance: FloatTable, alpha: cython.double, alpha_above: cython.double,
        relay_first: Ints, relays: Ints, spread: FloatTable, less: cython.double,
    ) -> None:  # fmt: skip
        size = len(class_of)
        self.class_of, self.by_class, self.distance = class_of, np.zeros((size, 2)), distance
        self.alpha, self.alpha_above, self.less = alpha, alpha_above, less
        self.relay_first, self.relays, self.spread = relay_first, relays, spread
        self.chosen, self.need, self.scale = np.empty(size, np.int64), np.empty(size), np.empty(size)
        self.judged, self.flow = np.empty(4), Scratch(len(distance), 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
def _judge(bounds: Bounds, states: Ints, mass: Floats, other: Floats, many: cython.longlong) -> cython.longlong:
    """Bounds on lv of two measures with one label, and on their masses, from below: as `judge`, into `judged`."""
    class_of: Ints = bounds.class_of
    by_class: NewFloatTable = bounds.by_class
    alpha, alpha_above = bounds.alpha, bounds.alpha_above
    lower: cython.double
    upper: cython.double
    classes: cython.double = 0.0
    spare: cython.double = 0.0
    supply: cython.bint = False
    slack = (many + 8.0) * UNIT
    mine, theirs = 0.0, 0.0
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
        by_class[class_of[states[k]], 0] = 0.0
        by_class[class_of[states[k]], 1] = 0.0
    upper = min(mine, classes) * (1.0 + slack)
    if mine > 0.0 and theirs > 0.0 and upper - lower > _CLOSED:
        members = 0
        for k in range(many):
            their = alpha * other[k]
            needed, size = mass[k] - their, mass[k] + their
            if abs(needed) > 8.0 * UNIT * size:
                bounds.chosen[members], bounds.need[members], bounds.scale[members] = states[k], needed, size
                members += 1
                supply = supply or needed > 0.0
            else:  # nothing, up to rounding
                spare += max(0.0, needed) + 8.0 * UNIT * size
        cost = 0.0
        if supply:
            cost = flow_cost_of(
                bounds.flow, bounds.chosen, bounds.need, bounds.scale, members, bounds.distance, alpha,
                bounds.relay_first, bounds.relays, bounds.spread, _TOLERANCE, bounds.less,
            )  # fmt: skip
        upper = min(upper, (cost + spare) * (1.0 + slack))
    bounds.judged[0], bounds.judged[1] = lower, max(lower, upper)
    bounds.judged[2], bounds.judged[3] = mine * (1.0 - slack), theirs * (1.0 - slack)
    return 0


def judge(
    states: Ints, mass: Floats, other: Floats, class_of: Ints, distance: FloatTable, alpha: cython.double,
    alpha_above: cython.double, relay_first: Ints, relays: Ints, spread: FloatTable, less: cython.double,
) -> tuple[float, float, float, float]:  # fmt: skip
    """Bounds on lv of two measures with one label, and on their masses: lower, upper, |p| and |r| from below."""
    bounds = Bounds(class_of, distance, alpha, alpha_above, relay_first, relays, spread, less)
    with cython.nogil:
        _judge(bounds, states, mass, other, len(states))
    return bounds.judged[0], bounds.judged[1], bounds.judged[2], bounds.judged[3]


@cython.cfunc
@cython.nogil
def _is_same(
    span: IntTable, state: Ints, entry: FloatTable, v: cython.longlong, states: Ints, mass: Floats, other: Floats,
    many: cython.longlong, depth: cython.longlong,
) -> cython.double:  # fmt: skip
    """How much of (mass; other) is a multiple of node v, from below; 0 if too little."""
    begin = span[v, START]
    if span[v, END] - begin != many or span[v, DEPTH] != depth:
        return 0.0
    factor: cython.double = 2.0
    for k in range(many):
        if state[begin + k] != states[k]:
            return 0.0
        for which in range(2):
            held = entry[begin + k, which]
            new = mass[k] if which == 0 else other[k]
            if (held > 0.0) != (new > 0.0):
                return 0.0
            if held > 0.0:
                factor = min(factor, new / held)
    factor *= 1.0 - 4.0 * UNIT
    return factor if factor >= _SAME else 0.0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _mixed(mixed: cython.ulonglong, grains: cython.ulonglong) -> cython.ulonglong:
    """One step of a hash (FNV)."""
    mixed = wrapped((cython.cast(cython.ulonglong, mixed) ^ cython.cast(cython.ulonglong, grains)) * _PRIME)
    return mixed ^ (mixed >> 29)


def advance(
    first: Ints, successor: Ints, chance: Floats, label: Ints, rank: Ints, by_rank: Ints, comes_from: Floats,
    class_of: Ints, distance: FloatTable, alpha: cython.double, alpha_above: cython.double,
    relay_first: Ints, relays: Ints, spread: FloatTable, less: cython.double,
    figure: NewFloatTable, span: NewIntTable, state: NewInts, entry: NewFloatTable, child: NewInts, share: NewFloats,
    bucket: NewInts, gaps: NewFloats, count: NewInts, estimate: NewFloats,
    goal: cython.double, required_below: cython.double, required_above: cython.double, horizon: cython.longlong,
    budget: cython.longlong, most_visits: cython.longlong, pause: cython.longlong,
) -> int:  # fmt: skip
    """Extend the node with the largest gap until the bracket is good enough, or nothing is open, or a limit is reached.

    `estimate` holds both ends without their rounding, and what rounding adds, as of the last time it was summed up.
    Words of all depths are alike where there is no horizon (−1). Returns DONE, or ROOM where the arrays are full, or
    PAUSE after `pause` visits.
    """
    size = len(label)
    ahead: NewFloatTable = np.zeros((size, 2))
    is_touched: NewBools = np.zeros(size, np.bool_)
    touched: NewInts = np.empty(size, np.int64)
    states: NewInts = np.empty(size, np.int64)
    mass: NewFloats = np.empty(size)
    other: NewFloats = np.empty(size)
    bounds = Bounds(class_of, distance, alpha, alpha_above, relay_first, relays, spread, less)
    judged: NewFloats = bounds.judged
    block: NewFloats = np.empty(4)
    summed: NewFloats = np.empty(4)
    mixed: cython.ulonglong
    why: cython.longlong
    end: cython.longlong
    support: cython.longlong
    total: cython.double
    factor: cython.double
    mine: cython.double
    theirs: cython.double
    back: cython.double
    weight: cython.double
    given: cython.double
    with cython.nogil:
        resume = count[VISITS] + pause
        while True:
            low, high = estimate[0] - estimate[2], estimate[1] + estimate[3]
            if high - low <= goal and (low > required_above or high <= required_below):
                _ends(figure, count[NODES], alpha_above, block, summed)
                low, high = summed[0], summed[1]
                if high - low <= goal and (low > required_above or high <= required_below):
                    why = DONE
                    break
                estimate[0], estimate[1], estimate[2], estimate[3] = low, high, 0.0, 0.0
            if gaps[1] <= 0.0 or count[WORK] >= budget or count[VISITS] >= most_visits:
                why = DONE
                break
            if (
                count[NODES] + size > len(figure)
                or count[ENTRIES] + size > len(state)
                or count[SHARES] + size > len(child)
            ):
                why = ROOM
                break
            if count[VISITS] >= resume:
                why = PAUSE
                break
            count[VISITS] += 1
            v = _widest(gaps)
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
                _sort_up(touched, many)
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
                    mixed = _SEED + depth
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
                                mixed = _mixed(mixed, x)
                                mixed = _mixed(mixed, cython.cast(cython.longlong, mine * _GRAIN + _OFF_GRAIN))
                                mixed = _mixed(mixed, cython.cast(cython.longlong, theirs * _GRAIN + _OFF_GRAIN))
                        ahead[x, 0], ahead[x, 1] = 0.0, 0.0
                        is_touched[x] = False
                    done = end
                    if members == 0:
                        continue
                    # --- a node that is there already, or a new one ---
                    key = cython.cast(cython.longlong, mixed >> 2)
                    at = key & (len(bucket) - 1)
                    factor = 0.0
                    while bucket[at] >= 0:
                        if span[bucket[at], HASH] == key:
                            factor = _is_same(span, state, entry, bucket[at], states, mass, other, members, depth)
                            if factor > 0.0:
                                break
                        at = (at + 1) & (len(bucket) - 1)
                    if factor == 0.0:
                        new = count[NODES]
                        bucket[at] = new
                        count[NODES] += 1
                        wide = support // _NARROW
                        count[WORK] += 1 + wide * wide
                        begin = count[ENTRIES]
                        count[ENTRIES] += members
                        for k in range(members):
                            state[begin + k], entry[begin + k, 0], entry[begin + k, 1] = states[k], mass[k], other[k]
                        span[new, START], span[new, END] = begin, begin + members
                        span[new, DEPTH], span[new, HASH], span[new, LAST_CHILD] = depth, key, -1
                        figure[new, WEIGHT] = 0.0
                        _judge(bounds, states, mass, other, members)
                        for column in range(4):
                            figure[new, LOWER + column] = judged[column]
                        factor = 1.0
                    child[count[SHARES]] = bucket[at]
                    share[count[SHARES]] = total * factor * (1.0 - 2.0 * UNIT)
                    count[SHARES] += 1
                span[v, LAST_CHILD] = count[SHARES]
            # --- the weight moves on; what comes straight back goes round for ever: a geometric series ---
            _set_gap(gaps, v, 0.0)
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
                    _set_gap(gaps, u, figure[u, WEIGHT] * gap)
    return why
