"""Every error symveil raises on purpose.

    SymveilError
    ├── InputError (also a ValueError)   something that was handed in is wrong
    │   ├── ParameterError                a number or a choice: ε, adjacency, offset, mechanism …
    │   ├── AlphabetError                 an alphabet that is empty, unordered or repeats a symbol
    │   ├── ModelError                    a model that contradicts itself or its format
    │   ├── WordError                     a word that its language does not contain
    │   └── FileError                     a file that cannot be read or written
    ├── LedgerError                       a ledger that cannot be used, or refuses
    │   └── OverBudgetError               somebody has too little budget left: nothing was drawn
    ├── TooLargeError                     right, but beyond what enumeration can do
    └── NotPrivateError                   a mechanism kept only for reproduction, not asked for by name

Each message is one line: what was expected, what was found, where, what to do. Each error
carries the offender as an attribute, except a secret: a word's symbols appear neither in a
message nor in an attribute, only their position does.
"""

from __future__ import annotations

from collections.abc import Sequence


class SymveilError(Exception):
    """Base of everything symveil raises on purpose.

    >>> import symveil as sv
    >>> try:
    ...     sv.Exponential(sv.words("ab", 2), epsilon=-1)
    ... except sv.SymveilError as error:
    ...     print(error)
    epsilon: expected a number above 0 such as 0.5 or 1/2, found -1
    """

    def __reduce__(self) -> tuple[object, ...]:
        # constructors take keywords; a worker process sends the finished error back
        return _rebuilt, (type(self), self.args, self.__dict__)


class InputError(SymveilError, ValueError):
    """Something that was handed in is wrong; nothing was drawn and nothing was written."""


class ParameterError(InputError):
    """A parameter outside its domain. `name` and `value` are the offender."""

    def __init__(self, name: str, *, expected: str, found: object) -> None:
        super().__init__(f"{name}: expected {expected}, found {_shown(found)}")
        self.name = name
        self.expected = expected
        self.value = found

    def about(self, name: str) -> ParameterError:
        """The same of a parameter that handed its value on.

        >>> str(ParameterError("exactly", expected="1 or more", found=0).about("distance"))
        'distance: expected 1 or more, found 0'
        """
        return ParameterError(name, expected=self.expected, found=self.value)


class AlphabetError(InputError):
    """An alphabet that cannot name symbols: empty, unordered, or with a symbol twice."""


class ModelError(InputError):
    """A model that contradicts itself or its format. `where` is the place, as a JSON path."""

    def __init__(self, where: str, *, expected: str, found: str) -> None:
        super().__init__(f"{where}: expected {expected}, found {found}")
        self.where = where


class WordError(InputError):
    """A word that the language does not contain.

    `position` (counted from 1) is where it first goes wrong, or None where no single position
    is to blame. The symbol itself is a secret and is not carried.
    """

    def __init__(self, message: str, *, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


class FileError(InputError):
    """A file that cannot be read or written. `path` is the offender."""

    def __init__(self, path: str, *, expected: str, found: str) -> None:
        super().__init__(f"{path}: expected {expected}, found {found}")
        self.path = path


class LedgerError(SymveilError):
    """A ledger that cannot be used, or that refuses what was asked of it."""


class OverBudgetError(LedgerError):
    """Persons have too little budget left. `persons` is how many; who they are stays in the ledger."""

    def __init__(self, message: str, *, persons: int) -> None:
        super().__init__(message)
        self.persons = persons


class TooLargeError(SymveilError):
    """A question that is well posed but beyond what enumeration, counting or drawing can answer."""


class NotPrivateError(SymveilError):
    """A mechanism that is not private as printed was asked for without saying so."""


def either(words: Sequence[str]) -> str:
    """What a message calls any one of several things.

    >>> either([".svg"]), either([".png", ".svg", ".json"])
    ('.svg', '.png, .svg or .json')
    """
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def _rebuilt(kind: type[SymveilError], arguments: tuple[object, ...], state: dict[str, object]) -> SymveilError:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    error.__dict__.update(state)
    return error


def _shown(value: object) -> str:
    """`value` for a message: Python refuses to print very long integers, and nobody would read them."""
    if value is None:
        return "none"
    try:
        text = str(value)
    except ValueError:
        return f"a {type(value).__name__} of thousands of digits"
    if not text:
        return "nothing"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


_LONGEST_SHOWN = 200
