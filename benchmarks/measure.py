"""Timing: everything that is compared is timed in turns in one process, and the best of several counts.

Times are processor time, of all threads and of child processes: what waits for other work is not counted. What is left
of that work, such as shared caches, can only make a run slower, so the least of many times is the one nearest to the
truth; and because the runs alternate, a slow minute hits all sides alike.
"""

from __future__ import annotations

import gc
import importlib
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to do: all of it, or a quick look; and with what takes many minutes, or without."""

    quick: bool = False
    thorough: bool = False

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


def processor_seconds() -> float:
    """Processor time of this process, all its threads, and the child processes that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def best_times(
    tasks: Mapping[str, Task], *, rounds: int, clock: Callable[[], float] = processor_seconds
) -> dict[str, float]:
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
                start = clock()
                task.run()
                best[name] = min(best[name], (clock() - start) / task.units)
    finally:
        if collecting:
            gc.enable()
    return best


@dataclass(frozen=True, slots=True)
class Finished:
    """What a process of its own told: its answer (JSON) and the most memory it held, in MB."""

    answer: Any
    megabytes: float


# `ru_maxrss` would count what this process held when it started the other one; Linux knows better.
_ENDING = """
def _peak():
    import re, resource, sys
    try:
        return int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
import json
print(json.dumps([answer, _peak()]))
"""


def in_a_new_process(code: str, *arguments: str) -> Finished:
    """Run Python code that sets `answer`, where nothing is loaded or kept yet: for cold starts and for memory."""
    command = [sys.executable, "-c", code + _ENDING, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        raise RuntimeError(f"a new process: exit status {done.returncode}: {''.join(done.stderr.splitlines()[-1:])}")
    answer, peak = json.loads(done.stdout.splitlines()[-1])
    return Finished(answer, peak / 1e6)


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
