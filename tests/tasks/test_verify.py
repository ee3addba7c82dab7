"""Curves, the smallest ε, and composition."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest

import symveil as sv
from symveil.errors import ModelError, ParameterError
from symveil.examples.paper_systems import pin_checker, randomised_response
from symveil.tasks.verify import compose, privacy_curve
from symveil.verification.smallest_epsilon import smallest_epsilon


def test_curves_fall_and_lie_below_their_bounds(tmp_path: Path) -> None:
    curve = privacy_curve(pin_checker(), alphas=["1.2", 1, "1.1"])
    assert curve.epsilons == pytest.approx([0, math.log(1.1), math.log(1.2)])
    deltas = [verdict.delta.upper for verdict in curve.verdicts]
    assert deltas == sorted(deltas, reverse=True)
    curve.draw(tmp_path / "c.svg")
    text = (tmp_path / "c.svg").read_text()
    assert "<svg" in text
    curve.draw(tmp_path / "c.json")
    assert len(json.loads((tmp_path / "c.json").read_text())["points"]) == 3
    by_epsilon = privacy_curve(pin_checker(), epsilons=["0.1"])
    assert by_epsilon.verdicts[0].delta.upper < deltas[0]


def test_refused_curves(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="alphas: expected either alphas or epsilons"):
        privacy_curve(pin_checker())
    with pytest.raises(ParameterError, match="points: expected 1 to 1000 of them, found 0"):
        privacy_curve(pin_checker(), alphas=[])
    with pytest.raises(ParameterError, match=r"a file name ending in .svg, .png or .pdf"):
        privacy_curve(pin_checker(), alphas=[1]).draw(tmp_path / "c.gif")


def test_states_whose_names_meet_when_put_together_stay_apart() -> None:
    """a and b|c, a|b and c: both are a|b|c."""

    def answer(yes: str, no: str) -> sv.LabelledChain:
        rows = [(yes, "1", "2/3"), (yes, "0", "1/3"), (no, "1", "1/3"), (no, "0", "2/3"), ("1", "end", 1)]
        labels = {yes: "?", no: "?", "1": "1", "0": "0", "end": "$"}
        return sv.LabelledChain.from_transitions(
            [*rows, ("0", "end", 1), ("end", "end", 1)], labels=labels, related=[(yes, no)]
        )

    both = compose(answer("a", "a|b"), answer("c", "b|c"), respondents="same")
    assert len(both.states) == len(compose(answer("a", "b"), answer("c", "d"), respondents="same").states)
    assert sv.verify_privacy(both, alpha="36/25").delta.upper == Fraction(64, 225)


def test_a_question_is_pursued_until_it_is_decided() -> None:
    """δ lies within 1e-4 of what is asked: the bracket goes on, unless a width says where it may stop."""
    loops = [("s", "s", "9/10"), ("s", "x", "1/10"), ("t", "t", "8/10"), ("t", "x", "2/10"), ("x", "x", 1)]
    chain = sv.LabelledChain.from_transitions(loops, labels={"s": "a", "t": "a", "x": "b"})
    pairs = [("s", "t")]
    narrow = sv.verify_privacy(chain, alpha="3/2", pairs=pairs, width="1e-12").delta
    asked = [narrow.lower - Fraction(1, 10**6), narrow.upper + Fraction(1, 10**6)]
    assert [sv.verify_privacy(chain, alpha="3/2", pairs=pairs, delta=each).holds for each in asked] == [False, True]
    wide = [sv.verify_privacy(chain, alpha="3/2", pairs=pairs, delta=each, width="1e-2").holds for each in asked]
    assert None in wide


def test_smallest_epsilon() -> None:
    chain = randomised_response()
    found = smallest_epsilon(chain, delta=0)
    assert found.lower is not None
    assert found.upper is not None
    assert found.lower < math.log(2) <= found.upper <= found.lower + Fraction(1, 1000)
    # δ(ε) = 2/3 − e^ε/3, so δ = 4/15 at e^ε = 6/5
    at = smallest_epsilon(chain, delta="4/15", precision="1e-5")
    assert at.lower is not None
    assert at.upper is not None
    assert at.lower <= math.log(1.2) <= at.upper + 1e-12
    assert at.upper - at.lower <= Fraction(1, 10**5)
    none_needed = smallest_epsilon(chain, delta="1/2")
    assert (none_needed.lower, none_needed.upper) == (None, 0)
    with pytest.raises(ParameterError, match="precision: expected a number above 0"):
        smallest_epsilon(chain, delta=0, precision=0)


def test_the_smallest_epsilon_of_a_mechanism() -> None:
    compiled = sv.Exponential(sv.words("ab", 2), epsilon=1).release_chain(["ab", "aa"])
    found = smallest_epsilon(compiled, delta=0, precision="0.01")
    assert found.lower is not None
    assert found.upper is not None
    assert found.lower <= 1 <= found.upper <= found.lower + Fraction(1, 100)
    curve = privacy_curve(compiled, epsilons=["0.5", 1])
    assert curve.verdicts[0].delta.lower > curve.verdicts[1].delta.upper


def test_what_no_epsilon_can_hide() -> None:
    chain = sv.LabelledChain.from_transitions(
        [("s", "a", "1/2"), ("s", "b", "1/2"), ("t", "a", 1), ("a", "a", 1), ("b", "b", 1)],
        labels={"s": "?", "t": "?", "a": "a", "b": "b"},
        related=[("s", "t")],
    )
    found = smallest_epsilon(chain, delta="0.1")
    assert found.upper is None
    assert found.document()["epsilon"]["upper"] is None  # type: ignore[index]


def test_compositions() -> None:
    single = randomised_response()
    two = compose(single, single)
    assert len(two.related) == 4
    assert len(compose(single, single, respondents="same").related) == 6
    # the state x|y shows what x shows, and then what y shows
    verdict = sv.verify_privacy(two, alpha=1, pairs=[("A|A", "B|B")])
    # total variation of two independent answers: (4/9 − 1/9) = 1/3
    assert verdict.delta.upper == Fraction(1, 3)
    three = compose(two, single)
    assert sv.verify_privacy(three, alpha="6/5", pairs=[("A|A|A", "A|B|A")]).delta.upper == Fraction(4, 15)


def test_refused_compositions() -> None:
    with pytest.raises(ParameterError, match="respondents: expected disjoint or same, found both"):
        compose(pin_checker(), pin_checker(), respondents="both")
    endless = sv.LabelledChain.from_transitions([("a", "b", 1), ("b", "a", 1)], labels={"a": "x", "b": "y"})
    with pytest.raises(ModelError, match="first: expected exactly one state that is never left"):
        compose(endless, pin_checker())
