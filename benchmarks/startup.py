"""How long a person waits for the command line: new processes, against Python importing numpy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Effort, Task, best_times
from benchmarks.row import Benchmark, Row

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


BENCHMARKS: list[Benchmark] = [new_processes]
