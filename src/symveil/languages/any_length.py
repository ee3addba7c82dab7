"""Words of every length, each length public: what a file of sequences holds where substitutions are hidden.

Two words of different lengths are never adjacent, so this is one language for each length, and what holds of
each of them holds of all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ModelError, ParameterError, TooLargeError, WordError
from symveil.languages.free import FreeLanguage
from symveil.languages.graph import AnyModel, Model, WordGraph, require_words, word_graph
from symveil.languages.language import Neighbours
from symveil.languages.runs import RunLanguage
from symveil.models.alphabet import FAR, Alphabet, Codes, Lengths, Metric, Symbol, Word, encode, first_unknown
from symveil.numbers.once import Memo, computed_once


@dataclass(frozen=True, eq=False, kw_only=True)
class AnyLength:
    """All words over an alphabet, or all words of a model, of every length. Construct with `words_of_any_length`.

    >>> language = words_of_any_length("ab")
    >>> language.of_length(3).size
    8
    """

    alphabet: Alphabet
    graph: WordGraph | None = None
    public_start: bool = False
    model: Model | None = field(default=None, repr=False)
    length: ClassVar[None] = None
    max_length: ClassVar[None] = None
    metric: ClassVar[Metric] = "hamming"
    homogeneous: ClassVar[bool] = False
    size: ClassVar[None] = None
    runs: ClassVar[None] = None
    largest_distance: ClassVar[None] = None

    def __post_init__(self) -> None:
        if self.graph is None and self.public_start:
            raise ParameterError("public_start", expected="a model with public_start", found="an alphabet")

    def of_length(self, length: int) -> FreeLanguage | RunLanguage | None:
        """The words of this length; None where the model has none."""
        return self._languages[length]

    @computed_once
    def _languages(self) -> Memo[int, FreeLanguage | RunLanguage | None]:
        return Memo(self._make)

    def _make(self, length: int) -> FreeLanguage | RunLanguage | None:
        if self.graph is None:
            return FreeLanguage(self.alphabet, length)
        try:
            return RunLanguage(graph=self.graph, length=length, public_start=self.public_start, model=self.model)
        except ModelError:
            return None

    @computed_once
    def shortest(self) -> FreeLanguage | RunLanguage:
        """Its shortest words; a model without any word is refused."""
        for length in range(1 if self.graph is None else self.graph.state_count + 1):
            language = self.of_length(length)
            if language is not None:
                return language
        raise ModelError("model", expected="at least one word, so that one can be released", found="none")

    def has_at_most(self, words: int) -> bool:
        """Never: there is no end to its words."""
        del words
        return False

    def encode(self, word: Word) -> Codes:
        """The codes of a word of the language; refuses any other word."""
        codes = encode(word, self.alphabet)
        return self._of(len(codes)).encode(word)

    def _of(self, length: int) -> FreeLanguage | RunLanguage:
        language = self.of_length(length)
        if language is None:
            raise WordError(f"word: expected a length that the model has words of, found {length} symbols")
        return language

    def check(self, codes: Codes, lengths: Lengths) -> None:
        """Refuse words, one after the other with their lengths, that are not words of the language."""
        wrong = self.first_refused(codes, lengths)
        if wrong.any():
            row = int(np.argmax(wrong > 0))
            source, wrong_there = ("alphabet", "is not in it") if self.graph is None else ("model", "cannot come there")
            raise WordError(
                f"word {row + 1}, word: expected a word of the {source}, found one whose symbol at position "
                f"{wrong[row]} of {lengths[row]} {wrong_there}",
                position=int(wrong[row]),
            )

    def first_refused(self, codes: Codes, lengths: Lengths) -> NDArray[np.int64]:
        """Where each word leaves the language, counted from 1; 0 for its words."""
        wrong = first_unknown(codes, lengths, self.alphabet)
        if self.graph is None:
            return wrong
        for length in np.unique(lengths).tolist():
            rows = np.flatnonzero((lengths == length) & (wrong == 0))
            language = self.of_length(length)
            if language is None:
                wrong[rows] = max(length, 1)
            elif len(rows):
                words = gathered(codes, lengths, rows, length)
                wrong[rows] = language.first_refused(words.reshape(-1), lengths[rows])
        return wrong

    def by_length(self, *, at_most: int, longest: int | None = None) -> list[Codes]:
        """The words of up to `longest` symbols by their length; refused beyond `at_most` words."""
        if longest is None:
            raise ParameterError("length", expected="a length up to which words are listed", found="none")
        lists: list[Codes] = []
        for length in range(longest + 1):
            language = self.of_length(length)
            left = at_most - sum(map(len, lists))
            if language is not None and not language.has_at_most(left):
                raise TooLargeError(
                    f"language: expected at most {at_most} words for enumeration, found more; use a smaller length"
                )
            empty = np.empty((0, length), dtype=np.int32)
            lists.append(empty if language is None else language.enumerate_codes(at_most=left))
        return lists

    def distance(self, word: Codes, words: Codes) -> NDArray[np.int64]:
        """The Hamming distance of each row of `words` from `word`; FAR where the length or the public start differs."""
        if words.shape[1] != len(word):
            return np.full(len(words), FAR)
        return self._of(len(word)).distance(word, words)

    def around(self, word: Codes, *, within: int | None = None) -> Neighbours:
        """The words of the same length around a word."""
        return self._of(len(word)).around(word, within=within)

    def __repr__(self) -> str:
        if self.graph is None:
            return f"words_of_any_length(alphabet of {len(self.alphabet)} symbols)"
        start = ", public start" if self.public_start else ""
        return f"runs_of_any_length({self.graph.state_count} states{start})"


def words_of_any_length(alphabet: Alphabet | Iterable[Symbol]) -> AnyLength:
    """All words over an alphabet; the length of each is public.

    >>> words_of_any_length("abc")
    words_of_any_length(alphabet of 3 symbols)
    """
    return AnyLength(alphabet=Alphabet.from_symbols(alphabet))


def runs_of_any_length(model: AnyModel, *, public_start: bool = False) -> AnyLength:
    """All words of a model; the length of each is public, with `public_start` its first symbol too.

    >>> from symveil.models.markov_chain import MarkovChain
    >>> chain = MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> runs_of_any_length(chain).of_length(3).size
    5
    """
    words = require_words(model)
    graph = word_graph(words)
    return AnyLength(alphabet=graph.alphabet, graph=graph, public_start=public_start, model=words)


def gathered(codes: Codes, lengths: Lengths, rows: NDArray[np.int64], length: int) -> Codes:
    """The words of some rows, all of one length, as a table."""
    begins = np.cumsum(lengths) - lengths
    return np.asarray(codes[begins[rows][:, None] + np.arange(length)])
