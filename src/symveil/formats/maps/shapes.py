"""Shapes of zones and lines of links in files: GeoJSON, CSV with WKT or with boxes, CSV with two ends.

Coordinates are degrees, longitude first, as GeoJSON and WKT have them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.errors import FileError, either
from symveil.formats.json_text import refuse_deep_nesting
from symveil.formats.maps.coordinates import NAMES
from symveil.formats.reading import csv_rows, read_text, suffix, wrong_suffix

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
    with closing(csv_rows(path, what="table of links")) as rows:
        expected = "a column link_id (or symbol, state, id, name) and wkt, or u_lon, u_lat, v_lon, v_lat"
        names, symbol, shaped = _header(path, next(rows)[1], NAMES, _ENDS, expected=expected)
        for line, row in rows:
            where = f"{path}: line {line}"
            if row[symbol] in links or not row[symbol]:
                raise FileError(where, expected="each link once, with a name", found="another")
            if shaped:
                links[row[symbol]] = wkt_line(row[names.index("wkt")], where=where)
            else:
                cells = [_degrees(row[names.index(name)], where) for name in _ENDS]
                links[row[symbol]] = np.array([cells[:2], cells[2:]])
    if not links:
        raise FileError(str(path), expected="at least one link", found="none")
    return links


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
    with closing(csv_rows(path, what="table of edges", delimiter=delimiter)) as rows:
        header = next(rows)[1]
        plain = [name.strip().lower() for name in header]
        own, begin, end = (
            _edge_column(path, header, given, usual, option)
            for given, usual, option in (
                (link, NAMES, "link"),
                (source, ("u", "from", "source"), "source"),
                (target, ("v", "to", "target"), "target"),
            )
        )
        shaped = plain.count("wkt") == 1
        placed = all(plain.count(name) == 1 for name in _ENDS)
        for line, row in rows:
            where, name = f"{path}: line {line}", row[own]
            if not name or not row[begin] or not row[end]:
                raise FileError(where, expected="a link with a name and two nodes", found="an empty cell")
            edges.append((name, row[begin], row[end]))
            if shaped:
                lines[name] = wkt_line(row[plain.index("wkt")], where=where)
            elif placed:
                cells = [_degrees(row[plain.index(each)], where) for each in _ENDS]
                lines[name] = np.array([cells[:2], cells[2:]])
    if len({name for name, _, _ in edges}) < len(edges):
        raise FileError(str(path), expected="each link once", found="one again")
    if not edges:
        raise FileError(str(path), expected="at least one link", found="none")
    return edges, lines


def _edge_column(path: Path, header: Sequence[str], given: str | None, usual: Sequence[str], option: str) -> int:
    plain = [name.strip().lower() for name in header]
    if given is not None and list(header).count(given) == 1:
        return list(header).index(given)
    known = [name for name in usual if plain.count(name) == 1]
    if given is None and known:
        return plain.index(known[0])
    expected = repr(given) if given is not None else either(usual)
    actual = f"{list(header).count(given)} of it" if given is not None else "none"
    raise FileError(
        str(path), expected=f"one column {expected} (`{option}`)", found=f"{actual} in {len(header)} columns"
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


def _header(
    path: Path, header: Sequence[str], called: Sequence[str], numbers: Sequence[str], *, expected: str
) -> tuple[list[str], int, bool]:
    """The columns of a table of shapes, which of them names a shape, and whether it is written as WKT."""
    names = [name.strip().lower() for name in header]
    index = next((names.index(name) for name in called if name in names), None)
    shaped = names.count("wkt") == 1
    if index is None or not (shaped or all(names.count(name) == 1 for name in numbers)):
        raise FileError(str(path), expected=expected, found=f"{len(names)} other columns")
    return names, index, shaped


def _zones_of_table(path: Path) -> dict[str, list[Line]]:
    zones: dict[str, list[Line]] = {}
    with closing(csv_rows(path, what="table of zones", longest_cell=1 << 22)) as rows:
        expected = "a column zone and wkt, or west, south, east, north"
        names, zone, shaped = _header(path, next(rows)[1], _ZONE_NAMES, _BOX, expected=expected)
        for line, row in rows:
            where = f"{path}: line {line}"
            if shaped:
                text = row[names.index("wkt")]
                rings = [_points(match[1], where) for match in _WKT_RING.finditer(text)]
                if not text.strip().upper().startswith(("POLYGON", "MULTIPOLYGON")) or not rings:
                    raise FileError(where, expected="WKT such as POLYGON ((0 0, 1 0, 1 1, 0 0))", found=repr(text[:40]))
            else:
                west, south, east, north = (_degrees(row[names.index(name)], where) for name in _BOX)
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
