"""JSON Lines as batches: symbols as text or whole numbers, everything else as the JSON it was written in."""

from __future__ import annotations

import io
import json
from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any, BinaryIO

import pyarrow as pa

from symveil.errors import FileError, SymveilError
from symveil.io.json_text import Numeral
from symveil.io.reading import read_lines
from symveil.io.sequences.json_records import json_record, raw_json
from symveil.io.sequences.records import PLACE
from symveil.io.sequences.rows import WHAT, Gathered, RowSource, RowWriter
from symveil.models.alphabet import Alphabet
from symveil.numerics.once import computed_once

RAW = b"raw"
"""Marks a column, in its field's metadata, whose cells are JSON already."""

_WIDEST_WHOLE = 19
_RAW_FIELD = {RAW: b"json"}


class JsonRows(RowSource):
    """A JSON object in each line. The keys of the first one are the columns."""

    unit = "line"

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
        """Whether symbols are whole numbers, told by the first one of the file; None: there is none.

        So all batches have one type, also where the first ones have empty sequences only.
        """
        with closing(read_lines(self.file, what=WHAT, most_times=self._most_times)) as lines:
            try:
                for number, text in enumerate(lines, start=1):
                    value = json_record(text, f"{self.file}: line {number}").get(symbols) if text.strip() else []
                    for symbol in value if isinstance(value, list) else [value]:
                        return isinstance(symbol, Numeral)
            except SymveilError:  # which the reading of all lines tells in its place
                return None
        return None

    def batches(self, columns: Sequence[str], symbols: str) -> Generator[pa.RecordBatch]:
        """The rows; the column of symbols as strings or whole numbers, or lists of them."""
        reader = _Symbols(columns.index(symbols), numbers=self._has_numbers(symbols))
        gathered = Gathered()
        refused: SymveilError | None = None
        with closing(
            read_lines(self.file, what=WHAT, most_times=self._most_times, opened=self._opened)
        ) as lines:  # fmt: skip
            try:
                for number, text in enumerate(lines, start=1):
                    if not text.strip():
                        continue
                    place = f"{self.file}: line {number}"
                    record = json_record(text, place)
                    row = [
                        reader.read(record.get(name), place) if name == symbols else raw_json(record.get(name))
                        for name in columns
                    ]
                    if gathered.add(number, row, len(text)):
                        yield reader.batch(gathered, columns)
                        gathered.clear()
            except SymveilError as error:
                refused = error
        if gathered.rows:
            yield reader.batch(gathered, columns)
        if refused is not None:
            raise refused  # after the rows before it, in which something may be wrong too

    def writer(self, out: BinaryIO, schema: pa.Schema) -> RowWriter:
        """A writer of JSON Lines."""
        return _JsonWriter(out, schema)


class _Symbols:
    """Reads symbols, all of one kind: strings, or whole numbers; the first symbol of the file decides."""

    def __init__(self, index: int, *, numbers: bool | None) -> None:
        self._index = index
        self._numbers = numbers
        self._lists: bool | None = None

    def read(self, value: object, place: str) -> Any:
        if self._lists is None:
            self._lists = isinstance(value, list)
        if self._lists:
            if not isinstance(value, list):
                raise FileError(place, expected="a list of symbols", found="another value")
            return [self._symbol(item, place, position) for position, item in enumerate(value, start=1)]
        return self._symbol(value, place, None)

    def _symbol(self, item: object, place: str, position: int | None) -> str | int:
        where = "" if position is None else f", symbol {position}"
        number = isinstance(item, Numeral) and _is_whole(item.text)
        if not number and not isinstance(item, str):
            raise FileError(place, expected="strings or whole numbers as symbols", found=f"another value{where}")
        if self._numbers is None:
            self._numbers = number
        if self._numbers != number:
            kind = "whole numbers" if self._numbers else "strings"
            raise FileError(place, expected=f"{kind} as symbols, as before", found=f"another value{where}")
        return int(item.text) if isinstance(item, Numeral) else str(item)

    def batch(self, gathered: Gathered, columns: Sequence[str]) -> pa.RecordBatch:
        kind = pa.int64() if self._numbers else pa.string()
        arrays = [pa.array(gathered.places, type=pa.int64())]
        fields = [pa.field(PLACE, pa.int64())]
        for index, name in enumerate(columns):
            own = index == self._index
            column_type = (pa.list_(kind) if self._lists else kind) if own else pa.string()
            arrays.append(pa.array([row[index] for row in gathered.rows], type=column_type))
            fields.append(pa.field(name, column_type, metadata=None if own else _RAW_FIELD))
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


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


def plain_text(raw: str) -> str:
    """What a JSON string or number says, without quotes: how persons are known in a ledger."""
    return str(json.loads(raw)) if raw.startswith('"') else raw
