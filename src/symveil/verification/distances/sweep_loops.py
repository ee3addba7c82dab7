"""The loops over all pairs of states, compiled.

A *policy* has a row for each pair: row k holds the arcs i → j of its flow, as i·n + j, with their
amounts, and `constant[k]` is what stays unshipped. Then d(s,t) = Σ amount · d(i,j) + constant.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

from symveil.numbers.compiled import built_from
from symveil.verification.distances.simplex import UNSHIPPED, lift  # compiled into this module, for floats

if not cython.compiled:
    from symveil.numbers.compiled import (
        Floats,
        FloatTable,
        Ints,
        IntTable,
        NewBools,
        NewBoolTable,
        NewFloats,
        NewFloatTable,
        NewInts,
    )

built_from("", __name__)

UNIT = 2.0**-52
_MORE_NODES = 24  # relays of one pair, beyond which its bound is left a little loose


def relay_table(
    distance: FloatTable, label: Ints, alpha: cython.double, slack: cython.double, begin: cython.longlong,
    end: cython.longlong,
) -> tuple[Any, Any]:  # fmt: skip
    """For i = begin … end−1 and all x: whether d_ij > d_ix + αd_xj + slack for some j, and the largest d_ij − d_xj."""
    size = len(label)
    useful = np.zeros((end - begin, size), dtype=np.bool_)
    spread = np.zeros((end - begin, size))
    is_useful: NewBoolTable = useful
    spreads: NewFloatTable = spread
    widest: cython.double
    violated: cython.bint
    with cython.nogil:
        for i in range(begin, end):
            for x in range(size):
                if x == i or label[x] != label[i] or distance[i, x] >= 1.0:
                    continue
                bound = distance[i, x] + slack
                widest, violated = 0.0, False
                for j in range(size):
                    if label[j] == label[i] and j != i and j != x:  # noqa: PLR1714 - compiled
                        widest = max(widest, distance[i, j] - distance[x, j])
                        violated = violated or distance[i, j] > bound + alpha * distance[x, j]
                is_useful[i - begin, x] = violated
                spreads[i - begin, x] = widest
    return useful, spread


def most_successors(first: Ints, size: cython.longlong) -> cython.longlong:
    """Of one state."""
    most: cython.longlong = 0
    for index in range(size):
        most = max(most, first[index + 1] - first[index])
    return most


def merge(
    first: Ints, successor: Ints, chance: Floats, alpha: cython.double, source: cython.longlong,
    target: cython.longlong, state: NewInts, need: NewFloats, scale: NewFloats,
) -> cython.longlong:  # fmt: skip
    """μ_i − αμ'_i at all states of both supports, and μ_i + αμ'_i, which bounds its rounding; how many."""
    a, a_end = first[source], first[source + 1]
    b, b_end = first[target], first[target + 1]
    count = 0
    while a < a_end or b < b_end:
        here, there = 0.0, 0.0
        if b >= b_end or (a < a_end and successor[a] <= successor[b]):
            now = successor[a]
        else:
            now = successor[b]
        if a < a_end and successor[a] == now:
            here = chance[a]
            a += 1
        if b < b_end and successor[b] == now:
            there = alpha * chance[b]
            b += 1
        state[count] = now
        need[count] = here - there
        scale[count] = here + there
        count += 1
    return count


def unshipped(first: Ints, successor: Ints, chance: Floats, label: Ints, alpha: cython.double, pairs: IntTable) -> Any:
    """What each pair costs when nothing is shipped: Σ (μ_i − αμ'_i)⁺."""
    wide = 2 * most_successors(first, len(label))
    state: NewInts = np.empty(wide, np.int64)
    need: NewFloats = np.empty(wide)
    scale: NewFloats = np.empty(wide)
    total = np.zeros(len(pairs))
    totals: NewFloats = total
    with cython.nogil:
        for k in range(len(pairs)):
            many = merge(first, successor, chance, alpha, pairs[k, 0], pairs[k, 1], state, need, scale)
            for index in range(many):
                totals[k] += max(need[index], 0.0)
    return total


@cython.cclass
class Scratch:
    """What solving for one label takes: nodes and the basis of their flow; entries for every state of the chain."""

    def __init__(self, size: cython.longlong, room: cython.longlong) -> None:
        self.height, self.parent, self.queue = np.empty(size), np.full(size, -2, np.int64), np.empty(size, np.int64)
        self.grow(room)

    def __reduce__(self) -> tuple[Any, ...]:
        return Scratch, (len(self.height), self.room)

    @cython.ccall
    def grow(self, room: cython.longlong) -> None:
        """Have room for so many nodes; what was there is lost."""
        self.room = room
        self.nodes, self.need = np.empty(room, np.int64), np.empty(room)
        self.cost, self.gain, self.inverse = np.empty((room, room)), np.empty((room, room)), np.empty((room, room))
        self.tail, self.head = np.empty(room, np.int64), np.empty(room, np.int64)
        self.amount, self.price, self.column = np.empty(room), np.empty(room), np.empty(room)
        self.balance, self.weight = np.empty(room), np.empty(room)


@cython.cfunc
@cython.nogil
def lifted(
    use: Scratch, members: cython.longlong, room: cython.longlong, distance: FloatTable, alpha: cython.double,
    relay_first: Ints, relays: Ints, spread: FloatTable, tolerance: cython.double,
) -> cython.longlong:  # fmt: skip
    """`lift` for the first `members` nodes, which may become `room`."""
    return lift(
        members, room, use.nodes, use.need, distance, alpha, relay_first, relays, spread, 0.0, 1.0, tolerance,
        use.cost, use.gain, use.tail, use.head, use.inverse, use.amount, use.price, use.column, use.height, use.parent,
        use.queue,
    )  # fmt: skip


@cython.cfunc
@cython.nogil
def _longer(values: NewFloats, used: cython.longlong, room: cython.longlong) -> NewFloats:
    with cython.gil:
        longer: NewFloats = np.empty(room)
        longer[:used] = values[:used]
        return longer


@cython.cfunc
@cython.nogil
def _longer_ints(values: NewInts, used: cython.longlong, room: cython.longlong) -> NewInts:
    with cython.gil:
        longer: NewInts = np.empty(room, np.int64)
        longer[:used] = values[:used]
        return longer


def improve(
    first: Ints, successor: Ints, chance: Floats, label: Ints, alpha: cython.double, distance: FloatTable,
    relay_first: Ints, relays: Ints, spread: FloatTable,
    pairs: IntTable, value: Floats, old_start: Ints, old_column: Ints, old_amount: Floats, old_constant: Floats,
    tolerance: cython.double, threshold: cython.double,
) -> tuple[Any, Any, Any, Any, int, int]:  # fmt: skip
    """Better flows for some pairs: the policy with each row replaced where that is strictly cheaper.

    Returns (start, column, amount, constant, improved, left_loose).
    """
    count = len(pairs)
    size = len(label)
    wide = 2 * most_successors(first, size)
    room = wide + _MORE_NODES
    state: NewInts = np.empty(wide, np.int64)
    need: NewFloats = np.empty(wide)
    scale: NewFloats = np.empty(wide)
    use = Scratch(size, room)
    nodes: NewInts = use.nodes
    own_need: NewFloats = use.need
    amount: NewFloats = use.amount
    tail: NewInts = use.tail
    head: NewInts = use.head
    starts: NewInts = np.zeros(count + 1, np.int64)
    capacity: cython.longlong = max(len(old_column), 4 * count) + room + wide
    columns: NewInts = np.empty(capacity, np.int64)
    amounts: NewFloats = np.empty(capacity)
    constants: NewFloats = np.empty(count)
    improved, loose, written = 0, 0, 0
    total: cython.double
    supply: cython.bint
    with cython.nogil:
        for k in range(count):
            length = old_start[k + 1] - old_start[k]
            if written + room + length >= capacity:
                capacity = 2 * capacity + length
                columns, amounts = _longer_ints(columns, written, capacity), _longer(amounts, written, capacity)
            merged = merge(first, successor, chance, alpha, pairs[k, 0], pairs[k, 1], state, need, scale)
            begin = written
            stays, total = 0.0, 0.0
            done = 0
            while done < merged:
                # the states of one label, moved to the front of what is left
                code = label[state[done]]
                members, supply = 0, False
                for index in range(done, merged):
                    if label[state[index]] == code:
                        here, much = state[index], need[index]
                        state[index], need[index] = state[done], need[done]
                        state[done], need[done] = here, much
                        done += 1
                        if much != 0.0:
                            nodes[members] = here
                            own_need[members] = much
                            members += 1
                            supply = supply or much > 0.0
                if not supply:
                    continue
                solved = lifted(use, members, room, distance, alpha, relay_first, relays, spread, tolerance)
                if solved < 0:
                    solved = -solved
                    loose += 1
                if written + room + length >= capacity:
                    capacity = 2 * capacity + length
                    columns, amounts = _longer_ints(columns, written, capacity), _longer(amounts, written, capacity)
                for row in range(solved):
                    if amount[row] > 0.0:
                        if head[row] >= 0:
                            i, j = nodes[tail[row]], nodes[head[row]]
                            total += amount[row] * distance[i, j]
                            columns[written] = i * size + j
                            amounts[written] = amount[row]
                            written += 1
                        elif head[row] == UNSHIPPED:
                            stays += amount[row]
            if stays + total < value[k] - threshold:
                improved += 1
                constants[k] = stays
            else:
                written = begin
                for index in range(old_start[k], old_start[k + 1]):
                    columns[written] = old_column[index]
                    amounts[written] = old_amount[index]
                    written += 1
                constants[k] = old_constant[k]
            starts[k + 1] = written
    return (
        np.asarray(starts), np.asarray(columns)[:written].copy(), np.asarray(amounts)[:written].copy(),
        np.asarray(constants), improved, loose,
    )  # fmt: skip


@cython.cdivision(True)
def shortfall(
    first: Ints, successor: Ints, chance: Floats, label: Ints, alpha: cython.double, distance: FloatTable,
    pairs: IntTable, start: Ints, column: Ints, amount: Floats,
) -> Any:  # fmt: skip
    """How far each pair's bound d(s,t) falls short of what its flow proves: Γ(d) − d, rounded upwards.

    A flow is taken as it is, exactly, and whatever it fails to take away, after rounding, is counted as
    unshipped: so it is feasible by construction. Every sum is rounded upwards by its a-priori error
    bound (k terms: k units in the last place of the sum of their sizes; here twice that and more). A
    result ≤ 0 at every pair is a proof that Γ(d) ≤ d there.
    """
    size = len(label)
    wide = 2 * most_successors(first, size)
    state: NewInts = np.empty(wide, np.int64)
    need: NewFloats = np.empty(wide)
    scale: NewFloats = np.empty(wide)
    balance: NewFloats = np.zeros(size)
    weight: NewFloats = np.zeros(size)
    touched: NewInts = np.empty(size, np.int64)
    is_touched: NewBools = np.zeros(size, np.bool_)
    lacking_of = np.full(len(pairs), -np.inf)
    lacks: NewFloats = lacking_of
    total: cython.double
    with cython.nogil:
        for k in range(len(pairs)):
            claimed = distance[pairs[k, 0], pairs[k, 1]]
            if claimed >= 1.0:
                continue
            merged = merge(first, successor, chance, alpha, pairs[k, 0], pairs[k, 1], state, need, scale)
            many = 0
            for index in range(merged):
                x = state[index]
                balance[x] = need[index]
                weight[x] = scale[index]
                touched[many] = x
                is_touched[x] = True
                many += 1
            total = 0.0
            for index in range(start[k], start[k + 1]):
                i, j = column[index] // size, column[index] % size
                for end in range(2):
                    x = i if end == 0 else j
                    if not is_touched[x]:
                        touched[many] = x
                        is_touched[x] = True
                        many += 1
                total += amount[index] * distance[i, j]
                brought = alpha * amount[index]
                balance[i] -= amount[index]
                weight[i] += amount[index]
                balance[j] += brought
                weight[j] += brought
            terms = start[k + 1] - start[k] + 8.0
            for index in range(many):
                x = touched[index]
                lacking = balance[x] + terms * UNIT * weight[x]
                if lacking > 0.0:
                    total += lacking
                balance[x] = 0.0
                weight[x] = 0.0
                is_touched[x] = False
            lacks[k] = total * (1.0 + (terms + many) * UNIT) - claimed
    return lacking_of


def flow_cost_of(
    use: Scratch, states: Ints, need: Floats, scale: Floats, members: cython.longlong, distance: FloatTable,
    alpha: cython.double, relay_first: Ints, relays: Ints, spread: FloatTable, tolerance: cython.double,
    less: cython.double,
) -> cython.double:  # fmt: skip
    """The cost of a cheap flow for the first `members` states, of one label, rounded upwards: at least K(d) of these.

    Each `need` is off by no more than 8 units in the last place of its `scale`; as in `shortfall`, what the flow fails
    to take away counts as unshipped. `less` is the share of the flow that is shipped (see `certificate`).
    """
    size: cython.longlong = len(distance)
    room: cython.longlong = members
    if len(relays) > 0:
        room += min(size, 4 * _MORE_NODES)
    if room > use.room:
        with cython.gil:
            use.grow(2 * room)
    for index in range(members):
        use.nodes[index], use.need[index] = states[index], need[index]
    solved: cython.longlong = abs(lifted(use, members, room, distance, alpha, relay_first, relays, spread, tolerance))
    nodes: NewInts = use.nodes
    amount: NewFloats = use.amount
    tail: NewInts = use.tail
    head: NewInts = use.head
    balance: NewFloats = use.balance
    weight: NewFloats = use.weight
    for index in range(solved):
        balance[index] = need[index] if index < members else 0.0
        weight[index] = scale[index] if index < members else 0.0
    total: cython.double = 0.0
    terms = 8.0
    for row in range(solved):
        if amount[row] > 0.0 and head[row] >= 0:
            i, j = tail[row], head[row]
            terms += 1.0
            shipped = less * amount[row]
            brought = alpha * shipped
            total += shipped * distance[nodes[i], nodes[j]]
            balance[i] -= shipped
            weight[i] += shipped
            balance[j] += brought
            weight[j] += brought
    for index in range(solved):
        total += max(0.0, balance[index] + terms * UNIT * weight[index])
    return total * (1.0 + (terms + solved) * UNIT)


def flow_cost(
    states: Ints, need: Floats, scale: Floats, distance: FloatTable, alpha: cython.double, relay_first: Ints,
    relays: Ints, spread: FloatTable, tolerance: cython.double, less: cython.double,
) -> float:  # fmt: skip
    """`flow_cost_of` all these states."""
    use = Scratch(len(distance), len(states))
    with cython.nogil:
        cost = flow_cost_of(
            use, states, need, scale, len(states), distance, alpha, relay_first, relays, spread, tolerance, less
        )
    return cost
