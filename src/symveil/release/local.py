"""The local engine: one file through all cores of this machine, in order and in bounded memory.

An id that occurs twice among any number of records is refused, in bounded memory: of each id its name is held (96 bits
of a keyed hash), not the id. Beyond some millions names go to files without a name, dealt by their first bits, and are
compared file by file at the end.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from symveil.errors import FileError, ParameterError, SymveilError, WordError, only_our_errors
from symveil.formats.reading import Apostrophes, suffix, wrong_suffix
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.records import ID, NUMBER, PERSON, ROW_NUMBER, SYMBOLS, as_text, list_lengths
from symveil.formats.sequences.sequence_file import RecordSteps, SequenceFile
from symveil.formats.sequences.sequence_files import FORMATS, open_sequences
from symveil.mechanisms.by_length import needs_lengths
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.alphabet import reading_advice
from symveil.numbers.progress import Progress
from symveil.release.batch import (
    LEFT_OUT,
    Ask,
    FileJob,
    OnUnknown,
    ReleasePlan,
    Written,
    bounded,
    check_batch,
    privatize_batch,
)
from symveil.release.limits import LIMITS
from symveil.release.timed import TimedEvents, TimedPlan
from symveil.storage.files import digest_of

# Arrow would catch Ctrl-C itself while it reads, and now and then lose it: Python's own handling is enough.
pa.enable_signal_handlers(False)


def release_batches(
    batches: Iterable[pa.RecordBatch], plan: ReleasePlan, *, workers: int | None = None
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Each batch with its private version, in order; a batch that is too large for its released words in pieces.

    Threads are enough: the ciphers, the compiled loops and Arrow's kernels run beside each other. Only
    a few batches are on their way at any time, so a file of any size passes through the same memory.
    Of several faults the first in the order of the records is reported: not the one that is met first,
    which depends on where batches end.
    """
    workers = workers or os.cpu_count() or 1
    waiting: deque[tuple[pa.RecordBatch, Future[pa.RecordBatch]]] = deque()
    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="symveil") as pool:
        pieces = (piece for batch in batches for piece in bounded(batch, plan))
        try:
            refused: SymveilError | None = None
            while refused is None:
                try:
                    piece = next(pieces)
                except StopIteration:
                    break
                except SymveilError as error:  # what was read before it comes first
                    refused = error
                    continue
                waiting.append((piece, pool.submit(copy_context().run, _privatized, piece, plan)))
                if len(waiting) > workers:
                    source, future = waiting.popleft()
                    yield source, future.result()
            while waiting:
                source, future = waiting.popleft()
                yield source, future.result()
            if refused is not None:
                raise refused
        finally:
            for _, future in waiting:
                future.cancel()
            # the error of a future refers to this frame, and so to what is read: the file would stay open with it
            pieces.close()
            if isinstance(batches, Generator):
                batches.close()


def _privatized(batch: pa.RecordBatch, plan: ReleasePlan) -> pa.RecordBatch:
    """The same in a thread, whose errors name no value."""
    with only_our_errors():
        return privatize_batch(batch, plan)


