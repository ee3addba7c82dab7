"""The manifest beside synthetic words: that of the release that their model is, with the file that was drawn."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from symveil import __version__
from symveil.errors import SymveilError
from symveil.formats.manifest import Manifest, manifest_path, read_any_manifest
from symveil.formats.sequences.columns import PROCESS_MINING
from symveil.laws.parameters import read_epsilon
from symveil.numbers.rationals import spelled
from symveil.storage.atomic import digest_of


def synthetic_manifest(model: Path, target: Path, content: bytes, *, count: int, separator: str) -> dict[Path, bytes]:
    """The manifest of words drawn from a model, as a file to write; none where the model has none beside it.

    Words have the release id and the promise of their model: drawing costs nothing more.

    Parameters
    ----------
    model
        The model file.
    target, content
        The file of words, and its bytes.
    count
        How many words it has: declared.
    separator
        What stands between symbols in a CSV file.
    """
    told = model_promise(model)
    if told is None:
        return {}
    kind = target.suffix.lower()[1:]
    document = {
        **told,
        "version": __version__,
        "release": "synthesize",
        "parameters": {**told["parameters"], "count": count},
        "drawn_from": {"file": model.name, "digest": told["digests"]["output"]},
        "digests": {**told["digests"], "output": hashlib.sha256(content).hexdigest()},
        "output": {
            "file": target.name,
            "format": kind,
            "form": "long" if kind == "xes" else "wide",
            "columns": synthetic_columns(kind, separator),
        },
        "charged": None,
    }
    return {manifest_path(target): Manifest(document).text().encode()}


def synthetic_columns(kind: str, separator: str) -> dict[str, str]:
    """How a file of synthetic words is read: the columns of its format.

    >>> synthetic_columns("csv", "|")
    {'id': 'id', 'sequence': 'sequence', 'separator': '|'}
    """
    if kind == "xes":
        return {name: PROCESS_MINING[name] for name in ("case", "symbol")}
    return {"id": "id", "sequence": "sequence", **({"separator": separator} if kind == "csv" else {})}


def model_promise(model: Path) -> dict[str, Any] | None:
    """The manifest beside a model that was learned privately, where it is about that very file."""
    path = manifest_path(model)
    if not path.is_file():
        return None
    try:
        found = read_any_manifest(path)
    except SymveilError:  # something else of that name
        return None
    if not found.central or found.document["digests"].get("output") != digest_of(model):
        return None
    return found.document


def what_it_is(document: dict[str, Any]) -> str:
    """What synthetic words are, for a reader."""
    epsilon = spelled(read_epsilon(document["epsilon_exact"]))
    return f"synthetic words from a model that was learned with epsilon {epsilon} per person"
