"""The cost automaton as what passes compute with: both directions against the list of all words."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import symveil as sv
from symveil.languages.costs import CostSteps, SymbolCosts, hamming
from symveil.languages.run_weights import RunWeights
from symveil.trellis.passes import Trellis, backward, forward, through_edges
from symveil.trellis.semirings import RATIONALS, ByDistance


def case(period: int, first_step: int, length: int) -> tuple[RunWeights, np.ndarray]:
    chain = sv.MarkovChain.from_transitions(
        [("a", "a", "1/2"), ("a", "b", "1/4"), ("a", "c", "1/4"), ("b", "a", "1/3"), ("b", "c", "2/3"), ("c", "b", 1)]
    )
    language = sv.runs(chain, length=length)
    cost = hamming(language).staircase(period=period, first_step=first_step)
    return RunWeights(language=language, rate=Fraction(1), cost=cost), language.enumerate_codes(at_most=1000)


@pytest.mark.parametrize("length", [0, 1, 4])
@pytest.mark.parametrize(("period", "first_step"), [(1, 1), (2, 1), (3, 2), (3, 3)])
def test_passes_are_sums_over_all_words(period: int, first_step: int, length: int) -> None:
    weights, words = case(period, first_step, length)
    graph, costs, base = weights.graph, weights.costs, Fraction(1, 3)
    kappa = np.array([[base ** int(drop) for drop in row] for row in costs.drops], dtype=object)
    chances = np.array(graph.prior, dtype=object)
    steps = CostSteps(costs, RATIONALS, kappa)
    for word in words[:: max(len(words) // 3, 1)]:
        of_word = [base ** int(drop) for drop in costs.drop(word, words)]
        prior = [Fraction(np.prod(chances[edges])) for edges in weights.language.walk_edges(words)]
        total = sum((one * two for one, two in zip(of_word, prior, strict=True)), start=Fraction(0))
        levels = [costs.levels(position, word[position], graph.symbol) for position in range(length)]
        trellis = Trellis(
            edges=graph, length=length, semiring=steps, final=steps.ends(graph.accepting),
            worth=lambda position, levels=levels: (levels[position], chances),
        )  # fmt: skip
        assert backward(trellis)[0][graph.start, costs.start_phase] == total
        start = steps.ends(np.zeros(graph.state_count, dtype=np.bool_))
        start[graph.start, costs.start_phase] = Fraction(1)
        *_, last = forward(trellis, start)
        assert last[graph.accepting].sum() == total
        for position, values in enumerate(through_edges(trellis, start)):
            assert values.sum() == total
            for symbol in range(len(graph.alphabet)):
                shares = zip(words[:, position], of_word, prior, strict=True)
                expected = sum((one * two for code, one, two in shares if code == symbol), start=Fraction(0))
                assert values[graph.symbol == symbol].sum() == expected
        far = ByDistance(steps)
        near = Trellis(
            edges=graph, length=length, semiring=far, final=far.ends(graph.accepting),
            worth=lambda position, levels=levels, word=word: (
                graph.symbol != word[position], (levels[position], chances)
            ),
        )  # fmt: skip
        by_distance = backward(near)[0][graph.start, costs.start_phase]
        for distance in range(length + 1):
            at = (words != word).sum(axis=1) == distance
            expected = sum(
                (one * two for one, two, there in zip(of_word, prior, at, strict=True) if there), start=Fraction(0)
            )
            assert by_distance[distance] == expected


def test_what_may_not_stand_for_another_is_impossible() -> None:
    weights, words = case(1, 1, 3)
    graph = weights.graph
    own = SymbolCosts(np.arange(4, dtype=np.int64), np.arange(3, dtype=np.int32), np.zeros(3, np.int32))
    costs = type(weights.costs)(name="own", values=(Fraction(0),), far=-1, metrics=(own,), metric_of=(0, 0, 0))
    steps = CostSteps(costs, RATIONALS, np.array([[Fraction(1)]], dtype=object))
    trellis = Trellis(
        edges=graph, length=3, semiring=steps, final=steps.ends(graph.accepting),
        worth=lambda position: (costs.levels(position, words[0][position], graph.symbol), None),
    )  # fmt: skip
    assert backward(trellis)[0][graph.start, 0] == 1
    start = steps.ends(np.arange(graph.state_count) == graph.start)
    *_, last = forward(trellis, start)
    assert last.sum() == 1
