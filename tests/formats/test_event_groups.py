"""Grouping events by case: in memory and by way of the disk, against a dictionary."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symveil.errors import FileError
from symveil.formats.limits import LIMITS
from symveil.formats.sequences import event_groups
from symveil.formats.sequences.columns import LongColumns
from symveil.formats.sequences.event_groups import Grouping

COLUMNS = LongColumns(case="case", symbol="symbol", order="order", person="person", keep=("extra",))
EVENTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.sampled_from("abc")), min_size=1, max_size=60)


def batches(events, size: int):
    for start in range(0, len(events), size):
        part = events[start : start + size]
        yield pa.record_batch(
            {
                "place": pa.array(range(start + 2, start + 2 + len(part)), type=pa.int64()),
                "case": [f"case {case}" for case, _, _ in part],
                "symbol": [symbol for _, _, symbol in part],
                "order": [str(order) for _, order, _ in part],
                "person": [f"p{case % 3}" for case, _, _ in part],
                "extra": [str(start + number) for number in range(len(part))],
            }
        )


def grouped(events, *, in_memory: int, size: int = 7) -> list[tuple]:
    grouping = Grouping(file=Path("log.csv"), unit="line", columns=COLUMNS, in_memory=in_memory)
    return [
        (row["place"], row["id"], row["person"], row["symbols"], row["keep.0"])
        for batch in grouping.records(batches(events, size))
        for row in batch.to_pylist()
    ]


def by_hand(events) -> list[tuple]:
    cases: dict[int, list[tuple[int, int, str]]] = {}
    for number, (case, order, symbol) in enumerate(events):
        cases.setdefault(case, []).append((order, number, symbol))
    return [
        (
            min(number for _, number, _ in rows) + 2,
            f"case {case}",
            f"p{case % 3}",
            [symbol for _, _, symbol in sorted(rows)],
            [str(number) for _, number, _ in sorted(rows)],
        )
        for case, rows in cases.items()
    ]


@given(EVENTS)
@settings(deadline=None, max_examples=60)
def test_in_memory_and_on_disk_as_by_hand(events):
    expected = by_hand(events)
    assert grouped(events, in_memory=1 << 30) == expected
    assert grouped(events, in_memory=0) == expected


def test_many_cases_by_way_of_the_disk(set_limits):
    """Small pieces everywhere, so that every buffer is flushed and every source of the merge runs dry."""
    set_limits(LIMITS, case_part_bytes=2000, grouped_records=48)
    events = [((number * 7919) % 997, number % 5, "abc"[number % 3]) for number in range(6000)]
    assert grouped(events, in_memory=10_000, size=500) == by_hand(events)


def test_nothing_is_left_and_nothing_has_a_name(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    events = [(number % 50, 0, "a") for number in range(2000)]
    grouping = Grouping(file=Path("log.csv"), unit="line", columns=COLUMNS, in_memory=0)
    for _ in grouping.records(batches(events, 100)):
        assert list(tmp_path.iterdir()) == []  # files that nobody else can find


def test_a_case_that_never_ends_is_refused():
    events = [(1, 0, "a")] + [(2, 0, "a")] * 30
    for in_memory in (0, 1 << 30):
        grouping = Grouping(file=Path("log.csv"), unit="line", columns=COLUMNS, in_memory=in_memory, longest=20)
        with pytest.raises(FileError, match="log.csv: the case of line 3: expected at most 20 symbols"):
            list(grouping.records(batches(events, 10)))


def test_a_case_of_absurd_length_is_refused_without_being_gathered(monkeypatch, set_limits):
    """Its part of the events would have to fit into memory."""
    set_limits(LIMITS, case_events=50)
    gathered = []
    take = event_groups._Parts._flush
    monkeypatch.setattr(
        event_groups._Parts, "_flush",
        lambda parts, part: (gathered.extend(map(len, parts._waiting[part])), take(parts, part))[1],
    )  # fmt: skip
    grouping = Grouping(file=Path("log.csv"), unit="line", columns=COLUMNS, in_memory=0, longest=200)
    events = [event for number in range(1000) for event in [(1, 0, "a")] * 10 + [(number + 2, 0, "b")]]
    with pytest.raises(FileError, match="log.csv: the case of line 2: expected at most 200 symbols"):
        list(grouping.records(batches(events, 11)))
    assert sum(gathered) < 1000 + 3 * 200


@pytest.mark.parametrize("fault", ["long", "persons", "both"])
def test_the_same_case_is_refused_in_memory_and_by_way_of_the_disk(fault):
    """Which of the two it is depends on the sizes of secret symbols; so does where batches end."""
    long = [(6, 0, "a"), (3, 0, "a")] + [(case, 0, "a") for case in (3, 6, 4, 8) for _ in range(30)]
    table = pa.Table.from_batches(batches(long, 1000))
    cases = table["case"].to_pylist()
    if fault != "long":
        persons = [f"p{number if case in ('case 3', 'case 8') else 0}" for number, case in enumerate(cases)]
        table = table.set_column(table.schema.get_field_index("person"), "person", [persons])
    told = set()
    for in_memory in (0, 1 << 30):
        for size in (1, 7, 1000):
            grouping = Grouping(
                file=Path("log.csv"), unit="line", columns=COLUMNS, in_memory=in_memory,
                longest=100 if fault == "persons" else 20,
            )  # fmt: skip
            with pytest.raises(FileError) as refused:
                list(grouping.records(table.to_batches(max_chunksize=size)))
            told.add(str(refused.value))
    assert len(told) == 1
    assert "the case of line 2: expected at most 20" in told.pop() if fault != "persons" else "line 3" in told.pop()
