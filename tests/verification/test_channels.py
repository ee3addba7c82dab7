"""Channels: exact ε, δ(ε) and the worst pair, against the definition over all sets of outputs."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symveil as sv
from symveil.errors import ModelError, ParameterError
from symveil.models.labelled_chain import LabelledChain

RESPONSE = [["3/4", "1/4"], ["1/4", "3/4"]]


@st.composite
def matrices(draw: st.DrawFn) -> list[list[Fraction]]:
    width = draw(st.integers(1, 4))
    rows = []
    for _ in range(draw(st.integers(2, 4))):
        weights = [draw(st.integers(0, 4)) for _ in range(width)]
        weights[0] += not any(weights)
        rows.append([Fraction(weight, sum(weights)) for weight in weights])
    return rows


def by_sets(p: list[Fraction], r: list[Fraction], alpha: Fraction) -> Fraction:
    """sup over sets of outputs of P(E) − αR(E), set by set."""
    events = itertools.chain.from_iterable(itertools.combinations(range(len(p)), size) for size in range(len(p) + 1))
    return max(sum((p[y] - alpha * r[y] for y in event), start=Fraction(0)) for event in events)


@settings(max_examples=60, deadline=None)
@given(matrix=matrices(), alpha=st.fractions(1, 6, max_denominator=12))
def test_delta_is_the_largest_over_all_events(matrix: list[list[Fraction]], alpha: Fraction) -> None:
    verdict = sv.verify_privacy(matrix, alpha=alpha)
    assert len(verdict.pairs) == len(matrix) * (len(matrix) - 1)
    for pair in verdict.pairs:
        truth = by_sets(matrix[int(pair.source)], matrix[int(pair.target)], alpha)
        back = by_sets(matrix[int(pair.target)], matrix[int(pair.source)], alpha)
        assert pair.lv.exact
        assert pair.lv.upper == truth
        assert pair.ld is not None
        assert pair.bd is not None
        assert (pair.ld.value, pair.bd.value) == (truth, max(truth, back))
    # and it is what a chain of one step has, with all its machinery
    rows = [(f"i{i}", f"o{o}", p) for i, row in enumerate(matrix) for o, p in enumerate(row) if p]
    shown = sorted({target for _, target, _ in rows})
    labels = {**{f"i{i}": "?" for i in range(len(matrix))}, **{each: each for each in shown}}
    chain = LabelledChain.from_transitions([*rows, *((each, each, Fraction(1)) for each in shown)], labels=labels)
    pairs = [(f"i{pair.source}", f"i{pair.target}") for pair in verdict.pairs]
    for one, other in zip(verdict.pairs, sv.verify_privacy(chain, alpha=alpha, pairs=pairs).pairs, strict=True):
        assert (one.lv.upper, one.ld, one.bd) == (other.lv.upper, other.ld, other.bd)
        assert one.witness is not None
        assert other.witness is not None
        assert one.witness.loss == other.witness.loss


@settings(max_examples=60, deadline=None)
@given(matrix=matrices(), delta=st.fractions(0, 1, max_denominator=12))
def test_the_smallest_epsilon_for_a_delta(matrix: list[list[Fraction]], delta: Fraction) -> None:
    verdict = sv.verify_privacy(matrix, delta=delta)
    pairs = list(itertools.permutations(range(len(matrix)), 2))

    def largest(alpha: Fraction) -> Fraction:
        return max(by_sets(matrix[s], matrix[t], alpha) for s, t in pairs)

    assert verdict.delta.exact
    if verdict.infinite:
        assert verdict.holds is False
        assert verdict.delta.upper == largest(Fraction(10**9)) > delta
        assert verdict.document()["epsilon"] == verdict.document()["alpha"] == "infinity"
    else:
        assert verdict.holds is True
        assert verdict.alpha is not None
        assert verdict.delta.upper == largest(verdict.alpha) <= delta
        assert verdict.alpha == 1 or largest(verdict.alpha - Fraction(1, 10**9)) > delta
    found = sv.smallest_epsilon(sv.Channel.of(matrix), delta=delta)
    assert found.alpha == (None if verdict.infinite else verdict.alpha)
    assert found.infinite == verdict.infinite


def test_every_shape_of_a_table_is_the_same_channel() -> None:
    pandas = pytest.importorskip("pandas")
    plain = sv.Channel.of(RESPONSE)
    assert sv.Channel.of([[Fraction(3, 4), 0.25], (0.25, "0.75")]) == plain
    assert sv.Channel.of(np.array([[0.75, 0.25], [0.25, 0.75]])) == plain
    assert sv.Channel.of({"0": {"0": "3/4", "1": "1/4"}, "1": {"0": "1/4", "1": "3/4"}}) == plain
    assert sv.Channel.of(pandas.DataFrame([[0.75, 0.25], [0.25, 0.75]])) == plain
    rows = [("0", "0", "3/4"), ("0", "1", "1/4"), ("1", "0", "1/4"), ("1", "1", "3/4")]
    assert sv.Channel.from_rows(rows) == plain
    assert sv.Channel.of(pandas.DataFrame(rows, columns=["input", "output", "probability"])) == plain
    named = sv.Channel.of(pandas.DataFrame([[1, 0], [0, 1]], index=["yes", "no"], columns=["y", "n"]))
    assert (named.inputs, named.outputs, named.related) == (("yes", "no"), ("y", "n"), (("yes", "no"),))
    assert sv.verify_privacy(np.array([[0.75, 0.25], [0.25, 0.75]])).alpha == 3


def test_who_is_related() -> None:
    rows = [["1/2", "1/2"]] * 4
    assert len(sv.Channel.of(rows).related) == 6
    assert sv.Channel.of(rows, related=1).related == (("0", "1"), ("1", "2"), ("2", "3"))
    assert sv.Channel.of(rows, inputs=["0", "1/2", "5", "5.25"], related="all").inputs[1] == "1/2"
    assert sv.Channel.of(rows, inputs=["0", "1/2", "5", "5.25"], related=0.5).related == (
        ("0", "1/2"),
        ("5", "5.25"),
    )
    assert sv.Channel.of(rows, related=[(0, 3)]).related == (("0", "3"),)
    near = np.abs(np.subtract.outer(np.arange(4), np.arange(4))) == 2
    assert sv.Channel.of(rows, related=near).related == (("0", "2"), ("1", "3"))
    assert sv.Channel.of(rows, related=lambda one, other: one == "0").related == (("0", "1"), ("0", "2"), ("0", "3"))
    verdict = sv.verify_privacy([["2/3", "1/3"], ["1/2", "1/2"], ["1/3", "2/3"]], related=1)
    assert verdict.alpha == Fraction(3, 2)
    assert sv.verify_privacy([["2/3", "1/3"], ["1/2", "1/2"], ["1/3", "2/3"]]).alpha == 2
    channel = sv.Channel.of(RESPONSE)
    assert sv.verify_privacy(channel, pairs=[("0", "1")]).pairs[0].source == "0"
    assert sv.verify_privacy(channel, related=[("1", "0")]).pairs[0].source == "1"


def test_losses_beyond_floats() -> None:
    tiny = Fraction(1, 10**400)
    verdict = sv.verify_privacy([[tiny, 1 - tiny], [1 - tiny, tiny]])
    assert verdict.alpha == (1 - tiny) / tiny
    assert verdict.document()["epsilon"] == pytest.approx(400 * math.log(10))
    curve = sv.privacy_curve(sv.Channel.of(RESPONSE), alphas=[1, 2, 3])
    assert [verdict.delta.upper for verdict in curve.verdicts] == [Fraction(1, 2), Fraction(1, 4), 0]


def test_an_epsilon_is_enclosed() -> None:
    verdict = sv.verify_privacy(RESPONSE, epsilon=1, delta="1/4")
    assert verdict.holds is True
    assert 0 < verdict.delta.lower < verdict.delta.upper
    assert verdict.delta.upper == pytest.approx((3 - math.e) / 4)
    assert verdict.delta.upper - verdict.delta.lower < Fraction(1, 10**14)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ([["1/2", "1/3"]], {}, "input '0': expected its probabilities to sum to 1 (a third is written 1/3, not 0.333), "
         "found 0.833333333333"),
        ([[0.3, 0.3, 0.3], [1, 0, 0]], {}, "input '0': expected its probabilities to sum to 1 (a third is written 1/3, "
         "not 0.333), found 0.9"),
        ([[1], [1, 0]], {}, "input '1': expected 1 probabilities, one for each output, found 2"),
        ([["x", 1]], {}, "input '0', output '0': expected a probability such as 0.5 or \"1/2\", found 'x'"),
        ([["-1/2", "3/2"]], {}, "input '0', output '0': expected a probability from 0 to 1, found '-1/2'"),
        ([1, 0], {}, "channel: expected a matrix: a row of probabilities for each input, found one row"),
        ([], {}, "rows: expected at least one input, found none"),
        (RESPONSE, {"related": "some"}, "related: expected all, pairs of inputs, or a distance, found 'some'"),
        (RESPONSE, {"related": [("0", "2")]}, "related[0][1]: expected an input of the channel, found '2'"),
        (RESPONSE, {"related": []}, "related: expected at least one pair of related inputs, found none"),
        (RESPONSE, {"alpha": 2, "epsilon": 1}, "alpha: expected either alpha or epsilon, found both"),
        ([["1/2", "1/2"]], {}, "related: expected at least one pair of related inputs, found none"),
        ({"a": 1}, {}, "channel: expected a mapping from outputs to probabilities, found 1"),
    ],
)  # fmt: skip
def test_refused(table: object, options: dict[str, object], message: str) -> None:
    with pytest.raises((ModelError, ParameterError)) as error:
        sv.verify_privacy(table, **options)  # type: ignore[arg-type]
    assert str(error.value) == message


def test_related_is_for_channels() -> None:
    chain = LabelledChain.from_transitions([("p", "p", 1)], labels={"p": "a"})
    with pytest.raises(ParameterError, match="related: expected a channel with it"):
        sv.verify_privacy(chain, alpha=2, related="all")
    with pytest.raises(ModelError, match="sum to 1"):
        sv.Channel(inputs=("a",), outputs=("x",), rows=((Fraction(1, 2),),))


def test_decimals_that_were_rounded_are_normalised_and_it_is_said() -> None:
    notes: list[str] = []
    channel = sv.Channel.of([[0.3333333333, 0.6666666667], [0.1, 0.9], [0.2, 0.7999999999]], notes=notes)
    assert notes == ["the probabilities of 1 input were normalised to sum to exactly 1"]
    assert sum(channel.rows[2]) == 1
