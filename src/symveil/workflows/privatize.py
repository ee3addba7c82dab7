"""Privatise many words of any mixture of lengths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from symveil.languages.bounded import BoundedWords, EveryWord
from symveil.languages.free import FreeLanguage
from symveil.mechanisms.selection import select_mechanism
from symveil.models.alphabet import Alphabet, Symbol
from symveil.models.word import Word, decode, encode_many
from symveil.numerics.rationals import Number
from symveil.privacy.parameters import Adjacency, read_metric
from symveil.randomness import BitSource


def privatize(
    words: Iterable[Word],
    *,
    alphabet: Alphabet | Iterable[Symbol],
    epsilon: Number,
    mechanism: str = "auto",
    adjacency: Adjacency = 1,
    calibration: str = "tight",
    metric: str = "hamming",
    max_length: int | None = None,
    cutoff: int | None = None,
    bits: BitSource | None = None,
) -> list[Word]:
    """A private word for each word, in the same order.

    With metric "hamming" each word's length is public and kept. With "levenshtein" it is secret, and the
    released word has another one; `max_length` is then a public bound on the lengths (truncated-levenshtein
    needs it, edit does not).

    >>> import symveil as sv
    >>> private = sv.privatize(["ab", "abcab", ""], alphabet="abc", epsilon=2)
    >>> [len(word) for word in private]
    [2, 5, 0]
    >>> sv.privatize(["ab", "abcab", ""], alphabet="abc", epsilon=1000, metric="levenshtein")
    ['ab', 'abcab', '']
    """
    symbols = Alphabet.from_symbols(alphabet)
    sources = words if isinstance(words, str) else list(words)
    read_metric(metric, max_length=max_length)
    if metric == "levenshtein":
        return select_mechanism(
            EveryWord(symbols) if max_length is None else BoundedWords(symbols, max_length),
            epsilon=epsilon,
            mechanism=mechanism,
            adjacency=adjacency,
            calibration=calibration,
            cutoff=cutoff,
        ).release_many(sources, bits=bits)
    # parameters are checked even where there is no word
    select_mechanism(
        FreeLanguage(symbols, 0),
        epsilon=epsilon,
        mechanism=mechanism,
        adjacency=adjacency,
        calibration=calibration,
        cutoff=cutoff,
    )
    codes = encode_many(sources, symbols)
    numbers_of_length: dict[int, list[int]] = defaultdict(list)
    for number, row in enumerate(codes):
        numbers_of_length[len(row)].append(number)
    released: list[Word] = [()] * len(sources)
    for length, numbers in sorted(numbers_of_length.items()):
        chosen = select_mechanism(
            FreeLanguage(symbols, length),
            epsilon=epsilon,
            mechanism=mechanism,
            adjacency=adjacency,
            calibration=calibration,
        )
        drawn = chosen.release_codes(np.stack([codes[number] for number in numbers]), bits=bits)
        for number, row in zip(numbers, drawn, strict=True):
            released[number] = decode(row, symbols, like=sources[number])
    return released
