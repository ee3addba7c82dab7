"""What long work is at: its phases by name, from the reports of all its parts, for a bar, a log or a page.

Reports come from the work that was asked for, from passes over files, and from searches behind both (certificates),
perhaps of several threads at once. One line tells all of it, with one bar that never moves back: what begins again has
a number and a percentage, and the time is that of the whole work.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

_WHOLE = 100
_ENOUGH_SHARE, _ENOUGH_SECONDS = 0.1, 5.0
"""From where on the time that is left is told: so much of a pass, and so many seconds of it."""
_RECENT = 5.0
"""Seconds for which a search is shown beside the work after its last report."""


@dataclass(slots=True)
class _Phase:
    name: str
    began: float
    told: float
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
            current = _Phase(name, began=now, told=now, behind=behind)
        current.done, current.total, current.records, current.told = done, total, records, now
        current.rounds = self._rounds[kind]
        if search:
            self._search = current
        else:
            self._run = current

    def _shown(self, now: float) -> tuple[_Phase | None, _Phase | None]:
        """The work and the search that a line speaks of: what is over is left out."""
        run, search = self._run, self._search
        if run is not None and search is not None:
            if search.told < run.began or now - search.told > _RECENT:
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
        steady = self._search is None or self._search.told < run.began
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
