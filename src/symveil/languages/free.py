"""The free language Σⁿ: every word of one length over an alphabet."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.errors import TooLargeError, WordError
from symveil.languages.language import Metric, first_unknown
from symveil.languages.neighbours import at_distance
from symveil.models.alphabet import Alphabet, Symbol
from symveil.models.word import Codes, Lengths, Word, as_rows, check_code_range, encode, read_length
from symveil.randomness import BitSource


@dataclass(frozen=True, slots=True)
class FreeLanguage:
    """All words of `length` symbols over `alphabet`. Construct with `words`.

    Parameters
    ----------
    alphabet
        The symbols.
    length
        Symbols of every word.

    >>> abc = words("abc", 3)
    >>> abc.size, abc.largest_distance
    (27, 3)
    """

    alphabet: Alphabet
    length: int
    metric: ClassVar[Metric] = "hamming"
    graph: ClassVar[None] = None
    runs: ClassVar[None] = None
    model: ClassVar[None] = None
    public_start: ClassVar[bool] = False
    homogeneous: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", read_length(self.length))

    @property
    def max_length(self) -> int:
        """The length of every word."""
        return self.length

    @property
    def size(self) -> int:
        """How many words there are: mⁿ."""
        return int(len(self.alphabet) ** self.length)

    def has_at_most(self, words: int) -> bool:
        """Whether the language is that small; a power far beyond it is not computed."""
        return self.largest_distance <= words.bit_length() and self.size <= words

    @property
    def largest_distance(self) -> int:
        """The largest Hamming distance between two of its words: n, or 0 for a one-symbol alphabet."""
        return self.length if len(self.alphabet) > 1 else 0

    def count(self, distance: int) -> int:
        """N(ℓ): how many words lie at this distance from any given word, C(n,ℓ)(m−1)^ℓ.

        >>> [words("abc", 3).count(distance) for distance in range(4)]
        [1, 6, 12, 8]
        """
        if not 0 <= distance <= self.length:
            return 0
        return math.comb(self.length, distance) * int((len(self.alphabet) - 1) ** distance)

    def counts(self) -> Iterator[int]:
        """N(0), N(1) … as exact integers, each from the one before."""
        others = len(self.alphabet) - 1
        count = 1
        yield count
        for distance in range(self.largest_distance):
            count = count * (self.length - distance) * others // (distance + 1)
            yield count

    def count_balls(self) -> list[arb]:
        """N(0) … N(largest distance) as balls at the working precision: any size, no overflow."""
        others = len(self.alphabet) - 1
        counts = [arb(1)]
        for distance in range(self.largest_distance):
            counts.append(counts[-1] * ((self.length - distance) * others) / (distance + 1))
        return counts

    def encode(self, word: Word) -> Codes:
        """The codes of a word of this language; refuses any other word."""
        codes = encode(word, self.alphabet)
        if len(codes) != self.length:
            raise WordError(f"word: expected {self.length} symbols, found {len(codes)}")
        return codes

    def check_codes(self, codes: Codes) -> None:
        """Refuse rows of codes that are not words of this language."""
        check_code_range(codes, self.alphabet)

    def check(self, codes: Codes, lengths: Lengths) -> None:
        """Refuse words, one after the other with their lengths, that are not words of this language."""
        self.check_codes(as_rows(codes, lengths, self.length))

    def first_refused(self, codes: Codes, lengths: Lengths) -> NDArray[np.int64]:
        """Where each word leaves the language, counted from 1; 0 for its words."""
        wrong = first_unknown(codes, lengths, self.alphabet)
        return np.where((wrong == 0) & (lengths != self.length), np.minimum(lengths, self.length) + 1, wrong)

    def comparable(self, word: Codes, words: Codes) -> NDArray[np.bool_]:
        """All of them: nothing about a word is public but its length."""
        del word
        return np.ones(len(words), dtype=np.bool_)

    def distance(self, word: Codes, words: Codes) -> NDArray[np.int64]:
        """The Hamming distance of each row of `words` from `word`."""
        return np.asarray(np.count_nonzero(words != word, axis=1))

    def around(self, word: Codes, *, within: int | None = None) -> FreeNeighbours:
        """The words around a word: their numbers are the same for every word."""
        del within
        return FreeNeighbours(self, word)

    def by_length(self, *, at_most: int, longest: int | None = None) -> list[Codes]:
        """All words, which have one length; refused beyond `at_most` words."""
        del longest
        return [self.enumerate_codes(at_most=at_most)]

    def enumerate_codes(self, *, at_most: int) -> Codes:
        """All words as rows of codes, in alphabetical order; refused beyond `at_most` words."""
        if not self.has_at_most(at_most):
            raise TooLargeError(
                f"language: expected at most {at_most} words for enumeration, found {len(self.alphabet)}^"
                f"{self.length}; use a shorter length or a smaller alphabet"
            )
        rows = itertools.product(range(len(self.alphabet)), repeat=self.length)
        return np.array(list(rows), dtype=np.int32).reshape(self.size, self.length)

    def __iter__(self) -> Iterator[tuple[Symbol, ...]]:
        return itertools.product(self.alphabet.symbols, repeat=self.length)

    def __contains__(self, word: object) -> bool:
        return (
            isinstance(word, str | tuple | list)
            and len(word) == self.length
            and all(symbol in self.alphabet for symbol in word)
        )

    def __repr__(self) -> str:
        return f"words(alphabet of {len(self.alphabet)} symbols, length {self.length})"


@dataclass(frozen=True, slots=True)
class FreeNeighbours:
    """The words of Σⁿ around one of its words, by distance."""

    language: FreeLanguage
    word: Codes

    def counts(self) -> Iterator[int]:
        """N(0), N(1) … as exact integers."""
        return self.language.counts()

    def count_balls(self) -> list[arb]:
        """The counts as balls at the working precision."""
        return self.language.count_balls()

    def draw(self, distance: int, bits: BitSource) -> Codes:
        """A uniform word at exactly this distance."""
        return np.asarray(at_distance(self.word[None, :], np.array([distance]), len(self.language.alphabet), bits)[0])


def words(alphabet: Alphabet | Iterable[Symbol], length: int) -> FreeLanguage:
    """The free language: all words of `length` symbols over `alphabet`.

    Parameters
    ----------
    alphabet
        The symbols: a text of characters, a list, or an `Alphabet`. Public.
    length
        Symbols of every word. Public.

    >>> language = words(alphabet="abc", length=3)
    >>> language.size
    27
    >>> "cab" in language
    True
    """
    return FreeLanguage(Alphabet.from_symbols(alphabet), length)
