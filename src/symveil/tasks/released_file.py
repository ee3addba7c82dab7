"""A private file and its manifest, read again: what was released, by what, and the words themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from symveil.errors import FileError, SymveilError
from symveil.formats.manifest import read_manifest
from symveil.formats.reading import suffix
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.frames import is_frame, opened_frame
from symveil.formats.sequences.sequence_file import SequenceFile
from symveil.formats.sequences.sequence_files import open_sequences
from symveil.mechanisms.choice import MechanismChoice
from symveil.storage.atomic import released_files
from symveil.storage.opening import is_regular

_PARAMETERS_OF_0_2 = (
    *("mechanism", "calibration", "prior", "utility", "offset", "public_start"),
    *("metric", "max_length", "cutoff"),
)


def beside(manifest: Path, name: str, option: str) -> Path:
    """What lies beside the manifest under a plain name; a link may lead to another name there, and nowhere else."""
    place = manifest.parent / name
    plain = name == Path(name).name and name not in ("", "..")
    try:
        inside = plain and place.resolve().is_relative_to(manifest.parent.resolve())
    except (OSError, RuntimeError):  # a link that leads to itself
        inside = False
    if not inside:
        raise FileError(
            f"{manifest}: $.{option}.file",
            expected="the plain name of something beside the manifest",
            found=f"{'a link to somewhere else' if plain else 'a path'}; say with `{option}` where it is",
        )
    return place


def model_path(manifest: Path, name: str | None, given: str | Path | None) -> Path | None:
    """Its name beside the manifest: where else it lay once, as manifests of 0.2.0 say, is a stranger's word."""
    if given is not None or name is None:
        return None if given is None else Path(given)
    path = beside(manifest, Path(name).name, "model")
    return path if is_regular(path) else None


def model_beside(manifest: Path) -> Path | None:
    """The model that a manifest names, where both can be read: what must not be written over."""
    try:
        model = read_manifest(manifest).document.get("model")
        return None if model is None else model_path(manifest, model["file"], None)
    except (SymveilError, LookupError, TypeError, AttributeError, OSError):
        return None  # it is refused where it is read


def choice_of(told: dict[str, Any]) -> MechanismChoice:
    """The choice of a mechanism that a manifest tells."""
    said = {name: told["parameters"][name] for name in _PARAMETERS_OF_0_2}  # every manifest says them
    # a manifest of version 0.2 has the budget and the adjacency elsewhere only
    asked = {"epsilon": told["epsilon_exact"], "adjacency": told["b"], **said} | told["parameters"]
    return MechanismChoice.from_document(asked)


def open_released(
    place: Any, told: dict[str, Any], *, cluster: str | None = None, keep: tuple[str, ...] = ()
) -> Iterator[SequenceFile]:
    """The private file, each file of a private folder, or a private table in memory, opened as the manifest says.

    Parameters
    ----------
    place
        The private file or folder, or the table.
    told
        Its manifest.
    cluster
        A column that says which sequences belong together: those of a person, in the readers' words.
    keep
        Kept columns to read as well.
    """
    named = ColumnOptions.from_names(told["output"]["columns"])
    columns = replace(named, person=cluster, person_option="cluster", keep=keep)
    if is_frame(place):
        yield opened_frame(place, replace(columns, delimiter=None))
        return
    files = [file for file in released_files(place) if suffix(file) == ".parquet"] if place.is_dir() else [place]
    guarded = told["output"].get("spreadsheet_safe") is True
    for each in files:
        yield open_sequences(each, columns, apostrophes="read" if guarded else "none")
