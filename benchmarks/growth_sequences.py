"""How the time grows with the number of sequences in a file: linearly, with a ledger and without one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.files import ALPHABET, COPY, generated_sessions
from benchmarks.fit import Growth
from benchmarks.measure import Effort, Task, best_times
from benchmarks.row import Benchmark, Row, duration
from symveil.tasks.budgets import grant_budget
from symveil.tasks.privatize_file import privatize_file

_LINEAR = 1.15


def parquet(effort: Effort) -> Iterator[Row]:
    """Generated page sessions, Parquet to Parquet."""
    sizes = effort.of((30_000, 100_000, 300_000, 1_000_000), (1_000, 3_000, 10_000))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tasks: dict[str, Task] = {}
        for size in sizes:
            source = generated_sessions(folder / f"{size}.parquet", size)
            ledger = folder / f"{size}.db"
            grant_budget(ledger, 10**6, everyone=True)
            tasks |= {
                f"plain {size}": Task(lambda s=source: _privatize(s, folder)),
                f"charged {size}": Task(lambda s=source, b=ledger: _privatize(s, folder, ledger=b)),
                f"copy {size}": Task(lambda s=source: pq.write_table(pq.read_table(s), folder / "copy.parquet")),
            }
        times = best_times(tasks, rounds=effort.of(2, 1))
    copy = tuple(times[f"copy {size}"] for size in sizes)
    for what, kind in (("privatize, no ledger", "plain"), ("privatize, SQLite ledger", "charged")):
        seconds = tuple(times[f"{kind} {size}"] for size in sizes)
        growth = Growth(
            picture="sequences", sizes=sizes, seconds=seconds, expected=1, peer_sizes=sizes, peer_seconds=copy
        )
        yield Row(
            name=f"{what}: {sizes[0]:,} … {sizes[-1]:,} sequences", ours=seconds[-1], peer=COPY, peer_time=copy[-1],
            quantity="exponent", growth=growth, limit=_LINEAR, unit="file",
            note=f"expected n^1; from {duration(seconds[0])}",
        )  # fmt: skip


def _privatize(source: Path, folder: Path, *, ledger: Path | None = None) -> None:
    privatize_file(source, folder / "out.parquet", alphabet=ALPHABET, epsilon=2, ledger=ledger, again=True)


BENCHMARKS: list[Benchmark] = [parquet]
