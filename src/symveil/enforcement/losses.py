"""The true ε of a policy: the largest loss over all adjacent observations, by listing them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from symveil.errors import TooLargeError
from symveil.languages.distance_sums import all_distances, counts_by_row
from symveil.languages.runs import RunLanguage
from symveil.laws.guarantee import Guarantee
from symveil.numbers.conversions import log_upper_bound
from symveil.verification.opacity.safe_observations import Events

_MOST_PAIRS = 5_000_000
_MOST_INPUTS = 3_000
_MOST_DISTANCES = 4_000_000
_MOST_COMPARISONS = 400_000_000
_COMPARED_AT_ONCE = 10_000_000


def loss_of_laws(laws: Mapping[Events, Mapping[Events, Fraction]], adjacency: int) -> Guarantee:
    """sup ln P(w'|w)/P(w'|v) over adjacent w, v of one length, exactly; infinite where supports differ.

    >>> half = {(0,): Fraction(1, 2), (1,): Fraction(1, 2)}
    >>> loss_of_laws({(0,): half, (1,): {(1,): Fraction(1)}}, 1).epsilon
    inf
    """
    by_length: dict[int, list[Events]] = defaultdict(list)
    for events in laws:
        by_length[len(events)].append(events)
    worst = Fraction(1)
    pairs = 0
    for inputs in by_length.values():
        for one, other in combinations(inputs, 2):
            pairs += 1
            if pairs > _MOST_PAIRS:
                raise TooLargeError(
                    f"loss: expected at most {_MOST_PAIRS} pairs of observations, found more; use a smaller length"
                )
            if sum(map(int.__ne__, one, other)) <= adjacency:
                if laws[one].keys() != laws[other].keys():
                    return Guarantee(epsilon=math.inf, how="exact")
                ratios = [chance / laws[other][shown] for shown, chance in laws[one].items()]
                worst = max(worst, *ratios, *(1 / ratio for ratio in ratios))
    return Guarantee.of_loss(log_upper_bound(worst), "exact")


@dataclass(frozen=True, slots=True, eq=False)
class EnumeratedLoss:
    """The loss of P(w'|w) ∝ e^{−ηd(w,w')} for any rate η, with all inputs and all outputs of one length listed.

    `counts[u, ℓ]` outputs lie at distance ℓ from input u; `pairs` are adjacent inputs (u, v) and
    `farther` the largest d(v, w) − d(u, w) over the outputs w.
    """

    counts: NDArray[np.int64]
    pairs: NDArray[np.int64]
    farther: NDArray[np.int64]

    @classmethod
    def of(cls, inputs: RunLanguage, outputs: RunLanguage, reach: int) -> EnumeratedLoss | None:
        """None where they are too many."""
        try:
            given = inputs.enumerate_codes(at_most=_MOST_INPUTS)
            shown = outputs.enumerate_codes(at_most=_MOST_DISTANCES // len(given))
        except TooLargeError:
            return None
        distance, between = all_distances(given, shown), all_distances(given, given)
        pairs = np.argwhere((between > 0) & (between <= reach))
        if len(pairs) * len(shown) > _MOST_COMPARISONS:
            return None
        size = inputs.length + 1
        parts = np.array_split(pairs, len(pairs) * len(shown) // _COMPARED_AT_ONCE + 1)
        farther = [(distance[part[:, 1]] - distance[part[:, 0]]).max(axis=1, initial=-size) for part in parts]
        return cls(counts_by_row(distance, size), pairs, np.concatenate(farther).astype(np.int64))

    def __call__(self, rate: Fraction) -> Fraction:
        """max over adjacent u, v and outputs w of ln P(w|u)/P(w|v) = η(d(v,w) − d(u,w)) + ln Z(v)/Z(u), rounded up."""
        if not len(self.pairs) or self.counts[0].sum() == 1:
            return Fraction(0)  # no adjacent inputs, or one output for all
        terms, log_total = log_totals(self.counts, float(rate))
        ratio = log_total[self.pairs[:, 1]] - log_total[self.pairs[:, 0]]
        worst = float((float(rate) * self.farther + ratio).max())
        # each logarithm, exponential and sum is off by a few units in the last place of the largest number
        scale = 4 + float(np.abs(terms[np.isfinite(terms)]).max()) + float(rate) * self.counts.shape[1]
        widening = Fraction(16 * (self.counts.shape[1] + 8) * scale) / 2**52
        return max(Fraction(worst) + widening, Fraction(0))


def log_totals(counts: NDArray[np.int64], rate: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """ln(N(ℓ)·e^{−ηℓ}) for each row of counts and each ℓ, and ln Z = ln Σ N(ℓ)·e^{−ηℓ} for each row."""
    with np.errstate(divide="ignore"):
        terms = np.log(counts) - rate * np.arange(counts.shape[1])
    top = terms.max(axis=1)
    return terms, top + np.log(np.exp(terms - top[:, None]).sum(axis=1))
