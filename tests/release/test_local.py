"""The local engine: in order, a few batches at a time, and nothing left behind by anyone who stops early."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from file_mechanism import file_mechanism
from symveil.errors import FileError, WordError
from symveil.release.batch import ReleasePlan
from symveil.release.limits import LIMITS
from symveil.release.local import release_batches

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


def test_a_refusal_closes_the_file_that_is_read(tmp_path: Path) -> None:
    """Not when the error is forgotten, or collected as garbage: until then it could not be removed everywhere."""
    file = tmp_path / "words.jsonl"
    file.write_text("".join(f'{{"id": "{number}", "s": ["{"ab"[number % 2]}"]}}\n' for number in range(1000)))
    held: list[IO[str]] = []

    def read() -> Iterator[pa.RecordBatch]:
        with file.open() as lines:
            held.append(lines)
            for line in lines:
                record = json.loads(line)
                yield pa.record_batch({"id": [record["id"]], "s": [["z"] if record["id"] == "6" else record["s"]]})

    with pytest.raises(WordError) as kept:  # and with it its frames
        list(release_batches(read(), PLAN, workers=2))
    assert [lines.closed for lines in held] == [True], kept.value


def test_what_is_read_before_a_fault_of_the_file_comes_first() -> None:
    """Batches are read ahead of what is released; which fault is told must not depend on how far."""

    def damaged(before: int) -> Iterator[pa.RecordBatch]:
        yield from batches(before, [], wrong=1)
        raise FileError("in.csv: line 9", expected="a row", found="none")

    for workers in (1, 2, 9):
        with pytest.raises(WordError):
            list(release_batches(damaged(4), PLAN, workers=workers))
        with pytest.raises(FileError, match="line 9"):
            list(release_batches(damaged(1), PLAN, workers=workers))
    assert working() == []


def test_released_symbols_that_are_longer_than_the_true_ones(set_limits: Callable[..., None]) -> None:
    """Batches are cut for them, and that does not show in the words."""
    plan = replace(PLAN, mechanism=file_mechanism(alphabet=["a", "b" * 1000], epsilon=Fraction(1, 10)))
    batch = pa.record_batch(
        {"id": [str(number) for number in range(40)], "s": [["a"] * (number % 4) for number in range(40)]}
    )
    whole = [private for _, private in release_batches([batch], plan)]
    assert len(whole) == 1
    set_limits(LIMITS, released_at_once=7000)
    pieces = [private for _, private in release_batches([batch], plan)]
    assert len(pieces) > 5
    assert all(pc.sum(pc.list_value_length(piece.column("s"))).as_py() <= 7 for piece in pieces)
    assert pa.Table.from_batches(pieces).to_pylist() == whole[0].to_pylist()
