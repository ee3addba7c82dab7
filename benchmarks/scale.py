"""What one core does: processor seconds per sequence of release, estimate, count and the ledger (docs/benchmarks.md).

Processor time, and not time on a clock: a cluster is paid for it, and other work on the machine disturbs it less.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import symveil as sv
from benchmarks.files import ALPHABET, COPY, generated_sessions
from benchmarks.measure import Effort
from benchmarks.row import Benchmark, Row

_ROUNDS = 3


def _processor(call: Callable[[], object], units: int) -> float:
    """The least processor seconds per unit, of all threads, after one call that is not counted."""
    call()
    taken = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return min(taken) / units


def _trips(path: Path, rows: int, length: int = 20) -> sv.MarkovChain:
    """Walks on a ring of 200 places, from each to the next two."""
    names = [f"s{place:03}" for place in range(200)]
    chain = sv.MarkovChain.from_transitions(
        [(names[place], names[(place + step) % 200], "1/2") for place in range(200) for step in (1, 2)]
    )
    chance = np.random.default_rng(2)
    places = chance.integers(0, 200, (rows, 1)) + np.cumsum(chance.integers(1, 3, (rows, length)), axis=1)
    symbols = pa.DictionaryArray.from_arrays(pa.array((places % 200).ravel(), type=pa.int16()), pa.array(names))
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * length)
    table = pa.table(
        {"trip_id": np.arange(rows), "trip": pa.ListArray.from_arrays(offsets, symbols.dictionary_decode())}
    )
    pq.write_table(table, path)
    return chain


def per_core(effort: Effort) -> Iterator[Row]:
    """Release over an alphabet and on a model, estimate, count, and a charge in a file."""
    rows = effort.of(200_000, 2_000)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sessions = generated_sessions(folder / "sessions.parquet", rows)
        chain = _trips(folder / "trips.parquet", rows)
        copy = _processor(lambda: pq.write_table(pq.read_table(sessions), folder / "copy.parquet"), rows)
        private = folder / "private.parquet"
        ledger = folder / "ledger.db"
        sv.grant_budget(ledger, 10**6, everyone=True)
        released = _processor(lambda: sv.privatize_file(sessions, private, alphabet=ALPHABET, epsilon=2), rows)
        charged = _processor(
            lambda: sv.privatize_file(
                sessions, folder / "charged.parquet", alphabet=ALPHABET, epsilon=2, ledger=ledger, again=True
            ),
            rows,
        )  # fmt: skip
        tasks: dict[str, float] = {
            "release, 17 pages, 4.8 symbols in the mean": released,
            "a charge in a ledger of this machine": charged - released,
            **{
                f"release on a model of 200 places, 20 symbols, {mechanism}": _processor(
                    lambda name=mechanism: sv.privatize_file(
                        folder / "trips.parquet", folder / "t.parquet", model=chain, public_start=True, epsilon=2,
                        adjacency=1, thin=True, mechanism=name,
                        **({"calibration": "classic"} if name == "exponential" else {}),
                    ),
                    rows,
                )
                for mechanism in ("exponential", "online", "permute-and-flip")
            },
            "estimate of pairs from the private file": _processor(lambda: sv.estimate(private, "ngrams:2"), rows),
            "central count of pairs": _processor(
                lambda: sv.count(sessions, "ngrams:2", epsilon=1, alphabet=ALPHABET), rows
            ),
        }  # fmt: skip
        for what, seconds in tasks.items():
            yield Row(
                name=what,
                ours=seconds,
                peer=COPY,
                peer_time=copy,
                quantity="cost",
                unit="sequence",
                note=f"{1 / seconds:,.0f} a second and core; processor time",
            )


BENCHMARKS: tuple[Benchmark, ...] = (per_core,)
