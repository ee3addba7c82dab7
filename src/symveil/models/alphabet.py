"""An alphabet: the public, ordered set of symbols; inside, symbols are their codes 0, 1, 2 …

Words: symbols to codes and back, saying where a word goes wrong but never what it says. Words as text: symbols side by
side, or between separators.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from symveil.errors import AlphabetError, ParameterError, WordError

Symbol = Hashable

_MOST_SYMBOLS = 2**31 - 1  # codes are int32


@dataclass(frozen=True, slots=True)
class Alphabet:
    """The symbols a word may use, in the order of their codes.

    A string is taken as its characters; any other iterable as its items, which may be any
    hashable values.

    Parameters
    ----------
    symbols
        The symbols, each once; `Alphabet.from_symbols` takes any iterable.

    >>> Alphabet.from_symbols("abc")
    Alphabet('a', 'b', 'c')
    >>> Alphabet.from_symbols(["main st", "park rd"]).code["park rd"]
    1
    """

    symbols: tuple[Symbol, ...]
    code: Mapping[Symbol, int] = field(init=False, repr=False, compare=False)
    spells_text: bool = field(init=False, repr=False, compare=False)
    """Whether every symbol is one character, so that words can be written as strings."""

    def __post_init__(self) -> None:
        if not isinstance(self.symbols, tuple):
            raise AlphabetError(
                f"alphabet: expected a tuple of symbols, found a {type(self.symbols).__name__}; "
                "Alphabet.from_symbols takes strings and lists too"
            )
        if not self.symbols:
            raise AlphabetError("alphabet: expected at least one symbol, found none")
        if len(self.symbols) > _MOST_SYMBOLS:
            raise AlphabetError(f"alphabet: expected at most {_MOST_SYMBOLS} symbols, found {len(self.symbols)}")
        code: dict[Symbol, int] = {}
        for position, symbol in enumerate(self.symbols):
            if not is_hashable(symbol) or symbol != symbol:  # noqa: PLR0124 - NaN is not itself
                raise AlphabetError(
                    f"alphabet: expected hashable symbols that equal themselves, found {symbol!r} at position "
                    f"{position + 1}"
                )
            if symbol in code:
                raise AlphabetError(
                    f"alphabet: expected distinct symbols, found {symbol!r} at positions "
                    f"{code[symbol] + 1} and {position + 1}"
                )
            code[symbol] = position
        object.__setattr__(self, "code", MappingProxyType(code))
        single = all(isinstance(symbol, str) and len(symbol) == 1 for symbol in self.symbols)
        object.__setattr__(self, "spells_text", single)

    @classmethod
    def from_symbols(cls, symbols: Self | Iterable[Symbol]) -> Self:
        """The alphabet of `symbols`, in their order; an alphabet is returned as it is."""
        if isinstance(symbols, cls):
            return symbols
        if isinstance(symbols, Set):
            raise AlphabetError(
                "alphabet: expected symbols in an order, found a set, whose order is not defined; "
                "pass sorted(…) or a list"
            )
        if not isinstance(symbols, Iterable):
            raise AlphabetError(f"alphabet: expected a string or a list of symbols, found a {type(symbols).__name__}")
        return cls(tuple(symbols))

    def __reduce__(self) -> tuple[type[Alphabet], tuple[tuple[Symbol, ...]]]:
        return (type(self), (self.symbols,))

    def __len__(self) -> int:
        return len(self.symbols)

    def __contains__(self, symbol: object) -> bool:
        return is_hashable(symbol) and symbol in self.code

    def __hash__(self) -> int:
        return hash(self.symbols)

    def __repr__(self) -> str:
        shown = [repr(symbol) for symbol in self.symbols[:10]]
        if len(self.symbols) > 10:
            shown.append(f"… {len(self.symbols)} in all")
        return f"Alphabet({', '.join(shown)})"


def is_hashable(value: object) -> bool:
    """Whether `value` can be a symbol: a tuple with a list in it only looks as if it could."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


Word = Sequence[Symbol]
Codes = NDArray[np.int32]
Lengths = NDArray[np.int64]
"""How many symbols each word has, where the codes of all words stand one after the other."""

Metric = Literal["hamming", "levenshtein"]
"""What a distance of two words counts."""

FAR = int(np.iinfo(np.int64).max)
"""The distance between two words that are never adjacent, because what is public about them differs."""


