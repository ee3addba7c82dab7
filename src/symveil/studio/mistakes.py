"""Errors that nobody planned: their kind and their place are told, never a value, which might be a secret.

Servers and libraries write tracebacks with messages to their logs, and messages quote what was found.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from collections.abc import Iterator

from symveil.errors import InternalError

_TALKATIVE = ("nicegui", "uvicorn", "uvicorn.error", "uvicorn.asgi", "engineio.server", "socketio.server", "asyncio")


class _PlacesOnly(logging.Handler):
    """Writes a line for each error, made of names and numbers of the code."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line; the record's message and arguments are not looked at."""
        error = record.exc_info[1] if record.exc_info else None
        if error is None and isinstance(record.msg, BaseException):
            error = record.msg
        _tell(
            f"an error in {record.name}, {record.filename}, line {record.lineno}"
            if error is None
            else str(InternalError.of(error))
        )


@contextlib.contextmanager
def only_places() -> Iterator[None]:
    """For as long as it lasts, whatever this process logs is told by its place."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level, threading.excepthook, sys.unraisablehook)
    root.handlers[:] = [_PlacesOnly()]
    root.setLevel(logging.ERROR)
    for name in _TALKATIVE:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(logging.ERROR)
    threading.excepthook = lambda given: _tell_error(given.exc_value)
    sys.unraisablehook = lambda given: _tell_error(given.exc_value)
    try:
        yield
    finally:
        root.handlers[:], level, threading.excepthook, sys.unraisablehook = before
        root.setLevel(level)


def _tell_error(error: BaseException | None) -> None:
    if error is not None and not isinstance(error, SystemExit):
        _tell(str(InternalError.of(error)))


def _tell(line: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # nobody reads it any more
        print(f"symveil studio: {line}", file=sys.stderr, flush=True)  # noqa: T201 - standard error is where logs go
