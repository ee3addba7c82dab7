"""Rows of a cluster as records: a sequence in each row, or events grouped by case, each with its person."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

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
from symveil.formats.sequences.columns import ColumnOptions, LongColumns, WideColumns, choose_columns
from symveil.formats.sequences.person_names import no_name
from symveil.models.persons import EXACT_WHOLE, decimal_name, person_name
from symveil.release.spark_session import frame_at

PERSON = "symveil_person"
"""The column of persons: names as `models.persons` spells them, null where a cell is no name."""
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
            frame=rows.select(*map(quoted, columns.written(rows.columns)), *person),
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
        event = F.struct(F.col(quoted(columns.order)).alias("o"), F.col(quoted(columns.symbol)).alias("s"))
        records = (
            rows.groupBy(quoted(columns.case))
            .agg(F.sort_array(F.collect_list(event)).alias("e"), F.when(one_person, F.min(person)).alias(PERSON))
            .select(quoted(columns.case), F.col("e.s").alias(columns.symbol), PERSON)
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

    def nobody(self) -> FileError:
        """What is said of a record that is nobody's."""
        events, cell = self.order is not None, F.col(quoted(str(self.owner)))
        if self.input.where(cell.isNotNull() & _named(self.input, str(self.owner)).isNull()).limit(1).collect():
            return no_name(self.source)
        return FileError(
            self.source,
            expected="one person in every case" if events else "a person in every row",
            found="none or several in some case" if events else "none in some row",
        )


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
