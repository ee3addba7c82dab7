"""Composing losses: never below the truth, never above adding, and used where a budget has a δ."""

from __future__ import annotations

import itertools
import json
import math
import sys
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import symveil as sv
from file_mechanism import file_release
from symveil.errors import LedgerError, OverBudgetError, ParameterError
from symveil.ledger import composition
from symveil.ledger.accounts import account, accounts, grant, history
from symveil.ledger.composition import approximate_loss, composed_epsilon, pure_loss, symbol_loss
from symveil.ledger.limits import LIMITS
from symveil.ledger.store import Database
from symveil.ledger.units import UNIT
from symveil.numbers.rationals import at_least, exact

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
    assert family.price().loss == symbol_loss(Fraction(3, 2), 5, 1)
    for options in ({"adjacency": 2}, {"mechanism": "permute-and-flip"}, {"utility": "inverse"}):
        assert file_release(alphabet="abcde", epsilon=Fraction(1), **options).price().loss == pure_loss(Fraction(1))


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


def approximate(epsilon: str, delta: str) -> str:
    return approximate_loss(Fraction(epsilon), Fraction(delta))


@pytest.mark.parametrize(("times", "pure"), [(1, 0), (2, 0), (3, 0), (1, 3), (2, 2)])
def test_a_delta_of_their_own_is_taken_off(times, pure):
    """The worst (ε, δ)-private mechanism shows everything with chance δ, and is randomised response else: every
    sequence of answers is listed, and what is claimed for all of them together holds.
    """
    own, epsilon, small, budget = 1e-3, 0.5, 0.25, 5e-3
    found = composed_epsilon([(approximate("0.5", "0.001"), times), (pure_loss(Fraction(1, 4)), pure)], budget)
    assert found <= epsilon * times + small * pure

    def answers(loss: float, chance: float) -> list[tuple[float, float]]:
        yes, no = (1 - chance) * math.exp(loss) / (1 + math.exp(loss)), (1 - chance) / (1 + math.exp(loss))
        return [(chance, 0.0), (yes, no), (no, yes), (0.0, chance)]

    total = 0.0
    for sequence in itertools.product(*[answers(epsilon, own)] * times, *[answers(small, 0.0)] * pure):
        p, q = math.prod(each[0] for each in sequence), math.prod(each[1] for each in sequence)
        total += max(p - math.exp(found) * q, 0.0)
    assert total <= budget * (1 + 1e-9)


def test_more_delta_than_there_is():
    loss = approximate("1", "1e-6")
    assert composed_epsilon([(loss, 1)], 1e-6) == 1.0 and composed_epsilon([(loss, 2)], 1e-6) == math.inf
    assert composed_epsilon([(loss, 1)], 0.0) == math.inf
    assert approximate_loss(Fraction(1), Fraction(0)) == pure_loss(Fraction(1))


def test_a_delta_is_paid_for_like_epsilon(ledger_url):
    database = Database(ledger_url)
    grant(database, "10", everyone=True)
    loss = approximate("1", "0.0006")
    with pytest.raises(LedgerError, match="expected budgets with a delta of 0.0006 or more for a release that has one"):
        charge(database, {"alice": 1}, "1", loss=loss)
    grant(database, "1", everyone=True, delta="0.001")
    assert charge(database, {"alice": 1, "bob": 1}, "1", loss=loss)[1] == []
    assert account(database, "alice").spent_delta == "0.0006" and account(database, "carol").spent_delta is None
    with pytest.raises(OverBudgetError):
        charge(database, {"alice": 1, "carol": 1}, "1", loss=loss)
    assert charge(database, {"alice": 1, "carol": 1}, "1", loss=loss, over_budget="drop")[1] == ["alice"]
    assert charge(database, {"alice": 1}, "1", loss=pure_loss(Fraction(1)))[1] == []  # of ε there is enough
    told = [entry.document().get("delta") for entry in history(database, "alice") if entry.kind == "release"]
    assert told == ["0.0006", None]
    assert [entry.delta for entry in history(database)] == [None, None, "0.0006", "0.0006", None]
    with pytest.raises(LedgerError, match="grant: expected a delta of 0.0006 or more, which releases have cost"):
        grant(database, "1", everyone=True, delta="0.0005")
    database.close()


def test_without_dp_accounting_losses_compose_too(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)  # as where it is not installed
    composition._composed.cache_clear()
    database = Database(str(tmp_path / "l.db"))
    grant(database, "4", everyone=True, delta="1e-6")
    loss = symbol_loss(Fraction(1, 2), 17, 1)
    assert charge(database, {"alice": 9}, "1/2", loss=loss)[1] == []
    assert account(database, "alice").composed_epsilon <= 4
    database.close()


# --- any losses --------------------------------------------------------------------------------


