"""Everything in exact rationals: the lifting of one pair, a policy's linear system, policy iteration.

For small chains this is the whole computation; for larger ones it turns the policy that floats have
found into exact values, and checks that they are the fixed point.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from symveil.graphs.strong_components import strong_components
from symveil.verification.distances.lifting import lift
from symveil.verification.distances.simplex import UNSHIPPED
from symveil.verification.distances.tables import ChainTable, exact_matrix

Pair = tuple[int, int]
Needs = Mapping[int, Mapping[int, fmpq]]

_ZERO, _ONE = fmpq(0), fmpq(1)


@dataclass(frozen=True, slots=True)
class Shipment:
    """A feasible flow: its arcs with their amounts, what stays unshipped, and so its cost under any d."""

    arcs: tuple[tuple[int, int, fmpq], ...]
    unshipped: fmpq

    def cost(self, distance: NDArray[Any]) -> fmpq:
        """Σ ω_ij d_ij + Σ η_i."""
        return sum((amount * distance[i, j] for i, j, amount in self.arcs), start=self.unshipped)


def ship_nothing(needs: Needs) -> Shipment:
    """The flow that leaves everything where it is: its cost is the one-step skewed total variation."""
    return Shipment((), sum((need for group in needs.values() for need in group.values() if need > 0), start=_ZERO))


class ExactLifting:
    """K(d)(p, r) in exact rationals, for one d."""

    def __init__(self, distance: NDArray[Any], alpha: fmpq, members: list[NDArray[np.int64]], *, relays: bool) -> None:
        self._distance = distance
        self._alpha = alpha
        self._size = len(distance)
        lists: list[list[int]] = [[] for _ in range(self._size)]
        if relays:
            for group in members:
                for i in group.tolist():
                    lists[i] = useful_relays(distance, alpha, i, group.tolist())
        self._first = np.cumsum([0, *map(len, lists)])
        self._relays = np.array([x for row in lists for x in row], dtype=np.int64)
        self._spread = exact_matrix(self._size, fmpq(2)) if len(self._relays) else exact_matrix(1, fmpq(2))
        self._parent = np.full(self._size, -2, dtype=np.int64)
        self._height = np.empty(self._size, dtype=object)
        self._queue = np.empty(self._size, dtype=np.int64)

    def ship(self, needs: Needs) -> Shipment:
        """A cheapest flow, as a vertex."""
        arcs: list[tuple[int, int, fmpq]] = []
        unshipped = _ZERO
        for group in needs.values():
            if not any(need > 0 for need in group.values()):
                continue
            room = len(group) + (self._size if len(self._relays) else 0)
            nodes = np.array([*group, *([0] * (room - len(group)))], dtype=np.int64)
            need = np.array([*group.values(), *([_ZERO] * (room - len(group)))], dtype=object)
            tail, head = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
            amount = np.empty(room, dtype=object)
            scratch = [np.empty((room, room), dtype=object) for _ in range(3)]
            vectors = [np.empty(room, dtype=object) for _ in range(2)]
            count = lift(
                len(group), nodes, need, self._distance, self._alpha, self._first, self._relays,
                self._spread, _ZERO, _ONE, _ZERO,
                scratch[0], scratch[1], tail, head, scratch[2], amount, vectors[0], vectors[1],
                self._height, self._parent, self._queue,
            )  # fmt: skip
            for row in range(count):
                if amount[row] != 0:
                    if head[row] >= 0:
                        arcs.append((int(nodes[tail[row]]), int(nodes[head[row]]), amount[row]))
                    elif head[row] == UNSHIPPED:
                        unshipped += amount[row]
        return Shipment(tuple(arcs), unshipped)


def useful_relays(distance: NDArray[Any], alpha: fmpq, i: int, group: list[int]) -> list[int]:
    """The states x with d_ij > d_ix + αd_xj for some j of the same label, nearest first."""
    useful = []
    for x in group:
        if x == i or distance[i, x] >= 1:
            continue
        if any(distance[i, j] > distance[i, x] + alpha * distance[x, j] for j in group if j not in (i, x)):
            useful.append(x)
    return sorted(useful, key=lambda x: distance[i, x])


def evaluate(policy: Mapping[Pair, Shipment], distance: NDArray[Any], *, largest: int | None = None) -> bool:
    """Write the exact value of every pair of the policy into `distance`; other entries are given.

    Strongly connected components are solved one after the other. False, with nothing written, if one
    of them has more than `largest` unknowns.
    """
    pairs = list(policy)
    index = {pair: number for number, pair in enumerate(pairs)}
    groups = strong_components([[index[arc[:2]] for arc in policy[pair].arcs if arc[:2] in index] for pair in pairs])
    if largest is not None and max(map(len, groups), default=0) > largest:
        return False
    for group in groups:  # each comes after those that its values depend on
        _solve_component([pairs[number] for number in group], policy, distance)
    return True


def _solve_component(pairs: list[Pair], policy: Mapping[Pair, Shipment], distance: NDArray[Any]) -> None:
    index = {pair: number for number, pair in enumerate(pairs)}
    if len(pairs) == 1 and not any(arc[:2] == pairs[0] for arc in policy[pairs[0]].arcs):
        distance[pairs[0]] = policy[pairs[0]].cost(distance)
        return
    matrix = fmpq_mat(len(pairs), len(pairs))
    constant = fmpq_mat(len(pairs), 1)
    for number, pair in enumerate(pairs):
        known = policy[pair].unshipped
        matrix[number, number] = _ONE
        for i, j, amount in policy[pair].arcs:
            if (i, j) in index:
                matrix[number, index[i, j]] -= amount
            else:
                known += amount * distance[i, j]
        constant[number, 0] = known
    solution = matrix.solve(constant)
    for number, pair in enumerate(pairs):
        distance[pair] = solution[number, 0]


def policy_iteration(
    table: ChainTable,
    alpha: fmpq,
    pairs: Iterable[Pair],
    distance: NDArray[Any],
    *,
    mirrored: bool = False,
    relays: bool = True,
    policy: dict[Pair, Shipment] | None = None,
    largest: int | None = None,
) -> bool:
    """The fixed point of Γ' on `pairs`, written into `distance`, whose other entries stay as they are.

    Starts from "ship nothing" (or from `policy`) and changes a pair's flow only where that is strictly
    cheaper: then every policy has values, each at most the one before, and there are finitely many
    vertices. With `mirrored`, d(t,s) is d(s,t). False if a linear system was larger than `largest`.
    """
    needs = {pair: table.exact_needs(alpha, *pair) for pair in pairs}
    if policy is None:
        policy = {pair: ship_nothing(need) for pair, need in needs.items()}
    if mirrored:
        # arcs against the direction that has a value are the same distance
        policy = {pair: _turned(shipment, policy) for pair, shipment in policy.items()}
    while True:
        if not evaluate(policy, distance, largest=largest):
            return False
        if mirrored:
            for i, j in needs:
                distance[j, i] = distance[i, j]
        lifting = ExactLifting(distance, alpha, table.members, relays=relays)
        improved = False
        for pair, need in needs.items():
            better = lifting.ship(need)
            if better.cost(distance) < distance[pair]:
                policy[pair] = _turned(better, policy) if mirrored else better
                improved = True
        if not improved:
            return True


def _turned(shipment: Shipment, policy: Mapping[Pair, Shipment]) -> Shipment:
    arcs = tuple((j, i, amount) if (j, i) in policy else (i, j, amount) for i, j, amount in shipment.arcs)
    return Shipment(arcs, shipment.unshipped)
