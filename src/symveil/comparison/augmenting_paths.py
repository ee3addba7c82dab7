"""Transport by shortest augmenting paths: plain loops over arrays, which `transport_loops` compiles for large ones.

Rows have something to send, columns room for it, and prices such that no pair costs less than the price of its row and
of its column together; pairs that carry something cost just that. All rows that have something left look for the
cheapest ways to columns with room, also by taking back what others send (Dijkstra's search, with what pairs cost above
their prices as lengths), prices move along, and as much as possible is sent along these ways. This is the Hungarian
method with amounts in the place of single units (Ford and Fulkerson 1957, Edmonds and Karp 1972).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def send_everything(  # noqa: PLR0912, PLR0915 - one loop, because it is compiled as a whole
    cost: Floats, supply: Counts, demand: Counts, row_price: Floats, column_price: Floats, sent: Counts
) -> None:
    """The cheapest plan, in `sent`, a row for each column; its prices in `row_price` and `column_price`.

    Parameters
    ----------
    cost
        What a unit costs from each row to each column.
    supply, demand
        Whole numbers with the same sum; both are used up.
    row_price, column_price
        Prices that no pair contradicts, to begin with.
    sent
        Zeros, to be filled: what each column gets from each row.
    """
    rows, columns = cost.shape
    distance, via = np.empty(columns), np.empty(columns, dtype=np.int64)
    done, seen = np.empty(columns, dtype=np.bool_), np.empty(rows, dtype=np.bool_)
    came, reached = np.empty(rows, dtype=np.int64), np.empty(rows)
    waiting, targets = np.empty(rows, dtype=np.int64), np.empty(columns, dtype=np.int64)
    while True:
        distance[:], done[:] = np.inf, False
        first = last = 0
        for row in range(rows):  # all rows that have something left look at once
            seen[row] = supply[row] > 0
            if seen[row]:
                came[row], reached[row], waiting[last] = -1, 0.0, row
                last += 1
        if not last:
            return
        wanted, found, so_far = last, 0, 0.0
        while found < wanted:
            while first < last:
                row = waiting[first]
                first += 1
                base = so_far - row_price[row]
                for column in range(columns):
                    length = base + cost[row, column] - column_price[column]
                    if length < distance[column] and not done[column]:
                        distance[column], via[column] = length, row
            nearest, least = -1, np.inf
            for column in range(columns):
                if distance[column] < least and not done[column]:
                    nearest, least = column, distance[column]
            if nearest < 0:
                break  # everything is reached
            so_far = max(so_far, least)  # rounding must not lead backwards
            done[nearest], distance[nearest] = True, so_far
            if demand[nearest] > 0:
                targets[found] = nearest
                found += 1
            for row in range(rows):
                if sent[nearest, row] > 0 and not seen[row]:
                    seen[row], came[row], reached[row], waiting[last] = True, nearest, so_far, row
                    last += 1
        for row in range(rows):
            if seen[row]:
                row_price[row] += so_far - reached[row]
        for column in range(columns):
            if done[column]:
                column_price[column] -= so_far - distance[column]
        for target in targets[:found]:  # the nearest first; what one has used another may not find any more
            amount, column, row = demand[target], target, via[target]
            while came[row] >= 0 and amount > 0:
                column = came[row]
                amount = min(amount, sent[column, row])
                row = via[column]
            amount = min(amount, supply[row]) if came[row] < 0 else 0
            if amount > 0:
                supply[row] -= amount
                demand[target] -= amount
                column = target
                while column >= 0:
                    row = via[column]
                    sent[column, row] += amount
                    column = came[row]
                    if column >= 0:
                        sent[column, row] -= amount
