"""The compiled loops of the kernel: how far the relation leads, and one round of removing pairs from it."""

from __future__ import annotations

import numpy as np

from symveil.languages.compiling import compiled
from symveil.verification.distances.sweeps import UNIT, merge, solve

# as in sweeps.py
COMPILED_FROM = "a1636c5a875b0ca9"


@compiled
def hop_counts(inside):
    """The smallest number of arcs of the relation that lead from i to j; 0 where none do. Rows are sets of bits."""
    size = len(inside)
    words = (size + 63) // 64
    rows = np.zeros((size, words), np.uint64)
    for i in range(size):
        for j in range(size):
            if inside[i, j] and i != j:
                rows[i, j // 64] |= np.uint64(1) << np.uint64(j % 64)
    counts = np.zeros((size, size), np.int32)
    frontier, seen = np.empty(size, np.int64), np.empty(words, np.uint64)
    fresh = np.empty(words, np.uint64)
    for source in range(size):
        seen[:] = np.uint64(0)
        seen[source // 64] = np.uint64(1) << np.uint64(source % 64)
        frontier[0] = source
        waiting, hop = 1, 0
        while waiting:
            hop += 1
            fresh[:] = np.uint64(0)
            for index in range(waiting):
                for word in range(words):
                    fresh[word] |= rows[frontier[index], word]
            waiting = 0
            for word in range(words):
                left = fresh[word] & ~seen[word]
                seen[word] |= left
                bit = 0
                while left:
                    if left & np.uint64(1):
                        counts[source, 64 * word + bit] = hop
                        frontier[waiting] = 64 * word + bit
                        waiting += 1
                    left >>= np.uint64(1)
                    bit += 1
    return counts


@compiled
def kernel_round(first, successor, chance, label, alpha, pairs, inside, hops, powers, mirrored, tolerance):
    """One round of C19 Proposition 24 in floats, with a margin: +1 proved to stay, −1 proved to go, 0 too close.

    `inside` is the relation so far, from which what goes is removed at once. All its arcs are free, so a
    detour of h arcs (`hops`) is a gain α^h = `powers[h]` and nothing else. Beyond the end of that table the
    last power is used: too small, which is fine for a proof that a pair goes, and is not used otherwise.
    """
    size, widest = len(label), 0
    for index in range(size):
        widest = max(widest, first[index + 1] - first[index])
    wide = 2 * widest
    state, need, scale = np.empty(wide, np.int64), np.empty(wide), np.empty(wide)
    nodes, own, own_scale = np.empty(wide, np.int64), np.empty(wide), np.empty(wide)
    cost, gain, inverse = np.empty((wide, wide)), np.empty((wide, wide)), np.empty((wide, wide))
    tail, head = np.empty(wide, np.int64), np.empty(wide, np.int64)
    amount, price, column = np.empty(wide), np.empty(wide), np.empty(wide)
    answer = np.ones(len(pairs), np.int8)
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
                    gain[i, j] = powers[min(hop, len(powers) - 1)] if hop > 0 else 0.0
                    cost[i, j] = 0.0 if hop > 0 else 1.0
            if not solve(members, cost, gain, own, 0.0, 1.0, tolerance, tail, head, inverse, amount, price, column):
                answer[k] = 0
                continue
            # prices lowered until they are feasible for certain; if they still earn something, the pair goes
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
            feasible = True
            for i in range(members):
                for j in range(members):
                    if j != i and gain[i, j] > 0.0 and price[i] > gain[i, j] * price[j] * (1.0 - 32 * UNIT):
                        feasible = feasible and price[i] == 0.0
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
                    if hops[nodes[i], nodes[j]] >= len(powers):
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
    return answer
