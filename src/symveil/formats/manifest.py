"""The manifest beside a private file: what was promised, how, and for which bytes. Nothing in it is secret.

What versions 0.2 and 0.3 wrote, and how it is read today: manifests, and the stamps of releases in ledgers.

| written by | manifest | what it lacks |
|---|---|---|
| 0.2 | `symveil-manifest/1` | a schema, `law`, `unit`, `guarantee.loss_at`; budget and adjacency in `parameters` |
| 0.3 | `symveil-manifest/2` | `guarantee.loss_at`, `attacker`, `beyond` in `parameters`; certificates of its laws |

A ledger keeps a *stamp* of each release: a digest of the text of its input and options. A release is known again only
where that text is spelled as the version spelled it that charged it, so old spellings stay for ever.

Nothing here depends on what is written today: the callers hand over what they would write, and get it in an older form.
Ledgers of earlier versions get their new columns in `symveil.ledger.tables`, where all columns stand.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pyarrow import ArrowException

from symveil.errors import FileError, SymveilError
from symveil.formats.json_text import plain_json
from symveil.formats.limits import LIMITS
from symveil.formats.models.model_json import model_text
from symveil.formats.reading import read_text
from symveil.formats.sequences.columns import ColumnOptions
from symveil.languages.graph import AnyModel
from symveil.mechanisms.choice import MechanismChoice
from symveil.models.alphabet import Alphabet
from symveil.models.names import shown
from symveil.numbers.rationals import exact
from symveil.storage.files import write_text

MANIFEST_OF_0_2 = "symveil-manifest/1"
"""The format of a manifest without `law`. It is still read."""
MANIFEST_OF_0_3 = "symveil-manifest/2"
"""The format of a manifest whose laws have no certificates. It is still read."""
NOISE_NAMES = {"naming of noise": "by content"}
"""In the stamp of a central release: what names the noise of a cell. 0.3 numbered cells; its pending releases cannot be
finished.
"""
_PARAMETERS_OF_0_2 = (
    *("mechanism", "calibration", "prior", "utility", "offset", "public_start"),
    *("metric", "max_length", "cutoff"),
)
_COLUMNS_OF_0_2 = ("sequence", "separator", "identifier", "case", "order", "symbol", "person", "keep")


# --- manifests ----------------------------------------------------------------------------------


def is_of_0_2(document: Mapping[str, Any]) -> bool:
    """Whether version 0.2 wrote the manifest: it has neither a law nor a schema.

    >>> is_of_0_2({"format": "symveil-manifest/1"}), is_of_0_2({"format": "symveil-manifest/2"})
    (True, False)
    """
    return bool(document["format"] == MANIFEST_OF_0_2)


def choice_from_manifest(document: Mapping[str, Any]) -> MechanismChoice:
    """The choice of a mechanism in a manifest of any version.

    >>> options = {"mechanism": "exponential", "calibration": "tight", "prior": "uniform", "utility": "distance",
    ...            "offset": "1", "public_start": False, "metric": "hamming", "max_length": None, "cutoff": None}
    >>> choice = choice_from_manifest({"epsilon_exact": "1/2", "b": 3, "parameters": options})
    >>> choice.epsilon, choice.adjacency, choice.beyond
    (Fraction(1, 2), 3, 'nothing')
    """
    parameters = document["parameters"]
    in_all_versions = {name: parameters[name] for name in _PARAMETERS_OF_0_2}
    elsewhere_in_0_2 = {"epsilon": document["epsilon_exact"], "adjacency": document["b"]}
    return MechanismChoice.from_document(elsewhere_in_0_2 | in_all_versions | parameters)


def model_name(name: str) -> str:
    """The plain name of a model's file. 0.2.0 wrote its path, and a path in a manifest is not followed.

    >>> model_name("/data/roads.json")
    'roads.json'
    """
    return Path(name).name


def missing_keys(document: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Which of these keys a manifest lacks that the version which wrote it always writes; older ones had none of them.

    >>> missing_keys({"format": "symveil-manifest/3"}, ["kept"])
    ['kept']
    >>> missing_keys({"format": "symveil-manifest/2"}, ["kept"])
    []
    >>> missing_keys({"format": "symveil-central/1", "version": "0.3.0"}, ["zones"])
    []
    """
    central = document["format"] == CENTRAL_FORMAT
    older = str(document["version"]).startswith(("0.2.", "0.3.")) if central else document["format"] != FORMAT
    return [] if older else [name for name in names if name not in document]


