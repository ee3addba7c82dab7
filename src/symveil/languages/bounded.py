"""Words of different lengths: Σ*, Σ^{≤N}, and a model's words of all lengths up to N.

Where insertions and deletions are to be hidden the length of a word is a secret; what is public is
a bound on it. An error about a word therefore does not say how long it is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ModelError, ParameterError, TooLargeError, WordError
from symveil.languages.graph import NOT_ACCEPTED, Model, WordGraph, word_graph
from symveil.languages.runs import sum_over_edges
from symveil.models.alphabet import Alphabet, Symbol
from symveil.models.word import Codes, Word, encode
from symveil.numerics.once import computed_once
from symveil.randomness import BitSource, uniform_below, uniform_integer

_MOST_BYTES = 2 * 10**9
_MOST_ADDITIONS = 2 * 10**8


class BoundedLanguage(Protocol):
    """A finite set of words of up to `max_length` symbols, `max_length` being public."""

    @property
    def alphabet(self) -> Alphabet:
        """The symbols, in the order of their codes."""

    @property
    def max_length(self) -> int:
        """The public bound on the length of its words."""

    @property
    def graph(self) -> WordGraph | None:
        """The graph whose paths are the words; None where every word over the alphabet is one."""

    @property
    def size(self) -> int:
        """How many words there are."""

    def encode(self, word: Word) -> Codes:
        """The codes of a word of the language; refuses any other word."""

    def check(self, codes: Codes) -> None:
        """Refuse codes that are not those of a word of the language."""

    def enumerate_codes(self, *, at_most: int) -> list[Codes]:
        """All words by their length, those of one length as the rows of an array; refused beyond `at_most`."""

    def uniform(self, bits: BitSource) -> Codes:
        """One of its words, each equally likely."""


@dataclass(frozen=True, slots=True)
class EveryWord:
    """Σ*: all words over an alphabet, of any length."""

    alphabet: Alphabet
    max_length: None = field(default=None, init=False, repr=False)

    def encode(self, word: Word) -> Codes:
        """The codes of a word; refuses other symbols."""
        return _encode(word, self.alphabet, None)

    def check(self, codes: Codes) -> None:
        """Refuse codes that no symbol has."""
        _check_symbols(codes, self.alphabet)

    def __repr__(self) -> str:
        return f"every word over {len(self.alphabet)} symbols"


@dataclass(frozen=True, slots=True)
class BoundedWords:
    """Σ^{≤N}: all words of up to `max_length` symbols. Construct with `words_up_to`."""

    alphabet: Alphabet
    max_length: int
    graph: None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_length", read_max_length(self.max_length))

    @property
    def size(self) -> int:
        """1 + m + … + m^N."""
        return self._size_up_to(self.max_length)

    def _size_up_to(self, length: int) -> int:
        symbols = len(self.alphabet)
        return length + 1 if symbols == 1 else int((symbols ** (length + 1) - 1) // (symbols - 1))

    def has_at_most(self, words: int) -> bool:
        """Whether the language is that small; a power far beyond it is not computed."""
        if len(self.alphabet) > 1 and self.max_length > words.bit_length():
            return False
        return self.size <= words

    def encode(self, word: Word) -> Codes:
        """The codes of a word of this language; refuses any other word."""
        return _encode(word, self.alphabet, self.max_length)

    def check(self, codes: Codes) -> None:
        """Refuse codes that are not those of a word of this language."""
        _check_symbols(codes, self.alphabet)
        _check_length(len(codes), self.max_length)

    def enumerate_codes(self, *, at_most: int) -> list[Codes]:
        """All words by their length, in alphabetical order; refused beyond `at_most` words."""
        if not self.has_at_most(at_most):
            raise _too_many(at_most)
        symbols = range(len(self.alphabet))
        rows = (list(itertools.product(symbols, repeat=length)) for length in range(self.max_length + 1))
        return [np.array(words, dtype=np.int32).reshape(len(words), len(words[0])) for words in rows]

    def uniform(self, bits: BitSource) -> Codes:
        """One of its words: nearly always one of the longest."""
        rank, length = uniform_integer(self.size, bits), self.max_length
        while rank < self._size_up_to(length - 1):  # as many words are shorter
            length -= 1
        return uniform_below(len(self.alphabet), bits.lanes(length), bits)

    def __repr__(self) -> str:
        return f"words_up_to(alphabet of {len(self.alphabet)} symbols, max_length {self.max_length})"


@dataclass(frozen=True, eq=False, kw_only=True)
class BoundedRuns:
    """A model's words of all lengths up to `max_length`. Construct with `runs_up_to`."""

    graph: WordGraph
    max_length: int
    model: Model | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_length", read_max_length(self.max_length))
        self._check_work()
        if not self.size:
            raise ModelError(
                "model",
                expected=f"at least one word of up to {self.max_length} symbols, so that one can be released",
                found="none",
            )

    def _check_work(self) -> None:
        """Refuse a bound for which counting the words would take minutes, or all memory: numbers grow with it."""
        if self._can_be_counted(self.max_length):
            return
        short, long = 0, self.max_length  # the first is short enough, the second is not
        while long - short > 1:
            middle = (short + long) // 2
            short, long = (middle, long) if self._can_be_counted(middle) else (short, middle)
        raise ParameterError(
            "max_length",
            expected=f"at most {short} with this model, whose words would take too long to count",
            found=self.max_length,
        )

    def _can_be_counted(self, longest: int) -> bool:
        bits = longest * math.log2(max(self.graph.widest, 2)) / 2  # of a count, on average
        kept = longest * self.graph.state_count * (40 + bits / 8)
        added = longest * self.graph.edge_count * (1 + bits / 1000)
        return kept <= _MOST_BYTES and added <= _MOST_ADDITIONS

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the model."""
        return self.graph.alphabet

    @computed_once
    def ways(self) -> list[NDArray[Any]]:
        """ways[k][s]: exactly how many words complete from s with exactly k more symbols (Python integers)."""
        layers = [self.graph.accepting.astype(object) * 1]
        for _ in range(self.max_length):
            layers.append(sum_over_edges(self.graph, layers[-1][self.graph.target]))
        return layers

    @computed_once
    def sizes(self) -> list[int]:
        """How many words there are of each length."""
        return [int(layer[self.graph.start]) for layer in self.ways]

    @property
    def size(self) -> int:
        """How many words there are."""
        return sum(self.sizes)

    def has_at_most(self, words: int) -> bool:
        """Whether the language is that small."""
        return self.size <= words

    def encode(self, word: Word) -> Codes:
        """The codes of a word of this language; refuses any other word at its first impossible position."""
        codes = _encode(word, self.alphabet, self.max_length)
        self.check(codes)
        return codes

    def check(self, codes: Codes) -> None:
        """Refuse codes that are not those of a word of this language."""
        _check_symbols(codes, self.alphabet)
        _check_length(len(codes), self.max_length)
        state = self.graph.start
        for position, code in enumerate(codes.tolist(), start=1):
            following = self.graph.step(state, code)
            if following is None:
                raise WordError(
                    f"word: expected a word that the model can produce, found an impossible symbol at position "
                    f"{position}",
                    position=position,
                )
            state = following
        if not self.graph.accepting[state]:
            raise WordError(f"word: {NOT_ACCEPTED}")

    def enumerate_codes(self, *, at_most: int) -> list[Codes]:
        """All words by their length, in alphabetical order; refused beyond `at_most` words."""
        if not self.has_at_most(at_most):
            raise _too_many(at_most)
        graph = self.graph
        prefixes: list[tuple[tuple[int, ...], int]] = [((), graph.start)]
        by_length = []
        for length in range(self.max_length + 1):
            words = [prefix for prefix, state in prefixes if graph.accepting[state]]
            by_length.append(np.array(words, dtype=np.int32).reshape(len(words), length))
            useful = self._completable[self.max_length - length - 1] if length < self.max_length else None
            if useful is not None:
                prefixes = [
                    ((*prefix, int(graph.symbol[edge])), int(graph.target[edge]))
                    for prefix, state in prefixes
                    for edge in graph.edges(state)
                    if useful[graph.target[edge]]
                ]
        return by_length

    @computed_once
    def _completable(self) -> list[NDArray[np.bool_]]:
        """[k][s]: whether a word can be completed from s with at most k more symbols."""
        layers = [self.ways[0] > 0]
        for layer in self.ways[1:]:
            layers.append(layers[-1] | (layer > 0))
        return layers

    def uniform(self, bits: BitSource) -> Codes:
        """One of its words: its length by the number of words, then a uniform word of that length."""
        rank, length = uniform_integer(self.size, bits), 0
        while rank >= self.sizes[length]:
            rank -= self.sizes[length]
            length += 1
        graph, state, word = self.graph, self.graph.start, []
        for remaining in range(length - 1, -1, -1):
            for edge in graph.edges(state):
                ways = self.ways[remaining][graph.target[edge]]
                if rank < ways:
                    word.append(int(graph.symbol[edge]))
                    state = int(graph.target[edge])
                    break
                rank -= ways
        return np.array(word, dtype=np.int32)

    def __repr__(self) -> str:
        return f"runs_up_to({self.graph.state_count} states, max_length {self.max_length})"


def words_up_to(alphabet: Alphabet | Iterable[Symbol], max_length: int) -> BoundedWords:
    """All words over `alphabet` of up to `max_length` symbols; the bound is public, the length of a word is not.

    >>> words_up_to("abc", 3).size
    40
    """
    return BoundedWords(Alphabet.from_symbols(alphabet), max_length)


def runs_up_to(model: Model, max_length: int) -> BoundedRuns:
    """The words of a model of up to `max_length` symbols: a run may end at any time, or where the model accepts.

    >>> from symveil.models.markov_chain import MarkovChain
    >>> chain = MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> runs_up_to(chain, 2).size           # the empty word, a, b, aa, ab, ba
    6
    """
    return BoundedRuns(graph=word_graph(model), max_length=max_length, model=model)


def read_max_length(value: int, *, name: str = "max_length") -> int:
    """The public bound on the number of symbols of a word."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise ParameterError(name, expected="a whole number, 0 or more", found=value)
    return int(value)


def _encode(word: Word, alphabet: Alphabet, max_length: int | None) -> Codes:
    try:
        codes = encode(word, alphabet)
    except WordError as error:
        if error.position is None:
            raise
        # like the error it replaces, but silent about the length
        raise WordError(
            f"word: expected symbols of the alphabet ({len(alphabet)} symbols), found another one at position "
            f"{error.position}",
            position=error.position,
        ) from None
    _check_length(len(codes), max_length)
    return codes


def _check_length(length: int, max_length: int | None) -> None:
    if max_length is not None and length > max_length:
        raise WordError(f"word: expected at most {max_length} symbols, which is the public bound, found more")


def _check_symbols(codes: Codes, alphabet: Alphabet) -> None:
    wrong = (codes < 0) | (codes >= len(alphabet))
    if wrong.any():
        position = int(np.argmax(wrong)) + 1
        raise WordError(
            f"codes: expected values 0 to {len(alphabet) - 1}, found another one at position {position}",
            position=position,
        )


def _too_many(at_most: int) -> TooLargeError:
    return TooLargeError(
        f"language: expected at most {at_most} words for enumeration, found more; use a smaller max_length or a "
        "smaller alphabet"
    )
