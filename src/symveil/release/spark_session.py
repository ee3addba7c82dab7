"""Spark as this package meets it: the session, where rows lie, and its errors as one line of ours.

Imported only where Spark is asked for: it needs pyspark, and starting a JVM takes its time.

The Spark engine: the same core, batch by batch, wherever the rows are.

Spark may run a task again, or a whole plan, at any time. Because a record's bits are derived from
the release and the record's id, it gets the same words each time: one release, one charge. The plan
travels to the executors with the release key in it; Spark may keep it in its block store and spill it
there (`spark.local.dir`): see docs/how-to/large-files-and-clusters.md.

How Spark cuts its input into partitions and batches, joins and groups them depends on the sizes of secret words. None
of that may show: what is written is dealt by ids (`laid_out`), and what is refused is named by ids (`check_frame`).
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from symveil.errors import FileError, InternalError, ParameterError, SymveilError, only_our_errors, reason
from symveil.formats.sequences.layout import files_of, row_digests
from symveil.formats.sequences.records import as_text, is_list, join_column, made_in_order, rows_cut, split_column
from symveil.release.batch import ReleasePlan, bounded, check_batch, privatize_batch
from symveil.storage.files import TemporaryOutput, digest_of_folder, make_own_folder, sync_folder, temporary_path


def release_frame(frame: Any, plan: ReleasePlan, *, separator: str | None = None) -> Any:
    """The frame with private sequences: lazy, and the same whenever and however often it is evaluated.

    The columns are those of `frame`; `plan.sequence` holds lists, or text that is split at `separator`.
    """
    plain, own = _plainly_named(frame, plan)
    private = plain.mapInArrow(partial(in_task, _released, plan=own, separator=separator), plain.schema)
    return private.toDF(*frame.columns)


def check_frame(frame: Any, plan: ReleasePlan, *, separator: str | None = None) -> None:
    """Look at every row before anybody is charged; whatever the core would refuse is refused here.

    Of several faults that of the smallest id is reported, wherever its row is.
    """
    plain, own = _plainly_named(frame, plan)
    faults = plain.mapInArrow(partial(in_task, _faults, plan=own, separator=separator), "id string, fault string")
    first = faults.orderBy("id").limit(1).collect()
    if first:
        raise ParameterError("spark", expected="every task to end well", found=first[0][1])


def laid_out(frame: Any, identifier: str, rows: int) -> Any:
    """Released records in as many partitions as files are written, dealt by ids and each sorted by them: lazily.

    `identifier` is their column as Spark writes a name; `rows`, how many the input has, is public.
    """
    return frame.repartition(files_of(rows), identifier).sortWithinPartitions(identifier)


def digest_of_frame(frame: Any) -> bytes:
    """A SHA-256 of all rows, whatever their order and partitions: of the digests of rows, sorted.

    Rows are dealt into 256 buckets by the first byte of their digest, so that no node has to see all digests.
    """
    plain = frame.toDF(*(f"c{index}" for index in range(len(frame.columns))))
    dealt = plain.mapInArrow(partial(in_task, _digested), "bucket int, digest binary").repartition("bucket")
    buckets = (
        dealt.sortWithinPartitions("digest")
        .mapInArrow(partial(in_task, _summed), "bucket int, rows long, digest binary")
        .collect()
    )
    whole = hashlib.sha256(json.dumps(frame.dtypes).encode())
    for bucket, rows, digest in sorted((row[0], row[1], bytes(row[2])) for row in buckets):
        whole.update(b"\0" + bucket.to_bytes(1, "big") + rows.to_bytes(8, "big") + digest)
    return whole.digest()


def rows_digest(frame: Any) -> str:
    """The digest of a frame's rows as manifests and ledgers have it."""
    return f"rows-sha256:{digest_of_frame(frame).hex()}"


def _plainly_named(frame: Any, plan: ReleasePlan) -> tuple[Any, ReleasePlan]:
    """The frame with columns that are numbered: `mapInArrow` takes a dot or a backtick in a name for syntax."""
    names = {name: f"c{index}" for index, name in enumerate(frame.columns)}
    identifier = None if plan.identifier is None else names[plan.identifier]
    return frame.toDF(*names.values()), replace(plan, sequence=names[plan.sequence], identifier=identifier)


