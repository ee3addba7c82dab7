"""How far a file was read, told by steps that do not depend on secret words."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from symveil.formats.sequences.sequence_file import SequenceFile
from symveil.numbers.progress import Progress, listener, named

_STEP = 10_000
"""Records between two reports of progress."""
_WHOLE = 1000
"""How much of a file was read is told in thousandths."""


class RecordSteps:
    """Reports progress by steps of so many records, and not by batches: their sizes depend on secret words.

    Parameters
    ----------
    what
        What is done with the records.
    file
        The file that is read.
    progress
        Who is told.
    """

    def __init__(self, what: str, file: SequenceFile, progress: Progress) -> None:
        self._what, self._file, self._progress = what, file, progress
        self._records = self._reported = self._read = 0

    def add(self, records: int) -> None:
        """Some more are done. Each step is reported, and before that the last one again, so that anyone who wants to
        interrupt can do so after each batch.
        """
        self._report(self._reported)
        self._records += records
        while self._records - self._reported >= _STEP:
            self._reported += _STEP
            self._report(self._reported)

    def end(self) -> None:
        """All are done."""
        self._read = _WHOLE
        self._report(self._records)

    def _report(self, records: int) -> None:
        # a file that is closed does not say any more how far it was read
        self._read = max(self._read, int(_WHOLE * self._file.done()))
        named(self._progress, self._what, records=records)(self._read, _WHOLE)


def heard_records(file: SequenceFile, what: str) -> Iterator[pa.RecordBatch]:
    """The records of a file, some at a time; whoever listens (`numbers.progress.heard_by`) is told how far it is.

    Parameters
    ----------
    file
        The file.
    what
        What is done with the records, such as "counting".
    """
    progress = listener(what)
    if progress is None:
        yield from file.records()
        return
    steps = RecordSteps(what, file, progress)
    for batch in file.records():
        yield batch
        steps.add(batch.num_rows)
    steps.end()
