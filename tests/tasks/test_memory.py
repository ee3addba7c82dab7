"""Memory does not grow with the file: a larger one passes through the same buffers."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

RUN = """
import resource, sys
from symveil.formats.limits import LIMITS as FORMATS
from symveil.release.limits import LIMITS as RELEASES
from symveil.tasks.privatize_file import privatize_file
# buffers that are full early: what they hold at most is bounded, and not what is asked here
by_disk = FORMATS.changed(case_part_bytes=1 << 17, grouped_bytes=8 << 20)    # as a file of many GB
options = {"case": "c", "order": "t", "symbol": "s"} if "long" in sys.argv[1] else {"sequence": "s"}
with by_disk, RELEASES.changed(remembered_names=50_000):
    privatize_file(sys.argv[1], sys.argv[1] + ".out.csv", alphabet="abc", epsilon=1, **options)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def write(path, form: str, megabytes: float) -> None:
    with path.open("w") as file:
        file.write("id,s\n" if form == "wide" else "c,t,s\n")
        number = written = 0
        while written < megabytes * 1e6:
            if form == "wide":
                rows = (f"u{number + n},{'a b c a b c a b c a b c'[: n % 12 * 2 + 1]}\n" for n in range(10_000))
            else:  # a case's events are scattered over the whole file
                rows = (f"c{(number + n) * 7919 % 400_009},{number + n},{'abc'[n % 3]}\n" for n in range(10_000))
            written += file.write("".join(rows))
            number += 10_000


def peak(path, form: str, megabytes: float) -> int:
    """MiB that a run on a file of that size takes, in a new process."""
    file = path / f"{form}-{megabytes}.csv"
    write(file, form, megabytes)
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(file)], capture_output=True, text=True, check=True, timeout=7200
    )
    for each in path.iterdir():
        each.unlink()
    return int(done.stdout)


@pytest.mark.parametrize("form", ["wide", "long"])
def test_four_times_the_file_in_the_same_memory(tmp_path, form):
    small, large = peak(tmp_path, form, 4), peak(tmp_path, form, 16)
    assert large < small + 40  # the file itself, as Arrow arrays, would take more than 65


@pytest.mark.soak
@pytest.mark.parametrize("form", ["wide", "long"])
def test_five_gigabytes(tmp_path, form):
    assert peak(tmp_path, form, 5000) < 1500


ON_A_MODEL = """
import resource, sys
import symveil as sv
names = [f"s{place:03}" for place in range(200)]
moves = [(names[place], names[(place + step) % 200], "1/2") for place in range(200) for step in (1, 2)]
chain = sv.MarkovChain.from_transitions(moves)
options = {"calibration": "classic"} if sys.argv[2] == "exponential" else {}
sv.privatize_file(
    sys.argv[1], sys.argv[1] + ".out.parquet", model=chain, public_start=True, epsilon=2, mechanism=sys.argv[2],
    adjacency=1, **options,
)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""
PLACES = [f"s{place:03}" for place in range(200)]
SYMBOLS_OF_A_TRIP = 20


def write_trips(path, symbols: int) -> None:
    """Walks on a ring of 200 places, from each to the next two; 100,000 rows a group."""
    chance, rows, at_once = np.random.default_rng(2), symbols // SYMBOLS_OF_A_TRIP, 100_000
    schema = pa.schema([("trip_id", pa.int64()), ("trip", pa.list_(pa.string()))])
    with pq.ParquetWriter(path, schema) as file:
        for start in range(0, rows, at_once):
            count = min(at_once, rows - start)
            steps = np.cumsum(chance.integers(1, 3, (count, SYMBOLS_OF_A_TRIP)), axis=1)
            places = (chance.integers(0, 200, (count, 1)) + steps) % 200
            read = pa.DictionaryArray.from_arrays(pa.array(places.ravel(), type=pa.int16()), pa.array(PLACES))
            offsets = pa.array(np.arange(count + 1, dtype=np.int32) * SYMBOLS_OF_A_TRIP)
            trips = pa.ListArray.from_arrays(offsets, read.dictionary_decode())
            file.write_table(pa.table([pa.array(np.arange(start, start + count)), trips], schema=schema))


def peak_on_a_model(path, symbols: int, mechanism: str) -> int:
    """MiB that a run on so many symbols takes, in a new process."""
    file = path / "trips.parquet"
    write_trips(file, symbols)
    command = [sys.executable, "-c", ON_A_MODEL, str(file), mechanism]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=7200)
    assert pq.ParquetFile(f"{file}.out.parquet").metadata.num_rows == symbols // SYMBOLS_OF_A_TRIP
    return int(done.stdout)


@pytest.mark.soak
@pytest.mark.parametrize("mechanism", ["exponential", "online", "permute-and-flip"])
def test_a_hundred_million_symbols_on_a_model(tmp_path, mechanism):
    assert peak_on_a_model(tmp_path, 10**8, mechanism) < 1500
