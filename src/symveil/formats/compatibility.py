"""What versions 0.2 and 0.3 wrote, and how it is read today: manifests, and the stamps of releases in ledgers.

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
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import zip_longest
from pathlib import Path
from typing import Any

from symveil.formats.sequences.columns import ColumnOptions
from symveil.mechanisms.choice import MechanismChoice
from symveil.numbers.rationals import exact

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


def as_recorded(promise: dict[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """A promise as the version would have written it that wrote the manifest: without keys that came later.

    Parameters
    ----------
    promise
        What is promised today, as JSON: of private sequences, or of a central release.
    document
        The manifest.

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
    """The content that 0.2 stamped: a digest of the input and the options, without the version and the rates.

    Parameters
    ----------
    fingerprint
        Of the input.
    options
        The text of the options.
    """
    return hashlib.sha256(fingerprint + options).digest()
