"""The loss of the policy `private`, on systems small enough to know it by hand, and where it cannot be written out."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import symveil as sv
from symveil.examples.paper_systems import example_4
from symveil.mechanisms.limits import LIMITS
from symveil.mechanisms.restricted import EnumeratedLoss
from symveil.verification.opacity.estimators import read_question
from symveil.verification.opacity.observation import Observed
from symveil.verification.opacity.run_observations import SafeObservations

from .plain_observer import Plain
from .test_policies_by_definition import own_loss, own_losses, rate_of


@pytest.fixture(scope="module")
def of_example_4() -> SafeObservations:
    return SafeObservations(Observed(example_4()), read_question(1, "weak"))


@pytest.mark.parametrize(("unsafe_inputs", "published"), [(False, 4.02), (True, 7.98)])
def test_unsafe_inputs_double_the_loss_of_example_4(of_example_4, unsafe_inputs, published):
    """Mathematics §9a: b = 1, η = 4. The safe words are acc, bab, bac, bcc; aab is possible and unsafe."""
    outputs = of_example_4.language(3)
    given_ = of_example_4.possible(3) if unsafe_inputs else outputs
    loss = float(EnumeratedLoss.of(given_, outputs, 1)(Fraction(4)))
    assert round(loss, 2) == published
    words = ["acc", "bab", "bac", "bcc"]
    from_words = [*words, "aab"] if unsafe_inputs else words

    def log_law(word: str) -> list[float]:
        weights = [math.exp(-4 * sum(map(str.__ne__, word, other))) for other in words]
        return [math.log(weight / math.fsum(weights)) for weight in weights]

    adjacent = [(u, v) for u in from_words for v in from_words if sum(map(str.__ne__, u, v)) == 1]
    expected = max(a - b for u, v in adjacent for a, b in zip(log_law(u), log_law(v), strict=True))
    assert loss == pytest.approx(expected, abs=1e-10)
    assert loss >= expected


def test_the_certificate_of_the_safe_language_would_not_have_been_enough(of_example_4):
    """A rate that spends ε = 4 over safe inputs loses nearly twice as much over all."""
    outputs = of_example_4.language(3)
    every = EnumeratedLoss.of(of_example_4.possible(3), outputs, 1)
    among_safe = EnumeratedLoss.of(outputs, outputs, 1)
    assert among_safe(Fraction("3.98")) < 4 < every(Fraction("3.98"))
    enforced = sv.enforce_opacity(example_4(), 1, epsilon=4)
    assert every(enforced.mechanism(3).rate) <= 4


@pytest.mark.parametrize("epsilon", ["1/100", 1, 3, 10, 40])
@pytest.mark.parametrize("adjacency", [1, 2, "all"])
def test_the_budget_is_spent_on_example_4(epsilon, adjacency):
    enforced = sv.enforce_opacity(example_4(), 1, epsilon=epsilon, adjacency=adjacency)
    losses = own_losses(Plain(example_4()), 1, enforced, 3, adjacency)
    loss = max(losses.values())
    assert losses.keys() == {0, 1, 2, 3}
    assert enforced.guarantee.how == "exact"
    assert loss <= enforced.epsilon <= Fraction(epsilon)
    assert enforced.epsilon == pytest.approx(loss, abs=1e-9)
    assert loss >= Fraction(epsilon) * Fraction(99999, 100000)
    # at one length the search stops where the loss is all but 2bη: not one part in a thousand is left unspent
    assert losses[3] >= Fraction(epsilon) * Fraction(999, 1000)


def test_one_safe_observation_reveals_nothing():
    """Whatever happens, ba is shown."""
    system = sv.StochasticSystem.from_transitions(
        [("0", "a", "1", "1/2"), ("0", "b", "2", "1/2"), ("1", "a", "3", 1), ("2", "a", "3", 1)],
        initial="0", observable=["a", "b"], secret=["1"],
    )  # fmt: skip
    enforced = sv.enforce_opacity(system, 1, epsilon=1)
    assert enforced.epsilon == pytest.approx(0, abs=1e-9)
    assert enforced.posterior_of_secret == pytest.approx(0.5, abs=1e-12)
    assert enforced.release("aa") == enforced.release("ba") == "ba"


def three_ways(length: int) -> sv.StochasticSystem:
    """Every word of a, b, c; the letter c leads through a secret."""
    rows = []
    for number in range(length):
        rows += [(f"{s}{number}", e, f"{'s' if e == 'c' else 'n'}{number + 1}", "1/3") for s in "ns" for e in "abc"]
    rows = [row for row in rows if row[0] != "s0"]
    secret = [f"s{number + 1}" for number in range(length)]
    return sv.StochasticSystem.from_transitions(rows, initial="n0", observable=["a", "b", "c"], secret=secret)


def test_where_inputs_are_too_many_the_rate_is_the_classic_one(set_limits):
    """η = ε/2b holds for any inputs; the guarantee then says that it is the papers' bound."""
    set_limits(LIMITS, restricted_inputs=80)
    enforced = sv.enforce_opacity(three_ways(4), 0, epsilon=2, adjacency=2, mechanism="direct")
    assert rate_of(enforced, 4) == 0.5
    assert (enforced.guarantee.epsilon, enforced.guarantee.how) == (2.0, "classic")
    set_limits(LIMITS, restricted_inputs=1000, restricted_comparisons=100_000)
    compared = sv.enforce_opacity(three_ways(4), 0, epsilon=2, adjacency=2)
    assert compared.guarantee.how == "exact"
    set_limits(LIMITS, restricted_comparisons=1000)
    not_compared = sv.enforce_opacity(three_ways(4), 0, epsilon=2, adjacency=2, mechanism="direct")
    assert (not_compared.guarantee.epsilon, not_compared.guarantee.how) == (2.0, "classic")
    assert rate_of(not_compared, 4) == 0.5
    set_limits(LIMITS, restricted_inputs=80, restricted_comparisons=400_000_000)
    # with 3³ = 27 inputs they are written out, and the rate is larger
    enforced = sv.enforce_opacity(three_ways(3), 0, epsilon=2, adjacency=2)
    assert rate_of(enforced, 3) > 0.5
    assert enforced.guarantee.how == "exact"


