"""The policy `private`: every observation is released by the exponential mechanism over all safe ones of its length.

One common support for all inputs: ε-differentially private in the ordinary sense, and nothing that
gives a secret away is ever shown (docs/mechanisms/opacity-policies.md). The inputs may be unsafe, hence outside the
language of the outputs, so the certificates of §7, which compare words of one language, do not
apply. The rate is ε/2b, which holds for any inputs, or larger where the exact loss over *all*
observations of the length is known, by writing them out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from symveil.drawing.diagram import Diagram
from symveil.enforcement.safe_observations import Events, SafeObservations
from symveil.errors import ParameterError, TooLargeError
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage
from symveil.mechanisms.run_release import release_runs
from symveil.models.word import Codes
from symveil.privacy.calibration.search import largest_rate
from symveil.privacy.guarantee import Guarantee
from symveil.privacy.parameters import Adjacency, read_adjacency
from symveil.randomness import BitSource

_MOST_INPUTS = 3_000
_MOST_DISTANCES = 4_000_000
_MOST_COMPARISONS = 400_000_000
_LARGEST_RATE = Fraction(64)
_TOLERANCE, _EVALUATIONS = Fraction(1, 10**6), 40

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The outputs of one length, the rate η, and the loss it has over all inputs."""

    weights: RunWeights
    guarantee: Guarantee


class Private:
    """P(w'|w) ∝ e^{−ηd(w,w')} over the safe observations w' of the length of w."""

    name = "private"
    changes_everything = True

    def __init__(self, safe: SafeObservations, *, epsilon: Fraction, adjacency: Adjacency) -> None:
        self._safe, self._epsilon, self._adjacency = safe, epsilon, adjacency
        self._by_length: dict[int, Calibrated] = {}

    def can_replace(self, events: Events) -> bool:
        """Whether there is a safe observation of that length."""
        return self._safe.language(len(events)) is not None

    def calibrated(self, length: int) -> Calibrated:
        """The mechanism for one length, which must have a safe observation."""
        if length not in self._by_length:
            language = self._safe.language(length)
            if language is None:
                raise AssertionError("whoever draws has asked whether there is anything to draw")
            self._by_length[length] = self._calibrate(language)
        return self._by_length[length]

    def guarantee(self, length: int) -> Guarantee:
        """The loss over all pairs of adjacent observations of a length."""
        return self.calibrated(length).guarantee

    def _calibrate(self, language: RunLanguage) -> Calibrated:
        reach = min(read_adjacency(self._adjacency, length=language.length), max(language.length, 1))
        classic = self._epsilon / (2 * reach)
        written = WrittenOut.of(self._safe.all_of_length(language.length), language, reach)
        if written is None:
            return Calibrated(RunWeights(language=language, rate=classic), Guarantee.of_loss(self._epsilon, "classic"))
        found = largest_rate(
            written.loss,
            epsilon=self._epsilon,
            safe=classic,
            slope=reach,
            limit=_LARGEST_RATE,
            tolerance=_TOLERANCE,
            evaluations=_EVALUATIONS,
        )
        rate = classic if found is None else found.rate
        weights, loss = RunWeights(language=language, rate=rate), written.loss(rate)
        if loss > self._epsilon:  # by rounding only: 2bη bounds it
            return Calibrated(weights, Guarantee.of_loss(self._epsilon, "classic"))
        return Calibrated(weights, Guarantee.of_loss(loss, "exact"))

    def law(self, events: Events) -> Mapping[Events, float]:
        """What is shown for an observation, as floats right to about 13 digits."""
        weights = self.calibrated(len(events)).weights
        outputs = weights.language.enumerate_codes(at_most=_MOST_DISTANCES)
        distance = np.count_nonzero(outputs != np.array(events, dtype=np.int32), axis=1)
        chance = np.exp(-float(weights.rate) * (distance - distance.min()))
        chance /= chance.sum()
        return dict(zip(map(tuple, outputs.tolist()), chance.tolist(), strict=True))

    def draw(self, codes: Codes, bits: BitSource) -> Codes:
        """What is shown for each row."""
        return release_runs(self.calibrated(codes.shape[1]).weights, codes, bits)

    def diagram(self, events: Events) -> Diagram:
        """Refused: it shows words at every distance, and the automata of the papers have one."""
        del events
        raise ParameterError(
            "draw", expected="the policy safe or substitution, whose distance is fixed", found=self.name
        )


@dataclass(frozen=True, slots=True, eq=False)
class WrittenOut:
    """Every input and every output of one length, as far as the loss depends on them.

    `counts[u, ℓ]` outputs lie at distance ℓ from input u; `pairs` are adjacent inputs (u, v) and
    `farther` the largest d(v, w) − d(u, w) over the outputs w.
    """

    counts: NDArray[np.int64]
    pairs: NDArray[np.int64]
    farther: NDArray[np.int64]

    @classmethod
    def of(cls, inputs: RunLanguage, outputs: RunLanguage, reach: int) -> WrittenOut | None:
        """None where they are too many."""
        try:
            given = inputs.enumerate_codes(at_most=_MOST_INPUTS)
            shown = outputs.enumerate_codes(at_most=_MOST_DISTANCES // len(given))
        except TooLargeError:
            return None
        distance = np.stack([np.count_nonzero(shown != row, axis=1) for row in given])
        between = np.stack([np.count_nonzero(given != row, axis=1) for row in given])
        pairs = np.argwhere((between > 0) & (between <= reach))
        if len(pairs) * len(shown) > _MOST_COMPARISONS:
            return None
        counts = np.stack([np.bincount(row, minlength=inputs.length + 1) for row in distance])
        farther = np.array([(distance[v] - distance[u]).max() for u, v in pairs], dtype=np.int64)
        return cls(counts, pairs, farther)

    def loss(self, rate: Fraction) -> Fraction:
        """max over adjacent u, v and outputs w of ln P(w|u)/P(w|v) = η(d(v,w) − d(u,w)) + ln Z(v)/Z(u), rounded up."""
        if not len(self.pairs) or self.counts[0].sum() == 1:
            return Fraction(0)  # nothing to tell apart, or one output for all
        with np.errstate(divide="ignore"):
            terms = np.log(self.counts) - float(rate) * np.arange(self.counts.shape[1])
        top = terms.max(axis=1)
        log_total = top + np.log(np.exp(terms - top[:, None]).sum(axis=1))
        ratio = log_total[self.pairs[:, 1]] - log_total[self.pairs[:, 0]]
        worst = float((float(rate) * self.farther + ratio).max())
        # each logarithm, exponential and sum is off by a few units in the last place of the largest number met
        scale = 4 + float(np.abs(terms[np.isfinite(terms)]).max()) + float(rate) * self.counts.shape[1]
        widening = Fraction(16 * (self.counts.shape[1] + 8) * scale) / 2**52
        return max(Fraction(worst) + widening, Fraction(0))
