"""Recheck a table of times: its cells, intervals, quantiles and means follow from its counts and public settings."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from symveil.central.cells import GRID
from symveil.central.time_counts import TIME_STATISTICS, TimeCells, TimeCounts, TimeQuestion, released_times, time_cells
from symveil.formats.formulas import unguarded
from symveil.formats.json_text import refuse_deep_nesting
from symveil.formats.reading import read_text
from symveil.languages.any_length import AnyLength
from symveil.release.spec import queries_of
from symveil.tasks.central_files import zones_digest

_LARGEST = 1 << 30
_CLOSE = 1e-9
_TEXTS = ("symbol", "symbol_1", "symbol_2", "activity", "weekday", "week", "month")
_WHOLE = ("hour", "hour-of-week", "from_seconds", "to_seconds")


def is_of_times(document: dict[str, Any]) -> bool:
    """Whether a manifest of a count is about times."""
    return document["parameters"]["statistic"] in TIME_STATISTICS


def question_of(document: dict[str, Any]) -> TimeQuestion:
    """What was counted, from the parameters of a manifest."""
    parameters = document["parameters"]
    return TimeQuestion.from_document(parameters["statistic"], parameters["time"])


def public_time_cells(
    document: dict[str, Any], language: AnyLength, *, any_length: int
) -> tuple[TimeCells, tuple[str, ...]]:
    """The cells of a table of times, and the names in them."""
    parameters = document["parameters"]
    symbols = tuple(str(symbol) for symbol in language.alphabet.symbols)
    zone_of, names = None, symbols
    if parameters["zones"] is not None:
        listed = document["zones"]
        names = tuple(sorted(set(listed)))
        zone_of = np.array([names.index(zone) for zone in listed], dtype=np.int64)
        if len(listed) != len(symbols) or zones_digest(names, zone_of) != parameters["zones"]:
            raise ValueError("other zones")
    longest = parameters["max_length"] or any_length
    question = question_of(document)
    return time_cells(question, symbols=len(symbols), longest=longest, graph=language.graph, zones=zone_of), names


def time_table_fault(path: Path, document: dict[str, Any], language: AnyLength, *, any_length: int) -> str | None:
    """In what a table of times is other than the one that its counts lead to; None: in nothing."""
    cells, names = public_time_cells(document, language, any_length=any_length)
    rows, whole = _read(path, guarded=document["output"].get("spreadsheet_safe") is True)
    return next(_faults(rows, whole, cells, names, document), None)


def _faults(
    rows: list[dict[str, Any]],
    whole: dict[str, Any] | None,
    cells: TimeCells,
    names: tuple[str, ...],
    document: dict[str, Any],
) -> Iterator[str]:
    mean = cells.question.kind == "mean-waits"
    counted = [row for row in rows if row.get("quantile") is None]
    keys = {} if mean else cells.keys()
    groups = cells.groups if mean else cells.codes()
    wanted = {
        (*(names[code] for code in group), *slot): number
        for number, (group, slot) in enumerate(
            zip(groups.tolist(), zip(*keys.values(), strict=True) if keys else [()] * len(groups), strict=True)
        )
    }
    marks = [_identity(row, cells, list(keys)) for row in counted]
    if len(set(marks)) != len(marks) or set(marks) != set(wanted):
        yield f"expected the {len(wanted)} public cells, found {len(marks)} rows that are not all of them"
        return
    answers = [0] * len(cells)
    for row, mark in zip(counted, marks, strict=True):
        parts = [row["waited"], row["count"] - row["waited"]] if mean else [row["count"]]
        for at, part in enumerate(parts):
            steps = part * GRID
            if not math.isfinite(steps) or steps != math.floor(steps):
                yield "a count that is no multiple of the grid"
                return
            answers[wanted[mark] * len(parts) + at] = int(steps)
    share = None if whole is None else whole["clipped_share"]
    expected = released_times(
        cells,
        answers,
        queries_of(document),
        names=names,
        clipped_share=share,
        confidence=float(document["parameters"]["confidence"]),
    )
    again = expected.table.to_pylist()
    if len(again) != len(rows):
        yield "another number of rows"
        return
    for row, other in zip(rows, again, strict=True):
        for name, value in other.items():
            if not _same(row.get(name), value, expected):
                yield f"another {name} than what follows from the counts"
                return
    if whole is not None:
        for name, value in expected.document().items():
            if name not in ("rows", "notes") and json.dumps(whole.get(name), sort_keys=True) != json.dumps(
                value, sort_keys=True
            ):
                yield f"another {name} in the table"


def _same(value: Any, expected: Any, table: TimeCounts) -> bool:
    if isinstance(expected, float) and isinstance(value, int | float):
        size = max(1.0, float(np.nanmax(np.abs(table.numbers["count"]), initial=0.0)), abs(expected))
        return (math.isnan(expected) and math.isnan(value)) or abs(value - expected) <= _CLOSE * size
    absent = expected is None or (isinstance(expected, float) and math.isnan(expected))
    return bool(value is None if absent and value is None else value == expected)


def _identity(row: dict[str, Any], cells: TimeCells, keys: list[str]) -> tuple[Any, ...]:
    return (*(row.get(name) for name in cells.group_columns), *(row.get(name) for name in keys))


def _read(path: Path, *, guarded: bool) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """The rows of a table of times, as the columns of a table name them; of a JSON file also the document."""
    kind = path.suffix.lower()
    if kind == ".json":
        text = read_text(path, what="table", at_most=_LARGEST)
        refuse_deep_nesting(text, where=str(path))
        document = json.loads(text)
        rows = []
        for row in document["rows"]:
            plain = {name: value for name, value in row.items() if name not in ("symbols", "move", "activity")}
            symbols = row["symbols"]
            names = (
                ["activity"]
                if "activity" in row
                else ["symbol"]
                if len(symbols) == 1
                else [f"symbol_{at + 1}" for at in range(len(symbols))]
            )
            rows.append({**dict(zip(names, symbols, strict=True)), **plain})
        return rows, document
    if kind == ".parquet":
        return pa.parquet.read_table(path).to_pylist(), None
    types = {**dict.fromkeys(_TEXTS, pa.string()), **dict.fromkeys(_WHOLE, pa.int64())}
    options = pa.csv.ConvertOptions(column_types=types, strings_can_be_null=False)
    table = pa.csv.read_csv(path, convert_options=options)
    rows = table.to_pylist()
    for row in rows if guarded else ():
        row.update({name: unguarded(value) for name, value in row.items() if name in _TEXTS and value is not None})
    return rows, None
