"""Where the `symveil` script begins: so early that Ctrl-C is handled even while the rest is imported.

What Python itself would print: warnings, and errors that no code can catch. Here they are lines without a value.

A warning of a library may quote data, and the text of an exception may be a secret; Python prints both to standard
error, the latter with a traceback, where an exception ends a thread or is raised in a destructor.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import warnings
from typing import TYPE_CHECKING, TextIO

import click

from symveil.errors import InternalError

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


def main() -> None:
    """Run the command line."""
    # vectors are short, and threads that wait for each other in fits of them take several times the processor time;
    # one thread also adds up in the same order on every machine
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from symveil.cli.progress import keep_interrupts, let_go

        keep_interrupts()
        try:
            from symveil.cli.main import main as run

            tell_without_values()
            run()
        finally:
            let_go()
    except KeyboardInterrupt:
        from symveil.cli.progress import interrupted_status

        sys.exit(interrupted_status())
    except SystemExit:
        raise
    except BaseException as error:  # before `run` could: what is imported is missing or damaged
        from symveil.errors import InternalError

        with contextlib.suppress(Exception):
            print(f"symveil: error: {InternalError.of(error)}", file=sys.stderr)
        sys.exit(2)


def tell_without_values() -> None:
    """Replace what Python prints by one line each: the kind, and the place in the code.

    >>> before = warnings.showwarning, threading.excepthook, sys.unraisablehook
    >>> tell_without_values()
    >>> warnings.showwarning is before[0]
    False
    >>> warnings.showwarning, threading.excepthook, sys.unraisablehook = before
    """
    warnings.showwarning = _warning
    threading.excepthook = _ended_thread
    of_interrupts = sys.unraisablehook

    def unraisable(what: UnraisableHookArgs) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):  # `interrupts` sends it again
            of_interrupts(what)
        elif what.exc_value is not None:
            _tell(str(InternalError.of(what.exc_value)))

    sys.unraisablehook = unraisable


def _warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    del message, file, line
    _tell(f"{category.__name__} at {_module(filename)}:{lineno}, whose text is not shown because it may hold data")


def _ended_thread(what: threading.ExceptHookArgs) -> None:
    if what.exc_value is not None and not isinstance(what.exc_value, SystemExit):
        _tell(str(InternalError.of(what.exc_value)))


def _tell(text: str) -> None:
    with contextlib.suppress(Exception):  # a hook that fails would print what it was to hide
        click.echo(f"symveil: warning: {text}", err=True)


def _module(filename: str) -> str:
    """The module of a file, without its path on this machine."""
    named = [name for name, module in list(sys.modules.items()) if getattr(module, "__file__", None) == filename]
    return named[0] if named else "?"
