"""A private file and its manifest, read again: what was released, by what, and the words themselves.

The words of a private file as codes, in random groups: what every estimate reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from symveil.errors import FileError, InputError, ParameterError, SymveilError
from symveil.estimation.table import Batch, WordSums, random_groups
from symveil.formats.manifest import (
    alphabet_digest,
    checked_manifest,
    choice_from_manifest,
    is_of_0_2,
    manifest_path,
    model_digest,
    model_name,
    only_file_errors,
    read_manifest,
)
from symveil.formats.models.model_files import load_word_model
from symveil.formats.reading import path_of, suffix
from symveil.formats.sequences.columns import PROCESS_MINING, ColumnOptions
from symveil.formats.sequences.frames import ATTRS, frame_digest, is_frame, opened_frame
from symveil.formats.sequences.records import SYMBOLS
from symveil.formats.sequences.sequence_file import SequenceFile, reported_records
from symveil.formats.sequences.sequence_files import open_sequences
from symveil.languages.graph import Model
from symveil.mechanisms.calibrate import RowLaws
from symveil.models.alphabet import Codes, Lengths
from symveil.models.times import PublicValues
from symveil.numbers.once import computed_once
from symveil.release.batch import encode_lists
from symveil.release.limits import LIMITS
from symveil.release.spec import LocalSpec
from symveil.release.timed import TimeSettings, words_alone
from symveil.storage.files import digest_of, digest_of_folder, is_regular, released_files


def beside(manifest: Path, name: str, option: str) -> Path:
    """What lies beside the manifest under a plain name; a link may lead to another name there, and nowhere else."""
    path = manifest.parent / name
    plain = name == Path(name).name and name not in ("", "..")
    try:
        inside = plain and path.resolve().is_relative_to(manifest.parent.resolve())
    except (OSError, RuntimeError):  # a link that leads to itself
        inside = False
    if not inside:
        raise FileError(
            f"{manifest}: $.{option}.file",
            expected="the plain name of something beside the manifest",
            found=f"{'a link to somewhere else' if plain else 'a path'}; say with `{option}` where it is",
        )
    return path


def model_path(manifest: Path, name: str | None, given: str | Path | None) -> Path | None:
    """The path of a model: as given, or the file of its plain name beside the manifest; None where there is none."""
    if given is not None or name is None:
        return None if given is None else Path(given)
    path = beside(manifest, model_name(name), "model")
    return path if is_regular(path) else None


def model_beside(manifest: Path) -> Path | None:
    """The model that a manifest names, where both can be read: what must not be written over."""
    try:
        model = read_manifest(manifest).document.get("model")
        return None if model is None else model_path(manifest, model["file"], None)
    except (SymveilError, LookupError, TypeError, AttributeError, OSError):
        return None  # it is refused where it is read


def rows_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The laws in a manifest: of the lengths in the file, and of that which averages are about, where it is another."""
    return [*document["law"], *document.get("stand_in", ())]


def release_from_manifest(
    document: dict[str, Any], *, model: Model | None, where: str, prove: bool = False
) -> LocalSpec:
    """What a manifest describes: the choice, and the mechanism by its laws; nothing is searched for.

    A manifest of 0.2 has no laws: they are calibrated again. With `prove` laws are proved again, one evaluation each.
    `where` is its file, for messages.
    """
    choice, parameters = choice_from_manifest(document), document["parameters"]
    times = TimeSettings.from_parameters(parameters) if "time_grid" in parameters else None
    if is_of_0_2(document):
        return LocalSpec.from_choice(choice, alphabet=document["alphabet"], model=model)
    rows, own, event_row = rows_of(document), choice, None
    if times is not None:
        own, event_row = times.of_words(choice, on_model=model is not None), next(iter(document["law"]), None)
        rows = [words_alone(row) for row in rows]
    laws = RowLaws(own, rows, document["classes"], where, prove)
    return LocalSpec.from_choice(
        choice,
        alphabet=document["alphabet"],
        model=model,
        laws=None if times is not None and model is None else laws,  # over an alphabet rows are of the joint law
        times=times,
        event_row=event_row,
    )


def _described(source: Any, manifest: str | Path | None) -> tuple[dict[str, Any], Path]:
    """The manifest of a private file, folder or table, and where it was read from."""
    if manifest is None and is_frame(source):
        given = getattr(source, "attrs", {}).get(ATTRS)
        if given is None:
            raise ParameterError(
                "manifest", expected="the manifest of a private table, or one of pandas as privatize returned it, with "
                "the promise in its .attrs", found="none",
            )  # fmt: skip
        path = Path(f"table.attrs[{ATTRS!r}]")
        document = checked_manifest(given, where=str(path))
        if document.central:
            raise FileError(str(path), expected="the promise of private sequences", found="another one")
        return document.document, path
    path = manifest_path(path_of(source)) if manifest is None else Path(manifest)
    if manifest is None and not path.exists():
        raise FileError(
            str(path), expected="the manifest beside the private file", found="none; name it with `manifest`"
        )
    return read_manifest(path).document, path


