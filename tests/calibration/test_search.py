"""The search for a rate: whatever the loss does, what it returns was proved, and it is the largest there is."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symveil.calibration.costs.pairs import pairs_of_public_words
from symveil.calibration.rates import CertifiedSearch
from symveil.calibration.search import ProvedLoss, SearchedRate, largest_rate, rounded_down
from symveil.calibration.weighting import Weighting
from symveil.languages.costs import hamming
from symveil.languages.runs import runs
from symveil.models.markov_chain import MarkovChain

EPSILON = Fraction(2)
SAFE, LIMIT = EPSILON / 2, EPSILON  # adjacency 1: between the classic rate and the one that loses η alone


def search(loss_at, *, evaluations: int = 40, tolerance: Fraction = Fraction(1, 10**4)) -> SearchedRate | None:
    return largest_rate(
        loss_at, epsilon=EPSILON, safe=SAFE, slope=1, limit=LIMIT, tolerance=tolerance, evaluations=evaluations
    )


@given(st.dictionaries(st.fractions(0, 3), st.fractions(0, 5), max_size=6), st.fractions(0, 5), st.integers(1, 12))
def test_what_is_found_was_evaluated_and_is_within_the_budget(steps, otherwise, evaluations) -> None:
    """Also for a loss that jumps up and down: any rate it returns was itself proved."""
    asked: dict[Fraction, Fraction] = {}

    def loss_at(rate: Fraction) -> Fraction:
        asked[rate] = next((loss for start, loss in sorted(steps.items()) if rate <= start), otherwise)
        return asked[rate]

    found = search(loss_at, evaluations=evaluations)
    assert len(asked) <= evaluations
    if found is not None:
        assert asked[found.rate] == found.loss <= EPSILON
        assert SAFE < found.rate <= LIMIT
        assert found.rate == max(rate for rate, loss in asked.items() if loss <= EPSILON)


@pytest.mark.parametrize("place", ["1.2", "1.5", "1.7890123", "1.95"])
def test_a_jump_is_found_from_below(place: str) -> None:
    jump = Fraction(place)
    found = search(lambda rate: rate / 2 if rate <= jump else EPSILON + rate, evaluations=200)
    assert found is not None
    assert jump * (1 - Fraction(1, 10**4)) <= found.rate <= jump


@pytest.mark.parametrize("bend", ["0", "1/10", "1/3", "1/2"])
def test_the_budget_is_spent_up_to_the_tolerance(bend: str) -> None:
    """A loss like that of real systems: η at small rates, steeper at large ones."""
    found = search(lambda rate: rate + Fraction(bend) * rate**2)
    assert found is not None
    assert EPSILON * (1 - Fraction(1, 10**4)) <= found.loss <= EPSILON


def test_where_nothing_is_better_than_the_classic_rate() -> None:
    asked: list[Fraction] = []

    def classic(rate: Fraction) -> Fraction:
        asked.append(rate)
        return 2 * rate

    assert search(classic) is None
    assert len(asked) == 2  # the classic bound twice: the rest is not worth the time
    assert search(lambda _: EPSILON * 2) is None


def test_a_loss_of_nothing_allows_everything() -> None:
    assert search(lambda _: Fraction(0)) == SearchedRate(LIMIT, Fraction(0))


@given(st.fractions(0, 10**9))
def test_rates_are_rounded_towards_zero_to_seven_digits(rate: Fraction) -> None:
    rounded = rounded_down(rate)
    assert rounded <= rate
    assert rate - rounded < rate / 10**6 or rate == 0
    digits = (rounded.numerator * 10**60 // rounded.denominator) if rounded else 0
    assert rounded == 0 or len(str(digits).rstrip("0")) <= 7
    assert rounded_down(-rate) == 0


# --- what a search keeps ----------------------------------------------------------------------------


def _plain() -> Weighting:
    words = runs(MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)]), 9)
    return Weighting(language=words, cost=hamming(words), adjacency=2)


class _Asked(CertifiedSearch):
    """A search that proves whatever it is asked, and remembers what that was."""

    def next_rate(self) -> None:
        pytest.fail("a search")

    def proved(self, rate: Fraction) -> ProvedLoss:
        self.tried.append((rate, ProvedLoss(rate, "certified")))
        return self.tried[-1][1]


def test_a_bracket_lies_between_what_is_proved_and_what_failed_or_is_ruled_out() -> None:
    bracket, loss = _Asked(_plain(), Fraction(4)), ProvedLoss(Fraction(5), "certified")
    assert (bracket.lowest, bracket.highest) == (bracket.classic, bracket.limit) == (1, 2)
    bracket.fail(Fraction(19, 10), loss)
    bracket.fail(Fraction(39, 20), loss)  # a larger one says nothing new
    bracket.succeed(Fraction(3, 2), ProvedLoss(Fraction(39, 10), "certified"))
    bracket.succeed(Fraction(5, 4), ProvedLoss(Fraction(3), "certified"))  # nor does a smaller one
    assert (bracket.lowest, bracket.highest) == (Fraction(3, 2), Fraction(19, 10))
    bracket.pairs = pairs_of_public_words(bracket.weighting, bracket.limit)
    assert bracket.highest == min(bracket.ruled_out(), Fraction(19, 10))
    assert bracket.rules_out(bracket.limit) is (bracket.ruled_out() < bracket.limit)
    found = bracket.certificate(*bracket.best)
    assert (found.rate, found.loss, found.how) == (Fraction(3, 2), Fraction(39, 10), "certified")
    assert found.worst_found == max(bracket.losses_at(Fraction(3, 2)))
    assert found.ruled_out == float(bracket.ruled_out())


@pytest.mark.parametrize(("claimed", "proved"), [("3/4", False), ("1", True), ("3/2", True), ("2", True), ("9", False)])
def test_a_claimed_rate_is_proved_if_a_search_can_have_ended_with_it(claimed: str, proved: bool) -> None:
    search = _Asked(_plain(), Fraction(4))
    search.most = Fraction(2)
    assert (search.answer(Fraction(claimed)) is not None) is proved
    assert [rate for rate, _ in search.tried] == [Fraction(claimed)] * proved
