"""Privatise many words of any mixture of lengths."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from symveil.errors import WordError
from symveil.languages.graph import Model
from symveil.mechanisms.ragged import MechanismOfLength
from symveil.models.alphabet import Alphabet, Symbol
from symveil.models.word import Word, decode, encode_many
from symveil.numerics.rationals import Number
from symveil.privacy.parameters import Adjacency, read_epsilon
from symveil.randomness import BitSource, system_bits


def privatize(
    words: Iterable[Word],
    *,
    alphabet: Alphabet | Iterable[Symbol] | None = None,
    model: Model | None = None,
    epsilon: Number,
    mechanism: str = "auto",
    adjacency: Adjacency = 1,
    calibration: str = "tight",
    prior: str = "uniform",
    utility: str = "distance",
    offset: Number = 1,
    public_start: bool = False,
    bits: BitSource | None = None,
) -> list[Word]:
    """A private word for each word, in the same order. Each word's length is public.

    >>> import symveil as sv
    >>> private = sv.privatize(["ab", "abcab", ""], alphabet="abc", epsilon=2)
    >>> [len(word) for word in private]
    [2, 5, 0]
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> all("bb" not in word for word in sv.privatize(["abab", "ba"] * 20, model=chain, epsilon=1))
    True
    """
    family = MechanismOfLength(
        alphabet=None if alphabet is None else Alphabet.from_symbols(alphabet),
        model=model,
        public_start=public_start,
        epsilon=read_epsilon(epsilon),
        mechanism=mechanism,
        adjacency=adjacency,
        calibration=calibration,
        prior=prior,
        utility=utility,
        offset=offset,
    )
    sources = words if isinstance(words, str) else list(words)
    rows = encode_many(sources, family.alphabet)
    codes = np.concatenate([np.empty(0, dtype=np.int32), *rows])
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    wrong = family.first_refused(codes, lengths)
    if wrong.any():
        number = int(np.argmax(wrong > 0))
        raise WordError(
            f"word {number + 1}, word: expected a word that the model can produce, found an impossible symbol at "
            f"position {wrong[number]} of {lengths[number]}",
            position=int(wrong[number]),
        )
    released, new_lengths = family.release(codes, lengths, bits or system_bits())
    parts = np.split(released, np.cumsum(new_lengths)[:-1]) if len(new_lengths) else []
    return [decode(part, family.alphabet, like=source) for part, source in zip(parts, sources, strict=True)]
