"""`python -m benchmarks`: find the benchmarks, run them, print the table, write the JSON and, if asked, the page."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

import benchmarks
from benchmarks.measure import Effort, processor_seconds
from benchmarks.page import write_page
from benchmarks.report import FORMAT, Document, document_of, machine_facts, print_table, together, write_json
from benchmarks.row import Benchmark, Row

_WIDTH_IN_A_FILE = 132
_DOCS = Path(__file__).resolve().parents[1] / "docs"


def discover() -> list[str]:
    """Every module of this folder that sets `BENCHMARKS`, by name. None is imported: the chosen ones are, in turn."""
    folder = Path(__file__).parent
    return [path.stem for path in sorted(folder.glob("*.py")) if "\nBENCHMARKS: " in path.read_text(encoding="utf-8")]


def load(subject: str) -> Sequence[Benchmark]:
    """The benchmarks of a subject; of one that cannot be imported, a benchmark that breaks."""
    try:
        found: Sequence[Benchmark] = importlib.import_module(f"benchmarks.{subject}").BENCHMARKS
    except Exception as error:
        reason = error

        def importing(_effort: Effort) -> Iterator[Row]:
            raise reason

        return [importing]
    return found


def rows_of(benchmark: Benchmark, effort: Effort) -> Iterator[Row]:
    """What it yields; if it breaks, what it has yielded so far and a row that says so."""
    try:
        yield from benchmark(effort)
    except Exception as error:
        traceback.print_exc()
        first = (str(error).splitlines() or [""])[0]
        yield Row.broken(getattr(benchmark, "__name__", "benchmark"), f"{type(error).__name__}: {first}")


def run(subjects: Sequence[str], effort: Effort) -> Document:
    """All of them, one after the other; an interrupt ends the run and keeps what is there."""
    machine = machine_facts()
    rows: dict[str, list[Row]] = {}
    seconds: dict[str, float] = {}
    try:
        for number, subject in enumerate(subjects, start=1):
            print(f"[{number}/{len(subjects)}] {subject} …", file=sys.stderr, flush=True)
            begin = processor_seconds()
            group = rows.setdefault(subject, [])
            for benchmark in load(subject):
                group.extend(rows_of(benchmark, effort))
            seconds[subject] = processor_seconds() - begin
            took = f"{seconds[subject]:.0f} s of processor time"
            print(f"    {len(group)} rows in {took}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        rows.setdefault("run", []).append(Row.broken("the whole run", "interrupted"))
    return document_of(rows, machine=machine, seconds=seconds, quick=effort.quick)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 when a bar is missed or a benchmark broke; a quick run is too short to judge bars."""
    subjects = discover()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=benchmarks.__doc__)
    parser.add_argument("--quick", action="store_true", help="a look in seconds; its figures are rough")
    parser.add_argument("--thorough", action="store_true", help="rows too that take many minutes each")
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
    parser.add_argument(
        "--write-docs", action="store_true", help="put the results of the whole run into docs/benchmarks.md"
    )
    parser.add_argument(
        "--from",
        dest="earlier",
        metavar="FILE",
        action="append",
        type=Path,
        help="show a benchmarks.json instead of running; may be repeated, for subjects run one by one",
    )
    options = parser.parse_args(arguments)
    if options.write_docs and (options.quick or options.only):
        parser.error("--write-docs: expected a whole run, found --quick or --only")
    if options.earlier:
        document = together([_read(path, parser) for path in options.earlier])
    else:
        document = run(options.only or subjects, Effort(quick=options.quick, thorough=options.thorough))
        write_json(options.out / "benchmarks.json", document)
    # a table in a file or a log has room for whole lines
    console = Console() if sys.stdout.isatty() else Console(width=_WIDTH_IN_A_FILE)
    print_table(console, document)
    broken = [row["name"] for row in document["rows"] if row["error"]]
    missed = [row["name"] for row in document["rows"] if row["passed"] is False and not row["error"]]
    if missed:
        console.print(f"{len(missed)} of the bars missed: {'; '.join(missed)}", markup=False)
    if broken:
        console.print(f"{len(broken)} of the benchmarks broke: {'; '.join(broken)}", markup=False)
    if options.write_docs:
        if broken or document["quick"]:
            console.print("docs/benchmarks.md is left as it was: it shows whole runs in which nothing broke")
        else:
            write_page(document, _DOCS)
    return 1 if broken or (missed and not document["quick"]) else 0


def _read(path: Path, parser: argparse.ArgumentParser) -> Document:
    try:
        document: Document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != FORMAT:
            parser.error(f"--from {path.name}: expected the format {FORMAT}, found {document['format']}")
    except (OSError, ValueError, KeyError) as error:
        parser.error(f"--from {path.name}: expected the benchmarks.json of a run, found {type(error).__name__}")
    return document


if __name__ == "__main__":
    sys.exit(main())
