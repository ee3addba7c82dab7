"""ld = lgd and bd of all pairs of states, with a proof: the one call that puts the pieces together.

Small chains are computed in exact rationals from beginning to end. Larger ones are iterated in floats and
certified; where the linear systems allow it, the floats' policy is then solved in rationals, and the
result is checked to be the fixed point, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from symveil.numbers.conversions import dyadic, float_at_least, fraction, rational
from symveil.numbers.progress import Progress
from symveil.verification.distances.certificate import Certificate, certify
from symveil.verification.distances.exact import ExactLifting, Pair, policy_iteration
from symveil.verification.distances.flows import iterate, largest_component
from symveil.verification.distances.kernel import Relation, large_kernel, small_kernel
from symveil.verification.distances.tables import ChainTable, Floats, Integers, exact_matrix

# Up to here, rationals from the start are quicker than loading compiled loops.
_SMALL = 160  # pairs
_SMALL_WORK = 4_000  # pairs × successors²
# Up to here it is worth asking for exact values after floats.
_MOST_EXACT_PAIRS = 1200
_MOST_EXACT_WORK = 15_000  # pairs × successors²
_LARGEST_SYSTEM = 200
_MOST_EXACT_BITS = 32  # of α: beyond, exact values are unreadable and slow

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
    """ld_α = lgd_α (C19 Definitions 16 and 26; docs/theory/labelled-chains.md has the proof that they are one).

    Without `relays`, the support-only bound: larger, sound for δ, and not ld.
    """
    ratio = rational(alpha)
    every = table.same_label_pairs
    if is_small(table, alpha):
        pairs = _as_tuples(every)
        kernel = small_kernel(table, ratio, pairs, relays=relays)
        values = start_values(kernel)
        policy_iteration(table, ratio, [pair for pair in pairs if not kernel[pair]], values, relays=relays)
        return Distances(table=table, alpha=alpha, kernel=kernel, upper=rounded_up(values), exact=values)
    kernel = large_kernel(table, ratio, every, relays=relays)
    pairs_left = every[~kernel[every[:, 0], every[:, 1]]]
    distance = np.where(kernel, 0.0, 1.0)
    reached = iterate(table, float(alpha), pairs_left, distance, relays=relays, progress=progress)
    certificate = certify(table, float(alpha), reached.distance, reached.flows)
    exact = None
    wanted = exactness == "auto" and worth_exact(table, len(pairs_left), alpha)
    if wanted and largest_component(reached.flows, table.size) <= _LARGEST_SYSTEM:
        exact = _exact_from(table, ratio, kernel, pairs_left, reached.distance, relays=relays)
    return Distances(
        table=table,
        alpha=alpha,
        kernel=kernel,
        upper=certificate.distance if exact is None else np.minimum(certificate.distance, rounded_up(exact)),
        exact=exact,
        certificate=certificate,
    )


def _exact_from(
    table: ChainTable, alpha: fmpq, kernel: Relation, pairs: Integers, distance: Floats, *, relays: bool
) -> NDArray[Any] | None:
    """The exact fixed point, from a float one: its policy is nearly always optimal already."""
    near = np.array([[dyadic(value) for value in row] for row in distance.tolist()], dtype=object)
    lifting = ExactLifting(near, alpha, table.members, relays=relays)
    todo = _as_tuples(pairs)
    policy = {pair: lifting.ship(table.exact_needs(alpha, *pair)) for pair in todo}
    values = start_values(kernel)
    try:
        done = policy_iteration(table, alpha, todo, values, relays=relays, policy=policy, largest=_LARGEST_SYSTEM)
    except ZeroDivisionError:  # a policy of rounded values may be singular; then floats are what we have
        return None
    return values if done else None


def is_small(table: ChainTable, alpha: Fraction) -> bool:
    """Whether rationals from beginning to end are the quickest way."""
    count = len(table.same_label_pairs)
    heavy = 4 if alpha.denominator.bit_length() > _MOST_EXACT_BITS else 1
    return count * heavy <= _SMALL and count * heavy * _widest(table) ** 2 <= _SMALL_WORK


def worth_exact(table: ChainTable, count: int, alpha: Fraction) -> bool:
    """Whether to ask for exact values after floats."""
    moderate = count <= _MOST_EXACT_PAIRS and count * _widest(table) ** 2 <= _MOST_EXACT_WORK
    return moderate and alpha.denominator.bit_length() <= _MOST_EXACT_BITS


def _widest(table: ChainTable) -> int:
    """The largest number of successors."""
    return int(np.diff(table.first).max())


def rounded_up(values: NDArray[Any]) -> Floats:
    """Rationals as the nearest floats that are not below them."""
    upper = np.array([[float_at_least(value) for value in row] for row in values]).reshape(values.shape)
    upper.flags.writeable = False
    return upper


def start_values(kernel: Relation) -> NDArray[Any]:
    """1 off the kernel, 0 on it."""
    values = exact_matrix(len(kernel), fmpq(1))
    values[kernel] = fmpq(0)
    return values


def _as_tuples(pairs: Integers) -> list[Pair]:
    return [(s, t) for s, t in pairs.tolist()]
