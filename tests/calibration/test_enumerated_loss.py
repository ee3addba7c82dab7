"""The exact loss of small languages, against the definition."""

from __future__ import annotations

import math
import random
import time
from fractions import Fraction

import pytest
from calibration_oracle import chain_case, enumerated, random_chain_case, random_system_case, seeded
from cost_oracle import random_case

from symveil.calibration import enumeration
from symveil.calibration.enumeration import Enumeration
from symveil.calibration.limits import LIMITS
from symveil.errors import TooLargeError
from symveil.languages.runs import runs
from symveil.models.markov_chain import MarkovChain


def test_it_is_the_loss_of_the_definition_rounded_up() -> None:
    tried = 0
    for seed in range(600):
        dice = seeded(seed)
        case = random_chain_case(dice) if seed % 2 else random_system_case(dice)
        if case is None or len(case.weights) > 250:
            continue
        adjacency, rate = dice.randint(1, 4), Fraction(dice.randint(1, 600), 100)
        loss = enumerated(case.language, rate=rate, adjacency=adjacency, with_prior=case.with_prior)
        assert loss is not None
        found = float(loss.loss)
        expected = case.loss(float(rate), adjacency)
        assert expected - 1e-13 <= found <= expected + 1e-10
        tried += expected > 0
    assert tried > 200


def _complete(states: int) -> MarkovChain:
    names = [f"s{i}" for i in range(states)]
    return MarkovChain.from_transitions([(a, b, Fraction(1, states)) for a in names for b in names])


@pytest.mark.compiled
def test_ten_thousand_words_take_seconds() -> None:
    begin = time.process_time()
    found = enumerated(runs(_complete(10), 4), rate=Fraction(2), adjacency=2)
    assert found is not None
    assert 4 <= found.loss < 4 + Fraction(1, 10**8)  # on all words Z is constant (docs/theory/losses.md)
    assert time.process_time() - begin < 20


def test_more_words_are_refused() -> None:
    with pytest.raises(TooLargeError):
        enumerated(runs(_complete(11), 4), rate=Fraction(1), adjacency=1)


def test_large_rates_do_not_underflow() -> None:
    case = chain_case(MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)]), 6)
    assert case is not None
    found = enumerated(case.language, rate=Fraction(5000), adjacency=1)
    assert found is not None
    assert 5000 <= found.loss < 5000 + Fraction(1, 10**6)


def test_a_prior_beyond_floats_is_left_to_others() -> None:
    tiny = Fraction(1, 10**120)
    chain = MarkovChain.from_transitions([("a", "a", tiny), ("a", "b", 1 - tiny), ("b", "a", 1)])
    assert enumerated(runs(chain, 6), rate=Fraction(1), adjacency=1, with_prior=True) is None


def check_cost(seed: int) -> int:
    """Any cost, prior, start and staircase against the definition; 1 where two words are compared."""
    case = random_case(random.Random(seed))
    if case is None:
        return 0
    found = Enumeration(case.weighting).loss(case.rate)
    if case.exact == math.inf:
        assert found is None, seed
        return 0
    assert found is not None, seed
    assert float(found.loss) >= case.exact * (1 - 1e-13), seed
    assert found.worst_found <= case.exact + 1e-9, seed
    assert found.loss == max(found.by_distance.values(), default=0), seed
    if found.how == "exact":
        assert float(found.loss) <= case.exact + 1e-9, seed
        assert found.worst_found == pytest.approx(case.exact, abs=1e-9), seed
    return int(case.exact > 0)


@pytest.mark.parametrize("sums", [{}, {"sums": 0.0}])
@pytest.mark.parametrize("few", [{}, {"words_with_outputs": 0}])
def test_every_cost_by_its_definition(sums: dict[str, float], few: dict[str, int]) -> None:
    """With the weights summed once and at every rate; with the first term of a staircase computed and bounded."""
    with LIMITS.changed(**sums, **few):
        assert sum(check_cost(seed) for seed in range(900_000, 900_150)) > 60


@pytest.mark.soak
@pytest.mark.parametrize("sums", [{}, {"sums": 0.0}])
@pytest.mark.parametrize("few", [{}, {"words_with_outputs": 0}])
def test_every_cost_by_its_definition_many_times(sums: dict[str, float], few: dict[str, int]) -> None:
    with LIMITS.changed(**sums, **few):
        assert sum(check_cost(seed) for seed in range(910_000, 913_000)) > 1200


def test_a_first_term_that_is_forgotten_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test tested: without rate times the cost of two words the loss is too small."""
    real = enumeration.largest_losses

    def without(*given: object) -> tuple[object, ...]:
        return real(*given[:8], 0.0, *given[9:])

    monkeypatch.setattr(enumeration, "largest_losses", without)
    with pytest.raises(AssertionError):
        for seed in range(900_000, 900_150):
            check_cost(seed)
