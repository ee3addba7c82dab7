"""Words drawn by the states near them: as exact arithmetic draws them, however few or many states are near."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from symveil.graphs.csr import offsets
from symveil.languages import draw_rooms
from symveil.languages.costs import Cost, SymbolCosts, hamming, listed
from symveil.languages.graph import WordGraph
from symveil.languages.limits import LIMITS
from symveil.languages.run_draws import ExactDraw, draw_rows
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage
from symveil.models.alphabet import Alphabet, Codes
from symveil.numbers.conversions import precision
from symveil.randomness import NotPrivateSeededBits

SHARES = [1, 4, 10**6]
"""Of `near_share`: near states are always looked at one by one; while they are few; hardly ever."""


def network(generator: np.random.Generator, states: int, letters: int | None) -> WordGraph:
    """Streets with a few short cuts and dead ends; a chain with a hidden start, or an automaton of so many letters."""
    rows: set[tuple[int, int]] = set()
    for state in range(states):
        steps = generator.choice([1, 2, -1, 7, int(generator.integers(states))], int(generator.integers(0, 4)))
        rows |= {(state, int(state + step) % states) for step in steps}
    if letters is None:
        symbols = [(source, target, target) for source, target in rows]
        symbols += [(states, target, target) for target in range(states)]
        size, alphabet = states + 1, states
    else:
        symbols, taken = [], set()
        for source, target in sorted(rows):
            symbol = int(generator.integers(letters))
            if (source, symbol) not in taken:
                taken.add((source, symbol))
                symbols.append((source, symbol, target))
        size, alphabet = states, letters
    symbols.sort()
    degree = np.bincount([source for source, _, _ in symbols], minlength=size)
    shares = generator.integers(1, 9, len(symbols))
    accepting = generator.random(size) < 0.8 if letters else np.ones(size, dtype=np.bool_)
    return WordGraph(
        alphabet=Alphabet(tuple(range(alphabet))),
        start=states if letters is None else int(np.argmax(degree)),
        first=offsets(degree),
        symbol=np.array([symbol for _, symbol, _ in symbols], dtype=np.int32),
        target=np.array([target for _, _, target in symbols], dtype=np.int32),
        accepting=accepting,
        prior=tuple(Fraction(int(share), 9) for share in shares),
        state_is_symbol=letters is None,
    )


def costs_of(language: RunLanguage, generator: np.random.Generator) -> Iterator[Cost]:
    """Hamming distance, steps of it, and costs that differ from position to position, with and without a cap."""
    plain, size = hamming(language), len(language.alphabet)
    yield plain
    yield plain.staircase(period=3, first_step=2)
    metrics = tuple(metric(generator, size) for _ in range(2))
    metric_of = tuple(position % 2 for position in range(language.length))
    values = (Fraction(0), Fraction(1), Fraction(2), Fraction(3))
    capped = Cost(name="some", values=values, far=3, metrics=metrics, metric_of=metric_of)
    yield capped
    yield capped.staircase(period=2, first_step=1)
    yield Cost(name="some", values=values, far=-1, metrics=metrics, metric_of=metric_of)


def metric(generator: np.random.Generator, size: int) -> SymbolCosts:
    near = [sorted({own, *generator.integers(0, size, int(generator.integers(0, 12))).tolist()}) for own in range(size)]
    levels = [
        0 if symbol == own else int(generator.integers(1, 3)) for own, row in enumerate(near) for symbol in row
    ]  # fmt: skip
    return listed(offsets(np.array([len(row) for row in near])), np.concatenate(near), np.array(levels))


def some_words(language: RunLanguage, generator: np.random.Generator, count: int) -> Codes:
    words = []
    for _ in range(count):
        state, word = language.graph.start, []
        for position in range(language.length):
            edges = [
                edge
                for edge in language.graph.edges(state)
                if language.alive[language.length - position - 1][language.graph.target[edge]]
            ]
            edge = int(generator.choice(edges))
            word.append(int(language.graph.symbol[edge]))
            state = int(language.graph.target[edge])
        words.append(word)
    return np.array(words, dtype=np.int32).reshape(count, language.length)


class Given(NotPrivateSeededBits):
    """Bits that are written down."""

    def __init__(self, rows: np.ndarray) -> None:
        super().__init__(99)
        self._rows = rows

    def word_rows(self, rows: int, columns: int) -> np.ndarray:
        assert self._rows.shape == (rows, columns)
        return self._rows


def close_call(weights: RunWeights, word: Codes, generator: np.random.Generator, closeness: int) -> tuple[list, list]:
    """Bits close to a boundary wherever there is one, and the word that exact arithmetic draws from them."""
    exact, language, costs = ExactDraw(weights, word), weights.language, weights.costs
    state, phase, bits = weights.graph.start, costs.start_phase, [0] * language.length
    begin = 1 if language.public_start else 0
    if begin:
        state = int(weights.first_states[word[0]])
    released = word.tolist()
    for position in range(begin, language.length):
        options = exact._options(position, state)
        with precision(256):
            cuts = [
                int((cut * 2**64).mid().floor().unique_fmpz()) for cut in exact._cut_points(position, options, phase)
            ]
        drawn = int(generator.integers(2**64, dtype=np.uint64))
        if cuts and generator.random() < 0.8:
            near = cuts[int(generator.integers(len(cuts)))] + int(generator.choice([-1, 1])) * (2**64 >> closeness)
            if all(abs(cut - near) >= 2**63 >> closeness for cut in cuts) and 0 <= near < 2**64:
                drawn = near
        chosen, bits[position] = sum(cut < drawn for cut in cuts), drawn
        edge, level = options[chosen]
        released[position] = int(weights.graph.symbol[edge])
        state, phase = int(weights.graph.target[edge]), int(costs.next_phase[level, phase])
    return bits, released


CASES = [(None, 12), (None, 90), (None, 90), (3, 30), (15, 60), (40, 90)]
"""Letters of automata, and states; a start with more than 64 edges is summed in blocks."""


@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.parametrize("share", SHARES)
def test_every_decision_is_that_of_exact_arithmetic(case: int, share: int, set_limits) -> None:
    """Also where the bits lie within 2⁻³⁸ of a boundary: no value of a state has an error as large as that."""
    set_limits(LIMITS, near_share=share)
    letters, states = CASES[case]
    generator = np.random.default_rng(case)
    graph = network(generator, states, letters)
    for length in (1, 2, 6):
        for public in (False, True) if letters is None else (False,):
            language = RunLanguage(graph=graph, length=length, public_start=public)
            words = some_words(language, generator, 4)
            for cost in costs_of(language, generator):
                for more in ({}, {"with_prior": True}, {"balance": Fraction(1)}):
                    if letters and more.get("balance"):
                        continue
                    weights = RunWeights(language=language, rate=Fraction(3, 2), cost=cost, **more)
                    assert max(weights.margin, weights.start_margin) < 2.0**-38  # floats decide
                    rows = np.repeat(words, 3, axis=0)[generator.permutation(12)]
                    drawn = [close_call(weights, word, generator, 38) for word in rows]
                    bits = Given(np.array([each for each, _ in drawn], dtype=np.uint64))
                    wanted = [each for _, each in drawn]
                    assert draw_rows(weights, rows, bits, in_lanes=False).tolist() == wanted
                    assert draw_rows(weights, rows, bits, in_lanes=True).tolist() == wanted


def test_near_states_do_not_grow_with_the_model() -> None:
    """On a circle as many states are near a word in a large model as in a small one; in a tiny one most are."""

    def near(states: int) -> tuple[float, float]:
        targets = np.sort((np.arange(states)[:, None] + [1, 2]) % states, axis=1).astype(np.int32).reshape(-1)
        graph = WordGraph(
            alphabet=Alphabet(tuple(range(states))),
            start=0,
            first=np.arange(0, 2 * states + 1, 2),
            symbol=targets,
            target=targets,
            accepting=np.ones(states, dtype=np.bool_),
            state_is_symbol=True,
        )
        return RunWeights(language=RunLanguage(graph=graph, length=9), rate=Fraction(1)).near_states

    # k steps before a symbol: k + 1 states; positions 1 … 8 are 8 … 1 steps before the end
    assert near(1_000) == near(100_000) == (sum(steps + 1 for steps in range(1, 9)), 0)
    few, most = near(12)
    assert few == 2 + 3 + 4 and most == 5


def test_free_rooms_are_few_and_serve_the_next_words(set_limits) -> None:
    """Two threads at once have two rooms; beyond the limit those that were free the longest are given up."""
    set_limits(LIMITS, near_edge=0.0)
    generator = np.random.default_rng(5)
    language = RunLanguage(graph=network(generator, 60, None), length=5)
    words = some_words(language, generator, 3)
    several = [RunWeights(language=language, rate=Fraction(rate)) for rate in (1, 2, 3)]
    values = several[0].loops.values
    assert values == 6 * 61
    set_limits(LIMITS, layer_values_at_once=2 * values)

    def drawn() -> list[object]:
        return [draw_rows(each, words, NotPrivateSeededBits(1)).tolist() for each in several]

    first = drawn()
    assert [len(each.loops.rooms) for each in several] == [0, 1, 1]
    own = next(iter(several[2].loops.rooms.values()))
    assert several[2].loops.take_room() is own
    other = several[2].loops.take_room()
    assert other is not own and not several[2].loops.rooms
    for room in (own, other):
        several[2].loops.give_back(room)
    assert [len(each.loops.rooms) for each in several] == [0, 0, 2]
    assert drawn() == first
    set_limits(LIMITS, layer_values_at_once=0)
    assert drawn() == first
    assert not any(each.loops.rooms for each in several)


def test_a_copy_for_another_process_has_no_rooms_and_touches_none() -> None:
    """Rooms are counted by numbers of one process: a copy with those of another would take them from the count."""
    generator = np.random.default_rng(6)
    language = RunLanguage(graph=network(generator, 60, None), length=5)
    words = some_words(language, generator, 3)
    weights = RunWeights(language=language, rate=Fraction(1))
    drawn = draw_rows(weights, words, NotPrivateSeededBits(1), in_lanes=False).tolist()
    copy = pickle.loads(pickle.dumps(weights))  # noqa: S301 - our own; engines send weights to workers
    assert len(weights.loops.rooms) == 1 and not copy.loops.rooms
    assert draw_rows(copy, words, NotPrivateSeededBits(1), in_lanes=False).tolist() == drawn
    for each in (weights, copy):
        assert set(each.loops.rooms) <= set(draw_rooms._free) and len(each.loops.rooms) == 1