def exact_epsilon(history, delta: float) -> float:
    """ε(δ) of pure losses by writing out every sum of them, exactly but for the floats of the chances."""
    law = {Fraction(0): 1.0}
    for epsilon, times in history:
        up = 1 / (1 + math.exp(-epsilon))
        for _ in range(times):
            longer: dict[Fraction, float] = {}
            for loss, chance in law.items():
                for more, part in ((epsilon, up), (-epsilon, 1 - up)):
                    longer[loss + more] = longer.get(loss + more, 0.0) + chance * part
            law = longer

    def reached(epsilon: float) -> float:
        return math.fsum(chance * -math.expm1(epsilon - loss) for loss, chance in law.items() if loss > epsilon)

    low, high = 0.0, float(sum(epsilon * times for epsilon, times in history))
    if reached(0.0) <= delta:
        return 0.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if reached(middle) > delta else (low, middle)
    return low


_ordinary = st.fractions(min_value=Fraction(1, 100), max_value=6, max_denominator=1000)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(_ordinary, st.integers(1, 3)), min_size=1, max_size=3),
    st.sampled_from([0.3, 1e-2, 1e-6, 1e-9]),
)
def test_mixed_losses_against_all_sums_written_out(history, delta):
    found = composed_epsilon([(pure_loss(epsilon), times) for epsilon, times in history], delta)
    true = exact_epsilon(history, delta)
    total = at_least(sum(epsilon * times for epsilon, times in history))
    assert true * (1 - 1e-7) - 1e-7 <= found <= total
    # and not by luck: what is lost is the rounding to the grid, at most a step for each loss
    assert found <= true + 2e-4 * sum(times for _, times in history) + 1e-6 or found == total


@settings(deadline=None, max_examples=60)
@given(
    st.dictionaries(st.integers(1, 30), st.integers(1, 5), min_size=1, max_size=3),
    st.sampled_from([0.3, 1e-2, 1e-6, 1e-9, 1e-13]),
)
def test_tenths_compose_without_rounding(tenths, delta):
    """They have a common step: the answer is exact, more is never less, and one alone is never more than all."""
    history = [(Fraction(count, 10), times) for count, times in tenths.items()]
    found = composed_epsilon([(pure_loss(epsilon), times) for epsilon, times in history], delta)
    assert found == pytest.approx(exact_epsilon(history, delta), rel=1e-6, abs=1e-6 if delta > 1e-10 else 1e-2)
    for number, (epsilon, times) in enumerate(history):
        assert composed_epsilon([(pure_loss(epsilon), times)], delta) <= found * (1 + 1e-8)
        more = [*history[:number], (epsilon, times + 1), *history[number + 1 :]]
        assert found <= composed_epsilon([(pure_loss(each), number) for each, number in more], delta) * (1 + 1e-8)


_any = st.one_of(
    _ordinary,
    st.sampled_from(list(map(Fraction, ("1e-12", "1e-9", "1e-30", "19.999", "20.001", "800", "5000", "999999.5")))),
    st.fractions(min_value=Fraction(1, 10**15), max_value=10**6),
)
_losses = st.one_of(st.builds(pure_loss, _any), st.builds(symbol_loss, _any, st.integers(2, 300), st.integers(1, 3)))
_times = st.one_of(st.integers(1, 6), st.sampled_from([1000, 10**7, 10**15]))


def largest_loss(loss: str) -> Fraction:
    told = json.loads(loss)
    return Fraction(told["epsilon"]) if told["kind"] == "pure" else Fraction(told["eta"]) * told["differing"]


@pytest.fixture
def small_grids(set_limits):
    """What takes a million points elsewhere takes thousands: the same code in a hundredth of the time."""
    set_limits(LIMITS, points=1 << 13, most_points=1 << 15)
    composition._composed.cache_clear()
    yield
    composition._composed.cache_clear()


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(_losses, _times), min_size=1, max_size=4, unique_by=lambda each: each[0]),
    st.sampled_from([0.5, 1e-3, 1e-6, 1e-12, 1e-200]),
)
def test_any_mixture_of_losses(small_grids, history, delta):
    """Never an error, never above adding, never below one of them alone, never less for more."""
    found = composed_epsilon(history, delta)
    total = sum(largest_loss(loss) * times for loss, times in history)
    assert math.isfinite(found) and found >= 0 and exact(found) <= exact(at_least(total))
    # a grid may be coarser where there is more, so that less is not always rounded upwards by less
    slack = 2 * sum(times for _, times in history) * max(1e-4, float(total) / LIMITS.now.points)
    for loss, _ in history:
        assert composed_epsilon([(loss, 1)], delta) <= found + slack
    more = [(history[0][0], history[0][1] + 1), *history[1:]]
    assert found <= composed_epsilon(more, delta) + slack
    assert composed_epsilon(history, delta / 2) >= found * (1 - 1e-8) - 1e-8
    assert composed_epsilon(history, 0) == at_least(total)


