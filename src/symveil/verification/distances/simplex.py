"""A small least-cost flow with gains, by the primal simplex method.

One step of every distance here is such a flow (C19 Lemma 19, docs/theory/labelled-chains.md). At node i the amount
`need[i]` is to be taken away (where it is negative, that much can be taken in). An arc i → j takes ω
away from i at cost `cost[i,j]`, and brings `gain[i,j]`·ω to j. What is not taken away costs 1 each:

    minimise Σ ω_ij cost_ij + Σ η_i   subject to   Σ_j ω_ij − Σ_j gain_ji ω_ji + η_i ≥ need_i,  ω, η ≥ 0.

Its dual is the prices f: maximise Σ need_i f_i over 0 ≤ f ≤ 1 with f_i − gain_ij f_j ≤ cost_ij. Leaving
everything where it is is feasible, so there is no first phase. An arc of cost 1 or more is never used.

The same lines run in floats, compiled, and in exact rationals, where `tolerance` is 0: nothing here
knows which. The matrices are scratch space of the caller; only their leading `size` rows are used.
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
                        if (tail[row], head[row]) < (tail[leave], head[leave]):
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
