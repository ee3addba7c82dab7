"""An alphabet: the public, ordered set of symbols; inside, symbols are their codes 0, 1, 2 …"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Self

from symveil.errors import AlphabetError

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
