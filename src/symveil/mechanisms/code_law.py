"""The law of a mechanism for words given as codes: checked first, so that no number is told about what is no word."""

from __future__ import annotations

from abc import ABC, abstractmethod
from hashlib import sha256
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from symveil.errors import WordError
from symveil.models.word import Codes, read_codes
from symveil.numbers.once import LastFew, computed_once
from symveil.numbers.progress import listener, silent

if TYPE_CHECKING:
    from symveil.mechanisms.mechanism import Mechanism

_ROWS_REMEMBERED = 64


class CodeLaw(ABC):
    """What `Mechanism` asks of codes; a subclass says `_log_probabilities`, which gets words that are checked."""

    def log_probabilities(self, word: Codes, released: Codes) -> NDArray[np.float64]:
        """ln P(row | word) for every row of `released`; −∞ for a word of the language that is never released.

        Parameters
        ----------
        word
            A word of the language, as codes.
        released
            Rows of codes, all of one length: words of the language or words that can be released.

        >>> import symveil as sv
        >>> mechanism = sv.Exponential(sv.words("ab", 2), epsilon=1)
        >>> mechanism.log_probabilities([0, 0], [[0, 0], [1, 1]]).round(4).tolist()
        [-0.6265, -2.6265]
        >>> mechanism.log_probabilities([0, 0], [[0, 7]])
        Traceback (most recent call last):
        symveil.errors.WordError: released, row 1: expected a word that can be released, found none (position 2)
        """
        codes, rows = read_codes(word, axes=1, name="word"), read_codes(released, axes=2, name="released")
        mechanism = cast("Mechanism", self)
        mechanism.language.check(codes, np.array([len(codes)]))
        self._checked.of((rows.shape, sha256(rows.tobytes()).digest()), lambda: _check_released(mechanism, rows))
        return self._log_probabilities(codes, rows)

    def expected_errors(self, words: Codes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """For each word the expected number of wrong symbols, and what they cost together.

        Parameters
        ----------
        words
            Rows of codes, words of the language.

        >>> import symveil as sv
        >>> mechanism = sv.Exponential(sv.words("ab", 2), epsilon=1)
        >>> mechanism.expected_errors([[0, 0], [1, 0]])[0].round(4).tolist()
        [0.5379, 0.5379]
        """
        rows = read_codes(words, axes=2, name="words")
        cast("Mechanism", self).language.check(rows.reshape(-1), np.full(len(rows), rows.shape[1]))
        return self._expected_errors(rows)

    @computed_once
    def _checked(self) -> LastFew[tuple[tuple[int, ...], bytes], bool]:
        """Rows that were released ones: an audit asks for the same rows with every word."""
        return LastFew(_ROWS_REMEMBERED)

    @abstractmethod
    def _log_probabilities(self, word: Codes, released: Codes) -> NDArray[np.float64]:
        """ln P(row | word) for a word of the language; −∞ for rows that are words of it and are never released."""

    def _expected_errors(self, words: Codes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same for words of the language; quicker ways than the law of every word override it."""
        mechanism = cast("Mechanism", self)
        progress = listener(f"averaging {mechanism.described}") or silent
        found = []
        for number, word in enumerate(words):
            progress(number, len(words))
            found.append(mechanism._law(word).expected_error)
        errors = np.array(found)
        return errors, errors


def _check_released(mechanism: Mechanism, rows: Codes) -> bool:
    """True; refuses rows that are neither released nor words of the language."""
    flat, lengths = rows.reshape(-1), np.full(len(rows), rows.shape[1])
    released = mechanism.released_language
    wrong = released.first_refused(flat, lengths)
    if wrong.any() and released is not mechanism.language:
        wrong = np.where(wrong, mechanism.language.first_refused(flat, lengths), 0)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise WordError(
            f"released, row {row + 1}: expected a word that can be released, found none (position {wrong[row]})",
            position=int(wrong[row]),
        )
    return True
