"""Every error symveil raises on purpose.

    SymveilError
    ├── InputError (also a ValueError)   something that was handed in is wrong
    │   ├── ParameterError                a number or a choice: ε, adjacency, offset, mechanism …
    │   ├── AlphabetError                 an alphabet that is empty, unordered or repeats a symbol
    │   ├── ModelError                    a model that contradicts itself or its format
    │   ├── WordError                     a word that its language does not contain
    │   └── FileError                     a file that cannot be read or written
    ├── LedgerError                       a ledger that cannot be used, or refuses
    │   └── OverBudgetError               a person has too little budget left: nothing was drawn
    ├── TooLargeError                     right, but beyond what enumeration can do
    ├── NotPrivateError                   a mechanism kept only for reproduction, not asked for by name
    └── InternalError                     a mistake in symveil: what kind and where in the code, no value

Each message is one line: what was expected, what was found, where, what to do. Each error
carries the offender as an attribute, except a secret: a word's symbols appear neither in a
message nor in an attribute, only their position does. Nor is the error shown that led to it,
"during handling of" which it was raised: libraries quote values.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self


class SymveilError(Exception):
    """Base of everything symveil raises on purpose.

    >>> import symveil as sv
    >>> try:
    ...     sv.Exponential(sv.words("ab", 2), epsilon=-1)
    ... except sv.SymveilError as error:
    ...     print(error)
    epsilon: expected a number above 0 such as 0.5 or 1/2, found -1
    """

    def __new__(cls, *arguments: Any, **named: Any) -> Self:
        """An error whose traceback ends with it: what a library said before may quote a secret."""
        error = super().__new__(cls, *arguments, **named)
        error.__suppress_context__ = True
        return error

    def __reduce__(self) -> tuple[object, ...]:
        # constructors take keywords; a worker process sends the finished error back
        return _rebuilt, (type(self), self.args, self.__dict__)


class SymveilWarning(UserWarning):
    """What the holder of the data should know although nothing is wrong: hardly any privacy, ids that do not pass.

    It holds no value of the data. The command line prints the same sentences as lines of standard error.
    """


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


class InternalError(SymveilError):
    """A mistake in symveil. The message has the kind of error and the line of code, never a value."""

    @classmethod
    def of(cls, error: BaseException) -> InternalError:
        """What may be said of an unplanned error.

        >>> try:
        ...     {}["the secret word"]
        ... except KeyError as unplanned:
        ...     print(str(InternalError.of(unplanned)).partition(" at ")[0])
        internal error: KeyError
        """
        if isinstance(error, cls):
            return error
        return cls(
            f"internal error: {type(error).__name__} at {_location(error.__traceback__)}; this is a mistake in "
            "symveil, "
            "not in what it was given: please report this line, which holds no data, and what symveil --version says"
        )


@contextmanager
def only_our_errors() -> Iterator[None]:
    """Let no error out of the block that could quote a value: what was not planned becomes an `InternalError`.

    For code whose errors others print: threads, tasks of a cluster, processes.

    >>> try:
    ...     with only_our_errors():
    ...         int("the secret word")
    ... except SymveilError as error:
    ...     print("secret" in str(error), type(error).__name__)
    False InternalError
    """
    try:
        yield
    except SymveilError:
        raise
    except (MemoryError, OverflowError) as error:  # numpy tells the shape of what it could not allocate
        kind = MemoryError if isinstance(error, MemoryError) else OverflowError
        raise kind("there is not enough memory for this; use shorter words or a smaller model") from None
    except Exception as error:
        raise InternalError.of(error) from None


class NotRegularError(OSError):
    """A file that was to be opened is a pipe, a device or the like; its `strerror` says which, in our own words."""


def reason(error: BaseException, *, otherwise: str = "an error") -> str:
    """Why the system refused, in the system's words: an error's own text may be anything.

    Parameters
    ----------
    error
        What was raised; only the number that the system gave it is looked at.
    otherwise
        What to say where there is no such number.

    >>> reason(FileNotFoundError(2, "the secret word")), reason(OSError("the secret word"))
    ('No such file or directory', 'an error')
    """
    if isinstance(error, NotRegularError):
        return error.strerror or otherwise
    number = getattr(error, "errno", None)
    return os.strerror(number) if isinstance(number, int) else otherwise


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


def _location(traceback: TracebackType | None) -> str:
    """The innermost place in symveil, and in which library the error was raised, if it was one."""
    own = last = "an unknown place"
    while traceback is not None:
        module = str(traceback.tb_frame.f_globals.get("__name__", "?"))
        last = f"{module}:{traceback.tb_lineno}"
        if module.partition(".")[0] == "symveil":
            own = last
        traceback = traceback.tb_next
    return own if own == last else last if own == "an unknown place" else f"{own} (raised in {last.partition(':')[0]})"


def _shown(value: object) -> str:
    """`value` for a message: Python refuses to print very long integers."""
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
