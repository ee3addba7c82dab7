"""Drawing words of a model: floats decide as exact arithmetic would, and the law is the ideal one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import symveil as sv
from symveil.languages.graph import WordGraph
from symveil.languages.limits import LIMITS
from symveil.languages.run_draws import ExactDraw, draw_rows, is_quicker_in_lanes
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage
from symveil.models.alphabet import Alphabet
from symveil.models.automaton import Automaton
from symveil.models.markov_chain import MarkovChain
from symveil.randomness import NotPrivateSeededBits, RecordKey

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
}
FALSE_ALARM = 1e-6


def near(weights: RunWeights, codes: np.ndarray, bits) -> np.ndarray:
    return draw_rows(weights, codes, bits, in_lanes=False)


def in_lanes(weights: RunWeights, codes: np.ndarray, bits) -> np.ndarray:
    return draw_rows(weights, codes, bits, in_lanes=True)


class _Given(NotPrivateSeededBits):
    """Bits that are written down: a row of them for each row."""

    def __init__(self, rows: np.ndarray) -> None:
        super().__init__(99)
        self._rows = rows

    def word_rows(self, rows: int, columns: int) -> np.ndarray:
        assert self._rows.shape == (rows, columns)
        return self._rows


def words_of(language) -> np.ndarray:
    return language.enumerate_codes(at_most=10_000)


@pytest.mark.parametrize(
    ("name", "with_prior"),
    [(name, prior) for name in LANGUAGES for prior in (False, True) if not prior or LANGUAGES[name].graph.prior],
)
@pytest.mark.parametrize("rate", ["1/3", "2", "9"])
def test_three_ways_to_draw_agree_bit_by_bit(name: str, with_prior: bool, rate: str) -> None:
    """The loop by near states, the one by lanes and the exact draw take the same decisions from the same bits."""
    language = LANGUAGES[name]
    weights = RunWeights(language=language, rate=Fraction(rate), with_prior=with_prior)
    codes = np.repeat(words_of(language)[:7], 40, axis=0)
    drawn = NotPrivateSeededBits(3).words(codes.size).reshape(codes.shape)
    compiled = in_lanes(weights, codes, NotPrivateSeededBits(3))
    for row, word in enumerate(codes):
        exact = ExactDraw(weights, word).draw(drawn[row].tolist(), NotPrivateSeededBits(99))
        assert exact.tolist() == compiled[row].tolist()
    mixed = np.random.default_rng(0).permutation(len(codes))
    assert near(weights, codes, NotPrivateSeededBits(3)).tolist() == compiled.tolist()
    assert near(weights, codes[mixed], _Given(drawn[mixed])).tolist() == compiled[mixed].tolist()
    same = near(weights, codes[:40], NotPrivateSeededBits(3))  # one word, drawn many times
    again = NotPrivateSeededBits(3).words(same.size).reshape(same.shape)
    slow = ExactDraw(weights, codes[0])
    assert same.tolist() == [slow.draw(bits.tolist(), NotPrivateSeededBits(99)).tolist() for bits in again]


@pytest.mark.parametrize("name", LANGUAGES)
@pytest.mark.parametrize("widen", [2.0**-4, 0.3])
def test_a_wide_margin_forces_the_slow_path_and_changes_nothing(name: str, widen: float) -> None:
    language = LANGUAGES[name]
    codes = np.repeat(words_of(language)[:5], 20, axis=0)
    narrow = RunWeights(language=language, rate=Fraction(3, 2))
    wide = RunWeights(language=language, rate=Fraction(3, 2), widen=widen)
    assert in_lanes(narrow, codes, NotPrivateSeededBits(5)).tolist() == (
        in_lanes(wide, codes, NotPrivateSeededBits(5)).tolist()
    )
    assert near(narrow, codes, NotPrivateSeededBits(5)).tolist() == (
        near(wide, codes, NotPrivateSeededBits(5)).tolist()
    )


@pytest.mark.parametrize("name", LANGUAGES)
@pytest.mark.parametrize("smallest", [None, 2.0**60])
def test_what_floats_may_not_decide_is_drawn_exactly_and_the_same(name: str, smallest: float | None) -> None:
    """None: no word is left to floats. A huge one: every word is found too light on its first step."""
    language = LANGUAGES[name]
    codes = np.repeat(words_of(language)[:5], 8, axis=0)
    floats = RunWeights(language=language, rate=Fraction(3, 2))
    exact = RunWeights(language=language, rate=Fraction(3, 2))
    assert floats.smallest_total == 0.0
    exact.__dict__["smallest_total"] = smallest
    assert in_lanes(floats, codes, NotPrivateSeededBits(5)).tolist() == (
        in_lanes(exact, codes, NotPrivateSeededBits(5)).tolist()
    )
    assert near(floats, codes, NotPrivateSeededBits(5)).tolist() == (
        near(exact, codes, NotPrivateSeededBits(5)).tolist()
    )


NEAR, LANES = {"near_edge": 0.0}, {"near_edge": 1e9, "near_state_edge": 1e9}


def test_it_does_not_matter_which_draw_is_taken(set_limits) -> None:
    """Neither where each record has bits of its own, nor where all rows share one stream."""
    language = LANGUAGES["chain"]
    mechanism = sv.Exponential(language, epsilon=1, adjacency=1)
    codes = np.repeat(words_of(language)[:9], 20, axis=0)
    keys = RecordKey(bytes(32), "release")
    names = keys.names_of_rows(np.arange(len(codes)))
    for bits in (lambda: keys.streams(names), lambda: NotPrivateSeededBits(8)):
        drawn = []
        for prices in (NEAR, LANES):
            set_limits(LIMITS, **prices)
            assert is_quicker_in_lanes(RunWeights(language=language, rate=Fraction(1)), codes) == (prices == LANES)
            drawn.append(mechanism.release_codes(codes, bits=bits()))
        assert drawn[0].tolist() == drawn[1].tolist()
        assert drawn[0].tolist() != codes.tolist()


def test_when_words_are_drawn_in_lanes() -> None:
    language = sv.runs(DEAD_END, 5)
    weights = RunWeights(language=language, rate=Fraction(1))
    different = words_of(language)[np.arange(20_000) % 50]
    assert not is_quicker_in_lanes(weights, different[:1])
    for rows in (100, 20_000):
        assert is_quicker_in_lanes(weights, different[:rows])
        assert not is_quicker_in_lanes(
            weights, np.repeat(different[:1], rows, axis=0)
        )  # equal words share their values
    weights = RunWeights(language=RunLanguage(graph=circle(5_000), length=5), rate=Fraction(1))
    starts = np.arange(20_000) % 5_000
    few_near = (starts[:, None] + np.arange(5)).astype(np.int32) % 5_000
    assert not is_quicker_in_lanes(weights, few_near)
    large = RunWeights(language=RunLanguage(graph=circle(5_000), length=500), rate=Fraction(1))
    assert not large.fits_batches
    assert not is_quicker_in_lanes(large, np.resize(few_near, (100, 500)))


def circle(size: int) -> WordGraph:
    """Each state leads to every one of the next four."""
    targets = np.sort((np.arange(size)[:, None] + np.arange(1, 5)) % size, axis=1).astype(np.int32).reshape(-1)
    return WordGraph(
        alphabet=Alphabet(tuple(range(size))),
        start=0,
        first=np.arange(0, 4 * size + 1, 4),
        symbol=targets,
        target=targets,
        accepting=np.ones(size, dtype=np.bool_),
        state_is_symbol=True,
    )


def test_arrays_of_any_layout_are_taken() -> None:
    language = LANGUAGES["chain"]
    weights = RunWeights(language=language, rate=Fraction(1))
    codes = words_of(language)[:8]
    expected = in_lanes(weights, codes, NotPrivateSeededBits(2)).tolist()
    frozen = codes.copy()
    frozen.flags.writeable = False
    for other in (np.asfortranarray(codes), np.repeat(codes, 2, axis=0)[::2], frozen, codes.astype(np.int64)):
        assert in_lanes(weights, other, NotPrivateSeededBits(2)).tolist() == expected


def chi_square(mechanism, word: np.ndarray, released: np.ndarray, words: np.ndarray) -> float:
    """p-value of the released words against the mechanism's law; rare words are pooled."""
    expected = np.exp(mechanism.log_probabilities(word, words)) * len(released)
    number = {tuple(row): index for index, row in enumerate(words.tolist())}
    observed = np.bincount([number[tuple(row)] for row in released.tolist()], minlength=len(words))
    rare = expected < 8
    pooled_expected = np.append(expected[~rare], expected[rare].sum())
    pooled_observed = np.append(observed[~rare], observed[rare].sum())
    keep = pooled_expected > 0
    return float(stats.chisquare(pooled_observed[keep], pooled_expected[keep] * len(released) / expected.sum()).pvalue)


