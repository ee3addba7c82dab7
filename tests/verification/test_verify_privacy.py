"""`verify_privacy`: verdicts, enclosures of e^ε, options, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import symveil as sv
from symveil.errors import ModelError, ParameterError
from symveil.examples.paper_systems import pin_checker, randomised_response
from symveil.numbers.conversions import ball, log_upper_bound, precision
from symveil.numbers.rationals import at_least
from symveil.verification.distances.bracket import Bracket
from symveil.verification.privacy_verdict import Bound, shown_bound
from symveil.verification.privacy_verdict import shown as shown_value

from .distances.chains import lumping_case, rare_event, relay_case


def test_holds_only_what_the_bracket_decides() -> None:
    chain = pin_checker()
    true_delta = Fraction(791, 37545)
    assert sv.verify_privacy(chain, alpha="6/5").holds is None
    assert sv.verify_privacy(chain, alpha="6/5", delta=true_delta).holds is True
    assert sv.verify_privacy(chain, alpha="6/5", delta=true_delta - Fraction(1, 10**9)).holds is False
    undecided = sv.verify_privacy(chain, alpha="6/5", delta=true_delta, horizon=4)
    assert undecided.delta.lower < true_delta < undecided.delta.upper
    assert undecided.holds is None


def test_what_a_distance_proves_is_proved() -> None:
    """The bracket of a chain for floats has rounding in it; ld, where it is exact, has none."""
    verdict = sv.verify_privacy(rare_event(Fraction(1, 100)), alpha="6/5", pairs=[("t", "s")], delta=0)
    assert verdict.pairs[0].ld is not None
    assert verdict.pairs[0].ld.value == 0
    assert verdict.delta.upper == 0
    assert verdict.holds is True
    exactly = sv.verify_privacy(rare_event(Fraction(1, 100)), alpha="6/5", pairs=[("s", "t")], delta="1/100")
    assert exactly.holds is True
    below = sv.verify_privacy(rare_event(Fraction(1, 100)), alpha="6/5", pairs=[("s", "t")], delta="0.00999999")
    assert below.holds is False


def test_epsilon_is_enclosed_on_the_sound_side() -> None:
    verdict = sv.verify_privacy(randomised_response(), epsilon="1/2")
    assert verdict.alpha is None
    assert verdict.alpha_below < verdict.alpha_above
    assert math.log(verdict.alpha_below) <= 0.5 <= math.log(verdict.alpha_above) + 1e-15
    true_delta = 2 / 3 - math.exp(0.5) / 3
    assert float(verdict.delta.lower) == pytest.approx(true_delta, abs=1e-14)
    assert verdict.delta.lower < verdict.delta.upper < verdict.delta.lower + Fraction(1, 10**14)
    pair = verdict.pairs[0]
    assert pair.ld is not None
    assert not pair.ld.exact  # of e^(1/2) nothing is known exactly
    assert pair.ld.value >= verdict.delta.lower
    document = verdict.document()
    assert document["epsilon"] == 0.5
    assert "alpha_exact" not in document
    assert "ld_exact" not in document["pairs"][0]  # type: ignore[index]


def test_related_states_count_in_both_directions_and_pairs_as_given() -> None:
    chain = pin_checker()
    assert [(pair.source, pair.target) for pair in sv.verify_privacy(chain, alpha=1).pairs] == [("0", "1"), ("1", "0")]
    one_way = sv.verify_privacy(chain, alpha="6/5", pairs=[("0", "1")])
    assert [(pair.source, pair.target) for pair in one_way.pairs] == [("0", "1")]
    assert one_way.delta.upper == 0 < sv.verify_privacy(chain, alpha="6/5").delta.lower


def test_named_options_say_what_they_are() -> None:
    lumped = sv.verify_privacy(lumping_case(), alpha="6/5", pairs=[("s", "t")], on_lumped=True)
    plain = sv.verify_privacy(lumping_case(), alpha="6/5", pairs=[("s", "t")])
    assert (lumped.pairs[0].ld.value, plain.pairs[0].ld.value) == (Fraction(16, 25), Fraction(7, 10))  # type: ignore[union-attr]
    assert lumped.delta == plain.delta or lumped.delta.upper == plain.delta.upper
    assert lumped.document()["lumped"] is True
    assert "lumped" not in plain.document()
    support = sv.verify_privacy(relay_case(with_relay=True), alpha="6/5", pairs=[("s", "t")], support_only=True)
    assert support.pairs[0].ld is None
    assert support.pairs[0].support_only is not None
    assert support.pairs[0].support_only.value == Fraction(3, 125)
    entry = support.document()["pairs"][0]  # type: ignore[index]
    assert entry["ld"] is None
    assert entry["support_only"] == pytest.approx(0.024)
    assert entry["support_only_exact"] == "3/125"


def test_documents() -> None:
    document = sv.verify_privacy(randomised_response(), alpha="6/5", delta="0.3").document()
    assert {"alpha", "epsilon", "pairs", "delta", "holds"} <= document.keys()
    assert document["alpha_exact"] == "6/5"
    assert document["epsilon"] == pytest.approx(math.log(1.2))
    assert document["holds"] is True
    entry = document["pairs"][0]  # type: ignore[index]
    assert {"from", "to", "lv", "ld", "lgd", "bd"} <= entry.keys()
    assert {"lower", "upper"} <= entry["lv"].keys()
    assert entry["lv_exact"] == entry["ld_exact"] == entry["lgd_exact"] == "4/15"
    assert entry["lv"]["lower"] <= 4 / 15 <= entry["lv"]["upper"]
    assert Fraction(entry["ld"]) >= Fraction(4, 15)  # a decimal is never below what it stands for
    assert Fraction(entry["lv"]["lower"]) <= Fraction(4, 15)
    assert document["delta_exact"] == "4/15"


@pytest.mark.parametrize("alpha", ["43/40", "6/5", "1000001/1000000", "3", "999999999999"])
def test_the_epsilon_of_an_alpha_is_rounded_upwards(alpha: str) -> None:
    """e^ε in balls of 300 bits is not below α; and two floats further down it is."""
    value = Fraction(alpha)
    shown = at_least(log_upper_bound(value))
    with precision(300):
        assert (ball(Fraction(shown)).exp() - ball(value)).lower() >= 0
        one_less = Fraction(math.nextafter(math.nextafter(shown, 0), 0))
        assert (ball(one_less).exp() - ball(value)).upper() < 0  # and not farther than it has to be
    assert at_least(log_upper_bound(Fraction(1))) == 0


@pytest.mark.parametrize("digits", [8, 20, 330, 400])
def test_what_is_printed_is_never_below_what_was_proved(digits: int) -> None:
    for value in (Fraction(1, 10**digits + 1), Fraction(2, 3) + Fraction(1, 10**digits), Fraction(1, 10**digits)):
        for text in (
            shown_value(Bracket(lower=value, upper=value, nodes=1)),
            shown_bound(Bound(value=value, exact=True)),
        ):
            assert value <= Fraction(text) <= value * (1 + Fraction(1, 10**8))
    verdict = sv.verify_privacy(rare_event(Fraction(1, 10**400)), alpha="6/5", pairs=[("s", "t")])
    assert shown_bound(verdict.pairs[0].ld) == "1e-400"


def test_it_prints_and_draws_itself() -> None:
    verdict = sv.verify_privacy(randomised_response(), alpha="6/5", delta="0.3")
    assert "4/15" in str(verdict)
    assert "yes" in str(verdict)
    assert "<table>" in verdict._repr_html_()


def test_states_of_different_labels_are_told_apart_at_once() -> None:
    verdict = sv.verify_privacy(randomised_response(), alpha=5, pairs=[("A", "a")])
    assert verdict.delta.exact
    assert verdict.delta.upper == 1
    assert sv.verify_privacy(randomised_response(), alpha=1, pairs=[("A", "A")]).delta.upper == 0


def test_large_alpha() -> None:
    verdict = sv.verify_privacy(randomised_response(), alpha=10**12)
    assert verdict.delta.upper == 0
    assert sv.verify_privacy(randomised_response(), epsilon=27).holds is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": "0.99"}, "alpha: expected a number, 1 or more, such as 1.2 or 6/5, found 0.99"),
        ({"alpha": "x"}, "alpha: expected a number, 1 or more, such as 1.2 or 6/5, found 'x'"),
        ({"alpha": 10**13}, "alpha: expected at most 10^12, found 10000000000000"),
        ({"epsilon": 0}, "epsilon: expected a number above 0 such as 0.5 or 1/2, found 0"),
        ({"epsilon": 100}, "epsilon: expected at most 27.6, where e^epsilon is 10^12, found 100"),
        ({}, "alpha: expected either alpha or epsilon, found neither"),
        ({"alpha": 2, "epsilon": 1}, "alpha: expected either alpha or epsilon, found both"),
        ({"alpha": 2, "delta": "1.5"}, "delta: expected a number from 0 to 1 such as 0.01 or 1/100, found 1.5"),
        ({"alpha": 2, "width": -1}, "width: expected a number from 0 to 1 such as 0.01 or 1/100, found -1"),
        ({"alpha": 2, "nodes": 0}, "nodes: expected a whole number, 1 or more, found 0"),
        ({"alpha": 2, "horizon": -1}, "horizon: expected a whole number, 0 or more, found -1"),
    ],
)
def test_refused_parameters(options: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError) as error:
        sv.verify_privacy(pin_checker(), **options)  # type: ignore[arg-type]
    assert str(error.value) == message


def test_refused_pairs() -> None:
    with pytest.raises(ModelError, match=r"pairs\[0\]\[1\]: expected a state that occurs in the model, found 'nobody'"):
        sv.verify_privacy(pin_checker(), alpha=2, pairs=[("0", "nobody")])
    loop = sv.LabelledChain.from_transitions([("p", "p", 1)], labels={"p": "a"})
    with pytest.raises(ModelError, match="pairs: expected at least one pair of states"):
        sv.verify_privacy(loop, alpha=2)
    with pytest.raises(ParameterError, match="chain: expected a labelled chain, found str"):
        sv.verify_privacy("chain.json", alpha=2)  # type: ignore[arg-type]
