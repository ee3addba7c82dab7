"""Two files of sequences, or lists of words, coded over one list of symbols."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from symveil.comparison.coded_words import CodedWords
from symveil.errors import FileError, SymveilError, WordError
from symveil.formats.manifest import CENTRAL_FORMAT, manifest_path, read_any_manifest
from symveil.formats.reading import suffix
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.frames import is_frame, open_input
from symveil.formats.sequences.record_steps import heard_records
from symveil.formats.sequences.records import PLACE, SYMBOLS
from symveil.formats.sequences.sequence_file import SequenceFile
from symveil.formats.sequences.sequence_files import FORMATS, open_sequences
from symveil.models.word import Word
from symveil.storage.atomic import released_files

Source = str | Path | Iterable[Word]


class _Gathered:
    """The words of one file, in codes of its own."""

    def __init__(self) -> None:
        self.code: dict[str, int] = {}
        self._codes: list[NDArray[np.int64]] = []
        self._lengths: list[NDArray[np.int64]] = []

    def add(self, texts: list[str], indices: NDArray[np.int64], lengths: NDArray[np.int64]) -> None:
        """Some more words: the different symbols as text, the number of each one's text, how many each word has."""
        own = np.array([self.code.setdefault(text, len(self.code)) for text in texts], dtype=np.int64)
        self._codes.append(own[indices] if len(own) else np.empty(0, dtype=np.int64))
        self._lengths.append(lengths)

    def words(self, number: dict[str, int]) -> CodedWords:
        """The words, in the codes of all symbols."""
        renamed = np.array([number[text] for text in self.code], dtype=np.int32)
        codes = np.concatenate([np.empty(0, dtype=np.int64), *self._codes])
        lengths = np.concatenate([np.empty(0, dtype=np.int64), *self._lengths])
        return CodedWords(renamed[codes] if len(codes) else np.empty(0, dtype=np.int32), lengths, len(number))


def read_pair(
    true: Source, private: Source, columns: ColumnOptions, *, known: Iterable[str] = ()
) -> tuple[tuple[str, ...], tuple[CodedWords, CodedWords]]:
    """The symbols of both files and those that are `known`, in the order of their text; and the words of each file.

    >>> symbols, (true, private) = read_pair(["ab"], [("b", "c")], ColumnOptions())
    >>> symbols, true.codes.tolist(), private.codes.tolist()
    (('a', 'b', 'c'), [0, 1], [1, 2])
    """
    one = _gathered(true, columns, name="true")
    other = _gathered(private, columns, name="private", may_differ=True)
    symbols = tuple(sorted({*one.code, *other.code, *known}))
    number = {symbol: index for index, symbol in enumerate(symbols)}
    return symbols, (one.words(number), other.words(number))


def read_words(source: Source, columns: ColumnOptions, *, name: str) -> tuple[tuple[str, ...], CodedWords]:
    """The symbols of one file, in the order of their text, and its words."""
    gathered = _gathered(source, columns, name=name, may_differ=name != "true")
    symbols = tuple(sorted(gathered.code))
    return symbols, gathered.words({symbol: index for index, symbol in enumerate(symbols)})


def _gathered(source: Source, columns: ColumnOptions, *, name: str, may_differ: bool = False) -> _Gathered:
    gathered = _Gathered()
    if isinstance(source, str | Path):
        for file in _files(Path(source), columns, may_differ=may_differ):
            for batch in heard_records(file, "reading"):
                gathered.add(*_coded(batch, file))
    elif is_frame(source):
        table = _opened_as_it_may_be(source, columns) if may_differ else open_input(source, columns)
        for batch in table.records():
            gathered.add(*_coded(batch, table))
    else:
        gathered.add(*_coded_words(source, name))
    if not gathered.code:
        raise FileError(
            str(source) if isinstance(source, str | Path) else name,
            expected="at least one sequence with a symbol",
            found="none",
        )
    return gathered


def _files(place: Path, columns: ColumnOptions, *, may_differ: bool) -> Iterator[SequenceFile]:
    told = _told(place) if may_differ else None
    inside = [file for file in released_files(place) if suffix(file) in FORMATS] if place.is_dir() else [place]
    if not inside:
        raise FileError(str(place), expected="files of sequences in the folder", found="none")
    for file in inside:
        if told is not None:
            yield open_sequences(file, told[0], apostrophes="read" if told[1] else "none")
        elif may_differ:
            yield _opened_as_it_may_be(file, columns)
        else:
            yield open_sequences(file, columns)


def _opened_as_it_may_be(file: Any, columns: ColumnOptions) -> SequenceFile:
    """A private file or table, read as the true one is; else without an order, which logs may lose; else as found."""
    try:
        return open_input(file, columns)
    except SymveilError as error:
        others = [replace(columns, order=None), ColumnOptions(separator=columns.separator), ColumnOptions()]
        for other in others:
            if other != columns:
                with suppress(SymveilError):
                    return open_input(file, other)
        raise error  # of the options as they were typed


def _told(place: Path) -> tuple[ColumnOptions, bool] | None:
    """The columns as the manifest beside a private file names them, and whether cells have apostrophes before them."""
    manifest = manifest_path(place)
    if not manifest.is_file():
        return None
    told = read_any_manifest(manifest).document
    output = told["output"]
    if told["format"] == CENTRAL_FORMAT and told["release"] != "synthesize":
        found = "a table of counts, for compare_table" if told["release"] == "count" else "a model"
        raise FileError(str(place), expected="a file of sequences", found=found)
    try:
        return ColumnOptions.from_names(output["columns"]), output.get("spreadsheet_safe") is True
    except (LookupError, TypeError, AttributeError):
        raise FileError(str(manifest), expected="a manifest as symveil writes it", found="another document") from None


def _coded(batch: pa.RecordBatch, file: SequenceFile) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    lists = batch.column(SYMBOLS)
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    values = lists.flatten()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if values.null_count:
        row = int(np.searchsorted(np.cumsum(lengths), pc.index(values.is_null(), value=True).as_py(), side="right"))
        where = f"{file.file}: {file.unit} {batch.column(PLACE)[row].as_py()}"
        raise FileError(where, expected="a symbol in every place of a sequence", found="none")
    texts, indices = _different(values, file)
    return texts, indices, lengths


def _different(values: Any, file: SequenceFile) -> tuple[list[str], NDArray[np.int64]]:
    try:
        encoded = values.dictionary_encode()
        return [str(value) for value in encoded.dictionary.to_pylist()], encoded.indices.to_numpy(
            zero_copy_only=False
        ).astype(np.int64)
    except (pa.ArrowException, ValueError, LookupError, ArithmeticError):  # a list, a date that Python does not have …
        raise FileError(
            str(file.file), expected="symbols that can be written as text", found=f"a column of {values.type}"
        ) from None


def _coded_words(words: Iterable[Word], name: str) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    code: dict[str, int] = {}
    codes: list[int] = []
    lengths: list[int] = []
    if not isinstance(words, Iterable):
        raise WordError(f"{name}: expected a file or words, found a {type(words).__name__}")
    for number, word in enumerate(words, start=1):
        if not isinstance(word, Iterable):
            raise WordError(f"{name}: expected words as sequences of symbols, found another thing as word {number}")
        symbols = [str(symbol) for symbol in word]
        codes.extend(code.setdefault(symbol, len(code)) for symbol in symbols)
        lengths.append(len(symbols))
    return list(code), np.array(codes, dtype=np.int64), np.array(lengths, dtype=np.int64)
