"""Files of millions: MSNBC's 989,818 sessions, Parquet to Parquet, against pyarrow copying the same file.

The data is not part of the repository: without it a file with the same lengths in the mean is generated.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data import data_file
from benchmarks.measure import Effort, Task, best_times, in_a_new_process
from benchmarks.row import Benchmark, Row
from symveil.tasks.budgets import grant_budget
from symveil.tasks.privatize_file import privatize_file

ALPHABET = [str(page) for page in range(1, 18)]
COPY = "pyarrow: read and write the same file"
_SESSIONS = 989_818

_PRIVATIZE = """
import sys, time
from symveil.tasks.privatize_file import privatize_file
start = time.process_time()
privatize_file(sys.argv[1], sys.argv[2], alphabet=sys.argv[3].split(","), epsilon=2, ledger=sys.argv[4] or None)
answer = time.process_time() - start
"""


def sessions(folder: Path, rows: int) -> tuple[Path, str]:
    """A Parquet file of page sessions, and what it is."""
    real = data_file("msnbc.parquet")
    if real is not None and rows == _SESSIONS:
        return real, "MSNBC"
    return generated_sessions(folder / "sessions.parquet", rows), "generated sessions"


def generated_sessions(path: Path, rows: int) -> Path:
    """A file of random sessions, about as long as MSNBC's."""
    chance = np.random.default_rng(1)
    lengths = np.minimum(chance.geometric(0.21, rows), 500)
    pages = pa.array(chance.integers(1, 18, lengths.sum()), type=pa.int8())
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    pq.write_table(pa.table({"pages": pa.ListArray.from_arrays(offsets, pages)}), path)
    return path


def parquet_to_parquet(effort: Effort) -> Iterator[Row]:
    """Without a ledger as a multiple of a plain copy; with one in seconds; and the memory of a whole run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, what = sessions(folder, effort.of(_SESSIONS, 20_000))
        rows = pq.ParquetFile(source).metadata.num_rows
        tasks = {
            COPY: Task(lambda: pq.write_table(pq.read_table(source), folder / "copy.parquet"), rows),
            "plain": Task(lambda: privatize_file(source, folder / "o.parquet", alphabet=ALPHABET, epsilon=2), rows),
        }
        times = best_times(tasks, rounds=effort.of(5, 2))
        yield Row(
            name=f"privatize {what}, ε = 2, no ledger",
            ours=times["plain"],
            peer=COPY,
            peer_time=times[COPY],
            quantity="cost",
            limit=8.0,
            unit="sequence",
            note=f"{rows} sequences in {times['plain'] * rows:.2f} s",
        )
        ledger = folder / "ledger.db"
        grant_budget(ledger, 1000, everyone=True)
        charged = Task(
            lambda: privatize_file(
                source, folder / "l.parquet", alphabet=ALPHABET, epsilon=2, ledger=ledger, again=True
            )
        )
        # the uncounted first round meets every person for the first time, the others find them there
        yield Row(
            name=f"privatize {what}, ε = 2, SQLite ledger",
            ours=best_times({"charged": charged}, rounds=1)["charged"],
            peer=COPY,
            peer_time=times[COPY] * rows,
            quantity="seconds",
            limit=25.0,
            unit="file",
            note=f"each of {rows} sequences a person",
        )
        yield _memory(source, folder, what)


def _memory(source: Path, folder: Path, what: str) -> Row:
    fresh = folder / "fresh.db"
    grant_budget(fresh, 2, everyone=True)
    done = in_a_new_process(_PRIVATIZE, str(source), str(folder / "m.parquet"), ",".join(ALPHABET), str(fresh))
    return Row(
        name=f"privatize {what}: peak memory", ours=done.megabytes, peer="", peer_time=None, quantity="megabytes",
        limit=1000, unit="file", note="a new process, with a new SQLite ledger",
    )  # fmt: skip


def large_file(effort: Effort) -> Iterator[Row]:
    """A CSV file that is larger than the memory it may take: the bar is for 5 GB, `make soak` runs that."""
    megabytes = effort.of(500, 5)
    with tempfile.TemporaryDirectory() as name:
        source = Path(name, "large.csv")
        rows = _write_large(source, megabytes)
        done = in_a_new_process(_PRIVATIZE, str(source), str(Path(name, "out.csv")), "a,b,c", "")
        yield Row(
            name=f"privatize a CSV file of {megabytes:,} MB: peak memory", ours=done.megabytes, peer="", peer_time=None,
            quantity="megabytes", limit=1500, unit="file",
            note=f"{rows:,} sequences in {done.answer:.0f} s; `make soak` takes 5 GB",
        )  # fmt: skip


def _write_large(path: Path, megabytes: int) -> int:
    """Ten thousand sequences again and again, each time with other names."""
    rows = written = 0
    with path.open("w", encoding="ascii") as file:
        file.write("id,sequence\n")
        while written < megabytes * 1e6:
            words = ("a b c a b c a b c a b c"[: row % 12 * 2 + 1] for row in range(10_000))
            written += file.write("".join(f"u{rows + row},{word}\n" for row, word in enumerate(words)))
            rows += 10_000
    return rows


BENCHMARKS: list[Benchmark] = [parquet_to_parquet, large_file]
