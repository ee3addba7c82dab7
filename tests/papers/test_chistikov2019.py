"""C19 §8, and numbers beyond it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from symveil.examples.paper_systems import pin_checker, randomised_response
from symveil.tasks.reproduce.figures import reproduce
from symveil.tasks.verify import compose
from symveil.verification.verify_privacy import verify_privacy


@pytest.mark.parametrize(
    ("alpha", "lv", "ld"),
    [
        (Fraction(1), Fraction(200, 2503), Fraction(6, 53)),
        (Fraction(207, 200), ".06961", ".10328"),
        (Fraction(11, 10), ".05049", ".08485"),
        (Fraction(6, 5), ".02107", Fraction(200, 2597)),
        (Fraction(2809, 2209), Fraction(0), Fraction(200, 2597)),
    ],
)
def test_pin_checker(alpha: Fraction, lv: Fraction | str, ld: Fraction | str) -> None:
    pair = verify_privacy(pin_checker(), alpha=alpha, pairs=[("1", "0")]).pairs[0]
    assert pair.lv.exact
    assert pair.ld is not None
    assert pair.ld.exact
    assert pair.ld == pair.lgd
    assert pair.bd is not None
    assert pair.bd.value == Fraction(6, 53)
    for ours, known in ((pair.lv.lower, lv), (pair.ld.value, ld)):
        assert ours == known if isinstance(known, Fraction) else f"{float(ours):.5f}"[1:] == known


def test_randomised_response() -> None:
    single = randomised_response()
    for chain in (single, compose(single, single)):
        verdict = verify_privacy(chain, alpha="6/5")
        assert max(pair.ld.value for pair in verdict.pairs if pair.ld) == Fraction(4, 15)
        assert verdict.delta.lower == verdict.delta.upper == Fraction(4, 15)


def test_one_respondent_twice() -> None:
    twice = verify_privacy(compose(randomised_response(), randomised_response(), respondents="same"), alpha="36/25")
    assert max(pair.ld.value for pair in twice.pairs if pair.ld) == Fraction(103, 225) < Fraction(8, 15)
    assert twice.delta.lower == twice.delta.upper == Fraction(64, 225)


def test_every_row_agrees() -> None:
    rows = reproduce("chistikov2019").rows
    assert len(rows) >= 12
    assert [row.item for row in rows if not row.agrees] == []