def encode(word: Word, alphabet: Alphabet, *, tell_length: bool = True) -> Codes:
    """The codes of a word's symbols; an error says how long the word is unless that is a secret.

    >>> encode("cab", Alphabet.from_symbols("abc")).tolist()
    [2, 0, 1]
    >>> encode("cax", Alphabet.from_symbols("abc"))
    Traceback (most recent call last):
    symveil.errors.WordError: word: expected symbols of the alphabet (3 symbols), found another one at
    position 3 of 3
    """
    if not isinstance(word, Iterable) or isinstance(word, Set | Mapping):
        raise WordError(f"word: expected a string or a sequence of symbols, found a {type(word).__name__}")
    symbols = word if isinstance(word, str) else tuple(word)
    try:
        codes = [alphabet.code.get(symbol, -1) for symbol in symbols]
    except TypeError:  # an unhashable symbol cannot be in any alphabet
        codes = [alphabet.code.get(symbol, -1) if is_hashable(symbol) else -1 for symbol in symbols]
    if -1 in codes:
        # The symbol is a secret: the position tells the owner enough and a reader of logs nothing.
        position = codes.index(-1) + 1
        length = f" of {len(codes)}" if tell_length else ""
        raise WordError(
            f"word: expected symbols of the alphabet ({len(alphabet)} symbols), found another one at position "
            f"{position}{length}",
            position=position,
        )
    return np.array(codes, dtype=np.int32)


def encode_many(words: Iterable[Word], alphabet: Alphabet, *, tell_length: bool = True) -> list[Codes]:
    """The codes of each word; an error also says which word, counted from 1."""
    if isinstance(words, str):
        # each of its characters would be a word of its own, with a budget of its own
        raise WordError("words: expected a list of words, found a single string; put it into a list")
    codes = []
    for number, word in enumerate(words, start=1):
        try:
            codes.append(encode(word, alphabet, tell_length=tell_length))
        except WordError as error:
            raise WordError(f"word {number}, {error}", position=error.position) from None
    return codes


def decode(codes: Codes, alphabet: Alphabet, *, like: Word) -> Word:
    """The symbols of `codes`: a string where the word came as a string, a tuple otherwise.

    Symbols of several characters stay a tuple: joined, it would not be clear where one ends.

    >>> import numpy as np
    >>> decode(np.array([2, 0, 1], dtype=np.int32), Alphabet.from_symbols("abc"), like="abc")
    'cab'
    """
    symbols = tuple(alphabet.symbols[code] for code in codes.tolist())
    return "".join(map(str, symbols)) if isinstance(like, str) and alphabet.spells_text else symbols


def first_unknown(codes: Codes, lengths: Lengths, alphabet: Alphabet) -> NDArray[np.int64]:
    """Where each word has its first code that no symbol has, counted from 1; 0 for words without one.

    >>> abc = Alphabet.from_symbols("abc")
    >>> first_unknown(np.array([0, 1, -1, 2, 7], dtype=np.int32), np.array([2, 0, 3]), abc).tolist()
    [0, 0, 1]
    """
    ends = np.cumsum(lengths)
    wrong = np.zeros(len(lengths), dtype=np.int64)
    unknown = np.flatnonzero((codes < 0) | (codes >= len(alphabet)))
    row_of = np.searchsorted(ends, unknown, side="right")
    # from the last to the first, so that the first one stays
    wrong[row_of[::-1]] = unknown[::-1] - (ends - lengths)[row_of[::-1]] + 1
    return wrong


def check_code_range(codes: Codes, alphabet: Alphabet) -> None:
    """Refuse rows of codes with a code that no symbol has."""
    size = len(alphabet)
    if codes.size and not 0 <= codes.min() <= codes.max() < size:
        row, column = (int(axis[0]) for axis in np.nonzero((codes < 0) | (codes >= size)))
        raise WordError(
            f"codes: expected values 0 to {size - 1}, found another one in row {row + 1} at position {column + 1}",
            position=column + 1,
        )


