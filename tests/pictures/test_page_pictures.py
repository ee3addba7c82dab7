"""Pictures that are made while somebody waits: well-formed, complete, and nothing in them is taken for markup."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from symveil.errors import FileError
from symveil.formats.shapes import read_coordinates
from symveil.pictures.charts import Band, Cell, Curve, bars_chart, curves_chart, heat_grid_chart, ticks
from symveil.pictures.maps import covers_most, flows_svg, road_map_svg

HOSTILE = "<script>alert(1)</script>&\x00"


def texts(svg: str) -> list[str]:
    root = ET.fromstring(svg)  # noqa: S314 - our own
    return [element.text or "" for element in root.iter() if element.tag.endswith(("text", "title"))]


def test_bars_have_a_height_and_a_number_each() -> None:
    svg = bars_chart(
        [0, 1, 2], [0.5, 0.25, 0.25], title=HOSTILE, x_label="x", y_label="y", mark=0.75, mark_label="mean"
    ).to_svg()
    assert {"0: 0.5", "1: 0.25", "2: 0.25", "mean"} <= set(texts(svg))
    rects = [each for each in ET.fromstring(svg).iter() if each.get("fill") == "#86b6d9"]  # noqa: S314
    heights = [float(each.get("height", "0")) for each in rects]
    assert heights[0] == pytest.approx(2 * heights[1], abs=0.2) and heights[1] == heights[2]
    assert "<script" not in svg


def test_many_bars_are_cut_to_what_can_be_seen() -> None:
    svg = bars_chart(range(1000), [0.0] * 500 + [0.1] * 10 + [0.0] * 490, title="", x_label="", y_label="").to_svg()
    assert svg.count("<title>") == 11


def test_curves_and_bands() -> None:
    curves = [Curve(HOSTILE, [0, 1, 2], [3, float("nan"), 1]), Curve("dots", [1], [2], "points")]
    svg = curves_chart(curves, [Band("", [0, 1], [0, 1], [1, 2])], title="t", x_label="x", y_label="y", mark=1).to_svg()
    assert "dots" in texts(svg) and "<script" not in svg and "nan" not in svg


def test_powers_of_ten_on_both_axes() -> None:
    """A power law is a straight line, and a curve that is ten times another is the same line, higher."""
    sizes = [10, 100, 1000]
    one, ten = Curve("one", sizes, [1e-6 * n for n in sizes]), Curve("ten", sizes, [1e-5 * n for n in sizes])
    gaps = Curve("zero", sizes, [0.0, 1e-4, 1e-3])
    svg = curves_chart([one, ten, gaps], title="t", x_label="x", y_label="y", logarithmic=True).to_svg()
    assert {"10", "100", "1000", "10⁻⁵", "10⁻²"} <= set(texts(svg)) and "nan" not in svg
    dots = [each for each in ET.fromstring(svg).iter() if each.tag.endswith("circle")]  # noqa: S314
    places = [(float(each.get("cx", "")), float(each.get("cy", ""))) for each in dots]
    assert len(places) == 8
    assert places[2][1] - places[1][1] == pytest.approx(places[1][1] - places[0][1], abs=0.2)
    assert places[3][1] - places[0][1] == pytest.approx(places[1][1] - places[0][1], abs=0.2)


@pytest.mark.parametrize(("low", "high"), [(0, 1e-9), (0, 1), (-3, 4), (0, 123456), (0.5, 10), (5, 5)])
def test_ticks_are_few_round_and_inside(low: float, high: float) -> None:
    found = ticks(low, high, most=6)
    assert 1 <= len(found) <= 8
    assert all(low - 1e-9 * (high - low) <= each <= high + 1e-9 * (high - low) for each in found)


def test_a_grid_says_what_each_cell_is() -> None:
    cells = [Cell(column=0, row=0, heat=1, value="100%", annotation=HOSTILE, hint="start")]
    svg = heat_grid_chart(
        cells, title="t", columns=["0"], rows=["0"], x_label="x", y_label="y", value_meaning="P", annotation_meaning="μ"
    ).to_svg()
    assert {"start", "100%", "x", "y", "P", "μ"} <= set(texts(svg)) and "<script" not in svg


def test_a_close_look_does_not_go_beyond_the_map() -> None:
    """Roads at an edge of a large map: the sheet is filled by the map, not by what lies beyond it."""
    side = 30
    roads = {f"{x} {y}": ((float(x), float(y)), (x + 1.0, float(y))) for x in range(side) for y in range(side)}
    trip = ["0 0", "1 0", "2 0"]
    assert not covers_most(roads, trip) and covers_most(roads, ["0 0", "29 0"])
    svg = road_map_svg(roads, trip, title="t", around=trip)
    xs = [float(x) for x in re.findall(r'd="M([0-9.-]+) ', svg)]
    assert min(xs) == pytest.approx(26.0, abs=0.1) and "1" in texts(svg)
    whole = road_map_svg(roads, trip, title="t")  # numbers would hide the roads: a ring marks the first
    assert "1" not in texts(whole) and whole.count("<circle") == 1


def test_a_trip_on_roads_and_places() -> None:
    roads = {"a": ((0.0, 0.0), (1.0, 0.0)), "b": ((1.0, 0.0), (1.0, 1.0)), "place": ((2.0, 2.0), (2.0, 2.0))}
    svg = road_map_svg(roads, ["a", "b", "a", "place"], title=HOSTILE, original=["a", "b", "b", "place"])
    assert {"1, 3", "2", "4"} <= set(texts(svg))
    assert svg.count('stroke-dasharray="') == 1 and "<script" not in svg


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("state,x,y\na,1,2\n", ((1.0, 2.0), (1.0, 2.0))),
        ("id,x1,y1,x2,y2\na,1,2,3,4\n", ((1.0, 2.0), (3.0, 4.0))),
        ("link_id,u_lon,u_lat,v_lon,v_lat\na,2,60,4,60\n", ((1.0, 60.0), (2.0, 60.0))),  # cos 60° = 1/2
    ],
)
def test_coordinates_are_read(tmp_path: Path, text: str, expected: tuple[tuple[float, float], ...]) -> None:
    file = tmp_path / "places.csv"
    file.write_text(text)
    one, other = read_coordinates(file)["a"]
    assert (*one, *other) == pytest.approx((*expected[0], *expected[1]))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a,b\n1,2\n", "expected a column state"),
        ("state,x,y\na,1,north\n", "line 2: expected numbers"),
        ("state,x,y\na,1,inf\n", "line 2: expected numbers"),
        ("state,x,y\n", "expected at least one row"),
        ("", "expected a table of coordinates with a header line"),
    ],
)
def test_wrong_coordinates_are_refused(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "places.csv"
    file.write_text(text)
    with pytest.raises(FileError, match=told):
        read_coordinates(file)


def test_flows_are_as_wide_as_they_are_large() -> None:
    """Both directions are apart, a flow to itself is a ring, and names are text."""
    roads = {HOSTILE: ((0.0, 0.0), (2.0, 0.0)), "b": ((2.0, 0.0), (2.0, 2.0)), "c": ((0.0, 2.0), (0.0, 2.0))}
    flows = {(HOSTILE, "b"): 40.0, ("b", HOSTILE): 20.0, ("b", "b"): 10.0, ("c", "b"): 0.0}
    svg = flows_svg(roads, flows, title="moves")
    assert "<script" not in svg and any("the widest arrow is 40" in each for each in texts(svg))
    arrows = [each for each in ET.fromstring(svg).iter() if each.tag.endswith("}g")]  # noqa: S314
    wide = [float(next(iter(each.findall("*[@stroke-width]"))).get("stroke-width", "0")) for each in arrows]
    assert len(arrows) == 3 and wide[0] < wide[1] < wide[2]
    there, back = (each.find("*[@d]") for each in (arrows[2], arrows[1]))
    assert there is not None and back is not None
    bends = [each.get("d", "").split("Q")[1].split()[:2] for each in (there, back)]
    assert bends[0] != bends[1]
    assert sum(each.tag.endswith("circle") and each.get("fill") == "none" for each in arrows[0]) == 1
    many = {(str(i), str(i + 1)): float(i + 1) for i in range(200)}
    line = {str(i): ((float(i), 0.0), (float(i), 1.0)) for i in range(201)}
    assert "the 80 largest of 200" in flows_svg(line, many, title="many")
    assert flows_svg({"a": ((1e200, 0.0), (1e200, 0.0))}, {("a", "a"): 1.0}, title="one").count("<circle") == 2