def test_long_observations_are_released_without_writing_anything_out():
    """3⁴⁰ observations: classic, safe, and right in length; only the summary is too large."""
    system = three_ways(40)
    enforced = sv.enforce_opacity(system, 0, epsilon=20)
    shown = enforced.release(["c", "a"] * 20)
    assert len(shown) == 40
    assert "c" not in shown
    assert sum(shown[index] == "a" for index in range(1, 40, 2)) > 10  # η = 10: almost nothing else is changed


@pytest.mark.parametrize("length", [1, 2])
def test_the_guarantee_covers_every_observation_that_is_accepted(length):
    """An unfinished run is an observation of the system, too: what is accepted must not lose more than is claimed."""
    system = sv.StochasticSystem.from_transitions(
        [("0", "a", "1", "1/2"), ("0", "b", "2", "1/2"), ("1", "a", "3", 1), ("2", "a", "4", 1)],
        initial="0", observable=["a", "b"], secret=["4"],
    )  # fmt: skip
    enforced = sv.enforce_opacity(system, 0, epsilon=2)
    try:
        enforced.release(["a"] * length)
    except sv.SymveilError:
        return  # refused: nothing is claimed about it
    assert own_loss(Plain(system), 0, length, rate_of(enforced, length), 1) <= enforced.epsilon


def test_one_thing_to_show_tells_nothing():
    """Every observation of length 1 becomes b: the loss is 0, not a rounding of it."""
    rows = [("0", "a", "1", "1/2"), ("0", "b", "2", "1/4"), ("0", "c", "1", "1/4")]
    system = sv.StochasticSystem.from_transitions(rows, initial="0", observable=["a", "b", "c"], secret=["1"])
    enforced = sv.enforce_opacity(system, epsilon=1)
    assert enforced.release("a") == "b"
    assert enforced.guarantee == sv.Guarantee(epsilon=0.0, how="exact")
