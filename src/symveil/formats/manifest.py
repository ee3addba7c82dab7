"""The manifest beside a private file: what was promised, how, and for which bytes. Nothing in it is secret."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyarrow import ArrowException

from symveil.errors import FileError, SymveilError
from symveil.formats.compatibility import MANIFEST_OF_0_2, MANIFEST_OF_0_3
from symveil.formats.json_text import parse_json, refuse_deep_nesting
from symveil.formats.models.model_json import model_text
from symveil.formats.reading import read_text
from symveil.languages.graph import AnyModel
from symveil.models.alphabet import Alphabet
from symveil.models.names import shown
from symveil.storage.files import write_text

FORMAT = "symveil-manifest/3"
"""What is written: docs/manifest.schema.json. Version 2 also has `law`, everything that an estimate needs to know."""

CENTRAL_FORMAT = "symveil-central/1"
"""The manifest of a central release, of which other things may be said: docs/central.schema.json."""

_KNOWN = (MANIFEST_OF_0_2, MANIFEST_OF_0_3, FORMAT, CENTRAL_FORMAT)
_LARGEST = 64 * 1024 * 1024
_REQUIRED: Mapping[str, type | tuple[type, ...]] = {
    "format": str,
    "version": str,
    "release_id": str,
    "mechanism": str,
    "epsilon": (int, float),
    "epsilon_exact": str,
    "b": (int, str),
    "how": str,
    "parameters": dict,
    "classes": list,
    "digests": dict,
    "output": dict,
    "counts": dict,
}
_REQUIRED_CENTRALLY: Mapping[str, type | tuple[type, ...]] = {
    "format": str,
    "version": str,
    "release_id": str,
    "release": str,
    "neighbours": str,
    "epsilon": (int, float),
    "epsilon_exact": str,
    "guarantee": dict,
    "queries": list,
    "parameters": dict,
    "digests": dict,
    "output": dict,
}


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest as the JSON document it is."""

    document: dict[str, Any]

    @property
    def central(self) -> bool:
        """Whether it is that of a central release."""
        return bool(self.document["format"] == CENTRAL_FORMAT)

    def text(self) -> str:
        """What is written."""
        return json.dumps(self.document, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


@contextmanager
def only_file_errors(
    path: Path, *, expected: str = "a manifest as symveil writes it", found: str = "another document"
) -> Iterator[None]:
    """Whatever a file with other content makes of its reader becomes one error that names the file.

    >>> with only_file_errors(Path("m.json")):
    ...     {}["guarantee"]
    Traceback (most recent call last):
    symveil.errors.FileError: m.json: expected a manifest as symveil writes it, found another document
    """
    try:
        yield
    except SymveilError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, ArrowException):
        raise FileError(str(path), expected=expected, found=found) from None


def manifest_path(out: Path) -> Path:
    """Where the manifest of a file goes: beside it."""
    return out.with_name(f"{out.name}.manifest.json")


def check_manifest_path(out: Path) -> None:
    """Refuse, before anything is released, an output whose manifest could not be written."""
    path = manifest_path(out)
    if path.is_dir():
        raise FileError(str(path), expected="a place for the manifest", found="a folder")


def write_manifest(out: Path, text: str) -> Path:
    """Write the manifest of a file, in one step."""
    path = manifest_path(out)
    write_text(path, text)
    return path


def read_manifest(path: Path) -> Manifest:
    """The manifest of a private file; refused where it is none, or that of a central release."""
    manifest = read_any_manifest(path)
    if manifest.central:
        raise FileError(
            str(path), expected="the manifest of a file of private sequences", found="that of a central release"
        )
    return manifest


def read_any_manifest(path: Path) -> Manifest:
    """The manifest of a private file or of a central release; refused where it is none."""
    text = read_text(path, what="manifest", at_most=_LARGEST)
    refuse_deep_nesting(text, where=str(path))
    parse_json(text, where=str(path))  # refuses what is no JSON, with its place
    try:
        document = json.loads(text)
    except ValueError:  # a whole number of thousands of digits, which nothing in a manifest has
        raise FileError(str(path), expected="a manifest as symveil writes it", found="an enormous number") from None
    return checked_manifest(document, where=str(path))


def checked_manifest(document: object, *, where: str) -> Manifest:
    """A document as a manifest; refused where it is none. `where` is what messages call it."""
    named = document.get("format") if isinstance(document, dict) else None
    if isinstance(named, str) and named.startswith(("symveil-manifest/", "symveil-central/")) and named not in _KNOWN:
        raise FileError(
            f"{where}: $.format",
            expected=f'"{FORMAT}"',
            found=f"{shown(named)}, which another version of symveil reads",
        )
    if not isinstance(document, dict) or named not in _KNOWN:
        raise FileError(where, expected=f'a manifest with "format": "{FORMAT}"', found="another document")
    for key, kind in (_REQUIRED_CENTRALLY if named == CENTRAL_FORMAT else _REQUIRED).items():
        if not isinstance(document.get(key), kind):
            raise FileError(f"{where}: $.{key}", expected="what every manifest has there", found="something else")
    if named in (FORMAT, MANIFEST_OF_0_3) and not isinstance(document.get("law"), list):
        raise FileError(f"{where}: $.law", expected="what every manifest has there", found="something else")
    return Manifest(document)


def passes_unprotected(document: Mapping[str, Any]) -> list[str]:
    """What everybody can read as it was: ids, columns that were kept, and what is public of the sequences.

    Parameters
    ----------
    document
        The manifest of a private file.

    >>> counts = {"dropped_unknown": 0, "dropped_over_budget": 0}
    >>> passes_unprotected({"output": {"format": "CSV", "columns": {"id": "trip", "sequence": "s"}}, "kept": ["town"],
    ...                     "parameters": {"metric": "hamming"}, "counts": counts})
    ['trip', 'town', 'number of sequences', 'order of sequences', 'length of each sequence']
    """
    output, parameters, counts = document["output"], document["parameters"], document["counts"]
    listed = [output["columns"][name] for name in ("id", "case") if name in output["columns"]]
    listed += [*document.get("kept", ()), "number of sequences", "order of sequences"]
    if parameters["metric"] != "levenshtein":
        listed.append("length of each sequence")
    if parameters.get("public_start"):
        listed.append("first symbol of each sequence")
    if counts["dropped_unknown"] or counts["dropped_over_budget"]:
        listed.append("which sequences are left out")
    if "kept" not in document:
        listed.append("columns that were kept, which this older manifest does not list")
    return listed


def alphabet_digest(alphabet: Alphabet) -> str:
    """The SHA-256 of the symbols in their order.

    >>> alphabet_digest(Alphabet.from_symbols("ab"))[:8]
    '3554d2b8'
    """
    return hashlib.sha256(json.dumps([str(symbol) for symbol in alphabet.symbols]).encode()).hexdigest()


def model_digest(model: AnyModel) -> str:
    """The SHA-256 of the model as symveil writes it: the same for the same model, whatever file it came from."""
    return hashlib.sha256(model_text(model).encode()).hexdigest()
