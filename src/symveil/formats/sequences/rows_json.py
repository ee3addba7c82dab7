"""JSON Lines as batches: symbols as text or whole numbers, everything else as the JSON it was written in."""

from __future__ import annotations

import io
import json
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import pyarrow as pa

from symveil.errors import FileError, ModelError, SymveilError
from symveil.formats.json_text import Members, Numeral, parse_json, read_members
from symveil.formats.limits import LIMITS
from symveil.formats.reading import MOST_TIMES, read_lines
from symveil.formats.sequences.layout import RowWriter
from symveil.formats.sequences.records import ROW_NUMBER, Row, gathered
from symveil.formats.sequences.sequence_file import WHAT, RowSource
from symveil.models.alphabet import Alphabet
from symveil.models.names import numeral_name, person_name
from symveil.numbers.once import computed_once

RAW = b"raw"
"""Marks a column, in its field's metadata, whose cells are JSON already."""

_WIDEST_WHOLE = 19


def json_record(text: str, where: str) -> dict[str, object]:
    """The members of the object that a line spells; messages show nothing of it.

    >>> json_record('{"who": "x", "where": ["a", "b"]}', "line 1")["where"]
    ['a', 'b']
    >>> json_record('["a"]', "line 2")
    Traceback (most recent call last):
    symveil.errors.FileError: line 2: expected a JSON object, found an array: in JSON Lines each line is an object
    """
    record = parse_json(text, where=where, is_line=True)
    if "\\ud" in text.lower():  # halves of characters, which make one only in pairs
        try:
            (raw_json(record) or "").encode()
        except UnicodeEncodeError:
            raise FileError(
                where, expected="text of whole characters", found="half of one (a lone \\ud800 to \\udfff)"
            ) from None
    if not isinstance(record, Members):
        actual = "an array: in JSON Lines each line is an object" if isinstance(record, list) else "another value"
        raise FileError(where, expected="a JSON object", found=actual)
    try:
        return read_members(record, where=where, expected="an object")
    except ModelError:  # its message names the key, which is the file's business
        raise FileError(where, expected="each key once", found="one again") from None


def raw_json(value: object) -> str | None:
    """A parsed value as JSON again; null as nothing."""
    if value is None:
        return None
    if isinstance(value, Numeral):
        return value.text
    if isinstance(value, Members):
        pairs = (f"{json.dumps(key, ensure_ascii=False)}: {raw_json(item) or 'null'}" for key, item in value.pairs)
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(raw_json(item) or 'null' for item in value)}]"
    return json.dumps(value, ensure_ascii=False)


class JsonRows(RowSource):
    """A JSON object in each line. The keys of the first one are the columns."""

    unit = "line"
    passing: ClassVar[dict[bytes, bytes] | None] = {RAW: b"json"}

    def __init__(self, file: Path, *, most_times: int = MOST_TIMES, as_text: bool = False) -> None:
        super().__init__(file, most_times=most_times)
        self._as_text = as_text
        """Whether whole numbers are read as text: for those who only read."""

    @computed_once
    def _first(self) -> dict[str, object]:
        with closing(read_lines(self.file, what=WHAT, most_times=self._most_times)) as lines:
            for number, text in enumerate(lines, start=1):
                if text.strip():
                    return json_record(text, f"{self.file}: line {number}")
        raise FileError(str(self.file), expected=f"a {WHAT} with a record", found="an empty file")

    @property
    def names(self) -> list[str]:
        """The keys of the first record."""
        return list(self._first)

    @property
    def lists(self) -> list[str]:
        """Where the first record has lists."""
        return [key for key, value in self._first.items() if isinstance(value, list)]

    def released_type(self, alphabet: Alphabet) -> pa.DataType | None:
        """Lists of whole numbers where all symbols of the alphabet are such, and else of strings."""
        texts = [str(symbol) for symbol in alphabet.symbols]
        whole = all(_is_whole(text) and str(int(text)) == text for text in texts)
        return pa.list_(pa.int64() if whole else pa.string())

    def _has_numbers(self, symbols: str) -> bool | None:
        """Whether symbols are whole numbers: the first one of the file decides; None: there is none.

        So all batches have one type, also where the first ones have empty sequences only.
        """
        with closing(read_lines(self.file, what=WHAT, most_times=self._most_times)) as lines:
            try:
                for number, text in enumerate(lines, start=1):
                    value = json_record(text, f"{self.file}: line {number}").get(symbols) if text.strip() else []
                    for symbol in value if isinstance(value, list) else [value]:
                        return isinstance(symbol, Numeral)
            except SymveilError:  # which the reading of all lines tells in its where
                return None
        return None

    def batches(self, columns: Sequence[str], symbols: str) -> Generator[pa.RecordBatch]:
        """The rows; the column of symbols as strings or whole numbers, or lists of them."""
        numbers = None if self._as_text else self._has_numbers(symbols)
        reader = _Symbols(columns.index(symbols), numbers=numbers, as_text=self._as_text)
        sized, most = self._rows(columns, symbols, reader), LIMITS.now
        with closing(gathered(sized, most=most.gathered_rows, size=most.gathered_characters)) as groups:
            for rows in groups:
                yield reader.batch(rows, columns)

    def _rows(self, columns: Sequence[str], symbols: str, reader: _Symbols) -> Generator[tuple[Row, int]]:
        """Each line's number and cells, and its size."""
        with closing(
            read_lines(self.file, what=WHAT, most_times=self._most_times, opened=self._opened)
        ) as lines:  # fmt: skip
            for number, text in enumerate(lines, start=1):
                if not text.strip():
                    continue
                where = f"{self.file}: line {number}"
                record = json_record(text, where)
                cells = [
                    reader.read(record.get(name), where) if name == symbols else raw_json(record.get(name))
                    for name in columns
                ]
                yield (number, cells), len(text)

    def plain(self, text: str) -> str:
        """What a JSON string or number says."""
        return str(json.loads(text)) if text.startswith('"') else text

    def spelled(self, cells: Any) -> Any:
        """Persons, each written as JSON: strings, whole numbers, true and false are names."""
        return pa.array([_name(text) for text in cells.to_pylist()], type=pa.string())

    def writer(self, out: BinaryIO, schema: pa.Schema) -> RowWriter:
        """A writer of JSON Lines."""
        return _JsonWriter(out, schema)