def in_task(
    function: Callable[..., Iterator[pa.RecordBatch]], batches: Iterable[pa.RecordBatch], **named: Any
) -> Iterator[pa.RecordBatch]:
    """What a task does. Its errors end in the logs of executors and of the driver: they are written without a value."""
    with only_our_errors():
        yield from function(batches, **named)


def _released(
    batches: Iterable[pa.RecordBatch], *, plan: ReleasePlan, separator: str | None
) -> Iterator[pa.RecordBatch]:
    for whole in batches:
        index = whole.schema.get_field_index(plan.sequence)
        kind = whole.schema.field(index).type
        for batch in bounded(_with_lists(whole, plan, separator), plan):
            released = privatize_batch(batch, plan)
            if not is_list(kind):
                joined = join_column(released.column(index), separator).cast(kind)
                released = released.set_column(index, plan.sequence, joined)
            yield pa.RecordBatch.from_arrays(released.columns, names=whole.schema.names)


def _with_lists(batch: pa.RecordBatch, plan: ReleasePlan, separator: str | None) -> pa.RecordBatch:
    """The batch with its sequences as lists."""
    index = batch.schema.get_field_index(plan.sequence)
    if is_list(batch.schema.field(index).type):
        return batch
    return batch.set_column(index, plan.sequence, split_column(batch.column(index), separator))


def _faults(batches: Iterable[pa.RecordBatch], *, plan: ReleasePlan, separator: str | None) -> Iterator[pa.RecordBatch]:
    """Of each batch the fault of the smallest id that has one."""

    def look(rows: pa.RecordBatch) -> pa.RecordBatch:
        lists = _with_lists(rows, plan, separator)
        if lists.column(plan.sequence).null_count:
            raise ParameterError("sequence", expected="a sequence in every row", found="none in some row")
        check_batch(lists, plan)
        return rows

    for batch in batches:
        try:
            look(batch)
        except SymveilError:
            ids = as_text(batch.column(plan.identifier))
            order = pc.sort_indices(ids)
            right = 0
            try:
                for rows in made_in_order([batch.take(order)], look, rows_cut):
                    right += len(rows)
            except SymveilError as error:
                yield pa.record_batch([[ids.take(order)[right].as_py()], [str(error)]], names=["id", "fault"])


