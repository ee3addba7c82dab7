"""Policies in floats: their values come from an iterative solver, and nothing is believed of the result.

A proof that a distance is an upper bound: one sweep that checks Γ(d) ≤ d (docs/theory/chains-and-opacity.md).

Γ is monotone, so Γ(d) ≤ d everywhere makes d an upper bound on its least fixed point (Tarski). A
certificate is such a d, and for each pair a flow: any ω ≥ 0 will do, because what it fails to take away
counts as unshipped, and K(d) is at most the cost of any feasible flow (C19 Lemma 19). Pairs of the
kernel are at 0 because they are in the kernel, which is decided in exact arithmetic.

Floats that are a fixed point up to rounding do not pass that check, so they are pushed outwards first,
by a small multiple of h = A h + 1: the pairs that take long to settle get the larger push. The sweep
itself rounds every sum upwards; the flows are floats, which are rationals, and are taken exactly.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.errors import SymveilError
from symveil.graphs.csr import offsets, spread
from symveil.numbers.progress import Progress
from symveil.verification.distances import sweep_loops
from symveil.verification.distances.tables import ChainTable, write
from symveil.verification.limits import LIMITS
from symveil.verification.linear_systems import Effort, Floats, FloatSystem, Integers

_TOLERANCE = 1e-13  # of reduced costs
_THRESHOLD = 1e-12  # what counts as strictly cheaper
_RESIDUAL = 1e-14
# few sweeps before a Krylov method is worth its start
_EFFORT = Effort(sweeps=40, restarts=12, steps=300, last_sweeps=50_000, fine=1e-11)


@dataclass(frozen=True, kw_only=True, eq=False)
class Flows:
    """A policy: a flow for each pair. Row k holds arcs i·n + j with their amounts; `constant` stays unshipped."""

    pairs: Integers
    start: Integers
    arc: Integers
    amount: Floats
    constant: Floats

    @classmethod
    def empty(cls, pairs: Integers, constant: Floats) -> Flows:
        """Flows that ship nothing, at these costs."""
        return cls(
            pairs=np.ascontiguousarray(pairs),
            start=np.zeros(len(pairs) + 1, dtype=np.int64),
            arc=np.empty(0, dtype=np.int64),
            amount=np.empty(0),
            constant=constant,
        )

    def cost(self, distance: Floats) -> Floats:
        """A d + c for every row."""
        sums = np.concatenate([[0.0], np.cumsum(self.amount * distance.reshape(-1)[self.arc])])
        return np.asarray(self.constant + sums[self.start[1:]] - sums[self.start[:-1]])


class FloatPolicy:
    """A flow for each pair, in floats: for all pairs at once, by compiled loops."""

    margin: Any = 1e-11

    def __init__(
        self,
        table: ChainTable,
        alpha: float,
        pairs: Integers,
        kernel: NDArray[np.bool_],
        *,
        mirrored: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self._table, self._alpha, self._mirrored, self._progress = table, alpha, mirrored, progress
        self.distance: Floats = np.where(kernel, 0.0, 1.0)
        self.flows = _ship_nothing(table, alpha, pairs)
        self._value = self.flows.constant.copy()
        self._rounds, self._gap = 0, 1.0
        write(self.distance, pairs, self._value, mirrored=mirrored)

    def improve(self, *, detours: bool) -> bool:
        """Cheaper flows; False where there are none, or the last ones brought less than floats can tell."""
        if len(self.flows.pairs):
            better, improved = improved_flows(
                self._table, self._alpha, self.flows, self._value, self.distance, relays=detours
            )
            self._rounds += 1
            is_exhausted = not detours and self._gap <= _THRESHOLD / 8
            if improved and not is_exhausted and self._rounds < LIMITS.now.policies:
                self.flows = better
                return True
        return False

    def settle(self) -> bool:
        """The values of the flows."""
        value = evaluate(self.flows, self._value, self.distance, mirrored=self._mirrored)
        value = np.clip(value, 0.0, self._value)  # exact values never rise; rounding might
        self._gap = float(np.max(self._value - value, initial=0.0))
        self._value = value
        write(self.distance, self.flows.pairs, value, mirrored=self._mirrored)
        if self._progress:
            # from 1 down to the threshold on a logarithmic scale: how far there is to go
            self._progress(int(100 * min(1.0, -np.log10(max(self._gap, 1e-12)) / 12)), 100)
        return True

    def cheapest(self, pairs: Integers) -> Flows:
        """A cheapest flow for each of these ordered pairs under the distances, relays included."""
        costs = np.full(len(pairs), np.inf)
        return improved_flows(self._table, self._alpha, Flows.empty(pairs, costs), costs, self.distance)[0]

    def costs(self, pairs: Integers) -> Floats:
        """What they cost."""
        return self.cheapest(pairs).cost(self.distance)


def _ship_nothing(table: ChainTable, alpha: float, pairs: Integers) -> Flows:
    """Flows that leave everything where it is: d is the one-step skewed total variation."""
    constant = sweep_loops.unshipped(table.first, table.successor, table.chance, table.label, alpha, pairs)
    return Flows.empty(pairs, constant)


@dataclass(frozen=True, slots=True, eq=False)
class Relays:
    """For each state the states that may be worth a detour, nearest first (see `lift`)."""

    first: Integers
    state: Integers
    spread: Floats


def find_relays(table: ChainTable, alpha: float, distance: Floats, *, relays: bool) -> Relays:
    """The relays of all states under `distance`; none if `relays` says so."""
    if not relays or alpha == 1.0:  # for α = 1 a fixed point obeys the triangle inequality: no detour is shorter
        return Relays(np.zeros(table.size + 1, dtype=np.int64), np.empty(0, dtype=np.int64), np.zeros((1, 1)))
    parts = in_threads(
        lambda begin, end: sweep_loops.relay_table(distance, table.label, alpha, 1e-12, begin, end),
        parts_of(table.size, worth=100),
    )
    source, relay = np.nonzero(np.concatenate([useful for useful, _ in parts]))
    nearest_first = np.lexsort((distance[source, relay], source))
    first = np.searchsorted(source, np.arange(table.size + 1))
    spread = np.concatenate([part for _, part in parts])
    return Relays(first.astype(np.int64), relay[nearest_first].astype(np.int64), spread)


def improved_flows(
    table: ChainTable, alpha: float, flows: Flows, value: Floats, distance: Floats, *, relays: bool = True
) -> tuple[Flows, int]:
    """The flows, with each one replaced that is not cheapest under `distance`, and how many were."""
    if not len(flows.pairs):
        return flows, 0
    detours = find_relays(table, alpha, distance, relays=relays)

    def part(begin: int, end: int) -> Any:
        own = slice(int(flows.start[begin]), int(flows.start[end]))
        return sweep_loops.improve(
            table.first, table.successor, table.chance, table.label, alpha, distance,
            detours.first, detours.state, detours.spread,
            flows.pairs[begin:end], value[begin:end], flows.start[begin : end + 1] - flows.start[begin],
            flows.arc[own], flows.amount[own], flows.constant[begin:end], _TOLERANCE, _THRESHOLD,
        )  # fmt: skip

    worth = 1_000 if len(detours.state) > table.size else 10_000
    parts = in_threads(part, parts_of(len(flows.pairs), worth=worth))
    return Flows(
        pairs=flows.pairs,
        start=offsets(np.concatenate([np.diff(result[0]) for result in parts])),
        arc=np.concatenate([result[1] for result in parts]),
        amount=np.concatenate([result[2] for result in parts]),
        constant=np.concatenate([result[3] for result in parts]),
    ), sum(result[4] for result in parts)


def evaluate(flows: Flows, guess: Floats, distance: Floats, *, mirrored: bool, goal: float = _RESIDUAL) -> Floats:
    """The distances under given flows: d = A d + c. A few Gauss–Seidel sweeps, then a Krylov method if they do not do.

    The Krylov steps start again from their own residual until that no longer falls: what is left is rounding.
    """
    return linear_system(flows, len(distance), mirrored=mirrored).iterated(
        flows.constant, guess, goal=goal, effort=_EFFORT
    )


def linear_system(flows: Flows, size: int, *, mirrored: bool = False) -> FloatSystem:
    """Rows of A over the pairs: arcs whose distance is held at 0 drop out."""
    slot = np.full((size, size), -1, dtype=np.int64)
    slot[flows.pairs[:, 0], flows.pairs[:, 1]] = np.arange(len(flows.pairs))
    if mirrored:
        slot[flows.pairs[:, 1], flows.pairs[:, 0]] = np.arange(len(flows.pairs))
    column = slot.reshape(-1)[flows.arc]
    has_column = column >= 0
    return FloatSystem(
        start=offsets(has_column)[flows.start], column=column[has_column], amount=flows.amount[has_column]
    )


def workers() -> int:
    """How many threads are worth starting."""
    return max(1, min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1))


def parts_of(count: int, *, worth: int) -> list[tuple[int, int]]:
    """0 … count in parts for threads; in one part where each would have less than `worth` to do."""
    cuts = np.linspace(0, count, max(1, min(4 * workers(), count // worth)) + 1).astype(np.int64).tolist()
    return list(pairwise(cuts))


def in_threads(work: Callable[[int, int], Any], parts: list[tuple[int, int]]) -> list[Any]:
    """`work` on every part; compiled loops let each other run."""
    if len(parts) <= 1 or workers() == 1:
        return [work(*part) for part in parts]
    with ThreadPoolExecutor(workers()) as pool:
        return list(pool.map(lambda part: work(*part), parts))


# With a large α a rounding error at a full sink weighs α times as much as one at a source. So a little less is
# shipped: sinks are then not quite full, and what stays behind is unshipped, at cost 1.
STEEP = 16.0
LESS = 1.0 - 2.0**-45

_SMALLEST_PUSH = 2.0**-48
_GOOD_ENOUGH = 0.25  # of the 1 in A h + 1 ≤ h


@dataclass(frozen=True, kw_only=True, eq=False)
class Certificate:
    """d with Γ(d) ≤ d, and the flows that prove it. Where d is 1 or labels differ there is nothing to prove."""

    alpha: float
    distance: Floats
    flows: Flows


def certify(table: ChainTable, alpha: float, distance: Floats, flows: Flows, *, mirrored: bool = False) -> Certificate:
    """Push `distance` outwards until one sweep proves it.

    With `mirrored`, d(t,s) is d(s,t), and `flows` has a row for each of the two directions.
    """
    if alpha >= STEEP:
        flows = replace(flows, amount=flows.amount * LESS)
    patience = _settling(flows, distance, mirrored=mirrored)
    push = _SMALLEST_PUSH
    for _ in range(LIMITS.now.pushes):
        pushed = np.minimum(distance + push * patience, 1.0)
        if not shortfalls(table, alpha, pushed, flows).max(initial=-np.inf) > 0.0:
            pushed.flags.writeable = False
            return Certificate(alpha=alpha, distance=pushed, flows=flows)
        push *= 4
    raise SymveilError(
        f"distances: expected one sweep to prove {len(flows.pairs)} bounds, found that floats are too coarse"
    )


def _settling(flows: Flows, distance: Floats, *, mirrored: bool) -> Floats:
    """h with A h + 1 ≤ h, nearly: about how many steps a pair takes to settle; 0 where nothing is pushed."""
    patience = np.zeros_like(distance)
    if not len(flows.pairs):
        return patience
    steps = replace(flows, constant=np.ones(len(flows.pairs)))
    if not mirrored:
        value = evaluate(steps, steps.constant, distance, mirrored=False, goal=_GOOD_ENOUGH)
        patience[flows.pairs[:, 0], flows.pairs[:, 1]] = np.maximum(value, 1.0)
        return patience
    # of the two directions of a pair, the one that takes longer counts: computed like the flows, from below
    forward = np.flatnonzero(flows.pairs[:, 0] < flows.pairs[:, 1])
    turned = {pair: row for row, pair in enumerate(map(tuple, flows.pairs.tolist()))}
    backward = np.array([turned[t, s] for s, t in flows.pairs[forward].tolist()], dtype=np.int64)
    chosen = forward.copy()
    for _ in range(LIMITS.now.switches):
        part = _rows(steps, chosen)
        value = np.maximum(evaluate(part, part.constant, distance, mirrored=True, goal=_GOOD_ENOUGH), 1.0)
        patience[part.pairs[:, 0], part.pairs[:, 1]] = value
        patience[part.pairs[:, 1], part.pairs[:, 0]] = value
        other = np.where(chosen == forward, backward, forward)
        worse = steps.cost(patience)[other] > value + 2 * _GOOD_ENOUGH
        if not worse.any():
            break
        chosen = np.where(worse, other, chosen)
    return patience


def _rows(flows: Flows, rows: Integers) -> Flows:
    """The flows of some of the pairs."""
    lengths = np.diff(flows.start)[rows]
    _, indices = spread(lengths, flows.start[rows])
    return Flows(
        pairs=flows.pairs[rows],
        start=offsets(lengths),
        arc=flows.arc[indices],
        amount=flows.amount[indices],
        constant=flows.constant[rows],
    )


def shortfalls(table: ChainTable, alpha: float, distance: Floats, flows: Flows) -> Floats:
    """Γ(d) − d as far as the flows prove it, rounded upwards, for every row of them."""
    parts = in_threads(
        lambda begin, end: sweep_loops.shortfall(
            table.first, table.successor, table.chance, table.label, alpha, distance, flows.pairs[begin:end],
            flows.start[begin : end + 1], flows.arc, flows.amount,
        ),
        parts_of(len(flows.pairs), worth=20_000),
    )  # fmt: skip
    return np.concatenate([np.empty(0), *parts])
