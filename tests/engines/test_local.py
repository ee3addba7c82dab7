"""The local engine: in order, a few batches at a time, and nothing left behind by whoever stops early."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from fractions import Fraction

import pyarrow as pa
import pytest

from file_mechanism import file_mechanism
from symveil.engines.batch import ReleasePlan
from symveil.engines.local import release_batches
from symveil.errors import WordError

PLAN = ReleasePlan(
    mechanism=file_mechanism(alphabet="ab", epsilon=Fraction(1000)),
    release_id="r", release_key=bytes(32), sequence="s", identifier="id",
)  # fmt: skip


def batches(count: int, asked: list[int], *, wrong: int | None = None) -> Iterator[pa.RecordBatch]:
    for number in range(count):
        asked.append(number)
        yield pa.record_batch({"id": [str(number)], "s": [["z" if number == wrong else "a", "b"]]})


@pytest.mark.parametrize("workers", [1, 2, 5, None])
def test_in_order(workers: int | None) -> None:
    asked: list[int] = []
    found = list(release_batches(batches(23, asked), PLAN, workers=workers))
    assert [source.column("id").to_pylist() for source, _ in found] == [[str(number)] for number in range(23)]
    assert all(private.equals(source) for source, private in found)  # at ε = 1000 nothing changes


def working() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("symveil")]


def test_whoever_stops_early_leaves_nothing_running() -> None:
    asked: list[int] = []
    released = release_batches(batches(1000, asked), PLAN, workers=3)
    next(released)
    released.close()
    assert len(asked) == 4  # as many as there are workers, and the one that was taken
    assert working() == []


def test_a_refused_record_stops_the_others() -> None:
    asked: list[int] = []
    with pytest.raises(WordError, match="record 1: expected a sequence of the alphabet"):
        list(release_batches(batches(1000, asked, wrong=6), PLAN, workers=2))
    assert len(asked) < 12
    assert working() == []
