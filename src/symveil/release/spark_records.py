"""Rows of a cluster as records: a sequence in each row, or events grouped by case, each with its person.

Words of a cluster for a central release: tasks group, check and encode them, the driver adds them up.

Sums are whole numbers, the same in whatever order words come, and the driver alone draws noise: the table is that of
the local engine, bit for bit, under the same key; and the key never leaves the driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from symveil.errors import FileError, ParameterError
from symveil.estimation.table import Indices
from symveil.formats.sequences.columns import ColumnOptions, LongColumns, WideColumns, choose_columns
from symveil.formats.sequences.records import is_list, list_lengths, no_name, split_column
from symveil.formats.sequences.sequence_file import attribute_codes
from symveil.formats.sequences.stamps import StampReader
from symveil.languages.language import AnyLength
from symveil.models.alphabet import Lengths
from symveil.models.names import EXACT_WHOLE, decimal_name, person_name
from symveil.models.times import Stamps
from symveil.release.central_job import (
    NOTHING_BESIDE,
    Beside,
    CentralWords,
    LegalWords,
    ObservedSymbols,
    PublicOrObserved,
    encoded_words,
)
from symveil.release.spark_session import digest_of_frame, frame_at, in_task, plain_errors, session

PERSON = "symveil_person"
"""The column of persons: names as `models.names` spells them, null where a cell is no name."""
_SORTABLE = (NumericType, DateType, TimestampType, TimestampNTZType)
"""The types of columns that put events in order."""
_NAMES = (StringType, BooleanType, *_SORTABLE)
"""The types of columns that can name a record or a person."""


@dataclass(frozen=True, kw_only=True)
class SparkRecords:
    """The records of a Parquet folder or a table, lazily.

    Parameters
    ----------
    source
        Where they are, for messages.
    input
        The rows as they are.
    frame
        The records: ids, sequences, other columns that are released, and `PERSON` where there is an id or a person.
    identifier, sequence, order
        Columns: of ids, or cases; of sequences, or symbols; of the order of events, None where rows are sequences.
    separator
        What the symbols of a sequence are joined by where it is text.
    owner
        The column that names persons; None where there is none.
    has_lists
        Whether sequences are lists.
    beside
        The columns that are read beside the symbols: of times first, then of attributes.
    """

    source: str
    input: Any
    frame: Any
    identifier: str | None
    sequence: str
    order: str | None
    separator: str | None
    owner: str | None
    has_lists: bool
    beside: tuple[str, ...] = ()

    @classmethod
    def at(cls, session: Any, source: Path, columns: ColumnOptions) -> Self:
        """The records at a place."""
        for name in ("delimiter", "date_format"):
            if getattr(columns, name) is not None:
                raise ParameterError(
                    name,
                    expected="`engine='local'` with it: Spark reads tables whose columns have types",
                    found="spark",
                )
        rows = frame_at(session, str(source))
        lists = [field.name for field in rows.schema.fields if isinstance(field.dataType, ArrayType)]
        chosen = choose_columns(source, columns, rows.columns, lists)
        if isinstance(chosen, WideColumns):
            return cls._of_rows(str(source), rows, chosen, columns.separator, lists)
        return cls._of_events(str(source), rows, chosen, columns.separator)

    @classmethod
    def _of_rows(cls, source: str, rows: Any, columns: WideColumns, separator: str | None, lists: list[str]) -> Self:
        """A sequence in each row."""
        _require_names(source, rows, columns.identifier, columns.person)
        owner = columns.person or columns.identifier
        person = [] if owner is None else [_named(rows, owner).alias(PERSON)]
        return cls(
            source=source,
            input=rows,
            frame=rows.select(*map(quoted, dict.fromkeys([*columns.written(rows.columns), *columns.beside])), *person),
            beside=columns.beside,
            identifier=columns.identifier,
            sequence=columns.sequence,
            order=None,
            separator=separator,
            owner=owner,
            has_lists=columns.sequence in lists,
        )

    @classmethod
    def _of_events(cls, source: str, rows: Any, columns: LongColumns, separator: str | None) -> Self:
        """An event in each row: grouped by case, and sorted."""
        _require_names(source, rows, columns.case, columns.person)
        if columns.order is None or columns.keep:
            raise FileError(
                source,
                expected="`order` and no `keep` for events on Spark, where rows have no order of their own",
                found="`keep`" if columns.keep else "no `order`",
            )
        kind = rows.schema[columns.order].dataType
        if not isinstance(kind, _SORTABLE):
            # text would be sorted by its letters, "10" before "9"
            raise FileError(
                source, expected="numbers, dates or timestamps in the order column on Spark",
                found=f"a column of {kind.typeName()}; convert it first",
            )  # fmt: skip
        person = _named(rows, columns.person or columns.case)
        # a case of several persons, or partly of nobody's, is nobody's: it is refused with those that have none
        one_person = (F.count(person) == F.count("*")) & (F.min(person) == F.max(person))
        # what is read beside the symbols stands last: it orders nothing that order and symbol have not ordered
        event = F.struct(
            F.col(quoted(columns.order)).alias("o"),
            F.col(quoted(columns.symbol)).alias("s"),
            *(F.col(quoted(name)).alias(f"b{index}") for index, name in enumerate(columns.beside)),
        )
        records = (
            rows.groupBy(quoted(columns.case))
            .agg(F.sort_array(F.collect_list(event)).alias("e"), F.when(one_person, F.min(person)).alias(PERSON))
            .select(
                quoted(columns.case),
                F.col("e.s").alias(columns.symbol),
                PERSON,
                *(F.col(f"e.b{index}").alias(_beside(index)) for index in range(len(columns.beside))),
            )
        )
        return cls(
            source=source,
            input=rows,
            frame=records,
            identifier=columns.case,
            sequence=columns.symbol,
            order=columns.order,
            separator=separator,
            owner=columns.person or columns.case,
            has_lists=True,
            beside=tuple(_beside(index) for index in range(len(columns.beside))),
        )

    def refuse_without_order(self) -> None:
        """Refuse events that have no place in the order."""
        if self.order is None:
            return
        order = F.col(quoted(self.order))
        name = self.input.schema[self.order].dataType.typeName()
        missing = order.isNull() | F.isnan(order) if name in ("float", "double") else order.isNull()
        if self.input.where(missing).limit(1).collect():
            raise FileError(self.source, expected="a place in the order for every event", found="none for some")

    def unnamed_record(self) -> FileError:
        """The error for a record without a person."""
        events, cell = self.order is not None, F.col(quoted(str(self.owner)))
        if self.input.where(cell.isNotNull() & _named(self.input, str(self.owner)).isNull()).limit(1).collect():
            return no_name(self.source)
        return FileError(
            self.source,
            expected="one person in every case" if events else "a person in every row",
            found="none or several in some case" if events else "none in some row",
        )


def _beside(index: int) -> str:
    return f"symveil_beside_{index}"


def _require_names(source: str, rows: Any, *names: str | None) -> None:
    for name in names:
        if name is not None and not isinstance(rows.schema[name].dataType, _NAMES):
            raise FileError(
                source, expected="text, numbers or dates as ids and persons",
                found=f"a column of {rows.schema[name].dataType.typeName()}",
            )  # fmt: skip


def _named(rows: Any, name: str) -> Any:
    """A column of persons in the spelling of the local engine: the same person has one name in both."""
    column, kind = F.col(quoted(name)), rows.schema[name].dataType
    if isinstance(kind, StringType):
        return F.udf(_spelled, "string")(column.cast("string"))
    if isinstance(kind, BooleanType | DateType | IntegralType):
        return column.cast("string")
    if isinstance(kind, FloatType | DoubleType):
        # NaN is equal to itself and above everything else there
        limit = EXACT_WHOLE[64 if isinstance(kind, DoubleType) else 32]
        whole = (F.abs(column) < F.lit(limit)) & (column == F.rint(column))
        return F.when(whole, column.cast("long").cast("string"))
    if isinstance(kind, DecimalType):
        return F.udf(decimal_name, "string")(column)  # Spark rounds decimals before it compares them
    return F.lit(None).cast("string")


def _spelled(text: str | None) -> str | None:
    return None if text is None else person_name(text)


def quoted(name: str) -> str:
    """A column's name as Spark takes it."""
    return f"`{name.replace('`', '``')}`"


