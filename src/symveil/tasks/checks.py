"""What a check of a manifest consists of, and the checks that every kind of release has."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from symveil.formats.json_text import first_fault, shipped_schema
from symveil.formats.manifest import as_recorded, is_of_0_2, model_digest
from symveil.languages.graph import AnyModel
from symveil.reports.page import Reported
from symveil.reports.report import Report, Section, Table
from symveil.storage.files import digest_of, digest_of_folder

Loaded = TypeVar("Loaded", bound=AnyModel)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked."""

    name: str
    holds: bool
    note: str


@dataclass(frozen=True, slots=True)
class CheckedManifest(Reported):
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

    def report(self, *, typed: Callable[[str], str] = str) -> Report:
        """What holds of it, check by check.

        Parameters
        ----------
        typed
            Writes the parameters of a note as its reader types them.
        """
        name = str(self.manifest)
        rows = [(each.name, "yes" if each.holds else "NO", typed(each.note)) for each in self.checks]
        return Report(title=name, sections=(Section(name, (Table.from_rows(("checked", "holds", "note"), rows),)),))


def compared(name: str, same: bool) -> Check:
    """Whether something is what the manifest says."""
    return Check(name, same, "matches the manifest" if same else "does not match the manifest")


def output_bytes(path: Path, document: dict[str, Any]) -> Check:
    """Whether the output has the digest that the manifest says."""
    digest = digest_of_folder(path) if path.is_dir() else digest_of(path)
    if digest is None:
        return Check("output", False, f"{path} is not there")
    same = digest == document["digests"]["output"]
    return Check(
        "output", same, "its SHA-256 matches the manifest" if same else "its SHA-256 does not match the manifest"
    )


def schema_fields(document: dict[str, Any], name: str) -> list[Check]:
    """Every field as its schema says; what 0.2 wrote has none."""
    if is_of_0_2(document):
        return []
    fault = first_fault(document, shipped_schema(name))
    return [Check("fields", fault is None, f"as {name}.schema.json says" if fault is None else fault)]


def same_model(load: Callable[[Path], Loaded], digest: str, path: Path | None, checks: list[Check]) -> Loaded | None:
    """The model in a file; None, and a check that says why, where there is none or it is another one."""
    if path is None:
        checks.append(Check("model", False, "its file is not beside the manifest; name it with `model`"))
        return None
    model = load(path)
    same = model_digest(model) == digest
    checks.append(compared("model", same))
    return model if same else None


def promise_fault(promise: Mapping[str, Any], document: dict[str, Any]) -> str | None:
    """Which part of a promise a manifest has otherwise than it is computed again; None: no part.

    Parameters
    ----------
    promise
        What a `ReleaseSpec` promises.
    document
        The manifest.
    """
    for key, value in as_recorded(dict(promise), document).items():
        # as text, and not as Python compares them: 1 is not true
        if json.dumps(document[key], sort_keys=True) != json.dumps(value, sort_keys=True):
            return f"another {key} than what is computed again"
    return None
