"""The free language Σⁿ: every word of one length over an alphabet.

Drawing words near given words, many at once, exactly.

Two draws cover every mechanism on the free language: symbols that change independently of each
other, and a uniform word at an exact distance. Both take rows of codes and return new rows.
"""

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
from symveil.languages.limits import LIMITS
from symveil.models.alphabet import (
    Alphabet,
    Codes,
    Lengths,
    Metric,
    Symbol,
    Word,
    as_rows,
    check_code_range,
    encode,
    first_unknown,
    read_length,
)
from symveil.randomness import BitSource, Boundaries, uniform_below


def _pieces(rows: int, length: int) -> Iterator[slice]:
    step = max(1, LIMITS.now.free_symbols_at_once // max(length, 1))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def resample_symbols(codes: Codes, alphabet_size: int, chance: Boundaries, bits: BitSource) -> Codes:
    """Each symbol, independently, with the chance of piece 0 of `chance`, becomes a uniform symbol.

    The uniform symbol may be the old one; so with chance λ a symbol really changes with
    probability λ(m−1)/m, and every other symbol is equally likely.
    """
    released = codes.copy()
    for piece in _pieces(*codes.shape):
        target = released[piece]
        part = bits.for_rows(np.arange(piece.start, piece.stop))
        words = part.word_rows(*target.shape)
        _resample(target, words, alphabet_size, chance, part, None)
    return released


def resample_ragged(
    codes: Codes, lengths: NDArray[np.int64], alphabet_size: int, chance: Boundaries, bits: BitSource
) -> Codes:
    """The same for words of any lengths that stand one after the other; from the same bits the same words."""
    released = codes.copy()
    row_of = np.repeat(np.arange(len(lengths)), lengths)
    _resample(released, bits.ragged_words(lengths), alphabet_size, chance, bits, row_of)
    return released


def _resample(
    target: Codes,
    words: NDArray[np.uint64],
    alphabet_size: int,
    chance: Boundaries,
    bits: BitSource,
    row_of: NDArray[np.int64] | None,
) -> None:
    """Resample in place: half of each symbol's 64-bit word decides whether, the other half what becomes of it."""
    lanes = np.ascontiguousarray(words).view(np.uint32).reshape(*target.shape, 2)
    deciding = lanes[..., 0]
    drawn = uniform_below(alphabet_size, lanes[..., 1], bits, row_of=row_of)
    resample = deciding < chance.first[0]
    undecided = deciding <= chance.last[0]
    undecided ^= resample
    if undecided.any():
        for index in zip(*np.nonzero(undecided), strict=True):
            row = int(index[0] if row_of is None else row_of[index[0]])
            resample[index] = chance.resolve(int(deciding[index]), bits.of_row(row)) == 0
    np.copyto(target, drawn, where=resample)


def at_distance(codes: Codes, distances: NDArray[np.int64], alphabet_size: int, bits: BitSource) -> Codes:
    """For each row a uniform word at exactly the given Hamming distance from it."""
    released = codes.copy()
    moving = np.flatnonzero(distances)
    for piece in _pieces(len(moving), codes.shape[1]):
        rows = moving[piece]
        target = codes[rows]
        part = bits.for_rows(rows)
        changed = uniform_subsets(target.shape[1], distances[rows], part)
        other = uniform_below(alphabet_size - 1, part.lane_rows(*target.shape), part)
        np.add(other, other >= target, out=other)  # skip over the old symbol
        np.copyto(target, other, where=changed)
        released[rows] = target
    return released


def uniform_subsets(length: int, sizes: NDArray[np.int64], bits: BitSource) -> NDArray[np.bool_]:
    """For each row a uniform subset of `sizes[row]` of its positions, as a mask."""
    by = _subsets_by_keys if length <= LIMITS.now.sorted_length else _subsets_by_throws
    return by(length, sizes, bits)


def _subsets_by_keys(length: int, sizes: NDArray[np.int64], bits: BitSource) -> NDArray[np.bool_]:
    """Every position gets a random key and the smallest keys win.

    Keys are exchangeable, so the subset is exactly uniform whatever the keys are, as long as the
    last winner and the first loser differ; a row where they do not is drawn again.
    """
    keys = bits.lane_rows(len(sizes), length)
    in_order = np.sort(keys, axis=1)
    rows = np.arange(len(sizes))
    last_winner = in_order[rows, np.maximum(sizes - 1, 0)]
    chosen = keys <= last_winner[:, None]
    chosen[sizes == 0] = False
    first_loser = in_order[rows, np.minimum(sizes, length - 1)]
    tied = (sizes > 0) & (sizes < length) & (last_winner == first_loser)
    if tied.any():
        chosen[tied] = _subsets_by_keys(length, sizes[tied], bits.for_rows(np.flatnonzero(tied)))
    return chosen


def _subsets_by_throws(length: int, sizes: NDArray[np.int64], bits: BitSource) -> NDArray[np.bool_]:
    """Throw at positions until enough different ones are hit: linear in the length, for long words.

    No position is special, so neither is any subset of the size that is reached; each round
    throws only as often as positions are missing, so that it is never exceeded. Where more than
    half of the positions are wanted, the others are drawn.
    """
    inverted = 2 * sizes > length
    wanted = np.where(inverted, length - sizes, sizes)
    chosen = np.zeros((len(sizes), length), dtype=np.bool_)
    missing = wanted
    while missing.any():
        row_of = np.repeat(np.arange(len(sizes)), missing)
        throws = uniform_below(length, bits.lanes_of(row_of), bits, row_of=row_of)
        chosen[row_of, throws] = True
        missing = wanted - np.count_nonzero(chosen, axis=1)
    chosen[inverted] ^= True
    return chosen


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
