"""How long a person waits for the command line: new processes, against Python importing numpy."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from benchmarks.distances import random_chain
from benchmarks.measure import Effort, Task, best_times, in_a_new_process
from benchmarks.row import Benchmark, Row
from symveil.formats.models.model_files import save_model

_PEER = "python -c 'import numpy'"
_EXAMPLE = ["abcab", "--alphabet", "abc", "--epsilon", "2"]
_COMMANDS: list[tuple[list[str], float]] = [
    (["--help"], 0.3),
    (["release", *_EXAMPLE], 1.0),
    (["explain", *_EXAMPLE], 1.0),
]


def _symveil() -> list[str]:
    script = Path(sys.executable).with_name("symveil")
    return [str(script)] if script.exists() else [sys.executable, "-m", "symveil.cli.main"]


def _start(command: list[str]) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)


def new_processes(effort: Effort) -> Iterator[Row]:
    """The best of five starts of each command."""
    tasks = {_PEER: Task(lambda: _start([sys.executable, "-c", "import numpy"]))}
    reasons: dict[str, str] = {}
    for arguments, _ in _COMMANDS:
        name = " ".join(["symveil", *arguments])
        command = [*_symveil(), *arguments]
        try:
            _start(command)
        except (OSError, subprocess.SubprocessError) as error:
            status = getattr(error, "returncode", None)
            reasons[name] = "not available" if status is None else f"not available: exit status {status}"
        else:
            tasks[name] = Task(lambda command=command: _start(command))
    times = best_times(tasks, rounds=effort.of(5, 2))
    for arguments, limit in _COMMANDS:
        name = " ".join(["symveil", *arguments])
        yield Row(
            name=name,
            ours=times.get(name),
            peer=_PEER,
            peer_time=times[_PEER],
            quantity="seconds",
            limit=limit,
            unit="process",
            note=reasons.get(name, ""),
        )


_COMPILING = """
import sys, time
from symveil.cli.main import main
from symveil.languages.loops import machine

answer, code_for = 0.0, machine.code_for
def timed(function, arguments):
    global answer
    start = time.thread_time()
    try:
        return code_for(function, arguments)
    finally:
        answer += time.thread_time() - start
machine.code_for = timed
sys.argv = ["symveil", *sys.argv[1:]]
try:
    main()
except SystemExit:
    pass
"""


def first_use(effort: Effort) -> Iterator[Row]:
    """The seconds a command waits for a compiler where no loop was ever compiled: fresh from the installation."""
    with tempfile.TemporaryDirectory() as folder:
        save_model(random_chain(60), Path(folder) / "chain.json")
        chain = ("a chain of 60 states", ["verify", f"{folder}/chain.json", "--alpha", "6/5", "--pair", "0,2"])
        for name, arguments in effort.of([chain, ("every published figure", ["reproduce"])], [chain]):
            kept = {"NUMBA_CACHE_DIR": f"{folder}/{arguments[0]}", "SYMVEIL_CACHE": ""}
            with mock.patch.dict(os.environ, kept):
                done = in_a_new_process(_COMPILING, *arguments)
            yield Row(
                name=f"symveil {arguments[0]}, first use: waiting for the compiler",
                ours=done.answer, peer="", peer_time=None, quantity="seconds", limit=3.0, unit="process",
                note=f"{name}; CPU time with empty caches",
            )  # fmt: skip


BENCHMARKS: list[Benchmark] = [new_processes, first_use]
