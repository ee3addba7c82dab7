"""A diagram refuses what could not be drawn, and does not tell keys."""

from __future__ import annotations

import pytest

from symveil.errors import ParameterError
from symveil.pictures.diagram import Diagram, Edge, Node


def node(key, column=0, row=0):
    return Node(key=key, column=column, row=row, label=(str(key),))


@pytest.mark.parametrize(
    ("nodes", "edges", "problem"),
    [
        ((node("SECRET"), node("SECRET", 1)), (), "distinct keys"),
        ((node("SECRET"), node("other")), (), "column 0, row 0"),
        ((node("SECRET"),), (Edge(source="SECRET", target="HIDDEN"),), "edge 1"),
        ((node("SECRET"),), (Edge(source="HIDDEN", target="SECRET"),), "edge 1"),
    ],
)
def test_impossible_diagrams_are_refused_by_number(nodes, edges, problem):
    with pytest.raises(ParameterError, match=problem) as caught:
        Diagram(title="", nodes=nodes, edges=edges)
    assert "SECRET" not in str(caught.value)
    assert "HIDDEN" not in str(caught.value)


def test_a_diagram_is_frozen_and_compares_by_what_it_shows():
    assert Diagram(title="t", nodes=(node(1),), edges=()) == Diagram(title="t", nodes=(node(1),), edges=())
    with pytest.raises(AttributeError):
        node(1).column = 2
