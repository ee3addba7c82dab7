"""What mechanisms and verifiers need of a language, whichever it is.

Length is a property: `length` is how many symbols every word has, or None where words have different
lengths; then `max_length` is the public bound on them, where there is one. What adjacency counts is a property too
(`metric`): substitutions among words whose length is public, insertions and deletions too where it is a secret.
Everything that differs between Σⁿ, a model, and words of secret lengths is asked of the language.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.languages.graph import Model, WordGraph, ends_unaccepted
from symveil.languages.runs import RunLanguage
from symveil.models.alphabet import Alphabet, Codes, Lengths, Metric, Word, first_unknown
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
