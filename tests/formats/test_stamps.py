"""Times are read one by one, by one public grammar."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from symveil.errors import ParameterError
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.sequence_files import open_sequences
from symveil.formats.sequences.stamps import StampReader, read_stamp, read_stamps

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
GOOD = [
    "2014-10-22T11:15:41Z", "2014-10-22 11:15:41.276000+00:00", "2012-10-09 14:50:17.000", "2014-10-22",
    "2014-10-22T11:15", "2014-10-22T11:15:41.5-03:30", "2014-10-22t11:15:41z", "0002-01-01T00:00:00Z",
    "9998-12-31T23:59:59.999999Z", "2014-10-22T11:15:41.123456789Z",
]  # fmt: skip
UNKNOWN = [
    "", "soon", "2014-13-01", "2014-02-30T00:00:00", "2014-10-22T24:00:00", "2014-10-22T11:60", "2014-10-22T11:15:60Z",
    "0001-01-01", "9999-12-31T23:59:59Z", "9999-01-01", "20141022", "1413976541", "2014-10-22T11:15+24:00",
    "٢٠١٤-10-22", "0001-12-31T23:59:59Z",
]  # fmt: skip


def test_good_times_are_what_python_reads():
    for text in GOOD:
        moment = datetime.fromisoformat(text.replace("t", "T").replace("z", "Z"))
        kind = 1 if moment.tzinfo else 2
        expected = ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH) // timedelta(microseconds=1)
        assert read_stamp(text) == (expected, kind), text


def test_what_is_no_time_is_unknown_without_a_word():
    stamps = StampReader().cells(pa.array([*UNKNOWN, None]))
    assert stamps.kind.tolist() == [0] * (len(UNKNOWN) + 1)


@pytest.mark.parametrize("seed", range(5))
def test_a_time_is_read_alike_whatever_stands_around_it(seed):
    texts = [*GOOD, *UNKNOWN, None]
    alone = {
        text: (s.microseconds[0], s.kind[0])
        for text in texts
        for s in [StampReader().cells(pa.array([text], pa.string()))]
    }
    rng = random.Random(seed)
    mixed = rng.choices(texts, k=40)
    read = StampReader().cells(pa.array(mixed, pa.string()))
    assert list(zip(read.microseconds, read.kind, strict=True)) == [alone[text] for text in mixed]


def test_many_times_at_once_are_read_as_one_by_one():
    rng = random.Random(8)
    texts = [*GOOD, *UNKNOWN, *(f"{year:04d}-02-29 00:00:00" for year in (0, 1, 1899, 1900, 2000, 2023, 2024, 9999))]
    for _ in range(20_000):
        text = f"{rng.choice([1, 1583, 1970, 2024, 9999]):04d}-{rng.randrange(14):02d}-{rng.randrange(33):02d}"
        text += f"{rng.choice('Tt _')}{rng.randrange(26):02d}:{rng.randrange(61):02d}:{rng.randrange(62):02d}"
        text += rng.choice(["", "Z", "z", "+", f"{rng.choice('+-')}{rng.randrange(25):02d}:{rng.randrange(61):02d}"])
        if rng.random() < 0.2:
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice("0 :-x٣") + text[at + 1 :]
        texts.append(text)
    read = read_stamps(texts)
    alone = [read_stamp(text) for text in texts]
    assert list(zip(read.microseconds.tolist(), read.kind.tolist(), strict=True)) == alone
    assert 2000 < sum(kind > 0 for _, kind in alone) < 18_000


def test_a_declared_format_is_the_only_grammar():
    stamps = StampReader(date_format="%d.%m.%Y %H:%M").cells(pa.array(["01.02.2020 03:04", "2020-02-01T03:04:00"]))
    assert stamps.kind.tolist() == [2, 0]
    with pytest.raises(ParameterError, match="date_format"):
        ColumnOptions(date_format="%Q")


def test_columns_with_types_are_read_by_their_types():
    moment = datetime(2020, 2, 1, 3, 4, 5, 999_999)
    for unit in ("s", "ms", "us", "ns"):
        plain = StampReader().cells(pa.array([moment.replace(microsecond=0), None], pa.timestamp(unit)))
        zoned = StampReader().cells(
            pa.array([moment.replace(microsecond=0, tzinfo=UTC), None], pa.timestamp(unit, "Asia/Tokyo"))
        )
        assert plain.kind.tolist() == [2, 0]
        assert zoned.kind.tolist() == [1, 0]
        assert plain.microseconds[0] == zoned.microseconds[0]
    far = pa.array([2**62, -(2**62)], pa.int64()).cast(pa.timestamp("s"))
    assert StampReader().cells(far).kind.tolist() == [0, 0]
    assert StampReader().cells(pa.array([moment.date()])).kind.tolist() == [2]
    assert StampReader().cells(pa.nulls(3)).kind.tolist() == [0, 0, 0]
    with pytest.raises(ParameterError, match="time: expected a column of timestamps"):
        StampReader().cells(pa.array([1413976541]))


def test_a_cell_of_a_sequence_has_all_times_or_the_first_and_the_last_or_the_first():
    lengths = np.array([3, 3, 3, 3, 0, 2])
    texts = ["1970-01-01T00:00:01 1970-01-01T00:00:02 1970-01-01T00:00:03", "1970-01-01T00:00:01 1970-01-01T00:00:09",
             "1970-01-01 00:00:01", "x y z w", "1970-01-01", '["1970-01-01T00:00:01Z", null]']  # fmt: skip
    stamps = StampReader().of_sequences(pa.array(texts), lengths)
    assert stamps.kind.tolist() == [2, 2, 2, 2, 0, 2, 2, 0, 0, 0, 0, 0, 1, 0]
    assert (stamps.microseconds // 10**6).tolist() == [1, 2, 3, 1, 0, 9, 1, 0, 0, 0, 0, 0, 1, 0]
    for text in ("[" * 100_000, "[1" + "0" * 5000 + "]", "[NaN]", '{"a": 1}', '[["1970-01-01"]]'):
        assert StampReader().of_sequences(pa.array([text]), np.array([2])).kind.tolist() == [0, 0]
    moments = [[EPOCH, EPOCH + timedelta(seconds=5)], None, [EPOCH]]
    lists = pa.array(moments, pa.list_(pa.timestamp("us", "UTC")))
    read = StampReader().of_sequences(lists, np.array([2, 1, 3]))
    assert read.kind.tolist() == [1, 1, 0, 1, 0, 0]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".xes"])
def test_every_format_hands_over_the_words_as_without_times_and_the_times_beside_them(tmp_path, suffix):
    events = [
        ("x", "2020-01-01T10:00:00Z", "b"),
        ("x", "nonsense", "a"),
        ("y", "", "a"),
        ("x", "2020-01-01T09:00:00", "c"),
    ]
    file = tmp_path / f"log{suffix}"
    if suffix == ".csv":
        file.write_text("who,when,what\n" + "".join(",".join(event) + "\n" for event in events))
    elif suffix == ".jsonl":
        file.write_text("".join(f'{{"who": "{a}", "when": "{b}", "what": "{c}"}}\n' for a, b, c in events))
    elif suffix == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(
            pa.table(dict(zip(("who", "when", "what"), map(list, zip(*events, strict=True)), strict=True))), file
        )
    else:
        traces = {case: [event for event in events if event[0] == case] for case in "xy"}
        body = "".join(
            f'<trace><string key="concept:name" value="{case}"/>'
            + "".join(
                f'<event><string key="what" value="{c}"/>'
                + (f'<date key="when" value="{b}"/>' if b else "<date key='when'/>")
                + "</event>"
                for _, b, c in own
            )
            + "</trace>"
            for case, own in traces.items()
        )
        file.write_text(f"<log>{body}</log>")
    names = {"symbol": "what"} | ({} if suffix == ".xes" else {"case": "who"})
    plain = list(open_sequences(file, ColumnOptions(**names)).records())
    timed = open_sequences(file, ColumnOptions(**names, time="when"))
    for one, other in zip(plain, timed.records(), strict=True):
        assert one.column("symbols").to_pylist() == other.column("symbols").to_pylist() == [["b", "a", "c"], ["a"]]
        stamps = timed.stamps(other)
        assert stamps.kind.tolist() == [1, 0, 2, 0]
