"""What every mechanism on words shares: words in, words out, the law of each, and a guarantee."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError, WordError
from symveil.languages.free import FreeLanguage
from symveil.languages.runs import RunLanguage
from symveil.mechanisms.unchangeable import Unchangeable
from symveil.models.word import Codes, Word, decode, encode_many
from symveil.numerics.rationals import Number, spelled
from symveil.privacy.guarantee import Guarantee
from symveil.privacy.law import DistanceLaw
from symveil.privacy.parameters import Adjacency, read_adjacency, read_calibration, read_epsilon
from symveil.privacy.release_chain import Moves, ReleaseChain, State, release_chain
from symveil.randomness import BitSource, system_bits


class WordMechanism(Unchangeable, ABC):
    """A mechanism that takes a word of a language and releases a word of the same language."""

    name: ClassVar[str]
    zero_epsilon_allowed: ClassVar[bool] = False

    def __init__(
        self,
        language: FreeLanguage | RunLanguage,
        *,
        epsilon: Number,
        adjacency: Adjacency = 1,
        calibration: str = "tight",
    ) -> None:
        if not isinstance(language, FreeLanguage | RunLanguage):
            raise ParameterError(
                "language",
                expected="a language such as words(alphabet, length) or runs(model, length)",
                found=type(language).__name__,
            )
        self.language: Final = language
        self.epsilon: Final = read_epsilon(epsilon, zero_allowed=self.zero_epsilon_allowed)
        self.adjacency: Final = read_adjacency(adjacency, length=language.length)
        self.calibration: Final = read_calibration(calibration)
        # No two words are farther apart than this, so a larger adjacency asks for no more.
        self.reach: Final = min(self.adjacency, language.largest_distance)

    # --- what a subclass says ------------------------------------------------------------------

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """The loss that the mechanism really has, rounded upwards, and how it is known."""

    @abstractmethod
    def log_probabilities(self, word: Codes, released: Codes) -> NDArray[np.float64]:
        """ln P(row | word) for every row of `released`, all given as codes."""

    @abstractmethod
    def _draw(self, codes: Codes, bits: BitSource) -> Codes:
        """A private word for each row of codes, all of them words of the language."""

    @abstractmethod
    def _law(self, codes: Codes | None) -> DistanceLaw:
        """The law of the distance from this word; None stands for any word where all have the same law."""

    def _moves(self, codes: Codes) -> tuple[State, Moves, Fraction]:
        """The release of this word symbol by symbol, in rationals, and a bound on the error of ln P in that."""
        del codes
        raise ParameterError("mechanism", expected="one that releases symbol by symbol, as a chain", found=self.name)

    # --- releasing -----------------------------------------------------------------------------

    def release(self, word: Word, *, bits: BitSource | None = None) -> Word:
        """One private word: a string where a string came in, a tuple of symbols otherwise."""
        codes = self.language.encode(word)
        return decode(self._draw(codes[None, :], bits or system_bits())[0], self.language.alphabet, like=word)

    def release_many(self, words: Iterable[Word], *, bits: BitSource | None = None) -> list[Word]:
        """A private word for each word, each with the guarantee of its own."""
        sources = words if isinstance(words, str) else list(words)
        codes = encode_many(sources, self.language.alphabet)
        for number, row in enumerate(codes, start=1):
            if len(row) != self.language.length:
                raise WordError(f"word {number}, word: expected {self.language.length} symbols, found {len(row)}")
        if not codes:
            return []
        rows = np.stack(codes)
        self.language.check_codes(rows)
        released = self._draw(rows, bits or system_bits())
        return [decode(row, self.language.alphabet, like=word) for row, word in zip(released, sources, strict=True)]

    def release_codes(self, codes: Codes, *, bits: BitSource | None = None) -> Codes:
        """The fast path: rows of codes (int32, alphabet order) in, rows of the same shape out."""
        expected = "an int32 array with a row per word"
        try:
            rows = np.asarray(codes)
        except ValueError:
            raise ParameterError("codes", expected=expected, found="ragged rows") from None
        if rows.ndim != 2 or rows.dtype != np.int32:
            raise ParameterError("codes", expected=expected, found=f"a {rows.dtype} array with {rows.ndim} axes")
        if rows.shape[1] != self.language.length:
            raise WordError(f"codes: expected {self.language.length} symbols per row, found {rows.shape[1]}")
        self.language.check_codes(rows)
        return self._draw(np.ascontiguousarray(rows), bits or system_bits())

    # --- the law -------------------------------------------------------------------------------

    def distances(self, word: Word | None = None) -> DistanceLaw:
        """The law of the distance between `word` and its private version.

        On the free language it is the same for every word, so the word may be left out.
        """
        if word is None and isinstance(self.language, RunLanguage):
            raise WordError("word: expected a word, because on a model the law depends on it, found none")
        return self._law(None if word is None else self.language.encode(word))

    def probability(self, word: Word, released: Word) -> float:
        """P(released | word)."""
        return math.exp(self.log_probability(word, released))

    def log_probability(self, word: Word, released: Word) -> float:
        """ln P(released | word): finite for every word that can be released, however unlikely."""
        row = self.language.encode(released)[None, :]
        return float(self.log_probabilities(self.language.encode(word), row)[0])

    # --- for verifiers -------------------------------------------------------------------------

    def release_chain(self, words: Iterable[Word]) -> ReleaseChain:
        """The mechanism as a labelled chain, with a state for each of these words to start from.

        >>> import symveil as sv
        >>> mechanism = sv.Exponential(sv.words("ab", 2), epsilon=1)
        >>> compiled = mechanism.release_chain(["ab", "aa"])
        >>> compiled.chain
        LabelledChain(11 states, 17 transitions, 4 labels, 1 related pair)
        >>> sv.verify_privacy(compiled, epsilon="1.0001", delta=0).holds
        True
        """
        rows = [self.language.encode(word) for word in words]
        if not rows:
            raise WordError("words: expected at least one word, found none")
        return self.compile_chain(np.stack(rows))

    def compile_chain(self, words: Codes) -> ReleaseChain:
        """The same for rows of codes."""
        compiled = [self._moves(row) for row in words]
        return release_chain(
            self.language.alphabet,
            self.language.length,
            [(start, moves) for start, moves, _ in compiled],
            log_error=max(error for _, _, error in compiled),
        )

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.language!r}, epsilon={spelled(self.epsilon)}, "
            f"adjacency={self.adjacency}, calibration={self.calibration!r})"
        )
