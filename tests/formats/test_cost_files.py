"""Files of costs and places: what is read, and what is refused with its line."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import symveil as sv
from symveil.errors import FileError


def test_costs_with_or_without_a_header(tmp_path: Path) -> None:
    file = tmp_path / "costs.csv"
    for head in ("from,to,cost\n", ""):
        file.write_text(head + "a,b,2\nb,c,1.5\nb,a,2.0\na,a,0\n")
        assert sv.read_costs(file) == sv.CostTable.from_rows([("a", "b", 2), ("b", "c", Fraction(3, 2)), ("b", "a", 2)])


def test_places_are_metres_in_units(tmp_path: Path) -> None:
    file = tmp_path / "places.csv"
    file.write_text("symbol,x,y\na,0,0\nb,300,400\nc,0.5,-1e2\n")
    chain = sv.MarkovChain.from_transitions([("a", "b", 1), ("b", "c", 1), ("c", "a", 1)])
    cost = sv.read_places(file, metres_per_unit=100).cost(sv.runs(chain, 3))
    assert cost.values == (0, 2, 5, 6)  # 100.001 m are more than one unit


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n", "line 1: expected three columns: symbol, symbol, cost"),
        ("a,b,cost\n", "expected at least one row"),
        ("a,b,1\na,b,x\n", "line 2: expected a cost, a number above 0"),
        ("a,b,1\nb,a,2\n", "line 2: expected 1, as for the same pair before"),
        ("a,b,-1\n", "line 1: expected a cost above 0"),
        ("a,b,0\n", "line 1: expected a cost above 0"),
        ("a,a,1\n", "line 1: expected 0 for a symbol and itself"),
        ("a,,1\n", "line 1: expected symbol, symbol, cost, found an empty cell"),
        ("", "a table of costs with a header line"),
    ],
)
def test_wrong_costs_are_refused_with_their_line(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "costs.csv"
    file.write_text(content)
    with pytest.raises(FileError) as caught:
        sv.read_costs(file)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,0,0\na,1,1\n", "line 2: expected one place for each symbol"),
        ("a,0,0\nb,north,1\n", "line 2: expected a coordinate"),
        ("symbol,x,y\n", "expected at least one row of symbol, x, y"),
    ],
)
def test_wrong_places_are_refused_with_their_line(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "places.csv"
    file.write_text(content)
    with pytest.raises(FileError) as caught:
        sv.read_places(file, metres_per_unit=1)
    assert message in str(caught.value)
