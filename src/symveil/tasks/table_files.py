"""Tables of estimates and of private counts as files: CSV, Parquet or JSON by their name, and a picture.

Tables of private counts are read again: rows with their intervals, and what their manifest promises.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from symveil.central.counts import PrivateCounts, notes_of, shown_threshold
from symveil.central.noise import Query
from symveil.central.time_cells import TIME_STATISTICS
from symveil.errors import FileError, ParameterError, either
from symveil.estimation.named_table import NamedTable, symbol_columns
from symveil.estimation.statistics import LONGEST_GRAM, Statistic, read_statistic
from symveil.formats.json_text import plain_json
from symveil.formats.manifest import manifest_path, only_file_errors, read_any_manifest
from symveil.formats.reading import guarded, read_text, unguarded
from symveil.formats.shapes import read_coordinates
from symveil.laws.parameters import read_epsilon
from symveil.release.central_job import queries_of
from symveil.storage.files import digest_of, write_files
from symveil.tasks.central_files import counts_records
from symveil.tasks.limits import LIMITS

SUFFIXES = (".csv", ".parquet", ".json")


def write_estimate(
    estimate: NamedTable,
    *,
    out: Path | None = None,
    plot: Path | None = None,
    places: Path | None = None,
    spreadsheet_safe: bool = False,
) -> None:
    """Write all rows of a table, a picture of it, or both: all of them or none.

    The table has the format of its name: .csv, .parquet or .json; the picture is SVG, a map where `places` say where
    symbols lie. `spreadsheet_safe` puts an apostrophe before symbols that a spreadsheet would take for formulas.
    """
    contents: dict[Path, bytes] = {}
    if out is not None:
        contents[out] = table_bytes(estimate, out, spreadsheet_safe=spreadsheet_safe)
    if plot is not None:
        contents[plot] = estimate.to_svg(None if places is None else read_coordinates(places)).encode()
    if contents:
        write_files(contents)


def check_table_name(out: Path, *, spreadsheet_safe: bool) -> None:
    """Refuse apostrophes in a file that is no CSV, before anything is computed."""
    if spreadsheet_safe and out.suffix.lower() != ".csv":
        raise ParameterError("spreadsheet_safe", expected="CSV, which spreadsheets open, with it", found=out.name)


def table_bytes(estimate: NamedTable, out: Path, *, spreadsheet_safe: bool = False) -> bytes:
    """All rows in the format of a file's name.

    With `spreadsheet_safe` symbols are guarded (`formulas.guarded`); numbers stay numbers.
    """
    check_table_name(out, spreadsheet_safe=spreadsheet_safe)
    kind = out.suffix.lower()
    if kind == ".json":
        return (json.dumps(estimate.document(), ensure_ascii=False, allow_nan=False, indent=1) + "\n").encode()
    sink = io.BytesIO()
    if kind == ".csv":
        table = _guarded(estimate.table) if spreadsheet_safe else estimate.table
        pa.csv.write_csv(table, sink, pa.csv.WriteOptions(quoting_style="all_valid") if spreadsheet_safe else None)
    elif kind == ".parquet":
        pa.parquet.write_table(estimate.table, sink)
    else:
        raise ParameterError("out", expected=f"a file name ending in {either(SUFFIXES)}", found=repr(out.name))
    return sink.getvalue()


def _guarded(table: pa.Table) -> pa.Table:
    for index, column in enumerate(table.schema):
        if pa.types.is_string(column.type):
            cells = pa.array([guarded(cell) for cell in table.column(index).to_pylist()], type=pa.string())
            table = table.set_column(index, column, cells)
    return table


_NUMBERS = ("count", "low", "high", "low_all", "high_all", "consistent")
_SYMBOLS = (*symbol_columns(1), *symbol_columns(LONGEST_GRAM))
_TEXTS = (*_SYMBOLS, "activity", "weekday", "week", "month")
_WHOLE = ("length", "hour", "hour-of-week", "from_seconds", "to_seconds")
_BESIDE_SYMBOLS = ("symbols", "move", "activity")
"""What a row has for its symbols as JSON."""


def central_manifest(released: Path, manifest: str | Path | None = None) -> dict[str, Any] | None:
    """The manifest of a central release beside a file, or at the given path; None: there is none, or another."""
    path = Path(manifest) if manifest is not None else manifest_path(released)
    if manifest is None and not path.is_file():
        return None
    result = read_any_manifest(path)
    return result.document if result.central else None


def require_bytes(path: Path, document: dict[str, Any]) -> None:
    """Refuse another file than the one that the manifest is about."""
    if digest_of(path) != document["digests"]["output"]:
        raise FileError(
            str(path), expected="the bytes that the manifest tells", found="others; is it another release's?"
        )


def read_counts(path: str | Path, *, manifest: str | Path | None = None) -> PrivateCounts:
    """A table that `count_file` wrote, with its manifest.

    Parameters
    ----------
    path
        The table: .csv, .parquet or .json.
    manifest
        Its manifest, if it is not beside the table.

    >>> import tempfile
    >>> from symveil.tasks.count import count_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source, out = Path(folder, "in.csv"), Path(folder, "table.csv")
    ...     _ = source.write_text("id,pages\\n1,a b a\\n2,b\\n")
    ...     written = count_file(source, "visits", epsilon=1, alphabet="ab", bound=2, out=out)
    ...     read_counts(out).document()["rows"] == written.counts.document()["rows"]
    True
    """
    file = Path(path)
    document = central_manifest(file, manifest)
    where = Path(manifest) if manifest is not None else manifest_path(file)
    if document is None or document["release"] != "count":
        raise FileError(
            str(where), expected="the manifest of a table that symveil count wrote", found="another or none"
        )
    with only_file_errors(where, expected="a manifest as symveil count writes it"):
        require_bytes(file, document)
        parameters = document["parameters"]
        if parameters["statistic"] in TIME_STATISTICS:
            raise FileError(str(file), expected="a table that counts symbols", found="one that counts times")
        statistic, queries = read_statistic(parameters["statistic"]), queries_of(document)
    with only_file_errors(file, expected="a table as symveil count writes it"):
        table, as_json = read_table(file, guarded=document["output"].get("spreadsheet_safe") is True)
        return _counts(table, as_json, document, statistic, queries)


def read_table(path: Path, *, guarded: bool) -> tuple[pa.Table, dict[str, Any] | None]:
    """The rows of a table in a file; of a JSON file also the document. `guarded`: with apostrophes to take away."""
    if path.suffix.lower() == ".json":
        text = read_text(path, what="table", at_most=LIMITS.now.table_bytes)
        document = plain_json(text, where=str(path))
        return _rows_of_json(document), document
    if path.suffix.lower() == ".parquet":
        return pa.parquet.read_table(path), None
    table = pa.csv.read_csv(path, convert_options=pa.csv.ConvertOptions(column_types=_types()))
    for name in table.column_names if guarded else ():
        if name in _TEXTS:
            texts = pa.array([text and unguarded(text) for text in table[name].to_pylist()], type=pa.string())
            table = table.set_column(table.column_names.index(name), name, texts)
    return table, None


def _counts(
    table: pa.Table,
    as_json: dict[str, Any] | None,
    document: dict[str, Any],
    statistic: Statistic,
    queries: tuple[Query, ...],
) -> PrivateCounts:
    parameters, share = document["parameters"], None if as_json is None else as_json["clipped_share"]
    codes, symbols = coded_columns(table, [name for name in _SYMBOLS if name in table.column_names])
    by_length = statistic.kind == "lengths"
    notes = notes_of(queries, share)
    if as_json is None and len(queries) > 1:  # only the JSON form has the share
        notes = notes_of(queries, 0.0)[:1]
    return PrivateCounts(
        statistic=statistic.name,
        confidence=float(parameters["confidence"]),
        symbols=symbols,
        leading="length" if by_length else None,
        places=_whole(table["length"]) if by_length else None,
        codes=codes,
        numbers={name: floats(table[name]) for name in _NUMBERS if name in table.column_names},
        epsilon=read_epsilon(document["epsilon_exact"]),
        bound=queries[-1].bound,
        clipped_share=share,
        queries=queries,
        notes=notes,
        delta=queries[-1].delta,
        threshold=shown_threshold(queries[-1]),
        per="record" if counts_records(document) else "person",
    )


def _rows_of_json(document: dict[str, Any]) -> pa.Table:
    rows: list[dict[str, Any]] = document["rows"]
    first, last = (rows[0], rows[-1]) if rows else ({}, {})  # rows of quantiles stand at the end
    order = len(first["symbols"]) if rows else read_statistic(document["statistic"]).order
    names = ["activity"] if "activity" in first else symbol_columns(order)
    columns: dict[str, Any] = {
        name: pa.array([row["symbols"][index] for row in rows], type=pa.string()) for index, name in enumerate(names)
    }
    types, others = _types(), [name for name in {**first, **last} if name not in _BESIDE_SYMBOLS]
    for name in others if rows else (*(["length"] if order == 0 else []), *_NUMBERS):
        cells = [row.get(name) if "quantile" in row or name == "quantile" else row[name] for row in rows]
        columns[name] = pa.array(cells, type=types.get(name, pa.float64()))
    return pa.table(columns)


def _types() -> dict[str, pa.DataType]:
    texts, floats = dict.fromkeys(_TEXTS, pa.string()), dict.fromkeys(_NUMBERS, pa.float64())
    return {**texts, **floats, **dict.fromkeys(_WHOLE, pa.int64())}


def floats(column: Any) -> NDArray[np.float64]:
    """The numbers of a column; where there is none, not a number."""
    return np.array(column.to_pylist(), dtype=np.float64)


def coded_columns(table: pa.Table, names: Sequence[str]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """The texts of some columns as codes, a column for each, and the texts in order."""
    texts = [[str(text) for text in table[name].to_pylist()] for name in names]
    symbols = tuple(sorted({text for column in texts for text in column}))
    number = {text: code for code, text in enumerate(symbols)}
    codes = [[number[text] for text in column] for column in texts]
    return np.array(codes, dtype=np.int64).reshape(len(names), table.num_rows).T, symbols


def _whole(column: Any) -> NDArray[np.int64]:
    return np.array(column.to_pylist(), dtype=np.int64)
