"""bd, the symmetric predecessor of ld (C19 §6, from Chistikov, Murawski and Purser 2018).

bd is the least fixed point of d(s,t) = max(K(d)(s,t), K(d)(t,s)) on symmetric d. A *choice* takes one of
the two directions for each pair; its fixed point is found like ld, and is at most bd, because taking
one direction is less than taking the larger. Pairs whose other direction is strictly larger are turned
until there are none: then the fixed point of the choice is one of the maximum too, hence at least bd.

Turning pairs raises the values as long as no flow makes more mass than it takes, by the argument for stochastic
games; with relays that is not proved, so the number of choices is bounded. What is reported is proved either way:
without a last choice it is an upper bound, and not called exact.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from flint import fmpq

from symveil.numbers.conversions import rational
from symveil.numbers.progress import Progress
from symveil.verification.distances.certificate import certify
from symveil.verification.distances.distances import Distances, is_small, rounded_up, start_values
from symveil.verification.distances.exact import ExactLifting, Pair, Shipment, policy_iteration
from symveil.verification.distances.flows import Flows, improved_flows, iterate
from symveil.verification.distances.kernel import large_kernel, small_kernel
from symveil.verification.distances.tables import ChainTable, Floats, Integers

_MOST_CHOICES = 60
_LARGER = 1e-11  # in floats, what counts as strictly larger


def symmetric_distances(table: ChainTable, alpha: Fraction, *, progress: Progress | None = None) -> Distances:
    """bd_α of all pairs of states."""
    every = table.same_label_pairs
    pairs = every[every[:, 0] < every[:, 1]]
    if is_small(table, alpha):
        exact = _small(table, alpha, [(s, t) for s, t in pairs.tolist()])
        if exact is not None:
            return exact
    return _large(table, alpha, pairs, progress)


def _small(table: ChainTable, alpha: Fraction, pairs: list[Pair]) -> Distances | None:
    ratio = rational(alpha)
    chosen = set(pairs)
    for _ in range(_MOST_CHOICES):
        kernel = small_kernel(table, ratio, chosen, mirrored=True)
        values = start_values(kernel)
        policy_iteration(table, ratio, [pair for pair in chosen if not kernel[pair]], values, mirrored=True)
        lifting = ExactLifting(values, ratio, table.members, relays=True)
        turn = [pair for pair in chosen if _turned(lifting, table, ratio, pair).cost(values) > values[pair]]
        if not turn:
            return Distances(table=table, alpha=alpha, kernel=kernel, upper=rounded_up(values), exact=values)
        for s, t in turn:
            chosen.remove((s, t))
            chosen.add((t, s))
    return None


def _turned(lifting: ExactLifting, table: ChainTable, alpha: fmpq, pair: Pair) -> Shipment:
    return lifting.ship(table.exact_needs(alpha, pair[1], pair[0]))


def _large(table: ChainTable, alpha: Fraction, pairs: Integers, progress: Progress | None) -> Distances:
    ratio, rounded = rational(alpha), float(alpha)
    chosen = pairs.copy()
    for _ in range(_MOST_CHOICES):
        kernel = large_kernel(table, ratio, chosen, mirrored=True)
        left = chosen[~kernel[chosen[:, 0], chosen[:, 1]]]
        start = np.where(kernel, 0.0, 1.0)
        reached = iterate(table, rounded, left, start, mirrored=True, progress=progress)
        flows = _cheapest(table, rounded, chosen[:, ::-1], reached.distance)
        larger = flows.cost(reached.distance) > reached.distance[chosen[:, 0], chosen[:, 1]] + _LARGER
        if not larger.any():
            break
        chosen[larger] = chosen[larger][:, ::-1]
    # the proof has to hold in both directions; a pair of this kernel may be above 0 in the other one
    symmetric = _both_in_kernel(table, ratio, pairs)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    both = np.ascontiguousarray(both[~symmetric[both[:, 0], both[:, 1]]])
    flows = _cheapest(table, rounded, both, reached.distance)
    certificate = certify(table, rounded, reached.distance, flows, mirrored=True)
    return Distances(table=table, alpha=alpha, kernel=symmetric, upper=certificate.distance, certificate=certificate)


def _both_in_kernel(table: ChainTable, alpha: fmpq, pairs: Integers) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """The pairs at bd = 0: the largest symmetric relation that is kept in both directions."""
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return large_kernel(table, alpha, np.ascontiguousarray(both), mirrored=True)


def _cheapest(table: ChainTable, alpha: float, pairs: Integers, distance: Floats) -> Flows:
    """A cheapest flow for each of these ordered pairs under `distance`."""
    costs = np.full(len(pairs), np.inf)
    return improved_flows(table, alpha, Flows.empty(pairs, costs), costs, distance)[0]
