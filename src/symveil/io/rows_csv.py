"""CSV files as batches of strings, by Python's own `csv`, which knows line numbers: errors must name them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cached_property
from typing import BinaryIO

import pyarrow as pa

from symveil.io.reading import LONGEST_SEQUENCE_CELL, csv_rows, suffix
from symveil.io.records import PLACE
from symveil.io.rows import WHAT, Gathered, RowSource, RowWriter


class CsvRows(RowSource):
    """A CSV file, or a `.tsv` file with tabs; all cells are text, "NA" too."""

    unit = "line"

    @cached_property
    def names(self) -> list[str]:
        """The header."""
        with closing(
            csv_rows(self.file, what=WHAT, most_times=self._most_times, longest_cell=LONGEST_SEQUENCE_CELL)
        ) as rows:
            return next(rows)[1]

    def batches(self, columns: Sequence[str], symbols: str) -> Iterator[pa.RecordBatch]:
        """The rows, as strings."""
        del symbols
        gathered = Gathered()
        with closing(
            csv_rows(
                self.file,
                what=WHAT,
                most_times=self._most_times,
                opened=self._opened,
                longest_cell=LONGEST_SEQUENCE_CELL,
            )
        ) as rows:  # fmt: skip
            header = next(rows)[1]
            places = [header.index(name) for name in columns]
            for line, row in rows:
                if gathered.add(line, row, sum(map(len, row))):
                    yield _batch(gathered, columns, places)
                    gathered.clear()
        if gathered.rows:
            yield _batch(gathered, columns, places)

    def writer(self, out: BinaryIO, schema: pa.Schema) -> RowWriter:
        """A CSV writer with the same delimiter."""
        return _CsvWriter(out, schema.names, "\t" if suffix(self.file) == ".tsv" else ",")


def _batch(gathered: Gathered, columns: Sequence[str], places: list[int]) -> pa.RecordBatch:
    cells = [pa.array([row[place] for row in gathered.rows], type=pa.string()) for place in places]
    return pa.record_batch([pa.array(gathered.places, type=pa.int64()), *cells], names=[PLACE, *columns])


class _CsvWriter(RowWriter):
    def __init__(self, out: BinaryIO, names: Sequence[str], delimiter: str) -> None:
        self._text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=False)
        self._csv = csv.writer(self._text, delimiter=delimiter, lineterminator="\n")
        self._csv.writerow(names)

    def write(self, batch: pa.RecordBatch) -> None:
        """Some more rows."""
        self._csv.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))

    def close(self) -> None:
        """Everything is handed on; the file stays open."""
        self._text.flush()
        self._text.detach()
