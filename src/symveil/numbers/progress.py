"""Progress of long work, and messages to the holder of the data, wherever in the code they arise.

Progress is one callback, whether the work is counted, goes on until it ends, or is a file.

What long work is at: its phases by name, from the reports of all its parts, for a bar, a log or a page.

Reports come from the work that was asked for, from passes over files, and from searches behind both (certificates),
perhaps of several threads at once. One line tells all of it, with one bar that never moves back: what begins again has
a number and a percentage, and the time is that of the whole work.

What readers of files say to the holder of the data, wherever in the code they are. `tell_holder`: whether there is a
message may depend on secrets. Where standard error is a file or a pipe, others may read it, so the message goes to a
terminal, and nowhere else. `note_input`: about the form of a file, and no secret.
"""

from __future__ import annotations

import inspect
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from symveil.errors import SymveilWarning

Progress = Callable[[int, int | None], None]
"""Called now and then with how much is done, and of how much: None where that is unknown.

One that takes `what` by name receives what is being done where the work has parts with names; one that takes `records`
by name receives how many records of a file were read. It may raise an exception to end the work.
"""


def silent(done: int, total: int | None) -> None:
    """A progress callback that does nothing."""


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
    """Progress of one part of the work, from `begin` to `end` of all of it; its beginning is reported at once.

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
def reporting_to(progress: Progress) -> Iterator[None]:
    """Within it, searches that no caller hands a callback (those behind a property) tell this one.

    >>> with reporting_to(lambda done, total: print(done, total)):
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
    """The callback for searches, under the name of what is being done; None where there is no callback."""
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


_WHOLE = 100
_ENOUGH_SHARE, _ENOUGH_SECONDS = 0.1, 5.0
"""From where on the time that is left is shown: so much of a pass, and so many seconds of it."""
_RECENT = 5.0
"""Seconds for which a search is shown beside the work after its last report."""


@dataclass(slots=True)
class _Phase:
    name: str
    began: float
    reported: float
    behind: bool
    done: int = 0
    total: int | None = None
    records: int | None = None
    rounds: int = 1

    @property
    def share(self) -> float | None:
        return None if self.total is None else min(1.0, self.done / max(self.total, 1))


@dataclass(slots=True)
class Phases:
    """How far long work is, in words.

    Parameters
    ----------
    label
        What the work is called where a report has no name of its own; "" where nothing is to be said before one has.
    passes
        The names of passes that are to come, one after the other, where that is known: they share one bar.
    clock
        The time in seconds.

    >>> seconds = iter([0, 0, 30, 40, 60])
    >>> phases = Phases("privatising", clock=lambda: next(seconds))
    >>> phases.report(0, 1000, "releasing", records=0)
    >>> phases.report(500, 1000, "releasing", records=20_000)
    >>> phases.text()
    'releasing 50 %, 20,000 sequences, about 40 s left, 0:40'
    >>> phases.for_a_log()
    'releasing, 1 min so far'
    """

    label: str = ""
    passes: tuple[str, ...] = ()
    clock: Callable[[], float] = time.monotonic
    _began: float = field(init=False)
    _run: _Phase | None = None
    _search: _Phase | None = None
    _rounds: dict[str, int] = field(default_factory=dict)
    _known: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._began = self.clock()

    @property
    def begun(self) -> bool:
        """Whether there is something to say."""
        return bool(self.label) or self._run is not None or self._search is not None

    def report(
        self, done: int, total: int | None, what: str = "", records: int | None = None, *, behind: bool = False
    ) -> None:
        """A report of progress, as `numbers.progress.Progress` describes it.

        Parameters
        ----------
        done, total, what, records
            As `Progress` has them.
        behind
            Whether it comes from behind the work that was asked for: a certificate, a file that is read for it.
        """
        now, name = self.clock(), what or self.label
        search = behind and records is None
        current = self._search if search else self._run
        kind = name.partition(" ")[0] if search else name
        again = name in self._known and done < self._known[name]
        if name not in self._known or again:
            self._rounds[kind] = self._rounds.get(kind, 0) + 1
        self._known[name] = done
        if current is not None and not again and not behind and current.total == total and done >= current.done:
            current.name = name  # the next part of one whole
        elif current is None or current.name != name or again:
            current = _Phase(name, began=now, reported=now, behind=behind)
        current.done, current.total, current.records, current.reported = done, total, records, now
        current.rounds = self._rounds[kind]
        if search:
            self._search = current
        else:
            self._run = current

    def _shown(self, now: float) -> tuple[_Phase | None, _Phase | None]:
        """The work and the search that a line speaks of: what is over is left out."""
        run, search = self._run, self._search
        if run is not None and search is not None:
            if search.reported < run.began or now - search.reported > _RECENT:
                search = None
            elif run.share == 1.0:
                run = None
        return run, search

    def _share(self, run: _Phase) -> float | None:
        """How much is done, of all passes that are to come."""
        if run.share is None or run.name not in self.passes:
            return run.share
        return (self.passes.index(run.name) + run.share) / len(self.passes)

    @property
    def share(self) -> float | None:
        """How much is done, for a bar that never moves back; None where there is none."""
        run = self._shown(self.clock())[0]
        return None if run is None or run.behind or run.rounds > 1 else self._share(run)

    def _left(self, run: _Phase, now: float) -> str:
        """The time that is left, where it holds: of the last pass over a file, without a search in it."""
        share, took = run.share, now - run.began
        steady = self._search is None or self._search.reported < run.began
        last = run.name == (self.passes or (run.name,))[-1]
        if run.records is None or run.behind or run.rounds > 1 or not (steady and last) or share is None or share >= 1:
            return ""
        if share < _ENOUGH_SHARE or took < _ENOUGH_SECONDS:
            return ""
        left = round(took * (1 - share) / share, 3)
        return f"about {math.ceil(left / 10) * 10} s left" if left <= 90 else f"about {math.ceil(left / 60)} min left"

    def text(self) -> str:
        """One line for the holder: the phase, how far it is, the time left where that holds, the time so far."""
        now = self.clock()
        run, search = self._shown(now)
        parts = []
        if run is not None:
            again = f" (pass {run.rounds})" if run.rounds > 1 else ""
            parts.append(f"{run.name}{again}{_far(run, self._share(run))}")
            if run.records is not None:
                parts.append(f"{run.records:,} sequences")
            parts.append(self._left(run, now))
        if search is not None:
            number = f" (search {search.rounds})" if search.rounds > 1 else ""
            parts.append(f"{search.name}{number}{_far(search, search.share)}")
        if not parts:
            parts.append(self.label)
        minutes, seconds = divmod(int(now - self._began), 60)
        return ", ".join(filter(None, [*parts, f"{minutes}:{seconds:02d}"]))

    def for_a_log(self) -> str:
        """One line that others may read: the phase and the minutes; of a file nothing that depends on its words."""
        now = self.clock()
        run, search = self._shown(now)
        parts = [] if run is None else [run.name]
        if search is not None:
            parts.append(f"{search.name}{_far(search, search.share)}")
        return ", ".join([*(parts or [self.label]), f"{int((now - self._began) // 60)} min so far"])


def _far(phase: _Phase, share: float | None) -> str:
    if share is None:
        return f" {phase.done:,}" if phase.done else ""
    return f" {math.floor(_WHOLE * share)} %"


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
