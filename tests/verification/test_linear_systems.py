"""Linear systems x = A x + c, solved part by part, against the sum c + Ac + A²c + … and against the whole at once."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb_mat, fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from symveil.numbers.conversions import ball, fraction
from symveil.verification.linear_systems import Entry, identity_less, parts_of, solved

System = tuple[list[tuple[int, int, Fraction]], list[Fraction]]


@st.composite
def systems(draw: st.DrawFn) -> System:
    """Rows that add up to less than 1, with parallel entries; many of them without cycles, or in several parts."""
    size = draw(st.integers(1, 8))
    reach = draw(st.sampled_from(["any", "earlier", "blocks"]))
    entries = []
    for row in range(size):
        block = range(row // 3 * 3, min(row // 3 * 3 + 3, size))
        allowed = {"any": range(size), "earlier": range(row), "blocks": block}[reach]
        for column in draw(st.lists(st.sampled_from(allowed), max_size=3)) if allowed else ():
            entries.append((row, column, Fraction(1, draw(st.integers(4, 9)))))
    order = draw(st.permutations(range(size)))
    constant = [Fraction(draw(st.integers(0, 5)), 7) for _ in range(size)]
    return [(order[row], order[column], amount) for row, column, amount in entries], constant


def rational(entries: list[tuple[int, int, Fraction]]) -> list[Entry]:
    return [(row, column, fmpq(amount.numerator, amount.denominator)) for row, column, amount in entries]


@settings(max_examples=300, deadline=None)
@given(systems())
def test_it_is_a_solution_and_the_same_as_at_once(system: System) -> None:
    entries, constant = system
    right = [fmpq(value.numerator, value.denominator) for value in constant]
    values = [fraction(value) for value in solved(rational(entries), right)]
    for row, own in enumerate(constant):
        assert values[row] == own + sum((amount * values[to] for at, to, amount in entries if at == row), Fraction(0))
    whole = identity_less(len(right), rational(entries)).solve(fmpq_mat(len(right), 1, right))
    assert values == [fraction(whole[row, 0]) for row in range(len(right))]


@settings(max_examples=100, deadline=None)
@given(systems())
def test_balls_hold_the_rationals(system: System) -> None:
    entries, constant = system
    right = [fmpq(value.numerator, value.denominator) for value in constant]
    in_balls = [(row, column, ball(amount)) for row, column, amount in entries]
    enclosed = solved(in_balls, [ball(value) for value in constant], arb_mat)
    for value, exact in zip(enclosed, solved(rational(entries), right), strict=True):
        assert (value * int(exact.q) - int(exact.p)).contains(0)
        assert float(value.rad()) < 1e-9


@settings(max_examples=100, deadline=None)
@given(systems())
def test_parts_come_after_those_that_they_depend_on(system: System) -> None:
    entries, constant = system
    parts = parts_of(rational(entries), len(constant))
    assert sorted(row for part in parts for row in part) == list(range(len(constant)))
    number = {row: index for index, part in enumerate(parts) for row in part}
    assert all(number[column] <= number[row] for row, column, _ in entries)


@pytest.mark.parametrize("tail", [[], [(2, 0, fmpq(1, 2))]])
def test_a_part_that_is_never_left_is_refused(tail: list[Entry]) -> None:
    with pytest.raises(ZeroDivisionError):
        solved([(0, 1, fmpq(1)), (1, 0, fmpq(1)), *tail], [fmpq(0), fmpq(0), fmpq(1)])
