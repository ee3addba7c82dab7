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
from symveil.files.atomic import write_files
from symveil.io.models.coordinates import read_coordinates

SUFFIXES = (".csv", ".parquet", ".json")


def write_estimate(
    estimate: NamedTable, *, out: Path | None = None, plot: Path | None = None, places: Path | None = None
) -> None:
    """Write all rows of a table, a picture of it, or both: all of them or none.

    Parameters
    ----------
    estimate
        What is written.
    out
        The table, in the format of its name: .csv, .parquet or .json.
    plot
        The picture, an SVG file.
    places
        Where symbols lie, a CSV file with symbol, x, y: then the picture is a map.
    """
    contents: dict[Path, bytes] = {}
    if out is not None:
        contents[out] = table_bytes(estimate, out)
    if plot is not None:
        contents[plot] = estimate.to_svg(None if places is None else read_coordinates(places)).encode()
    if contents:
        write_files(contents)


def table_bytes(estimate: NamedTable, out: Path) -> bytes:
    """All rows in the format of a file's name."""
    kind = out.suffix.lower()
    if kind == ".json":
        return (json.dumps(estimate.document(), ensure_ascii=False, allow_nan=False, indent=1) + "\n").encode()
    sink = io.BytesIO()
    if kind == ".csv":
        pa.csv.write_csv(estimate.table, sink)
    elif kind == ".parquet":
        pa.parquet.write_table(estimate.table, sink)
    else:
        raise ParameterError("out", expected=f"a file name ending in {either(SUFFIXES)}", found=repr(out.name))
    return sink.getvalue()
