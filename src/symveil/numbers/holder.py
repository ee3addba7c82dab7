"""What readers of files say to the holder of the data, wherever in the code they are.

`tell_holder`: whether there is a message may depend on secrets. Where standard error is a file or a pipe, others may
read it, so the message goes to a terminal, and nowhere else. `note_input`: about the form of a file, and no secret.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from symveil.errors import SymveilWarning

_collector: ContextVar[Callable[[str], None] | None] = ContextVar("told", default=None)
_noted: ContextVar[Callable[[str], None] | None] = ContextVar("noted", default=None)


def tell_holder(text: str) -> None:
    """Say something to the holder: at once on a terminal, or to its collector (`collected`)."""
    collect = _collector.get()
    if collect is not None:
        collect(text)
    elif sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"symveil: warning: {text}\n")


def note_input(text: str) -> None:
    """Say what of a file was not read: a command prints it as a note (`collected_notes`), Python warns."""
    collect = _noted.get()
    if collect is not None:
        collect(text)
    else:
        warnings.warn(text, SymveilWarning, stacklevel=2)


@contextmanager
def collected() -> Iterator[list[str]]:
    """Within it, messages to the holder are put into a list, each text once.

    >>> with collected() as texts:
    ...     tell_holder("twice")
    ...     tell_holder("twice")
    >>> texts
    ['twice']
    """
    with _collected(_collector) as texts:
        yield texts


@contextmanager
def collected_notes() -> Iterator[list[str]]:
    """Within it, notes on files are put into a list, each once."""
    with _collected(_noted) as texts:
        yield texts


@contextmanager
def _collected(listener: ContextVar[Callable[[str], None] | None]) -> Iterator[list[str]]:
    texts: list[str] = []

    def collect(text: str) -> None:
        if text not in texts:
            texts.append(text)

    token = listener.set(collect)
    try:
        yield texts
    finally:
        listener.reset(token)
