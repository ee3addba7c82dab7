"""A law given that its outcome is among some words: the exponential mechanism, restricted to fewer outputs than inputs.

All inputs then have one common support: it is ε-differentially private in the ordinary sense, and nothing but those
words is ever shown (the policy private, docs/opacity.md). The inputs may be outside the language of the outputs, so the
certificates for models, which compare words of one language, do not apply. The rate is ε/2b, which holds for any
inputs, or larger where the exact loss over *all* inputs is known, by listing them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.calibration.search import largest_rate
from symveil.errors import TooLargeError
from symveil.languages.distance_sums import all_distances, counts_by_row, log_totals
from symveil.languages.run_draws import draw_rows, total_weight
from symveil.languages.run_laws import expected_errors
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage
from symveil.laws.guarantee import Guarantee
from symveil.laws.law import WEIGHT_PRECISION, DistanceLaw, Moves, State, rounded_weight
from symveil.laws.parameters import Adjacency
from symveil.mechanisms.chains import trellis_moves
from symveil.mechanisms.distance_weighted import DistanceWeighted
from symveil.mechanisms.limits import LIMITS
from symveil.models.alphabet import Codes
from symveil.numbers.conversions import STANDARD_PRECISION, ball, nearest_float, precision
from symveil.numbers.once import computed_once
from symveil.numbers.rationals import Number, at_least, spelled
from symveil.randomness import BitSource

_LARGEST_RATE = Fraction(64)
_TOLERANCE, _EVALUATIONS = Fraction(1, 10**6), 40


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
            given = inputs.enumerate_codes(at_most=LIMITS.now.restricted_inputs)
            shown = outputs.enumerate_codes(at_most=LIMITS.now.restricted_distances // len(given))
        except TooLargeError:
            return None
        distance, between = all_distances(given, shown), all_distances(given, given)
        pairs = np.argwhere((between > 0) & (between <= reach))
        if len(pairs) * len(shown) > LIMITS.now.restricted_comparisons:
            return None
        size = inputs.length + 1
        parts = np.array_split(pairs, len(pairs) * len(shown) // LIMITS.now.compared_at_once + 1)
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


class Restricted(DistanceWeighted):
    """P(w'|w) = e^{−ηd(w,w')}/Z(w) over the words w' of `safe`, for every word w of `possible`, of one length.

    It is the law of the exponential mechanism on `possible` at the same rate, given that the outcome is in `safe`.
    `loss` is the loss for each rate; None where the words are too many to list.
    """

    name = "private"
    label: ClassVar[str] = "safe observations only"
    correction: ClassVar[None] = None
    """No channel follows: what is drawn is shown."""

    def __init__(
        self,
        possible: RunLanguage,
        safe: RunLanguage,
        *,
        epsilon: Number,
        adjacency: Adjacency = 1,
        loss: EnumeratedLoss | None,
    ) -> None:
        super().__init__(possible, epsilon=epsilon, adjacency=adjacency)
        self.safe: Final = safe
        rate = self._largest_rate(loss)
        spent = None if loss is None else loss(rate)
        exact = spent is not None and spent <= self.epsilon  # larger by rounding only: 2bη bounds it
        loss_of_all = spent if spent is not None and exact else self.epsilon
        proved = Guarantee.of_loss(loss_of_all, "exact" if exact else "classic")
        vars(self)["law"] = self._law_with(proved, rate=rate)

    def _largest_rate(self, loss: EnumeratedLoss | None) -> Fraction:
        """The largest rate whose loss over all pairs of adjacent words, safe or not, is known to be at most ε."""
        reach = max(self.reach, 1)
        classic = self.epsilon / (2 * reach)
        best = loss and largest_rate(
            loss,
            claimed=None,
            epsilon=self.epsilon,
            safe=classic,
            slope=reach,
            limit=_LARGEST_RATE,
            tolerance=_TOLERANCE,
            evaluations=_EVALUATIONS,
        )
        return best.rate if best else classic

    @property
    def rate(self) -> Fraction:
        """η."""
        assert self.law.rate is not None  # noqa: S101 - every such law has one
        return self.law.rate

    def _loss_beyond(self, distance: int) -> float:
        """2η for every place, as for the exponential mechanism."""
        return at_least(2 * self.rate * distance)

    def parameters_document(self) -> dict[str, object]:
        """The rate."""
        return {"rate": spelled(self.rate)}

    @property
    def released_language(self) -> RunLanguage:
        """The safe observations."""
        return self.safe

    @computed_once
    def _weights(self) -> RunWeights:
        return RunWeights(language=self.safe, rate=self.rate)

    def weight_balls(self, counts: Sequence[arb]) -> list[arb]:
        """r(0), r(1), …"""
        return [(-ball(self.rate * distance)).exp() for distance in range(len(counts))]

    def _draw_rows(self, rows: Codes, bits: BitSource) -> Codes:
        return draw_rows(self._weights, rows, bits)

    def _log_probabilities(self, word: Codes, released: Codes) -> NDArray[np.float64]:
        """ln P(row | word) = −ηd − ln Z(word); −∞ for what is never shown."""
        with precision(STANDARD_PRECISION):
            log_total = total_weight(self._weights, word).log()
            eta = ball(self.rate)
            by_distance = np.array([nearest_float(-eta * distance - log_total) for distance in range(self._length + 1)])
        is_safe = self.safe.first_impossible(released) == 0
        return np.where(is_safe, by_distance[self.distance(word, released)], -np.inf)

    def laws(self, words: Codes, released: Codes) -> NDArray[np.float64]:
        """P(x | w) for each row w of `words` and each x of `released`, which are all safe ones; about 13 digits."""
        distance = all_distances(words, released)
        by_distance = np.exp(-float(self.rate) * np.arange(self._length + 1))
        weights = by_distance[distance - distance.min(axis=1, keepdims=True)]
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def _expected_errors(self, words: Codes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """For each word the expected number of events that are changed, in one pass for all of them."""
        errors = expected_errors(self._weights, words).symbols
        return errors, errors

    def _law(self, codes: Codes | None) -> DistanceLaw:
        assert codes is not None  # noqa: S101 - `distances` asks for a word, because they do not look alike
        return self._law_around(self.safe.around(codes))

    def _moves(self, codes: Codes, shown: int) -> tuple[State, Moves, Fraction]:
        del shown
        with precision(WEIGHT_PRECISION):
            mismatch, error = rounded_weight((-ball(self.rate)).exp())
        weights = [mismatch**distance for distance in range(self._length + 1)]
        return *trellis_moves(self.safe, codes, weights), 2 * self._length * error
