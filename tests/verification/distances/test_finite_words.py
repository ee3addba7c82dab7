"""Chains that end: δ as a fraction for every α, against all label words counted out one by one."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symveil as sv
from symveil.models.labelled_chain import LabelledChain
from symveil.verification import verify_privacy as module
from symveil.verification.distances.finite_words import finite_words
from symveil.verification.distances.tables import ChainTable, Lumping

from . import oracle
from .chains import ALPHAS, lumping_case


@st.composite
def ending_chains(draw: st.DrawFn) -> LabelledChain:
    """Layers of states with few labels, each leading to the next layer; then the end."""
    layers = [["s", "t"]] + [[f"{depth}{x}" for x in "abc"[: draw(st.integers(1, 3))]] for depth in range(1, 5)]
    labels, rows = {"s": "?", "t": "?", "end": "$"}, [("end", "end", Fraction(1))]
    for here, ahead in zip(layers, [*layers[1:], ["end"]], strict=True):
        for state in here:
            weights = [draw(st.integers(0, 3)) for _ in ahead]
            weights[0] += not any(weights)
            rows += [(state, each, Fraction(w, sum(weights))) for each, w in zip(ahead, weights, strict=True) if w]
        labels |= {each: draw(st.sampled_from("xy")) for each in ahead if each != "end"}
    return LabelledChain.from_transitions(rows, labels=labels, states=tuple(labels), related=[("s", "t")])


@settings(max_examples=40, deadline=None)
@given(chain=ending_chains(), alpha=ALPHAS)
def test_delta_is_that_of_the_words(chain: LabelledChain, alpha: Fraction) -> None:
    verdict = sv.verify_privacy(chain, alpha=alpha, width=1, symmetric=False, ld=False)
    for pair in verdict.pairs:
        assert pair.lv.exact
        assert pair.lv.lower == oracle.seen_difference(chain, pair.source, pair.target, alpha, 6)
        words = {state: oracle.label_words(chain, state, 6) for state in "st"}
        ratios = [
            (mine / theirs) if (theirs := words[pair.target].get(word, Fraction(0))) else None
            for word, mine in words[pair.source].items()
        ]
        assert pair.witness is not None
        seen = {state: _of_prefix(words[state], pair.witness.labels) for state in "st"}
        assert (pair.witness.probability, pair.witness.other) == (seen[pair.source], seen[pair.target])
        if None in ratios:
            assert pair.witness.other == 0 < pair.witness.probability
        else:
            assert pair.witness.probability / pair.witness.other == max(filter(None, ratios))


def _of_prefix(words: dict[tuple[str, ...], Fraction], prefix: tuple[str, ...]) -> Fraction:
    return sum((chance for word, chance in words.items() if word[: len(prefix)] == prefix), start=Fraction(0))


@settings(max_examples=40, deadline=None)
@given(chain=ending_chains(), delta=st.fractions(0, 1, max_denominator=20))
def test_the_smallest_epsilon_is_exact(chain: LabelledChain, delta: Fraction) -> None:
    """δ holds at its e^ε and at no smaller one."""
    found = sv.smallest_epsilon(chain, delta=delta)

    def largest(alpha: Fraction) -> Fraction:
        return max(oracle.seen_difference(chain, *pair, alpha, 6) for pair in (("s", "t"), ("t", "s")))

    if found.alpha is None:
        assert found.infinite
        assert found.upper is None
        assert largest(Fraction(10**12)) > delta
        return
    assert largest(found.alpha) <= delta
    if found.alpha > 1:
        assert largest(max(Fraction(1), found.alpha - Fraction(1, 10**9))) > delta
        assert found.lower is not None
        assert found.upper is not None
        assert found.upper - found.lower < Fraction(1, 10**14)
    else:
        assert (found.lower, found.upper) == (None, 0)


def test_what_goes_round_or_is_too_large_is_left_to_brackets() -> None:
    rows = [("s", "s", "1/2"), ("s", "end", "1/2"), ("t", "end", 1), ("end", "end", 1)]
    chain = LabelledChain.from_transitions(rows, labels={"s": "a", "t": "a", "end": "$"})
    lumping = Lumping.of(ChainTable.of(chain))
    assert finite_words(lumping.table, 0, 2, nodes=1000) is None
    coin = LabelledChain.from_transitions(
        [("s", "h", "1/2"), ("s", "t", "1/2"), ("r", "h", "1/3"), ("r", "t", "2/3"), ("h", "h", 1), ("t", "t", 1)],
        labels={"s": "?", "r": "?", "h": "H", "t": "T"},
    )
    table = ChainTable.of(coin)
    s, r = coin.number["s"], coin.number["r"]
    assert finite_words(table, s, r, nodes=0) is None
    assert finite_words(table, s, r, nodes=1) is not None


def long_round(period: int = 8) -> LabelledChain:
    """Attempts that nearly always succeed at once, with the same chances in two orders, for ever round."""
    rows, labels = [("end", "end", Fraction(1))], {"end": "$"}
    for name, order in (("s", range(period)), ("t", range(period - 1, -1, -1))):
        for place, rank in enumerate(order):
            again = Fraction(rank + 1, 1000)
            labels[f"{name}{place}"] = "try"
            rows += [(f"{name}{place}", "end", 1 - again), (f"{name}{place}", f"{name}{(place + 1) % period}", again)]
    return LabelledChain.from_transitions(rows, labels=labels, related=[("s0", "t0")])


def test_the_smallest_epsilon_goes_on_until_it_is_decided() -> None:
    """The gap is below 1e-8 long before the round is over: a search that stops there proves nothing at δ = 0."""
    chain = long_round()
    assert sv.verify_privacy(chain, epsilon=5, delta=0).holds is True
    found = sv.smallest_epsilon(chain, delta=0)
    # the largest odds are those of four attempts that fail, 8·7·6·5 against 1·2·3·4, and a fifth that does not
    truth = Fraction(8 * 7 * 6 * 5, 24) * Fraction(996, 995)
    assert found.lower is not None
    assert found.upper is not None
    assert found.upper - found.lower <= Fraction(1, 1000)
    assert sv.verify_privacy(chain, alpha=truth, delta=0).holds is True
    assert sv.verify_privacy(chain, alpha=truth - Fraction(1, 10**6), delta=0).holds is False


def test_brackets_merge_bisimilar_states_and_distances_do_not() -> None:
    """Copies of the same states: as many nodes as without copies, the same δ, and an ld of the whole chain."""
    base = long_round(2)
    rows = [
        (f"{source}.{copy}", f"{target}.{(copy + index) % 2}", chance)
        for index, (source, target, chance) in enumerate(base.transitions)
        for copy in range(2)
    ]
    labels = {f"{state}.{copy}": base.label(state) for state in base.states for copy in range(2)}
    chain = LabelledChain.from_transitions(rows, labels=labels)
    plain = sv.verify_privacy(base, alpha="6/5", pairs=[("t0", "s0")], width=0).pairs[0]
    copied = sv.verify_privacy(chain, alpha="6/5", pairs=[("t0.1", "s0.0")], width=0).pairs[0]
    assert plain.lv.exact
    assert 0 < plain.lv.upper < 1
    assert plain.lv == copied.lv
    assert plain.ld is not None
    assert copied.ld is not None
    assert (plain.ld.exact, copied.ld.exact) == (True, True)
    assert plain.ld.value < copied.ld.value  # in copies mass travels between different states, where nothing cancels
    case = lumping_case()
    verdict = sv.verify_privacy(case, alpha="6/5", pairs=[("s", "t")]).pairs[0]
    assert verdict.ld is not None
    assert verdict.ld.value == Fraction(7, 10)
    assert verdict.lv.upper == oracle.seen_difference(case, "s", "t", Fraction(6, 5), 3)


def test_ld_is_left_out_where_delta_is_known_and_pairs_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("s", "end", 1), ("t", "m", "1/2"), ("t", "end", "1/2"), ("m", "end", 1), ("end", "end", 1)]
    labels = {"s": "?", "t": "?", "m": "m", "end": "$"}
    chain = LabelledChain.from_transitions(rows, labels=labels, related=[("s", "t")])
    monkeypatch.setattr(module, "MOST_PAIRS_FOR_LD", 1)
    verdict = sv.verify_privacy(chain, alpha=2, symmetric=False)
    assert [pair.ld for pair in verdict.pairs] == [None, None]
    assert verdict.delta.exact
    assert verdict.document()["pairs"][0]["ld"] is None  # type: ignore[index]
    asked = sv.verify_privacy(chain, alpha=2, symmetric=False, ld=True)
    assert all(pair.ld is not None for pair in asked.pairs)
    # where a bracket needs it, it is there
    assert all(pair.ld is not None for pair in sv.verify_privacy(long_round(3), alpha=2, ld=False).pairs)


def test_fractions_that_nobody_can_read_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long row of coins that differ a little: in the end there are fractions with thousands of digits."""
    rows, labels, length = [("end", "end", Fraction(1))], {"end": "$"}, 6
    for name, chance in (("s", Fraction(1, 3)), ("t", Fraction(3, 10))):
        for k in range(length):
            labels |= {f"{name}{k}": "x", f"{name}{k}!": "y"}
            ahead = [f"{name}{k + 1}", f"{name}{k + 1}!"] if k + 1 < length else ["end", "end"]
            for state in (f"{name}{k}", f"{name}{k}!"):
                moves = {ahead[0]: chance, ahead[1]: 1 - chance} if ahead[0] != ahead[1] else {"end": Fraction(1)}
                rows += [(state, target, each) for target, each in moves.items()]
    chain = LabelledChain.from_transitions(rows, labels=labels, related=[("s0", "t0")])
    exact = sv.verify_privacy(chain, alpha=1, symmetric=False).delta
    assert exact.exact
    monkeypatch.setattr("symveil.verification.distances.finite_words._LONGEST", 4)
    lumping = Lumping.of(ChainTable.of(chain))
    assert finite_words(lumping.table, chain.number["s0"], chain.number["t0"], nodes=1000) is None
    bracket = sv.verify_privacy(chain, alpha=1, symmetric=False).delta
    assert bracket.lower <= exact.lower <= bracket.upper
