"""One line of progress for a whole command: a bar on a terminal, a line a minute where nobody is looking."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from symveil.cli.interrupts import stop_if_interrupted
from symveil.numbers.phases import Phases
from symveil.numbers.progress import Progress, heard_by

_SECONDS_BETWEEN_REPORTS = 0.1
_SECONDS_BETWEEN_TICKS = 1.0
"""So often the line of a terminal is drawn anew although nothing was reported: the time goes on."""
_SECONDS_BETWEEN_LINES = 60.0
_BAR = 24
_ERASE = "\r\033[K"


class _Line:
    """What is shown of a command's progress."""

    def __init__(self) -> None:
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
        width = shutil.get_terminal_size().columns - 1
        with suppress(Exception):  # a terminal that went away
            sys.stderr.write(f"{_ERASE}{text[:width]}")
            sys.stderr.flush()


_lines: list[_Line] = []


@contextmanager
def progress_bar(label: str, *, passes: tuple[str, ...] = ()) -> Iterator[Progress]:
    """One line for all progress of a command, on standard error; yields what tells it.

    On a terminal it is drawn from the first report on, and erased at the end. Where nobody is looking there is a line a
    minute. A bar inside another is the same line under another name, so that the time is that of the whole command.
    Searches behind a mechanism (certificates) tell it too, also those of threads that draw.

    Parameters
    ----------
    label
        What the work is called until a report has a name of its own; "" where a command may have nothing to say.
    passes
        The names of the passes over a file that are to come, where that is known: they share one bar.
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
        with heard_by(line.hear):
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
