"""CSV files as batches of strings. Line numbers are kept, because errors must name them."""

from __future__ import annotations

import io
import re
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.compute as pc

from symveil.formats.formulas import Apostrophes, guarded, unguarded
from symveil.formats.reading import LONGEST_SEQUENCE_CELL, MOST_TIMES, csv_delimiter, csv_rows
from symveil.formats.sequences.csv_blocks import Block, CsvBlocks
from symveil.formats.sequences.records import PLACE, gathered
from symveil.formats.sequences.rows import ROWS_GATHERED, TEXT_GATHERED, WHAT, Row, RowSource, RowWriter
from symveil.numbers.once import computed_once

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
                longest_cell=LONGEST_SEQUENCE_CELL,
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
                        yield from cast("Block", block).batches([PLACE, *columns])
                    continue
                sized = ((cast("Row", row), sum(map(len, cast("Row", row)[1]))) for row in run)
                for rows in gathered(sized, most=ROWS_GATHERED, size=TEXT_GATHERED):
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
    return pa.record_batch([numbers, *cells], names=[PLACE, *columns])


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
