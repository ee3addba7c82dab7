"""What mechanisms and verifiers need of a language, whichever it is.

Length is a property: `length` is how many symbols every word has, or None where words have different
lengths; then `max_length` is the public bound on them, where there is one. What adjacency counts is a property too
(`metric`): substitutions among words whose length is public, insertions and deletions too where it is a secret.
Everything that differs between Σⁿ, a model, and words of secret lengths is asked of the language.

`AnyLength` holds words of every length, each length public: what a file of sequences holds where substitutions are
hidden. Two words of different lengths are never adjacent, so this is one language for each length, and what holds of
each of them holds of all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.errors import ModelError, ParameterError, TooLargeError, WordError
from symveil.languages.free import FreeLanguage
from symveil.languages.graph import AnyModel, Model, WordGraph, ends_unaccepted, require_words, word_graph
from symveil.languages.runs import RunLanguage
from symveil.models.alphabet import FAR, Alphabet, Codes, Lengths, Metric, Symbol, Word, encode, first_unknown
from symveil.numbers.once import Memo, computed_once
from symveil.randomness import BitSource


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a word is not one of a language: because of one symbol, of its length, or of where it ends."""

    because: Literal["symbol", "length", "end"]
    position: int | None = None
    """Where the first wrong symbol stands, counted from 1."""


class Neighbours(Protocol):
    """The words around one word, by their distance from it."""

    def counts(self) -> Iterable[int]:
        """N(0), N(1) …: how many words lie at each distance."""

    def count_balls(self) -> list[arb]:
        """The same as balls at the working precision."""

    def draw(self, distance: int, bits: BitSource) -> Codes:
        """A uniform word at exactly this distance, which must have one."""


class Language(Protocol):
    """A set of words over an alphabet."""

    @property
    def alphabet(self) -> Alphabet:
        """The symbols, in the order of their codes."""

    @property
    def length(self) -> int | None:
        """How many symbols each word has; None where words have different lengths."""

    @property
    def max_length(self) -> int | None:
        """How many symbols a word has at most; None where there is no bound."""

    @property
    def metric(self) -> Metric:
        """What adjacency counts among its words. A word's length is public exactly where this is "hamming"."""

    @property
    def graph(self) -> WordGraph | None:
        """The graph whose paths are the words; None where every word over the alphabet is one."""

    @property
    def runs(self) -> RunLanguage | None:
        """The same words as those of one length of a model; None where they are not."""

    @property
    def model(self) -> Model | None:
        """The model whose words they are, as it was given; None where every word over the alphabet is one."""

    @property
    def public_start(self) -> bool:
        """Whether the first symbol of each word is public and kept."""

    @property
    def homogeneous(self) -> bool:
        """Whether all words look alike: each has the same number of words at every distance, as on Σⁿ."""

    @property
    def size(self) -> int | None:
        """How many words there are; None where there is no end to them."""

    @property
    def largest_distance(self) -> int | None:
        """A bound on the distance between two words; None where there is none."""

    def has_at_most(self, words: int) -> bool:
        """Whether the language is that small, without counting it out."""

    def encode(self, word: Word) -> Codes:
        """The codes of a word of the language; refuses any other word."""

    def check(self, codes: Codes, lengths: Lengths) -> None:
        """Refuse words, one after the other with their lengths, that are not words of the language."""

    def first_refused(self, codes: Codes, lengths: Lengths) -> NDArray[np.int64]:
        """Where each word leaves the language, counted from 1; 0 for its words."""

    def by_length(self, *, at_most: int, longest: int | None = None) -> list[Codes]:
        """All words of up to `longest` symbols, those of one length as the rows of an array; refused beyond `at_most`.

        Where words have one length the list has one array; elsewhere array number n has the words of n symbols.
        """

    def distance(self, word: Codes, words: Codes) -> NDArray[np.int64]:
        """The distance of each row of `words` from `word`; FAR where they are never adjacent."""

    def around(self, word: Codes, *, within: int | None = None) -> Neighbours:
        """The words around a word of the language, up to the distance `within` where it is given."""


def require_language(language: object) -> None:
    """Refuse what is no language, in one line.

    >>> require_language("abc")
    Traceback (most recent call last):
    symveil.errors.ParameterError: language: expected words(alphabet, length) or runs(model, length), found a str
    """
    if not hasattr(language, "metric"):
        actual = f"a {type(language).__name__}"
        raise ParameterError("language", expected="words(alphabet, length) or runs(model, length)", found=actual)


def refusal(language: Language, codes: Codes) -> Refusal:
    """Why a word that `language.first_refused` found is none of its words."""
    lengths = np.array([len(codes)])
    unknown = int(first_unknown(codes, lengths, language.alphabet)[0])
    if unknown:
        return Refusal("symbol", unknown)
    graph, bound = language.graph, language.max_length
    if graph is None or (bound is not None and len(codes) > bound):
        return Refusal("length")
    if ends_unaccepted(graph, codes.tolist()):
        return Refusal("end")
    # the step that does not exist is to blame, or an earlier one from which no word can be completed
    position = int(language.first_refused(codes, lengths)[0])
    return Refusal("symbol", min(position, len(graph.states_of(codes.tolist()))))


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
