"""Costs, balance and the passes over states × phases, against sums over all words from the definitions."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

import symveil as sv
from symveil.errors import ModelError, ParameterError
from symveil.languages.cost_table import between_positions, given
from symveil.languages.costs import INFINITE, Cost, hamming
from symveil.languages.graph import WordGraph
from symveil.languages.run_draws import ExactDraw, draw_rows, total_weight
from symveil.languages.run_laws import expected_errors, log_distances, log_probabilities
from symveil.languages.run_weights import RunWeights, pair_graph
from symveil.languages.runs import RunLanguage
from symveil.languages.swap_costs import related, swap
from symveil.models.alphabet import Alphabet
from symveil.models.automaton import Automaton
from symveil.models.markov_chain import MarkovChain
from symveil.numbers.conversions import STANDARD_PRECISION, precision
from symveil.randomness import NotPrivateSeededBits

ROWS = [
    ("a", "a", "1/4"), ("a", "b", "1/4"), ("a", "c", "1/2"), ("b", "c", "2/3"), ("b", "d", "1/3"),
    ("c", "a", "1/2"), ("c", "d", "1/2"), ("d", "b", "1/5"), ("d", "e", "4/5"),
]  # fmt: skip
DEAD_END = MarkovChain.from_transitions(ROWS)  # e has no successor
TWO_WAYS = Automaton.from_transitions(
    [("p", "x", "p"), ("p", "x", "q"), ("q", "y", "p"), ("q", None, "r"), ("r", "z", "p"), ("r", "x", "r")],
    initial="p",
    accepting=["p", "r"],
)
LANGUAGES = {
    "chain": sv.runs(DEAD_END, 5),
    "public start": sv.runs(DEAD_END, 5, public_start=True),
    "initial": sv.runs(MarkovChain.from_transitions(ROWS, initial="a"), 4),
    "automaton": sv.runs(TWO_WAYS, 5),
    "one symbol": sv.runs(DEAD_END, 1),
}


def costs_of(language: RunLanguage, b: int = 2) -> dict[str, Cost]:
    """One of each kind."""
    symbols = language.alphabet.symbols
    table = [(one, two, "1.5" if i else 1) for i, (one, two) in enumerate(itertools.combinations(symbols, 2))]
    places = {symbol: (number, number * number) for number, symbol in enumerate(symbols)}
    return {
        "hamming": hamming(language),
        "hamming staircase": hamming(language).staircase(period=b, first_step=1),
        "wide staircase": hamming(language).staircase(period=3, first_step=2),
        "swap": swap(language, adjacency=b),
        "capped swap": swap(language, adjacency=b, cap=2),
        "swap staircase": swap(language, adjacency=b).staircase(period=b, first_step=b),
        "capped swap staircase": swap(language, adjacency=1, cap=3).staircase(period=3, first_step=1),
        "given": given(language, table),
        "places": between_positions(language, places, unit=2, cap=4).staircase(period=4, first_step=2),
    }


def words_of(language: RunLanguage) -> np.ndarray:
    return language.enumerate_codes(at_most=10_000)


COSTS = {name: costs_of(language) for name, language in LANGUAGES.items()}
CASES = [(name, kind) for name in LANGUAGES for kind in COSTS[name]]


# --- by definition ---------------------------------------------------------------------------------


def weight_by_definition(language: RunLanguage, cost: Cost, rate: float, word: np.ndarray, other: np.ndarray) -> float:
    """κ(word, other): the automaton of the module's head, symbol by symbol from the tables of costs."""
    phase, log_weight = cost.period - cost.first_step, 0.0
    for position in range(1 if language.public_start else 0, language.length):
        metric = cost.metrics[cost.metric_of[position]]
        row = slice(metric.first[word[position]], metric.first[word[position] + 1])
        near = dict(zip(metric.symbol[row].tolist(), metric.level[row].tolist(), strict=True))
        level = near.get(int(other[position]), cost.far)
        if level == INFINITE:
            return 0.0
        value = cost.values[level]
        if cost.period == 1:
            log_weight -= rate * float(value)
        else:
            log_weight -= rate * ((phase + int(value)) // cost.period)
            phase = (phase + int(value)) % cost.period
    return math.exp(log_weight)


def balance_by_definition(language: RunLanguage, rate: float, word: np.ndarray) -> float:
    """Π 1/(1+(k_i−1)z), k_i counted among all words that differ from this one in position i only."""
    z = math.exp(-rate)
    words = words_of(language)
    product = 1.0
    for position in range(1 if language.public_start else 0, language.length):
        elsewhere = np.delete(words != word, position, axis=1).any(axis=1)
        product /= 1 + (int((~elsewhere).sum()) - 1) * z
    return product


def law_by_definition(weights: RunWeights, word: np.ndarray) -> tuple[np.ndarray, float]:
    """P(· | word) over all words, and the total weight."""
    language, rate = weights.language, float(weights.rate)
    words = words_of(language)
    masses = np.zeros(len(words))
    for index, other in enumerate(words):
        if language.public_start and other[0] != word[0]:
            continue
        mass = weight_by_definition(language, weights.costs, rate, word, other)
        if weights.balance is not None:
            mass *= balance_by_definition(language, float(weights.balance), other)
        elif weights.with_prior:
            edges = language.walk_edges(other[None, :])[0][1 if language.public_start else 0 :]
            mass *= math.prod(float(language.graph.prior[edge]) for edge in edges)
        masses[index] = mass
    return masses / masses.sum(), float(masses.sum())


def check_law(weights: RunWeights) -> None:
    words = words_of(weights.language)
    for word in words[:: max(1, len(words) // 4)]:
        law, total = law_by_definition(weights, word)
        assert float(total_weight(weights, word)) == pytest.approx(total, rel=1e-12)
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(log_probabilities(weights, word, words), np.log(law), rtol=1e-9, atol=1e-12)
        apart = np.count_nonzero(words != word, axis=1)
        expected = expected_errors(weights, word[None, :])
        assert float(expected.symbols[0]) == pytest.approx(float(law @ apart), abs=1e-12)
        found = weights.costs.distances(word, words, begin=1 if weights.language.public_start else 0)
        dear = sum(float(chance) * float(far) for chance, far in zip(law, found, strict=True) if chance > 0)
        assert float(expected.costs[0]) == pytest.approx(dear, abs=1e-12)
        by_distance = np.exp(log_distances(weights, word))
        np.testing.assert_allclose(
            by_distance, [law[apart == far].sum() for far in range(len(by_distance))], atol=1e-13, rtol=1e-9
        )


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_the_law_is_that_of_the_definition(name: str, kind: str) -> None:
    language, cost = LANGUAGES[name], COSTS[name][kind]
    check_law(RunWeights(language=language, rate=Fraction(4, 5), cost=cost))
    if language.graph.prior:
        check_law(RunWeights(language=language, rate=Fraction(2), cost=cost, with_prior=True))
        check_law(RunWeights(language=language, rate=Fraction(1), cost=cost, balance=Fraction(3, 2)))


@pytest.mark.parametrize(("name", "kind"), CASES)
@pytest.mark.parametrize("rate", ["1/3", "4"])
def test_three_ways_to_draw_agree_bit_by_bit(name: str, kind: str, rate: str) -> None:
    """The loop by near states, the one by lanes and the exact draw take the same decisions from the same bits."""
    language, cost = LANGUAGES[name], COSTS[name][kind]
    for settings in ({}, {"with_prior": True}, {"balance": Fraction(1)}):
        if settings and not language.graph.prior:
            continue
        weights = RunWeights(language=language, rate=Fraction(rate), cost=cost, **settings)
        codes = np.repeat(words_of(language)[:7], 9, axis=0)
        drawn = NotPrivateSeededBits(3).words(codes.size).reshape(codes.shape)
        compiled = draw_rows(weights, codes, NotPrivateSeededBits(3), in_lanes=True)
        for first in range(0, len(codes), 9):  # the weights of a word are found once for its nine draws
            exact = ExactDraw(weights, codes[first])
            for row in range(first, first + 9):
                assert exact.draw(drawn[row].tolist(), NotPrivateSeededBits(99)).tolist() == compiled[row].tolist()
        assert draw_rows(weights, codes, NotPrivateSeededBits(3), in_lanes=False).tolist() == compiled.tolist()
        assert np.isfinite(log_probabilities(weights, codes[0], compiled[:9])).all()
        unsure = RunWeights(language=language, rate=Fraction(rate), cost=cost, widen=0.5, **settings)
        for in_lanes in (False, True):
            assert (
                draw_rows(unsure, codes[:12], NotPrivateSeededBits(3), in_lanes=in_lanes).tolist()
                == draw_rows(weights, codes[:12], NotPrivateSeededBits(3), in_lanes=in_lanes).tolist()
            )


def test_one_phase_and_two_levels_is_the_exponential_mechanism() -> None:
    language = LANGUAGES["chain"]
    codes = np.repeat(words_of(language), 5, axis=0)
    plain = RunWeights(language=language, rate=Fraction(1))
    for cost in (hamming(language), swap(language, adjacency=2, cap=1), given(language, table_of_ones(language))):
        weights = RunWeights(language=language, rate=Fraction(1), cost=cost)
        for in_lanes in (False, True):
            assert (
                draw_rows(weights, codes, NotPrivateSeededBits(5), in_lanes=in_lanes).tolist()
                == draw_rows(plain, codes, NotPrivateSeededBits(5), in_lanes=in_lanes).tolist()
            )


def table_of_ones(language: RunLanguage) -> list[tuple[object, object, int]]:
    return [(one, two, 1) for one, two in itertools.combinations(language.alphabet.symbols, 2)]


# --- the swap metric --------------------------------------------------------------------------------


def random_language(dice: random.Random) -> RunLanguage | None:
    """A chain or an automaton with dead ends and states where words may not end; None without words."""
    letters = dice.randint(1, 5)
    is_chain = dice.random() < 0.6
    states = letters if is_chain else dice.randint(1, 5)
    hidden = is_chain and dice.random() < 0.6
    rows = []
    for state in range(states):
        for symbol in range(letters):
            if dice.random() < dice.choice([0.3, 0.5, 0.8]):
                rows.append((state, symbol, symbol if is_chain else dice.randrange(states)))
    size = states + hidden
    if hidden:
        rows += [(states, symbol, symbol) for symbol in range(letters)]
    first = np.concatenate([[0], np.cumsum(np.bincount([row[0] for row in rows], minlength=size))]).astype(np.int64)
    accepting = np.array([dice.random() < 0.7 for _ in range(size)])
    graph = WordGraph(
        alphabet=Alphabet(tuple(range(letters))),
        start=states if hidden else dice.randrange(states),
        first=first,
        symbol=np.array([row[1] for row in rows], dtype=np.int32),
        target=np.array([row[2] for row in rows], dtype=np.int32),
        accepting=accepting,
        state_is_symbol=is_chain,
    )
    try:
        return RunLanguage(graph=graph, length=dice.randint(0, 5), public_start=is_chain and dice.random() < 0.4)
    except ModelError:
        return None


@pytest.mark.parametrize("seed", range(120))
def test_the_swap_metric_is_what_the_theorem_needs(seed: int) -> None:
    """Every pair of symbols of adjacent words is related, costs are metrics, D(w, v) ≤ d(w, v), supports agree."""
    dice = random.Random(seed)
    language = next(found for found in iter(lambda: random_language(dice), 0) if found)
    b, cap = dice.randint(1, 3), dice.choice([None, 1, 2, 3])
    cost = swap(language, adjacency=b, cap=cap)
    relations = [relation.toarray() for relation in related(language, adjacency=b)]
    words = words_of(language)
    begin = 1 if language.public_start else 0
    support = np.zeros((len(words), len(words)), dtype=np.bool_)
    neighbours = []
    for one, own in zip(words, support, strict=True):
        same = language.comparable(one, words)
        apart = np.count_nonzero(words != one, axis=1)
        near = np.flatnonzero(same & (apart <= b))
        neighbours.append((same, near))
        swaps = cost.distances(one, words, begin=begin)
        own[:] = [far is not None for far in swaps]
        assert own[near].all()
        assert all(swaps[index] <= apart[index] for index in near)
        for position in range(language.length):
            others = words[near, position]
            assert relations[position][one[position], others[others != one[position]]].all()
    for own, (same, near) in zip(support, neighbours, strict=True):
        assert (support[near] & same == own & same).all()
    for metric in range(len(cost.metrics)):
        levels = cost.table(metric)
        value = np.where(levels == INFINITE, np.inf, np.array([float(v) for v in cost.values])[levels])
        assert (np.diag(value) == 0).all()
        assert (value == value.T).all()
        assert (value + np.eye(len(value)) > 0).all()
        assert (value[:, None, :] <= value[:, :, None] + value[None, :, :]).all()


@pytest.mark.parametrize("seed", range(40))
def test_on_automata_the_relation_is_exact(seed: int) -> None:
    dice = random.Random(1000 + seed)
    drawn = iter(lambda: random_language(dice), 0)
    language = next(found for found in drawn if found and not found.graph.state_is_symbol)
    b = dice.randint(1, 3)
    found = {
        (position, int(one[position]), int(two[position]))
        for one, two in itertools.permutations(words_of(language), 2)
        if np.count_nonzero(one != two) <= b
        for position in np.flatnonzero(one != two)
    }
    relations = related(language, adjacency=b)
    claimed = {
        (position, int(a), int(c))
        for position, matrix in enumerate(relations)
        for a, c in zip(*matrix.nonzero(), strict=True)
    }
    assert claimed == found


# --- costs that are given ---------------------------------------------------------------------------


class TestGiven:
    language = LANGUAGES["chain"]

    def rows(self, **changed: object) -> list[tuple[object, object, object]]:
        pairs = itertools.combinations("abcde", 2)
        return [(one, two, changed.get(one + two, 2)) for one, two in pairs]

    def test_a_table_that_is_no_metric_is_refused_or_closed(self) -> None:
        with pytest.raises(ParameterError, match="cheaper way between 'a' and 'b'"):
            given(self.language, self.rows(ab=5))
        closed = given(self.language, self.rows(ab=5), closure=True)
        assert closed.distances(np.array([0]), np.array([[1]])) == [4]
        assert closed.note == "1 of 10 pairs cost what the cheapest way over others costs: the table was no metric"

    def test_missing_pairs(self) -> None:
        with pytest.raises(ParameterError, match="none for 'a' and 'b'"):
            given(self.language, self.rows()[1:])
        alone = given(self.language, [("a", "b", 1)], closure=True)
        assert alone.distances(np.array([0]), np.array([[1], [2], [0]])) == [1, None, 0]

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            (("a", "x", 1), "row 11: expected symbols of the model, found 'x'"),
            (("a", "b", 0), "row 11: expected a number above 0"),
            (("a", "a", 1), "row 11: expected 0 for a symbol and itself"),
            (("b", "a", 3), "row 11: expected 2, as for the same pair before, found 3"),
            (("a", "b", "two"), "row 11: expected a number above 0"),
        ],
    )
    def test_rows_that_are_refused(self, row: tuple[object, object, object], message: str) -> None:
        with pytest.raises(ParameterError, match=message):
            given(self.language, [*self.rows(), row])

    def test_fractions_have_no_staircase(self) -> None:
        with pytest.raises(ParameterError, match="whole numbers"):
            given(self.language, self.rows(ab="3/2")).staircase(period=2, first_step=1)

    def test_places_are_rounded_up_exactly(self) -> None:
        places = {"a": (0, 0), "b": (3, 4), "c": ("0.1", 0), "d": (0, 0), "e": (10**9, 1)}
        cost = between_positions(self.language, places, unit=1)
        word = np.array([0])
        assert cost.distances(word, np.array([[0], [1], [2], [3], [4]])) == [0, 5, 1, 1, 10**9 + 1]


def test_the_graph_of_edges_has_the_same_words() -> None:
    for name in ("chain", "public start", "initial"):
        language = LANGUAGES[name]
        pairs = pair_graph(language)
        again = RunLanguage(graph=pairs.graph, length=language.length)
        assert again.enumerate_codes(at_most=10_000).tolist() == words_of(language).tolist()
    with pytest.raises(ParameterError, match="found actions"):
        pair_graph(LANGUAGES["automaton"])


def test_balance_flattens_the_total_weight() -> None:
    """Z = 1 + O(z²) for the Hamming distance and for swaps, whatever b; without balance it is 1 + O(z)."""
    language = LANGUAGES["chain"]
    words = words_of(language)
    for cost in (hamming(language), swap(language, adjacency=2), swap(language, adjacency=1, cap=2)):
        rate = Fraction(12)
        z = math.exp(-12)
        for word in words[::5]:
            flat = float(total_weight(RunWeights(language=language, rate=rate, cost=cost, balance=rate), word) - 1)
            assert abs(flat) < 200 * z * z
        steep = [float(total_weight(RunWeights(language=language, rate=rate, cost=cost), word) - 1) for word in words]
        assert max(steep) > z / 2


def test_on_every_word_balance_is_exact() -> None:
    """On Σⁿ with the Hamming distance Z is exactly 1."""
    letters = "abc"
    chain = MarkovChain.from_transitions([(a, b, "1/3") for a in letters for b in letters])
    language = sv.runs(chain, 4)
    for rate in (Fraction(1, 3), Fraction(2)):
        weights = RunWeights(language=language, rate=rate, balance=rate)
        for word in words_of(language)[::7]:
            with precision(STANDARD_PRECISION):
                assert abs(total_weight(weights, word) - 1) < 1e-30


@pytest.mark.parametrize("rows", [[[["a"], 1, 2]], [["a", 1, 2], ["a", 3, 4]]])
def test_places_of_a_document_name_each_symbol_once(rows: list[object]) -> None:
    with pytest.raises(ParameterError, match="costs: expected"):
        sv.CostTable.from_document({"kind": "places", "unit": "1", "rows": rows})
