"""K(d)(p, r) for the brackets: exactly on small chains, rounded upwards in compiled floats on large ones."""

from __future__ import annotations

import numpy as np
from flint import fmpq

from symveil.numbers.conversions import dyadic, nearest_float, rational
from symveil.verification.distances.certificate import LESS, STEEP
from symveil.verification.distances.compiled_loops import sweeps
from symveil.verification.distances.distances import Distances
from symveil.verification.distances.exact import ExactLifting
from symveil.verification.distances.flows import find_relays
from symveil.verification.distances.tables import TINY, Sparse, needs_by_label

_LONGEST = 400  # bits: beyond, a rounded distance is quicker to work with and nearly as good
_SMALLEST_DISTANCE = 2.0**-200


class ExactBound:
    """K(d) in rationals."""

    def __init__(self, distances: Distances, *, relays: bool = True) -> None:
        self._distances, self._relays = distances, relays
        table = distances.table
        exact = distances.exact
        if exact is None or max(int(value.q).bit_length() for value in exact.reshape(-1)) > _LONGEST:
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
            kept = [state for state, value in rounded.items() if abs(value) >= TINY]
            if len(kept) < len(group):
                total += sum((group[state] for state in group.keys() - kept if group[state] > 0), start=fmpq(0))
            if not kept:
                continue
            states = np.array(kept, dtype=np.int64)
            need = np.array([rounded[state] for state in kept])
            bound = sweeps().flow_cost(
                states, need, np.abs(need), self.distance, self.alpha, *self.relays, 1e-13, self.less
            )
            total += dyadic(float(bound))
        return total


def lifting_bound(distances: Distances, *, relays: bool = True) -> ExactBound | CompiledBound:
    """What suits the chain."""
    if distances.certificate is None:
        return ExactBound(distances, relays=relays)
    return CompiledBound(distances, relays=relays)
