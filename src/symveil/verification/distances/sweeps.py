"""The loops over all pairs of states, compiled. Only large chains get here: loading the compiler takes a while.

A *policy* has a row for each pair: row k holds the arcs i → j of its flow, as i·n + j, with their
amounts, and `constant[k]` is what stays unshipped. Then d(s,t) = Σ amount · d(i,j) + constant.
"""

from __future__ import annotations

import numpy as np

from symveil.languages.compiling import compiled
from symveil.verification.distances import simplex

# `solve` and `lift` stay ordinary functions, which exact rationals use; loops that call them compile them for floats
solve, lift = simplex.solve, simplex.lift

# numba keeps compiled loops by this file alone: a digest of the others they use (tests/contracts/test_kept_loops.py)
COMPILED_FROM = "19a0ae3abcee159d"

UNSHIPPED = simplex.UNSHIPPED
UNIT = 2.0**-52
_MORE_NODES = 24  # relays of one pair, beyond which its bound is left a little loose


@compiled
def relay_table(distance, label, alpha, slack, begin, end):
    """For i = begin … end−1 and all x: whether d_ij > d_ix + αd_xj + slack for some j, and the largest d_ij − d_xj."""
    size = len(label)
    useful = np.zeros((end - begin, size), dtype=np.bool_)
    spread = np.zeros((end - begin, size))
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
            useful[i - begin, x] = violated
            spread[i - begin, x] = widest
    return useful, spread


@compiled
def merge(first, successor, chance, alpha, source, target, state, need, scale):
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


@compiled
def unshipped(first, successor, chance, label, alpha, pairs):
    """What each pair costs when nothing is shipped: Σ (μ_i − αμ'_i)⁺."""
    widest = 0
    for index in range(len(label)):
        widest = max(widest, first[index + 1] - first[index])
    state, need, scale = np.empty(2 * widest, np.int64), np.empty(2 * widest), np.empty(2 * widest)
    total = np.zeros(len(pairs))
    for k in range(len(pairs)):
        for index in range(merge(first, successor, chance, alpha, pairs[k, 0], pairs[k, 1], state, need, scale)):
            total[k] += max(need[index], 0.0)
    return total


@compiled
def improve(
    first, successor, chance, label, alpha, distance, relay_first, relays, spread,
    pairs, value, old_start, old_column, old_amount, old_constant, tolerance, threshold,
):  # fmt: skip
    """Better flows for some pairs: the policy with each row replaced where that is strictly cheaper.

    Returns (start, column, amount, constant, improved, left_loose).
    """
    count = len(pairs)
    widest = 0
    for index in range(len(label)):
        widest = max(widest, first[index + 1] - first[index])
    wide = 2 * widest
    room = wide + _MORE_NODES
    state, need, scale = np.empty(wide, np.int64), np.empty(wide), np.empty(wide)
    nodes, own_need = np.empty(room, np.int64), np.empty(room)
    cost, gain, inverse = np.empty((room, room)), np.empty((room, room)), np.empty((room, room))
    tail, head = np.empty(room, np.int64), np.empty(room, np.int64)
    amount, price, column = np.empty(room), np.empty(room), np.empty(room)
    height, parent = np.empty(len(label)), np.full(len(label), -2, np.int64)
    queue = np.empty(len(label), np.int64)

    start = np.zeros(count + 1, np.int64)
    capacity = max(len(old_column), 4 * count) + room + wide
    columns, amounts = np.empty(capacity, np.int64), np.empty(capacity)
    constants = np.empty(count)
    improved, loose, written = 0, 0, 0
    for k in range(count):
        merged = merge(first, successor, chance, alpha, pairs[k, 0], pairs[k, 1], state, need, scale)
        begin = written
        unshipped, total = 0.0, 0.0
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
            solved = lift(
                members, nodes, own_need, distance, alpha, relay_first, relays, spread, 0.0, 1.0, tolerance,
                cost, gain, tail, head, inverse, amount, price, column, height, parent, queue,
            )  # fmt: skip
            if solved < 0:
                solved = -solved
                loose += 1
            for row in range(solved):
                if amount[row] > 0.0:
                    if head[row] >= 0:
                        i, j = nodes[tail[row]], nodes[head[row]]
                        total += amount[row] * distance[i, j]
                        if written + room >= capacity:
                            capacity *= 2
                            more_columns, more_amounts = np.empty(capacity, np.int64), np.empty(capacity)
                            more_columns[:written] = columns[:written]
                            more_amounts[:written] = amounts[:written]
                            columns, amounts = more_columns, more_amounts
                        columns[written] = i * len(label) + j
                        amounts[written] = amount[row]
                        written += 1
                    elif head[row] == UNSHIPPED:
                        unshipped += amount[row]
        if unshipped + total < value[k] - threshold:
            improved += 1
            constants[k] = unshipped
        else:
            written = begin
            length = old_start[k + 1] - old_start[k]
            if written + length + room >= capacity:
                capacity = 2 * capacity + length
                more_columns, more_amounts = np.empty(capacity, np.int64), np.empty(capacity)
                more_columns[:written] = columns[:written]
                more_amounts[:written] = amounts[:written]
                columns, amounts = more_columns, more_amounts
            for index in range(old_start[k], old_start[k + 1]):
                columns[written] = old_column[index]
                amounts[written] = old_amount[index]
                written += 1
            constants[k] = old_constant[k]
        start[k + 1] = written
    return start, columns[:written].copy(), amounts[:written].copy(), constants, improved, loose


