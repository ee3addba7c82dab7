"""Spark's job: a Parquet folder or a table in, the same out, charged by the driver before any task draws."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from symveil.engines.batch import OnUnknown, ReleasePlan
from symveil.engines.spark import check_frame, digest_of_frame, laid_out, release_frame
from symveil.errors import FileError, InternalError, ParameterError, reason
from symveil.io.aside import AsideFile, aside_of, make_own_folder, sync_folder
from symveil.io.folder_digest import digest_of_folder
from symveil.io.sequences.columns import (
    ColumnOptions,
    LongColumns,
    WideColumns,
    choose_columns,
    secret_lengths_in_long_form,
)
from symveil.io.symbols import check_separable
from symveil.mechanisms.mechanism import Mechanism
from symveil.workflows.releasing.job import Ask, Job, Output, Written

TABLE = "table:"
"""In front of a name: a table of the session's catalogue instead of a Parquet folder."""

_NAMES_AT_ONCE = 50_000


class SparkJob(Job):
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
        self._mechanism, self._on_unknown = mechanism, on_unknown
        self._separator = columns.separator
        self._read(columns)
        if self._target == self._source:
            raise FileError(self._target, expected="another place than the input", found="the same")
        self.facts = {
            "file": target.name,
            "format": "table" if self._target.startswith(TABLE) else "Parquet",
            "form": "wide" if isinstance(self._columns, WideColumns) else "long",
            "columns": self._names(),
        }

    # --- reading -------------------------------------------------------------------------------

    def _read(self, options: ColumnOptions) -> None:
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - as everybody calls it; needs pyspark
        from pyspark.sql.types import ArrayType  # noqa: PLC0415

        self._input = frame = self._frame(self._source)
        self._without_order = frame.limit(0)
        lists = [field.name for field in frame.schema.fields if isinstance(field.dataType, ArrayType)]
        self._columns = columns = choose_columns(Path(self._source), options, frame.columns, lists)
        named = columns.identifier if isinstance(columns, WideColumns) else columns.case
        for name in (named, columns.person):
            if name is not None and not isinstance(frame.schema[name].dataType, _names_somebody()):
                raise FileError(
                    self._source, expected="text, numbers or dates as ids and persons",
                    found=f"a column of {frame.schema[name].dataType.typeName()}",
                )  # fmt: skip
        if isinstance(columns, WideColumns):
            if columns.identifier is None:
                raise FileError(self._source, expected="a column of ids (--id) with --engine spark", found="none")
            self._id, self._sequence = columns.identifier, columns.sequence
            if columns.sequence not in lists:
                check_separable(self._mechanism.alphabet, self._separator or " ")
            chosen = columns.written(frame.columns)
            person = F.col(_quoted(columns.person or columns.identifier)).cast("string").alias(_PERSON)
            self._records = frame.select(*map(_quoted, chosen), person)
            return
        if self._mechanism.metric == "levenshtein":
            raise secret_lengths_in_long_form()
        if columns.order is None or columns.keep:
            raise FileError(
                self._source,
                expected="--order and no --keep for events on Spark, where rows have no order of their own",
                found="--keep" if columns.keep else "no --order",
            )
        self._id, self._sequence = columns.case, columns.symbol
        kind = frame.schema[columns.order].dataType
        name, order = str(kind.typeName()), F.col(_quoted(columns.order))
        if not isinstance(kind, _sorts()):
            # text would be sorted by its letters, "10" before "9"
            raise FileError(
                self._source, expected="numbers, dates or timestamps in the order column on Spark",
                found=f"a column of {name}; convert it first",
            )  # fmt: skip
        missing = order.isNull() | F.isnan(order) if name in ("float", "double") else order.isNull()
        self._without_order = frame.where(missing)
        person = F.col(_quoted(columns.person or columns.case)).cast("string")
        # a case of several persons, or partly of nobody's, is nobody's: it is refused with those that have none
        one_person = (F.count(person) == F.count("*")) & (F.min(person) == F.max(person))
        event = F.struct(order.alias("o"), F.col(_quoted(columns.symbol)).alias("s"))
        self._records = (
            frame.groupBy(_quoted(columns.case))
            .agg(F.sort_array(F.collect_list(event)).alias("e"), F.when(one_person, F.min(person)).alias(_PERSON))
            .select(_quoted(columns.case), F.col("e.s").alias(columns.symbol), _PERSON)
        )

    def _frame(self, place: str) -> Any:
        from pyspark.errors import PySparkException  # noqa: PLC0415

        try:
            if place.startswith(TABLE):
                return self._session.table(place.removeprefix(TABLE))
            return self._session.read.parquet(place)
        except PySparkException as error:
            found = (error.getCondition() or type(error).__name__).replace("_", " ").lower()
            raise FileError(place, expected="a Parquet folder or table:NAME that Spark can read", found=found) from None

    def _names(self) -> dict[str, str]:
        columns = self._columns
        if isinstance(columns, LongColumns):
            return {"case": columns.case, "symbol": columns.symbol, "order": str(columns.order)}
        told = {"sequence": columns.sequence, "id": str(columns.identifier)}
        return told if self._separator is None else told | {"separator": self._separator}

    # --- the protocol --------------------------------------------------------------------------

    def plan(self, release_id: str, key: bytes) -> ReleasePlan:
        """How this release is drawn."""
        return ReleasePlan(
            mechanism=self._mechanism,
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
        with _plain_errors():
            return digest_of_frame(self._records)

    def survey(self, plan: ReleasePlan, ask: Ask) -> None:
        """Every row once: what is wrong with it, whether its id is its own, and whose it is."""
        with _plain_errors():
            self._refuse_repeated()
            self._refuse_first(plan)
            names: list[str] = []
            counts: list[int] = []
            for row in self._records.groupBy(_PERSON).count().toLocalIterator():
                if not row[0]:
                    long = isinstance(self._columns, LongColumns)
                    raise FileError(
                        self._source,
                        expected="one person in every case" if long else "a person in every row",
                        found="none or several in some case" if long else "none in some row",
                    )
                names.append(row[0])
                counts.append(row[1])
                if len(names) == _NAMES_AT_ONCE:
                    ask(names, counts)
                    names, counts = [], []
            ask(names, counts)

    def _refuse_first(self, plan: ReleasePlan) -> None:
        """Refuse what would be refused while drawing. Which task meets it first does not show."""
        self._refuse_unnamed()
        check_frame(self._records.drop(_PERSON), plan, separator=self._separator)

    @contextmanager
    def drawing(self, plan: ReleasePlan) -> Iterator[None]:
        """While tasks draw: where one of them fails, all rows are looked through for the fault that is told."""
        from py4j.protocol import Py4JJavaError  # noqa: PLC0415
        from pyspark.errors import PySparkException  # noqa: PLC0415

        try:
            yield
        except (PySparkException, Py4JJavaError):
            self._refuse_first(plan)
            raise

    def _refuse_repeated(self) -> None:
        from pyspark.sql import functions as F  # noqa: N812, PLC0415

        counted = self._records.groupBy(_quoted(self._id)).agg(F.count("*").alias(_ROWS))
        if counted.where(F.col(_ROWS) > 1).limit(1).collect():
            raise FileError(self._source, expected="each id once", found="one again")

    def _refuse_unnamed(self) -> None:
        """What would stop the drawing must stop the charging."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415

        name = F.col(_quoted(self._id))
        if self._records.where(name.isNull() | (name.cast("string") == "")).limit(1).collect():
            raise FileError(self._source, expected="an id in every row", found="none in some row")
        if self._without_order.limit(1).collect():
            raise FileError(self._source, expected="a place in the order for every event", found="none for some")

    @contextmanager
    def output(self, tag: str) -> Iterator[Output]:
        """A folder of the owner's beside the target, or a table with another name."""
        with _plain_errors():
            if self._target.startswith(TABLE):
                yield _TableOutput(self, self._target.removeprefix(TABLE), tag)
                return
            if Path(self._target).exists():
                raise FileError(self._target, expected="a folder that is not there yet", found="one")
            output = _FolderOutput(self, Path(self._target), tag)
            try:
                yield output
            finally:
                output.clear()

    def agrees_with(self, counts: dict[str, int]) -> bool:
        """As many records, and none in the output that the input does not have."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415

        place = self._target
        made = self._frame(place if place.startswith(TABLE) else str(Path(place).absolute()))
        own, known = (frame.select(F.col(_quoted(self._id)).alias(_ROWS)) for frame in (made, self._records))
        strangers = own.join(known, on=_ROWS, how="left_anti")
        return self._records.count() == counts["sequences"] and not strangers.limit(1).collect()

    def digest_in_place(self) -> str | None:
        """The digest of the folder, or of the table's rows."""
        if not self._target.startswith(TABLE):
            return digest_of_folder(Path(self._target))
        name = self._target.removeprefix(TABLE)
        return self.table_digest(name) if self._session.catalog.tableExists(name) else None

    def released(self, plan: ReleasePlan, left_out: list[str]) -> Any:
        """The private rows, lazily."""
        self._refuse_repeated()
        records = self._records
        if left_out:
            outside = self._session.createDataFrame([(name,) for name in left_out], f"{_PERSON} string")
            records = records.join(outside, on=_PERSON, how="left_anti")
        private = release_frame(records.drop(_PERSON), plan, separator=self._separator)
        private = laid_out(private, _quoted(self._id), self._input.count())
        if isinstance(self._columns, WideColumns):
            return private
        from pyspark.sql import functions as F  # noqa: N812, PLC0415

        case, symbol = _quoted(self._columns.case), _quoted(self._columns.symbol)
        exploded = private.select(case, F.posexplode(symbol).alias("p", "s"))
        return exploded.select(
            case, (F.col("p") + 1).cast("long").alias(str(self._columns.order)), F.col("s").alias(self._columns.symbol)
        )

    def written(self, frame: Any, digest: str, left_out: list[str]) -> Written:
        """What there is to tell about rows that were written: from them, and from how many there were."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415

        sequences = self._records.count()
        over = 0
        if left_out:
            outside = self._session.createDataFrame([(name,) for name in left_out], f"{_PERSON} string")
            over = self._records.join(outside, on=_PERSON, how="left_semi").count()
        if isinstance(self._columns, LongColumns):
            size = frame.groupBy(_quoted(self._columns.case)).agg(F.count("*").alias("n"))
        elif isinstance(frame.schema[self._sequence].dataType, _array_type()):
            size = frame.select(F.size(_quoted(self._sequence)).alias("n"))
        else:
            text = F.col(_quoted(self._sequence))
            pieces = F.size(F.split(text, _literal(self._separator or " "), -1))
            size = frame.select(F.when(F.length(text) == 0, 0).otherwise(pieces).alias("n"))
        lengths = {int(row[0]): int(row[1]) for row in size.groupBy("n").count().collect()}
        released = sum(lengths.values())
        return Written(
            digest=digest,
            sequences=sequences,
            released=released,
            over_budget=over,
            symbols=sum(length * count for length, count in lengths.items()),
            lengths=np.array(sorted(lengths), dtype=np.int64),
            drawn=self._rows_digest(frame),  # files are cut and named anew by every run; the rows are the same
        )

    def table_digest(self, name: str) -> str:
        """A table's rows as a digest that does not depend on their order."""
        return self._rows_digest(self._session.table(name))

    def _rows_digest(self, frame: Any) -> str:
        return f"rows-sha256:{digest_of_frame(frame).hex()}"

    @contextmanager
    def explained(self) -> Iterator[None]:
        """What Spark says is wrong, as one line."""
        with _plain_errors():
            yield

    @property
    def session(self) -> Any:
        """The Spark session."""
        return self._session


class _FolderOutput(Output):
    """Parquet files in a folder that only its owner can enter, until it is renamed."""

    def __init__(self, job: SparkJob, target: Path, tag: str) -> None:
        self._job, self._target = job, target
        self._aside = aside_of(target, tag)
        try:
            make_own_folder(self._aside)
        except OSError as error:
            raise FileError(
                str(target), expected="a place to write to", found=reason(error, otherwise="none")
            ) from None
        # the lock of the release: dropped by the system when this process ends
        self._lock = AsideFile(self._aside / "lock", tag)
        self._data = self._aside / "data"
        if self._data.exists():
            shutil.rmtree(self._data)

    def write(self, plan: ReleasePlan, left_out: list[str]) -> Written:
        with self._job.drawing(plan):
            self._job.released(plan, left_out).write.mode("error").parquet(str(self._data))
        for file in self._data.rglob("*"):
            number = os.open(file, os.O_RDONLY)
            os.fsync(number)
            os.close(number)
        frame = self._job.session.read.parquet(str(self._data))
        return self._job.written(frame, digest_of_folder(self._data) or "", left_out)

    def publish(self) -> None:
        self._data.rename(self._target)
        sync_folder(self._target.parent)

    def clear(self) -> None:
        self._lock.__exit__()
        shutil.rmtree(self._aside, ignore_errors=True)


class _TableOutput(Output):
    """A table under another name until it is renamed."""

    def __init__(self, job: SparkJob, name: str, tag: str) -> None:
        self._job, self._name = job, name
        self._aside = f"{name}_aside_{''.join(letter if letter.isalnum() else '_' for letter in tag)}"
        if job.session.catalog.tableExists(name):
            raise FileError(f"{TABLE}{name}", expected="a table that is not there yet", found="one")

    def write(self, plan: ReleasePlan, left_out: list[str]) -> Written:
        self._job.session.sql(f"DROP TABLE IF EXISTS {self._aside}")
        with self._job.drawing(plan):
            self._job.released(plan, left_out).write.mode("error").saveAsTable(self._aside)
        frame = self._job.session.table(self._aside)
        return self._job.written(frame, self._job.table_digest(self._aside), left_out)

    def publish(self) -> None:
        self._job.session.sql(f"ALTER TABLE {self._aside} RENAME TO {self._name}")


_PERSON, _ROWS = "symveil_person", "symveil_rows"


def session(master: str | None) -> Any:
    """The session that is active, or a new one on `master` (this machine's cores by default)."""
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415
    except ModuleNotFoundError:
        raise ParameterError(
            "engine", expected="pyspark to be installed for spark (pip install symveil[spark])", found="none"
        ) from None
    active = SparkSession.getActiveSession()
    if active is not None and master is None:
        return active
    if (master or "local").startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # tasks run here: with this Python
    try:
        with _quiet():
            return (
                SparkSession.builder.appName("symveil")
                .master(master or "local[*]")
                .config("spark.ui.enabled", "false")
                .config("spark.ui.showConsoleProgress", "false")
                .getOrCreate()
            )
    except Exception as error:  # no Java, no cluster: Spark raises almost anything here
        found = str(error).strip().splitlines() or [type(error).__name__]
        raise ParameterError("engine", expected="a Spark that starts", found=found[0]) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Standard error belongs to the command: a JVM that is started here inherits none of it."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextmanager
def _plain_errors() -> Iterator[None]:
    """An error of the core comes back from a task as Spark's; only our own line of it is told."""
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        ours = [line.strip() for line in str(error).splitlines() if line.strip().startswith("symveil.errors.")]
        kind, _, message = ours[0].partition(": ") if ours else ("", "", type(error).__name__)
        if kind.endswith(f".{InternalError.__name__}"):
            raise InternalError(message) from None
        raise ParameterError("spark", expected="every task to end well", found=message) from None


def _array_type() -> type:
    from pyspark.sql.types import ArrayType  # noqa: PLC0415

    return ArrayType


def _names_somebody() -> tuple[type, ...]:
    """The types of columns that can name a record or a person."""
    from pyspark.sql import types  # noqa: PLC0415

    return (types.StringType, types.NumericType, types.BooleanType, *_sorts())


def _sorts() -> tuple[type, ...]:
    """The types of columns that put events in order."""
    from pyspark.sql import types  # noqa: PLC0415

    return (types.NumericType, types.DateType, types.TimestampType, types.TimestampNTZType)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _literal(separator: str) -> str:
    """A separator as the regular expression that Spark's split takes."""
    return "".join(f"\\{letter}" if not letter.isalnum() and letter != " " else letter for letter in separator)
