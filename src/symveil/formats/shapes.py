"""Where symbols lie, in files: roads, places and zones, shapes of zones, lines of links.

Tables are CSV with a row for each symbol, and its place or its two ends; GeoJSON and WKT have shapes. Coordinates are
degrees, longitude first, as GeoJSON and WKT have them, or any plane ones (`x`, `y`). Degrees in tables of places are
laid out flat: longitudes are shortened by the cosine of the middle latitude, which is right within a city.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.errors import FileError, ParameterError, either
from symveil.formats.json_text import plain_json
from symveil.formats.limits import LIMITS
from symveil.formats.reading import LONGEST_CELL, csv_rows, read_text, suffix, wrong_suffix
from symveil.pictures.maps import Road

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
    return _flattened(roads) if degrees else roads


class NamedRows:
    """The rows of a CSV table whose columns are looked for by their names, in small letters."""

    def __init__(self, path: Path, rows: Generator[tuple[int, list[str]]], what: str) -> None:
        self.path, self._rows, self._what, self.header = path, rows, what, next(rows)[1]
        self._names = [name.strip().lower() for name in self.header]

    def first(self, names: Sequence[str]) -> int | None:
        """The column with the first of these names that is there; none where it is there twice."""
        name = next((name for name in names if name in self._names), "")
        return self._names.index(name) if self._names.count(name) == 1 else None

    def every(self, names: Sequence[str]) -> list[int]:
        """The columns with these names; none where one of them is not there, or is there twice."""
        every = [self._names.index(name) for name in names if self._names.count(name) == 1]
        return every if len(every) == len(names) else []

    def refusal(self, expected: str) -> FileError:
        """That the table has other columns."""
        return FileError(str(self.path), expected=expected, found=f"{len(self._names)} other columns")

    def __iter__(self) -> Iterator[tuple[str, list[str]]]:
        """What messages call each row, and its cells; a table without rows is refused."""
        empty = True
        for line, row in self._rows:
            empty = False
            yield f"{self.path}: line {line}", row
        if empty:
            raise FileError(str(self.path), expected=f"at least one row in a {self._what}", found="none")


@contextmanager
def named_rows(
    path: Path, *, what: str, delimiter: str | None = None, longest_cell: int = LONGEST_CELL
) -> Iterator[NamedRows]:
    """The rows of a CSV file, which is closed after the block.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "zones.csv")
    ...     _ = file.write_text("Symbol,zone\\nquay,harbour\\n")
    ...     with named_rows(file, what="table of zones") as table:
    ...         table.first(NAMES), table.every(["x", "y"]), [row for _, row in table]
    (0, [], [['quay', 'harbour']])
    """
    with closing(csv_rows(path, what=what, delimiter=delimiter, longest_cell=longest_cell)) as rows:
        yield NamedRows(path, rows, what)


def _flattened(roads: dict[str, Road]) -> dict[str, Road]:
    latitudes = [y for road in roads.values() for _, y in road]
    shorter = math.cos(math.radians((min(latitudes) + max(latitudes)) / 2))
    return {name: ((one[0] * shorter, one[1]), (other[0] * shorter, other[1])) for name, (one, other) in roads.items()}


GRID = "6"
"""The grid over places where no zones are given."""

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
    if min(columns, rows) < 1 or columns * rows > LIMITS.now.zone_cells:
        raise ParameterError(
            "zones",
            expected=f"a grid of 1 to {LIMITS.now.zone_cells} cells, such as 6 or 6x4",
            found=f"{columns}x{rows}",
        )
    points_array = np.array(list(points.values()), dtype=np.float64)
    low, high = points_array.min(axis=0), points_array.max(axis=0)
    cells = np.array([columns, rows])
    extent = np.where(high > low, high - low, 1.0)
    cell_numbers = np.clip(np.floor((points_array - low) / extent * cells).astype(np.int64), 0, cells - 1)
    return {name: f"{column},{row}" for name, (column, row) in zip(points, cell_numbers.tolist(), strict=True)}


Line = NDArray[np.float64]

_NUMBER = r"-?[0-9]{1,9}(?:\.[0-9]{1,30})?(?:[eE]-?[0-9]{1,2})?"
_POINT = rf"\s*{_NUMBER}\s+{_NUMBER}(?:\s+{_NUMBER})?\s*"
_WKT_LINE = re.compile(rf"LINESTRING\s*(?:Z\s*)?\(({_POINT}(?:,{_POINT})*)\)", re.IGNORECASE)
_WKT_RING = re.compile(rf"\(({_POINT}(?:,{_POINT})*)\)")
_BOX = ("west", "south", "east", "north")
_ENDS = ("u_lon", "u_lat", "v_lon", "v_lat")
_ZONE_NAMES = ("zone", "name", "id", "symbol")


def read_zone_shapes(path: Path) -> dict[str, list[Line]]:
    """The rings of each zone: GeoJSON polygons, or CSV with `zone` and `wkt`, or `zone,west,south,east,north`."""
    kind = suffix(path)
    if kind in (".geojson", ".json"):
        return _geojson(path)
    if kind in (".csv", ".tsv"):
        return _zones_of_table(path)
    raise wrong_suffix(path, (".geojson", ".json", ".csv", ".tsv"))


def read_link_lines(path: Path) -> dict[str, Line]:
    """The line of each link in CSV: `link_id` (or symbol, state, id, name) and `wkt` or u_lon, u_lat, v_lon, v_lat."""
    links: dict[str, Line] = {}
    with named_rows(path, what="table of links") as table:
        symbol, line_of = table.first(NAMES), _lines(table)
        if symbol is None or line_of is None:
            raise table.refusal("a column link_id (or symbol, state, id, name) and wkt, or u_lon, u_lat, v_lon, v_lat")
        for where, row in table:
            if row[symbol] in links or not row[symbol]:
                raise FileError(where, expected="each link once, with a name", found="another")
            links[row[symbol]] = line_of(row, where)
    return links


def _lines(table: NamedRows) -> Callable[[Sequence[str], str], Line] | None:
    """Where the link of a row lies, by `wkt` or by its two ends; None where the table has neither."""
    shape, ends = table.every(["wkt"]), table.every(_ENDS)
    if shape:
        return lambda row, where: wkt_line(row[shape[0]], where=where)
    if not ends:
        return None
    return lambda row, where: np.array([_degrees(row[at], where) for at in ends]).reshape(2, 2)


def read_edges(
    path: Path, *, link: str | None, source: str | None, target: str | None, delimiter: str | None
) -> tuple[list[tuple[str, object, object]], dict[str, Line]]:
    """The edges of a network in CSV: their names, from which node to which, and their lines where the table has them.

    Columns that are not named are the first of the usual names; cells are separated as by `csv_rows`.
    """
    edges: list[tuple[str, object, object]] = []
    lines: dict[str, Line] = {}
    with named_rows(path, what="table of edges", delimiter=delimiter) as table:
        own, begin, end = (
            _edge_column(table, given, usual, option)
            for given, usual, option in (
                (link, NAMES, "link"),
                (source, ("u", "from", "source"), "source"),
                (target, ("v", "to", "target"), "target"),
            )
        )
        line_of = _lines(table)
        for where, row in table:
            name = row[own]
            if not name or not row[begin] or not row[end]:
                raise FileError(where, expected="a link with a name and two nodes", found="an empty cell")
            edges.append((name, row[begin], row[end]))
            if line_of is not None:
                lines[name] = line_of(row, where)
    if len({name for name, _, _ in edges}) < len(edges):
        raise FileError(str(path), expected="each link once", found="one again")
    return edges, lines


def _edge_column(table: NamedRows, given: str | None, usual: Sequence[str], option: str) -> int:
    if given is not None and table.header.count(given) == 1:
        return table.header.index(given)
    known = [columns[0] for name in usual if (columns := table.every([name]))]
    if given is None and known:
        return known[0]
    expected = repr(given) if given is not None else either(usual)
    actual = f"{table.header.count(given)} of it" if given is not None else "none"
    raise FileError(
        str(table.path),
        expected=f"one column {expected} (`{option}`)",
        found=f"{actual} in {len(table.header)} columns",
    )


def wkt_line(text: str, *, where: str) -> Line:
    """The positions of a LINESTRING.

    >>> wkt_line("LINESTRING (1 2, 3 4.5)", where="x").tolist()
    [[1.0, 2.0], [3.0, 4.5]]
    """
    match = _WKT_LINE.fullmatch(text.strip())
    if match is None:
        raise FileError(where, expected="WKT such as LINESTRING (8.5 47.3, 8.6 47.4)", found=repr(text[:40]))
    return _points(match[1], where)


def _points(text: str, where: str) -> Line:
    rows = [[float(cell) for cell in point.split()[:2]] for point in text.split(",")]
    return _checked(np.array(rows, dtype=np.float64), where)


def _checked(points: Line, where: str) -> Line:
    if not (np.isfinite(points).all() and (np.abs(points[:, 0]) <= 360).all() and (np.abs(points[:, 1]) <= 90).all()):
        raise FileError(where, expected="longitudes and latitudes in degrees, longitude first", found="other numbers")
    return points


def _degrees(text: str, where: str) -> float:
    plain = text.strip().replace(",", ".") if text.count(",") == 1 and "." not in text else text.strip()
    if not re.fullmatch(_NUMBER, plain):
        raise FileError(where, expected="a number of degrees", found=repr(text[:40]))
    return float(plain)


def _zones_of_table(path: Path) -> dict[str, list[Line]]:
    zones: dict[str, list[Line]] = {}
    with named_rows(path, what="table of zones", longest_cell=1 << 22) as table:
        zone, shape, box = table.first(_ZONE_NAMES), table.every(["wkt"]), table.every(_BOX)
        if zone is None or not (shape or box):
            raise table.refusal("a column zone and wkt, or west, south, east, north")
        for where, row in table:
            if shape:
                text = row[shape[0]]
                rings = [_points(match[1], where) for match in _WKT_RING.finditer(text)]
                if not text.strip().upper().startswith(("POLYGON", "MULTIPOLYGON")) or not rings:
                    raise FileError(where, expected="WKT such as POLYGON ((0 0, 1 0, 1 1, 0 0))", found=repr(text[:40]))
            else:
                west, south, east, north = (_degrees(row[at], where) for at in box)
                if not (west < east and south < north):
                    raise FileError(where, expected="west below east and south below north", found="others")
                rings = [np.array([(west, south), (east, south), (east, north), (west, north)])]
            _add(zones, row[zone], rings, where)
    return zones


def _geojson(path: Path) -> dict[str, list[Line]]:
    text = read_text(path, what="GeoJSON file", at_most=LIMITS.now.model_bytes)
    document = plain_json(text, where=str(path))
    features = document.get("features") if isinstance(document, dict) else None
    if not isinstance(features, list):
        raise FileError(str(path), expected="a FeatureCollection of polygons", found="another document")
    zones: dict[str, list[Line]] = {}
    for number, feature in enumerate(features):
        where = f"{path}: $.features[{number}]"
        shape = feature.get("geometry") if isinstance(feature, dict) else None
        kind = shape.get("type") if isinstance(shape, dict) else None
        if not isinstance(shape, dict) or kind not in ("Polygon", "MultiPolygon"):
            raise FileError(where, expected="a Polygon or a MultiPolygon", found="another geometry")
        coordinates = shape.get("coordinates")
        polygons: Any = [coordinates] if kind == "Polygon" else coordinates
        try:
            rings = [_checked(_ring(ring), where) for polygon in polygons for ring in polygon]
        except (TypeError, ValueError, IndexError):
            raise FileError(where, expected="rings of [longitude, latitude]", found="something else") from None
        _add(zones, _feature_name(feature, where), rings, where)
    if not zones:
        raise FileError(str(path), expected="at least one zone", found="none")
    return zones


def _ring(ring: Any) -> Line:
    return np.array([[float(point[0]), float(point[1])] for point in ring], dtype=np.float64).reshape(-1, 2)


def _feature_name(feature: dict[str, Any], where: str) -> str:
    given = feature.get("properties")
    properties = given if isinstance(given, dict) else {}
    for name in _ZONE_NAMES:
        if isinstance(properties.get(name), str | int) and not isinstance(properties[name], bool):
            return str(properties[name])
    if isinstance(feature.get("id"), str | int):
        return str(feature["id"])
    raise FileError(where, expected=f"a property {', '.join(_ZONE_NAMES)}, or an id", found="none")


def _add(zones: dict[str, list[Line]], name: str, rings: list[Line], where: str) -> None:
    if not name or not rings or any(len(ring) < 3 for ring in rings):
        raise FileError(where, expected="a zone with a name and rings of three positions or more", found="another")
    if name in zones:
        raise FileError(where, expected="each zone once", found=f"{name[:40]!r} again")
    zones[name] = rings
