"""The mechanism behind the policy `private`: the exponential mechanism from all observations to the safe ones.

One common support for all inputs: ε-differentially private in the ordinary sense, and nothing that
gives a secret away is ever shown (docs/opacity.md). The inputs may be unsafe, hence outside the
language of the outputs, so the certificates for models, which compare words of one language, do not
apply. The rate is ε/2b, which holds for any inputs, or larger where the exact loss over *all*
observations of the length is known, by listing them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.calibration.search import largest_rate
from symveil.enforcement.losses import EnumeratedLoss, all_distances, log_sums, log_totals
from symveil.languages.run_draws import total_weight
from symveil.languages.run_laws import expected_errors
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage
from symveil.laws.guarantee import Guarantee
from symveil.laws.law import WEIGHT_PRECISION, DistanceLaw, Moves, State, rounded_weight
from symveil.laws.parameters import Adjacency
from symveil.mechanisms.chains import trellis_moves
from symveil.mechanisms.cost_weighted import release_runs
from symveil.mechanisms.distance_weighted import DistanceWeighted
from symveil.mechanisms.law import Law
from symveil.models.word import Codes
from symveil.numbers.conversions import STANDARD_PRECISION, ball, nearest_float, precision
from symveil.numbers.once import computed_once
from symveil.numbers.rationals import Number, at_least, spelled
from symveil.randomness import BitSource

if TYPE_CHECKING:
    from symveil.enforcement.length_tables import LengthTables

_LARGEST_RATE = Fraction(64)
_TOLERANCE, _EVALUATIONS = Fraction(1, 10**6), 40


class SafeRelease(DistanceWeighted):
    """P(w'|w) = e^{−ηd(w,w')}/Z(w) over the safe observations w' of one length, for every observation w of that length.

    `loss` is the loss for each rate; None where the observations are too many to list.
    """

    name = "private"
    label: ClassVar[str] = "safe observations only"

    def __init__(
        self,
        possible: RunLanguage,
        safe: RunLanguage,
        *,
        epsilon: Number,
        adjacency: Adjacency = 1,
        loss: EnumeratedLoss | None,
        claimed: Law | None = None,
    ) -> None:
        super().__init__(possible, epsilon=epsilon, adjacency=adjacency)
        self.safe: Final = safe
        vars(self)["law"] = self._worked_out(loss, None if claimed is None else claimed.rate)

    def _worked_out(self, loss: EnumeratedLoss | None, claimed: Fraction | None) -> Law:
        """Over all pairs of adjacent observations, safe or not."""
        rate = self._largest_rate(loss, claimed)
        spent = None if loss is None else loss(rate)
        exact = spent is not None and spent <= self.epsilon  # larger by rounding only: 2bη bounds it
        proved = Guarantee.of_loss(
            spent if spent is not None and exact else self.epsilon, "exact" if exact else "classic"
        )
        return self._law_with(proved, rate=rate)

    def _largest_rate(self, loss: EnumeratedLoss | None, claimed: Fraction | None) -> Fraction:
        """The largest rate whose loss is known to be at most ε; the claimed one, where its loss is."""
        reach = max(self.reach, 1)
        classic = self.epsilon / (2 * reach)
        best = loss and largest_rate(
            loss,
            claimed=claimed,
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

    def loss_beyond(self, distance: int) -> float:
        """2η for every place, as for the exponential mechanism.

        Parameters
        ----------
        distance
            In how many places observations differ.
        """
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
        return release_runs(self._weights, rows, bits)

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

    def effect(self, tables: LengthTables) -> tuple[float, float]:
        """E[distance; the run has this length], and the largest Pr(a secret state was visited | what is shown)."""
        runs, rate = tables.runs, float(self.rate)  # runs first of all: refused where they are too many
        terms, log_total = log_totals(tables.counts, rate)
        mean = np.exp(terms - log_total[:, None]) @ np.arange(terms.shape[1])
        with np.errstate(divide="ignore"):
            log_values = np.log(runs.chances) - log_total[:, None]
        text = tables.progress("what an observer can conclude")
        shown = log_sums(runs.codes, log_values, tables.outputs, rate=rate, progress=text)
        return float(runs.chances[:, 0] @ mean), float(np.exp(shown[:, 1] - shown[:, 0]).max())

    def _expected_errors(self, words: Codes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """For each word the expected number of events that are changed, in one pass for all of them.

        Parameters
        ----------
        words
            Rows of codes, observations of the system.
        """
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
