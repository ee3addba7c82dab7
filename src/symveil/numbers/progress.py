"""How far long work is: one callback, whether the work is counted, goes on until it ends, or is a file."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Progress = Callable[[int, int | None], None]
"""Called now and then with how much is done, and of how much: None where nobody knows beforehand.

One that takes `what` by name is told what is being done where the work has parts with names; one that takes `records`
by name is told how many records of a file were read. It may raise an exception to end the work.
"""


def silent(done: int, total: int | None) -> None:
    """Progress where nobody wants to know."""


def named(progress: Progress | None, what: str, *, records: int | None = None) -> Progress:
    """Progress of a part of the work that has a name. Whatever `progress` does not take by name is left out.

    >>> def show(done, total, what="work"):
    ...     print(what, done, total)
    >>> named(show, "charging")(1, 2)
    charging 1 2
    >>> named(lambda done, total: print(done, total), "charging")(1, 2)
    1 2
    """
    if progress is None:
        return silent
    tell: Callable[..., None] = progress
    given: dict[str, Any] = {"what": what} if records is None else {"what": what, "records": records}
    taken = {name: value for name, value in given.items() if _takes(tell, 0, 0, **{name: value})}
    return lambda done, total: tell(done, total, **taken)


def part(progress: Progress | None, begin: int, end: int, *, of: int) -> Progress:
    """Progress of one part of the work, from `begin` to `end` of all of it; that it begins is told at once.

    >>> part(lambda done, total: print(done, total), 40, 60, of=100)(1, 2)
    40 100
    50 100
    """
    if progress is None:
        return silent
    progress(begin, of)
    return lambda done, total: progress(begin + ((end - begin) * min(done, total) // total if total else 0), of)


_listener: ContextVar[Progress | None] = ContextVar("listener", default=None)


@contextmanager
def heard_by(progress: Progress) -> Iterator[None]:
    """Within it, searches that no caller hands a callback (those behind a property) tell this one.

    >>> with heard_by(lambda done, total: print(done, total)):
    ...     listener("certifying")(1, 2)
    1 2
    >>> listener("certifying") is None
    True
    """
    token = _listener.set(progress)
    try:
        yield
    finally:
        _listener.reset(token)


def listener(what: str) -> Progress | None:
    """Whoever listens to searches, told what is being done; None where nobody does."""
    progress = _listener.get()
    return None if progress is None else named(progress, what)


def accepted(progress: Callable[..., None] | None, *, before: int) -> Progress | None:
    """The callback of a caller, who may still have one as it was called before version 0.3: that works, and warns.

    Parameters
    ----------
    progress
        What was given. One that takes any number of arguments is called as before too: it cannot say what it expects.
    before
        How it was called: with 1 argument (how many states were explored), or with 3 (what is done to a file, how much
        of it was read from 0 to 1, how many records that is).

    >>> def show(done, total):
    ...     print(done, total)
    >>> accepted(show, before=1) is show
    True
    """
    if progress is None or _takes(progress, 0, 0, what="") or not _takes(progress, *range(before)):
        return progress
    if _takes(progress, 0, 0) and not _takes(progress, *range(_ANY_NUMBER)):
        return progress
    warnings.warn(
        f"progress: a callable with {before} argument{'s' if before > 1 else ''} is deprecated; take (done, total), "
        "where total may be None, and, if you like, what and records by name",
        DeprecationWarning,
        stacklevel=3,
    )
    if before == 1:
        return lambda done, _: progress(done)

    def as_before(done: int, total: int | None, what: str = "", records: int = 0) -> None:
        progress(what, done / total if total else 0.0, records)

    return as_before


_ANY_NUMBER = 99


def _takes(called: Callable[..., None], *arguments: object, **names: object) -> bool:
    try:
        signature = inspect.signature(called)
        (signature.bind_partial if names else signature.bind)(*arguments, **names)  # it may need other names too
    except TypeError:
        return False
    except ValueError:  # some built-in functions do not say; two numbers is what is promised
        return len(arguments) == 2 and not names
    return True
