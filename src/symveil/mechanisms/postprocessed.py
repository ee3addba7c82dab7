"""A law and then a channel: what a mechanism draws is shown as it is, or replaced by further bits.

A mechanism releases words as it would those of any model, with the costs and certificates of this room. Where what it
drew is not among the words that may be shown, one of these is shown instead, drawn around it by a rate that is fixed
and public (`Correction`; the policy private, docs/opacity.md). The loss is that of the mechanism.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np

from symveil.errors import TooLargeError
from symveil.languages.distance_sums import Floats, all_distances, distance_counts, log_totals, one_hot
from symveil.languages.run_draws import draw_rows
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage
from symveil.laws.law import DistanceLaw
from symveil.mechanisms.law import Law
from symveil.mechanisms.limits import LIMITS
from symveil.mechanisms.mechanism import Mechanism, Remarks, proved_again
from symveil.models.alphabet import Codes, Lengths
from symveil.numbers.once import computed_once
from symveil.numbers.rationals import spelled
from symveil.randomness import BitSource, NotPrivateSeededBits

_CORRECTION_RATE, _LARGEST_EXPONENT = Fraction(16), Fraction(500)
_SEED, _DRAWS = 23, 64


@dataclass(frozen=True, eq=False, kw_only=True)
class Correction:
    """A channel: what is safe stays as it is, and instead of an unsafe o a safe x is shown with weight e^{−ρd(o,x)}."""

    possible: RunLanguage
    safe: RunLanguage
    most_listed: ClassVar[int] = 300_000

    @computed_once
    def rate(self) -> Fraction:
        """ρ: nearly uniform over the nearest safe words, and large enough for floats in long ones."""
        return min(_CORRECTION_RATE, _LARGEST_EXPONENT / max(self.possible.length, 1))

    @computed_once
    def _weights(self) -> RunWeights:
        return RunWeights(language=self.safe, rate=self.rate)

    def draw(self, rows: Codes, bits: BitSource) -> Codes:
        """What is shown for what was drawn, by further bits of the rows: independent of those it was drawn by."""
        unsafe = np.flatnonzero(self.safe.first_impossible(rows))
        shown = rows.copy()
        if len(unsafe):
            shown[unsafe] = draw_rows(self._weights, rows[unsafe], bits.for_rows(unsafe))
        return shown

    @computed_once
    def listed(self) -> Codes:
        """The words that may come in; refused where there are too many."""
        return self.possible.enumerate_codes(at_most=self.most_listed)

    @computed_once
    def unsafe(self) -> Codes:
        """Those that are replaced."""
        return self.listed[self.safe.first_impossible(self.listed) > 0]

    @computed_once
    def outputs(self) -> Codes:
        """The safe words."""
        return self.safe.enumerate_codes(at_most=self.most_listed)

    @computed_once
    def log_totals(self) -> Floats:
        """ln Σ e^{−ρd(o,x)} over the safe words x, for each unsafe o."""
        return log_totals(distance_counts(self.outputs, self.unsafe), float(self.rate))[1]

    def chances(self, shown: Codes) -> Iterator[tuple[slice, Floats]]:
        """Pr(x is shown | o was drawn) for each unsafe o, a row, and each safe x of `shown`: some rows at a time."""
        pairs = len(self.unsafe) * max(len(shown), 1)
        if pairs > LIMITS.now.corrections:
            raise TooLargeError(
                f"enforcement: expected at most {LIMITS.now.corrections} pairs of an unsafe observation and what is "
                f"shown instead, found {pairs}; use a smaller length"
            )
        by_distance = np.exp(-float(self.rate) * np.arange(self.possible.length + 1))
        step = max(1, LIMITS.now.corrected_at_once // max(len(shown), 1))
        for begin in range(0, len(self.unsafe), step):
            rows = slice(begin, begin + step)
            distance = all_distances(self.unsafe[rows], shown)
            nearest = distance.min(axis=1, keepdims=True)  # so that no sum is 0 in floats
            scale = np.exp(-float(self.rate) * nearest - self.log_totals[rows, None])
            yield rows, by_distance[distance - nearest] * scale

    @computed_once
    def unchanged(self) -> Floats:
        """For each unsafe o, and each position and symbol: whether o has it there, less the chance that it is shown."""
        symbols = len(self.possible.alphabet)
        shown, unsafe = one_hot(self.outputs, symbols), one_hot(self.unsafe, symbols)
        for rows, chances in self.chances(self.outputs):
            unsafe[rows] -= chances @ shown
        return unsafe


class Postprocessed(Mechanism):
    """`through` releases a word, and a channel turns it into what is shown: P(x|w) = Σ_o P(o|w)·R(x|o)."""

    name = "private"
    label: ClassVar[str] = "corrected to safe observations"

    def __init__(self, through: Mechanism, correction: Correction) -> None:
        super().__init__(correction.possible, epsilon=through.epsilon, adjacency=through.adjacency)
        self.through: Final = through
        self.correction: Final = correction

    def _calibrated(self, claimed: Law | None) -> Law:
        """That of the mechanism: what happens to its outcomes depends on nothing else."""
        through = self.through.law if claimed is None else proved_again(self.through)
        return self._law_with(through.proved, rate=through.rate, certificate=through.certificate, through=through)

    def _loss_beyond(self, distance: int) -> float:
        """That of the mechanism, likewise."""
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
    def remarks(self) -> Remarks:
        """What the mechanism gives up."""
        through = self.through.remarks
        return Remarks(given_up=through.given_up, tells_apart=through.tells_apart)

    def parameters_document(self) -> dict[str, object]:
        """The mechanism and what it was given or has chosen; the rate of the correction."""
        return {
            "through": self.through.name,
            **self.through.parameters_document(),
            "correction_rate": spelled(self.correction.rate),
        }

    @property
    def released_language(self) -> RunLanguage:
        """The safe observations."""
        return self.correction.safe

    # --- drawing -------------------------------------------------------------------------------

    def _draw(self, codes: Codes, lengths: Lengths, bits: BitSource) -> tuple[Codes, Lengths]:
        drawn, sizes = self.through.release_flat(codes, lengths, bits=bits, checked=True)
        rows = drawn.reshape(len(lengths), self.correction.possible.length)
        return self.correction.draw(rows, bits).reshape(-1), sizes

    # --- the law -------------------------------------------------------------------------------

    def laws(self, words: Codes, released: Codes) -> Floats:
        """P(x | w) for each row w of `words` and each safe x of `released`."""
        drawn = np.exp([self.through._log_probabilities(word, released) for word in words])
        if len(self.correction.unsafe):
            wrong = np.exp([self.through._log_probabilities(word, self.correction.unsafe) for word in words])
            for rows, chances in self.correction.chances(released):
                drawn += wrong[:, rows] @ chances
        return np.asarray(drawn)

    def _log_probabilities(self, word: Codes, released: Codes) -> Floats:
        """ln P(row | word), over what the mechanism may have drawn; −∞ for what is never shown."""
        is_safe = self.correction.safe.first_impossible(released) == 0
        logs = np.asarray(self.through._log_probabilities(word, released), dtype=np.float64)
        if len(self.correction.unsafe):
            drawn = self.through._log_probabilities(word, self.correction.unsafe)
            largest = drawn.max()
            weights, corrected = np.exp(drawn - largest), np.zeros(len(released))
            for rows, chances in self.correction.chances(released):
                corrected += weights[rows] @ chances
            with np.errstate(divide="ignore"):
                logs = np.logaddexp(logs, np.log(corrected) + largest)
        return np.where(is_safe, logs, -np.inf)

    def _law(self, codes: Codes | None) -> DistanceLaw:
        assert codes is not None  # noqa: S101 - `distances` asks for a word, because they do not look alike
        outputs, length = self.correction.outputs, self.correction.possible.length
        distance = np.count_nonzero(outputs != codes, axis=1)
        chances = np.exp(self._log_probabilities(codes, outputs))
        by_distance: Floats = np.bincount(distance, chances, minlength=length + 1).astype(np.float64)
        occurring = np.flatnonzero(np.bincount(distance, minlength=length + 1))
        with np.errstate(divide="ignore"):
            logs = np.log(by_distance[occurring])
        return DistanceLaw(
            distances=occurring,
            all_counts=self.correction.safe.around(codes).counts,
            probabilities=by_distance[occurring],
            log_probabilities=logs,
            expected_error=float(by_distance @ np.arange(len(by_distance))),
            length=length,
            bounds=None,
        )

    def _expected_errors(self, words: Codes) -> tuple[Floats, Floats]:
        """For each word the expected number of events that are changed; what corrections add, over public bits."""
        errors = np.asarray(self.through._expected_errors(words)[0], dtype=np.float64)
        bits = NotPrivateSeededBits(_SEED)
        many = np.repeat(words, _DRAWS, axis=0)
        drawn, _ = self.through.release_flat(
            many.reshape(-1), np.full(len(many), words.shape[1]), bits=bits, checked=True
        )
        drawn = drawn.reshape(many.shape)
        shown = self.correction.draw(drawn, bits)
        added = np.count_nonzero(shown != many, axis=1) - np.count_nonzero(drawn != many, axis=1)
        errors = errors + added.reshape(len(words), _DRAWS).mean(axis=1)  # what the mechanism adds is known
        return errors, errors
