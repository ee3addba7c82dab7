"""What every mechanism on words shares: words in, words out, the law of each, and a guarantee."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property
from typing import ClassVar, Final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.errors import ParameterError, WordError
from symveil.languages.free import FreeLanguage
from symveil.languages.neighbours import at_distance
from symveil.models.word import Codes, Word, decode, encode_many
from symveil.numerics.balls import STANDARD_PRECISION, nearest_float, precision
from symveil.numerics.rationals import Number, spelled
from symveil.privacy.guarantee import Guarantee
from symveil.privacy.law import DistanceLaw, ErrorBounds
from symveil.privacy.parameters import Adjacency, read_adjacency, read_calibration, read_epsilon
from symveil.randomness import BitSource, Boundaries, system_bits


class WordMechanism(ABC):
    """A mechanism on the free language whose law depends on the Hamming distance alone.

    P(w'|w) = r(d(w,w')) / Z, the same Z for every word (mathematics §2, §5). A subclass gives the
    weights r(0), r(1), … as balls and its exact loss; everything else follows from these.
    """

    name: ClassVar[str]
    zero_epsilon_allowed: ClassVar[bool] = False

    def __init__(
        self,
        language: FreeLanguage,
        *,
        epsilon: Number,
        adjacency: Adjacency = 1,
        calibration: str = "tight",
    ) -> None:
        if not isinstance(language, FreeLanguage):
            raise ParameterError(
                "language", expected="a language such as words(alphabet, length)", found=type(language).__name__
            )
        self.language: Final = language
        self.epsilon: Final = read_epsilon(epsilon, zero_allowed=self.zero_epsilon_allowed)
        self.adjacency: Final = read_adjacency(adjacency, length=language.length)
        self.calibration: Final = read_calibration(calibration)
        # Words of Σⁿ are never farther apart than this, so a larger adjacency asks for no more.
        self.reach: Final = min(self.adjacency, language.largest_distance)

    # --- what a subclass says ------------------------------------------------------------------

    @abstractmethod
    def weight_balls(self) -> list[arb]:
        """r(0) … r(largest distance), up to a common factor, at the working precision."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """The loss that the mechanism really has, rounded upwards, and how it is known."""

    # --- releasing -----------------------------------------------------------------------------

    def release(self, word: Word, *, bits: BitSource | None = None) -> Word:
        """One private word: a string where a string came in, a tuple of symbols otherwise."""
        codes = self.language.encode(word)
        return decode(self._draw(codes[None, :], bits or system_bits())[0], self.language.alphabet, like=word)

    def release_many(self, words: Iterable[Word], *, bits: BitSource | None = None) -> list[Word]:
        """A private word for each word, each with the guarantee of its own."""
        sources = list(words)
        codes = encode_many(sources, self.language.alphabet)
        for number, row in enumerate(codes, start=1):
            if len(row) != self.language.length:
                raise WordError(f"word {number}, word: expected {self.language.length} symbols, found {len(row)}")
        if not codes:
            return []
        released = self._draw(np.stack(codes), bits or system_bits())
        return [decode(row, self.language.alphabet, like=word) for row, word in zip(released, sources, strict=True)]

    def release_codes(self, codes: Codes, *, bits: BitSource | None = None) -> Codes:
        """The fast path: rows of codes (int32, alphabet order) in, rows of the same shape out."""
        try:
            rows = np.asarray(codes)
        except ValueError:
            raise ParameterError("codes", expected="an int32 array with a row per word", found="ragged rows") from None
        if rows.ndim != 2 or rows.dtype != np.int32:
            raise ParameterError(
                "codes",
                expected="an int32 array with a row per word",
                found=f"a {rows.dtype} array with {rows.ndim} axes",
            )
        if rows.shape[1] != self.language.length:
            raise WordError(f"codes: expected {self.language.length} symbols per row, found {rows.shape[1]}")
        size = len(self.language.alphabet)
        if rows.size and not 0 <= rows.min() <= rows.max() < size:
            row, column = (int(axis[0]) for axis in np.nonzero((rows < 0) | (rows >= size)))
            raise WordError(
                f"codes: expected values 0 to {size - 1}, found another one in row {row + 1} at position {column + 1}",
                position=column + 1,
            )
        return self._draw(np.ascontiguousarray(rows), bits or system_bits())

    def _draw(self, codes: Codes, bits: BitSource) -> Codes:
        """Draw the distance, then a uniform word at that distance (mathematics §2)."""
        if self.language.largest_distance == 0:
            return codes.copy()
        distances = self._distance_choice.pick(bits.words(len(codes)), bits)
        return at_distance(codes, distances, len(self.language.alphabet), bits)

    @cached_property
    def _distance_choice(self) -> Boundaries:
        return Boundaries(self._cumulative_balls)

    def _cumulative_balls(self) -> list[arb]:
        masses = [
            count * weight for count, weight in zip(self.language.count_balls(), self.weight_balls(), strict=True)
        ]
        sums = [masses[0]]
        for mass in masses[1:]:
            sums.append(sums[-1] + mass)
        total = sums.pop()
        return [partial / total for partial in sums]

    # --- the law -------------------------------------------------------------------------------

    def distances(self, word: Word | None = None) -> DistanceLaw:
        """The law of the distance between `word` and its private version.

        On the free language it is the same for every word, so the word may be left out.
        """
        if word is not None:
            self.language.encode(word)
        return self._distance_law

    def probability(self, word: Word, released: Word) -> float:
        """P(released | word)."""
        return math.exp(self.log_probability(word, released))

    def log_probability(self, word: Word, released: Word) -> float:
        """ln P(released | word): finite for every released word, however unlikely."""
        row = self.language.encode(released)[None, :]
        return float(self.log_probabilities(self.language.encode(word), row)[0])

    def log_probabilities(self, word: Codes, released: Codes) -> NDArray[np.float64]:
        """ln P(row | word) for every row of `released`, all given as codes."""
        distances = np.count_nonzero(released != word, axis=1)
        return np.asarray(self._log_word_probabilities[distances])

    @cached_property
    def _distance_law(self) -> DistanceLaw:
        with precision(STANDARD_PRECISION):
            counts = self.language.count_balls()
            weights = self.weight_balls()
            masses = [count * weight for count, weight in zip(counts, weights, strict=True)]
            total = sum(masses, start=arb(0))
            probabilities = [mass / total for mass in masses]
            expected = sum((index * chance for index, chance in enumerate(probabilities)), start=arb(0))
            bounds = self._error_bounds()
            return DistanceLaw(
                distances=np.arange(len(counts)),
                count=self.language.count,
                probabilities=np.array([nearest_float(chance) for chance in probabilities]),
                log_probabilities=np.array([nearest_float(chance.log()) for chance in probabilities]),
                expected_error=nearest_float(expected),
                length=self.language.length,
                bounds=bounds,
            )

    @cached_property
    def _log_word_probabilities(self) -> NDArray[np.float64]:
        with precision(STANDARD_PRECISION):
            weights = self.weight_balls()
            pairs = zip(self.language.count_balls(), weights, strict=True)
            log_total = sum((count * weight for count, weight in pairs), start=arb(0)).log()
            return np.array([nearest_float(weight.log() - log_total) for weight in weights])

    def _error_bounds(self) -> ErrorBounds | None:
        """Proved bounds on the expected error, where a theorem gives them."""
        return None

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.language!r}, epsilon={spelled(self.epsilon)}, "
            f"adjacency={self.adjacency}, calibration={self.calibration!r})"
        )
