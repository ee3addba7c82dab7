"""CSV by the block is CSV by Python's `csv`: the same cells, the same line numbers, the same refusals."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from symveil.errors import FileError
from symveil.formats.limits import LIMITS
from symveil.formats.sequences.rows_csv import Block, CsvBlocks, CsvRows

PIECES = [
    b"a",
    b",",
    b"\n",
    b'"',
    b"\r\n",
    b"\r",
    b" ",
    "é".encode(),
    b"\xff",
    b"\0",
    b"1,2\n",
    b"x,y\r\n",
    b'"p\n",q\n',
]
PLAIN = [b"1,2\n", b"x y,\n", b",\n", "é,NA\r\n".encode(), b"a,b\r\n"]


def by_csv(content: bytes) -> list[tuple[int, list[str]]] | None:
    """The rows after the header with their lines, straight from the definition; None: refused."""
    try:
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        line, rows = 1, []
        for row in reader:
            if row:
                rows.append((line, row))
            line = reader.line_num + 1
    except (csv.Error, UnicodeDecodeError):
        return None
    return None if any(len(row) != len(rows[0][1]) for _, row in rows) else rows[1:]


def by_block(file: Path) -> list[tuple[int, list[str]]] | None:
    source = CsvRows(file)
    try:
        return [
            (place, cells)
            for batch in source.batches(source.names, source.names[0])
            for place, *cells in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        ]
    except FileError as error:
        assert "\n" not in str(error)
        return None


@given(
    st.one_of(st.lists(st.sampled_from(PIECES), max_size=25), st.lists(st.sampled_from(PLAIN), max_size=25)),
    st.sampled_from([5, 16, 37, 1 << 20]),
    st.booleans(),
)
@settings(deadline=None, max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_same_as_csv(tmp_path, pieces, block, marked):
    content = (b"\xef\xbb\xbf" if marked else b"") + b"h,g\n" + b"".join(pieces)
    file = tmp_path / "t.csv"
    file.write_bytes(content)
    with LIMITS.changed(csv_bytes=block):
        assert by_block(file) == by_csv(content)


def test_plain_blocks_are_read_as_blocks(tmp_path, set_limits):
    """And one block with quotes in it does not make the others slow."""
    set_limits(LIMITS, csv_bytes=64)
    file = tmp_path / "t.csv"
    file.write_text('"h",g\n' + "1,2\n" * 60 + '3,"a,\nb"\n' + "1,2\n" * 60)
    found = list(CsvBlocks(file, ["h", "g"], most_times=200, opened=lambda _: None).read([0, 1]))
    assert isinstance(found[0], Block) and isinstance(found[-1], Block)
    assert (62, ["3", "a,\nb"]) in found


def test_a_byte_that_is_no_utf_8_is_named_by_its_line(tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes(b"id,s\n" + b"1,a\n" * 2000 + b"2,\xff\n" + b"1,a\n" * 2000)
    with pytest.raises(FileError, match="t.csv: line 2002: expected .* in UTF-8, found other bytes"):
        list(CsvRows(file).batches(["s"], "s"))


def test_a_blank_line_in_a_single_column_is_asked_about(tmp_path):
    """It may be an empty sequence: leaving it out would lose somebody's record."""
    file = tmp_path / "t.csv"
    file.write_text("s\na b\n\nb\n")
    with pytest.raises(FileError, match='t.csv: line 3: expected a cell in every line .*"" where it is empty'):
        list(CsvRows(file).batches(["s"], "s"))
    file.write_text('s\na b\n""\nb\n\n\n')  # after the last row it is nothing
    assert by_block(file) == [(2, ["a b"]), (3, [""]), (4, ["b"])]
    file.write_text("s,t\na b,1\n\nb,2\n")
    assert by_block(file) == [(2, ["a b", "1"]), (4, ["b", "2"])]
