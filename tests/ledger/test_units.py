"""Units: covering is what it means between words, and sums hold in what they share."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symveil.errors import ParameterError
from symveil.ledger.units import LEAST, Unit, read_unit, shared_unit, shown_unit

WORDS = ["".join(word) for length in range(4) for word in itertools.product("ab", repeat=length)]
UNITS = [
    *(Unit(adjacency=b, metric="hamming", public_start=start) for b in (1, 2, 3, "all") for start in (False, True)),
    *(Unit(adjacency=b, metric="levenshtein") for b in (1, 2, 3, "all")),
]


def edits(one: str, other: str) -> int:
    if not one or not other:
        return max(len(one), len(other))
    return min(
        edits(one[1:], other) + 1, edits(one, other[1:]) + 1, edits(one[1:], other[1:]) + (one[0] != other[0])
    )  # fmt: skip


DISTANCES = {(one, other): edits(one, other) for one in WORDS for other in WORDS}


def adjacent(unit: Unit, one: str, other: str) -> bool:
    """By definition."""
    bound = math.inf if unit.adjacency == "all" else unit.adjacency
    if unit.public_start and one[:1] != other[:1]:
        return False
    if unit.metric == "levenshtein":
        return DISTANCES[one, other] <= bound
    return len(one) == len(other) and sum(a != b for a, b in zip(one, other, strict=True)) <= bound


def pairs(unit: Unit) -> set[tuple[str, str]]:
    return {(one, other) for one in WORDS for other in WORDS if adjacent(unit, one, other)}


PAIRS = {unit: pairs(unit) for unit in UNITS}


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_covering_is_having_more_pairs(unit):
    """On all words of up to three symbols: where one unit covers another, it has all its pairs of words."""
    for other in UNITS:
        if unit.covers(other):
            assert PAIRS[unit] >= PAIRS[other]
        elif PAIRS[unit] >= PAIRS[other]:
            # only by the shortness of these words: three substitutions change all of them
            assert unit.adjacency != "all" and unit.adjacency >= 2 and other.adjacency in (3, "all")


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_what_two_units_share(unit):
    for other in UNITS:
        shared = unit.shared_with(other)
        assert shared == other.shared_with(unit)
        assert unit.covers(shared) and other.covers(shared) and shared.covers(LEAST)
        assert all(shared.covers(third) for third in UNITS if unit.covers(third) and other.covers(third))
        assert PAIRS[shared] <= PAIRS[unit] & PAIRS[other] if shared in PAIRS else True


@given(st.lists(st.sampled_from([None, *UNITS]), max_size=6))
def test_what_many_units_share(units):
    shared = shared_unit(units)
    if not units:
        assert shared is None
        return
    assert all((LEAST if unit is None else unit).covers(shared) for unit in units)
    assert shared_unit(reversed(units)) == shared
    assert (None in units) <= (shared == LEAST)


def test_what_is_written_and_read():
    for unit in UNITS:
        assert read_unit(unit.text()) == unit
    assert read_unit(None) is None and shown_unit(None) == "unknown (0.2)" and shown_unit(UNITS[0]) == str(UNITS[0])
    for text in ('{"adjacency": 0, "metric": "hamming", "public_start": false}', '{"adjacency": "x", "metric": "x"}'):
        with pytest.raises((ValueError, LookupError)):
            read_unit(text)


@pytest.mark.parametrize(
    "parts",
    [{"adjacency": 0}, {"adjacency": True}, {"metric": "x"}, {"metric": "levenshtein", "public_start": True}],
)
def test_units_that_there_are_none_of(parts):
    with pytest.raises(ParameterError):
        Unit(**parts)
