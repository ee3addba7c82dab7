"""The results: a table for a person, a JSON document for a machine, and what they were measured on."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.row import Row, duration

_VERSIONS = ("symveil", "numpy", "python-flint", "cryptography", "diffprivlib", "opendp")


def machine_facts() -> dict[str, object]:
    """What a reader needs to judge the times; nothing that names the machine or its owner."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    versions: dict[str, str | None] = {}
    for name in _VERSIONS:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    return {
        "cores": available,
        "architecture": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": versions,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def write_json(path: Path, rows: Mapping[str, Sequence[Row]], *, quick: bool) -> None:
    """One document; a subject's rows carry its name."""
    document = {
        "format": "symveil-benchmarks/1",
        "machine": machine_facts(),
        "quick": quick,
        "rows": [{"subject": subject, **row.document()} for subject, group in rows.items() for row in group],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def print_table(console: Console, rows: Mapping[str, Sequence[Row]]) -> None:
    """All rows, a section for each subject."""
    table = Table(title="symveil: the best of several runs, each timed in turns with its peer", box=SIMPLE_HEAD)
    table.add_column("benchmark", overflow="fold")
    for heading in ("ours", "peer", "ratio", "bar"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for subject, group in rows.items():
        table.add_row(f"[bold]{subject}[/bold]")
        for row in group:
            under = f"against {row.peer}" + (f"; {row.note}" if row.note else "")
            table.add_row(
                f"{escape(row.name)}\n[dim]{escape(under)}[/dim]",
                _amount(row, row.ours),
                _amount(row, row.peer_time),
                _figure(row),
                row.bar(),
                _verdict(row),
            )
        table.add_section()
    console.print(table)
    facts = machine_facts()
    console.print(
        f"{facts['cores']} cores, {facts['architecture']}, Python {facts['python']}, "
        f"numpy {facts['versions']['numpy']}, {facts['date']}"
    )


def _figure(row: Row) -> str:
    if row.quantity == "exponent" and row.exponent is not None:
        return f"n^{row.exponent:.3f}"
    if row.ratio is None:
        return "—"
    return f"{row.ratio:,.0f}×" if row.ratio >= 100 else f"{row.ratio:.2f}×"


def _verdict(row: Row) -> str:
    if row.passed is None:
        return "" if row.limit is None else "[yellow]n/a[/yellow]"
    return "[green]pass[/green]" if row.passed else "[red]FAIL[/red]"


def _amount(row: Row, value: float | None) -> str:
    """A time, or a number of symbols in the rows that are about errors."""
    if value is not None and row.quantity == "megabytes":
        return f"{value:.0f} MB"
    return f"{value:.3g}" if row.quantity == "symbols" and value is not None else duration(value)
