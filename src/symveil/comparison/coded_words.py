"""Words as arrays: all codes one after the other, and the lengths; two files over one list of symbols."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.models.word import Codes

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class CodedWords:
    """The words of a file.

    >>> words = CodedWords.from_words([[0, 1, 1], [], [2]], symbols=3)
    >>> words.visits().tolist(), words.starts.tolist()
    ([1, 2, 1], [0, 3, 3])
    """

    codes: Codes
    lengths: Integers
    symbols: int
    """How many symbols there are: codes are 0, 1, …, symbols − 1, in the order of the symbols as text."""

    @classmethod
    def from_words(cls, words: Iterable[Sequence[int]], *, symbols: int) -> CodedWords:
        """The same words, given one by one."""
        rows = [np.asarray(word, dtype=np.int32) for word in words]
        codes = np.concatenate(rows) if rows else np.empty(0, dtype=np.int32)
        return cls(codes, np.array([len(row) for row in rows], dtype=np.int64), symbols)

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def starts(self) -> Integers:
        """Where each word begins."""
        return np.asarray(np.cumsum(self.lengths) - self.lengths)

    @property
    def word_of(self) -> Integers:
        """The number of the word that each code is in."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def visits(self) -> Integers:
        """How often each symbol occurs."""
        return np.bincount(self.codes, minlength=self.symbols)

    def coverage(self) -> Integers:
        """How many words each symbol occurs in.

        >>> CodedWords.from_words([[0, 1, 1], [1]], symbols=3).coverage().tolist()
        [1, 2, 0]
        """
        in_words = np.unique(self.word_of * max(self.symbols, 1) + self.codes)
        return np.bincount(in_words % max(self.symbols, 1), minlength=self.symbols)

    def ends(self) -> tuple[Codes, Codes]:
        """First and last symbol of each word that has two or more.

        >>> [ends.tolist() for ends in CodedWords.from_words([[0, 1, 2], [1], [2, 0]], symbols=3).ends()]
        [[0, 2], [2, 0]]
        """
        long = self.lengths >= 2
        first = self.starts[long]
        return self.codes[first], self.codes[first + self.lengths[long] - 1]

    def variants(self) -> tuple[list[Codes], Integers]:
        """The different words, and how often each occurs; shorter ones first, then in the order of their codes.

        >>> [word.tolist() for word in CodedWords.from_words([[1], [0, 1], [1]], symbols=2).variants()[0]]
        [[1], [0, 1]]
        """
        words: list[Codes] = []
        counts: list[Integers] = []
        starts = self.starts
        for length in np.unique(self.lengths):
            begins = starts[self.lengths == length]
            rows = self.codes[begins[:, None] + np.arange(length)]
            if length == 0:
                words.append(np.empty(0, dtype=np.int32))
                counts.append(np.array([len(begins)], dtype=np.int64))
                continue
            different, times = np.unique(rows, axis=0, return_counts=True)
            words.extend(different)
            counts.append(times.astype(np.int64))
        return words, np.concatenate(counts) if counts else np.empty(0, dtype=np.int64)
