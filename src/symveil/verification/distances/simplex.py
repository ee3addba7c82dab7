"""A small least-cost flow with gains, by the primal simplex method.

One step of every distance here is such a flow (C19 Lemma 19, docs/theory/chains-and-opacity.md). At node i the amount
`need[i]` is to be taken away (where it is negative, that much can be taken in). An arc i → j takes ω
away from i at cost `cost[i,j]`, and brings `gain[i,j]`·ω to j. What is not taken away costs 1 each:

    minimise Σ ω_ij cost_ij + Σ η_i   subject to   Σ_j ω_ij − Σ_j gain_ji ω_ji + η_i ≥ need_i,  ω, η ≥ 0.

Its dual is the prices f: maximise Σ need_i f_i over 0 ≤ f ≤ 1 with f_i − gain_ij f_j ≤ cost_ij. Leaving
everything where it is is feasible, so there is no first phase. An arc of cost 1 or more is never used.

The same lines run in floats, compiled, and in exact rationals, where `tolerance` is 0: nothing here
knows which. The matrices are scratch space of the caller; only their leading `size` rows are used.

One step: the skewed Kantorovich lifting K(d)(μ, μ') of C19 Definition 13, with relays.

K(d)(μ, μ') is a flow with gain α on each arc (see `simplex`), of `need` μ_i − αμ'_i. Arcs between
states of different labels cost 1 and are useless, so each label is a problem of its own.

Relays: for α > 1 it may be cheaper to go from i to j by way of a state x outside both supports, namely where
d_ij > d_ix + αd_xj. Such x are listed in `relays` (for each i those with which some j is violated, nearest first).
Where the list is empty no detour can help: a useful path has only violated triples, because a triple that is not
violated can be cut short, at less cost and with less gain. Otherwise the small problem is solved without relays, its
prices are extended to the other states as low as possible, and states on which that fails join the problem, until it
extends: then the small optimum is the whole one. `spread[i,x]`, the largest d_ij − d_xj or anything above it, tells
when no second relay behind x can help.

As in `simplex`, floats and exact rationals are both welcome.
"""

from __future__ import annotations

from typing import Any

# Basic variables are (tail, head); these heads stand for what is no arc.
UNSHIPPED = -1  # η of the tail: mass that is not taken away
SLACK = -2  # room that is left at the tail

_PATIENCE = 60  # pivots per node before Bland's rule, which cannot cycle, takes over


def solve(
    size: int, cost: Any, gain: Any, need: Any, zero: Any, one: Any, tolerance: Any, tail: Any, head: Any,
    inverse: Any, amount: Any, price: Any, column: Any,
) -> bool:  # fmt: skip
    """Fill in the basis (`tail`, `head`), its `amount`s and the dual `price`s; False if it gave up (floats only)."""
    for row in range(size):
        tail[row] = row
        for other in range(size):
            inverse[row, other] = zero
        if need[row] > 0:
            head[row] = UNSHIPPED
            inverse[row, row] = one
            amount[row] = need[row]
            price[row] = one
        else:
            head[row] = SLACK
            inverse[row, row] = -one
            amount[row] = -need[row]
            price[row] = zero
    pivots = 0
    while True:
        careful = pivots > _PATIENCE * size
        # --- which variable enters: the one with the most negative reduced cost (Bland: the first) ---
        best = -tolerance
        enter_tail, enter_head = -1, 0
        for i in range(size):
            if careful and enter_tail >= 0:
                break
            own = price[i]
            if -own > 0 and own < best:
                best = own
                enter_tail, enter_head = i, SLACK
                if careful:
                    break
            if one - own < best:
                best = one - own
                enter_tail, enter_head = i, UNSHIPPED
                if careful:
                    break
            if not own > 0:
                continue
            for j in range(size):
                if j != i and cost[i, j] < one:
                    reduced = cost[i, j] - own + gain[i, j] * price[j]
                    if reduced < best:
                        best = reduced
                        enter_tail, enter_head = i, j
                        if careful:
                            break
        if enter_tail < 0:
            return True
        # --- how the basis would change, and which variable leaves ---
        sign = -one if enter_head == SLACK else one
        for row in range(size):
            column[row] = sign * inverse[row, enter_tail]
            if enter_head >= 0:
                column[row] -= gain[enter_tail, enter_head] * inverse[row, enter_head]
        leave = -1
        ratio = zero
        for row in range(size):
            if column[row] > tolerance:
                quotient = amount[row] / column[row]
                if leave < 0 or quotient < ratio:
                    leave, ratio = row, quotient
                elif quotient == ratio:
                    if careful:  # Bland: the smallest variable
                        if tail[row] < tail[leave] or (tail[row] == tail[leave] and head[row] < head[leave]):
                            leave = row
                    elif column[row] > column[leave]:  # the steadier pivot
                        leave = row
        if leave < 0 or pivots > 4 * _PATIENCE * (size + 1) * (size + 1):
            return False
        pivots += 1
        # --- pivot ---
        pivot = column[leave]
        for other in range(size):
            inverse[leave, other] = inverse[leave, other] / pivot
        for row in range(size):
            if row != leave and column[row] != 0:
                factor = column[row]
                for other in range(size):
                    inverse[row, other] -= factor * inverse[leave, other]
                amount[row] -= factor * ratio
                if amount[row] < 0:  # floats only
                    amount[row] = zero
        amount[leave] = ratio
        tail[leave], head[leave] = enter_tail, enter_head
        # best is the reduced cost of what entered
        for other in range(size):
            price[other] += best * inverse[leave, other]


