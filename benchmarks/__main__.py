"""`python -m benchmarks`: find the benchmarks, run them, print the table and write the JSON."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

import benchmarks
from benchmarks.measure import Effort
from benchmarks.report import print_table, write_json
from benchmarks.row import Benchmark, Row

_WIDTH_IN_A_FILE = 120


def discover() -> dict[str, list[Benchmark]]:
    """Every module of this folder that has a list `BENCHMARKS`, by name."""
    found: dict[str, list[Benchmark]] = {}
    for module in sorted(pkgutil.iter_modules(benchmarks.__path__), key=lambda module: module.name):
        if module.name != "__main__":
            functions = getattr(importlib.import_module(f"benchmarks.{module.name}"), "BENCHMARKS", None)
            if functions:
                found[module.name] = functions
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 when a bar is missed; a quick run is too short to judge and never fails."""
    subjects = discover()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=benchmarks.__doc__)
    parser.add_argument("--quick", action="store_true", help="a look in seconds; its figures are rough")
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        choices=subjects,
        help=f"one subject, may be repeated: {', '.join(subjects)}",
    )
    parser.add_argument(
        "--out", metavar="DIR", type=Path, default=Path("bench-out"), help="where benchmarks.json goes (bench-out)"
    )
    options = parser.parse_args(arguments)

    # a table in a file or a log has room for whole lines
    console = Console() if sys.stdout.isatty() else Console(width=_WIDTH_IN_A_FILE)
    progress = Console(stderr=True)
    effort = Effort(quick=options.quick)
    rows: dict[str, list[Row]] = {}
    for subject in options.only or subjects:
        with progress.status(f"timing {subject} …"):
            rows[subject] = [row for benchmark in subjects[subject] for row in benchmark(effort)]
    print_table(console, rows)
    write_json(options.out / "benchmarks.json", rows, quick=effort.quick)
    missed = [row for group in rows.values() for row in group if row.passed is False]
    if missed:
        console.print(f"{len(missed)} of the bars missed: {'; '.join(row.name for row in missed)}")
    return 1 if missed and not effort.quick else 0


if __name__ == "__main__":
    sys.exit(main())
