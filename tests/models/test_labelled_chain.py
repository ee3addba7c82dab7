"""Labelled chains: what they refuse, and the conversions of C19 Examples 5 and 6."""

from __future__ import annotations

from fractions import Fraction

import pytest

import symveil as sv
from symveil.errors import ModelError
from symveil.examples.paper_systems import pin_checker
from symveil.models.labelled_chain import LabelledChain

COIN = [("c", "h", "1/2"), ("c", "t", "1/2"), ("h", "h", 1), ("t", "t", 1)]
LABELS = {"c": "?", "h": "H", "t": "T"}


def test_structure() -> None:
    chain = LabelledChain.from_transitions(COIN, labels=LABELS, related=[("h", "t")])
    assert chain.states == ("c", "h", "t")
    assert chain.labels == ("?", "H", "T")
    assert chain.label("t") == "T"
    assert chain.pairs() == (("h", "t"), ("t", "h"))
    assert chain == LabelledChain.from_transitions(COIN, labels=LABELS, related=[("h", "t")])
    assert hash(chain) == hash(LabelledChain.from_transitions(COIN, labels=LABELS, related=[("h", "t")]))
    with pytest.raises(AttributeError):
        chain.labels = ("x",)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("rows", "labels", "related", "message"),
    [
        (COIN[1:], LABELS, [], "transitions: expected the probabilities of state 'c' to sum to 1, found 0.5"),
        (COIN, {"c": "?", "h": "H"}, [], "labels: expected a label for state 't', found none"),
        (COIN, {**LABELS, "z": "Z"}, [], "labels['z']: expected a state that occurs in the model, found 'z'"),
        (COIN, {**LABELS, "t": 3}, [], "labels['t']: expected a label name, a string, found 3"),
        (COIN, LABELS, [("c", "q")], "related[0][1]: expected a state that occurs in the model, found 'q'"),
        (COIN, LABELS, [("c",)], "related[0]: expected a pair of states, found ('c',)"),
        (
            COIN[:3],
            LABELS,
            [],
            "transitions: expected a transition from every state; where runs end, one from 't' to itself, "
            "found none from 't'",
        ),
        (
            [("c", "c", "-1")],
            {"c": "?"},
            [],
            "transitions[0][2]: expected a probability above 0 and at most 1, found -1",
        ),
    ],
)
def test_refused(rows: list, labels: dict, related: list, message: str) -> None:
    with pytest.raises(ModelError) as error:
        LabelledChain.from_transitions(rows, labels=labels, related=related)
    assert str(error.value) == message


def test_decimals_that_were_rounded_are_normalised() -> None:
    notes: list[str] = []
    rows = [("c", "h", 0.3333333333), ("c", "t", 0.6666666666), *COIN[2:]]
    chain = LabelledChain.from_transitions(rows, labels=LABELS, notes=notes)
    assert chain.transitions[0][2] == Fraction(1, 3)
    assert notes


def test_labels_on_transitions() -> None:
    """C19 Example 5: ν_s(C_w) = ν'_(s,⊢)(C_⊢w), so the loss is the same, one label later."""
    rows = [("s", "a", "s", "2/3"), ("s", "b", "s", "1/3"), ("t", "a", "t", "1/3"), ("t", "b", "t", "2/3")]
    chain = LabelledChain.from_labelled_transitions(rows)
    assert len(chain.states) == 6
    verdict = sv.verify_privacy(chain, alpha=1, pairs=[("s", "t")], horizon=1, width=0, symmetric=False)
    assert verdict.delta.lower == Fraction(1, 3)
    with pytest.raises(ModelError, match=r"transitions\[0\]: expected four values"):
        LabelledChain.from_labelled_transitions([("s", "a", 1)])  # type: ignore[list-item]


def test_words_that_end() -> None:
    """C19 Example 6: words of length k with probability 2^−k and 3^−k·2: told apart by their length alone."""
    rows = [("s", "s", "1/2"), ("s", "f", "1/2"), ("t", "t", "1/3"), ("t", "f", "2/3")]
    chain = LabelledChain.from_finite_words(rows, labels={"s": "a", "t": "a"})
    assert chain.label("f") == "$"
    # Σ (2^−k − 2·3^−k)⁺ over k ≥ 1 = Σ_{k≥2}: 1/4 + … minus 2(1/9 + …) = 1/2 − 1/3
    assert sv.verify_privacy(chain, alpha=1, pairs=[("s", "t")], width="1e-9").delta.upper == pytest.approx(
        1 / 6, abs=1e-8
    )
    with pytest.raises(ModelError, match="a final state that can be reached from every state, found 'u'"):
        LabelledChain.from_finite_words([*rows, ("u", "u", 1)], labels={"s": "a", "t": "a", "u": "a"})
    with pytest.raises(ModelError, match="another label than the one for the end"):
        LabelledChain.from_finite_words(rows, labels={"s": "$", "t": "a"})


def test_a_label_of_a_final_state_is_part_of_the_word() -> None:
    """Relabelling it with the end would prove δ = 0 for two answers that differ."""
    rows = [("A", "yes", "2/3"), ("A", "no", "1/3"), ("B", "yes", "1/3"), ("B", "no", "2/3")]
    labels = {"A": "?", "B": "?", "yes": "yes", "no": "no"}
    chain = LabelledChain.from_finite_words(rows, labels=labels, related=[("A", "B")])
    assert {state: chain.label(state) for state in labels} == labels
    assert chain.states[-1] == "end"
    assert chain.labels[-1] == "$"
    verdict = sv.verify_privacy(chain, alpha="6/5", delta=0)
    assert verdict.holds is False
    assert verdict.delta.lower == verdict.delta.upper == Fraction(4, 15)


def test_final_states_with_and_without_a_label() -> None:
    rows = [("s", "end", "1/2"), ("s", "f", "1/4"), ("s", "g", "1/4")]
    chain = LabelledChain.from_finite_words(rows, labels={"s": "?", "end": "x", "g": "$"})
    assert dict(zip(chain.states, chain.labels, strict=True)) == {"s": "?", "end": "x", "f": "$", "g": "$", "end'": "$"}
    assert chain.transitions[3:] == (("end", "end'", 1), ("f", "f", 1), ("g", "g", 1), ("end'", "end'", 1))
    with pytest.raises(ModelError, match=r"labels\['end'\]: expected a state that occurs in the model, found 'end'"):
        LabelledChain.from_finite_words([("s", "f", 1)], labels={"s": "?", "f": "x", "end": "y"})
    with pytest.raises(ModelError, match="labels: expected a label for each state, by name"):
        LabelledChain.from_finite_words(rows, labels=["?"])  # type: ignore[arg-type]


def test_it_draws_itself() -> None:
    picture = pin_checker()._repr_svg_()
    assert picture is not None
    assert picture.startswith("<svg")
    assert "0.53" in picture
    many = [f"s{place}" for place in range(60)]
    chain = LabelledChain.from_transitions([(name, name, 1) for name in many], labels=dict.fromkeys(many, "a"))
    assert chain._repr_svg_() is None
