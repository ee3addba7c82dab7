"""Where roads lie: a CSV file with a row for each state of a model, its place or its two ends.

Columns: the state (`symbol`, `state`, `link_id`, `id` or `name`) and either two coordinates (`x`, `y` or `lon`,
`lat`) or four (`x1`, `y1`, `x2`, `y2` or `u_lon`, `u_lat`, `v_lon`, `v_lat`). Degrees are laid out flat: longitudes
are shortened by the cosine of the middle latitude, which is right within a city.

Zones as they are given: a grid such as 6 or 6x4, or a CSV file with the zone of each symbol.
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from symveil.errors import FileError, ParameterError
from symveil.formats.reading import LONGEST_CELL, csv_rows
from symveil.pictures.road_map import Road

NAMES = ("symbol", "state", "link_id", "id", "name")
"""Columns that may name the symbol of a row, the first that is there."""
_USUAL_NAMES = (
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
    with named_rows(file, what="table of coordinates") as table:
        state, chosen = table.first(NAMES), next((names for names in _USUAL_NAMES if table.every(names)), ())
        columns, degrees = table.every(chosen), chosen[:1] in (("lon",), ("u_lon",))
        if state is None or not columns:
            raise table.refusal(
                "a column state (or symbol, link_id, id, name) and columns x,y or x1,y1,x2,y2 (or lon,lat; "
                "u_lon,u_lat,…)"
            )
        for where, row in table:
            try:
                numbers = [float(row[column]) for column in columns]
            except ValueError:
                numbers = [math.nan]
            if not all(map(math.isfinite, numbers)):
                raise FileError(where, expected="numbers as coordinates", found="something else")
            if degrees and not all(abs(number) <= _MOST_DEGREES for number in numbers):
                raise FileError(where, expected=f"degrees, at most {_MOST_DEGREES}", found="a larger number")
            roads[row[state]] = ((numbers[0], numbers[1]), (numbers[-2], numbers[-1]))
    if not roads:
        raise FileError(str(file), expected="at least one row of coordinates", found="none")
    return _flattened(roads) if degrees else roads


class NamedRows:
    """The rows of a CSV table whose columns are looked for by their names, in small letters."""

    def __init__(self, path: Path, rows: Generator[tuple[int, list[str]]]) -> None:
        self.path, self._rows, self.header = path, rows, next(rows)[1]
        self._names = [name.strip().lower() for name in self.header]

    def first(self, names: Sequence[str]) -> int | None:
        """The column with the first of these names that is there."""
        return next((self._names.index(name) for name in names if name in self._names), None)

    def every(self, names: Sequence[str]) -> list[int]:
        """The columns with these names; none where one of them is not there, or is there twice."""
        every = [self._names.index(name) for name in names if self._names.count(name) == 1]
        return every if len(every) == len(names) else []

    def refusal(self, expected: str) -> FileError:
        """That the table has other columns."""
        return FileError(str(self.path), expected=expected, found=f"{len(self._names)} other columns")

    def __iter__(self) -> Iterator[tuple[str, list[str]]]:
        """What messages call each row, and its cells."""
        return ((f"{self.path}: line {line}", row) for line, row in self._rows)


@contextmanager
def named_rows(
    path: Path, *, what: str, delimiter: str | None = None, longest_cell: int = LONGEST_CELL
) -> Iterator[NamedRows]:
    """The rows of a CSV file, which is closed after the block.

    Parameters
    ----------
    path, what
        The file, and what messages call it.
    delimiter, longest_cell
        As `csv_rows` takes them.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "zones.csv")
    ...     _ = file.write_text("Symbol,zone\\nquay,harbour\\n")
    ...     with named_rows(file, what="table of zones") as table:
    ...         table.first(NAMES), table.every(["x", "y"]), [row for _, row in table]
    (0, [], [['quay', 'harbour']])
    """
    with closing(csv_rows(path, what=what, delimiter=delimiter, longest_cell=longest_cell)) as rows:
        yield NamedRows(path, rows)


def _flattened(roads: dict[str, Road]) -> dict[str, Road]:
    latitudes = [y for road in roads.values() for _, y in road]
    shorter = math.cos(math.radians((min(latitudes) + max(latitudes)) / 2))
    return {name: ((one[0] * shorter, one[1]), (other[0] * shorter, other[1])) for name, (one, other) in roads.items()}


GRID = "6"
"""The grid over places where no zones are given."""

_MOST_CELLS = 1_000_000
_GRID = re.compile(r"(\d{1,7})(?:x(\d{1,7}))?")


def read_grid(text: str) -> tuple[int, int] | None:
    """Columns and rows of a grid; None where the text is none.

    >>> read_grid("6"), read_grid("6x4"), read_grid("zones.csv")
    ((6, 6), (6, 4), None)
    """
    match = _GRID.fullmatch(text)
    return None if match is None else (int(match[1]), int(match[2] or match[1]))


def read_zones(path: str | Path) -> dict[str, str]:
    """The zone of each symbol in a CSV file: columns `symbol` (or state, link_id, id, name) and `zone`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "zones.csv")
    ...     _ = file.write_text("symbol,zone\\nmain st,centre\\nquay,harbour\\n")
    ...     read_zones(file)
    {'main st': 'centre', 'quay': 'harbour'}
    """
    file = Path(path)
    zones: dict[str, str] = {}
    with named_rows(file, what="table of zones") as table:
        symbol, columns = table.first(NAMES), table.every(["zone"])
        if symbol is None or not columns:
            raise table.refusal("a column symbol (or state, link_id, id, name) and a column zone")
        (zone,) = columns
        for where, row in table:
            if row[symbol] in zones and zones[row[symbol]] != row[zone]:
                raise FileError(where, expected="each symbol in one zone", found="another zone before")
            zones[row[symbol]] = row[zone]
    if not zones:
        raise FileError(str(file), expected="at least one symbol with a zone", found="none")
    return zones


def zones_of(zones: str | Path | None, roads: Mapping[str, Road]) -> tuple[str, Mapping[str, str]]:
    """What zones are, and the zone of each symbol; none where each symbol is its own.

    >>> zones_of("2", {"a": ((0.0, 0.0), (0.0, 0.0)), "b": ((3.0, 1.0), (5.0, 1.0))})
    ('grid 2x2', {'a': '0,0', 'b': '1,1'})
    """
    if zones is None and not roads:
        return "symbols", {}
    grid = read_grid(str(GRID if zones is None else zones))
    if grid is None:
        return str(zones), read_zones(str(zones))
    if not roads:
        raise ParameterError("zones", expected="`places` with a grid: it is laid over them", found="no places")
    columns, rows = grid
    middles = {symbol: middle(road) for symbol, road in roads.items()}
    return f"grid {columns}x{rows}", grid_zones(middles, columns=columns, rows=rows)


def middle(road: Road) -> tuple[float, float]:
    """Half way between the ends of a road."""
    return (road[0][0] + road[1][0]) / 2, (road[0][1] + road[1][1]) / 2


def grid_zones(points: Mapping[str, tuple[float, float]], *, columns: int, rows: int) -> dict[str, str]:
    """The cell of an equal grid over the box of all points that each lies in, named "column,row" from 0 on.

    A point on the border of two cells is in the upper or right one; those on the far border are in the last.

    >>> grid_zones({"a": (0.0, 0.0), "b": (1.0, 2.0), "c": (0.5, 2.0)}, columns=2, rows=3)
    {'a': '0,0', 'b': '1,2', 'c': '1,2'}
    """
    if min(columns, rows) < 1 or columns * rows > _MOST_CELLS:
        raise ParameterError(
            "zones", expected=f"a grid of 1 to {_MOST_CELLS} cells, such as 6 or 6x4", found=f"{columns}x{rows}"
        )
    points_array = np.array(list(points.values()), dtype=np.float64)
    low, high = points_array.min(axis=0), points_array.max(axis=0)
    cells = np.array([columns, rows])
    extent = np.where(high > low, high - low, 1.0)
    cell_numbers = np.clip(np.floor((points_array - low) / extent * cells).astype(np.int64), 0, cells - 1)
    return {name: f"{column},{row}" for name, (column, row) in zip(points, cell_numbers.tolist(), strict=True)}