def lift(
    count: int, room: int, nodes: Any, need: Any, distance: Any, alpha: Any, first: Any, relays: Any, spread: Any,
    zero: Any, one: Any, tolerance: Any, cost: Any, gain: Any, tail: Any, head: Any, inverse: Any, amount: Any,
    price: Any, column: Any, height: Any, parent: Any, queue: Any,
) -> int:  # fmt: skip
    """Solve for one label. `nodes[:count]` are its states with `need`; relays are appended to them, up to `room`.

    Returns how many nodes there are at the end, or minus that where the solver gave up or room for
    relays ran out: then what is there is feasible, and only not proved to be optimal. `height` and
    `parent` have an entry for each state, and `parent` is −2 everywhere, before and after.
    """
    while True:
        for i in range(count):
            for j in range(count):
                cost[i, j] = distance[nodes[i], nodes[j]]
                gain[i, j] = alpha
        if not solve(count, cost, gain, need, zero, one, tolerance, tail, head, inverse, amount, price, column):
            return -count
        # --- the least extension of the prices along relays, as far as it can matter: heights only fall on the way,
        # and a height that is no more than α times the lowest price violates nothing ---
        lowest = price[0]
        for i in range(count):
            parent[nodes[i]] = -1
            height[nodes[i]] = price[i]
            lowest = min(lowest, price[i])
        lowest = alpha * lowest + tolerance
        reached = 0
        for i in range(count):
            y = nodes[i]
            if price[i] > lowest:
                for index in range(first[y], first[y + 1]):
                    x = relays[index]
                    rest = price[i] - distance[y, x]
                    if not rest > alpha * lowest:
                        break
                    if parent[x] != -1:
                        value = rest / alpha
                        if parent[x] == -2:
                            queue[reached] = x
                            reached += 1
                        elif not value > height[x]:
                            continue
                        height[x] = value
                        parent[x] = y
        again = reached > 0
        while again:
            again = False
            step = 0
            while step < reached:
                y = queue[step]
                step += 1
                before_it = parent[y]
                if height[before_it] * (alpha - one) >= alpha * spread[before_it, y] - distance[before_it, y]:
                    continue  # whatever lies behind y is reached from before it, directly, no lower
                for index in range(first[y], first[y + 1]):
                    x = relays[index]
                    rest = height[y] - distance[y, x]
                    if not rest > alpha * lowest:
                        break
                    if parent[x] != -1:
                        value = rest / alpha
                        if parent[x] == -2:
                            queue[reached] = x
                            reached += 1
                        elif value > height[x]:
                            again = True
                        else:
                            continue
                        height[x] = value
                        parent[x] = y
        # --- where it does not extend: the worst relay joins, and with it the relays that lead to it ---
        before = count
        worst, excess = -1, tolerance
        for step in range(reached):
            x = queue[step]
            for i in range(before):
                over = height[x] - distance[x, nodes[i]] - alpha * price[i]
                if over > excess:
                    worst, excess = x, over
        while worst >= 0 and parent[worst] >= 0 and count < room:
            nodes[count] = worst
            need[count] = zero
            count += 1
            worst = parent[worst]
        full = count == room
        for i in range(count):
            parent[nodes[i]] = -2
        for step in range(reached):
            parent[queue[step]] = -2
        if count == before:
            return count
        if full:
            return -before
