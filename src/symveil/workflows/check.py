"""Recheck a release's manifest: against the output's bytes, the model, and the mathematics."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from symveil.engines.batch import encode_lists
from symveil.errors import FileError, SymveilError
from symveil.io.aside import digest_of
from symveil.io.columns import ColumnOptions
from symveil.io.folder_digest import digest_of_folder
from symveil.io.manifest import Manifest, alphabet_digest, model_digest, read_manifest
from symveil.io.model_files import load_word_model
from symveil.io.records import SYMBOLS
from symveil.io.sequence_files import open_sequences
from symveil.mechanisms.ragged_edits import Family, mechanism_for_files
from symveil.numerics.rationals import spelled
from symveil.privacy.parameters import read_epsilon


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked."""

    name: str
    holds: bool
    note: str


@dataclass(frozen=True, slots=True)
class CheckedManifest:
    """Everything that was checked."""

    manifest: Path
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether all of it holds."""
        return all(check.holds for check in self.checks)

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "manifest": str(self.manifest),
            "holds": self.holds,
            "checks": [{"check": each.name, "holds": each.holds, "note": each.note} for each in self.checks],
        }


def check_manifest(
    path: str | Path, *, output: str | Path | None = None, model: str | Path | None = None
) -> CheckedManifest:
    """Recheck a manifest. `output` and `model` say where the files are now, if they were moved.

    >>> import tempfile
    >>> from symveil.workflows.privatize_file import privatize_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = Path(folder, "trips.csv")
    ...     _ = source.write_text("trip_id,links\\n1,a b a\\n2,b\\n")
    ...     release = privatize_file(source, Path(folder, "private.csv"), alphabet="ab", epsilon=2)
    ...     check_manifest(release.manifest_file).holds
    True
    """
    file = Path(path)
    manifest = read_manifest(file)
    try:
        return _checked(file, manifest, output, model)
    except (KeyError, TypeError, AttributeError, IndexError):
        raise FileError(str(file), expected="a manifest as symveil writes it", found="another document") from None


def _checked(file: Path, manifest: Manifest, output: str | Path | None, model: str | Path | None) -> CheckedManifest:
    told = manifest.document
    place = Path(output) if output is not None else file.parent / told["output"]["file"]
    checks = [_bytes(place, told)]
    family = _family(told, file.parent, model, checks)
    if family is not None:
        checks.append(_alphabet(family, told))
        checks.append(_guarantee(family, told))
        if checks[0].holds:
            checks += _sequences(place, family, told)
    return CheckedManifest(file, tuple(checks))


def _bytes(place: Path, told: dict[str, Any]) -> Check:
    found = digest_of_folder(place) if place.is_dir() else digest_of(place)
    if found is None:
        return Check("output", False, f"{place} is not there")
    same = found == told["digests"]["output"]
    return Check("output", same, "its SHA-256 is the manifest's" if same else "its SHA-256 is not the manifest's")


def _family(told: dict[str, Any], folder: Path, model: str | Path | None, checks: list[Check]) -> Any:
    loaded = None
    if told["model"] is not None:
        place = Path(model) if model is not None else _model_place(told["model"]["file"], folder)
        if place is None:
            checks.append(Check("model", False, "its file is not there; name it with --model"))
            return None
        loaded = load_word_model(place)
        same = model_digest(loaded) == told["digests"]["model"]
        checks.append(Check("model", same, "it is the manifest's" if same else "it is another one than the manifest's"))
        if not same:
            return None
    chosen = told["parameters"]
    try:
        return mechanism_for_files(
            metric=chosen["metric"],
            max_length=chosen["max_length"],
            cutoff=chosen["cutoff"],
            alphabet=told["alphabet"],
            model=loaded,
            public_start=chosen["public_start"],
            epsilon=read_epsilon(told["epsilon_exact"]),
            mechanism=chosen["mechanism"],
            adjacency=told["b"],
            calibration=chosen["calibration"],
            prior=chosen["prior"],
            utility=chosen["utility"],
            offset=chosen["offset"],
        )
    except SymveilError as error:
        checks.append(Check("parameters", False, str(error)))
        return None


def _model_place(name: str | None, folder: Path) -> Path | None:
    places = [] if name is None else [Path(name), folder / Path(name).name]
    return next((place for place in places if place.exists()), None)


def _alphabet(family: Family, told: dict[str, Any]) -> Check:
    same = alphabet_digest(family.alphabet) == told["digests"]["alphabet"]
    return Check("alphabet", same, "it is the manifest's" if same else "it is another one than the manifest's")


def _guarantee(family: Family, told: dict[str, Any]) -> Check:
    """The promise of every class of lengths, worked out anew."""
    worst = 0.0
    for each in told["classes"]:
        for length in (bound for bound in each["lengths"] if bound is not None):
            for found in family.classes(np.array([length])):
                rate = None if found.rate is None else spelled(found.rate)
                if rate != each["eta"] or found.mechanism != each["mechanism"]:
                    return Check("guarantee", False, f"words of {length} symbols get another rate or mechanism")
                if found.guarantee.document() != each["guarantee"]:
                    return Check("guarantee", False, f"words of {length} symbols have another guarantee")
                worst = max(worst, found.guarantee.epsilon)
    if Fraction(repr(worst)) > family.epsilon:
        return Check("guarantee", False, f"the loss {worst} is above epsilon")
    if told["guarantee"]["epsilon"] != worst:
        return Check("guarantee", False, "the stated loss is not that of its classes")
    return Check("guarantee", True, f"at most {worst}, worked out anew")


def _sequences(place: Path, family: Family, told: dict[str, Any]) -> list[Check]:
    names = {{"id": "identifier"}.get(key, key): value for key, value in told["output"]["columns"].items()}
    files = sorted(place.glob("*.parquet")) if place.is_dir() else [place]
    records = symbols = outside = 0
    lengths = np.empty(0, dtype=np.int64)
    for file in files:
        for batch in open_sequences(file, ColumnOptions(**names)).records():
            codes, own = encode_lists(batch.column(SYMBOLS), family.alphabet)
            records, symbols = records + len(own), symbols + int(own.sum())
            outside += int(np.count_nonzero(family.first_refused(codes, own)))
            lengths = np.union1d(lengths, own)
    counts = told["counts"]
    same = (records, symbols) == (counts["released"], counts["symbols"])
    if told["output"]["form"] == "long":  # a case without events has no row
        same = records <= counts["released"] and symbols == counts["symbols"]
    covered = all(
        any(_covers(each["lengths"], length) for each in told["classes"]) for length in lengths[lengths > 0].tolist()
    )
    return [
        Check("counts", bool(same and covered), f"{records} sequences, {symbols} symbols"),
        Check("legality", outside == 0, f"{outside} sequences that the language does not have"),
    ]


def _covers(lengths: list[int | None], length: int) -> bool:
    first, last = lengths
    return (first or 0) <= length and (last is None or length <= last)