class LocalJob(FileJob[ReleasePlan]):
    """A file of sequences, read and written here."""

    def __init__(
        self,
        file: SequenceFile,
        target: Path,
        mechanism: Mechanism,
        *,
        on_unknown: OnUnknown,
        true_error: bool,
        progress: Progress,
        spreadsheet_safe: bool = False,
        times: TimedEvents | None = None,
    ) -> None:
        if suffix(target) != suffix(file.file):
            raise wrong_suffix(target, (suffix(file.file),))
        super().__init__(file.file, target)
        if mechanism.metric == "levenshtein":
            file.check_lengths_may_change()
        self._file, self.mechanism = file, mechanism
        self._on_unknown, self._true_error, self._progress = on_unknown, true_error, progress
        self._times = None
        if times is not None:
            if times.grid.waits is None:
                file.add_hours()
            start = file.times.start if times.grid.waits is not None and file.times is not None else None
            self._times = TimedPlan(events=times, read=file.stamps, start=start)
        self.unit, self.has_ids, self.dropped_ids = file.unit, file.has_ids, tuple(file.dropped_ids())
        self.facts = {
            "file": target.name,
            "format": FORMATS[suffix(target)],
            "form": file.form,
            "columns": file.names(),
        }
        if file.times is not None:
            self.facts["times"] = file.times.document()
        self._apostrophes: Apostrophes = "read" if spreadsheet_safe else "none"
        if spreadsheet_safe:
            self.facts["spreadsheet_safe"] = True

    def plan(self, release_id: str, key: bytes) -> ReleasePlan:
        """How this release is drawn."""
        hides_lengths = self.mechanism.metric == "levenshtein"
        return ReleasePlan(
            mechanism=self.mechanism,
            release_id=release_id,
            release_key=key,
            sequence=SYMBOLS,
            identifier=ID if self.has_ids else None,
            row_column=ROW_NUMBER,
            number=None if self.has_ids else NUMBER,
            released_type=self._file.released_type(self.mechanism.alphabet) if hides_lengths else None,
            on_unknown=self._on_unknown,
            times=self._times,
            unit=f"{self._file.file}: {self.unit}",
            advice="; ".join(filter(None, (LEFT_OUT, reading_advice(self.mechanism.alphabet, self._file.separator)))),
        )

    def fingerprint(self) -> bytes:
        """The file's bytes, as a digest."""
        return bytes.fromhex(digest_of(self._file.file) or hashlib.sha256().hexdigest())

    def survey(self, plan: ReleasePlan, ask: Ask) -> None:
        """Read the file once: what is wrong with it, and whose it is."""
        ids = _Ids(self._file, plan)
        # of records that are left out the lengths decide nothing; who they are is found when the others are drawn
        public = self.mechanism.metric == "hamming" and self._on_unknown == "error"
        seen = np.empty(0, dtype=np.int64) if public else None
        legal = np.empty(0, dtype=np.int64)
        for batch, own in self._checked("charging", plan):
            legal = np.union1d(legal, own)
            seen = None if seen is None else np.union1d(seen, list_lengths(batch.column(SYMBOLS)))
            ids.add(batch)
            ask(*self._counted(batch))
        ids.check()
        self.lengths, self.legal_lengths = seen, legal if plan.mechanism.metric == "hamming" else None

    def look_at_lengths(self, plan: ReleasePlan) -> None:
        """A pass of its own over the file; what is wrong with it is refused here."""
        if not needs_lengths(self.mechanism):
            return
        legal = np.empty(0, dtype=np.int64)
        for _, own in self._checked("reading lengths", plan):
            legal = np.union1d(legal, own)
        self.legal_lengths = legal

    def _checked(self, verb: str, plan: ReleasePlan) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
        """The file's records, with the lengths of those that will be released; what is wrong with them is refused."""
        steps = RecordSteps(verb, self._file, self._progress)
        for batch in self._records():
            with only_our_errors():
                lengths = check_batch(batch, plan)
            yield batch, lengths
            steps.add(len(batch))
        steps.end()

    def _counted(self, batch: pa.RecordBatch) -> tuple[list[str], list[int], list[int | None]]:
        """Who has how many records in a batch, by length, and what these lose when all of them are replaced."""
        names, lengths = self._file.persons(batch).dictionary_encode(), list_lengths(batch.column(SYMBOLS))
        codes = names.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        longest = int(lengths.max(initial=0)) + 1
        pairs, counts = np.unique(codes * longest + lengths, return_counts=True)
        own = names.dictionary.take(pa.array(pairs // longest)).to_pylist()
        return own, counts.tolist(), self.whole_of(counts.tolist(), (pairs % longest).tolist())

    def _records(self) -> Iterator[pa.RecordBatch]:
        """The file's records, numbered where their numbers name them. Their lines would not do: a line break in a
        symbol moves all that follow.
        """
        before = 0
        for batch in self._file.records():
            numbers = pa.array(np.arange(before + 1, before + 1 + len(batch)))
            before += len(batch)
            yield batch if self.has_ids else batch.append_column(NUMBER, numbers)

    def write(self, plan: ReleasePlan, left_out: list[str]) -> Written:
        """Everything through the core and into the file."""
        file, written = self._file, _Counted(self._true_error)
        ids, steps = _Ids(file, plan), RecordSteps("releasing", file, self._progress)
        outside = pa.array(left_out, type=pa.string())

        def admitted() -> Iterator[pa.RecordBatch]:
            for batch in self._records():
                ids.add(batch)
                stays = batch
                if len(outside):
                    stays = batch.filter(pc.invert(pc.is_in(file.persons(batch), value_set=outside)))
                written.sequences += len(batch)
                written.over_budget += len(batch) - len(stays)
                yield stays

        writer = file.writer(self._temporary, packed=self._target.name.lower().endswith(".gz"))  # type: ignore[arg-type]
        for source, released in release_batches(admitted(), plan):
            written.add(source, released)
            if len(released):
                writer.write(released)
            steps.add(len(source))
        writer.close()
        steps.end()
        ids.check()
        return written.result(self._temporary.finish())

    @contextmanager
    def explained(self) -> Iterator[None]:
        """A case that is refused because a cell is empty: the cell's own line says more than the case's first."""
        try:
            yield
        except WordError:
            self._file.check_filled()
            raise

    def agrees_with(self, counts: dict[str, int]) -> bool:
        """Record by record: what is in the output stands in the input, in this order, and nothing but what was left
        out stands between.
        """
        options = ColumnOptions.from_names(self._file.names())
        records = 0
        with closing(self._outline(open_sequences(self._target, options, apostrophes=self._apostrophes))) as made:
            awaited = next(made, None)
            for record in self._outline(self._file):
                records += 1
                if record == awaited:
                    awaited = next(made, None)
        return awaited is None and records == counts.get("sequences")

    def _outline(self, file: SequenceFile) -> Generator[tuple[str | None, int | None]]:
        """What is public of each record: its id, and its length where that is public."""
        for batch in file.records():
            ids = as_text(batch.column(ID)).to_pylist() if self.has_ids else [None] * len(batch)
            lengths = list_lengths(batch.column(SYMBOLS)).tolist()
            yield from zip(ids, lengths if self.mechanism.metric == "hamming" else [None] * len(batch), strict=True)


_ENTRY = np.dtype([("low", np.uint64), ("high", np.uint32), ("place", np.uint64)])
_PARTS = 64  # by the first six bits of a name


class SeenNames:
    """Takes names of records and tells the place of one that came before.

    >>> seen = SeenNames()
    >>> seen.add(np.array([[1, 2, 3], [4, 5, 6]], dtype=np.uint32), np.array([1, 2]))
    >>> seen.first_repeated() is None
    True
    >>> seen.add(np.array([[1, 2, 3]], dtype=np.uint32), np.array([9]))
    >>> seen.first_repeated()
    9
    """

    def __init__(self, *, in_memory: int | None = None) -> None:
        self._limit = LIMITS.now.remembered_names if in_memory is None else in_memory
        self._held: list[NDArray[np.void]] = []
        self._count = 0
        self._files: list[IO[bytes]] = []

    def add(self, names: NDArray[np.uint32], rows: NDArray[np.int64]) -> None:
        """Some more records."""
        entries = np.empty(len(names), dtype=_ENTRY)
        entries["low"] = names[:, 0].astype(np.uint64) << np.uint64(32) | names[:, 1]
        entries["high"] = names[:, 2]
        entries["place"] = rows
        self._held.append(entries)
        self._count += len(entries)
        if self._count > self._limit:
            self._spill()

    def first_repeated(self) -> int | None:
        """The smallest place whose name stood at an earlier place already; None where there is none."""
        if not self._files:
            return _repeated(np.concatenate([np.empty(0, dtype=_ENTRY), *self._held]))
        self._spill()
        repeated = []
        for file in self._files:
            file.seek(0)
            repeated.append(_repeated(np.frombuffer(file.read(), dtype=_ENTRY)))
        return min((each for each in repeated if each is not None), default=None)

    def close(self) -> None:
        """Forget everything."""
        for file in self._files:
            file.close()
        self._files, self._held = [], []

    def _spill(self) -> None:
        if not self._files:
            self._files = [tempfile.TemporaryFile(prefix="symveil-") for _ in range(_PARTS)]  # noqa: SIM115 - closed in close()
        entries = np.concatenate([np.empty(0, dtype=_ENTRY), *self._held])
        part_of = (entries["low"] >> np.uint64(58)).astype(np.int64)
        for part in np.unique(part_of).tolist():
            self._files[part].write(entries[part_of == part].tobytes())
        self._held, self._count = [], 0


def _repeated(entries: NDArray[np.void]) -> int | None:
    order = np.lexsort((entries["place"], entries["high"], entries["low"]))
    entries = entries[order]
    same = (entries["low"][1:] == entries["low"][:-1]) & (entries["high"][1:] == entries["high"][:-1])
    return int(entries["place"][1:][same].min()) if same.any() else None


class _Ids:
    """Refuses an id that occurs twice: two records would share their noise."""

    def __init__(self, file: SequenceFile, plan: ReleasePlan) -> None:
        self._file, self._plan = file, plan
        self._seen = SeenNames()

    def add(self, batch: pa.RecordBatch) -> None:
        if self._file.has_ids:
            self._seen.add(self._plan.names(batch), batch.column(ROW_NUMBER).to_numpy())

    def check(self) -> None:
        repeated = self._seen.first_repeated()
        self._seen.close()
        if repeated is not None:
            raise FileError(
                f"{self._file.file}: {self._file.unit} {repeated}",
                expected="each id once",
                found="one again; where each row is one event, name `case` and `symbol`",
            )


class _Counted:
    """What is counted while an output is written."""

    def __init__(self, true_error: bool) -> None:
        self.sequences = self.over_budget = 0
        self._released = self._symbols = self._changed = 0
        self._lengths: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._true_error = true_error
        self._persons: Counter[str] = Counter()

    def add(self, source: pa.RecordBatch, released: pa.RecordBatch) -> None:
        lengths = list_lengths(released.column(SYMBOLS))
        if PERSON in released.schema.names:
            counted = released.column(PERSON).value_counts()
            self._persons.update(dict(zip(counted.field(0).to_pylist(), counted.field(1).to_pylist(), strict=True)))
        self._released += len(released)
        self._symbols += int(lengths.sum())
        self._lengths = np.union1d(self._lengths, lengths)
        if self._true_error:
            stays = pc.is_in(source.column(ROW_NUMBER), value_set=released.column(ROW_NUMBER))
            before, after = (_values(batch) for batch in (source.filter(stays), released))
            if len(before) != len(after):
                raise ParameterError("true error", expected="a mechanism that keeps lengths", found="another")
            self._changed += int(pc.sum(pc.not_equal(before, after)).as_py() or 0)

    def result(self, digest: str) -> Written:
        changed = {"changed_symbols": self._changed, "changed_fraction": self._changed / max(self._symbols, 1)}
        return Written(
            digest=digest,
            sequences=self.sequences,
            released=self._released,
            over_budget=self.over_budget,
            symbols=self._symbols,
            lengths=self._lengths,
            true_error=changed if self._true_error else None,
            most_of_a_person=max(self._persons.values(), default=None),
        )


def _values(batch: pa.RecordBatch) -> Any:
    values = batch.column(SYMBOLS).flatten()
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
