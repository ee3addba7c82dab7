"""Blocks of rows and pieces of bytes: a function of what is written, however it arrives."""

from __future__ import annotations

import csv
import io
import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symveil.formats.sequences.layout import EvenBytes, RowBlocks, RowWriter, plain_type, row_sizes
from symveil.formats.sequences.rows_csv import CsvRows
from symveil.formats.sequences.rows_parquet import ParquetRows

KIND = pa.list_(pa.dictionary(pa.int32(), pa.string()))
ROWS = st.lists(
    st.tuples(st.lists(st.sampled_from(["a", "bb", "long " * 9]), max_size=4), st.none() | st.text(max_size=12)),
    max_size=40,
)
CUTS = st.lists(st.integers(0, 40), max_size=12)


class Kept(RowWriter):
    """Remembers its blocks."""

    def __init__(self) -> None:
        self.blocks: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        self.blocks.append(batch)

    def close(self) -> None:
        self.closed = True


def table_of(rows) -> pa.Table:
    words, kept = zip(*rows, strict=True) if rows else ((), ())
    return pa.table({"s": pa.array(words, KIND), "k": pa.array(kept, pa.dictionary(pa.int8(), pa.string()))})


def in_cuts(rows, cuts) -> list[pa.RecordBatch]:
    """The rows in batches that end at these places, each with dictionaries of its own."""
    places = sorted({0, len(rows), *(min(cut, len(rows)) for cut in cuts)})
    return [
        batch
        for start, stop in itertools.pairwise(places)
        for batch in table_of(rows[start:stop]).combine_chunks().to_batches()
    ]


def by_definition(rows, most_rows: int, most_bytes: int) -> list[int]:
    """Row by row: another one where it fits."""
    sizes, taken, held = [], 0, 0
    for row in rows:
        size = sum(
            int(row_sizes(column.combine_chunks().cast(plain_type(column.type)))[0]) for column in table_of([row])
        )
        if taken and (taken == most_rows or held + size > most_bytes):
            sizes.append(taken)
            taken = held = 0
        taken, held = taken + 1, held + size
    return sizes + ([taken] if taken else [])


@given(ROWS, CUTS, st.integers(1, 9), st.integers(1, 200))
@settings(deadline=None, max_examples=150)
def test_blocks_are_those_of_the_definition_whatever_the_batches(rows, cuts, most_rows, most_bytes):
    kept = Kept()
    blocks = RowBlocks(kept, table_of(rows).schema, rows=most_rows, size=most_bytes)
    for batch in in_cuts(rows, cuts):
        blocks.write(batch)
    blocks.close()
    assert kept.closed
    assert [len(block) for block in kept.blocks] == by_definition(rows, most_rows, most_bytes)
    assert [row for block in kept.blocks for row in block.to_pylist()] == table_of(rows).to_pylist()
    for block in kept.blocks:  # dictionaries hold what is in the block, in the order in which it comes
        column = block.column("k")
        assert column.dictionary.to_pylist() == list(dict.fromkeys(x for x in column.to_pylist() if x is not None))


@given(ROWS, CUTS)
@settings(deadline=None, max_examples=60)
def test_parquet_has_the_same_bytes_whatever_the_batches(rows, cuts):
    def written(batches) -> bytes:
        sink = io.BytesIO()
        schema = table_of(rows).schema
        blocks = RowBlocks(ParquetRows.writer(None, sink, schema), schema, rows=7, size=300)  # type: ignore[arg-type]
        for batch in batches:
            blocks.write(batch)
        blocks.close()
        return sink.getvalue()

    assert written(in_cuts(rows, cuts)) == written(in_cuts(rows, []))


