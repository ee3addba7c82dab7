"""Composing losses: never below the truth, never above adding, and used where a budget has a δ."""

from __future__ import annotations

import itertools
import math
import sys
from fractions import Fraction

import pytest
import sqlalchemy as sa
from file_release import file_release

import symveil as sv
from symveil.errors import LedgerError, OverBudgetError, ParameterError
from symveil.ledger import composition
from symveil.ledger.accounts import account, grant
from symveil.ledger.amounts import UNIT
from symveil.ledger.composition import composed_epsilon, pure_loss, symbol_loss
from symveil.ledger.store import Database, persons
from symveil.workflows.releasing.promise import price

from .test_charging import charge


def exact_delta(rate: float, symbols: int, times: int, epsilon: float) -> float:
    """δ(ε) of `times` releases of one symbol, by writing out all outcomes: Σ (P − e^ε Q)⁺."""
    z = math.exp(-rate)
    kept = 1 / (1 + (symbols - 1) * z)
    total = 0.0
    # an outcome is, for each release: w's symbol, v's symbol, or one of the others
    for outcome in itertools.product(range(3), repeat=times):
        p = q = 1.0
        for each in outcome:
            p *= (kept, kept * z, (symbols - 2) * kept * z)[each]
            q *= (kept * z, kept, (symbols - 2) * kept * z)[each]
        total += max(p - math.exp(epsilon) * q, 0.0)
    return total


@pytest.mark.parametrize(("rate", "symbols"), [(0.5, 17), (1.0, 3), (2.0, 5), (0.25, 2)])
@pytest.mark.parametrize("times", [1, 2, 5])
@pytest.mark.parametrize("delta", [1e-6, 1e-2])
def test_against_all_outcomes_written_out(rate, symbols, times, delta):
    found = composed_epsilon([(symbol_loss(Fraction(rate), symbols, 1), times)], delta)
    assert exact_delta(rate, symbols, times, found) <= delta * (1 + 1e-9)  # sound
    slack = 2e-4 * times
    if found > slack:
        assert exact_delta(rate, symbols, times, found - slack) > delta  # and not by luck


def test_the_loss_is_that_of_the_mechanism():
    """The pair of randomised response over m symbols is what `Exponential` does to one symbol."""
    mechanism = sv.Exponential(sv.words("abcde", 1), epsilon="3/2")
    kept, other = mechanism.probability("a", "a"), mechanism.probability("a", "b")
    z = math.exp(-1.5)
    assert kept == pytest.approx(1 / (1 + 4 * z), rel=1e-12) and other == pytest.approx(kept * z, rel=1e-12)
    family = file_release(alphabet="abcde", epsilon=Fraction(3, 2))
    assert price(family).loss == symbol_loss(Fraction(3, 2), 5, 1)
    for options in ({"adjacency": 2}, {"mechanism": "permute-and-flip"}, {"utility": "inverse"}):
        assert price(file_release(alphabet="abcde", epsilon=Fraction(1), **options)).loss == pure_loss(Fraction(1))


def test_never_above_adding():
    for loss, epsilon in ((pure_loss(Fraction(1, 2)), 0.5), (symbol_loss(Fraction(1, 2), 4, 1), 0.5)):
        for times in (1, 3, 40):
            assert composed_epsilon([(loss, times)], 1e-9) <= epsilon * times + 1e-4 * times
    assert composed_epsilon([], 1e-6) == composed_epsilon([(pure_loss(Fraction(1)), 0)], 1e-6) == 0.0
    mixed = [(pure_loss(Fraction(1)), 2), (symbol_loss(Fraction(1, 2), 9, 1), 10)]
    assert composed_epsilon(mixed, 1e-6) < 7


def test_a_budget_with_a_delta_pays_for_more(ledger_url):
    database = Database(ledger_url)
    grant(database, "4", everyone=True, delta="1e-6")
    loss = symbol_loss(Fraction(1, 2), 17, 1)
    paid = 0
    with pytest.raises(OverBudgetError):
        for _ in range(40):
            charge(database, {"alice": 1}, "1/2", loss=loss)
            paid += 1
    found = account(database, "alice")
    assert paid > 8  # what adding would have allowed
    assert found.spent == str(Fraction(paid, 2) if paid % 2 == 0 else paid / 2)
    assert found.composed_epsilon <= 4 < composed_epsilon([(loss, paid + 1)], 1e-6)
    assert charge(database, {"bob": 8}, "1/2", loss=loss)[1] == []
    database.close()


def test_delta_is_for_everyone(tmp_path):
    database = Database(str(tmp_path / "l.db"))
    for delta in ("1", "-1", "x"):
        with pytest.raises(ParameterError):
            grant(database, "1", everyone=True, delta=delta)
    with pytest.raises(ParameterError):
        grant(database, "1", names=["alice"], delta="1e-6")
    assert UNIT == 10**12
    database.close()


def test_without_dp_accounting_adding_still_works_and_delta_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)  # as where it is not installed
    for kept in (composition._accounting, composition._distribution, composition._composed):
        kept.cache_clear()
    database = Database(str(tmp_path / "l.db"))
    grant(database, "1", everyone=True)
    assert charge(database, {"alice": 1}, "1/2")[1] == []
    grant(database, "1", everyone=True, delta="1e-6")
    assert charge(database, {"alice": 1}, "1/2")[1] == []  # adding allows it: nothing has to be composed
    with pytest.raises(LedgerError, match=r"pip install symveil\[accounting\]"):
        charge(database, {"alice": 3}, "1/2")
    with database.reading() as connection:
        assert connection.execute(sa.select(persons.c.spent)).scalar_one() == UNIT
    database.close()
