"""Tables of estimates and of private counts as files: CSV, Parquet or JSON by their name, and a picture."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from symveil.errors import ParameterError, either
from symveil.estimation.named_table import NamedTable
from symveil.formats.reading import guarded
from symveil.formats.shapes import read_coordinates
from symveil.storage.files import write_files

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
