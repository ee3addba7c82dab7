"""One step: the skewed Kantorovich lifting K(d)(μ, μ') of C19 Definition 13, with relays.

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

from symveil.verification.distances.simplex import solve


def lift(
    count: int, nodes: Any, need: Any, distance: Any, alpha: Any, first: Any, relays: Any, spread: Any, zero: Any,
    one: Any, tolerance: Any, cost: Any, gain: Any, tail: Any, head: Any, inverse: Any, amount: Any, price: Any,
    column: Any, height: Any, parent: Any, queue: Any,
) -> int:  # fmt: skip
    """Solve for one label. `nodes[:count]` are its states with `need`; relays are appended to them.

    Returns how many nodes there are at the end, or minus that where the solver gave up or room for
    relays ran out: then what is there is feasible, and only not proved to be optimal. `height` and
    `parent` have an entry for each state, and `parent` is −2 everywhere, before and after.
    """
    room = len(need)
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
