"""The SVG is well formed, says everything, and keeps its texts off its lines."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symveil.languages.hamming_automaton import hamming_automaton
from symveil.pictures.diagram import Diagram, Edge, Node
from symveil.pictures.layout import lay_out
from symveil.pictures.svg import BLUE, RED, to_svg

SVG = "{http://www.w3.org/2000/svg}"


def parsed(picture):
    return ElementTree.fromstring(picture)  # noqa: S314 - our own output, a moment old


def texts(picture, colour=None):
    return [
        element.text
        for element in parsed(picture).iter(f"{SVG}text")
        if colour is None or element.get("fill") == colour
    ]


def node(key, column=0, row=0, **extra):
    return Node(key=key, column=column, row=row, label=extra.pop("label", (f"q{key}",)), **extra)


AUTOMATA = {
    "abc exactly 2": hamming_automaton("abc", alphabet="abc", exactly=2),
    "abc within 2": hamming_automaton("abc", alphabet="abc", within=2),
    "six letters": hamming_automaton("orange", alphabet="abcdefghijklmnopqrstuvwxyz"),
    "odd symbols": hamming_automaton(["<", '&"', "main st"], alphabet=["<", '&"', "main st", "\\", "]]>"], within=2),
    "streets": hamming_automaton(["main st", "park rd"], alphabet=["main st", "park rd", "elm avenue"]),
    "spaces": hamming_automaton("a b", alphabet="ab ,", exactly=1),
    "twelve letters": hamming_automaton("ab" * 6, alphabet="abc"),
}


@pytest.mark.parametrize("automaton", AUTOMATA.values(), ids=AUTOMATA)
def test_every_text_of_the_diagram_is_in_the_picture(automaton):
    diagram = automaton.to_diagram()
    picture = automaton.to_svg()
    shown = texts(picture)
    for expected in [
        *(text for node in diagram.nodes for text in node.label),
        *(edge.label for edge in diagram.edges),
        diagram.title,
        diagram.label_meaning,
    ]:
        assert expected in shown
    assert sorted(texts(picture, BLUE)) == sorted([*(n.value for n in diagram.nodes), diagram.value_meaning])
    assert sorted(texts(picture, RED)) == sorted([*(e.annotation for e in diagram.edges), diagram.annotation_meaning])
    assert parsed(picture).find(f"{SVG}title").text == diagram.title


def inside(points, box):
    """Which points lie in a turned box, computed apart from the code that placed it."""
    turn = math.radians(box.angle)
    x, y = points[:, 0] - box.x, points[:, 1] - box.y
    across = x * math.cos(turn) + y * math.sin(turn)
    down = y * math.cos(turn) - x * math.sin(turn)
    return (np.abs(across) < box.width / 2) & (np.abs(down) < box.height / 2)


@pytest.mark.parametrize("automaton", AUTOMATA.values(), ids=AUTOMATA)
def test_no_text_touches_a_line_or_a_node_or_another_text(automaton):
    layout = lay_out(automaton.to_diagram())
    lines = np.concatenate([arrow.line.samples(400) for arrow in layout.arrows])
    centres = np.array([(placed.x, placed.y) for placed in layout.nodes])
    for number, text in enumerate(layout.texts):
        assert text.clear
        assert not inside(lines, text.box).any()
        assert not inside(centres, text.box).any()
        corners = text.box.grid()
        assert not any(inside(corners, other.box).any() for other in layout.texts[number + 1 :])


@pytest.mark.parametrize("automaton", AUTOMATA.values(), ids=AUTOMATA)
def test_everything_lies_on_the_card(automaton):
    picture = parsed(automaton.to_svg())
    layout = lay_out(automaton.to_diagram())
    assert float(picture.get("width")) >= layout.right - layout.left
    assert float(picture.get("height")) >= layout.bottom - layout.top
    assert picture.get("viewBox") == f"0 0 {picture.get('width')} {picture.get('height')}"


def test_the_picture_needs_nothing_from_outside_and_leaves_nothing_behind():
    picture = hamming_automaton("abc", alphabet="abc").to_svg()
    for intruder in ("<style", "<script", "href", "url(", "@import", " id=", "class="):
        assert intruder not in picture
    assert picture.count("http") == 1  # the name of the format


def test_flags_are_drawn():
    plain = to_svg(Diagram(title="", nodes=(node(0),), edges=()))
    accepting = to_svg(Diagram(title="", nodes=(node(0, accepting=True),), edges=()))
    initial = to_svg(Diagram(title="", nodes=(node(0, initial=True),), edges=()))
    marked = to_svg(Diagram(title="", nodes=(node(0, marked=True),), edges=()))
    assert accepting.count("<rect") == plain.count("<rect") + 1
    assert initial.count("<path") == plain.count("<path") + 2
    assert marked != plain
    assert marked.count("<rect") == plain.count("<rect")


def test_match_edges_are_level_and_mismatch_edges_rise():
    automaton = hamming_automaton("abc", alphabet="abc", exactly=2)
    arrows = lay_out(automaton.to_diagram()).arrows
    for edge, arrow in zip(automaton.edges, arrows, strict=False):
        rise = arrow.line.start[1] - arrow.tip[1]
        assert abs(rise) < 0.5 if edge.kind == "match" else rise > 20


def lines_between(edges, nodes):
    layout = lay_out(Diagram(title="", nodes=nodes, edges=edges))
    return [arrow.line.samples(200) for arrow in layout.arrows], layout


def nearest(one, other):
    return np.hypot(*(one[:, None, :] - other[None, :, :]).transpose(2, 0, 1)).min(axis=1)


@pytest.mark.parametrize("pairs", [[(0, 1), (1, 0)], [(0, 1)] * 2, [(0, 1)] * 3, [(0, 1), (0, 1), (1, 0), (1, 0)]])
def test_edges_between_the_same_nodes_keep_apart(pairs):
    edges = tuple(Edge(source=source, target=target) for source, target in pairs)
    lines, _ = lines_between(edges, (node(0), node(1, 1)))
    for number, one in enumerate(lines):
        for other in lines[number + 1 :]:
            assert nearest(one[80:120], other).min() > 10


def test_an_edge_goes_around_the_nodes_in_its_way():
    edges = (Edge(source=0, target=3), Edge(source=0, target=1))
    lines, layout = lines_between(edges, tuple(node(number, number) for number in range(4)))
    for placed in layout.nodes[1:3]:
        assert np.hypot(*(lines[0] - (placed.x, placed.y)).T).min() > layout.outline.radius
    assert np.ptp(lines[1][:, 1]) < 1e-6


def test_loops_leave_their_node_and_come_back():
    edges = (Edge(source=0, target=0, label="again", annotation="1/2"), Edge(source=0, target=0, label="more"))
    lines, layout = lines_between(edges, (node(0, value="7"),))
    above, below = lines
    assert above[:, 1].min() < -layout.outline.radius - 20
    assert below[:, 1].max() > layout.outline.radius + 20
    assert all(text.clear for text in layout.texts if text.role != "value")


def test_long_labels_make_long_nodes_and_wide_columns():
    short = lay_out(Diagram(title="", nodes=(node(0), node(1, 1)), edges=()))
    named = lay_out(Diagram(title="", nodes=(node(0, label=("a very long name",)), node(1, 1)), edges=()))
    assert short.outline.half_width == short.outline.radius
    assert named.outline.half_width > 2 * named.outline.radius
    assert named.nodes[1].x > short.nodes[1].x


def test_nothing_at_all_is_a_picture_too():
    assert texts(to_svg(Diagram(title="empty", nodes=(), edges=()))) == ["empty"]


@settings(max_examples=50)
@given(st.text(), st.text(max_size=12), st.text(max_size=12), st.text(max_size=8))
def test_any_text_makes_a_well_formed_document(title, label, edge_label, value):
    diagram = Diagram(
        title=title,
        nodes=(node(0, label=(label,), value=value), node(1, 1)),
        edges=(Edge(source=0, target=1, label=edge_label, annotation=value),),
        value_meaning=title,
    )
    picture = to_svg(diagram)
    parsed(picture.encode("utf-8"))
    assert "\x00" not in picture
