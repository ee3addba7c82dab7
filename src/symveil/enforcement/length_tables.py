"""The observations of one length: what of the policy private does not depend on ε, and how they are released best.

What a release achieves over all that runs of one length show: what it changes, what one can conclude. With weights that
are exponential in Hamming distances sums run over prefixes and suffixes, not over pairs of observations; other
mechanisms are asked for the law of every observation, where they are few.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from symveil.enforcement.limits import LIMITS
from symveil.errors import TooLargeError
from symveil.languages.distance_sums import Floats, all_distances, distance_counts, log_sums, log_totals, one_hot
from symveil.languages.free import words
from symveil.languages.language import Language
from symveil.languages.runs import RunLanguage, smallest
from symveil.laws.parameters import Adjacency, read_adjacency
from symveil.laws.protection import public_words
from symveil.mechanisms.choice import MechanismChoice
from symveil.mechanisms.exponential import hamming_rate
from symveil.mechanisms.postprocessed import Correction, Postprocessed
from symveil.mechanisms.restricted import EnumeratedLoss, Restricted
from symveil.mechanisms.selection import select_one_of_many
from symveil.models.alphabet import Codes
from symveil.numbers.once import computed_once
from symveil.numbers.progress import Progress, named
from symveil.verification.opacity.observation_law import ObservationTable
from symveil.verification.opacity.run_observations import RunObservations

AUTO, DIRECT, CORRECTED = RELEASES = ("auto", "direct", "corrected")
"""How every observation is released: by weights on safe observations only, or by a mechanism for all of them whose
outcomes are corrected to safe ones; "auto" is the one of these with the least expected error."""

_COMPARED, _CLEARLY = 64, 0.97  # so many public observations; what is less plain must have less error than that share


class LengthTables:
    """The observations of one length and their distances: all of the policy that does not depend on ε."""

    def __init__(self, runs: RunObservations, length: int, adjacency: Adjacency) -> None:
        safe = runs.safe.language(length)
        if safe is None:
            raise AssertionError("only lengths with a safe observation are released")
        self._runs, self.safe = runs, smallest(safe)
        self._reach = min(read_adjacency(adjacency, length=length), max(length, 1))

    @computed_once
    def possible(self) -> RunLanguage:
        """All observations of the length, safe or not."""
        return smallest(self._runs.safe.possible(self.safe.length))

    @computed_once
    def language(self) -> Language:
        """The same as words: all over the observable events, where each of them can be observed."""
        alphabet, length = self.possible.alphabet, self.possible.length
        return words(alphabet, length) if self.possible.size == len(alphabet) ** length else self.possible

    def release(self, *, epsilon: Fraction, adjacency: Adjacency, release: str) -> Restricted | Postprocessed:
        """The release with the least expected error over all observations, each as likely as any other.

        Where the exact loss over all of them is known, that of the exponential mechanism over safe observations needs
        no other. Elsewhere its rate is the classic one, and mechanisms whose loss is certified for all observations
        compete with it, corrected to safe ones. Nothing secret is read.
        """
        direct = Restricted(self.possible, self.safe, epsilon=epsilon, adjacency=adjacency, loss=self.loss)
        if release == DIRECT or (release == AUTO and direct.guarantee.how != "classic"):
            return direct
        choice = MechanismChoice(epsilon=epsilon, adjacency=adjacency)
        corrected = Postprocessed(
            select_one_of_many(choice, self.language), Correction(possible=self.possible, safe=self.safe)
        )
        if release == CORRECTED:
            return corrected
        compared = public_words(self.possible, _COMPARED)
        errors = [float(each.expected_errors(compared)[0].mean()) for each in (direct, corrected)]
        return corrected if errors[1] < _CLEARLY * errors[0] else direct

    @computed_once
    def loss(self) -> EnumeratedLoss | None:
        """The loss for each rate; None where the observations are too many to list."""
        return EnumeratedLoss.of(self.possible, self.safe, self._reach)

    @computed_once
    def outputs(self) -> Codes:
        """The safe observations, in alphabetical order."""
        return self.safe.enumerate_codes(at_most=LIMITS.now.outputs)

    @property
    def runs(self) -> ObservationTable:
        """What complete runs of this length show."""
        return self._runs.complete[self.safe.length]

    @computed_once
    def counts(self) -> NDArray[np.int64]:
        """For each observation of `runs` how many outputs lie at each distance."""
        return distance_counts(self.outputs, self.runs.codes, progress=self.progress("counting distances"))

    def progress(self, what: str) -> Progress:
        """Where to tell how far some work on this length is."""
        return named(self._runs.progress, f"{what}, {self.safe.length} events")

    def effect(self, release: Restricted | Postprocessed) -> tuple[float, float]:
        """E[distance; the run has this length], and the largest Pr(a secret state was visited | what is shown)."""
        runs, progress = self.runs, self.progress("what an observer can conclude")  # runs first: refused if too many
        if release.correction is not None:
            return _corrected_effect(release, runs, progress)
        drawn = _by_distances(runs, self.outputs, self.counts, float(release.rate), progress)
        return drawn.distance, _largest_share(drawn.log_shown)


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """E[distance] of what is drawn; for each observation ln Pr(it is drawn), alone and with a secret; and ln Z of each
    run, where weights are exponential in the distance."""

    distance: float
    log_shown: Floats
    log_total: Floats


def _by_distances(
    runs: ObservationTable, every: Codes, counts: NDArray[np.int64], rate: float, progress: Progress
) -> _Drawn:
    """P(o|w) ∝ e^{−rate·d(w,o)} over the observations `every`, of which `counts` are at each distance of each run's."""
    terms, log_total = log_totals(counts, rate)
    mean = np.exp(terms - log_total[:, None]) @ np.arange(terms.shape[1])
    with np.errstate(divide="ignore"):
        log_values = np.log(runs.chances) - log_total[:, None]
    shown = log_sums(runs.codes, log_values, every, rate=rate, progress=progress)
    return _Drawn(float(runs.chances[:, 0] @ mean), shown, log_total)