_COSTS_NOTHING = "it costs no privacy: only the private file and its manifest were read"
_NOT_OF_ONE = "it is about all released sequences together, and says nothing about a single one"


Sums = TypeVar("Sums", bound=WordSums)


class PrivateFile:
    """A private file, folder or table with its manifest; words come as codes.

    `open` reads the manifest, compares the bytes with it, and has the mechanism by the laws in it. Made from a
    document, it is opened as that says, and nothing is compared.

    Parameters
    ----------
    source
        The private file or folder, or the table.
    document
        Its manifest.
    manifest_file
        Where that was read from, for messages; None: beside the file.
    cluster
        A column that says which sequences belong together: those of a person, in the readers' words.
    """

    release: LocalSpec
    """What was released by what, where the file was opened."""
    count: int
    """How many sequences there are, where the file was opened."""

    def __init__(
        self, source: Any, document: dict[str, Any], *, manifest_file: Path | None = None, cluster: str | None = None
    ) -> None:
        self._frame, self.cluster = source if is_frame(source) else None, cluster
        self.path = Path("table") if self._frame is not None else path_of(source)
        self.manifest_file = manifest_path(self.path) if manifest_file is None else manifest_file
        self.document = document

    @classmethod
    def open(
        cls,
        source: Any,
        *,
        manifest: str | Path | None = None,
        model: Model | str | Path | None = None,
        cluster: str | None = None,
    ) -> Self:
        """A private file as its manifest describes it.

        Manifest and model are given where they do not lie beside it; `cluster` names a column that says which sequences
        belong together.
        """
        document, manifest_file = _described(source, manifest)
        own = cls(source, document, manifest_file=manifest_file, cluster=cluster)
        with own.as_file_errors():
            own._check_bytes()
            if document.get("policy") is not None:
                raise InputError(
                    "estimate: expected a release by a mechanism on words, found one with a policy for opacity"
                )
            own.release = own._release(model)
            own.count = int(document["counts"]["released"])
            if not 0 <= own.count <= LIMITS.now.sequences:
                raise FileError(
                    f"{manifest_file}: $.counts.released", expected=f"at most {LIMITS.now.sequences:,} sequences",
                    found="more",
                )  # fmt: skip
        return own

    def files(
        self, *, keep: tuple[str, ...] = (), time: str | None = None, attributes: tuple[str, ...] = ()
    ) -> Iterator[SequenceFile]:
        """The private file, each file of a private folder, or the table, opened as the manifest says.

        Kept columns, the column of times and other columns of events are read where they are named.
        """
        named = ColumnOptions.from_names(self.document["output"]["columns"])
        columns = replace(named, person=self.cluster, person_option="cluster", keep=keep, time=time)
        columns = replace(columns, attributes=attributes)
        if self._frame is not None:
            yield opened_frame(self._frame, replace(columns, delimiter=None))
            return
        files = [self.path]
        if self.path.is_dir():
            files = [file for file in released_files(self.path) if suffix(file) == ".parquet"]
        guarded = self.document["output"].get("spreadsheet_safe") is True
        for each in files:
            yield open_sequences(each, columns, apostrophes="read" if guarded else "none")

    def as_file_errors(self) -> AbstractContextManager[None]:
        """A block in which whatever a strange manifest leads to becomes one line."""
        return only_file_errors(self.manifest_file)

    def _check_bytes(self) -> None:
        if self._frame is not None:
            return  # a table has no bytes of its own: its symbols and its number of sequences are compared
        digest = digest_of_folder(self.path) if self.path.is_dir() else digest_of(self.path)
        if digest is None:
            raise FileError(str(self.path), expected="a private file or folder", found="none")
        if digest != self.document["digests"]["output"]:
            raise FileError(
                str(self.path), expected="the bytes that the manifest tells", found="others; is it another release's?"
            )

    def _model(self, model: Model | str | Path | None) -> tuple[Model, str]:
        """The model of the release, and what messages call it."""
        if model is not None and not isinstance(model, str | Path):
            return model, "model"
        by_itself = self._frame is not None and self.document["digests"]["output"] is None
        path = model_path(self.manifest_file, None if by_itself else self.document["model"]["file"], model)
        if path is None:
            where = "a table does not hold" if by_itself else "is not beside the manifest"
            raise ParameterError("model", expected=f"the model, or its file, which {where}", found="none")
        return load_word_model(path), str(path)

    def _release(self, model: Model | str | Path | None) -> LocalSpec:
        loaded = None
        if self.document["model"] is not None:
            loaded, name = self._model(model)
            if model_digest(loaded) != self.document["digests"]["model"]:
                raise FileError(name, expected="the model that the manifest tells", found="another one")
        release = release_from_manifest(self.document, model=loaded, where=str(self.manifest_file))
        if alphabet_digest(release.alphabet) != self.document["digests"]["alphabet"]:
            raise FileError(f"{self.manifest_file}: $.alphabet", expected="that of its digest", found="another one")
        return release

    @property
    def seed(self) -> int:
        """A public number that is this file's own: the same file is always split in the same way."""
        digest = self.document["digests"]["output"] if self._frame is None else frame_digest(self._frame).hex()
        return int(str(digest)[-15:], 16)

    def units(self) -> int:
        """How many sequences, or clusters of them, can be put into groups."""
        return self.count if self.cluster is None else len(self._clusters)

    @property
    def what_units_are(self) -> str:
        """What is put into groups."""
        return "sequences" if self.cluster is None else "clusters"

    @computed_once
    def _clusters(self) -> dict[str, int]:
        """The clusters in the order in which they come."""
        numbers: dict[str, int] = {}
        for file in self.files():
            for batch in reported_records(file, "estimating"):
                for name in pc.unique(file.clusters(batch)).to_pylist():
                    numbers.setdefault(name, len(numbers))
        return numbers

    def _timed_files(self) -> Iterator[SequenceFile]:
        """The same with the released times of events."""
        columns = self.document["output"]["columns"]
        if "hour" in columns:
            return self.files(attributes=(columns["hour"],))
        return self.files(time=columns.get("order", PROCESS_MINING["order"]))

    def _bins(self, file: SequenceFile, batch: pa.RecordBatch, lengths: Lengths) -> NDArray[np.int64]:
        """The released bin of each event; only the first event of a word has no wait."""
        times = self.release.times
        assert times is not None  # noqa: S101 - asked where times were released
        if times.grid.waits is None:
            names = PublicValues.from_names("hour", map(str, range(times.grid.bins)))
            bins, missing = file.attribute(batch, 0, names), 0
        else:
            bins, missing = times.grid.of(file.stamps(batch), lengths, times.clock), int((lengths > 0).sum())
        if int((bins < 0).sum()) != missing:
            raise FileError(str(self.path), expected="a released time for every event", found="none for some")
        return bins

    def batches(self, groups: int, *, timed: bool = False) -> Iterator[Batch]:
        """The words, each in one of so many random groups.

        0 groups: all words in one. With `timed` bins of events are read as the attribute of the batches, -1 where an
        event has none.
        """
        owner = random_groups(self.units(), groups, self.seed) if groups else np.zeros(self.units(), dtype=np.int64)
        seen = 0
        for file in self._timed_files() if timed else self.files():
            for batch in reported_records(file, "estimating"):
                codes, lengths = encode_lists(batch.column(SYMBOLS), self.release.alphabet)
                if len(codes) and codes.min() < 0:
                    raise FileError(str(self.path), expected="symbols of the alphabet only", found="others")
                if seen + len(lengths) > self.count:
                    break
                if self.cluster is None:
                    own = owner[seen : seen + len(lengths)]
                else:
                    names = file.clusters(batch).dictionary_encode()
                    numbers = np.array([self._clusters[name] for name in names.dictionary.to_pylist()], dtype=np.int64)
                    own = owner[numbers[names.indices.to_numpy(zero_copy_only=False)]]
                seen += len(lengths)
                yield Batch(codes, lengths, own, attributes=(self._bins(file, batch, lengths),) if timed else ())
        if seen != self.count:
            raise FileError(
                f"{self.manifest_file}: $.counts.released", expected="the number of sequences in the file",
                found="another one",
            )  # fmt: skip

    def into(self, sums: Sums, *, timed: bool = False) -> Sums:
        """The sums with all words added, in as many groups as they have."""
        for batch in self.batches(sums.groups, timed=timed):
            sums.add(batch)
        return sums

    def words(self) -> Iterator[tuple[Codes, Lengths]]:
        """The words without groups."""
        for batch in self.batches(0):
            yield batch.codes, batch.lengths

    def assumptions(self) -> list[str]:
        """What is always said."""
        counts = self.document["counts"]
        notes = [_COSTS_NOTHING, _NOT_OF_ONE]
        if self._frame is not None:
            notes.append("the table is taken to be the release that its manifest describes: it has no bytes to compare")
        dropped = counts["dropped_unknown"] + counts["dropped_over_budget"]
        if dropped:
            notes.append(f"{dropped} sequences were dropped before the release and are not in it")
        return notes
