"""The policy `private`: every observation is released by the exponential mechanism over all safe ones of its length.

One common support for all inputs: ε-differentially private in the ordinary sense, and nothing that
gives a secret away is ever shown (docs/mechanisms/opacity-policies.md). The inputs may be unsafe, hence outside the
language of the outputs, so the certificates of §7, which compare words of one language, do not
apply. The rate is ε/2b, which holds for any inputs, or larger where the exact loss over *all*
observations of the length is known, by listing them.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from symveil.drawing.diagram import Diagram
from symveil.enforcement.losses import EnumeratedLoss, log_totals
from symveil.errors import ParameterError
from symveil.languages.distance_sums import distance_counts, log_sums
from symveil.languages.run_counts import RunNeighbours
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage
from symveil.mechanisms.run_release import release_runs
from symveil.models.word import Codes
from symveil.numerics.once import computed_once
from symveil.privacy.calibration.search import largest_rate
from symveil.privacy.guarantee import Guarantee
from symveil.privacy.parameters import Adjacency, read_adjacency
from symveil.randomness import BitSource
from symveil.verification.opacity.complete_observations import ObservationTable
from symveil.verification.opacity.run_observations import RunObservations
from symveil.verification.opacity.safe_observations import Events

_MOST_OUTPUTS = 4_000_000
_LARGEST_RATE = Fraction(64)
_TOLERANCE, _EVALUATIONS = Fraction(1, 10**6), 40

Floats = NDArray[np.float64]


class LengthTables:
    """The observations of one length and their distances: all of the policy that does not depend on ε."""

    def __init__(self, runs: RunObservations, language: RunLanguage, adjacency: Adjacency) -> None:
        self._runs, self.language = runs, language
        self.reach = min(read_adjacency(adjacency, length=language.length), max(language.length, 1))

    @computed_once
    def possible(self) -> RunLanguage:
        """All observations of the length, safe or not."""
        return self._runs.safe.possible(self.language.length)

    @computed_once
    def loss(self) -> EnumeratedLoss | None:
        """The loss for each rate; None where the observations are too many to list."""
        return EnumeratedLoss.of(self.possible, self.language, self.reach)

    @computed_once
    def outputs(self) -> Codes:
        """The safe observations, in alphabetical order."""
        return self.language.enumerate_codes(at_most=_MOST_OUTPUTS)

    @property
    def runs(self) -> ObservationTable:
        """What complete runs of this length show."""
        return self._runs.complete[self.language.length]

    @computed_once
    def counts(self) -> NDArray[np.int64]:
        """For each observation of `runs` how many outputs lie at each distance."""
        return distance_counts(self.outputs, self.runs.codes)


class PrivateRelease:
    """The mechanism for one length: P(w'|w) = e^{−ηd(w,w')}/Z(w) over the safe observations w', for every w.

    Its inputs, all possible observations of the length, are more than its outputs.
    """

    name = "private"

    def __init__(self, tables: LengthTables, *, epsilon: Fraction) -> None:
        self.tables, self.epsilon, self.adjacency = tables, epsilon, tables.reach
        self.guarantee = Guarantee.of_loss(epsilon, "classic")
        rate = classic = epsilon / (2 * tables.reach)
        if tables.loss is not None:
            found = largest_rate(
                tables.loss,
                epsilon=epsilon,
                safe=classic,
                slope=tables.reach,
                limit=_LARGEST_RATE,
                tolerance=_TOLERANCE,
                evaluations=_EVALUATIONS,
            )
            rate = classic if found is None else found.rate
            loss = tables.loss(rate)
            if loss <= epsilon:  # larger by rounding only: 2bη bounds it
                self.guarantee = Guarantee.of_loss(loss, "exact")
        self.weights = RunWeights(language=tables.language, rate=rate)

    @property
    def rate(self) -> float:
        """η."""
        return float(self.weights.rate)

    def inputs(self) -> Codes:
        """Every observation of the length that the system can produce."""
        return self.tables.possible.enumerate_codes(at_most=_MOST_OUTPUTS)

    def outputs(self) -> Codes:
        """Every observation that may be shown."""
        return self.tables.outputs

    @staticmethod
    def distance(word: Codes, others: Codes) -> NDArray[np.int64]:
        """In how many events a word differs from each row of others."""
        return np.asarray(np.count_nonzero(others != word, axis=-1))

    def log_probabilities(self, word: Codes, released: Codes) -> Floats:
        """ln P(row | word) for every row of `released`, right to about 13 digits; −∞ for what is never shown."""
        counts = RunNeighbours(self.tables.language, word).counts()
        terms = [math.log(count) - self.rate * distance for distance, count in enumerate(counts) if count]
        log_total = max(terms) + math.log(math.fsum(math.exp(term - max(terms)) for term in terms))
        is_output = self.tables.language.first_impossible(released) == 0
        return np.where(is_output, -self.rate * self.distance(word, released) - log_total, -math.inf)

    def draw(self, codes: Codes, bits: BitSource) -> Codes:
        """A private version of each row."""
        return release_runs(self.weights, codes, bits)

    def substitutes(self, events: Events, at_most: int | None) -> list[tuple[Events, float]]:
        """The outputs with their probabilities, the likeliest first, as floats right to about 13 digits."""
        distance = self.distance(np.array(events, dtype=np.int32), self.tables.outputs)
        weight = np.exp(-self.rate * (np.arange(len(events) + 1) - distance.min()))
        chance = weight / weight[distance].sum()
        nearest = np.argsort(distance, kind="stable")[:at_most]
        shown = map(tuple, self.tables.outputs[nearest].tolist())
        return list(zip(shown, chance[distance[nearest]].tolist(), strict=True))

    @computed_once
    def effect(self) -> tuple[float, float]:
        """E[distance; the run has this length], and the largest Pr(a secret state was visited | what is shown)."""
        runs = self.tables.runs
        terms, log_total = log_totals(self.tables.counts, self.rate)
        mean = np.exp(terms - log_total[:, None]) @ np.arange(terms.shape[1])
        with np.errstate(divide="ignore"):
            log_values = np.log(runs.chances) - log_total[:, None]
        shown = log_sums(runs.codes, log_values, self.tables.outputs, rate=self.rate)
        return float(runs.chances[:, 0] @ mean), float(np.exp(shown[:, 1] - shown[:, 0]).max())


class PrivatePolicy:
    """Every observation is released, by the mechanism for its length; `with_epsilon` shares all but the rates."""

    name = "private"

    def __init__(
        self,
        runs: RunObservations,
        *,
        epsilon: Fraction,
        adjacency: Adjacency,
        tables: dict[int, LengthTables] | None = None,
    ) -> None:
        self._runs, self._safe, self._epsilon, self.adjacency = runs, runs.safe, epsilon, adjacency
        self._tables = {} if tables is None else tables
        self._releases: dict[int, PrivateRelease] = {}

    def with_epsilon(self, epsilon: Fraction) -> PrivatePolicy:
        """The same policy with another ε."""
        return PrivatePolicy(self._runs, epsilon=epsilon, adjacency=self.adjacency, tables=self._tables)

    def release_for(self, length: int) -> PrivateRelease:
        """The mechanism for one length, which must have a safe observation."""
        if length not in self._releases:
            if length not in self._tables:
                language = self._safe.language(length)
                if language is None:
                    raise AssertionError("only lengths with a safe observation are released")
                self._tables[length] = LengthTables(self._runs, language, self.adjacency)
            self._releases[length] = PrivateRelease(self._tables[length], epsilon=self._epsilon)
        return self._releases[length]

    def unenforceable(self) -> Events | None:
        """An observation of a length without any safe one."""
        lengths = self._safe.complete_lengths
        return next((lengths[length][0] for length in lengths if self._safe.language(length) is None), None)

    def can_replace(self, events: Events) -> bool:
        """Whether there is a safe observation of its length."""
        return self._safe.language(len(events)) is not None

    def substitute_count(self, events: Events) -> int:
        """All safe observations of its length."""
        language = self._safe.language(len(events))
        return 0 if language is None else language.size

    def substitutes(self, events: Events, at_most: int | None = None) -> list[tuple[Events, float]]:
        """What may be shown instead of an observation, with its probability, the likeliest first."""
        return self.release_for(len(events)).substitutes(events, at_most) if self.can_replace(events) else []

    def draw(self, codes: Codes, bits: BitSource) -> Codes:
        """What is shown for each row."""
        return self.release_for(codes.shape[1]).draw(codes, bits)

    def diagram(self, events: Events) -> Diagram:
        """Refused: it shows words at every distance, and the automata of the papers have one."""
        del events
        raise ParameterError(
            "draw", expected="the policy safe or substitution, whose distance is fixed", found=self.name
        )

    @computed_once
    def guarantee(self) -> Guarantee:
        """The largest of all lengths, since unfinished runs are taken too; no loss exceeds the classic one."""
        worst = Guarantee(epsilon=0.0, how="exact")
        for length in reversed(range(max(self._safe.complete_lengths, default=0) + 1)):
            if self._safe.language(length) is not None:
                own = self.release_for(length).guarantee
                if own.how == "classic":
                    return own
                worst = own if own.epsilon > worst.epsilon else worst
        return worst

    @property
    def violation(self) -> Fraction:
        """0: only safe observations are shown."""
        return Fraction(0)

    @property
    def expected_distance(self) -> float:
        """Over all lengths of what runs show."""
        return math.fsum(self.release_for(length).effect[0] for length in self._safe.complete_lengths)

    @property
    def posterior_of_secret(self) -> float:
        """Over all lengths of what runs show."""
        return max((self.release_for(length).effect[1] for length in self._safe.complete_lengths), default=0.0)
