"""A proof that a distance is an upper bound: one sweep that checks Γ(d) ≤ d (docs/theory/labelled-chains.md).

Γ is monotone, so Γ(d) ≤ d everywhere makes d an upper bound on its least fixed point (Tarski). A
certificate is such a d, and for each pair a flow: any ω ≥ 0 will do, because what it fails to take away
counts as unshipped, and K(d) is at most the cost of any feasible flow (C19 Lemma 19). Pairs of the
kernel are at 0 because they are in the kernel, which is decided in exact arithmetic.

Floats that are a fixed point up to rounding do not pass that check, so they are pushed outwards first,
by a small multiple of h = A h + 1: the pairs that take long to settle get the larger push. The sweep
itself rounds every sum upwards; the flows are floats, which are rationals, and are taken exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from symveil.errors import SymveilError
from symveil.verification.distances.compiled_loops import sweeps
from symveil.verification.distances.flows import Flows, evaluate, in_threads, parts_of
from symveil.verification.distances.tables import ChainTable, Floats, Integers

# With a large α a rounding error at a full sink weighs α times as much as one at a source. So a little less is
# shipped: sinks are then not quite full, and what stays behind is unshipped, at cost 1.
STEEP = 16.0
LESS = 1.0 - 2.0**-45

_SMALLEST_PUSH = 2.0**-48
_TRIES = 40
_MOST_SWITCHES = 30
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
    for _ in range(_TRIES):
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
    for _ in range(_MOST_SWITCHES):
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
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    indices = np.repeat(flows.start[rows] - start[:-1], lengths) + np.arange(int(start[-1]))
    return Flows(
        pairs=flows.pairs[rows],
        start=start,
        arc=flows.arc[indices],
        amount=flows.amount[indices],
        constant=flows.constant[rows],
    )


def shortfalls(table: ChainTable, alpha: float, distance: Floats, flows: Flows) -> Floats:
    """Γ(d) − d as far as the flows prove it, rounded upwards, for every row of them."""
    loops = sweeps()
    parts = in_threads(
        lambda begin, end: loops.shortfall(
            table.first, table.successor, table.chance, table.label, alpha, distance, flows.pairs[begin:end],
            flows.start[begin : end + 1], flows.arc, flows.amount,
        ),
        parts_of(len(flows.pairs), worth=20_000),
    )  # fmt: skip
    return np.concatenate([np.empty(0), *parts])
