"""Where roads lie: a CSV file with a row for each state of a model, its place or its two ends.

Columns: the state (`symbol`, `state`, `link_id`, `id` or `name`) and either two coordinates (`x`, `y` or `lon`,
`lat`) or four (`x1`, `y1`, `x2`, `y2` or `u_lon`, `u_lat`, `v_lon`, `v_lat`). Degrees are laid out flat: longitudes
are shortened by the cosine of the middle latitude, which is right within a city.
"""

from __future__ import annotations

import math
from contextlib import closing
from pathlib import Path

from symveil.errors import FileError
from symveil.formats.reading import csv_rows
from symveil.pictures.road_map import Road

NAMES = ("symbol", "state", "link_id", "id", "name")
"""Columns that may name the symbol of a row, the first that is there."""
_PLACES = (
    ("x1", "y1", "x2", "y2"),
    ("u_lon", "u_lat", "v_lon", "v_lat"),
    ("x", "y"),
    ("lon", "lat"),
)
_MOST_DEGREES = 360


def read_coordinates(path: str | Path) -> dict[str, Road]:
    """The roads in a file, by their state, for maps (`sv.road_map_svg`).

    Parameters
    ----------
    path
        A CSV file with a column `state` (or `symbol`, `link_id`, `id`, `name`) and columns `x`, `y` for a place, or
        `x1`, `y1`, `x2`, `y2` for a road (or `lon`, `lat`; `u_lon`, `u_lat`, `v_lon`, `v_lat`: laid out flat).

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "roads.csv")
    ...     _ = file.write_text("state,x,y\\nhome,0,1\\nwork,2,3\\n")
    ...     read_coordinates(file)["work"]
    ((2.0, 3.0), (2.0, 3.0))
    """
    file = Path(path)
    roads: dict[str, Road] = {}
    with closing(csv_rows(file, what="table of coordinates")) as rows:
        _, header = next(rows)
        state, columns, degrees = _columns(file, header)
        for line, row in rows:
            try:
                numbers = [float(row[column]) for column in columns]
            except ValueError:
                numbers = [math.nan]
            if not all(map(math.isfinite, numbers)):
                raise FileError(f"{file}: line {line}", expected="numbers as coordinates", found="something else")
            if degrees and not all(abs(number) <= _MOST_DEGREES for number in numbers):
                raise FileError(
                    f"{file}: line {line}", expected=f"degrees, at most {_MOST_DEGREES}", found="a larger number"
                )
            roads[row[state]] = ((numbers[0], numbers[1]), (numbers[-2], numbers[-1]))
    if not roads:
        raise FileError(str(file), expected="at least one row of coordinates", found="none")
    return _flattened(roads) if degrees else roads


def _columns(file: Path, header: list[str]) -> tuple[int, list[int], bool]:
    names = [name.strip().lower() for name in header]
    state = next((names.index(name) for name in NAMES if name in names), None)
    chosen = next((columns for columns in _PLACES if all(name in names for name in columns)), None)
    if state is None or chosen is None:
        raise FileError(
            str(file),
            expected="a column state (or symbol, link_id, id, name) and columns x,y or x1,y1,x2,y2 (or lon,lat; "
            "u_lon,u_lat,…)",
            found=f"{len(names)} other columns",
        )
    return state, [names.index(name) for name in chosen], chosen[0].endswith("lon")


def _flattened(roads: dict[str, Road]) -> dict[str, Road]:
    latitudes = [y for road in roads.values() for _, y in road]
    shorter = math.cos(math.radians((min(latitudes) + max(latitudes)) / 2))
    return {name: ((one[0] * shorter, one[1]), (other[0] * shorter, other[1])) for name, (one, other) in roads.items()}
