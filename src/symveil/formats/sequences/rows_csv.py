"""CSV files as batches of strings. Line numbers are kept, because errors must name them.

Plain CSV by the block, through Arrow: the cells and line numbers that Python's `csv` finds, several times faster.

A block of whole lines is plain where nothing but commas and line ends means anything in it: no quotes, no blank
lines, no lone carriage returns, UTF-8 throughout, as many cells in each line as in the header. Any other block goes
through `csv`; where that fails, as in the middle of a quoted cell that goes on in the next block, `csv` takes over
for good and either reads on or says what is wrong.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from symveil.errors import FileError
from symveil.formats.limits import LIMITS
from symveil.formats.reading import (
    MOST_TIMES,
    Apostrophes,
    csv_delimiter,
    csv_rows,
    guarded,
    lines_of,
    not_utf8,
    open_bytes,
    opened_pieces,
    pieces_of,
    rows_of,
    unguarded,
)
from symveil.formats.sequences.layout import RowWriter
from symveil.formats.sequences.records import ROW_NUMBER, Row, gathered
from symveil.formats.sequences.sequence_file import WHAT, RowSource
from symveil.numbers.once import computed_once

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Block:
    """The wanted columns of a plain block, one row in each line from `first_line` on."""

    first_line: int
    cells: pa.Table

    def batches(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        """Line numbers and cells under these names."""
        numbers = pa.array(np.arange(self.first_line, self.first_line + len(self.cells)))
        table = pa.table([numbers, *(column.combine_chunks() for column in self.cells.columns)], names=names)
        yield from table.to_batches(max_chunksize=LIMITS.now.csv_rows)


class CsvBlocks:
    """A CSV file with this header, block by block."""

    def __init__(
        self,
        path: Path,
        header: Sequence[str],
        *,
        most_times: int,
        opened: Callable[[BinaryIO], None],
        delimiter: str | None = None,
    ) -> None:
        self._path, self._header = path, list(header)
        self._most_times, self._opened = most_times, opened
        self._delimiter = delimiter or csv_delimiter(path)
        self._line = 0  # how many lines have been passed

    def read(self, indices: list[int]) -> Generator[Block | Row]:
        """The rows after the header: blocks with the columns at these indices, or whole rows where `csv` read them."""
        with open_bytes(self._path, what=WHAT, most_times=self._most_times, opened=self._opened) as file:
            rest = self._after_header(file.read(LIMITS.now.csv_bytes))
            ended = rest is None
            while not ended and rest is not None:
                more = file.read(LIMITS.now.csv_bytes)
                block, ended = rest + more, not more
                cut = len(block) if ended else block.rfind(b"\n") + 1
                block, rest = block[:cut], block[cut:]
                if not block and not ended:
                    break  # a line that is longer than a block
                plain = self._plain(block, indices)
                if plain is not None:
                    yield plain
                else:
                    rows = self._by_csv(block)
                    if rows is None:
                        rest, ended = block + rest, False
                        break
                    yield from rows
                self._line += block.count(b"\n")
            if rest is not None and not ended:
                yield from self._to_the_end(rest, file)
                return
        if rest is None:
            yield from self._from_the_start()

    def _after_header(self, block: bytes) -> bytes | None:
        """What follows the header where that is the first line; None where it is not."""
        line, end, rest = block.removeprefix(_BYTE_ORDER_MARK).partition(b"\n")
        try:
            text = line.removesuffix(b"\r").decode()
            plain = "\r" not in text and next(csv.reader([text], delimiter=self._delimiter, strict=True), None)
        except (UnicodeDecodeError, csv.Error):
            return None
        if plain != self._header or not end or len(self._header) == 1:
            return None
        self._line = 1
        return rest

    def _plain(self, block: bytes, indices: list[int]) -> Block | None:
        if not block or not self._is_plain(block):
            return None
        names = [str(index) for index in range(len(self._header))]
        wanted = [names[index] for index in indices]
        try:
            cells = arrow_csv.read_csv(
                pa.BufferReader(block),
                read_options=arrow_csv.ReadOptions(column_names=names, block_size=len(block) + 1),
                parse_options=arrow_csv.ParseOptions(delimiter=self._delimiter, quote_char=False),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(wanted, pa.string()), include_columns=wanted, strings_can_be_null=False
                ),
            )
        except pa.ArrowInvalid:
            return None
        lines = block.count(b"\n") + (not block.endswith(b"\n"))
        return Block(self._line + 1, cells) if len(cells) == lines else None

    @staticmethod
    def _is_plain(block: bytes) -> bool:
        returns = block.count(b"\r")
        if b'"' in block or b"\0" in block or returns != block.count(b"\r\n"):
            return False
        if block.startswith((b"\n", b"\r")) or b"\n\n" in block or (returns and b"\n\r" in block):
            return False
        if block.isascii():
            return True
        try:
            block.decode()
        except UnicodeDecodeError:
            return False
        return True

    def _by_csv(self, block: bytes) -> list[Row] | None:
        """The rows of a block that ends where a row ends; None where that is undecided, or something is wrong."""
        if block.count(b"\r") != block.count(b"\r\n"):
            return None  # lines end in several ways: `csv` must count them
        try:
            lines = lines_of(cast("BinaryIO", io.BytesIO(block)), self._path, encoding="utf-8")
            return list(self._rows(lines))
        except (FileError, UnicodeDecodeError):
            return None

    def _to_the_end(self, begin: bytes, file: BinaryIO) -> Iterator[Row]:
        joined = opened_pieces(chain([begin], pieces_of(file)))
        try:
            yield from self._rows(lines_of(joined, self._path, encoding="utf-8", before=self._line))
        except UnicodeDecodeError:
            raise not_utf8(self._path, what=WHAT, most_times=self._most_times) from None

    def _rows(self, lines: Iterator[str]) -> Iterator[Row]:
        return rows_of(
            lines,
            self._delimiter,
            self._path,
            longest_cell=LIMITS.now.line_characters,
            width=len(self._header),
            before=self._line,
        )

    def _from_the_start(self) -> Iterator[Row]:
        rows = csv_rows(
            self._path,
            what=WHAT,
            most_times=self._most_times,
            opened=self._opened,
            longest_cell=LIMITS.now.line_characters,
            delimiter=self._delimiter,
        )
        next(rows)
        yield from rows


_NOTHING = '""'


class CsvRows(RowSource):
    """A CSV file, or a `.tsv` file with tabs; all cells are text, "NA" too."""

    unit = "line"

    def __init__(
        self,
        file: Path,
        *,
        most_times: int = MOST_TIMES,
        apostrophes: Apostrophes = "none",
        delimiter: str | None = None,
    ) -> None:
        super().__init__(file, most_times=most_times)
        self._apostrophes, self._delimiter = apostrophes, delimiter or csv_delimiter(file)

    @computed_once
    def names(self) -> list[str]:
        """The header."""
        with closing(
            csv_rows(
                self.file,
                what=WHAT,
                most_times=self._most_times,
                longest_cell=LIMITS.now.line_characters,
                delimiter=self._delimiter,
            )
        ) as rows:
            header = next(rows)[1]
        return [unguarded(name) for name in header] if self._apostrophes == "read" else header

    def batches(self, columns: Sequence[str], symbols: str) -> Generator[pa.RecordBatch]:
        """The rows, as strings."""
        del symbols
        with closing(self._batches(columns)) as rows:
            yield from map(_unguarded_batch, rows) if self._apostrophes == "read" else rows

    def _batches(self, columns: Sequence[str]) -> Generator[pa.RecordBatch]:
        indices = [self.names.index(name) for name in columns]
        blocks = CsvBlocks(
            self.file, self.names, most_times=self._most_times, opened=self._opened, delimiter=self._delimiter
        )
        with closing(blocks.read(indices)) as parts:
            for plain, run in groupby(parts, key=lambda each: isinstance(each, Block)):
                if plain:
                    for block in run:
                        yield from cast("Block", block).batches([ROW_NUMBER, *columns])
                    continue
                sized = ((cast("Row", row), sum(map(len, cast("Row", row)[1]))) for row in run)
                for rows in gathered(sized, most=LIMITS.now.gathered_rows, size=LIMITS.now.gathered_characters):
                    yield _batch(rows, columns, indices)

    def writer(self, out: BinaryIO, schema: pa.Schema) -> RowWriter:
        """A CSV writer with the same delimiter."""
        return _CsvWriter(out, schema.names, self._delimiter, guard=self._apostrophes == "written")


def _unguarded_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    numbers, *cells = batch.columns
    plain = [pc.replace_substring_regex(column, pattern="\\A'", replacement="") for column in cells]
    return pa.record_batch([numbers, *plain], names=batch.schema.names)


def _batch(rows: Sequence[Row], columns: Sequence[str], indices: list[int]) -> pa.RecordBatch:
    cells = [pa.array([cells[index] for _, cells in rows], type=pa.string()) for index in indices]
    numbers = pa.array([number for number, _ in rows], type=pa.int64())
    return pa.record_batch([numbers, *cells], names=[ROW_NUMBER, *columns])


def _guarded_column(column: Any) -> Any:
    """`formulas.guarded` for every cell."""
    signs = pc.match_substring_regex(column, pattern="\\A[=+\\-@\t\r\n＝＋－＠']")
    return pc.if_else(signs, pc.binary_join_element_wise("'", column, ""), column)


class _CsvWriter(RowWriter):
    """Quotes are written where they must be, cell by cell: not as Python's `csv`, whose rules differ by its version.

    With `guard` everywhere: a cell then stays one cell for a spreadsheet that expects another delimiter.
    """

    def __init__(self, out: BinaryIO, names: Sequence[str], delimiter: str, *, guard: bool) -> None:
        self._text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=False)
        self._delimiter, self._guard = delimiter, guard
        self._special = re.compile(f'["\r\n{re.escape(delimiter)}]')
        self._write_rows([[guarded(name) for name in names] if guard else names])

    def write(self, batch: pa.RecordBatch) -> None:
        """Some more rows."""
        texts = [column if pa.types.is_string(column.type) else column.cast(pa.string()) for column in batch.columns]
        if self._guard:
            texts = [_guarded_column(column) for column in texts]
        elif len(texts) > 1 and not any(map(self._needs_quotes, texts)):
            lines = pc.binary_join_element_wise(*texts, self._delimiter)
            self._text.write("\n".join([*lines.to_pylist(), ""]))
            return
        self._write_rows(zip(*(column.to_pylist() for column in texts), strict=True))

    def _needs_quotes(self, texts: Any) -> bool:
        special = pc.match_substring_regex(texts, pattern=self._special.pattern)
        return bool(texts.null_count or pc.any(special, min_count=0).as_py())

    def _write_rows(self, rows: Iterable[Sequence[str | None]]) -> None:
        for row in rows:
            line = self._delimiter.join(map(self._cell, row))
            self._text.write(f"{line or _NOTHING}\n")  # an empty line would be no row

    def _cell(self, text: str | None) -> str:
        text = text or ""
        if not self._guard and not self._special.search(text):
            return text
        return '"' + text.replace('"', '""') + '"'

    def close(self) -> None:
        """Everything is handed on; the file stays open."""
        self._text.flush()
        self._text.detach()
