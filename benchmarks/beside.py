"""`python -m benchmarks.beside REVISION`: an earlier version beside this tree, in turns, on names that both have.

Two versions of a package cannot live in one process, so each has a process of its own. Both stay alive, do a task in
turns and are timed inside, in processor time, so that neither importing nor a slow minute of the machine is counted for
one side only.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import symveil as sv
from benchmarks.measure import processor_seconds

ROOT = Path(__file__).resolve().parents[1]
WORSE_BY = 1.10
"""The bar: no task may take longer than this times what it took before."""

Job = Callable[[], object]


def _release(kind: str, *, size: int, length: int, count: int, **parameters: object) -> Job:
    words = sv.words(alphabet=[f"s{index}" for index in range(size)], length=length)
    mechanism = getattr(sv, kind)(words, epsilon=4, **parameters)
    codes = np.random.default_rng(1).integers(0, size, (count, length), dtype=np.int32)
    return lambda: mechanism.release_codes(codes)


def _town() -> object:
    """A grid of one-way and two-way streets: written here, because examples have moved between versions."""
    side = 7
    rows = []
    for x in range(side):
        for y in range(side):
            near = [(x + 1, y), (x, y + 1), (x - 1, y)] if (x + y) % 2 else [(x + 1, y), (x, y - 1), (x, y + 1)]
            near = [(i % side, j % side) for i, j in near]
            rows += [(f"{x},{y}", f"{i},{j}", "1/3") for i, j in dict.fromkeys(near)]
    return sv.MarkovChain.from_transitions(rows)


def _on_a_model(kind: str, *, count: int, **parameters: object) -> Job:
    language = sv.runs(_town(), length=12)  # type: ignore[arg-type]
    mechanism = getattr(sv, kind)(language, epsilon=6, adjacency=2, **parameters)
    chain = _town()
    follow: dict[str, list[str]] = {}
    for source, target, _ in chain.transitions:  # type: ignore[attr-defined]
        follow.setdefault(source, []).append(target)
    chooser = np.random.default_rng(2)
    trips = []
    for _ in range(count):
        trip = [str(chooser.choice(sorted(follow)))]
        while len(trip) < 12:
            trip.append(str(chooser.choice(follow[trip[-1]])))
        trips.append(language.encode(trip))
    codes = np.array(trips, dtype=np.int32)
    return lambda: mechanism.release_codes(codes)


def _file(suffix: str, **parameters: object) -> Job:
    folder = Path(tempfile.mkdtemp())
    chooser = np.random.default_rng(3)
    source = folder / "in.csv"
    with source.open("w") as file:
        file.write("id,sequence\n")
        for index in range(100_000):
            file.write(f"{index},{' '.join(chooser.choice(list('abcdef'), 5))}\n")
    return lambda: sv.privatize_file(source, folder / f"out{suffix}", alphabet="abcdef", epsilon=3, **parameters)


def _edits() -> Job:
    mechanism = sv.EditChannel(alphabet="abcdef", epsilon=5, max_length=30)
    words = ["abcdefabcdef"] * 3000
    return lambda: mechanism.release_many(words)


def _privacy() -> Job:
    chain = sv.load_model(ROOT / "examples" / "pin_checker.json")
    return lambda: sv.verify_privacy(chain, alpha="6/5")  # type: ignore[arg-type]


def _opacity() -> Job:
    system = sv.load_model(ROOT / "examples" / "medical.json")
    return lambda: [sv.verify_opacity(system, k=2) for _ in range(20)]  # type: ignore[arg-type]


def _command(*arguments: str) -> Job:
    return lambda: subprocess.run([sys.executable, "-m", "symveil", *arguments], check=True, capture_output=True)


TASKS: dict[str, Callable[[], Job]] = {
    "exponential, 200,000 words of 20 over 17": lambda: _release("Exponential", size=17, length=20, count=200_000),
    "staircase, 100,000 words of 10 over 6": lambda: _release(
        "Staircase", size=6, length=10, count=100_000, adjacency=3
    ),
    "permute-and-flip, 20,000 words of 8 over 4": lambda: _release("PermuteAndFlip", size=4, length=8, count=20_000),
    "edit channel, 3,000 words of 12": _edits,
    "exponential on 49 streets, 20,000 trips": lambda: _on_a_model("Exponential", count=20_000, calibration="classic"),
    "online on 49 streets, 300 trips": lambda: _on_a_model("Online", count=300),
    "a file of 100,000 sequences, CSV": lambda: _file(".csv"),
    "a file of 100,000 sequences, staircase, CSV": lambda: _file(".csv", mechanism="staircase", adjacency=2),
    "verify_privacy, PIN checker": _privacy,
    "verify_opacity, hospital, 20 times": _opacity,
    "symveil --help": lambda: _command("--help"),
    "symveil explain": lambda: _command("explain", "abc", "--alphabet", "abc", "--epsilon", "2", "--json"),
}


def _serve() -> None:
    """The child: does the task it is told, and says how many seconds of processor time that took."""
    jobs: dict[str, Job] = {}
    for line in sys.stdin:
        name = json.loads(line)
        if name not in jobs:
            jobs[name] = TASKS[name]()
            jobs[name]()  # compiles, fills caches
        begin = processor_seconds()
        jobs[name]()
        print(json.dumps(processor_seconds() - begin), flush=True)


class _Side:
    """A process that has one version's package."""

    def __init__(self, source: Path, cache: Path) -> None:
        environment = os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{ROOT}", "XDG_CACHE_HOME": str(cache)}
        environment |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(cache)}  # for both alike
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from benchmarks.beside import _serve; _serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            cwd=cache,
            text=True,
        )

    def seconds(self, name: str) -> float:
        """How long the task takes, once."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(name), file=self._process.stdin, flush=True)
        return float(json.loads(self._process.stdout.readline()))

    def end(self) -> None:
        """No more tasks."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 where a task takes more than 10 % longer than in the earlier version."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.beside", description=__doc__)
    parser.add_argument("revision", help="a tag or a commit of this repository")
    parser.add_argument("--rounds", type=int, default=9, help="each task so often on each side; the least time counts")
    parser.add_argument(
        "--only", metavar="PART", action="append", help="tasks with this in their names; may be repeated"
    )
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    asked = parser.parse_args(arguments)
    archive = subprocess.run(
        [shutil.which("git") or "git", "archive", asked.revision, "src"], cwd=ROOT, check=True, capture_output=True
    ).stdout
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        before_source = Path(folder, "before")
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            packed.extractall(before_source, filter="data")
        for name in ("cache-before", "cache-now"):
            Path(folder, name).mkdir()
        before = _Side(before_source / "src", Path(folder, "cache-before"))
        now = _Side(ROOT / "src", Path(folder, "cache-now"))
        for task in [name for name in TASKS if not asked.only or any(part in name for part in asked.only)]:
            print(f"{task} …", file=sys.stderr, flush=True)
            least = [math.inf, math.inf]
            for _ in range(asked.rounds):
                least = [min(least[0], before.seconds(task)), min(least[1], now.seconds(task))]
            rows.append({"task": task, "before": least[0], "now": least[1], "ratio": least[1] / least[0]})
        before.end()
        now.end()
    table = Table("task", f"{asked.revision} (s)", "now (s)", "now / before")
    for row in rows:
        table.add_row(row["task"], f"{row['before']:.3g}", f"{row['now']:.3g}", f"{row['ratio']:.2f}")  # type: ignore[arg-type]
    Console().print(table)
    if asked.json:
        asked.json.write_text(json.dumps({"revision": asked.revision, "rows": rows}, indent=1) + "\n")
    return int(any(float(row["ratio"]) > WORSE_BY for row in rows))  # type: ignore[arg-type]


if __name__ == "__main__":
    sys.exit(main())
