"""Spark as this package meets it: the session, where rows lie, and its errors as one line of ours.

Imported only where Spark is asked for: it needs pyspark, and starting a JVM takes its time.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from symveil.errors import FileError, InternalError, ParameterError, reason
from symveil.release.spark import rows_digest
from symveil.storage.atomic import AsideFile, aside_of, digest_of_folder, make_own_folder, sync_folder

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
        found = (error.getCondition() or type(error).__name__).replace("_", " ").lower()
        raise FileError(name, expected="a Parquet folder or table:NAME that Spark can read", found=found) from None


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
        aside = aside_of(self._target, tag)
        self._data = aside / "data"
        try:
            make_own_folder(aside)
        except OSError as error:
            raise FileError(
                str(self._target), expected="a place to write to", found=reason(error, otherwise="none")
            ) from None
        lock = AsideFile(aside / "lock", tag)  # of the release: dropped by the system when this process ends
        try:
            with lock:
                if self._data.exists():
                    shutil.rmtree(self._data)
                yield
        finally:
            shutil.rmtree(aside, ignore_errors=True)

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
        self._aside = f"{self._target}_aside_{''.join(letter if letter.isalnum() else '_' for letter in tag)}"
        if self._session.catalog.tableExists(self._target):
            raise FileError(f"{TABLE}{self._target}", expected="a table that is not there yet", found="one")
        yield

    def save(self, frame: Any) -> tuple[Any, str | None]:
        """Write rows aside: the rows as they were written; None: the digest is that of the rows."""
        self._session.sql(f"DROP TABLE IF EXISTS {self._aside}")
        frame.write.mode("error").saveAsTable(self._aside)
        return self._session.table(self._aside), None

    def publish(self) -> None:
        """Rename the table."""
        self._session.sql(f"ALTER TABLE {self._aside} RENAME TO {self._target}")
