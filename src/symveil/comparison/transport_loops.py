"""Transport by shortest augmenting paths: compiled loops over arrays.

Rows have something to send, columns room for it, and prices such that no pair costs less than the price of its row and
of its column together; pairs that carry something cost just that. All rows that have something left look for the
cheapest ways to columns with room, also by taking back what others send (Dijkstra's search, with what pairs cost above
their prices as lengths), prices move along, and as much as possible is sent along these ways. This is the Hungarian
method with amounts in the place of single units (Ford and Fulkerson 1957, Edmonds and Karp 1972).
"""

from __future__ import annotations

import cython
import numpy as np

from symveil.numbers.compiled import built_from

if not cython.compiled:
    from symveil.numbers.compiled import (
        INFINITY,
        Floats,
        FloatTable,
        NewBools,
        NewFloats,
        NewInts,
        NewIntTable,
    )

built_from("", __name__)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _least(values: Floats) -> cython.double:
    """The smallest; in four lanes, because a processor waits for each comparison otherwise."""
    one, two, three, four = INFINITY, INFINITY, INFINITY, INFINITY
    count, at = len(values), 0
    while at + 3 < count:
        one = values[at] if values[at] < one else one
        two = values[at + 1] if values[at + 1] < two else two
        three = values[at + 2] if values[at + 2] < three else three
        four = values[at + 3] if values[at + 3] < four else four
        at += 4
    while at < count:
        one = values[at] if values[at] < one else one
        at += 1
    one = two if two < one else one
    three = four if four < three else three
    return three if three < one else one


def send_everything(
    cost: FloatTable, supply: NewInts, demand: NewInts, row_price: NewFloats, column_price: NewFloats, sent: NewIntTable
) -> None:
    """The cheapest plan, in `sent`, a row for each column; its prices in `row_price` and `column_price`.

    Supply and demand have the same sum, and both are used up. The prices are such as no pair contradicts, and `sent`,
    zeros, gets what each column gets from each row.
    """
    rows, columns = cost.shape[0], cost.shape[1]
    distance: NewFloats = np.empty(columns)
    via: NewInts = np.empty(columns, np.int64)
    open_to: NewFloats = np.empty(columns)  # how far, where that is not settled
    open_price: NewFloats = np.empty(columns)  # prices; −∞ where it is settled, so that nothing gets there
    seen: NewBools = np.empty(rows, np.bool_)
    came: NewInts = np.empty(rows, np.int64)
    reached: NewFloats = np.empty(rows)
    waiting: NewInts = np.empty(rows, np.int64)
    targets: NewInts = np.empty(columns, np.int64)
    first: cython.longlong
    last: cython.longlong
    column: cython.longlong
    row: cython.longlong
    nearest: cython.longlong
    amount: cython.longlong
    least: cython.double
    so_far: cython.double
    with cython.nogil:
        while True:
            for column in range(columns):
                open_to[column], open_price[column] = INFINITY, column_price[column]
            first = last = 0
            for row in range(rows):  # all rows that have something left look at once
                seen[row] = supply[row] > 0
                if seen[row]:
                    came[row], reached[row], waiting[last] = -1, 0.0, row
                    last += 1
            if not last:
                break
            wanted, result, so_far = last, 0, 0.0
            while result < wanted:
                while first < last:
                    row = waiting[first]
                    first += 1
                    base = so_far - row_price[row]
                    for column in range(columns):
                        length = base + cost[row, column] - open_price[column]
                        if length < open_to[column]:
                            open_to[column], via[column] = length, row
                least = _least(open_to)
                if least == INFINITY:
                    break  # everything is reached
                nearest = 0
                while open_to[nearest] != least:
                    nearest += 1
                so_far = max(so_far, least)  # rounding must not lead backwards
                open_to[nearest], open_price[nearest], distance[nearest] = INFINITY, -INFINITY, so_far
                if demand[nearest] > 0:
                    targets[result] = nearest
                    result += 1
                for row in range(rows):
                    if sent[nearest, row] > 0 and not seen[row]:
                        seen[row], came[row], reached[row], waiting[last] = True, nearest, so_far, row
                        last += 1
            for row in range(rows):
                if seen[row]:
                    row_price[row] += so_far - reached[row]
            for column in range(columns):
                if open_price[column] == -INFINITY:
                    column_price[column] -= so_far - distance[column]
            for index in range(result):  # the nearest first; what one has used another may not find any more
                target = targets[index]
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
