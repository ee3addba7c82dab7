"""Words that obey rules: the law given the rules, against all words written out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import symveil as sv
from central.test_word_law import laws, written_out
from symveil.central.rules import RuledLaw, Rules
from symveil.central.word_law import Support, no_parameters
from symveil.estimation.table import Batch
from symveil.languages.graph import Model
from symveil.randomness import NotPrivateSeededBits

NAMES = "abcd"


@st.composite
def models(draw) -> Model:
    """Automata over some of the symbols, with silent moves and several runs of a word, and chains."""
    states, symbols = ["0", "1", "2"], draw(st.sampled_from(["ab", "abcd", "dax"]))
    if draw(st.booleans()):
        row = st.tuples(*map(st.sampled_from, (states, [*symbols, None], states)))
        rows = draw(st.sets(row))
        rows |= {("0", symbols[0], draw(st.sampled_from(states)))}
        accepting = draw(st.lists(st.sampled_from(states), min_size=1, unique=True))
        return sv.Automaton.from_transitions(sorted(rows, key=str), initial="0", accepting=accepting, states=states)
    targets = {symbol: sorted(draw(st.sets(st.sampled_from(symbols), min_size=1))) for symbol in symbols}
    moves = [(one, other, f"1/{len(those)}") for one, those in targets.items() for other in those]
    return sv.MarkovChain.from_transitions(
        moves, initial=draw(st.sampled_from([None, symbols[0]])), states=list(symbols)
    )


def accepts(model: Model, word: str) -> bool:
    """By the definition: follow all runs."""
    if isinstance(model, sv.MarkovChain):
        moves = {(one, other) for one, other, _ in model.transitions}
        path = word if model.initial is None else model.initial + word
        return set(word) <= set(model.states) and all(pair in moves for pair in pairwise(path))

    def closed(states: set[str]) -> set[str]:
        while True:
            grown = states | {to for one, symbol, to in model.transitions if symbol is None and one in states}
            if grown == states:
                return states
            states = grown

    states = closed({model.initial})
    for letter in word:
        states = closed({to for one, symbol, to in model.transitions if symbol == letter and one in states})
    return bool(states & set(model.accepting))


def obeying(law, rules: Rules) -> dict[tuple[int, ...], float]:
    """Every word that obeys the rules, with its weight."""
    return {
        word: weight
        for word, *_, weight in written_out(*law)
        if all(word.count(code) <= 1 for code in rules.once)
        and all(accepts(model, "".join(NAMES[code] for code in word)) for model in rules.constraints)
    }


@given(laws(), st.lists(models(), min_size=1, max_size=2))
@settings(max_examples=120)
def test_the_product_with_automata(law, constraints) -> None:
    support, parameters = law
    rules = Rules(constraints=tuple(constraints))
    weights = obeying(law, rules)
    if not weights:
        with pytest.raises(sv.SymveilError, match="constraint: expected a word of the public lengths that the"):
            RuledLaw.of(support, parameters, rules, NAMES).trellis()
        return
    own = RuledLaw.of(support, parameters, rules, NAMES)
    trellis = own.trellis()
    assert trellis.log_total == pytest.approx(np.log(sum(weights.values())), abs=1e-9)
    means = trellis.expected().means
    starts, lengths = np.zeros(support.symbols), no_parameters(support)["lengths"]
    for word, weight in weights.items():
        starts[word[0]] += weight / sum(weights.values())
        lengths[len(word) - support.shortest] += weight / sum(weights.values())
    found = np.bincount(own.symbol, weights=means["starts"], minlength=support.symbols)
    assert found == pytest.approx(starts, abs=1e-9) and means["lengths"] == pytest.approx(lengths, abs=1e-9)


@given(laws(), st.lists(models(), max_size=1), st.sets(st.integers(0, 3)), st.integers(0, 10**6))
@settings(max_examples=60)
def test_only_words_that_obey_are_drawn_and_no_other_is_refused(law, constraints, once, seed) -> None:
    support, parameters = law
    rules = Rules(once=tuple(code for code in sorted(once) if code < support.symbols), constraints=tuple(constraints))
    weights, before = obeying(law, rules), obeying(law, Rules(constraints=tuple(constraints)))
    if weights:
        codes, lengths = RuledLaw.of(support, parameters, rules, NAMES).draw(40, NotPrivateSeededBits(seed))
        drawn = [tuple(word.tolist()) for word in np.split(codes, np.cumsum(lengths)[:-1])]
        assert len(drawn) == 40 and set(drawn) <= set(weights)
    elif before:
        with pytest.raises(sv.SymveilError, match="rules: expected a word of the public lengths in which no symbol"):
            RuledLaw.of(support, parameters, rules, NAMES).draw(40, NotPrivateSeededBits(seed))
    words = [word for word, *_ in written_out(support, parameters)]
    batch = Batch(
        np.array([code for word in words for code in word], dtype=np.int32),
        np.array([len(word) for word in words], dtype=np.int64),
        np.zeros(len(words), dtype=np.int64),
    )
    legal = rules.legal(batch, NAMES[: support.symbols]).tolist()
    assert [word for word, own in zip(words, legal, strict=True) if own] == [word for word in words if word in weights]


def test_words_are_drawn_as_often_as_the_law_given_the_rules_says() -> None:
    """Pearson's test over all words that obey: 20,000 draws by a fixed seed, at 1e-6; another law is rejected."""
    zone = np.array([0, 1, 1])
    support = Support.of(symbols=3, graph=None, zone=zone, shortest=1, longest=4)
    parameters = no_parameters(support)
    parameters["moves"][:] = np.linspace(-1, 1, 9)
    parameters["od"][:] = [0.3, -0.3, 0.8, 0.0]
    later = sv.Automaton.from_transitions(  # no c before a b
        [("0", "a", "0"), ("0", "b", "1"), ("1", "a", "1"), ("1", "b", "1"), ("1", "c", "1")],
        initial="0", accepting=["0", "1"],
    )  # fmt: skip
    rules = Rules(once=(0,), constraints=(later,))
    codes, lengths = RuledLaw.of(support, parameters, rules, NAMES).draw(20_000, NotPrivateSeededBits(5))
    drawn = Counter(tuple(word.tolist()) for word in np.split(codes, np.cumsum(lengths)[:-1]))

    def p_value(own) -> float:
        weights = obeying((support, own), rules)
        assert set(drawn) <= set(weights)
        expected = [20_000 * weight / sum(weights.values()) for weight in weights.values()]
        return float(stats.chisquare([drawn[word] for word in weights], expected).pvalue)

    assert p_value(parameters) > 1e-6 > p_value(no_parameters(support))


