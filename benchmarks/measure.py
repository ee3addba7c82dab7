"""Timing: everything that is compared is timed in turns in one process, and the best of several counts.

Other work on the machine can only make a run slower, so the least of many times is the one nearest to
the truth; and because the runs alternate, a slow minute hits all sides alike.
"""

from __future__ import annotations

import gc
import importlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TypeVar

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to do: all of it, or a quick look."""

    quick: bool = False

    def of(self, full: Value, quick: Value) -> Value:
        """The value for this effort."""
        return quick if self.quick else full


@dataclass(frozen=True, slots=True)
class Task:
    """Something to time: a call that does `units` units of work."""

    run: Callable[[], object]
    units: int = 1


def repeated(call: Callable[[], object], times: int) -> Task:
    """A task that makes a short call many times, so that the clock's own cost does not matter."""

    def run() -> None:
        for _ in range(times):
            call()

    return Task(run, times)


def best_times(tasks: Mapping[str, Task], *, rounds: int) -> dict[str, float]:
    """The least seconds per unit of each task over `rounds` rounds, every task once a round.

    One uncounted round comes first: it fills caches and builds the tables that a mechanism keeps.
    """
    for task in tasks.values():
        task.run()
    best = dict.fromkeys(tasks, math.inf)
    names = list(tasks)
    collecting = gc.isenabled()
    gc.disable()
    try:
        for turn in range(rounds):
            first = turn % len(names)
            for name in names[first:] + names[:first]:
                task = tasks[name]
                start = time.perf_counter()
                task.run()
                best[name] = min(best[name], (time.perf_counter() - start) / task.units)
    finally:
        if collecting:
            gc.enable()
    return best


def fitted_exponent(sizes: Sequence[int], times: Sequence[float]) -> float:
    """The slope of ln time over ln size, by least squares: 1 for a cost that grows linearly."""
    x = [math.log(size) for size in sizes]
    y = [math.log(seconds) for seconds in times]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return covariance / sum((a - mean_x) ** 2 for a in x)


@dataclass(frozen=True, slots=True)
class Peer:
    """Another library, or the reason why it cannot be timed."""

    module: ModuleType | None
    reason: str = ""


def find_peer(module: str) -> Peer:
    """Import a peer; a missing or broken one is a note in the table, never a crash."""
    try:
        return Peer(importlib.import_module(module))
    except ModuleNotFoundError as error:
        if module.partition(".")[0] == (error.name or "").partition(".")[0]:
            return Peer(None, "peer not installed")
        return Peer(None, f"peer cannot be imported: {error}")
    except ImportError as error:
        return Peer(None, f"peer cannot be imported: {str(error).split(' (')[0]}")
