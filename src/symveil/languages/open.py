"""Languages whose words have secret lengths: Σ*, Σ^{≤N}, and a model's words of all lengths up to N.

Where insertions and deletions are to be hidden the length of a word is a secret; what is public is
a bound on it. An error about a word therefore does not say how long it is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ModelError, ParameterError, TooLargeError, WordError
from symveil.languages.edit_distance import edit_distances
from symveil.languages.edit_neighbours import EditNeighbours
from symveil.languages.graph import NOT_ACCEPTED, Model, WordGraph, word_graph
from symveil.languages.language import Language
from symveil.languages.limits import LIMITS
from symveil.models.alphabet import (
    Alphabet,
    Codes,
    Lengths,
    Metric,
    Symbol,
    Word,
    encode,
    first_unknown,
    read_length,
    split_words,
)
from symveil.numbers.once import computed_once
from symveil.randomness import BitSource, uniform_below, uniform_integer
from symveil.trellis.passes import RankedWalks
from symveil.trellis.semirings import COUNTS


class BoundedLanguage(Language, Protocol):
    """A language of words of secret lengths with a public bound on them: it has an end."""

    @property
    def max_length(self) -> int:
        """The public bound on the length of its words."""

    @property
    def size(self) -> int:
        """How many words there are."""

    def around(self, word: Codes, *, within: int | None = None) -> EditNeighbours:
        """The words around a word, counted by Levenshtein distance."""

    def uniform(self, bits: BitSource) -> Codes:
        """One of its words, each equally likely."""


class _SecretLengths:
    """What the languages share whose words have secret lengths."""

    __slots__ = ()

    length: ClassVar[None] = None
    runs: ClassVar[None] = None
    metric: ClassVar[Metric] = "levenshtein"
    homogeneous: ClassVar[bool] = False
    public_start: ClassVar[bool] = False

    if TYPE_CHECKING:  # what the languages below say themselves

        @property
        def alphabet(self) -> Alphabet: ...
        @property
        def max_length(self) -> int | None: ...
        @property
        def graph(self) -> WordGraph | None: ...
        def by_length(self, *, at_most: int, longest: int | None = None) -> list[Codes]: ...

    @property
    def largest_distance(self) -> int | None:
        """No two words of up to N symbols are farther apart than N edits."""
        return self.max_length

    def encode(self, word: Word) -> Codes:
        """The codes of a word of this language; refuses any other word, at its first impossible position."""
        codes = encode(word, self.alphabet, tell_length=False)  # which refuses unknown symbols itself
        self._check_known(codes)
        return codes

    def check_word(self, codes: Codes) -> None:
        """Refuse codes that are not those of a word of this language."""
        unknown = int(first_unknown(codes, np.array([len(codes)]), self.alphabet)[0])
        if unknown:
            raise WordError(
                f"codes: expected values 0 to {len(self.alphabet) - 1}, found another one at position {unknown}",
                position=unknown,
            )
        self._check_known(codes)

    def _check_known(self, codes: Codes) -> None:
        """The same for codes that all are those of symbols."""
        if self.max_length is not None and len(codes) > self.max_length:
            raise WordError(
                f"word: expected at most {self.max_length} symbols, which is the public bound, found more",
                position=self.max_length + 1,
            )

    def check(self, codes: Codes, lengths: Lengths) -> None:
        """Refuse words, one after the other with their lengths, that are not words of this language."""
        refused = np.flatnonzero(self.first_refused(codes, lengths))
        if len(refused):
            try:
                self.check_word(split_words(codes, lengths)[refused[0]])
            except WordError as error:
                raise WordError(f"word {refused[0] + 1}, {error}", position=error.position) from None

    def first_refused(self, codes: Codes, lengths: Lengths) -> NDArray[np.int64]:
        """Where each word leaves the language, counted from 1; 0 for its words."""
        wrong = first_unknown(codes, lengths, self.alphabet)
        if self.max_length is not None:
            wrong = np.where((wrong == 0) & (lengths > self.max_length), self.max_length + 1, wrong)
        return wrong

    def distance(self, word: Codes, words: Codes) -> NDArray[np.int64]:
        """The Levenshtein distance of each row of `words` from `word`."""
        return edit_distances(word, words)

    def enumerate_codes(self, *, at_most: int) -> list[Codes]:
        """All words by their length, in alphabetical order; refused beyond `at_most` words."""
        return self.by_length(at_most=at_most)

    def around(self, word: Codes, *, within: int | None = None) -> EditNeighbours:
        """The words around a word, up to `within` edits (by default up to the public bound).

        However much work that is: whether there is an answer must not depend on a secret word.
        """
        farthest = self.max_length if within is None else within
        if farthest is None:
            raise ParameterError("within", expected="a number of edits where words have no bound", found="none")
        return EditNeighbours(
            word.tolist(),
            symbols=len(self.alphabet),
            within=farthest,
            max_length=self.max_length,
            graph=self.graph,
            at_most=math.inf,
        )


@dataclass(frozen=True, slots=True)
class OpenWords(_SecretLengths):
    """Σ^{≤N}: all words of up to `max_length` symbols; Σ* where it is None. Construct with `words_up_to`."""

    alphabet: Alphabet
    max_length: int | None = None
    model: ClassVar[None] = None

    def __post_init__(self) -> None:
        if self.max_length is not None:
            object.__setattr__(self, "max_length", read_length(self.max_length, name="max_length"))

    @property
    def graph(self) -> None:
        """None: every word over the alphabet is one."""

    @property
    def size(self) -> int | None:
        """1 + m + … + m^N; None where there is no bound."""
        return None if self.max_length is None else self._size_up_to(self.max_length)

    def _size_up_to(self, length: int) -> int:
        symbols = len(self.alphabet)
        return length + 1 if symbols == 1 else int((symbols ** (length + 1) - 1) // (symbols - 1))

    def has_at_most(self, words: int) -> bool:
        """Whether the language is that small; a power far beyond it is not computed."""
        if self.max_length is None or (len(self.alphabet) > 1 and self.max_length > words.bit_length()):
            return False
        return self._size_up_to(self.max_length) <= words

    def by_length(self, *, at_most: int, longest: int | None = None) -> list[Codes]:
        """The words of up to `longest` symbols by their length, in alphabetical order; refused beyond `at_most`."""
        bounds = [bound for bound in (self.max_length, longest) if bound is not None]
        shorter = OpenWords(self.alphabet, min(bounds, default=None))
        if not shorter.has_at_most(at_most):
            raise _too_many(at_most)
        symbols = range(len(self.alphabet))
        rows = (list(itertools.product(symbols, repeat=length)) for length in range((shorter.max_length or 0) + 1))
        return [np.array(words, dtype=np.int32).reshape(len(words), len(words[0])) for words in rows]

    def uniform(self, bits: BitSource) -> Codes:
        """One of its words: nearly always one of the longest."""
        length = self.max_length
        if length is None:
            raise ParameterError("max_length", expected="a bound, to draw one of all words", found="none")
        rank = uniform_integer(self._size_up_to(length), bits)
        while rank < self._size_up_to(length - 1):  # as many words are shorter
            length -= 1
        return uniform_below(len(self.alphabet), bits.lanes(length), bits)

    def __repr__(self) -> str:
        if self.max_length is None:
            return f"every word over {len(self.alphabet)} symbols"
        return f"words_up_to(alphabet of {len(self.alphabet)} symbols, max_length {self.max_length})"


@dataclass(frozen=True, eq=False, kw_only=True)
class OpenRuns(_SecretLengths):
    """A model's words of all lengths up to `max_length`. Construct with `runs_up_to`."""

    graph: WordGraph
    max_length: int
    model: Model | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_length", read_length(self.max_length, name="max_length"))
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
        stored_bytes = longest * self.graph.state_count * (40 + bits / 8)
        added = longest * self.graph.edge_count * (1 + bits / 1000)
        return stored_bytes <= LIMITS.now.open_bytes and added <= LIMITS.now.open_additions

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the model."""
        return self.graph.alphabet

    @computed_once
    def ways(self) -> list[NDArray[Any]]:
        """ways[k][s]: exactly how many words complete from s with exactly k more symbols (Python integers)."""
        return [layer.astype(object) for layer in self.graph.completions(self.max_length, COUNTS)]

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

    def _check_known(self, codes: Codes) -> None:
        super()._check_known(codes)
        refused = self._leaves_at(codes)
        if refused > len(codes):
            raise WordError(f"word: {NOT_ACCEPTED}")
        if refused:
            raise WordError(
                f"word: expected a word that the model can produce, found an impossible symbol at position {refused}",
                position=refused,
            )

    def first_refused(self, codes: Codes, lengths: Lengths) -> NDArray[np.int64]:
        """Where each word leaves the language, counted from 1 (after its end: too early); 0 for its words."""
        wrong = super().first_refused(codes, lengths)
        for row, word in enumerate(split_words(codes, lengths)):
            if not wrong[row]:
                wrong[row] = self._leaves_at(word)
        return wrong

    def _leaves_at(self, codes: Codes) -> int:
        """The position of the first impossible symbol, 1 after the end where the word ends too early, 0 for a word."""
        state = self.graph.start
        for position, code in enumerate(codes.tolist(), start=1):
            following = self.graph.step(state, code)
            if following is None:
                return position
            state = following
        return 0 if self.graph.accepting[state] else len(codes) + 1

    def by_length(self, *, at_most: int, longest: int | None = None) -> list[Codes]:
        """The words of up to `longest` symbols by their length, in alphabetical order; refused beyond `at_most`."""
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
        return by_length if longest is None else by_length[: longest + 1]

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
        return np.array(self._ranked.walk((length, self.graph.start), rank), dtype=np.int32)

    @computed_once
    def _ranked(self) -> RankedWalks[tuple[int, int]]:
        """Its words by their rank; a node is how many symbols are to come, and a state."""

        def choices(node: tuple[int, int]) -> list[tuple[int, tuple[int, int], int]]:
            left, state = node[0] - 1, node[1]
            if left < 0:
                return []
            edges = [(int(self.graph.symbol[edge]), int(self.graph.target[edge])) for edge in self.graph.edges(state)]
            return [(symbol, (left, to), int(self.ways[left][to])) for symbol, to in edges if self.ways[left][to]]

        return RankedWalks(choices)

    def __repr__(self) -> str:
        return f"runs_up_to({self.graph.state_count} states, max_length {self.max_length})"


def words_up_to(alphabet: Alphabet | Iterable[Symbol], max_length: int) -> OpenWords:
    """All words over `alphabet` of up to `max_length` symbols; the bound is public, the length of a word is not.

    Parameters
    ----------
    alphabet
        The symbols: a text of characters, a list, or an `Alphabet`. Public.
    max_length
        No word has more symbols. Public.

    >>> words_up_to("abc", 3).size
    40
    """
    return OpenWords(Alphabet.from_symbols(alphabet), read_length(max_length, name="max_length"))


def runs_up_to(model: Model, max_length: int) -> OpenRuns:
    """The words of a model of up to `max_length` symbols: a run may end at any time, or where the model accepts.

    Parameters
    ----------
    model
        A Markov chain, an automaton or a transition system. Public.
    max_length
        No word has more symbols. Public.

    >>> from symveil.models.markov_chain import MarkovChain
    >>> chain = MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> runs_up_to(chain, 2).size           # the empty word, a, b, aa, ab, ba
    6
    """
    return OpenRuns(graph=word_graph(model), max_length=max_length, model=model)


def _too_many(at_most: int) -> TooLargeError:
    return TooLargeError(
        f"language: expected at most {at_most} words for enumeration, found more; use a smaller max_length or a "
        "smaller alphabet"
    )
