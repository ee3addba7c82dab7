"""Words of a cluster for a central release: tasks group, check and encode them, the driver adds them up.

Sums are whole numbers, the same in whatever order words come, and the driver alone draws noise: the table is that of
the local engine, bit for bit, under the same key; and the key never leaves the driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from symveil.errors import FileError, ParameterError
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.records import is_list, split_column
from symveil.languages.any_length import AnyLength
from symveil.models.word import Codes, Lengths
from symveil.release.central_job import CentralWords, FoundSymbols, PublicOrFound, encoded_words
from symveil.release.spark import digest_of_frame, in_task
from symveil.release.spark_records import PERSON, SparkRecords, quoted
from symveil.release.spark_session import plain_errors, session

_WORDS, _PERSONS = "words", "persons"


class SparkWords(CentralWords):
    """The legal words of a Parquet folder or a table."""

    has_ids = True

    def __init__(self, source: Path, columns: ColumnOptions, language: PublicOrFound, *, master: str | None) -> None:
        self._records = SparkRecords.at(session(master), source, columns)
        if PERSON not in self._records.frame.columns:
            raise FileError(
                str(source),
                expected="a column of persons or ids (`person`, `identifier`) with `engine='spark'`",
                found="none",
            )
        self.path, self._language = source, language
        own = self._records.frame.select(quoted(self._records.sequence), PERSON)
        self._frame = own.toDF(_WORDS, _PERSONS)  # `mapInArrow` takes a dot or a backtick in a name for syntax

    def persons(self) -> list[str]:
        """Everybody, in the order of their names."""
        with plain_errors():
            self._records.refuse_without_order()
            names = [row[0] for row in self._frame.select(_PERSONS).distinct().toLocalIterator()]
        if not all(names):
            raise self._records.nobody()
        return sorted(names)

    def encoded(self) -> Iterator[tuple[Codes, Lengths, Any]]:
        """Legal words: what each task makes of a batch comes as one block of bytes."""
        public = None if isinstance(self._language, FoundSymbols) else self._language
        packed = self._frame.mapInArrow(
            partial(in_task, _packed, language=public, separator=self._records.separator), "block binary"
        )
        with plain_errors():
            for row in packed.toLocalIterator():
                yield from self._unpacked(bytes(row[0]))

    def fingerprint(self) -> bytes:
        """All rows as a digest, whatever their order."""
        with plain_errors():
            return digest_of_frame(self._frame)

    def _unpacked(self, block: bytes) -> Iterator[tuple[Codes, Lengths, Any]]:
        for batch in pa.ipc.open_stream(block):
            words = batch.column(_WORDS)
            if isinstance(self._language, FoundSymbols):
                codes, lengths, _ = self._language.encoded(words)
            else:
                codes = words.flatten().to_numpy(zero_copy_only=False)
                lengths = words.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
            yield codes, lengths, batch.column(_PERSONS)


def _packed(
    batches: Iterable[pa.RecordBatch], *, language: AnyLength | None, separator: str | None
) -> Iterator[pa.RecordBatch]:
    """The legal words of each batch as a block of bytes: codes, or symbols where there is no public alphabet."""
    for batch in batches:
        words, persons = batch.column(_WORDS), batch.column(_PERSONS)
        if words.null_count:
            raise ParameterError("sequence", expected="a sequence in every row", found="none in some row")
        if not is_list(words.type):
            words = split_column(words, separator)
        if language is not None:
            codes, lengths, legal = encoded_words(words, language)
            codes, lengths = codes[np.repeat(legal, lengths)], lengths[legal]
            offsets = np.concatenate([[0], np.cumsum(lengths)])
            words = pa.LargeListArray.from_arrays(pa.array(offsets, type=pa.int64()), pa.array(codes, type=pa.int32()))
            persons = persons.filter(pa.array(legal))
        own = pa.record_batch([words, persons], names=[_WORDS, _PERSONS])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, own.schema) as stream:
            stream.write_batch(own)
        yield pa.record_batch([pa.array([sink.getvalue().to_pybytes()], type=pa.binary())], names=["block"])
