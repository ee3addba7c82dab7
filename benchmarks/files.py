"""Files of millions: MSNBC's 989,818 sessions, Parquet to Parquet, against pyarrow copying the same file.

The data is not part of the repository: without it (`SYMVEIL_DATA`, or `shared/data` beside the
repository) a file with the same lengths in the mean is generated.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import Effort, Task, best_times
from benchmarks.row import Benchmark, Row
from symveil.workflows.budgets import grant_budget
from symveil.workflows.privatize_file import privatize_file

ALPHABET = [str(page) for page in range(1, 18)]
_COPY = "pyarrow: read and write the same file"
_SESSIONS = 989_818
_LARGEST_MEMORY = 1000  # MB

_IN_A_NEW_PROCESS = """
import resource, sys
from symveil.workflows.privatize_file import privatize_file
privatize_file(sys.argv[1], sys.argv[2], alphabet=sys.argv[3].split(","), epsilon=2, ledger=sys.argv[4] or None)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def sessions(folder: Path, rows: int) -> tuple[Path, str]:
    """A Parquet file of page sessions, and what it is."""
    places = [os.environ.get("SYMVEIL_DATA"), Path(__file__).resolve().parents[2] / "shared" / "data"]
    for place in places:
        if place and rows == _SESSIONS and Path(place, "msnbc.parquet").exists():
            return Path(place, "msnbc.parquet"), "MSNBC"
    chance = np.random.default_rng(1)
    lengths = np.minimum(chance.geometric(0.21, rows), 500)
    pages = pa.array(chance.integers(1, 18, lengths.sum()), type=pa.int8())
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    path = folder / "sessions.parquet"
    pq.write_table(pa.table({"pages": pa.ListArray.from_arrays(offsets, pages)}), path)
    return path, "generated sessions"


def parquet_to_parquet(effort: Effort) -> Iterator[Row]:
    """Without a ledger as a multiple of a plain copy; with one in seconds; and the memory of a whole run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, what = sessions(folder, effort.of(_SESSIONS, 20_000))
        rows = pq.ParquetFile(source).metadata.num_rows
        tasks = {
            _COPY: Task(lambda: pq.write_table(pq.read_table(source), folder / "copy.parquet"), rows),
            "plain": Task(lambda: privatize_file(source, folder / "o.parquet", alphabet=ALPHABET, epsilon=2), rows),
        }
        times = best_times(tasks, rounds=effort.of(5, 2))
        yield Row(
            name=f"privatize {what}, ε = 2, no ledger",
            ours=times["plain"],
            peer=_COPY,
            peer_time=times[_COPY],
            quantity="cost",
            limit=8.0,
            unit="sequence",
            note=f"{rows} sequences in {times['plain'] * rows:.2f} s",
        )
        ledger = folder / "ledger.db"
        grant_budget(ledger, 1000, everyone=True)
        charged = Task(
            lambda: privatize_file(source, folder / "l.parquet", alphabet=ALPHABET, epsilon=2, ledger=ledger)
        )
        # the uncounted first round meets every person for the first time, the others find them there
        yield Row(
            name=f"privatize {what}, ε = 2, SQLite ledger",
            ours=best_times({"charged": charged}, rounds=1)["charged"],
            peer=_COPY,
            peer_time=times[_COPY] * rows,
            quantity="seconds",
            limit=25.0,
            unit="file",
            note=f"each of {rows} sequences a person",
        )
        yield from _memory(source, folder, what)


def _memory(source: Path, folder: Path, what: str) -> Iterator[Row]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fresh = str(folder / "fresh.db")
    grant_budget(fresh, 2, everyone=True)
    command = [
        sys.executable,
        "-c",
        _IN_A_NEW_PROCESS,
        str(source),
        str(folder / "m.parquet"),
        ",".join(ALPHABET),
        fresh,
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    megabytes = int(done.stdout) / 1024
    yield Row(
        name=f"privatize {what}: peak memory",
        ours=megabytes,
        peer="this process",
        peer_time=before / 1024,
        quantity="megabytes",
        limit=float(_LARGEST_MEMORY),
        unit="file",
        note="a new process, with a new SQLite ledger",
    )


BENCHMARKS: list[Benchmark] = [parquet_to_parquet]
