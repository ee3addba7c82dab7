"""The results: one JSON document, a table of it for a person, and what it was measured on."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.row import Row

FORMAT = "symveil-benchmarks/3"
_VERSIONS = (
    "symveil", "numpy", "scipy", "pyarrow", "python-flint", "cryptography", "sqlalchemy",
    "diffprivlib", "opendp", "multi-freq-ldpy", "stormpy",
)  # fmt: skip
_COLOURS = {"pass": "green", "FAIL": "red", "broken": "red", "n/a": "yellow"}

Document = dict[str, Any]


def machine_facts() -> Document:
    """What a reader needs to judge the times; nothing that names the machine or its owner."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    versions: dict[str, str | None] = {}
    for name in _VERSIONS:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    return {
        "processor": _processor(),
        "cores": available,
        "memory_gb": _memory(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": versions,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        # of the minute before: other work makes times longer, and a reader should know of it
        "load_before": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or "unknown"


def _memory() -> int | None:
    """GB, as the operating system counts them."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9)
    except (AttributeError, ValueError, OSError):
        return None


def document_of(
    rows: Mapping[str, Sequence[Row]], *, machine: Document, seconds: Mapping[str, float], quick: bool
) -> Document:
    """The whole run in JSON; a subject's rows carry its name."""
    return {
        "format": FORMAT,
        "machine": machine,
        "quick": quick,
        "runs": 1,
        "remark": "",  # by hand, where a reader has to know more about how the figures came about
        "seconds": {subject: round(each, 1) for subject, each in seconds.items()},
        "dates": dict.fromkeys(rows, machine["date"]),
        "rows": [{"subject": subject, **row.document()} for subject, group in rows.items() for row in group],
    }


def together(runs: Sequence[Document]) -> Document:
    """Runs of several subjects on one machine as one: of a subject that was run twice, the later one."""
    by_subject: dict[str, list[Document]] = {}
    for each in runs:
        for subject, group in groupby(each["rows"], key=lambda row: row["subject"]):
            by_subject[subject] = list(group)
    last = runs[-1]
    # a quiet hour does not excuse a busy one
    machine = {**last["machine"], "load_before": max(each["machine"]["load_before"] or 0 for each in runs)}
    return {
        **last,
        "machine": machine,
        "quick": any(each["quick"] for each in runs),
        "runs": sum(each["runs"] for each in runs),
        "remark": " ".join(each["remark"] for each in runs if each["remark"]),
        "seconds": {subject: seconds for each in runs for subject, seconds in each["seconds"].items()},
        "dates": {subject: date for each in runs for subject, date in each["dates"].items()},
        "rows": [row for subject in sorted(by_subject) for row in by_subject[subject]],
    }


def write_json(path: Path, document: Document) -> None:
    """One file, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def print_table(console: Console, document: Document) -> None:
    """All rows, a section for each subject."""
    table = Table(title="symveil: the best of several runs, each timed in turns with its peer", box=SIMPLE_HEAD)
    table.add_column("benchmark", overflow="fold")
    for heading in ("ours", "peer", "ratio", "bar"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("ok", no_wrap=True)
    for subject, group in groupby(document["rows"], key=lambda row: row["subject"]):
        table.add_row(f"[bold]{subject}[/bold]")
        for row in group:
            shown = row["shown"]
            colour = _COLOURS.get(shown["ok"])
            table.add_row(
                f"{escape(row['name'])}\n[dim]{escape(remarks(row))}[/dim]",
                *(shown[key] for key in ("ours", "peer", "ratio", "bar")),
                f"[{colour}]{shown['ok']}[/{colour}]" if colour else "",
            )
        table.add_section()
    console.print(table)
    console.print(told(document["machine"]), highlight=False)


def remarks(row: Document) -> str:
    """What a row is measured against, and what else there is to say about it."""
    said = [f"against {row['peer']}" if row["peer"] else "", row["note"], row["error"]]
    return "; ".join(each for each in said if each)


def told(machine: Document) -> str:
    """The machine in a line."""
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items() if version)
    memory = f", {machine['memory_gb']} GB" if machine["memory_gb"] else ""
    return (
        f"{machine['processor']}, {machine['cores']} cores{memory}, {machine['system']} {machine['architecture']}, "
        f"Python {machine['python']}; {versions}; {machine['date']}, load before the run {machine['load_before']}"
    )