MAKERS = {
    "exponential": lambda language, epsilon: sv.Exponential(
        language, epsilon=epsilon, adjacency=1, calibration="classic"
    ),
    "prior": lambda language, epsilon: sv.Exponential(
        language, epsilon=epsilon, adjacency=1, calibration="classic", prior="chain"
    ),
    "inverse": lambda language, epsilon: sv.Exponential(
        language, epsilon=epsilon, adjacency=1, calibration="classic", utility="inverse"
    ),
    "permute-and-flip": lambda language, epsilon: sv.PermuteAndFlip(language, epsilon=epsilon, adjacency=1),
    "staircase": lambda language, epsilon: sv.Staircase(language, epsilon=epsilon, adjacency=2),
    "online": lambda language, epsilon: sv.Online(language, epsilon=epsilon, adjacency=1),
}


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (make, name)
        for make in MAKERS
        for name in ("chain", "public start", "automaton")
        if make != "prior" or LANGUAGES[name].graph.prior
    ],
)
def test_released_words_follow_the_law_and_not_its_neighbours(make: str, name: str) -> None:
    """χ² with a false-alarm rate of 10⁻⁶ per test; the same draws reject more and less noise."""
    language = LANGUAGES[name]
    words = words_of(language)
    word = words[len(words) // 2]
    count = 4_000 if make == "inverse" else 40_000  # word by word
    codes = np.repeat(word[None, :], count, axis=0)
    mechanism = MAKERS[make](language, 3)
    released = mechanism.release_codes(codes, bits=NotPrivateSeededBits(11))
    assert chi_square(mechanism, word, released, words) > FALSE_ALARM
    for wrong in ("3/2", 6):
        assert chi_square(MAKERS[make](language, wrong), word, released, words) < FALSE_ALARM


def test_words_whose_weights_underflow_are_still_drawn() -> None:
    """η·n beyond the range of doubles: floats where they may, balls where they must."""
    language = sv.runs(MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)]), 400)
    word = language.encode("a" * 400)
    for rate, expected in ((Fraction(10), 2.0**-60), (Fraction(1, 10), 0.0)):
        weights = RunWeights(language=language, rate=rate)
        assert weights.smallest_total == expected
        language.check_codes(near(weights, np.repeat(word[None, :], 20, axis=0), NotPrivateSeededBits(1)))
    long = sv.runs(MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)]), 1500)
    weights = RunWeights(language=long, rate=Fraction(1, 10))
    assert weights.smallest_total is None
    long.check_codes(near(weights, long.encode("a" * 1500)[None, :], NotPrivateSeededBits(1)))


def test_every_word_can_be_released() -> None:
    language = LANGUAGES["chain"]
    mechanism = sv.Exponential(language, epsilon=100, adjacency=1, calibration="classic")
    words = words_of(language)
    assert np.isfinite(mechanism.log_probabilities(words[0], words)).all()
