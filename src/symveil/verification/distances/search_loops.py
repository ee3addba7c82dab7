"""The search of `RoundedSearch`, compiled: nodes in arrays, everything rounded against the claim.

A node v holds two measures (p_v; r_v) as floats, which are taken exactly, and a weight w_v. What holds at every
moment is that the words have been split up so that their true measures are *at least* w_v (p_v; r_v): every step, every
scaling and every merging rounds down. So what rounding has dropped need not be followed: it is 1 − Σ w_v|p_v| of p,
and 1 − Σ w_v|r_v| of r, and `ends` counts it against both bounds.

All sums are of terms ≥ 0, so m of them are off by at most m units in the last place; each factor below allows for
twice that and more. Floats stay far from underflow, because what is below `_NOTHING` is dropped.

This file is longer than 500 lines because its loops call each other, and calls across compiled modules cost time.
"""

from __future__ import annotations

from typing import Any

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
class Chain:
    """The arcs of a chain, and its states by label: `by_rank` lists them, `rank` says where each one stands there."""

    first: Ints
    successor: Ints
    chance: Floats
    label: Ints
    rank: Ints
    by_rank: Ints
    comes_from: Floats

    def __init__(
        self, first: Ints, successor: Ints, chance: Floats, label: Ints, rank: Ints, by_rank: Ints, comes_from: Floats
    ) -> None:
        self.first, self.successor, self.chance, self.label = first, successor, chance, label
        self.rank, self.by_rank, self.comes_from = rank, by_rank, comes_from

    def __reduce__(self) -> tuple[Any, ...]:
        arcs = np.asarray(self.first), np.asarray(self.successor), np.asarray(self.chance)
        order = np.asarray(self.rank), np.asarray(self.by_rank)
        return Chain, (*arcs, np.asarray(self.label), *order, np.asarray(self.comes_from))


@cython.cclass
class Bounds:
    """What is known of the distances in a chain: classes of bisimilar states, and bounds on ld with their relays."""

    class_of: Ints
    distance: FloatTable
    alpha: cython.double
    alpha_above: cython.double
    relay_first: Ints
    relays: Ints
    spread: FloatTable
    less: cython.double

    def __init__(
        self, class_of: Ints, distance: FloatTable, alpha: cython.double, alpha_above: cython.double,
        relay_first: Ints, relays: Ints, spread: FloatTable, less: cython.double,
    ) -> None:  # fmt: skip
        self.class_of, self.distance, self.alpha, self.alpha_above = class_of, distance, alpha, alpha_above
        self.relay_first, self.relays, self.spread, self.less = relay_first, relays, spread, less

    def __reduce__(self) -> tuple[Any, ...]:
        relays = np.asarray(self.relay_first), np.asarray(self.relays), np.asarray(self.spread)
        table = np.asarray(self.class_of), np.asarray(self.distance)
        return Bounds, (*table, self.alpha, self.alpha_above, *relays, self.less)


@cython.cclass
class Nodes:
    """The nodes of a search, which `advance` extends: rows of figures and spans, their entries, and what they lead to.

    `estimate` holds both ends without their rounding, and what rounding adds, as of the last time it was summed up.
    """

    figure: NewFloatTable
    span: NewIntTable
    state: NewInts
    entry: NewFloatTable
    child: NewInts
    share: NewFloats
    bucket: NewInts
    gaps: NewFloats
    count: NewInts
    estimate: NewFloats

    def __init__(
        self, figure: NewFloatTable, span: NewIntTable, state: NewInts, entry: NewFloatTable, child: NewInts,
        share: NewFloats, bucket: NewInts, gaps: NewFloats, count: NewInts, estimate: NewFloats,
    ) -> None:  # fmt: skip
        self.figure, self.span, self.state, self.entry, self.child = figure, span, state, entry, child
        self.share, self.bucket, self.gaps, self.count, self.estimate = share, bucket, gaps, count, estimate

    def __reduce__(self) -> tuple[Any, ...]:
        rows = np.asarray(self.figure), np.asarray(self.span), np.asarray(self.state), np.asarray(self.entry)
        shares = np.asarray(self.child), np.asarray(self.share)
        order = np.asarray(self.bucket), np.asarray(self.gaps)
        return Nodes, (*rows, *shares, *order, np.asarray(self.count), np.asarray(self.estimate))