_WORDS, _PERSONS = "words", "persons"


class SparkWords(CentralWords):
    """The legal words of a Parquet folder or a table."""

    has_ids = True

    def __init__(
        self,
        source: Path,
        columns: ColumnOptions,
        language: PublicOrObserved,
        beside: Beside = NOTHING_BESIDE,
        *,
        master: str | None,
    ) -> None:
        self._records = SparkRecords.at(session(master), source, columns)
        if PERSON not in self._records.frame.columns:
            raise FileError(
                str(source),
                expected="a column of persons or ids (`person`, `identifier`) with `engine='spark'`",
                found="none",
            )
        self.path, self._language, self._beside = source, language, beside
        read = self._records.beside
        own = self._records.frame.select(quoted(self._records.sequence), PERSON, *map(quoted, read))
        # `mapInArrow` takes a dot or a backtick in a name for syntax; the digest covers what is read beside the words
        self._frame = own.toDF(_WORDS, _PERSONS, *(_beside(index) for index in range(len(read))))

    def persons(self) -> list[str]:
        """Everybody, in the order of their names."""
        with plain_errors():
            self._records.refuse_without_order()
            names = [row[0] for row in self._frame.select(_PERSONS).distinct().toLocalIterator()]
        if not all(names):
            raise self._records.unnamed_record()
        return sorted(names)

    def encoded(self, *, beside: bool = True) -> Iterator[LegalWords]:
        """Legal words: what each task makes of a batch comes as one block of bytes."""
        wanted = self._beside if beside else NOTHING_BESIDE
        public = None if isinstance(self._language, ObservedSymbols) else self._language
        packed = self._frame.mapInArrow(
            partial(
                in_task,
                _packed,
                language=public,
                separator=self._records.separator,
                beside=wanted,
                long=self._records.order is not None,
            ),
            "block binary",
        )
        with plain_errors():
            for row in packed.toLocalIterator():
                yield from self._unpacked(bytes(row[0]), wanted)

    def fingerprint(self) -> bytes:
        """All rows as a digest, whatever their order."""
        with plain_errors():
            return digest_of_frame(self._frame)

    def _unpacked(self, block: bytes, beside: Beside) -> Iterator[LegalWords]:
        for batch in pa.ipc.open_stream(block):
            words = batch.column(_WORDS)
            if isinstance(self._language, ObservedSymbols):
                codes, lengths, _ = self._language.encoded(words)
            else:
                codes = words.flatten().to_numpy(zero_copy_only=False)
                lengths = list_lengths(words)
            yield LegalWords(codes, lengths, batch.column(_PERSONS), *_read_beside(batch, beside))