class _Symbols:
    """Reads symbols, all of one kind: strings, or whole numbers; the first symbol of the file decides."""

    def __init__(self, index: int, *, numbers: bool | None, as_text: bool) -> None:
        self._index, self._numbers, self._as_text = index, numbers, as_text
        self._lists: bool | None = None

    def read(self, value: object, where: str) -> Any:
        if self._lists is None:
            self._lists = isinstance(value, list)
        if self._lists:
            if not isinstance(value, list):
                raise FileError(where, expected="a list of symbols", found="another value")
            return [self._symbol(item, where, position) for position, item in enumerate(value, start=1)]
        return self._symbol(value, where, None)

    def _symbol(self, item: object, where: str, position: int | None) -> str | int:
        if self._as_text and isinstance(item, Numeral) and item.text.lstrip("-").isdigit():
            return item.text
        at = "" if position is None else f", symbol {position}"
        number = isinstance(item, Numeral) and _is_whole(item.text)
        if not number and not isinstance(item, str):
            raise FileError(where, expected="strings or whole numbers as symbols", found=f"another value{at}")
        if self._numbers is None:
            self._numbers = number
        if self._numbers != number:
            kind = "whole numbers" if self._numbers else "strings"
            raise FileError(where, expected=f"{kind} as symbols, as before", found=f"another value{at}")
        return int(item.text) if isinstance(item, Numeral) else str(item)

    def batch(self, rows: Sequence[Row], columns: Sequence[str]) -> pa.RecordBatch:
        kind = pa.int64() if self._numbers else pa.string()
        arrays = [pa.array([number for number, _ in rows], type=pa.int64())]
        fields = [pa.field(ROW_NUMBER, pa.int64())]
        for index, name in enumerate(columns):
            own = index == self._index
            column_type = (pa.list_(kind) if self._lists else kind) if own else pa.string()
            arrays.append(pa.array([cells[index] for _, cells in rows], type=column_type))
            fields.append(pa.field(name, column_type, metadata=None if own else JsonRows.passing))
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _name(text: str | None) -> str | None:
    """The name that a JSON value is; None where it is none."""
    if text is None or text.startswith(("[", "{")):
        return None
    if text.startswith('"'):
        return person_name(str(json.loads(text)))
    return text if text in ("true", "false") else numeral_name(text)


def _is_whole(text: str) -> bool:
    """Whether a JSON number is a whole one of 64 bits."""
    return text.isascii() and text.lstrip("-").isdigit() and len(text) < _WIDEST_WHOLE


class _JsonWriter(RowWriter):
    def __init__(self, out: BinaryIO, schema: pa.Schema) -> None:
        self._text = io.TextIOWrapper(out, encoding="utf-8", newline="")
        self._heads = [json.dumps(field.name, ensure_ascii=False) for field in schema]
        self._raw = [bool(field.metadata and RAW in field.metadata) for field in schema]

    def write(self, batch: pa.RecordBatch) -> None:
        """Some more rows."""
        columns = [
            column.to_pylist() if raw else [json.dumps(cell, ensure_ascii=False) for cell in column.to_pylist()]
            for column, raw in zip(batch.columns, self._raw, strict=True)
        ]
        for row in zip(*columns, strict=True):
            pairs = (f"{head}: {cell or 'null'}" for head, cell in zip(self._heads, row, strict=True))
            self._text.write(f"{{{', '.join(pairs)}}}\n")

    def close(self) -> None:
        """Everything is handed on; the file stays open."""
        self._text.flush()
        self._text.detach()