def read_codes(values: object, *, axes: int, name: str) -> Codes:
    """Codes that a caller hands over, as an array with so many axes; whether they are those of symbols is not checked.

    >>> read_codes([[0, 1], [1, 1]], axes=2, name="words").dtype
    dtype('int32')
    >>> read_codes([0, 1], axes=2, name="words")
    Traceback (most recent call last):
    symveil.errors.WordError: words: expected whole numbers in rows of one length, found an array with 1 axes
    """
    try:
        codes = np.asarray(values)
    except ValueError:  # rows of different lengths
        raise WordError(f"{name}: expected whole numbers in rows of one length, found others") from None
    if codes.ndim == axes and codes.size == 0:
        return codes.astype(np.int32)
    if codes.ndim != axes or not np.issubdtype(codes.dtype, np.integer):
        expected = "whole numbers in rows of one length" if axes == 2 else "a word as a row of whole numbers"
        actual = f"an array with {codes.ndim} axes" if codes.ndim != axes else "others"
        raise WordError(f"{name}: expected {expected}, found {actual}")
    if codes.dtype != np.int32:  # numbers that do not fit are no symbol's code; cut off, they stay none
        codes = np.clip(codes.astype(np.int64), -1, 2**31 - 1)
    return np.asarray(codes, dtype=np.int32)


def read_length(value: int, *, name: str = "length") -> int:
    """The number of symbols of a word, or a public bound on it, as the parameter `name`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise ParameterError(name, expected="a whole number, 0 or more", found=value)
    return int(value)


def split_words(codes: Codes, lengths: Lengths) -> list[Codes]:
    """The words one by one, from all their codes and their lengths.

    >>> [word.tolist() for word in split_words(np.array([0, 1, 2], dtype=np.int32), np.array([2, 0, 1]))]
    [[0, 1], [], [2]]
    """
    return np.split(codes, np.cumsum(lengths)[:-1]) if len(lengths) else []


def as_rows(codes: Codes, lengths: Lengths, length: int) -> Codes:
    """Words that all have `length` symbols as the rows of an array; refused where one has not."""
    other = np.flatnonzero(lengths != length)
    if len(other):
        raise WordError(f"word {other[0] + 1}, word: expected {length} symbols, found {lengths[other[0]]}")
    return codes.reshape(len(lengths), length)


def split_word(text: str, separator: str | None) -> list[str]:
    """The symbols of a typed word: its characters, or its pieces between separators.

    >>> split_word("abc", None), split_word("main st|park rd", "|"), split_word("", "|")
    (['a', 'b', 'c'], ['main st', 'park rd'], [])
    """
    if not separator:
        return list(text)
    return text.split(separator) if text else []


def join_word(symbols: Iterable[object], separator: str | None) -> str:
    """A word for one line of output: the inverse of `split_word`."""
    return (separator or "").join(map(str, symbols))


def reading_advice(alphabet: Alphabet, separator: str | None) -> str:
    """How a file could be meant that is read with this separator: None where its sequences are no text.

    >>> reading_advice(Alphabet.from_symbols("ACGT"), " ")
    'sequences without blanks, such as AC, need `separator=""`'
    >>> reading_advice(Alphabet(("home", "work")), ">")
    'blanks beside the separator belong to the symbols: `separator=" > "` if there are any'
    >>> reading_advice(Alphabet(("home", "work")), ",")
    'blanks beside the separator belong to the symbols: `separator=", "` if there are any'
    >>> reading_advice(Alphabet(("home", "work")), " ")
    'symbols are split at blanks; if another sign is between them, name it, such as `separator="|"`'
    """
    if separator == " " and alphabet.spells_text:
        return f'sequences without blanks, such as {"".join(map(str, alphabet.symbols[:2]))}, need `separator=""`'
    if separator == " ":
        return 'symbols are split at blanks; if another sign is between them, name it, such as `separator="|"`'
    if separator and separator.strip() == separator:
        before = "" if separator in ",;:" else " "
        return f'blanks beside the separator belong to the symbols: `separator="{before}{separator} "` if there are any'
    return ""


def check_separable(
    alphabet: Alphabet, separator: str | None, *, instead: str = "lists in JSON Lines or Parquet"
) -> None:
    """Refuse an alphabet whose words could not be read back from text; `instead` is where they could."""
    for position, symbol in enumerate(alphabet.symbols, start=1):
        text = str(symbol)
        if separator == "" and len(text) != 1:
            raise AlphabetError(
                f"alphabet: expected symbols of one character where the separator is empty, found another at position "
                f"{position}; use another `separator`, or {instead}"
            )
        if "\n" in text or "\r" in text or (separator and separator in text):
            raise AlphabetError(
                f"alphabet: expected symbols without line breaks and without the separator, found one at position "
                f"{position}; use another `separator`, or {instead}"
            )
