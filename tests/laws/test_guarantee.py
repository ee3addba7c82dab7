"""Guarantees: rounded against the claim, frozen, and readable."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st

import symveil as sv
from symveil.numbers.conversions import precision


@given(st.fractions(min_value=0, max_value=10**9))
def test_a_rational_loss_is_never_rounded_down(loss):
    claimed = sv.Guarantee.of_loss(loss, "exact").epsilon
    assert Fraction(repr(claimed)) >= loss
    assert claimed <= float(loss) * (1 + 2**-52) + 5e-324


@given(st.fractions(min_value="1/1000", max_value=1000, max_denominator=10**6))
def test_a_loss_known_as_a_ball_is_never_rounded_down(loss):
    """The ball of √loss, against Python's own decimals."""
    with precision(128):
        ball = arb(fmpq(loss.numerator, loss.denominator)).sqrt()
    claimed = sv.Guarantee.of_loss(ball, "certified").epsilon
    with localcontext() as context:
        context.prec = 60
        root = (Decimal(loss.numerator) / Decimal(loss.denominator)).sqrt()
        assert Decimal(repr(claimed)) >= root - Decimal("1e-50")
        assert Decimal(repr(claimed)) <= root * (1 + Decimal("1e-15"))


def test_a_loss_that_may_lie_below_zero_is_zero_or_more():
    with precision(64):
        assert sv.Guarantee.of_loss(arb(-1), "exact").epsilon == 0
        assert 0 < sv.Guarantee.of_loss(arb(0, "1e-20"), "certified").epsilon < 1e-19


@pytest.mark.parametrize("epsilon", ["0.1", "0.3", "1/3", "2/3", "5", "1e-300", "123456789.987654321"])
def test_a_budget_that_was_written_is_claimed_as_it_was_written(epsilon):
    claimed = sv.Exponential(sv.words("ab", 3), epsilon=epsilon).guarantee.epsilon
    assert Fraction(repr(claimed)) >= Fraction(epsilon)
    if "/" not in epsilon:
        assert claimed == float(epsilon)


def test_a_guarantee_is_frozen_and_prints_as_it_is_made():
    guarantee = sv.Guarantee(epsilon=5.0, how="exact")
    assert repr(guarantee) == "Guarantee(epsilon=5.0, how='exact')"
    assert guarantee == sv.Guarantee(epsilon=5.0, how="exact") != sv.Guarantee(epsilon=5.0, how="classic")
    with pytest.raises(FrozenInstanceError):
        guarantee.epsilon = 0.0


def test_the_document_has_the_keys_of_the_contract():
    assert sv.Guarantee(epsilon=0.5, how="certified").document() == {"epsilon": 0.5, "how": "certified"}