def _largest_share(log_shown: Floats) -> float:
    """The largest Pr(a secret state was visited | what is shown)."""
    return float(np.exp(log_shown[:, 1] - log_shown[:, 0]).max())


def _corrected_effect(release: Postprocessed, runs: ObservationTable, progress: Progress) -> tuple[float, float]:
    correction = release.correction
    every = correction.listed
    is_unsafe = correction.safe.first_impossible(every) > 0
    if len(runs.codes) * len(correction.unsafe) > LIMITS.now.judged_pairs:
        raise TooLargeError(
            f"enforcement: expected at most {LIMITS.now.judged_pairs} pairs of an observation and an unsafe one, "
            "found more; use a smaller length"
        )
    rate = hamming_rate(release.through.law)
    if rate is not None:
        counts = distance_counts(every, runs.codes, progress=progress)
        drawn = _by_distances(runs, every, counts, float(rate), progress)
        log_rows = _unsafe_rows(correction, runs, float(rate), drawn.log_total)
    else:
        logs = _listed_laws(release, runs, every, progress)
        distance = float((runs.chances[:, 0, None] * np.exp(logs) * all_distances(runs.codes, every)).sum())
        with np.errstate(divide="ignore"):
            shown = np.logaddexp.reduce(np.log(runs.chances)[:, None, :] + logs[:, :, None], axis=0)
        drawn, log_rows = _Drawn(distance, shown, np.empty(0)), iter([(slice(None), logs[:, is_unsafe])])
    distance = drawn.distance
    for rows, log_chances in log_rows:
        distance += _added(correction, runs.codes[rows], runs.chances[rows, 0], log_chances)
    log_shown = drawn.log_shown[~is_unsafe]
    if len(correction.unsafe):
        values = drawn.log_shown[is_unsafe] - correction.log_totals[:, None]
        shown = log_sums(correction.unsafe, values, correction.outputs, rate=float(correction.rate), progress=progress)
        log_shown = np.logaddexp(log_shown, shown)
    return distance, _largest_share(log_shown)


def _unsafe_rows(
    correction: Correction, runs: ObservationTable, rate: float, log_total: Floats
) -> Iterator[tuple[slice, Floats]]:
    """Some runs at a time, ln Pr(each unsafe observation is drawn | run)."""
    symbols = len(correction.possible.alphabet)
    unsafe = one_hot(correction.unsafe, symbols)
    step = max(1, LIMITS.now.numbers_at_once // max(len(unsafe), 1))
    for begin in range(0, len(runs.codes), step):
        part = slice(begin, begin + step)
        alike = one_hot(runs.codes[part], symbols) @ unsafe.T
        yield part, rate * (alike - runs.codes.shape[1]) - log_total[part, None]


def _listed_laws(release: Postprocessed, runs: ObservationTable, every: Codes, progress: Progress) -> Floats:
    """ln P(o|w) of the mechanism, for every run's observation w."""
    if max(len(every), len(runs.codes)) > LIMITS.now.judged:
        raise TooLargeError(
            f"enforcement: expected at most {LIMITS.now.judged} observations to judge {release.described} by, "
            "found more; use a smaller length (the policy private releases without such a list)"
        )
    logs = np.empty((len(runs.codes), len(every)))
    for row, word in enumerate(runs.codes):
        progress(row, len(runs.codes))
        logs[row] = release.through.log_probabilities(word, every)
    return logs


def _added(correction: Correction, codes: Codes, chances: Floats, log_chances: Floats) -> float:
    """By how much corrections change the distance: Σ p(w)·P(o|w)·(E[d(w, shown for o)] − d(w, o)) over unsafe o."""
    if not log_chances.shape[1]:
        return 0.0
    nearer = one_hot(codes, len(correction.possible.alphabet)) @ correction.unchanged.T
    return float(chances @ (np.exp(log_chances) * nearer).sum(axis=1))
