"""Everything in exact rationals: the lifting of one pair, a policy's linear system, and the policy itself.

For small chains this is the whole computation; for larger ones it turns the policy that floats have
found into exact values, and checks that they are the fixed point.

The kernel ~_α: the pairs of states at distance 0 (C19 Definition 21, Proposition 24), exactly.

The largest relation, within equal labels, such that the mass of s can be shipped to that of t along
related pairs, nothing left over. It is a relation only: for α > 1 neither symmetric nor transitive.

Pairs are removed until none has to go. Floats decide where rounding cannot matter, and exact rationals
decide the rest; bisimilar states are always related, which settles most ties beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray
from scipy.sparse import csr_array

from symveil.numbers.conversions import nearest_float
from symveil.verification.distances import kernel_loops
from symveil.verification.distances.simplex import UNSHIPPED, lift, solve
from symveil.verification.distances.tables import ChainTable, bisimulation, exact_matrix
from symveil.verification.limits import LIMITS
from symveil.verification.linear_systems import Entry, parts_of, solved

Pair = tuple[int, int]
Needs = Mapping[int, Mapping[int, fmpq]]
Relation = NDArray[np.bool_]

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
                len(group), room, nodes, need, self._distance, self._alpha, self._first, self._relays,
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

    False, with nothing written, if values of more than `largest` pairs depend on each other.
    """
    pairs = list(policy)
    index = {pair: number for number, pair in enumerate(pairs)}
    entries: list[Entry] = []
    constant = [policy[pair].unshipped for pair in pairs]
    for number, pair in enumerate(pairs):
        for i, j, amount in policy[pair].arcs:
            if (i, j) in index:
                entries.append((number, index[i, j], amount))
            else:
                constant[number] += amount * distance[i, j]
    parts = parts_of(entries, len(pairs))
    if largest is not None and max(map(len, parts), default=0) > largest:
        return False
    for pair, value in zip(pairs, solved(entries, constant, parts=parts), strict=True):
        distance[pair] = value
    return True


class ExactPolicy:
    """A flow for each pair, in rationals; with `mirrored`, d(t,s) is d(s,t), and only one of the two has a flow.

    Every policy has values, each at most the one before, and there are finitely many vertices: so iteration ends, at
    the fixed point of Γ' on the pairs. The other distances are 0 on the kernel and 1 elsewhere.
    """

    margin: Any = _ZERO

    def __init__(
        self,
        table: ChainTable,
        alpha: fmpq,
        pairs: NDArray[np.int64],
        kernel: Relation,
        *,
        relays: bool = True,
        mirrored: bool = False,
        policy: dict[Pair, Shipment] | None = None,
        largest: int | None = None,
    ) -> None:
        self._table, self._alpha, self._mirrored, self._largest = table, alpha, mirrored, largest
        self._relays = relays
        self._needs = {(s, t): table.exact_needs(alpha, s, t) for s, t in pairs.tolist()}
        self.distance = exact_matrix(table.size, fmpq(1))
        self.distance[kernel] = fmpq(0)
        own = {pair: ship_nothing(need) for pair, need in self._needs.items()} if policy is None else policy
        # arcs against the direction that has a value are the same distance
        self._policy = {pair: _turned(shipment, own) for pair, shipment in own.items()} if mirrored else own

    def settle(self) -> bool:
        """The values of the policy; False if one of its linear systems has more unknowns than `largest`."""
        if not evaluate(self._policy, self.distance, largest=self._largest):
            return False
        if self._mirrored:
            for i, j in self._needs:
                self.distance[j, i] = self.distance[i, j]
        return True

    def improve(self, *, detours: bool) -> bool:
        """Cheaper flows; False where there are none. A chain is small here, and relays are there from the first."""
        lifting = ExactLifting(self.distance, self._alpha, self._table.members, relays=self._relays or detours)
        improved = False
        for pair, need in self._needs.items():
            better = lifting.ship(need)
            if better.cost(self.distance) < self.distance[pair]:
                self._policy[pair] = _turned(better, self._policy) if self._mirrored else better
                improved = True
        return improved

    def costs(self, pairs: NDArray[np.int64]) -> NDArray[Any]:
        """What the cheapest flows cost, relays included."""
        lifting = ExactLifting(self.distance, self._alpha, self._table.members, relays=True)
        needs = (self._table.exact_needs(self._alpha, s, t) for s, t in pairs.tolist())
        return np.array([lifting.ship(need).cost(self.distance) for need in needs], dtype=object)


def _turned(shipment: Shipment, policy: Mapping[Pair, Shipment]) -> Shipment:
    arcs = tuple((j, i, amount) if (j, i) in policy else (i, j, amount) for i, j, amount in shipment.arcs)
    return Shipment(arcs, shipment.unshipped)


def kernel(
    table: ChainTable,
    alpha: fmpq,
    pairs: NDArray[np.int64],
    *,
    mirrored: bool = False,
    relays: bool = True,
) -> Relation:
    """The kernel among these ordered pairs: in floats with margins, in rationals where these are too close to call."""
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
    close = np.zeros_like(inside)  # pairs on which floats could not decide, as the relation is now
    # floats are never asked about pairs with chances that are too small for them
    fragile = np.logical_or.outer(table.has_tiny_chances, table.has_tiny_chances)
    close[todo[:, 0], todo[:, 1]] = fragile[todo[:, 0], todo[:, 1]]

    def counted() -> NDArray[np.int32]:
        return np.asarray(kernel_loops.hop_counts(inside) if relays else inside, dtype=np.int32)

    hops = counted()
    while len(todo):
        todo = np.ascontiguousarray(todo[~fragile[todo[:, 0], todo[:, 1]]])
        answer = kernel_loops.kernel_round(
            table.first, table.successor, table.chance, table.label, float_alpha, todo, inside, hops, powers,
            mirrored, 1e-13,
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
        before, hops = hops, counted()
        todo = pairs[~alike & inside[pairs[:, 0], pairs[:, 1]]]
        if relays and len(todo) > LIMITS.now.small_pairs:
            arcs = np.ones(len(table.successor), dtype=np.int32)
            moves = csr_array((arcs, table.successor, table.first), shape=inside.shape)
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
