"""Feeds one parser for a while, in a process of its own: `python -m fuzz.runner MODULE TARGET SECONDS SEED FOLDER`.

Every input must be read, or be refused with a SymveilError, without a warning and without a word on the
standard streams. What else happens:

* another exception, also where memory is short (the process may use so much and no more): reported with its
  traceback, once for each place, and the run goes on;
* more processor time on one input than `LIMIT` allows: the kernel's profiling timer ends the process, which
  also works inside a library's C code; faulthandler writes where it was;
* a wait, of which no processor time tells: inputs that stand for pipes and devices (`special`) also have `PATIENCE`
  by the clock;
* a crash: the process is gone.

In the last three cases `FOLDER/input` is what was being read. A loaded machine reads fewer inputs in its time,
though never fewer than `LEAST`; what one input may take is processor time, and the same everywhere.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import json
import os
import re
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from fuzz.mutations import nests, spoil
from fuzz.special import MARK, SPECIAL

LEAST = 150  # inputs, however slow the machine is: a run that reads nothing shows nothing
PATIENCE = 60.0  # seconds by the clock, where nothing but a refusal is to be done, however loaded the machine is
MEMORY = 1 << 30  # bytes of address space besides what the libraries take

_VARIABLE = re.compile(r"[0-9]+|'[^']*'|\"[^\"]*\"")


@dataclass(frozen=True)
class Target:
    """A parser, and examples of what it reads."""

    parse: Callable[[bytes, Path], object]
    """Reads an input; the folder is for files."""
    examples: tuple[bytes, ...] = ()
    is_json: bool = False
    make: Callable[[Random], bytes] | None = None
    """A generator that knows the structure; used for a third of the inputs."""
    prepare: Callable[[Path], tuple[bytes, ...]] | None = None
    """Makes examples that take some doing, such as a ledger."""
    limit: float = 20.0
    """Seconds of processor time for one input."""
    more: tuple[bytes, ...] = ()
    """Inputs to begin with, besides special files and nesting, which every parser gets."""


@dataclass
class Report:
    """What a run found."""

    inputs: int = 0
    refused: int = 0
    kinds: int = 0
    failures: list[dict[str, str]] = field(default_factory=list)


def run(target: Target, *, seconds: float, seed: int, folder: Path) -> Report:
    """Feed a parser; return what came of it."""
    from symveil.errors import SymveilError

    random, report = Random(seed), Report()
    examples = [*target.examples, *(target.prepare(folder) if target.prepare else ())]
    current, answers, places = folder / "input", set[str](), set[str]()
    for example in examples:  # the examples are right: what is wrong with the others is what was done to them
        target.parse(example, folder)
    _bound_memory()
    first = [*SPECIAL, *target.more, *(nests(examples[0]) if examples else [])][::-1]
    started = time.monotonic()
    while first or report.inputs < LEAST or time.monotonic() - started < seconds:
        if first:
            content = first.pop()
        elif target.make is not None and (not examples or random.random() < 0.33):
            content = target.make(random)
        else:
            content = spoil(random, examples, is_json=target.is_json)
        current.write_bytes(content)
        report.inputs += 1
        signal.setitimer(signal.ITIMER_PROF, target.limit)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE if MARK in content else 0.0)
        try:
            answer = f"read: {type(target.parse(content, folder)).__name__}"
        except SymveilError as error:
            report.refused += 1
            expected = str(error).replace(str(folder), "").partition(", found")[0]
            answer = _VARIABLE.sub("…", expected)
            if len(str(error).splitlines()) != 1:
                report.failures.append(_failure(content, f"a message of several lines: {error}"))
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            answer = f"{type(error).__name__} {where.filename}:{where.lineno}"
            if answer not in places:
                places.add(answer)
                report.failures.append(_failure(content, traceback.format_exc()))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
        if answer not in answers and len(content) < 20_000 and MARK not in content:  # a new answer: more of this kind
            answers.add(answer)
            examples.append(content)
        if len(report.failures) >= 20:
            break
    report.kinds = len(answers)
    return report


def _failure(content: bytes, what: str) -> dict[str, str]:
    return {"input": content.decode("latin-1"), "what": what}


def _bound_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else None
    if pages is not None:
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


def main(arguments: list[str]) -> None:
    """Run as told; the report goes to `FOLDER/report.json`."""
    module, name, seconds, seed, place = arguments
    folder = Path(place)
    warnings.simplefilter("error")
    target: Target = vars(importlib.import_module(module))["TARGETS"][name]
    with (folder / "hang").open("w") as hang, (folder / "said").open("w+b") as said:
        for timer in (signal.SIGPROF, signal.SIGALRM):
            faulthandler.register(timer, file=hang, all_threads=True, chain=True)
        kept = [os.dup(1), os.dup(2)]
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
        report = run(target, seconds=float(seconds), seed=int(seed), folder=folder)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(ValueError):
                stream.flush()
        for number, stream in enumerate(kept, start=1):
            os.dup2(stream, number)
        said.seek(0)
        words = said.read(2000)
        if words:
            report.failures.append({"input": "", "what": f"wrote to the standard streams: {words!r}"})
    document: dict[str, Any] = vars(report)
    (folder / "report.json").write_text(json.dumps(document))


def started(module: str, name: str, seconds: float, seed: int, place: str) -> None:
    """`main` in a process that was forked: with a cache of its own, as a new process would have."""
    os.environ["SYMVEIL_CACHE"] = str(Path(place) / "cache")
    main([module, name, str(seconds), str(seed), place])


if __name__ == "__main__":
    main(sys.argv[1:])
