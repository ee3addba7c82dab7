"""Spark's job: a Parquet folder or a table in, the same out, charged by the driver before any task draws."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import ArrayType

from symveil.errors import FileError
from symveil.formats.sequences.columns import ColumnOptions, secret_lengths_in_long_form
from symveil.mechanisms.by_length import needs_lengths
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.alphabet import check_separable
from symveil.release.batch import Ask, Job, OnUnknown, ReleasePlan, Written
from symveil.release.limits import LIMITS
from symveil.release.spark_records import PERSON, SparkRecords, quoted
from symveil.release.spark_session import (
    SPARK_ERRORS,
    TABLE,
    FolderOutput,
    TableOutput,
    check_frame,
    digest_of_frame,
    frame_at,
    laid_out,
    plain_errors,
    release_frame,
    rows_digest,
    session,
)

_ROWS = "symveil_rows"
_SIZE = "symveil_size"


class SparkJob(Job[ReleasePlan]):
    """Rows of a cluster. An id column is required: rows have no number there."""

    unit = "row"
    has_ids = True

    def __init__(
        self,
        source: Path,
        target: Path,
        columns: ColumnOptions,
        mechanism: Mechanism,
        *,
        on_unknown: OnUnknown,
        master: str | None,
    ) -> None:
        self._session = session(master)
        self._source, self._target = str(source), str(target)
        self.mechanism, self._on_unknown = mechanism, on_unknown
        rows = SparkRecords.at(self._session, source, columns)
        if rows.identifier is None:
            raise FileError(self._source, expected="a column of ids (`identifier`) with `engine='spark'`", found="none")
        self._rows, self._records, self._input = rows, rows.frame, rows.input
        self._separator, self._long = rows.separator, rows.order is not None
        self._id, self._sequence, self._order = rows.identifier, rows.sequence, rows.order
        if self._long:
            if mechanism.metric == "levenshtein":
                raise secret_lengths_in_long_form()
            names = {"case": self._id, "symbol": self._sequence, "order": str(self._order)}
        else:
            if not rows.has_lists:
                check_separable(mechanism.alphabet, " " if self._separator is None else self._separator)
            names = {"sequence": self._sequence, "id": self._id}
            names |= {} if self._separator is None else {"separator": self._separator}
        if self._target == self._source:
            raise FileError(self._target, expected="another place than the input", found="the same")
        kind = TableOutput if self._target.startswith(TABLE) else FolderOutput
        self._output: TableOutput | FolderOutput = kind(self._session, self._target)
        self.facts = {
            "file": target.name,
            "format": self._output.format,
            "form": "long" if self._long else "wide",
            "columns": names,
        }

    # --- before anybody is charged -------------------------------------------------------------

    def plan(self, release_id: str, key: bytes) -> ReleasePlan:
        """How this release is drawn."""
        return ReleasePlan(
            mechanism=self.mechanism,
            release_id=release_id,
            release_key=key,
            sequence=self._sequence,
            identifier=self._id,
            on_unknown=self._on_unknown,
            unit=f"{self._source}: a row",
            has_rows_in_order=False,
        )

    def fingerprint(self) -> bytes:
        """All rows as a digest, whatever their order: a changed input is noticed. The ledger's stamp is keyed."""
        with plain_errors():
            return digest_of_frame(self._records)

    def survey(self, plan: ReleasePlan, ask: Ask) -> None:
        """Every row once: what is wrong with it, whether its id is its own, and whose it is."""
        with plain_errors():
            self._refuse_repeated()
            self._refuse_first(plan)
            self.look_at_lengths(plan)
            self._look_at_lengths()
            names: list[str] = []
            counts: list[int] = []
            lengths: list[int] = []
            sizes = self._records.select(PERSON, F.coalesce(self._length(), F.lit(0)).alias(_SIZE))
            for row in sizes.groupBy(PERSON, _SIZE).count().toLocalIterator():
                if not row[0]:
                    raise self._rows.unnamed_record()
                names.append(row[0])
                lengths.append(row[1])
                counts.append(row[2])
                if len(names) == LIMITS.now.names_at_once:
                    ask(names, counts, self.whole_of(counts, lengths))
                    names, counts, lengths = [], [], []
            ask(names, counts, self.whole_of(counts, lengths))

    def _refuse_first(self, plan: ReleasePlan) -> None:
        """Refuse what would be refused while drawing. Which task meets it first does not show."""
        name = F.col(quoted(self._id))
        if self._records.where(name.isNull() | (name.cast("string") == "")).limit(1).collect():
            raise FileError(self._source, expected="an id in every row", found="none in some row")
        self._rows.refuse_without_order()
        check_frame(self._records.drop(PERSON), plan, separator=self._separator)

    def look_at_lengths(self, plan: ReleasePlan) -> None:
        """Where laws depend on lengths they are counted here: tasks are handed the laws, and search for none."""
        del plan
        if needs_lengths(self.mechanism):
            self.lengths = self.legal_lengths = self._lengths_in_input()

    def _lengths_in_input(self) -> NDArray[np.int64]:
        sizes = self._records.select(F.coalesce(self._length(), F.lit(0)).alias("n")).distinct().collect()
        return np.array(sorted({max(int(row[0]), 0) for row in sizes}), dtype=np.int64)

    def _look_at_lengths(self) -> None:
        """On a model the public lengths decide whether b hides enough; those of sequences left out are not public."""
        on_a_model = self.mechanism.language.graph is not None and self.mechanism.metric == "hamming"
        if on_a_model and self._on_unknown == "error":
            self.legal_lengths = self._lengths_in_input() if self.lengths is None else self.lengths

    def _length(self) -> Any:
        """How many symbols each record has."""
        sequence = F.col(quoted(self._sequence))
        if isinstance(self._records.schema[self._sequence].dataType, ArrayType):
            return F.size(sequence)
        return self._size(sequence)

    def _refuse_repeated(self) -> None:
        counted = self._records.groupBy(quoted(self._id)).agg(F.count("*").alias(_ROWS))
        if counted.where(F.col(_ROWS) > 1).limit(1).collect():
            raise FileError(self._source, expected="each id once", found="one again")

    # --- the output ----------------------------------------------------------------------------

    @contextmanager
    def output(self, tag: str) -> Iterator[None]:
        """A folder of the owner's beside the target, or a table with another name."""
        with plain_errors(), self._output.begun(tag):
            yield

    def write(self, plan: ReleasePlan, left_out: list[str]) -> Written:
        """Everything through the core; where a task fails, all rows are looked through for the fault to report."""
        try:
            frame, digest = self._output.save(self._released(plan, left_out))
        except SPARK_ERRORS:
            self._refuse_first(plan)
            raise
        lengths = {int(row[0]): int(row[1]) for row in self._sizes(frame).groupBy("n").count().collect()}
        if self.lengths is not None and not set(lengths) <= set(self.lengths.tolist()):
            raise FileError(self._source, expected="an input that stays as it is while it is released", found="another")
        drawn = rows_digest(frame)  # files are cut and named anew by every run; the rows are the same
        return Written(
            digest=digest or drawn,
            sequences=self._records.count(),
            released=sum(lengths.values()),
            over_budget=self._of_persons(left_out, how="left_semi").count() if left_out else 0,
            symbols=sum(length * count for length, count in lengths.items()),
            lengths=np.array(sorted(lengths), dtype=np.int64),
            drawn=drawn,
        )

    def _of_persons(self, names: list[str], *, how: str) -> Any:
        persons = self._session.createDataFrame([(name,) for name in names], f"{PERSON} string")
        return self._records.join(persons, on=PERSON, how=how)

    def _released(self, plan: ReleasePlan, left_out: list[str]) -> Any:
        """The private rows, lazily."""
        self._refuse_repeated()
        records = self._of_persons(left_out, how="left_anti") if left_out else self._records
        private = release_frame(records.drop(PERSON), plan, separator=self._separator)
        private = laid_out(private, quoted(self._id), self._input.count())
        if not self._long:
            return private
        case, symbol = quoted(self._id), quoted(self._sequence)
        return private.select(case, F.posexplode(symbol).alias("p", "s")).select(
            case, (F.col("p") + 1).cast("long").alias(str(self._order)), F.col("s").alias(self._sequence)
        )

    def _sizes(self, frame: Any) -> Any:
        """How long each released sequence is, as the column `n`."""
        if self._long:
            return frame.groupBy(quoted(self._id)).agg(F.count("*").alias("n"))
        sequence = F.col(quoted(self._sequence))
        if isinstance(frame.schema[self._sequence].dataType, ArrayType):
            return frame.select(F.size(sequence).alias("n"))
        return frame.select(self._size(sequence).alias("n"))

    def _size(self, text: Any) -> Any:
        """How many symbols a text has, as `split_column` reads it: without a separator, runs of blanks separate."""
        if self._separator == "":
            return F.length(text)
        pieces = F.split(text, _literal(self._separator or " "), -1)
        if self._separator is None:
            return F.size(F.filter(pieces, lambda each: each != ""))
        return F.when(F.length(text) == 0, 0).otherwise(F.size(pieces))

    def publish(self) -> None:
        """Rename the folder or the table."""
        self._output.publish()

    def agrees_with(self, counts: dict[str, int]) -> bool:
        """As many records, and none in the output that the input does not have."""
        name = self._target if self._target.startswith(TABLE) else str(Path(self._target).absolute())
        made = frame_at(self._session, name)
        own, known = (frame.select(F.col(quoted(self._id)).alias(_ROWS)) for frame in (made, self._records))
        strangers = own.join(known, on=_ROWS, how="left_anti")
        return self._records.count() == counts.get("sequences") and not strangers.limit(1).collect()

    def published_digest(self) -> str | None:
        """The digest of the folder, or of the table's rows."""
        return self._output.digest()

    def explained(self) -> AbstractContextManager[None]:
        """What Spark says is wrong, as one line."""
        return plain_errors()


def _literal(separator: str) -> str:
    """A separator as the regular expression that Spark's split takes."""
    return "".join(f"\\{letter}" if not letter.isalnum() and letter != " " else letter for letter in separator)