@pytest.mark.parametrize("epsilon", ["800", "5000", "1000000"])
@pytest.mark.parametrize("times", [1, 2, 1000])
def test_a_loss_that_no_float_can_raise_e_to(epsilon, times):
    for loss in (pure_loss(Fraction(epsilon)), symbol_loss(Fraction(epsilon), 17, 1)):
        assert composed_epsilon([(loss, times)], 1e-6) == int(epsilon) * times
        small = (pure_loss(Fraction(1, 10)), 20)
        alone = composed_epsilon([small], 1e-6)
        assert alone < 1.95
        assert composed_epsilon([(loss, times), small], 1e-6) == pytest.approx(int(epsilon) * times + alone, rel=1e-12)


def test_a_large_loss_can_be_charged_and_looked_at(ledger_url):
    """0.2.0 raised `math range error` here, and then at every look at this person."""
    database = Database(ledger_url)
    grant(database, "10", everyone=True, delta="1e-6")
    grant(database, "790", names=["alice"])
    charge(database, {"alice": 1}, "800", loss=symbol_loss(Fraction(800), 2, 1))
    assert account(database, "alice").composed_epsilon == 800
    with pytest.raises(OverBudgetError):
        charge(database, {"alice": 1}, "5000", loss=symbol_loss(Fraction(5000), 2, 1))
    with pytest.raises(OverBudgetError):
        charge(database, {"bob": 1}, "800", loss=pure_loss(Fraction(800)))
    charge(database, {"bob": 1}, "1/2", loss=pure_loss(Fraction(1, 2)))
    assert [each.person for each in accounts(database)] == ["alice", "bob"]
    assert len(history(database, "alice")) == 3 and history(database, "bob")[-1].amount == "0.5"
    database.close()


def test_more_sequences_than_can_be_composed_are_added(tmp_path):
    database = Database(str(tmp_path / "l.db"))
    grant(database, "100", everyone=True, delta="1e-6")
    charge(database, {"alice": 10**13}, "0.000000000001", loss=pure_loss(Fraction(1, 10**12)))
    assert account(database, "alice").composed_epsilon == 10
    database.close()


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-8])
@pytest.mark.parametrize("times", [1, 7, 60])
def test_against_dp_accounting(times, delta):
    """Where it works: ours is not above its answer (our grid loses less), nor below the truth that both bound."""
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as theirs

    for epsilon in (0.1, 0.37, 2.0):
        parameters = common.DifferentialPrivacyParameters(epsilon, 0.0)
        fine = theirs.from_privacy_parameters(parameters, value_discretization_interval=1e-4)
        bound = fine.self_compose(times).get_epsilon_for_delta(delta)
        ours = composed_epsilon([(pure_loss(Fraction(str(epsilon))), times)], delta)
        assert ours <= bound * (1 + 1e-6) + 1e-6
        assert ours >= bound - 1e-4 * times - 1e-6
    for rate, symbols in ((0.5, 17), (1.3, 3)):
        z = math.exp(-rate)
        noise = symbols * z / (1 + (symbols - 1) * z)
        response = theirs.from_randomized_response(noise, symbols, value_discretization_interval=1e-4)
        bound = response.self_compose(times).get_epsilon_for_delta(delta)
        ours = composed_epsilon([(symbol_loss(Fraction(str(rate)), symbols, 1), times)], delta)
        assert ours <= bound * (1 + 1e-6) + 1e-6
        assert ours >= bound - 2e-4 * times - 1e-6


def test_losses_in_numbers_that_need_the_transform():
    """Thirds and sevenths and decimals have no common step: the grid is the fine one, and the answer close to exact."""
    parts = [(Fraction(1, 3), 9), (Fraction(2, 7), 7), (Fraction("0.31234567891"), 8)]
    for delta in (1e-3, 1e-6):
        found = composed_epsilon([(pure_loss(epsilon), times) for epsilon, times in parts], delta)
        true = exact_epsilon(parts, delta)
        assert true <= found <= true + 24 * 1e-4


@pytest.mark.parametrize("kinds", [[(0.5, 17, 1, 2000)], [(3.0, 2, 3, 200), (1.0, 5, 1, 700)], [(19.0, 2, 19, 100)]])
def test_the_transform_is_as_exact_as_it_says(kinds):
    """Against sums of positive numbers, whose errors are relative: chance by chance, all together."""
    losses = [
        (composition._three_chances(composition._Loss(Fraction(epsilon), symbols), epsilon), count, times)
        for epsilon, symbols, count, times in kinds
    ]
    size = 2 * sum(count * times for _, count, times in losses) + 1
    direct = composition._summed(losses)
    transformed, error = composition._transformed(losses, size)
    assert len(direct) == len(transformed) == size and math.fsum(direct) == pytest.approx(1, abs=1e-11)
    assert math.fsum(abs(direct - transformed)) <= error < 1e-8
