"""The kernel ~_α: the pairs of states at distance 0 (C19 Definition 21, Proposition 24), exactly.

The largest relation, within equal labels, such that the mass of s can be shipped to that of t along
related pairs, nothing left over. It is a relation only: for α > 1 neither symmetric nor transitive.

Pairs are removed until none has to go. Floats decide where rounding cannot matter, and exact rationals
decide the rest; bisimilar states are always related, which settles most ties beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray
from scipy.sparse import csr_array

from symveil.numbers.conversions import nearest_float
from symveil.verification.distances.bisimulation import bisimulation
from symveil.verification.distances.compiled_loops import kernel_loops
from symveil.verification.distances.exact import ExactLifting, Pair
from symveil.verification.distances.simplex import UNSHIPPED, solve
from symveil.verification.distances.tables import ChainTable, exact_matrix

Relation = NDArray[np.bool_]


def small_kernel(
    table: ChainTable, alpha: fmpq, pairs: Iterable[Pair], *, mirrored: bool = False, relays: bool = True
) -> Relation:
    """The kernel in rationals alone: for small chains. Only the given ordered pairs are ever tested."""
    distance: NDArray[Any] = exact_matrix(table.size, fmpq(1))
    left = {pair: table.exact_needs(alpha, *pair) for pair in pairs}
    for i, j in left:
        distance[i, j] = fmpq(0)
        if mirrored:
            distance[j, i] = fmpq(0)
    while True:
        lifting = ExactLifting(distance, alpha, table.members, relays=relays)
        gone = [pair for pair, needs in left.items() if lifting.ship(needs).cost(distance) != 0]
        if not gone:
            return _relation(table.size, left, mirrored=mirrored)
        for i, j in gone:
            del left[i, j]
            distance[i, j] = fmpq(1)
            if mirrored:
                distance[j, i] = fmpq(1)


def large_kernel(
    table: ChainTable, alpha: fmpq, pairs: NDArray[np.int64], *, mirrored: bool = False, relays: bool = True
) -> Relation:
    """The same for large chains: in floats with margins, and in rationals where they are too close to call."""
    loops = kernel_loops()
    float_alpha = nearest_float(alpha)
    classes = bisimulation(table)
    inside = np.zeros((table.size, table.size), dtype=np.bool_)
    inside[pairs[:, 0], pairs[:, 1]] = True
    if mirrored:
        inside |= inside.T
    if alpha == 1:  # the kernel of ld_1 is bisimilarity (C19 §7)
        return np.equal.outer(classes, classes)
    alike = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    todo = pairs[~alike]
    powers = np.array([float_alpha**hop for hop in range(60) if hop * np.log(float_alpha) < 200])
    source = np.repeat(np.arange(table.size), np.diff(table.first))
    moves = csr_array((np.ones(len(source), dtype=np.int32), (source, table.successor)), shape=inside.shape)
    close = np.zeros_like(inside)  # pairs on which floats could not decide, as the relation is now
    tiny = table.has_tiny_chances  # floats are never asked about these
    fragile = np.logical_or.outer(tiny, tiny)
    close[todo[:, 0], todo[:, 1]] = fragile[todo[:, 0], todo[:, 1]]
    hops = loops.hop_counts(inside) if relays else inside.astype(np.int32)
    while len(todo):
        todo = np.ascontiguousarray(todo[~fragile[todo[:, 0], todo[:, 1]]])
        answer = loops.kernel_round(
            table.first, table.successor, table.chance, table.label, float_alpha, todo, inside, hops, powers, mirrored,
            1e-13,
        )  # fmt: skip
        close[todo[:, 0], todo[:, 1]] = answer == 0
        if not (answer < 0).any():
            gone = [pair for pair in np.argwhere(close & inside).tolist() if not _ships_all(table, alpha, pair, hops)]
            for i, j in gone:
                inside[i, j] = close[i, j] = False
                if mirrored:
                    inside[j, i] = False
            if not gone:
                break
        before, hops = hops, loops.hop_counts(inside) if relays else inside.astype(np.int32)
        todo = pairs[~alike & inside[pairs[:, 0], pairs[:, 1]]]
        if relays:
            # only pairs (s, t) have to be looked at again that ship from a successor of s to one of t along what has
            # changed; ways through other states are in the hops already
            again = (moves @ csr_array(before != hops, dtype=np.int32) @ moves.T).toarray() != 0
            todo = todo[again[todo[:, 0], todo[:, 1]]]
        if not len(todo):
            todo = pairs[(close & inside)[pairs[:, 0], pairs[:, 1]]]  # nothing moves any more: now these are decided
    np.fill_diagonal(inside, True)
    return inside


def _ships_all(table: ChainTable, alpha: fmpq, pair: list[int], hops: NDArray[np.int32]) -> bool:
    """Whether everything can be shipped along the relation, in exact rationals."""
    zero, one = fmpq(0), fmpq(1)
    for group in table.exact_needs(alpha, *pair).values():
        size = len(group)
        nodes = list(group)
        cost = np.array([[zero if hops[i, j] else one for j in nodes] for i in nodes], dtype=object)
        gain = np.array([[alpha ** int(hops[i, j]) for j in nodes] for i in nodes], dtype=object)
        need = np.array([group[i] for i in nodes], dtype=object)
        tail, head = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
        amount, price, column = (np.empty(size, dtype=object) for _ in range(3))
        inverse = np.empty((size, size), dtype=object)
        solve(size, cost, gain, need, zero, one, zero, tail, head, inverse, amount, price, column)
        if any(head[row] == UNSHIPPED and amount[row] != 0 for row in range(size)):
            return False
    return True


def _relation(size: int, pairs: Iterable[Pair], *, mirrored: bool) -> Relation:
    inside = np.zeros((size, size), dtype=np.bool_)
    for i, j in pairs:
        inside[i, j] = True
        if mirrored:
            inside[j, i] = True
    np.fill_diagonal(inside, True)
    return inside
