"""What a check of a manifest consists of, the checks that every release has, and those of a private table.

A table is made again from its counts, one of symbols as one of times; it must come out as it stands in the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from symveil.central.cells import ANY_LENGTH, GRID, Cells, cells_of
from symveil.central.counts import PrivateCounts
from symveil.central.time_cells import TIME_STATISTICS, TimeCells, TimeQuestion, time_cells
from symveil.central.time_counts import released_times
from symveil.errors import SymveilError
from symveil.estimation.named_table import symbol_columns
from symveil.estimation.statistics import read_statistic
from symveil.formats.json_text import first_fault, shipped_schema
from symveil.formats.manifest import as_recorded, is_of_0_2, model_digest, only_file_errors
from symveil.languages.graph import AnyModel
from symveil.languages.language import AnyLength
from symveil.release.central_job import queries_of
from symveil.reports.page import Reported
from symveil.reports.report import Report, Section, Table
from symveil.storage.files import digest_of, digest_of_folder
from symveil.tasks.central_files import zones_digest
from symveil.tasks.table_files import coded_columns, floats, read_table

Loaded = TypeVar("Loaded", bound=AnyModel)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked."""

    name: str
    holds: bool
    note: str


@dataclass(frozen=True, slots=True)
class CheckedManifest(Reported):
    """Everything that was checked, and the names of what was not, because something else failed before."""

    manifest: Path
    checks: tuple[Check, ...]
    not_run: tuple[str, ...] = ()

    @classmethod
    def of(cls, manifest: Path, checks: Iterable[Check], wanted: Iterable[str]) -> CheckedManifest:
        """What was checked of all that was wanted."""
        done = tuple(checks)
        return cls(manifest, done, tuple(name for name in wanted if all(each.name != name for each in done)))

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
            "not_run": [{"check": name, "reason": self._reason} for name in self.not_run],
        }

    @property
    def _reason(self) -> str:
        failed = dict.fromkeys(each.name for each in self.checks if not each.holds)
        return f"needs what failed above: {', '.join(failed)}"

    def report(self, *, typed: Callable[[str], str] = str) -> Report:
        """What holds of it, check by check.

        `typed` writes the parameters of a note as its reader types them.
        """
        name = str(self.manifest)
        rows = [(each.name, "yes" if each.holds else "NO", typed(each.note)) for each in self.checks]
        rows += [(name, "not run", self._reason) for name in self.not_run]
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
    """Which part of a promise a manifest has otherwise than it is computed again; None: no part."""
    for key, value in as_recorded(dict(promise), document).items():
        # as text, and not as Python compares them: 1 is not true
        if json.dumps(document[key], sort_keys=True) != json.dumps(value, sort_keys=True):
            return f"another {key} than what is computed again"
    return None


_EXACT = ("count", "low", "high", "low_all", "high_all")
_EXACT_COUNTS = float(1 << 21)
"""Counts below this are written exactly; of larger ones the last places are rounded."""
_CLOSE, _CLOSE_OF_TIMES = 1e-6, 1e-9
"""Sums of floats differ a little between machines: other columns, by this share of the largest row."""


def is_of_times(document: dict[str, Any]) -> bool:
    """Whether a manifest of a count is about times."""
    return document["parameters"]["statistic"] in TIME_STATISTICS


def question_of(document: dict[str, Any]) -> TimeQuestion:
    """What was counted of times, from the parameters of a manifest."""
    parameters = document["parameters"]
    return TimeQuestion.from_document(parameters["statistic"], parameters["time"])


def check_table(path: Path, document: dict[str, Any], language: AnyLength | None) -> list[Check]:
    """That the rows are the public cells, and what follows from their counts.

    There is no public language for a count with a δ.
    """
    times = is_of_times(document)
    if times and language is None:
        return [Check("cells", False, "a table of times without a public alphabet or model")]
    try:
        with only_file_errors(path, expected=f"a table {'of times ' if times else ''}as symveil count writes it"):
            table, as_json = read_table(path, guarded=document["output"].get("spreadsheet_safe") is True)
            cells, names = (None, ()) if language is None else _public_cells(document, language)
            rows = _counted(table, cells, names, document, every_pair=language is not None)
            if isinstance(rows, str):
                return [Check("cells", False, rows)]
            which = "another cell that is shown" if language is None else "another public cell"
            checks = [Check("cells", True, f"{len(rows.answers)} rows, each of {which}")]
            fault = next(_faults(table, as_json, rows, document), None)
    except SymveilError as error:
        return [Check("cells", False, str(error))]
    again = "cells, intervals and quantiles computed again" if times else "computed again"
    return [*checks, Check("intervals", fault is None, fault or f"{again} from the counts")]


