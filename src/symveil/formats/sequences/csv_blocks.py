"""Plain CSV by the block, through Arrow: the cells and line numbers that Python's `csv` finds, several times faster.

A block of whole lines is plain where nothing but commas and line ends means anything in it: no quotes, no blank
lines, no lone carriage returns, UTF-8 throughout, as many cells in each line as in the header. Any other block goes
through `csv`; where that fails, as in the middle of a quoted cell that goes on in the next block, `csv` takes over
for good and either reads on or says what is wrong.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from symveil.errors import FileError
from symveil.formats.reading import (
    LONGEST_SEQUENCE_CELL,
    csv_delimiter,
    csv_rows,
    lines_of,
    not_utf8,
    open_bytes,
    rows_of,
)
from symveil.formats.sequences.rows import WHAT, Row

_BLOCK = 2 << 20
_ROWS_AT_ONCE = 32_768
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
        yield from table.to_batches(max_chunksize=_ROWS_AT_ONCE)


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
            rest = self._after_header(file.read(_BLOCK))
            ended = rest is None
            while not ended and rest is not None:
                more = file.read(_BLOCK)
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
        """The rows of a block that ends where a row ends; None where that cannot be told, or something is wrong."""
        if block.count(b"\r") != block.count(b"\r\n"):
            return None  # lines end in several ways: `csv` must count them
        try:
            lines = lines_of(cast("BinaryIO", io.BytesIO(block)), self._path, encoding="utf-8")
            return list(self._rows(lines))
        except (FileError, UnicodeDecodeError):
            return None

    def _to_the_end(self, begin: bytes, file: BinaryIO) -> Iterator[Row]:
        joined = cast("BinaryIO", io.BufferedReader(_Joined(begin, file)))
        try:
            yield from self._rows(lines_of(joined, self._path, encoding="utf-8", before=self._line))
        except UnicodeDecodeError:
            raise not_utf8(self._path, what=WHAT, most_times=self._most_times) from None

    def _rows(self, lines: Iterator[str]) -> Iterator[Row]:
        return rows_of(
            lines,
            self._delimiter,
            self._path,
            longest_cell=LONGEST_SEQUENCE_CELL,
            width=len(self._header),
            before=self._line,
        )

    def _from_the_start(self) -> Iterator[Row]:
        rows = csv_rows(
            self._path,
            what=WHAT,
            most_times=self._most_times,
            opened=self._opened,
            longest_cell=LONGEST_SEQUENCE_CELL,
            delimiter=self._delimiter,
        )
        next(rows)
        yield from rows


class _Joined(io.RawIOBase):
    """Some bytes, then the rest of a file."""

    def __init__(self, begin: bytes, file: BinaryIO) -> None:
        self._begin, self._file = io.BytesIO(begin), file

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any writable buffer
        """The next bytes."""
        return self._begin.readinto(buffer) or self._file.readinto(buffer)  # type: ignore[attr-defined]