def _digested(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        digests = row_digests(batch)
        buckets = pa.array([digest[0] for digest in digests], type=pa.int32())
        yield pa.record_batch([buckets, pa.array(digests, type=pa.binary())], names=["bucket", "digest"])


def _summed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The digest of each bucket's digests, which come sorted."""
    sums: dict[int, tuple[int, Any]] = {}
    for batch in batches:
        for digest in batch.column("digest").to_pylist():
            count, whole = sums.get(digest[0]) or (0, hashlib.sha256())
            whole.update(digest)
            sums[digest[0]] = (count + 1, whole)
    columns = [
        pa.array(list(sums), type=pa.int32()),
        pa.array([count for count, _ in sums.values()], type=pa.int64()),
        pa.array([whole.digest() for _, whole in sums.values()], type=pa.binary()),
    ]
    yield pa.record_batch(columns, names=["bucket", "rows", "digest"])


TABLE = "table:"
"""In front of a name: a table of the session's catalogue instead of a Parquet folder."""
SPARK_ERRORS = (PySparkException, Py4JJavaError)


def session(master: str | None) -> Any:
    """The session that is active, or a new one on `master` (this machine's cores by default)."""
    active = SparkSession.getActiveSession()
    if active is not None and master is None:
        return active
    if (master or "local").startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # tasks run here: with this Python
    try:
        with quiet():
            return (
                SparkSession.builder.appName("symveil")
                .master(master or "local[*]")
                .config("spark.ui.enabled", "false")
                .config("spark.ui.showConsoleProgress", "false")
                .getOrCreate()
            )
    except Exception as error:  # no Java, no cluster: Spark raises almost anything here
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ParameterError("engine", expected="a Spark that starts", found=lines[0]) from None


@contextmanager
def quiet() -> Iterator[None]:
    """Standard error belongs to the command: a JVM that is started here inherits none of it."""
    sys.stderr.flush()
    own, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(own, 2)
        os.close(own)
        os.close(nowhere)


@contextmanager
def plain_errors() -> Iterator[None]:
    """An error of the core comes back from a task as Spark's; only our own line of it is shown."""
    try:
        yield
    except SPARK_ERRORS as error:
        ours = [line.strip() for line in str(error).splitlines() if line.strip().startswith("symveil.errors.")]
        kind, _, message = ours[0].partition(": ") if ours else ("", "", type(error).__name__)
        if kind.endswith(f".{InternalError.__name__}"):
            raise InternalError(message) from None
        raise ParameterError("spark", expected="every task to end well", found=message) from None


def frame_at(session: Any, name: str) -> Any:
    """The rows of a Parquet folder or a table."""
    try:
        if name.startswith(TABLE):
            return session.table(name.removeprefix(TABLE))
        return session.read.parquet(name)
    except PySparkException as error:
        result = (error.getCondition() or type(error).__name__).replace("_", " ").lower()
        raise FileError(name, expected="a Parquet folder or table:NAME that Spark can read", found=result) from None


class FolderOutput:
    """Parquet files in a folder that only its owner can enter, until it is renamed."""

    format = "Parquet"

    def __init__(self, session: Any, name: str) -> None:
        self._session, self._target = session, Path(name)

    def digest(self) -> str | None:
        """The digest of what stands in its place."""
        return digest_of_folder(self._target)

    @contextmanager
    def begun(self, tag: str) -> Iterator[None]:
        """Inside it the output is written and published; the folder aside is gone afterwards."""
        if self._target.exists():
            raise FileError(str(self._target), expected="a folder that is not there yet", found="one")
        temporary = temporary_path(self._target, tag)
        self._data = temporary / "data"
        try:
            make_own_folder(temporary)
        except OSError as error:
            raise FileError(
                str(self._target), expected="a place to write to", found=reason(error, otherwise="none")
            ) from None
        lock = TemporaryOutput(temporary / "lock", tag)  # of the release: dropped by the system when this process ends
        try:
            with lock:
                if self._data.exists():
                    shutil.rmtree(self._data)
                yield
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    def save(self, frame: Any) -> tuple[Any, str | None]:
        """Write rows aside, onto the disk: the rows as they were written, and the digest of their files."""
        frame.write.mode("error").parquet(str(self._data))
        for file in self._data.rglob("*"):
            number = os.open(file, os.O_RDONLY)
            os.fsync(number)
            os.close(number)
        return self._session.read.parquet(str(self._data)), digest_of_folder(self._data)

    def publish(self) -> None:
        """Rename the folder."""
        self._data.rename(self._target)
        sync_folder(self._target.parent)


class TableOutput:
    """A table under another name until it is renamed."""

    format = "table"

    def __init__(self, session: Any, name: str) -> None:
        self._session, self._target = session, name.removeprefix(TABLE)

    def digest(self) -> str | None:
        """The digest of the table in its place: of its rows."""
        exists = self._session.catalog.tableExists(self._target)
        return rows_digest(self._session.table(self._target)) if exists else None

    @contextmanager
    def begun(self, tag: str) -> Iterator[None]:
        """Inside it the table is written and published."""
        self._temporary = f"{self._target}_aside_{''.join(letter if letter.isalnum() else '_' for letter in tag)}"
        if self._session.catalog.tableExists(self._target):
            raise FileError(f"{TABLE}{self._target}", expected="a table that is not there yet", found="one")
        yield

    def save(self, frame: Any) -> tuple[Any, str | None]:
        """Write rows aside: the rows as they were written; None: the digest is that of the rows."""
        self._session.sql(f"DROP TABLE IF EXISTS {self._temporary}")
        frame.write.mode("error").saveAsTable(self._temporary)
        return self._session.table(self._temporary), None

    def publish(self) -> None:
        """Rename the table."""
        self._session.sql(f"ALTER TABLE {self._temporary} RENAME TO {self._target}")
