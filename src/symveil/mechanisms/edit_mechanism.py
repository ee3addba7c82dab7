"""What the mechanisms share that hide insertions and deletions: the released word may have another length."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError, WordError
from symveil.languages.bounded import BoundedRuns, BoundedWords, EveryWord
from symveil.mechanisms.unchangeable import Unchangeable
from symveil.models.alphabet import Alphabet
from symveil.models.word import Codes, Word, decode
from symveil.numerics.rationals import Number, spelled
from symveil.privacy.edit_law import EditDistanceLaw
from symveil.privacy.guarantee import Guarantee
from symveil.privacy.parameters import Adjacency, read_adjacency, read_calibration, read_epsilon
from symveil.privacy.release_chain import ReleaseChain
from symveil.randomness import BitSource, system_bits

Lengths = NDArray[np.int64]
OpenLanguage = EveryWord | BoundedWords | BoundedRuns


class EditMechanism(Unchangeable, ABC):
    """A mechanism under Levenshtein adjacency. A word's length is secret; a bound on it may be public."""

    name: ClassVar[str]
    metric: ClassVar[str] = "levenshtein"

    def __init__(
        self, language: OpenLanguage, *, epsilon: Number, adjacency: Adjacency = 1, calibration: str = "tight"
    ) -> None:
        if adjacency == "all" and language.max_length is None:
            raise ParameterError(
                "adjacency", expected='a whole number, or max_length with "all", which bounds it', found="all"
            )
        self.language: Final = language
        self.epsilon: Final = read_epsilon(epsilon)
        # no two words of up to N symbols are farther apart than N edits
        self.adjacency: Final = read_adjacency(adjacency, length=language.max_length or 0)
        self.calibration: Final = read_calibration(calibration)

    @property
    def alphabet(self) -> Alphabet:
        """The symbols, in the order of their codes."""
        return self.language.alphabet

    @property
    def reach(self) -> int:
        """b, or the public bound on the length where that is smaller: no two words are farther apart."""
        bound = self.language.max_length
        return self.adjacency if bound is None else min(self.adjacency, bound)

    # --- what a subclass says ------------------------------------------------------------------

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """The loss that the mechanism has, rounded upwards, and how it is known."""

    @property
    @abstractmethod
    def largest_output(self) -> int | None:
        """How long a released word can be; None where there is no bound."""

    @abstractmethod
    def log_probabilities(self, word: Codes, released: Codes) -> NDArray[np.float64]:
        """ln P(row | word) for every row of `released`, which all have one length; all given as codes."""

    @abstractmethod
    def distances(self, word: Word) -> EditDistanceLaw:
        """How far from `word` its private version lies."""

    @abstractmethod
    def inputs(self, length: int, *, at_most: int) -> list[Codes]:
        """The words of up to `length` symbols that may be handed in, by their length."""

    @abstractmethod
    def outputs(self, length: int, *, at_most: int) -> list[Codes]:
        """The words of up to `length` symbols that may be released, by their length."""

    @abstractmethod
    def _draw(self, codes: Codes, lengths: Lengths, bits: BitSource) -> tuple[Codes, Lengths]:
        """A private word for each word: all of them one after the other, with their lengths."""

    # --- releasing -----------------------------------------------------------------------------

    def release(self, word: Word, *, bits: BitSource | None = None) -> Word:
        """One private word, of any length: a string where a string came in, a tuple of symbols otherwise."""
        codes = self.language.encode(word)
        released, _ = self._draw(codes, np.array([len(codes)]), bits or system_bits())
        return decode(released, self.alphabet, like=word)

    def release_many(self, words: Iterable[Word], *, bits: BitSource | None = None) -> list[Word]:
        """A private word for each word, each with the guarantee of its own."""
        if isinstance(words, str):
            # each of its characters would be a word of its own, with a budget of its own
            raise WordError("words: expected a list of words, found a single string; put it into a list")
        sources = list(words)
        rows = []
        for number, word in enumerate(sources, start=1):
            try:
                rows.append(self.language.encode(word))
            except WordError as error:
                raise WordError(f"word {number}, {error}", position=error.position) from None
        if not rows:
            return []
        lengths = np.array([len(row) for row in rows])
        released, new_lengths = self._draw(np.concatenate(rows), lengths, bits or system_bits())
        pieces = np.split(released, np.cumsum(new_lengths)[:-1])
        return [decode(piece, self.alphabet, like=word) for piece, word in zip(pieces, sources, strict=True)]

    def release_flat(self, codes: Codes, lengths: Lengths, *, bits: BitSource | None = None) -> tuple[Codes, Lengths]:
        """The fast path: the codes of all words one after the other (int32) with their lengths, in and out.

        >>> import symveil as sv
        >>> channel = sv.EditChannel(alphabet="abc", epsilon=1000)
        >>> codes, lengths = channel.release_flat(np.array([0, 1, 2, 2], dtype=np.int32), np.array([3, 0, 1]))
        >>> codes.tolist(), lengths.tolist()
        ([0, 1, 2, 2], [3, 0, 1])
        """
        flat, sizes = np.asarray(codes), np.asarray(lengths)
        if flat.ndim != 1 or flat.dtype != np.int32:
            raise ParameterError(
                "codes", expected="an int32 array with one axis", found=f"a {flat.dtype} array with {flat.ndim} axes"
            )
        whole = sizes.ndim == 1 and np.issubdtype(sizes.dtype, np.integer)
        if not whole or (sizes < 0).any() or sizes.sum() != len(flat):
            raise ParameterError("lengths", expected="whole numbers that add up to the number of codes", found="others")
        if not len(sizes):
            return flat.copy(), sizes.astype(np.int64)
        self._check_flat(flat, sizes)
        return self._draw(np.ascontiguousarray(flat), sizes.astype(np.int64), bits or system_bits())

    def _check_flat(self, flat: Codes, sizes: Lengths) -> None:
        """Refuse words that may not be handed in; where lengths and symbols say it all, at once."""
        bound = self.language.max_length
        fits = bound is None or sizes.max() <= bound
        known = not len(flat) or 0 <= flat.min() <= flat.max() < len(self.alphabet)
        if fits and known and not isinstance(self.language, BoundedRuns):
            return
        for number, word in enumerate(np.split(flat, np.cumsum(sizes)[:-1]), start=1):
            try:
                self.language.check(word)
            except WordError as error:
                raise WordError(f"word {number}, {error}", position=error.position) from None

    # --- the law -------------------------------------------------------------------------------

    def probability(self, word: Word, released: Word) -> float:
        """P(released | word)."""
        return math.exp(self.log_probability(word, released))

    def log_probability(self, word: Word, released: Word) -> float:
        """ln P(released | word): finite for every word that can be released, however unlikely."""
        row = self._encode_released(released)[None, :]
        return float(self.log_probabilities(self.language.encode(word), row)[0])

    def _encode_released(self, released: Word) -> Codes:
        """The codes of a word that may come out."""
        return self.language.encode(released)

    # --- for verifiers -------------------------------------------------------------------------

    def release_chain(self, words: Iterable[Word]) -> ReleaseChain:
        """The mechanism as a labelled chain, with a state for each of these words to start from.

        >>> import symveil as sv
        >>> mechanism = sv.TruncatedLevenshtein(sv.words_up_to("ab", 2), epsilon=2)
        >>> compiled = mechanism.release_chain(["ab", "a"])
        >>> sv.verify_privacy(compiled, epsilon="2.000001", delta=0, symmetric=False).holds
        True
        """
        rows = [self.language.encode(word) for word in words]
        if not rows:
            raise WordError("words: expected at least one word, found none")
        return self.compile_chain(rows)

    @abstractmethod
    def compile_chain(self, words: Sequence[Codes]) -> ReleaseChain:
        """The same for words as codes."""

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.language!r}, epsilon={spelled(self.epsilon)}, adjacency={self.adjacency}, "
            f"calibration={self.calibration!r})"
        )
