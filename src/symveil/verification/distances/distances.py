"""ld = lgd and bd of all pairs of states, with a proof: the one call that puts the pieces together.

Small chains are computed in exact rationals from beginning to end. Larger ones are iterated in floats and
certified; where the linear systems allow it, the floats' policy is then solved in rationals, and the
result is checked to be the fixed point, exactly.

bd, the symmetric predecessor of ld (C19 §6, from Chistikov, Murawski and Purser 2018).

bd is the least fixed point of d(s,t) = max(K(d)(s,t), K(d)(t,s)) on symmetric d. A *choice* takes one of
the two directions for each pair; its fixed point is found like ld, and is at most bd, because taking
one direction is less than taking the larger. Pairs whose other direction is strictly larger are turned
until there are none: then the fixed point of the choice is one of the maximum too, hence at least bd.

Turning pairs raises the values as long as no flow makes more mass than it takes, by the argument for stochastic
games; with relays that is not proved, so the number of choices is bounded. What is reported is proved either way:
without a last choice it is an upper bound, and not called exact.

K(d)(p, r) for the brackets: exactly on small chains, rounded upwards in compiled floats on large ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from symveil.numbers.conversions import dyadic, float_at_least, fraction, nearest_float, rational
from symveil.numbers.progress import Progress
from symveil.verification.distances import sweep_loops
from symveil.verification.distances.exact import (
    ExactLifting,
    ExactPolicy,
    Relation,
    kernel,
)
from symveil.verification.distances.flows import (
    LESS,
    STEEP,
    Certificate,
    FloatPolicy,
    certify,
    find_relays,
    linear_system,
)
from symveil.verification.distances.tables import TINY, ChainTable, Sparse, iterate, needs_by_label
from symveil.verification.limits import LIMITS
from symveil.verification.linear_systems import Floats, Integers

Exactness = Literal["auto", "never"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Distances:
    """A distance d with Γ(d) ≤ d: an upper bound on the fixed point, or the fixed point itself.

    `upper[s,t]` is a float that is not below it, and 0 exactly on the kernel; `exact` is None where the
    exact value is not known. Where there is no certificate the values were exact to begin with.
    """

    table: ChainTable = field(repr=False)
    alpha: Fraction
    kernel: Relation = field(repr=False)
    upper: Floats = field(repr=False)
    exact: NDArray[Any] | None = field(repr=False, default=None)
    certificate: Certificate | None = field(repr=False, default=None)

    def value(self, source: int, target: int) -> Fraction:
        """The exact distance of two states where it is known, and the proved bound otherwise."""
        if self.exact is not None:
            return fraction(self.exact[source, target])
        return Fraction(float(self.upper[source, target]))

    def exact_value(self, source: int, target: int) -> Fraction | None:
        """The exact distance, or None where only the bound is known."""
        return fraction(self.exact[source, target]) if self.exact is not None else None


def skewed_distances(
    table: ChainTable,
    alpha: Fraction,
    *,
    relays: bool = True,
    exactness: Exactness = "auto",
    progress: Progress | None = None,
) -> Distances:
    """ld_α = lgd_α (C19 Definitions 16 and 26; docs/theory/chains-and-opacity.md has the proof that they are one).

    Without `relays`, the support-only bound: larger, sound for δ, and not ld.
    """
    every, small = table.same_label_pairs, is_small(table, alpha)
    related, policy = _settled(table, alpha, every, small=small, relays=relays, progress=progress)
    if isinstance(policy, ExactPolicy):
        return _exactly(table, alpha, related, policy)
    certificate = certify(table, float(alpha), policy.distance, policy.flows)
    exact = None
    pairs = policy.flows.pairs
    wanted = exactness == "auto" and worth_exact(table, len(pairs), alpha)
    if wanted and linear_system(policy.flows, table.size).largest_component() <= LIMITS.now.exact_system:
        exact = _exact_from(table, rational(alpha), related, pairs, policy.distance, relays=relays)
    return Distances(
        table=table,
        alpha=alpha,
        kernel=related,
        upper=certificate.distance if exact is None else np.minimum(certificate.distance, rounded_up(exact)),
        exact=exact,
        certificate=certificate,
    )


def _settled(
    table: ChainTable,
    alpha: Fraction,
    pairs: Integers,
    *,
    small: bool,
    mirrored: bool = False,
    relays: bool = True,
    progress: Progress | None = None,
) -> tuple[Relation, ExactPolicy | FloatPolicy]:
    """The kernel among these pairs, and the fixed point on the others: in rationals if `small`, else in floats."""
    ratio = rational(alpha)
    related = kernel(table, ratio, pairs, mirrored=mirrored, relays=relays)
    left = pairs[~related[pairs[:, 0], pairs[:, 1]]]
    if small:
        exact = ExactPolicy(table, ratio, left, related, relays=relays, mirrored=mirrored)
        _ = exact.settle() and iterate(exact, relays=False)
        return related, exact
    policy = FloatPolicy(table, float(alpha), left, related, mirrored=mirrored, progress=progress)
    iterate(policy, relays=relays)
    return related, policy


def _exactly(table: ChainTable, alpha: Fraction, related: Relation, policy: ExactPolicy) -> Distances:
    values = policy.distance
    return Distances(table=table, alpha=alpha, kernel=related, upper=rounded_up(values), exact=values)


def _exact_from(
    table: ChainTable, alpha: fmpq, related: Relation, pairs: Integers, distance: Floats, *, relays: bool
) -> NDArray[Any] | None:
    """The exact fixed point, from a float one: its policy is nearly always optimal already."""
    near = np.array([[dyadic(value) for value in row] for row in distance.tolist()], dtype=object)
    lifting = ExactLifting(near, alpha, table.members, relays=relays)
    shipments = {(s, t): lifting.ship(table.exact_needs(alpha, s, t)) for s, t in pairs.tolist()}
    policy = ExactPolicy(table, alpha, pairs, related, relays=relays, policy=shipments, largest=LIMITS.now.exact_system)
    try:
        done = policy.settle() and iterate(policy, relays=False)
    except ZeroDivisionError:  # a policy of rounded values may be singular; then floats are what we have
        return None
    return policy.distance if done else None


def is_small(table: ChainTable, alpha: Fraction) -> bool:
    """Whether rationals from beginning to end are the quickest way."""
    count = len(table.same_label_pairs)
    heavy = 4 if alpha.denominator.bit_length() > LIMITS.now.exact_bits else 1
    return count * heavy <= LIMITS.now.small_pairs and count * heavy * _widest(table) ** 2 <= LIMITS.now.small_work


def worth_exact(table: ChainTable, count: int, alpha: Fraction) -> bool:
    """Whether to ask for exact values after floats."""
    moderate = count <= LIMITS.now.exact_pairs and count * _widest(table) ** 2 <= LIMITS.now.exact_work
    return moderate and alpha.denominator.bit_length() <= LIMITS.now.exact_bits


def _widest(table: ChainTable) -> int:
    """The largest number of successors."""
    return int(np.diff(table.first).max())


def rounded_up(values: NDArray[Any]) -> Floats:
    """Rationals as the nearest floats that are not below them."""
    upper = np.array([[float_at_least(value) for value in row] for row in values]).reshape(values.shape)
    upper.flags.writeable = False
    return upper


def symmetric_distances(table: ChainTable, alpha: Fraction, *, progress: Progress | None = None) -> Distances:
    """bd_α of all pairs of states."""
    every = table.same_label_pairs
    pairs = every[every[:, 0] < every[:, 1]]
    for small in (True, False) if is_small(table, alpha) else (False,):
        related, policy, is_settled = _best_choice(table, alpha, pairs, small=small, progress=progress)
        if is_settled and isinstance(policy, ExactPolicy):
            return _exactly(table, alpha, related, policy)
    assert isinstance(policy, FloatPolicy)  # noqa: S101 - rationals were not enough
    # the proof has to hold in both directions; a pair of this kernel may be above 0 in the other one
    symmetric = _both_in_kernel(table, rational(alpha), pairs)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    both = np.ascontiguousarray(both[~symmetric[both[:, 0], both[:, 1]]])
    certificate = certify(table, float(alpha), policy.distance, policy.cheapest(both), mirrored=True)
    return Distances(table=table, alpha=alpha, kernel=symmetric, upper=certificate.distance, certificate=certificate)


def _best_choice(
    table: ChainTable, alpha: Fraction, pairs: Integers, *, small: bool, progress: Progress | None
) -> tuple[Relation, ExactPolicy | FloatPolicy, bool]:
    """The fixed point of the choice that no pair wants to be turned in, and whether there was one."""
    chosen = pairs.copy()
    for _ in range(LIMITS.now.choices):
        related, policy = _settled(table, alpha, chosen, small=small, mirrored=True, progress=progress)
        here: NDArray[Any] = policy.distance[chosen[:, 0], chosen[:, 1]]
        larger = np.asarray(policy.costs(chosen[:, ::-1]) > here + policy.margin, dtype=np.bool_)
        if not larger.any():
            return related, policy, True
        chosen[larger] = chosen[larger][:, ::-1]
    return related, policy, False


def _both_in_kernel(table: ChainTable, alpha: fmpq, pairs: Integers) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """The pairs at bd = 0: the largest symmetric relation that is kept in both directions."""
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return kernel(table, alpha, np.ascontiguousarray(both), mirrored=True)


_SMALLEST_DISTANCE = 2.0**-200


class ExactBound:
    """K(d) in rationals."""

    def __init__(self, distances: Distances, *, relays: bool = True) -> None:
        self._distances, self._relays = distances, relays
        table = distances.table
        exact = distances.exact
        if exact is None or max(int(value.q).bit_length() for value in exact.reshape(-1)) > LIMITS.now.distance_bits:
            rows = distances.upper.tolist()
            exact = np.array([[dyadic(value) for value in row] for row in rows], dtype=object)
        self._distance = exact
        self._label = table.label
        self._alpha = rational(distances.alpha)
        self._lifting = ExactLifting(exact, self._alpha, table.members, relays=relays)

    def __call__(self, mass: Sparse, other: Sparse) -> fmpq:
        """The cost of a cheapest flow."""
        needs = needs_by_label(self._label, self._alpha, list(mass.items()), list(other.items()))
        return self._lifting.ship(needs).cost(self._distance)

    def in_floats(self) -> CompiledBound:
        """The bound of the same distances rounded upwards: K(d) grows with d, so it is proved with them."""
        return CompiledBound(self._distances, relays=self._relays)


class CompiledBound:
    """An upper bound on K(d) by a flow found in floats, whose cost is rounded upwards.

    Any d that is not below the fixed point will do, so distances off the kernel are raised to where floats can be
    trusted; needs below that are not shipped at all, and cost what they are, exactly.
    """

    def __init__(self, distances: Distances, *, relays: bool = True) -> None:
        self._table = distances.table
        upper = np.asarray(distances.upper)
        self.distance = np.where(upper > 0.0, np.maximum(upper, _SMALLEST_DISTANCE), 0.0)
        self.alpha = float(distances.alpha)
        self._exact_alpha = rational(distances.alpha)
        self.less = LESS if self.alpha >= STEEP else 1.0
        detours = find_relays(self._table, self.alpha, self.distance, relays=relays)
        self.relays = (detours.first, detours.state, detours.spread)

    def __call__(self, mass: Sparse, other: Sparse) -> fmpq:
        """The cost of a nearly cheapest flow."""
        total = fmpq(0)
        needs = needs_by_label(self._table.label, self._exact_alpha, list(mass.items()), list(other.items()))
        for group in needs.values():
            rounded = {state: nearest_float(value) for state, value in group.items()}
            remaining = [state for state, value in rounded.items() if abs(value) >= TINY]
            if len(remaining) < len(group):
                total += sum((group[state] for state in group.keys() - remaining if group[state] > 0), start=fmpq(0))
            if not remaining:
                continue
            states = np.array(remaining, dtype=np.int64)
            need = np.array([rounded[state] for state in remaining])
            bound = sweep_loops.flow_cost(
                states, need, np.abs(need), self.distance, self.alpha, *self.relays, 1e-13, self.less
            )
            total += dyadic(float(bound))
        return total


def lifting_bound(distances: Distances, *, relays: bool = True) -> ExactBound | CompiledBound:
    """What suits the chain."""
    if distances.certificate is None:
        return ExactBound(distances, relays=relays)
    return CompiledBound(distances, relays=relays)