@cython.cclass
class Step:
    """Room for one transition: what is ahead of a node, by state, and the states of one label with their masses."""

    ahead: NewFloatTable
    is_touched: NewBools
    touched: NewInts
    states: NewInts
    mass: NewFloats
    other: NewFloats
    by_class: NewFloatTable
    chosen: NewInts
    need: NewFloats
    scale: NewFloats
    judged: NewFloats
    flow: Scratch

    def __init__(self, size: cython.longlong) -> None:
        self.ahead, self.is_touched = np.zeros((size, 2)), np.zeros(size, np.bool_)
        self.touched, self.states = np.empty(size, np.int64), np.empty(size, np.int64)
        self.mass, self.other, self.by_class = np.empty(size), np.empty(size), np.zeros((size, 2))
        self.chosen, self.need, self.scale = np.empty(size, np.int64), np.empty(size), np.empty(size)
        self.judged, self.flow = np.empty(4), Scratch(size, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
def _judge(
    bounds: Bounds, step: Step, states: Ints, mass: Floats, other: Floats, many: cython.longlong
) -> cython.longlong:
    """Bounds on lv of two measures with one label, and on their masses, from below: as `judge`, into `judged`."""
    class_of: Ints = bounds.class_of
    by_class: NewFloatTable = step.by_class
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
                step.chosen[members], step.need[members], step.scale[members] = states[k], needed, size
                members += 1
                supply = supply or needed > 0.0
            else:  # nothing, up to rounding
                spare += max(0.0, needed) + 8.0 * UNIT * size
        cost = 0.0
        if supply:
            cost = flow_cost_of(
                step.flow, step.chosen, step.need, step.scale, members, bounds.distance, alpha,
                bounds.relay_first, bounds.relays, bounds.spread, _TOLERANCE, bounds.less,
            )  # fmt: skip
        upper = min(upper, (cost + spare) * (1.0 + slack))
    step.judged[0], step.judged[1] = lower, max(lower, upper)
    step.judged[2], step.judged[3] = mine * (1.0 - slack), theirs * (1.0 - slack)
    return 0


def judge(states: Ints, mass: Floats, other: Floats, bounds: Bounds) -> tuple[float, float, float, float]:
    """Bounds on lv of two measures with one label, and on their masses: lower, upper, |p| and |r| from below."""
    step = Step(len(bounds.distance))
    with cython.nogil:
        _judge(bounds, step, states, mass, other, len(states))
    return step.judged[0], step.judged[1], step.judged[2], step.judged[3]


@cython.cfunc
@cython.nogil
def _is_same(
    nodes: Nodes, v: cython.longlong, step: Step, many: cython.longlong, depth: cython.longlong
) -> cython.double:
    """How much of the step's (mass; other) is a multiple of node v, from below; 0 if too little."""
    begin = nodes.span[v, START]
    if nodes.span[v, END] - begin != many or nodes.span[v, DEPTH] != depth:
        return 0.0
    factor: cython.double = 2.0
    for k in range(many):
        if nodes.state[begin + k] != step.states[k]:
            return 0.0
        for which in range(2):
            held = nodes.entry[begin + k, which]
            new = step.mass[k] if which == 0 else step.other[k]
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _look_ahead(chain: Chain, nodes: Nodes, v: cython.longlong, step: Step) -> cython.longlong:
    """One transition from node v, into `ahead`; how many states it reaches, whose ranks are `touched`, sorted."""
    many: cython.longlong = 0
    for k in range(nodes.span[v, START], nodes.span[v, END]):
        from_ = nodes.state[k]
        for arc in range(chain.first[from_], chain.first[from_ + 1]):
            x = chain.successor[arc]
            if not step.is_touched[x]:
                step.is_touched[x] = True
                step.touched[many] = chain.rank[x]
                many += 1
            step.ahead[x, 0] += nodes.entry[k, 0] * chain.chance[arc]
            step.ahead[x, 1] += nodes.entry[k, 1] * chain.chance[arc]
    _sort_up(step.touched, many)
    return many


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
def _lead_to(
    bounds: Bounds, nodes: Nodes, step: Step, members: cython.longlong, support: cython.longlong,
    depth: cython.longlong, total: cython.double, key: cython.longlong,
) -> cython.longlong:  # fmt: skip
    """Share `total` goes to the node of the step's (mass; other): one that is there already, or a new one."""
    last = len(nodes.bucket) - 1
    at: cython.longlong = key & last
    factor: cython.double = 0.0
    while nodes.bucket[at] >= 0:
        if nodes.span[nodes.bucket[at], HASH] == key:
            factor = _is_same(nodes, nodes.bucket[at], step, members, depth)
            if factor > 0.0:
                break
        at = (at + 1) & last
    if factor == 0.0:
        new = nodes.count[NODES]
        nodes.bucket[at] = new
        nodes.count[NODES] += 1
        wide = support // _NARROW
        nodes.count[WORK] += 1 + wide * wide
        begin = nodes.count[ENTRIES]
        nodes.count[ENTRIES] += members
        for k in range(members):
            nodes.state[begin + k] = step.states[k]
            nodes.entry[begin + k, 0], nodes.entry[begin + k, 1] = step.mass[k], step.other[k]
        nodes.span[new, START], nodes.span[new, END] = begin, begin + members
        nodes.span[new, DEPTH], nodes.span[new, HASH], nodes.span[new, LAST_CHILD] = depth, key, -1
        nodes.figure[new, WEIGHT] = 0.0
        _judge(bounds, step, step.states, step.mass, step.other, members)
        for column in range(4):
            nodes.figure[new, LOWER + column] = step.judged[column]
        factor = 1.0
    nodes.child[nodes.count[SHARES]] = nodes.bucket[at]
    nodes.share[nodes.count[SHARES]] = total * factor * (1.0 - 2.0 * UNIT)
    nodes.count[SHARES] += 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
def _extend(
    chain: Chain, bounds: Bounds, nodes: Nodes, step: Step, v: cython.longlong, depth: cython.longlong
) -> cython.longlong:
    """What node v leads to after one transition, rounded down: a node for each label."""
    end: cython.longlong
    support: cython.longlong
    total: cython.double
    mine: cython.double
    theirs: cython.double
    mixed: cython.ulonglong
    many = _look_ahead(chain, nodes, v, step)
    nodes.span[v, CHILDREN] = nodes.count[SHARES]
    done: cython.longlong = 0
    while done < many:
        # --- the states of one label: scaled, rounded down ---
        code, total, end = chain.label[chain.by_rank[step.touched[done]]], 0.0, done
        while end < many and chain.label[chain.by_rank[step.touched[end]]] == code:
            x = chain.by_rank[step.touched[end]]
            down = 1.0 - (chain.comes_from[x] + 4.0) * UNIT
            step.ahead[x, 0] *= down
            step.ahead[x, 1] *= down
            total += step.ahead[x, 0] + step.ahead[x, 1]
            end += 1
        members, support = 0, 0
        mixed = _SEED + depth
        for k in range(done, end):
            x = chain.by_rank[step.touched[k]]
            if total > _NOTHING:
                mine = step.ahead[x, 0] / total * (1.0 - 4.0 * UNIT)
                theirs = step.ahead[x, 1] / total * (1.0 - 4.0 * UNIT)
                mine = mine if mine > _NOTHING else 0.0
                theirs = theirs if theirs > _NOTHING else 0.0
                if mine > 0.0 or theirs > 0.0:
                    step.states[members], step.mass[members], step.other[members] = x, mine, theirs
                    members += 1
                    support += (mine > 0.0) + (theirs > 0.0)
                    mixed = _mixed(mixed, x)
                    mixed = _mixed(mixed, cython.cast(cython.longlong, mine * _GRAIN + _OFF_GRAIN))
                    mixed = _mixed(mixed, cython.cast(cython.longlong, theirs * _GRAIN + _OFF_GRAIN))
            step.ahead[x, 0], step.ahead[x, 1] = 0.0, 0.0
            step.is_touched[x] = False
        done = end
        if members > 0:
            key = cython.cast(cython.longlong, mixed >> 2)
            _lead_to(bounds, nodes, step, members, support, depth, total, key)
    nodes.span[v, LAST_CHILD] = nodes.count[SHARES]
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
def _move_on(nodes: Nodes, v: cython.longlong, horizon: cython.longlong) -> cython.longlong:
    """The weight of node v moves on; what comes straight back goes round for ever: a geometric series."""
    weight: cython.double
    given: cython.double
    back: cython.double = 0.0
    _set_gap(nodes.gaps, v, 0.0)
    for k in range(nodes.span[v, CHILDREN], nodes.span[v, LAST_CHILD]):
        if nodes.child[k] == v:
            back += nodes.share[k] * (1.0 - 2.0 * UNIT)
    if back >= _STUCK:
        return 0  # the weight stays, and so do its bounds
    weight = nodes.figure[v, WEIGHT]
    nodes.figure[v, WEIGHT] = 0.0
    nodes.estimate[0] -= weight * nodes.figure[v, LOWER]
    nodes.estimate[1] -= weight * nodes.figure[v, UPPER]
    if back > 0.0:
        weight = weight / (1.0 - back) * (1.0 - 4.0 * UNIT)
    for k in range(nodes.span[v, CHILDREN], nodes.span[v, LAST_CHILD]):
        u = nodes.child[k]
        if u == v:
            continue
        given = weight * nodes.share[k] * (1.0 - 2.0 * UNIT)
        if not given > _NOTHING:
            continue
        held = nodes.figure[u, WEIGHT]
        nodes.figure[u, WEIGHT] = (held + given) * (1.0 - UNIT) if held > 0.0 else given
        nodes.estimate[0] += given * nodes.figure[u, LOWER]
        nodes.estimate[1] += given * nodes.figure[u, UPPER]
        gap = nodes.figure[u, UPPER] - nodes.figure[u, LOWER]
        if gap > _CLOSED and not 0 <= horizon <= nodes.span[u, DEPTH]:
            _set_gap(nodes.gaps, u, nodes.figure[u, WEIGHT] * gap)
    return 0


def advance(
    chain: Chain, bounds: Bounds, nodes: Nodes, goal: cython.double, required_below: cython.double,
    required_above: cython.double, horizon: cython.longlong, budget: cython.longlong, most_visits: cython.longlong,
    pause: cython.longlong,
) -> int:  # fmt: skip
    """Extend the node with the largest gap until the bracket is good enough, or nothing is open, or a limit is reached.

    Words of all depths are alike where there is no horizon (−1). Returns DONE, or ROOM where the arrays are full, or
    PAUSE after `pause` visits.
    """
    size = len(chain.label)
    step = Step(size)
    estimate: NewFloats = nodes.estimate
    count: NewInts = nodes.count
    block: NewFloats = np.empty(4)
    summed: NewFloats = np.empty(4)
    why: cython.longlong
    depth: cython.longlong
    with cython.nogil:
        resume = count[VISITS] + pause
        while True:
            low, high = estimate[0] - estimate[2], estimate[1] + estimate[3]
            if high - low <= goal and (low > required_above or high <= required_below):
                _ends(nodes.figure, count[NODES], bounds.alpha_above, block, summed)
                low, high = summed[0], summed[1]
                if high - low <= goal and (low > required_above or high <= required_below):
                    why = DONE
                    break
                estimate[0], estimate[1], estimate[2], estimate[3] = low, high, 0.0, 0.0
            if nodes.gaps[1] <= 0.0 or count[WORK] >= budget or count[VISITS] >= most_visits:
                why = DONE
                break
            if (
                count[NODES] + size > len(nodes.figure)
                or count[ENTRIES] + size > len(nodes.state)
                or count[SHARES] + size > len(nodes.child)
            ):
                why = ROOM
                break
            if count[VISITS] >= resume:
                why = PAUSE
                break
            count[VISITS] += 1
            v = _widest(nodes.gaps)
            if nodes.span[v, LAST_CHILD] < 0:
                depth = nodes.span[v, DEPTH] + 1 if horizon >= 0 else 0
                _extend(chain, bounds, nodes, step, v, depth)
            _move_on(nodes, v, horizon)
    return why
