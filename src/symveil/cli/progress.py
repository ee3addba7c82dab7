"""One line of progress for a whole command: a bar on a terminal, a line a minute elsewhere.

An interrupt that no code may swallow: Ctrl-C, a request to end (SIGTERM), or a terminal that was closed (SIGHUP).

Python raises `KeyboardInterrupt` wherever the program happens to be. Inside a callback whose exceptions cannot be
passed on (a weak reference that dies, `__del__`) it is printed and forgotten; inside the import of some compiled
libraries it is dropped without a word. The run would go on as if Ctrl-C had not been pressed. So an interrupt is
remembered: one that ends at `sys.unraisablehook` is sent again, and what reports progress stops at its next report.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

    from symveil.numbers.progress import Progress

# long enough for the callback that swallowed it to be over; a second swallowing is sent again in the same way
AGAIN_AFTER = 0.01

_interrupted = threading.Event()  # there was an interrupt
_seen_to = threading.Event()  # and the work has stopped for it
_again = threading.Event()  # the next one is not the user's: it was sent again
_signals: list[int] = []  # the signals, in their order
_DEFAULTS = {
    number: otherwise
    for name, otherwise in (
        ("SIGINT", signal.default_int_handler),
        ("SIGTERM", signal.SIG_DFL),
        ("SIGHUP", signal.SIG_DFL),
    )
    if (number := getattr(signal, name, None)) is not None
}


def keep_interrupts() -> None:
    """Remember every interrupt, and send those again that were raised where they could not be passed on.

    >>> before = sys.unraisablehook, {number: signal.getsignal(number) for number in _DEFAULTS}
    >>> keep_interrupts()
    >>> sys.unraisablehook is before[0]
    False
    >>> sys.unraisablehook, _ = before[0], [signal.signal(*each) for each in before[1].items()]
    """
    for number, otherwise_handled in _DEFAULTS.items():
        if signal.getsignal(number) is otherwise_handled:  # not where the caller ignores it, as nohup does
            signal.signal(number, _remember)
    otherwise = sys.unraisablehook

    def hook(what: UnraisableHookArgs) -> None:
        if not issubclass(what.exc_type, KeyboardInterrupt):
            otherwise(what)
            return
        again = threading.Timer(AGAIN_AFTER, _interrupt)
        again.daemon = True
        again.start()

    sys.unraisablehook = hook


def interrupted_status() -> int:
    """The exit status of a command that a signal ended: 130 after Ctrl-C, 143 after SIGTERM.

    >>> interrupted_status()
    130
    """
    return 128 + (_signals[0] if _signals else signal.SIGINT)


def stop_if_interrupted() -> None:
    """Raise the interrupt that was asked for, if the program still runs in spite of it.

    >>> stop_if_interrupted()
    """
    if _interrupted.is_set() and not _seen_to.is_set():
        _seen_to.set()  # once: what cleans up may report too
        raise KeyboardInterrupt


def let_go() -> None:
    """From here on the program ends anyway: an interrupt must not end it in another way.

    >>> let_go()
    """
    for number in _DEFAULTS:
        if signal.getsignal(number) is _remember:
            signal.signal(number, signal.SIG_IGN)
    if _interrupted.is_set():
        import ctypes  # only here: it is not light

        # CPython remembers an interrupt that passed through code run from C, handled or not, and `python -m` would then
        # die of the signal instead of exiting with our status; running anything from C makes it forget
        ctypes.pythonapi.PyRun_SimpleString(b"pass")


def _remember(number: int, _frame: FrameType | None) -> None:
    if _again.is_set():
        _again.clear()
        if _seen_to.is_set():  # in the meantime: what cleans up is not to be disturbed
            return
    else:
        _signals.append(number)
    _interrupted.set()
    raise KeyboardInterrupt


def _interrupt() -> None:
    _again.set()
    if hasattr(signal, "pthread_kill"):  # a real signal: it also ends a wait for something outside Python
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        _thread.interrupt_main()


_SECONDS_BETWEEN_REPORTS = 0.1
_SECONDS_BETWEEN_TICKS = 1.0
"""So often the line of a terminal is drawn anew although nothing was reported: the time goes on."""
_SECONDS_BETWEEN_LINES = 60.0
_BAR = 24
_ERASE = "\r\033[K"


class _Line:
    """What is shown of a command's progress."""

    def __init__(self) -> None:
        from symveil.numbers.progress import Phases

        self.phases = Phases()
        self._looking = sys.stderr.isatty()
        self._lock = threading.Lock()
        self.ended = threading.Event()  # set at the end of the command, whatever else fails there
        self._drawn = 0.0
        self._resting = True
        self._ticker: threading.Thread | None = None

    def tell(self, done: int, total: int | None, what: str = "", records: int | None = None) -> None:
        """Take a report of the command's own work."""
        self._take(done, total, what, records, behind=False)

    def hear(self, done: int, total: int | None, what: str = "", records: int | None = None) -> None:
        """Take a report from behind it: of a search, or of a file that is read; from any thread."""
        self._take(done, total, what, records, behind=True)

    def _take(self, done: int, total: int | None, what: str, records: int | None, *, behind: bool) -> None:
        stop_if_interrupted()
        with self._lock:
            self.phases.report(done, total, what, records, behind=behind)
            self._resting = False
            last = done == total
            if self._looking and (last or time.monotonic() - self._drawn >= _SECONDS_BETWEEN_REPORTS):
                self._draw()
        self.start()

    def start(self) -> None:
        """Let the time go on where nothing is reported."""
        if self._ticker is None:
            self._ticker = threading.Thread(target=self._tick, name="symveil progress", daemon=True)
            self._ticker.start()

    def label(self, label: str, passes: tuple[str, ...]) -> None:
        """What the work is called from now on, and which passes are to come."""
        with self._lock:
            self.phases.label, self.phases.passes, self._resting = label, passes, False
        self.start()

    def rest(self) -> None:
        """Erase the line, until there is another report: something else is printed."""
        with self._lock:
            self._resting = True
            if self._drawn:
                self._drawn = 0.0
                with suppress(Exception):
                    sys.stderr.write(_ERASE)
                    sys.stderr.flush()

    def end(self) -> None:
        """Erase the line, and wait until nothing is left running: it has ended."""
        self.rest()
        if self._ticker is not None:
            self._ticker.join(_SECONDS_BETWEEN_TICKS)  # at once, unless nobody reads what it writes

    def _tick(self) -> None:
        while not self.ended.wait(_SECONDS_BETWEEN_TICKS if self._looking else _SECONDS_BETWEEN_LINES):
            with self._lock:
                if self._resting or self.ended.is_set() or not self.phases.begun:
                    continue
                if self._looking:
                    self._draw()
                else:
                    with suppress(Exception):
                        sys.stderr.write(f"symveil: progress: {self.phases.for_a_log()}\n")
                        sys.stderr.flush()

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        share, text = self.phases.share, self.phases.text()
        if share is not None:
            full = int(share * _BAR)
            text = f"[{'#' * full}{'-' * (_BAR - full)}] {text}"
        import shutil

        width = shutil.get_terminal_size().columns - 1
        with suppress(Exception):  # a terminal that went away
            sys.stderr.write(f"{_ERASE}{text[:width]}")
            sys.stderr.flush()


_lines: list[_Line] = []


@contextmanager
def progress_bar(label: str, *, passes: tuple[str, ...] = ()) -> Iterator[Progress]:
    """One line for all progress of a command, on standard error; yields what tells it.

    On a terminal it is drawn from the first report on, and erased at the end. Elsewhere there is a line a
    minute. A bar inside another is the same line under another name, so that the time is that of the whole command.
    Searches behind a mechanism (certificates) tell it too, also those of threads that draw.

    The label is "" where a command may have nothing to say. Names of the passes over a file that are to come share one
    bar.
    """
    if _lines:
        line = _lines[-1]
        line.label(label, passes)
        try:
            yield line.tell
        finally:
            line.rest()
        return
    line = _Line()
    _lines.append(line)
    try:
        if label:
            line.label(label, passes)
        from symveil.numbers.progress import reporting_to

        with reporting_to(line.hear):
            yield line.tell
    finally:
        _lines.remove(line)
        line.ended.set()
        with suppress(Exception):  # a command that is done has not failed because its line could not be erased
            line.end()


def rest() -> None:
    """Erase the line of progress, if there is one: something is printed."""
    for line in _lines:
        line.rest()