@compiled
def shortfall(first, successor, chance, label, alpha, distance, pairs, start, column, amount):
    """How far each pair's bound d(s,t) falls short of what its flow proves: Γ(d) − d, rounded upwards.

    A flow is taken as it is, exactly, and whatever it fails to take away, after rounding, is counted as
    unshipped: so it is feasible by construction. Every sum is rounded upwards by its a-priori error
    bound (k terms: k units in the last place of the sum of their sizes; here twice that and more). A
    result ≤ 0 at every pair is a proof that Γ(d) ≤ d there.
    """
    size, widest = len(label), 0
    for index in range(size):
        widest = max(widest, first[index + 1] - first[index])
    state, need, scale = np.empty(2 * widest, np.int64), np.empty(2 * widest), np.empty(2 * widest)
    balance, weight = np.zeros(size), np.zeros(size)
    touched, is_touched = np.empty(size, np.int64), np.zeros(size, np.bool_)
    lacking_of = np.full(len(pairs), -np.inf)
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
            for x in (i, j):
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
        lacking_of[k] = total * (1.0 + (terms + many) * UNIT) - claimed
    return lacking_of


@compiled
def flow_cost(states, need, scale, distance, alpha, relay_first, relays, spread, tolerance, less):
    """The cost of a cheap flow for one label, rounded upwards: at least K(d) of these needs.

    Each `need` is off by no more than 8 units in the last place of its `scale`; as in `shortfall`, what the flow fails
    to take away counts as unshipped. `less` is the share of the flow that is shipped (see `certificate`).
    """
    size, members = len(distance), len(states)
    room = members + (min(size, 4 * _MORE_NODES) if len(relays) else 0)
    nodes, own_need = np.empty(room, np.int64), np.empty(room)
    nodes[:members] = states
    own_need[:members] = need
    cost, gain, inverse = np.empty((room, room)), np.empty((room, room)), np.empty((room, room))
    tail, head = np.empty(room, np.int64), np.empty(room, np.int64)
    amount, price, column = np.empty(room), np.empty(room), np.empty(room)
    height, parent, queue = np.empty(size), np.full(size, -2, np.int64), np.empty(size, np.int64)
    solved = abs(
        lift(
            members, nodes, own_need, distance, alpha, relay_first, relays, spread, 0.0, 1.0, tolerance,
            cost, gain, tail, head, inverse, amount, price, column, height, parent, queue,
        )
    )  # fmt: skip
    balance, weight = np.zeros(solved), np.zeros(solved)
    balance[:members] = need
    weight[:members] = scale
    total, terms = 0.0, 8.0
    for row in range(solved):
        if amount[row] > 0.0 and head[row] >= 0:
            terms += 1.0
            shipped = less * amount[row]
            brought = alpha * shipped
            total += shipped * distance[nodes[tail[row]], nodes[head[row]]]
            balance[tail[row]] -= shipped
            weight[tail[row]] += shipped
            balance[head[row]] += brought
            weight[head[row]] += brought
    for index in range(solved):
        total += max(0.0, balance[index] + terms * UNIT * weight[index])
    return total * (1.0 + (terms + solved) * UNIT)