def test_words_that_are_hardly_ever_drawn_are_found_by_the_sets_of_visited_symbols() -> None:
    """The same law, as Pearson's test sees it, where rejection would have to throw away all but one of e^20 words."""
    support = Support.of(symbols=3, graph=None, zone=np.zeros(3, dtype=np.int64), shortest=1, longest=9)
    parameters = no_parameters(support)
    parameters["moves"][:] = np.linspace(-1, 1, 9)
    parameters["lengths"][3:] = 20.0
    law = RuledLaw.of(support, parameters, Rules(once=(0, 1, 2)), NAMES)
    codes, lengths = law.draw(5000, NotPrivateSeededBits(1))
    drawn = Counter(tuple(word.tolist()) for word in np.split(codes, np.cumsum(lengths)[:-1]))
    short = replace(support, longest=3)
    weights = obeying((short, parameters), law.rules)
    expected = [5000 * weight / sum(weights.values()) for weight in weights.values()]
    assert len(weights) == 15
    assert stats.chisquare([drawn[word] for word in weights], expected).pvalue > 1e-6


def test_too_many_sets_of_visited_symbols_are_refused_in_one_line() -> None:
    support = Support.of(symbols=70, graph=None, zone=np.zeros(70, dtype=np.int64), shortest=60, longest=60)
    law = RuledLaw.of(support, no_parameters(support), Rules(once=tuple(range(70))), [str(n) for n in range(70)])
    with pytest.raises(sv.SymveilError, match=r"^rules: expected more than one word of 1,000 in which no symbol is"):
        law.draw(3, NotPrivateSeededBits(1))
