"""Words at the door: symbols to codes and back, saying where a word goes wrong but never what it says."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from symveil.errors import WordError
from symveil.models.alphabet import Alphabet, Symbol

Word = Sequence[Symbol]
Codes = NDArray[np.int32]


def encode(word: Word, alphabet: Alphabet) -> Codes:
    """The codes of a word's symbols.

    >>> encode("cab", Alphabet.from_symbols("abc")).tolist()
    [2, 0, 1]
    >>> encode("cax", Alphabet.from_symbols("abc"))
    Traceback (most recent call last):
    symveil.errors.WordError: word: expected symbols of the alphabet (3 symbols), found another one at
    position 3 of 3
    """
    if not isinstance(word, Iterable):
        raise WordError(f"word: expected a string or a sequence of symbols, found a {type(word).__name__}")
    symbols = word if isinstance(word, str) else tuple(word)
    lookup = alphabet.code
    codes = [lookup.get(symbol, -1) if isinstance(symbol, Hashable) else -1 for symbol in symbols]
    if -1 in codes:
        # The symbol is a secret: the position tells the owner enough and a reader of logs nothing.
        position = codes.index(-1) + 1
        raise WordError(
            f"word: expected symbols of the alphabet ({len(alphabet)} symbols), found another one at position "
            f"{position} of {len(codes)}",
            position=position,
        )
    return np.array(codes, dtype=np.int32)


def decode(codes: Codes, alphabet: Alphabet, *, like: Word) -> Word:
    """The symbols of `codes`: a string where the word came as a string, a tuple otherwise.

    >>> import numpy as np
    >>> decode(np.array([2, 0, 1], dtype=np.int32), Alphabet.from_symbols("abc"), like="abc")
    'cab'
    """
    symbols = tuple(alphabet.symbols[code] for code in codes.tolist())
    return "".join(map(str, symbols)) if isinstance(like, str) else symbols
