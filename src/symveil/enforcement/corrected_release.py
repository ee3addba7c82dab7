"""A release through a mechanism for all observations, whose unsafe outcomes become safe ones.

The mechanism releases observations of the system, safe or not, as it would words of any model: with the costs and
certificates of `mechanisms`. Where what it drew gives a secret away, a safe observation is shown instead, drawn around
it by a rate that is fixed and public. That is post-processing: the loss is that of the mechanism
(docs/opacity.md).

What a corrected release achieves over all that runs of one length show: what it changes, what one can conclude.

By the exponential mechanism with Hamming distances sums run over prefixes and suffixes, not over pairs of observations;
other mechanisms are asked for the law of every observation, where they are few.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from symveil.enforcement.losses import all_distances, distance_counts, log_sums, log_totals
from symveil.errors import TooLargeError
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage
from symveil.laws.law import DistanceLaw
from symveil.mechanisms.cost_weighted import release_runs
from symveil.mechanisms.law import Law
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.word import Codes, Lengths
from symveil.numbers.once import computed_once
from symveil.numbers.progress import Progress
from symveil.numbers.rationals import spelled
from symveil.randomness import BitSource, NotPrivateSeededBits
from symveil.verification.opacity.observation_law import ObservationTable

if TYPE_CHECKING:
    from symveil.enforcement.length_tables import LengthTables

Floats = NDArray[np.float64]

_MOST_LAWS = 2_000
_MOST_PAIRS, _AT_ONCE = 200_000_000, 2_000_000


def corrected_effect(release: CorrectedRelease, runs: ObservationTable, progress: Progress) -> tuple[float, float]:
    """E[distance; the run has this length], and the largest Pr(a secret state was visited | what is shown)."""
    every = release.possible.enumerate_codes(at_most=release.most_listed)
    unsafe = release.safe.first_impossible(every) > 0
    if len(runs.codes) * int(unsafe.sum()) > _MOST_PAIRS:
        raise TooLargeError(
            f"enforcement: expected at most {_MOST_PAIRS} pairs of an observation and an unsafe one, found more; use a "
            "smaller length"
        )
    rate = release.through.hamming_rate
    if rate is not None:
        distance, log_drawn, log_rows = _sums(release, float(rate), runs, every, progress)
    else:
        distance, log_drawn, log_rows = _laws(release, runs, every, progress)
    for rows, log_chances in log_rows:
        distance += _added(release, runs.codes[rows], runs.chances[rows, 0], log_chances)
    log_shown = log_drawn[~unsafe]
    if unsafe.any():
        values, rho = log_drawn[unsafe] - release.log_correction_totals[:, None], float(release.correction_rate)
        corrected = log_sums(every[unsafe], values, every[~unsafe], rate=rho, progress=progress)
        log_shown = np.logaddexp(log_shown, corrected)
    return distance, float(np.exp(log_shown[:, 1] - log_shown[:, 0]).max())


_Law = tuple[float, Floats, Iterator[tuple[slice, Floats]]]
"""E[distance] of what is drawn; for each observation ln Pr(it is drawn) alone and with a secret; and, some runs at a
time, ln Pr(each unsafe observation is drawn | run)."""


def _sums(
    release: CorrectedRelease, rate: float, runs: ObservationTable, every: NDArray[np.int32], progress: Progress
) -> _Law:
    terms, log_total = log_totals(distance_counts(every, runs.codes, progress=progress), rate)
    mean = np.exp(terms - log_total[:, None]) @ np.arange(terms.shape[1])
    with np.errstate(divide="ignore"):
        log_values = np.log(runs.chances) - log_total[:, None]
    drawn = log_sums(runs.codes, log_values, every, rate=rate, progress=progress)

    def rows() -> Iterator[tuple[slice, Floats]]:
        unsafe = one_hot(release.unsafe, len(release.alphabet))
        step = max(1, _AT_ONCE // max(len(unsafe), 1))
        for begin in range(0, len(runs.codes), step):
            part = slice(begin, begin + step)
            alike = one_hot(runs.codes[part], len(release.alphabet)) @ unsafe.T
            yield part, rate * (alike - runs.codes.shape[1]) - log_total[part, None]

    return float(runs.chances[:, 0] @ mean), drawn, rows()


def _laws(release: CorrectedRelease, runs: ObservationTable, every: NDArray[np.int32], progress: Progress) -> _Law:
    if max(len(every), len(runs.codes)) > _MOST_LAWS:
        raise TooLargeError(
            f"enforcement: expected at most {_MOST_LAWS} observations to judge {release.described} by, found more; use "
            "a smaller length (the policy private releases without such a list)"
        )
    logs = np.empty((len(runs.codes), len(every)))
    for row, word in enumerate(runs.codes):
        progress(row, len(runs.codes))
        logs[row] = release.through.log_probabilities(word, every)
    distance = float((runs.chances[:, 0, None] * np.exp(logs) * all_distances(runs.codes, every)).sum())
    with np.errstate(divide="ignore"):
        drawn = np.logaddexp.reduce(np.log(runs.chances)[:, None, :] + logs[:, :, None], axis=0)
    unsafe = release.safe.first_impossible(every) > 0
    return distance, drawn, iter([(slice(None), logs[:, unsafe])])


def _added(release: CorrectedRelease, codes: NDArray[np.int32], chances: Floats, log_chances: Floats) -> float:
    """By how much corrections change the distance: Σ p(w)·P(o|w)·(E[d(w, shown for o)] − d(w, o)) over unsafe o."""
    if not log_chances.shape[1]:
        return 0.0
    nearer = one_hot(codes, len(release.alphabet)) @ release.unchanged_by_correction.T
    return float(chances @ (np.exp(log_chances) * nearer).sum(axis=1))


def one_hot(codes: NDArray[np.int32], symbols: int) -> Floats:
    """A column for every position and symbol: 1 where the word has it there.

    >>> one_hot(np.array([[0, 1]], dtype=np.int32), 2).tolist()
    [[1.0, 0.0, 0.0, 1.0]]
    """
    columns = (codes[:, :, None] == np.arange(symbols)).astype(np.float64)
    return np.asarray(columns.reshape(len(codes), codes.shape[1] * symbols))


_CORRECTION_RATE, _LARGEST_EXPONENT = Fraction(16), Fraction(500)
_MOST_CORRECTIONS, _CORRECTED_AT_ONCE = 400_000_000, 2_000_000
_SEED, _DRAWS = 23, 64


class CorrectedRelease(Mechanism):
    """`through` releases an observation; where that is unsafe, a safe one near it is shown instead."""

    name = "private"
    label: ClassVar[str] = "corrected to safe observations"
    most_listed: ClassVar[int] = 300_000

    def __init__(self, possible: RunLanguage, safe: RunLanguage, through: Mechanism) -> None:
        super().__init__(possible, epsilon=through.epsilon, adjacency=through.adjacency)
        self.safe: Final = safe
        self.through: Final = through
        self.possible: Final = possible
        # nearly uniform over the nearest safe observations, and large enough for floats in long ones
        self.correction_rate: Final = min(_CORRECTION_RATE, _LARGEST_EXPONENT / max(possible.length, 1))

    def _calibrated(self, claimed: Law | None) -> Law:
        """That of the mechanism: what happens to its outcomes depends on nothing else."""
        through = self.through.law if claimed is None else self.through.proved_again()
        return self._law_with(through.proved, rate=through.rate, certificate=through.certificate, through=through)

    def loss_beyond(self, distance: int) -> float:
        """That of the mechanism, likewise.

        Parameters
        ----------
        distance
            In how many places observations differ.
        """
        return self.through.loss_at(distance)

    @property
    def rate(self) -> Fraction | None:
        """The rate of the mechanism, where it has one."""
        return self.law.rate

    @property
    def described(self) -> str:
        """Through which mechanism."""
        return f"corrected {self.through.described}"

    @property
    def given_up(self) -> str | None:
        """What the mechanism gives up."""
        return self.through.given_up

    @property
    def tells_apart(self) -> bool:
        """Whether the mechanism does."""
        return self.through.tells_apart

    def parameters_document(self) -> dict[str, object]:
        """The mechanism and what it was given or has chosen; the rate of the correction."""
        return {
            "through": self.through.name,
            **self.through.parameters_document(),
            "correction_rate": spelled(self.correction_rate),
        }

    @property
    def released_language(self) -> RunLanguage:
        """The safe observations."""
        return self.safe

    # --- drawing -------------------------------------------------------------------------------

    @computed_once
    def _correction(self) -> RunWeights:
        return RunWeights(language=self.safe, rate=self.correction_rate)

    def _draw(self, codes: Codes, lengths: Lengths, bits: BitSource) -> tuple[Codes, Lengths]:
        drawn, sizes = self.through.release_checked(codes, lengths, bits)
        return self._corrected(drawn.reshape(len(lengths), self.possible.length), bits).reshape(-1), sizes

    def _corrected(self, rows: Codes, bits: BitSource) -> Codes:
        """What is shown for what was drawn, by further bits of the rows: independent of those it was drawn by."""
        unsafe = np.flatnonzero(self.safe.first_impossible(rows))
        shown = rows.copy()
        if len(unsafe):
            shown[unsafe] = release_runs(self._correction, rows[unsafe], bits.for_rows(unsafe))
        return shown

    # --- the law -------------------------------------------------------------------------------

    @computed_once
    def unsafe(self) -> Codes:
        """The observations that are corrected; refused where there are too many observations to list."""
        words = self.possible.enumerate_codes(at_most=self.most_listed)
        return words[self.safe.first_impossible(words) > 0]

    @computed_once
    def outputs_listed(self) -> Codes:
        """The safe observations."""
        return self.safe.enumerate_codes(at_most=self.most_listed)

    @computed_once
    def log_correction_totals(self) -> Floats:
        """ln Σ e^{−ρd(o,x)} over the safe observations x, for each unsafe o."""
        return log_totals(distance_counts(self.outputs_listed, self.unsafe), float(self.correction_rate))[1]

    def corrections(self, shown: Codes) -> Iterator[tuple[slice, Floats]]:
        """Pr(x is shown | o was drawn) for each unsafe o, a row, and each safe x of `shown`: some rows at a time."""
        pairs = len(self.unsafe) * max(len(shown), 1)
        if pairs > _MOST_CORRECTIONS:
            raise TooLargeError(
                f"enforcement: expected at most {_MOST_CORRECTIONS} pairs of an unsafe observation and what is shown "
                f"instead, found {pairs}; use a smaller length"
            )
        by_distance = np.exp(-float(self.correction_rate) * np.arange(self.possible.length + 1))
        step = max(1, _CORRECTED_AT_ONCE // max(len(shown), 1))
        for begin in range(0, len(self.unsafe), step):
            rows = slice(begin, begin + step)
            distance = all_distances(self.unsafe[rows], shown)
            nearest = distance.min(axis=1, keepdims=True)  # so that no sum is 0 in floats
            scale = np.exp(-float(self.correction_rate) * nearest - self.log_correction_totals[rows, None])
            yield rows, by_distance[distance - nearest] * scale

    @computed_once
    def unchanged_by_correction(self) -> Floats:
        """For each unsafe o, and each position and symbol: whether o has it there, less the chance that it is shown."""
        shown, unsafe = one_hot(self.outputs_listed, len(self.alphabet)), one_hot(self.unsafe, len(self.alphabet))
        for rows, chances in self.corrections(self.outputs_listed):
            unsafe[rows] -= chances @ shown
        return unsafe

    def laws(self, words: Codes, released: Codes) -> Floats:
        """P(x | w) for each row w of `words` and each safe x of `released`."""
        drawn = np.exp([self.through._log_probabilities(word, released) for word in words])
        if len(self.unsafe):
            wrong = np.exp([self.through._log_probabilities(word, self.unsafe) for word in words])
            for rows, chances in self.corrections(released):
                drawn += wrong[:, rows] @ chances
        return np.asarray(drawn)

    def effect(self, tables: LengthTables) -> tuple[float, float]:
        """E[distance; the run has this length], and the largest Pr(a secret state was visited | what is shown)."""
        runs = tables.runs  # first of all: refused where they are too many
        return corrected_effect(self, runs, tables.progress("what an observer can conclude"))

    def _log_probabilities(self, word: Codes, released: Codes) -> Floats:
        """ln P(row | word), over what the mechanism may have drawn; −∞ for what is never shown."""
        is_safe = self.safe.first_impossible(released) == 0
        logs = np.asarray(self.through._log_probabilities(word, released), dtype=np.float64)
        if len(self.unsafe):
            drawn = self.through._log_probabilities(word, self.unsafe)
            largest = drawn.max()
            weights, corrected = np.exp(drawn - largest), np.zeros(len(released))
            for rows, chances in self.corrections(released):
                corrected += weights[rows] @ chances
            with np.errstate(divide="ignore"):
                logs = np.logaddexp(logs, np.log(corrected) + largest)
        return np.where(is_safe, logs, -np.inf)

    def _law(self, codes: Codes | None) -> DistanceLaw:
        assert codes is not None  # noqa: S101 - `distances` asks for a word, because they do not look alike
        outputs = self.outputs_listed
        distance = np.count_nonzero(outputs != codes, axis=1)
        chances = np.exp(self._log_probabilities(codes, outputs))
        by_distance: Floats = np.bincount(distance, chances, minlength=self.possible.length + 1).astype(np.float64)
        occurring = np.flatnonzero(np.bincount(distance, minlength=self.possible.length + 1))
        with np.errstate(divide="ignore"):
            logs = np.log(by_distance[occurring])
        return DistanceLaw(
            distances=occurring,
            all_counts=self.safe.around(codes).counts,
            probabilities=by_distance[occurring],
            log_probabilities=logs,
            expected_error=float(by_distance @ np.arange(len(by_distance))),
            length=self.possible.length,
            bounds=None,
        )

    def _expected_errors(self, words: Codes) -> tuple[Floats, Floats]:
        """For each word the expected number of events that are changed; what corrections add, over public bits.

        Parameters
        ----------
        words
            Rows of codes, observations of the system.
        """
        errors = np.asarray(self.through._expected_errors(words)[0], dtype=np.float64)
        bits = NotPrivateSeededBits(_SEED)
        many = np.repeat(words, _DRAWS, axis=0)
        drawn, _ = self.through.release_checked(many.reshape(-1), np.full(len(many), words.shape[1]), bits)
        drawn = drawn.reshape(many.shape)
        shown = self._corrected(drawn, bits)
        added = np.count_nonzero(shown != many, axis=1) - np.count_nonzero(drawn != many, axis=1)
        errors = errors + added.reshape(len(words), _DRAWS).mean(axis=1)  # what the mechanism adds is known
        return errors, errors