def as_recorded(promise: dict[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """A promise as the version would have written it that wrote the manifest: without keys that came later.

    >>> promise = {"guarantee": {"epsilon": 1, "loss_at": []}, "unit": "adjacency 1, hamming", "law": []}
    >>> as_recorded(promise, {"format": "symveil-manifest/1", "guarantee": {"epsilon": 1}, "unit": "hamming"})
    {'guarantee': {'epsilon': 1}, 'unit': 'adjacency 1, hamming'}
    """
    later = {name for name in ("unit", "passes_unprotected") if name not in document}
    recorded = {name: value for name, value in promise.items() if name not in later}
    if "guarantee" in promise and "loss_at" not in document["guarantee"]:
        recorded["guarantee"] = {name: value for name, value in promise["guarantee"].items() if name != "loss_at"}
    if "law" in recorded:
        if is_of_0_2(document):
            del recorded["law"]
        elif isinstance(document["law"], list):
            laws = promise["law"] if document["format"] != MANIFEST_OF_0_3 else _without_certificates(promise["law"])
            recorded["law"] = [_row(row, written) for row, written in zip_longest(laws, document["law"])]
    return recorded


def _without_certificates(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The laws as 0.3 wrote them; neighbouring lengths that differ in their certificates only are one row."""
    results: list[dict[str, Any]] = []
    for row in rows:
        plain = {name: value for name, value in row.items() if name not in _LAW_SINCE_0_4}
        if plain["mechanism"] == "optimal" and row.get("beyond") == "graceful":
            plain["beyond"] = row["beyond"]
        if results and {**results[-1], "lengths": plain["lengths"]} == plain:
            plain["lengths"] = [results.pop()["lengths"][0], plain["lengths"][1]]
        results.append(plain)
    return results


_LAW_SINCE_0_4 = ("certificate", "beyond")


def _row(row: Any, written: Any) -> Any:
    """A row of the law, with its rate as a number where the manifest has one, as truncated-levenshtein once had."""
    if isinstance(row, dict) and isinstance(written, dict) and isinstance(written.get("rate"), float):
        return {**row, "rate": float(exact(row["rate"], name="rate"))} if "rate" in row else row
    return row


# --- stamps in ledgers --------------------------------------------------------------------------


def stamped_columns(columns: ColumnOptions) -> str:
    """The text of the columns in a stamp, as 0.2 spelled it; options that came later are there only if they are used.

    >>> stamped_columns(ColumnOptions(identifier="trip"))[:59]
    "ColumnOptions(sequence=None, separator=None, identifier='tr"
    """
    spelled = [
        f"{each.name}={getattr(columns, each.name)!r}"
        for each in fields(columns)
        if each.name in _COLUMNS_OF_0_2 or getattr(columns, each.name) != each.default
    ]
    return f"ColumnOptions({', '.join(spelled)})"


def stamped_by_0_2(fingerprint: bytes, options: bytes) -> bytes:
    """The content that 0.2 stamped: a digest of the input and the options, without the version and the rates."""
    return hashlib.sha256(fingerprint + options).digest()


FORMAT = "symveil-manifest/3"
"""What is written: docs/manifest.schema.json. Version 2 also has `law`, everything that an estimate needs to know."""

CENTRAL_FORMAT = "symveil-central/1"
"""The manifest of a central release, of which other things may be said: docs/central.schema.json."""

_KNOWN = (MANIFEST_OF_0_2, MANIFEST_OF_0_3, FORMAT, CENTRAL_FORMAT)
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
    text = read_text(path, what="manifest", at_most=LIMITS.now.file_bytes)
    return checked_manifest(plain_json(text, where=str(path)), where=str(path))


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