_MICROSECONDS, _KIND = "microseconds", "kind"


def _read_beside(batch: pa.RecordBatch, beside: Beside) -> tuple[Stamps | None, tuple[Indices, ...]]:
    """What a task read beside the words."""

    def numbers(name: str) -> Any:
        return batch.column(name).flatten().to_numpy(zero_copy_only=False)

    stamps = Stamps(numbers(_MICROSECONDS), numbers(_KIND)) if beside.times else None
    return stamps, tuple(numbers(_beside(index)) for index in range(len(beside.attributes)))


def _packed(
    batches: Iterable[pa.RecordBatch],
    *,
    language: AnyLength | None,
    separator: str | None,
    beside: Beside = NOTHING_BESIDE,
    long: bool = False,
) -> Iterator[pa.RecordBatch]:
    """The legal words of each batch as a block of bytes: codes, or symbols where there is no public alphabet."""
    for batch in batches:
        words, persons = batch.column(_WORDS), batch.column(_PERSONS)
        if words.null_count:
            raise ParameterError("sequence", expected="a sequence in every row", found="none in some row")
        if not is_list(words.type):
            words = split_column(words, separator)
        lengths = list_lengths(words)
        extra = _numbers_beside(batch, lengths, beside, StampReader(separator=separator), long=long)
        if language is not None:
            codes, lengths, legal = encoded_words(words, language)
            symbols = np.repeat(legal, lengths)
            codes, lengths = codes[symbols], lengths[legal]
            words = _lists(pa.array(codes, type=pa.int32()), lengths)
            persons = persons.filter(pa.array(legal))
            extra = {name: values[symbols] for name, values in extra.items()}
        columns = {_WORDS: words, _PERSONS: persons}
        columns |= {name: _lists(pa.array(values), lengths) for name, values in extra.items()}
        own = pa.record_batch(list(columns.values()), names=list(columns))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, own.schema) as stream:
            stream.write_batch(own)
        yield pa.record_batch([pa.array([sink.getvalue().to_pybytes()], type=pa.binary())], names=["block"])


def _lists(values: pa.Array, lengths: Lengths) -> pa.Array:
    """Values as lists of these lengths."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return pa.LargeListArray.from_arrays(pa.array(offsets, type=pa.int64()), values)


def _numbers_beside(
    batch: pa.RecordBatch, lengths: Lengths, beside: Beside, reader: StampReader, *, long: bool
) -> dict[str, Any]:
    """Times and codes of attributes of all symbols of a batch."""
    numbers: dict[str, Any] = {}
    if beside.times:
        column = batch.column(_beside(0))
        stamps = reader.cells(column.flatten()) if long else reader.of_sequences(column, lengths)
        numbers = {_MICROSECONDS: stamps.microseconds, _KIND: stamps.kind}
    for index, values in enumerate(beside.attributes):
        column = batch.column(_beside(index + int(beside.times)))
        numbers[_beside(index)] = attribute_codes(column, lengths, values)
    return numbers