def test_pages_do_not_show_where_batches_ended():
    """A page of Parquet is looked at every 1024 values of a piece: pieces of another size, other pages."""
    table = pa.table({"s": pa.array([str(number) * 20 for number in range(60_000)])})

    def pages(size: int) -> bytes:
        sink = io.BytesIO()
        blocks = RowBlocks(ParquetRows.writer(None, sink, table.schema), table.schema)  # type: ignore[arg-type]
        for batch in table.to_batches(max_chunksize=size):
            blocks.write(batch)
        blocks.close()
        return sink.getvalue()

    assert pages(60_000) == pages(777) == pages(10_001)
    assert pq.ParquetFile(io.BytesIO(pages(777))).metadata.num_row_groups == 1


@given(st.lists(st.binary(max_size=30)), st.integers(1, 11))
def test_pieces_have_one_size(parts, size):
    pieces: list[bytes] = []

    class Listed(io.RawIOBase):
        def write(self, data) -> int:
            pieces.append(bytes(data))
            return len(data)

    even = EvenBytes(Listed(), size)
    for part in parts:
        assert even.write(part) == len(part)
    even.finish()
    assert b"".join(pieces) == b"".join(parts)
    assert all(len(piece) == size for piece in pieces[:-1])
    assert all(0 < len(piece) <= size for piece in pieces)


@pytest.mark.parametrize(
    ("kind", "values", "sizes"),
    [
        (pa.int64(), [1, None], [8, 8]),
        (pa.bool_(), [True], [1]),
        (pa.null(), [None], [1]),
        (pa.string(), ["", None, "ü"], [4, 4, 6]),
        (pa.binary(3), [b"abc"], [7]),
        (pa.list_(pa.int8()), [[1, 2], None, []], [6, 4, 4]),
        (pa.list_(pa.string(), 2), [["a", "b"]], [14]),
        (pa.large_list(pa.large_string()), [["a"], []], [9, 4]),
        (pa.struct([("x", pa.string()), ("y", pa.int32())]), [{"x": "abc", "y": 1}], [12]),
        (pa.map_(pa.string(), pa.int8()), [[("k", 1)], []], [11, 4]),
    ],
    ids=str,
)
def test_a_row_has_the_size_of_its_values(kind, values, sizes):
    array = pa.array(values, type=kind)
    assert row_sizes(array).tolist() == sizes
    assert row_sizes(pa.concat_arrays([array, array]).slice(len(values))).tolist() == sizes  # not of how it is stored


CELLS = st.none() | st.text(alphabet="ab\",\n\r\t ;'ü\\", max_size=5)
TABLES = st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[CELLS] * width), min_size=1, max_size=8))


@given(TABLES, st.sampled_from(["csv", "tsv"]))
@settings(deadline=None, max_examples=200)
def test_a_line_of_csv_depends_on_its_row_only(rows, kind):
    """Rows that need no quotes are written in another way than those that do; which one must not show."""
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    table = pa.table(columns, names=[str(number) for number in range(len(columns))])

    def written(size: int) -> str:
        sink = io.BytesIO()
        writer = CsvRows(Path(f"any.{kind}")).writer(sink, table.schema)
        for batch in table.to_batches(max_chunksize=size):
            writer.write(batch)
        writer.close()
        return sink.getvalue().decode()

    assert written(1) == written(3) == written(100)
    read = csv.reader(io.StringIO(written(100), newline=""), delimiter="\t" if kind == "tsv" else ",", strict=True)
    assert list(read)[1:] == [[cell or "" for cell in row] for row in rows]
    plain = [row for row in rows if all(cell and cell.isalnum() for cell in row)]
    assert all(
        ("\t" if kind == "tsv" else ",").join(row) in written(100).split("\n") for row in plain
    )  # no needless quotes


def test_a_block_holds_little_where_rows_are_large():
    """Memory: what waits is at most a block and what arrives."""
    kept = Kept()
    schema = pa.schema([("s", pa.string())])
    blocks = RowBlocks(kept, schema)
    most = 0
    for _ in range(80):
        blocks.write(pa.record_batch([np.full(10, "x" * 100_000)], schema=schema))
        most = max(most, blocks._bytes)
    blocks.close()
    assert most <= 16 << 20
    assert sum(map(len, kept.blocks)) == 800
    assert len(kept.blocks) == 5
