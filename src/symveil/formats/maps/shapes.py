"""Shapes of zones and lines of links in files: GeoJSON, CSV with WKT or with boxes, CSV with two ends.

Coordinates are degrees, longitude first, as GeoJSON and WKT have them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.errors import FileError, either
from symveil.formats.json_text import refuse_deep_nesting
from symveil.formats.maps.coordinates import NAMES, NamedRows, named_rows
from symveil.formats.reading import read_text, suffix, wrong_suffix

Line = NDArray[np.float64]

_LARGEST_FILE = 256 * 1024 * 1024
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
    if not links:
        raise FileError(str(path), expected="at least one link", found="none")
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

    Parameters
    ----------
    path
        The file.
    link, source, target
        The columns; None: the first of the usual names.
    delimiter
        What stands between cells; None: a comma, in a .tsv file a tab.
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
    if not edges:
        raise FileError(str(path), expected="at least one link", found="none")
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
    return _some(zones, path)


def _geojson(path: Path) -> dict[str, list[Line]]:
    text = read_text(path, what="GeoJSON file", at_most=_LARGEST_FILE)
    refuse_deep_nesting(text, where=str(path))
    try:
        document = json.loads(text)
    except ValueError:
        raise FileError(str(path), expected="GeoJSON", found="no JSON") from None
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
    return _some(zones, path)


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


def _some(zones: dict[str, list[Line]], path: Path) -> dict[str, list[Line]]:
    if not zones:
        raise FileError(str(path), expected="at least one zone", found="none")
    return zones
