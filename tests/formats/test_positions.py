"""Positions become symbols, against plain geometry; road graphs become models with places.

The GraphML here has the shape in which OSMnx writes it (all attributes as strings, `x`, `y`, `geometry` as WKT; seen in
`save_graphml` of OSMnx 1.3 and in the files that it made); the towns are our own.
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import symveil as sv
from cli.running import symveil
from symveil.errors import SymveilError
from symveil.geography.positions import METRES_PER_DEGREE, GridCells, NearestLinks, ZoneShapes

GRAPHML = """<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d14" for="edge" attr.name="geometry" attr.type="string"/>
<key id="d13" for="edge" attr.name="length" attr.type="string"/>
<key id="d9" for="edge" attr.name="osmid" attr.type="string"/>
<key id="d6" for="node" attr.name="street_count" attr.type="string"/>
<key id="d5" for="node" attr.name="x" attr.type="string"/>
<key id="d4" for="node" attr.name="y" attr.type="string"/>
<key id="d2" for="graph" attr.name="crs" attr.type="string"/>
<graph edgedefault="directed">
<data key="d2">epsg:4326</data>
<node id="11"><data key="d4">47.3000</data><data key="d5">8.5000</data><data key="d6">3</data></node>
<node id="12"><data key="d4">47.3000</data><data key="d5">8.5100</data></node>
<node id="13"><data key="d4">47.3100</data><data key="d5">8.5100</data></node>
<edge source="11" target="12" id="0"><data key="d9">1</data><data key="d13">755.1</data></edge>
<edge source="12" target="11" id="0"><data key="d9">1</data></edge>
<edge source="12" target="13" id="0"><data key="d14">LINESTRING (8.51 47.3, 8.52 47.305, 8.51 47.31)</data></edge>
<edge source="12" target="13" id="1"><data key="d9">[2, 3]</data></edge>
<edge source="13" target="11" id="0"/>
</graph></graphml>
"""


def test_a_road_graph_is_a_model_with_places(tmp_path: Path) -> None:
    (tmp_path / "town.graphml").write_text(GRAPHML)
    roads = sv.road_model(tmp_path / "town.graphml")
    assert set(roads.chain.states) == {"11-12", "12-11", "12-13", "12-13-1", "13-11"}
    following = {}
    for source, target, chance in roads.chain.transitions:
        following.setdefault(source, {})[target] = chance
    half = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2")]).transitions[0][2]
    assert following["11-12"] == {"12-13": half, "12-13-1": half}  # not straight back
    assert following["12-11"] == {"11-12": 1}  # nothing else there
    assert len(roads.lines["12-13"]) == 3
    assert roads.lines["12-13-1"].tolist() == [[8.51, 47.3], [8.51, 47.31]]
    roads.save(tmp_path / "roads.json", tmp_path / "places.csv")
    assert sv.load_model(tmp_path / "roads.json") == roads.chain
    assert set(sv.read_coordinates(tmp_path / "places.csv")) == set(roads.chain.states)
    by_graph, by_table = (sv.position_symbols(links=tmp_path / name) for name in ("town.graphml", "places.csv"))
    assert set(by_graph.alphabet) == set(by_table.alphabet)
    point = (np.array([8.5195]), np.array([47.305]))
    assert by_graph.alphabet[by_graph.numbers(*point)[0]] == by_table.alphabet[by_table.numbers(*point)[0]] == "12-13"
    assert sv.runs(roads.chain, length=3).size > 0


def test_graphs_in_memory_and_refusals() -> None:
    town = nx.DiGraph([(1, 2), (2, 1)])
    with pytest.raises(SymveilError, match="node '1': expected x and y in degrees"):
        sv.road_model(town)
    for node in town:
        town.nodes[node].update(x=8.0 + node, y=47.0)
    assert sv.road_model(town).chain.states == ("1-2", "2-1")
    town.edges[1, 2]["geometry"] = "POINT (1 2)"
    with pytest.raises(SymveilError, match="edge '1-2': expected WKT such as LINESTRING"):
        sv.road_model(town)
    with pytest.raises(SymveilError, match="a directed graph"):
        sv.road_model(nx.Graph([(1, 2)]))
    with pytest.raises(SymveilError, match="a GraphML file or a networkx graph, found a int"):
        sv.road_model(7)


def plain_distance(point: tuple[float, float], line: np.ndarray, scale: tuple[float, float]) -> float:
    """Metres from a position to a line, segment by segment, in plain Python."""
    best = math.inf
    px, py = point[0] * scale[0], point[1] * scale[1]
    for (x1, y1), (x2, y2) in zip(line[:-1].tolist(), line[1:].tolist(), strict=True):
        ax, ay, bx, by = x1 * scale[0], y1 * scale[1], x2 * scale[0], y2 * scale[1]
        square = (bx - ax) ** 2 + (by - ay) ** 2
        share = 0.0 if square == 0 else max(0.0, min(1.0, ((px - ax) * (bx - ax) + (py - ay) * (by - ay)) / square))
        best = min(best, math.hypot(px - ax - share * (bx - ax), py - ay - share * (by - ay)))
    return best


@pytest.mark.parametrize("tolerance", [5.0, 60.0, 700.0])
def test_nearest_links_by_looking_at_all_of_them(tolerance: float) -> None:
    source = random.Random(7)
    lines = {}
    for number in range(40):
        x, y = 8.5 + source.random() / 50, 47.3 + source.random() / 50
        steps = source.randint(1, 4)
        points = [(x, y)]
        points += [
            (points[-1][0] + source.uniform(-0.004, 0.004), points[-1][1] + source.uniform(-0.004, 0.004))
            for _ in range(steps)
        ]
        lines[f"link {number}"] = np.array(points)
    links = NearestLinks(lines, tolerance=tolerance)
    everything = np.concatenate(list(lines.values()))
    middle = (everything[:, 1].min() + everything[:, 1].max()) / 2
    scale = (METRES_PER_DEGREE * math.cos(math.radians(middle)), METRES_PER_DEGREE)
    points = [(8.49 + source.random() / 30, 47.29 + source.random() / 30) for _ in range(300)]
    found = links.numbers(*np.array(points).T).tolist()
    names = list(lines)
    hits = 0
    for point, number in zip(points, found, strict=True):
        distances = [plain_distance(point, lines[name], scale) for name in names]
        nearest = min(range(len(names)), key=distances.__getitem__)
        if number < 0:
            assert distances[nearest] > tolerance * (1 - 1e-9)
        else:
            hits += 1
            assert distances[number] <= distances[nearest] * (1 + 1e-9) + 1e-9
            assert distances[number] <= tolerance
    assert hits > 0


def test_cells_cover_the_box_and_nothing_else() -> None:
    grid = GridCells((8.0, 47.0, 9.0, 48.0), columns=4, rows=2)
    x = np.array([8.0, 8.25, 8.2499, 9.0, 9.0001, 7.9999, 8.5])
    y = np.array([47.0, 47.5, 47.4999, 48.0, 47.5, 47.5, 46.9])
    assert [grid.alphabet[n] if n >= 0 else None for n in grid.numbers(x, y).tolist()] == [
        "0,0", "1,1", "0,0", "3,1", None, None, None,
    ]  # fmt: skip
    for box in ((9, 47, 8, 48), (8, 47, 9, 95), (8, 47, float("nan"), 48)):
        with pytest.raises(SymveilError, match="box: expected west,south,east,north"):
            GridCells(box, columns=1, rows=1)


def test_zones_with_holes_and_shared_borders() -> None:
    ring = np.array([(0, 0), (4, 0), (4, 4), (0, 4)], dtype=float)
    hole = np.array([(1, 1), (2, 1), (2, 2), (1, 2)], dtype=float)
    right = ring + np.array([4, 0])
    zones = ZoneShapes({"ring": [ring, hole], "right": [right]})
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-1, 9, 500), rng.uniform(-1, 5, 500)
    expected = np.where(
        (x > 0) & (x < 4) & (y > 0) & (y < 4) & ~((x > 1) & (x < 2) & (y > 1) & (y < 2)),
        0,
        np.where((x > 4) & (x < 8) & (y > 0) & (y < 4), 1, -1),
    )
    assert zones.numbers(x, y).tolist() == expected.tolist()
    border = zones.numbers(np.array([4.0]), np.array([2.0]))
    assert border.tolist() == [1]  # in exactly one of the two


SQUARE = [[[8.0, 47.0], [8.5, 47.0], [8.5, 48.0], [8.0, 48.0], [8.0, 47.0]]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "z.geojson",
            json.dumps(
                {
                    "type": "FeatureCollection",
                    "features": [
                        {
                            "type": "Feature",
                            "properties": {"name": "west"},
                            "geometry": {"type": "Polygon", "coordinates": SQUARE},
                        },
                        {
                            "type": "Feature",
                            "id": "east",
                            "properties": None,
                            "geometry": {
                                "type": "MultiPolygon",
                                "coordinates": [[[[8.5, 47.0], [9.0, 47.0], [9.0, 48.0], [8.5, 48.0]]]],
                            },
                        },
                    ],
                }
            ),
        ),
        ("z.csv", "zone,west,south,east,north\nwest,8,47,8.5,48\neast,8.5,47,9,48\n"),
        (
            "z.csv",
            'zone,wkt\nwest,"POLYGON ((8 47, 8.5 47, 8.5 48, 8 48, 8 47))"\n'
            'east,"MULTIPOLYGON (((8.5 47, 9 47, 9 48, 8.5 48, 8.5 47)))"\n',
        ),
    ],
)
def test_a_file_of_positions_by_zones(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "gps.csv").write_text(
        "rider,time,lng,lat\nann,1,8.1,47.5\nann,2,8.2,47.6\nann,3,8.7,47.5\nben,1,8.6,47.1\n"
    )
    zones = sv.position_symbols(zones=tmp_path / name)
    made = sv.symbols_file(
        tmp_path / "gps.csv", tmp_path / "out.csv", positions=zones, case="rider", order="time", once=True
    )
    assert (tmp_path / "out.csv").read_text() == "rider,time,symbol\nann,1,west\nann,3,east\nben,1,east\n"
    assert (made.rows, made.without_symbol, made.alphabet) == (3, 0, ("west", "east"))
    private = sv.privatize_file(
        tmp_path / "out.csv",
        tmp_path / "p.csv",
        alphabet=made.alphabet,
        epsilon=2,
        case="rider",
        order="time",
        symbol="symbol",
    )
    assert private.manifest["counts"]["released"] == 2


def test_parquet_and_positions_without_a_symbol(tmp_path: Path) -> None:
    table = pa.table({"who": [7, 7, 8], "longitude": [8.1, 1.0, 8.9], "latitude": [47.5, 47.5, 47.5]})
    pq.write_table(table, tmp_path / "gps.parquet")
    grid = sv.position_symbols(grid="2x1", box="8,47,9,48")
    call = {"case": "who", "alphabet_out": tmp_path / "symbols.txt"}
    with pytest.raises(SymveilError, match="row 2: expected a position with a symbol, found none there"):
        sv.symbols_file(tmp_path / "gps.parquet", tmp_path / "o.csv", positions=grid, **call)
    assert not (tmp_path / "o.csv").exists()
    made = sv.symbols_file(tmp_path / "gps.parquet", tmp_path / "o.csv", positions=grid, outside="drop", **call)
    assert ((tmp_path / "o.csv").read_text(), made.without_symbol) == ('who,symbol\n7,"0,0"\n8,"1,0"\n', 1)
    sv.symbols_file(tmp_path / "gps.parquet", tmp_path / "o.csv", positions=grid, outside="outside", **call)
    assert (tmp_path / "o.csv").read_text() == 'who,symbol\n7,"0,0"\n7,outside\n8,"1,0"\n'
    assert (tmp_path / "symbols.txt").read_text() == "0,0\n1,0\noutside\n"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("ann,8.1,north\n", "line 2: expected degrees from -90 to 90, found something else"),
        ("ann,8.1,\n", "line 2: expected degrees from -90 to 90"),
        ("ann,8.1,147\n", "line 2: expected degrees from -90 to 90"),
        (",8.1,47\n", "line 2: expected a case, and an order where one is named, found an empty cell"),
    ],
)
def test_rows_that_are_no_positions(tmp_path: Path, rows: str, message: str) -> None:
    (tmp_path / "gps.csv").write_text(f"rider,lon,lat\n{rows}")
    grid = sv.position_symbols(grid="2", box="8,47,9,48")
    with pytest.raises(SymveilError, match=message) as error:
        sv.symbols_file(tmp_path / "gps.csv", tmp_path / "o.csv", positions=grid, case="rider")
    assert "north" not in str(error.value) and "147" not in str(error.value).replace(str(tmp_path), "")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "one of `grid`, `zones` and `links`, found none"),
        ({"grid": "2"}, "box: expected `grid` and `box` together"),
        ({"grid": "x", "box": "8,47,9,48"}, "cells such as 20 or 30x20, found 'x'"),
        ({"grid": "2", "box": "8,47,9"}, "west,south,east,north in degrees, found '8,47,9'"),
        ({"links": "l.csv", "tolerance": 0.0}, "tolerance: expected a number of metres above 0"),
        ({"zones": "z.geojson"}, r"\$.features\[0\]: expected a Polygon or a MultiPolygon"),
        ({"zones": "z.csv"}, "line 2: expected west below east"),
        ({"zones": "z.txt"}, "ending in .geojson"),
    ],
)
def test_what_gives_no_symbols(tmp_path: Path, given: dict, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("l.csv").write_text("link_id,u_lon,u_lat,v_lon,v_lat\na,8,47,8.1,47\n")
    Path("z.csv").write_text("zone,west,south,east,north\na,9,47,8,48\n")
    Path("z.geojson").write_text('{"features": [{"geometry": {"type": "Point"}}]}')
    with pytest.raises(SymveilError, match=message):
        sv.position_symbols(**given)


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("town.graphml").write_text(GRAPHML)
    made = symveil("roads", "town.graphml", "--out", "roads.json", "--places-out", "places.csv", "--json")
    assert made.document == {"model": "roads.json", "states": 5, "transitions": 6, "places": "places.csv"}
    Path("gps.csv").write_text("trip,lon,lat\n1,8.505,47.3001\n1,8.5195,47.305\n1,8.6,47.3\n")
    links = ("symbols", "gps.csv", "--case", "trip", "--links", "places.csv", "--out", "links.csv", "--outside", "drop")
    done = symveil(*links, "--json")
    trips = {"cases": 1, "cases_with_gaps": 0, "positions_left_out": 0, "links_filled_in": 0}
    assert done.document == {"out": "links.csv", "rows": 2, "without_symbol": 1, "alphabet_size": 5, **trips}
    assert "matched as a whole" in done.err and "warning: symbols are not private" in done.err
    assert "warning: 1 of 3 positions (33.3 %) are left out: they have no symbol" in done.err
    assert Path("links.csv").read_text() == "trip,symbol\n1,11-12\n1,12-13\n"