def _public_cells(document: dict[str, Any], language: AnyLength) -> tuple[Cells | TimeCells | None, tuple[str, ...]]:
    """The cells of a table and the names in them; no cells where zones are not listed, as in 0.3."""
    parameters = document["parameters"]
    symbols = tuple(str(symbol) for symbol in language.alphabet.symbols)
    zone_of, names = None, symbols
    if parameters["zones"] is not None:
        listed = document.get("zones")
        if listed is None:
            return None, ()
        names = tuple(sorted(set(listed)))
        zone_of = np.array([names.index(zone) for zone in listed], dtype=np.int64)
        if len(listed) != len(symbols) or zones_digest(names, zone_of) != parameters["zones"]:
            raise ValueError("other zones")
    elif "zones" in document:
        raise ValueError("zones that nothing was counted by")
    longest = parameters["max_length"] or ANY_LENGTH
    public: dict[str, Any] = {"symbols": len(symbols), "longest": longest, "graph": language.graph, "zones": zone_of}
    if is_of_times(document):
        return time_cells(question_of(document), **public), names
    return cells_of(parameters["statistic"], **public), names


class _Counted:
    """The noisy sums of a table in steps of the grid, in the order of its cells."""

    def __init__(
        self, answers: NDArray[np.float64], codes: NDArray[np.int64], names: tuple[str, ...], cells: TimeCells | None
    ) -> None:
        self.answers, self.codes, self.names, self.cells = answers, codes, names, cells

    def released(self, document: dict[str, Any], share: float | None) -> PrivateCounts:
        """The table that they lead to."""
        steps = [int(step) for step in self.answers.reshape(-1).tolist()]
        settings: dict[str, Any] = {
            "names": self.names,
            "clipped_share": share,
            "confidence": float(document["parameters"]["confidence"]),
        }
        if self.cells is not None:
            return released_times(self.cells, steps, queries_of(document), **settings)
        statistic = read_statistic(document["parameters"]["statistic"])
        return PrivateCounts.of(statistic, self.codes, steps, queries_of(document), **settings)


def _counted(
    table: pa.Table,
    cells: Cells | TimeCells | None,
    names: tuple[str, ...],
    document: dict[str, Any],
    *,
    every_pair: bool,
) -> _Counted | str:
    """The sums in the order of the public cells, of those that are shown where cells are not; in words, why not."""
    if "quantile" in table.column_names:
        table = table.filter(pc.is_null(table["quantile"]))
    of_times = cells if isinstance(cells, TimeCells) else None
    mean = of_times is not None and of_times.question.kind == "mean-waits"
    counts = floats(table["count"])
    parts = [counts]
    if mean:
        waited = floats(table["waited"])
        parts = [waited, counts - waited]
    steps = np.stack(parts, axis=1) * GRID  # exact: a power of two
    if cells is None:
        return _shown(table, steps, document, every_pair=every_pair)
    codes = of_times.groups if of_times is not None and mean else cells.codes()
    wanted, own = [np.zeros(len(codes), dtype=np.int64)], [np.zeros(len(steps), dtype=np.int64)]
    for name, values in _naming(cells, codes, names, mean=mean).items():
        number = {value: code for code, value in enumerate(dict.fromkeys(values))}
        wanted.append(np.array([number[value] for value in values], dtype=np.int64))
        own.append(np.array([number.get(value, -1) for value in table[name].to_pylist()], dtype=np.int64))
        if (own[-1] < 0).any():
            return f"a row outside the public cells, by its {name.replace('_', ' ')}"
    (order, rows), (own_order, own_rows) = (_ordered(each) for each in (wanted, own))
    if (own_rows[1:] == own_rows[:-1]).all(axis=1).any():
        return "a row that is there twice"
    if not np.array_equal(own_rows, rows):
        return f"expected the {len(codes)} public cells, found {len(steps)} rows that are not all of them"
    answers = np.empty_like(steps)
    answers[order] = steps[own_order]
    return _Counted(answers, codes, names, of_times)


