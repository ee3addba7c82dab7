"""The compiled loops of the kernel: how far the relation leads, and one round of removing pairs from it."""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

from symveil.numbers.compiled import built_from

if not cython.compiled:
    from symveil.numbers.compiled import (
        BoolTable,
        CodeTable,
        Floats,
        FloatTable,
        Ints,
        IntTable,
        NewBits,
        NewBitTable,
        NewBoolTable,
        NewCodeTable,
        NewFloats,
        NewFloatTable,
        NewInts,
        NewSigns,
    )
    from symveil.verification.distances.simplex import solve
    from symveil.verification.distances.sweep_loops import UNIT, merge, most_successors

built_from("", __name__)


def hop_counts(inside: BoolTable) -> Any:
    """The smallest number of arcs of the relation that lead from i to j; 0 where none do. Rows are sets of bits."""
    size = len(inside)
    words = (size + 63) // 64
    rows: NewBitTable = np.zeros((size, words), np.uint64)
    counted = np.zeros((size, size), np.int32)
    counts: NewCodeTable = counted
    frontier: NewInts = np.empty(size, np.int64)
    seen: NewBits = np.empty(words, np.uint64)
    fresh: NewBits = np.empty(words, np.uint64)
    one: cython.ulonglong = 1
    hop: cython.longlong
    with cython.nogil:
        for i in range(size):
            for j in range(size):
                if inside[i, j] and i != j:
                    rows[i, j // 64] |= one << (j % 64)
        for source in range(size):
            for word in range(words):
                seen[word] = 0
            seen[source // 64] = one << (source % 64)
            frontier[0] = source
            waiting, hop = 1, 0
            while waiting:
                hop += 1
                for word in range(words):
                    fresh[word] = 0
                for index in range(waiting):
                    for word in range(words):
                        fresh[word] |= rows[frontier[index], word]
                waiting = 0
                for word in range(words):
                    left = fresh[word] & ~seen[word]
                    seen[word] |= left
                    bit = 0
                    while left:
                        if left & one:
                            counts[source, 64 * word + bit] = hop
                            frontier[waiting] = 64 * word + bit
                            waiting += 1
                        left >>= 1
                        bit += 1
    return counted


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lower(price: NewFloats, gain: FloatTable, members: cython.longlong) -> cython.bint:
    """Lower prices until they are feasible for certain; False where they did not become so."""
    changed: cython.bint
    bound: cython.double
    for _ in range(4 * members):
        changed = False
        for i in range(members):
            price[i] = min(max(price[i], 0.0), 1.0)
            for j in range(members):
                if j != i and gain[i, j] > 0.0:
                    bound = gain[i, j] * price[j] * (1.0 - 64 * UNIT)
                    if price[i] > bound:
                        price[i] = bound * (1.0 - 4 * UNIT)
                        changed = True
        if not changed:
            break
    feasible: cython.bint = True
    for i in range(members):
        for j in range(members):
            if j != i and gain[i, j] > 0.0 and price[i] > gain[i, j] * price[j] * (1.0 - 32 * UNIT):
                feasible = feasible and price[i] == 0.0
    return feasible


def kernel_round(
    first: Ints, successor: Ints, chance: Floats, label: Ints, alpha: cython.double, pairs: IntTable,
    inside: NewBoolTable, hops: CodeTable, powers: Floats, mirrored: cython.bint, tolerance: cython.double,
) -> Any:  # fmt: skip
    """One round of C19 Proposition 24 in floats, with a margin: +1 proved to stay, −1 proved to go, 0 too close.

    `inside` is the relation so far, from which what goes is removed at once. All its arcs are free, so a
    detour of h arcs (`hops`) is a gain α^h = `powers[h]` and nothing else. Beyond the end of that table the
    last power is used: too small, which is fine for a proof that a pair goes, and is not used otherwise.
    """
    wide = 2 * most_successors(first, len(label))
    state: NewInts = np.empty(wide, np.int64)
    need: NewFloats = np.empty(wide)
    scale: NewFloats = np.empty(wide)
    nodes: NewInts = np.empty(wide, np.int64)
    own: NewFloats = np.empty(wide)
    own_scale: NewFloats = np.empty(wide)
    cost: NewFloatTable = np.empty((wide, wide))
    gain: NewFloatTable = np.empty((wide, wide))
    inverse: NewFloatTable = np.empty((wide, wide))
    tail: NewInts = np.empty(wide, np.int64)
    head: NewInts = np.empty(wide, np.int64)
    amount: NewFloats = np.empty(wide)
    price: NewFloats = np.empty(wide)
    column: NewFloats = np.empty(wide)
    answered = np.ones(len(pairs), np.int8)
    answer: NewSigns = answered
    supply: cython.bint
    feasible: cython.bint
    stays: cython.bint
    last: cython.longlong = len(powers) - 1
    with cython.nogil:
        for k in range(len(pairs)):
            merged = merge(first, successor, chance, alpha, pairs[k, 0], pairs[k, 1], state, need, scale)
            done = 0
            while done < merged and answer[k] >= 0:
                code = label[state[done]]
                members, supply = 0, False
                for index in range(done, merged):
                    if label[state[index]] == code:
                        here, much, large = state[index], need[index], scale[index]
                        state[index], need[index], scale[index] = state[done], need[done], scale[done]
                        state[done], need[done], scale[done] = here, much, large
                        done += 1
                        nodes[members] = here
                        own[members] = much
                        own_scale[members] = large
                        members += 1
                        supply = supply or much > -8 * UNIT * large
                if not supply:
                    continue
                for i in range(members):
                    for j in range(members):
                        hop = hops[nodes[i], nodes[j]]
                        gain[i, j] = (powers[hop] if hop < last else powers[last]) if hop > 0 else 0.0
                        cost[i, j] = 0.0 if hop > 0 else 1.0
                if not solve(members, cost, gain, own, 0.0, 1.0, tolerance, tail, head, inverse, amount, price, column):
                    answer[k] = 0
                    continue
                feasible = _lower(price, gain, members)  # if they still earn something, the pair goes
                earned, doubt = 0.0, 0.0
                for i in range(members):
                    earned += own[i] * price[i]
                    doubt += own_scale[i] * price[i]
                if feasible and earned > (members + 16.0) * UNIT * doubt:
                    answer[k] = -1
                    continue
                # a flow that takes away a little more than is needed: then rounding cannot matter, the pair stays
                for i in range(members):
                    own[i] += 1e-12 * own_scale[i]
                    for j in range(members):
                        if hops[nodes[i], nodes[j]] > last:
                            cost[i, j] = 1.0
                stays = solve(members, cost, gain, own, 0.0, 1.0, tolerance, tail, head, inverse, amount, price, column)
                for i in range(members):
                    own[i] -= 5e-13 * own_scale[i]
                for row in range(members):
                    if head[row] >= 0 and amount[row] > 0.0:
                        brought = gain[tail[row], head[row]] * amount[row] * (1.0 + 64 * UNIT)
                        own[tail[row]] -= amount[row]
                        own_scale[tail[row]] += amount[row]
                        own[head[row]] += brought
                        own_scale[head[row]] += brought
                for i in range(members):
                    stays = stays and own[i] <= -16 * (members + 4.0) * UNIT * own_scale[i]
                if not stays:
                    answer[k] = 0
            if answer[k] < 0:
                inside[pairs[k, 0], pairs[k, 1]] = False
                if mirrored:
                    inside[pairs[k, 1], pairs[k, 0]] = False
    return answered
