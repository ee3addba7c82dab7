"""A release through a mechanism for all observations, whose unsafe outcomes become safe ones.

The mechanism releases observations of the system, safe or not, as it would words of any model: with the costs and
certificates of `mechanisms`. Where what it drew gives a secret away, a safe observation is shown instead, drawn around
it by a rate that is fixed and public. That is post-processing: the loss is that of the mechanism
(docs/mechanisms/opacity-policies.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from symveil.calibration.certificate import CertifiedRate
from symveil.enforcement.corrected_effect import corrected_effect, one_hot
from symveil.enforcement.losses import log_totals
from symveil.errors import TooLargeError
from symveil.languages.distance_sums import all_distances, distance_counts
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage
from symveil.laws.guarantee import Guarantee
from symveil.laws.law import DistanceLaw
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.run_release import release_runs
from symveil.models.word import Codes, Lengths
from symveil.numbers.once import computed_once
from symveil.numbers.rationals import spelled
from symveil.randomness import BitSource, NotPrivateSeededBits

if TYPE_CHECKING:
    from symveil.enforcement.length_tables import LengthTables

_CORRECTION_RATE, _LARGEST_EXPONENT = Fraction(16), Fraction(500)
_MOST_CORRECTIONS, _CORRECTED_AT_ONCE = 400_000_000, 2_000_000
_SEED, _DRAWS = 23, 64

Floats = NDArray[np.float64]


class CorrectedRelease(Mechanism):
    """`through` releases an observation; where that is unsafe, a safe one near it is shown instead."""

    name = "private"
    label: ClassVar[str] = "corrected to safe observations"
    takes: ClassVar[frozenset[str]] = frozenset()
    errors_at_once: ClassVar[bool] = True
    most_listed: ClassVar[int] = 300_000

    def __init__(self, possible: RunLanguage, safe: RunLanguage, through: Mechanism) -> None:
        super().__init__(possible, epsilon=through.epsilon, adjacency=through.adjacency)
        self.safe: Final = safe
        self.through: Final = through
        self.possible: Final = possible
        # nearly uniform over the nearest safe observations, and large enough for floats in long ones
        self.correction_rate: Final = min(_CORRECTION_RATE, _LARGEST_EXPONENT / max(possible.length, 1))

    @property
    def proved_loss(self) -> Guarantee:
        """That of the mechanism: what happens to its outcomes depends on nothing else."""
        return self.through.guarantee

    def loss_beyond(self, distance: int) -> float:
        """That of the mechanism, likewise.

        Parameters
        ----------
        distance
            In how many places observations differ.
        """
        return self.through.loss_at(distance)

    @property
    def certified(self) -> CertifiedRate | None:
        """The proof behind the rate of the mechanism."""
        return self.through.certified

    @property
    def rate(self) -> Fraction | None:
        """The rate of the mechanism, where it has one."""
        return getattr(self.through, "rate", None)

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
    def kept_by_correction(self) -> Floats:
        """For each unsafe o, and each position and symbol: whether o has it there, less the chance that it is shown."""
        shown, kept = one_hot(self.outputs_listed, len(self.alphabet)), one_hot(self.unsafe, len(self.alphabet))
        for rows, chances in self.corrections(self.outputs_listed):
            kept[rows] -= chances @ shown
        return kept

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
