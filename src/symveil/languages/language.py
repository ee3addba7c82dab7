"""What mechanisms and verifiers need of a language, whichever it is."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from symveil.models.alphabet import Alphabet
from symveil.models.word import Codes, Word


class Language(Protocol):
    """A finite set of words of one length over an alphabet."""

    @property
    def alphabet(self) -> Alphabet:
        """The symbols, in the order of their codes."""

    @property
    def length(self) -> int:
        """How many symbols each word has."""

    @property
    def size(self) -> int:
        """How many words there are."""

    @property
    def largest_distance(self) -> int:
        """A bound on the Hamming distance between two words."""

    def has_at_most(self, words: int) -> bool:
        """Whether the language is that small, without counting it out."""

    def encode(self, word: Word) -> Codes:
        """The codes of a word of the language; refuses any other word."""

    def check_codes(self, codes: Codes) -> None:
        """Refuse rows of codes that are not words of the language."""

    def enumerate_codes(self, *, at_most: int) -> Codes:
        """All words as rows of codes; refused beyond `at_most` words."""

    def comparable(self, word: Codes, words: Codes) -> NDArray[np.bool_]:
        """Which of `words` share what is public about `word`."""