def _naming(
    cells: Cells | TimeCells, codes: NDArray[np.int64], names: tuple[str, ...], *, mean: bool
) -> dict[str, list[Any]]:
    """The columns that name a row, with their value in each cell."""
    if isinstance(cells, Cells) and cells.statistic.kind == "lengths":
        return {"length": codes[:, 0].tolist()}
    order = codes.shape[1]
    heads = cells.group_columns if isinstance(cells, TimeCells) else symbol_columns(order)
    columns = {head: [names[code] for code in codes[:, at].tolist()] for at, head in enumerate(heads[:order])}
    return columns if mean or isinstance(cells, Cells) else columns | cells.keys()


def _ordered(columns: list[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The order of rows by their columns, the first one first; and the rows in that order."""
    order = np.lexsort(columns[::-1])
    return order, np.stack(columns, axis=1)[order]


def _shown(
    table: pa.Table, steps: NDArray[np.float64], document: dict[str, Any], *, every_pair: bool
) -> _Counted | str:
    """The rows themselves, where no list of public cells says which there are."""
    statistic = read_statistic(document["parameters"]["statistic"])
    if statistic.kind == "lengths":
        names: tuple[str, ...] = ()
        columns = [np.array(table["length"].to_pylist(), dtype=np.int64)]
        longest = document["parameters"]["max_length"] or ANY_LENGTH
        if len(steps) and not 0 <= columns[0].min() <= columns[0].max() <= longest:
            return "a length that does not count"
    else:
        codes, names = coded_columns(table, symbol_columns(statistic.order))
        columns = list(codes.T)
    order, rows = _ordered(columns)
    if (rows[1:] == rows[:-1]).all(axis=1).any():
        return "a row that is there twice"
    if every_pair and len(rows) != len(names) ** 2:
        return "a pair of zones that is missing"
    return _Counted(steps[order], rows, names, None)


def _faults(table: pa.Table, as_json: dict[str, Any] | None, rows: _Counted, document: dict[str, Any]) -> Iterator[str]:
    """In what a table is other than the one that its counts lead to."""
    if not (np.isfinite(rows.answers).all() and (rows.answers == np.floor(rows.answers)).all()):
        yield "a count that is no multiple of the grid"
        return
    query = queries_of(document)[-1]
    if query.delta and (rows.answers < query.threshold).any():
        yield "a row below the threshold"
    share = None if as_json is None else as_json["clipped_share"]
    if share is not None and (document["parameters"]["bound"] != "auto" or not 0 <= share <= 1):
        yield "a clipped share that no bound has"
    expected = rows.released(document, share)
    if as_json is not None:
        yield from _json_faults(as_json, expected.document())
    again = expected.table
    if table.column_names != again.column_names:
        yield "other columns"
        return
    exact = () if rows.cells is not None and rows.cells.question.kind == "mean-waits" else _EXACT
    close = _CLOSE if rows.cells is None else _CLOSE_OF_TIMES
    counts = floats(again["count"])
    for name in again.column_names:
        if name in expected.numbers:
            if not _same_numbers(floats(table[name]), floats(again[name]), counts, 0.0 if name in exact else close):
                yield f"another {name} than what follows from the counts"
        elif table[name].to_pylist() != again[name].to_pylist():
            yield "rows in another order than from the largest count on"


def _same_numbers(
    found: NDArray[np.float64], wanted: NDArray[np.float64], counts: NDArray[np.float64], close: float
) -> bool:
    """Whether a column is as it was computed again, but for `close`; with 0, for the last places of large counts."""
    ends = np.fmax(np.abs(wanted), np.abs(counts))
    if close:
        room = close * np.fmax(np.abs(wanted), max(1.0, float(np.nanmax(np.abs(counts), initial=0.0))))
    else:
        room = np.where(ends < _EXACT_COUNTS, 0.0, 4 * np.spacing(ends))
    missing = np.isnan(wanted)
    return bool(((np.abs(found - wanted) <= room) | (missing & np.isnan(found))).all())


def _json_faults(document: dict[str, Any], expected: dict[str, Any]) -> Iterator[str]:
    """In what a table as JSON says other things beside its rows; sentences for readers change between versions."""
    if set(document) != set(expected):
        yield "other fields of the table"
    for name in sorted(set(document) & set(expected) - {"rows", "notes"}):
        if json.dumps(document[name], sort_keys=True) != json.dumps(expected[name], sort_keys=True):
            yield f"another {name} in the table"
    if {frozenset(row) for row in document["rows"]} - {frozenset(row) for row in expected["rows"]}:
        yield "other columns"
    if [row["symbols"] for row in document["rows"]] != [row["symbols"] for row in expected["rows"]]:
        yield "rows in another order than from the largest count on"
