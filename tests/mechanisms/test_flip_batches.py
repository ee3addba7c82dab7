"""Many words by permute-and-flip on a model at once: each record's word is the one that it draws alone.

Word by word the counts are exact integers of any size and the race is run in balls.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import symveil as sv
from mechanisms.batch_languages import KEY, OF_EACH_KIND, ROWS
from mechanisms.random_models import models, words_by_definition
from symveil.errors import ModelError
from symveil.languages.limits import LIMITS as COUNTS
from symveil.languages.run_counts import ways_to_finish
from symveil.languages.run_counts_batch import RunNeighboursBatch, fits_batches, pieces
from symveil.languages.runs import RunLanguage
from symveil.mechanisms import permute_and_flip_race as racing
from symveil.mechanisms.limits import LIMITS
from symveil.mechanisms.permute_and_flip import PermuteAndFlip
from symveil.models.markov_chain import MarkovChain
from symveil.randomness import NotPrivateSeededBits

RING = MarkovChain.from_transitions(
    [(f"s{at}", f"s{(at + step) % 90}", "1/3") for at in range(90) for step in (1, 2, 7)]
)
LANGUAGES = {
    **OF_EACH_KIND,
    "one symbol": sv.runs(MarkovChain.from_transitions(ROWS), 1),
    "many starts": sv.runs(RING, 4),
}


def words(language: RunLanguage, count: int) -> np.ndarray:
    known = language.enumerate_codes(at_most=10_000)
    return known[np.random.default_rng(1).integers(0, len(known), count)]


def agree(mechanism: PermuteAndFlip, codes: np.ndarray) -> None:
    """The same words from the same bits, and not a bit more or less."""
    names = KEY.names_of_rows(np.arange(len(codes)))
    together, apart = KEY.streams(names), KEY.streams(names)
    found = mechanism._draw_together(mechanism.language, codes, together)
    assert found.tolist() == mechanism._draw_one_by_one(codes, apart).tolist()
    assert together.word_rows(len(codes), 1).tolist() == apart.word_rows(len(codes), 1).tolist()


# --- the counts, and the word of a rank, by definition -----------------------------------------


def by_definition(language: RunLanguage, word: tuple[int, ...], known: list[tuple[int, ...]]) -> list[list]:
    """The words of the language at each distance, in order."""
    public = language.public_start
    found: list[list] = [[] for _ in range(language.largest_distance + 1)]
    for other in sorted(known):
        if not public or other[0] == word[0]:
            found[sum(a != b for a, b in zip(word, other, strict=True))].append(other)
    return found


def check_all_ranks(language: RunLanguage, codes: np.ndarray, known: list[tuple[int, ...]]) -> None:
    near = RunNeighboursBatch(language, codes)
    for number, word in enumerate(map(tuple, codes.tolist())):
        expected = by_definition(language, word, known)
        assert near.counts[number].tolist() == [len(each) for each in expected]
        places = [(distance, rank) for distance, each in enumerate(expected) for rank in range(len(each))]
        distances, ranks = (np.array(column) for column in zip(*places, strict=True))
        found = near.words_of_rank(np.full(len(places), number), distances, ranks)
        assert list(map(tuple, found.tolist())) == [expected[distance][rank] for distance, rank in places]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_every_word_has_its_rank_on_any_model(data) -> None:
    """Words by definition: every rank at every distance is another word, in order, and none is left out."""
    model, length = data.draw(models), data.draw(st.integers(1, 5))
    public = isinstance(model, MarkovChain) and data.draw(st.booleans())
    try:
        language = sv.runs(model, length, public_start=public)
    except ModelError:
        assume(False)
    assume(language.largest_distance > 0)
    assume(fits_batches(language))  # what does not fit is drawn word by word
    code = language.alphabet.code
    known = [tuple(code[symbol] for symbol in word) for word in words_by_definition(model, length)]
    check_all_ranks(language, words(language, 4), known)


def test_starts_are_looked_at_in_blocks() -> None:
    language = LANGUAGES["many starts"]
    known = list(map(tuple, language.enumerate_codes(at_most=10_000).tolist()))
    check_all_ranks(language, words(language, 3), known)


# --- the same words ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", LANGUAGES)
@pytest.mark.parametrize("epsilon", ["1/10", 5, 4000])
def test_a_batch_draws_what_each_record_draws_alone(name: str, epsilon) -> None:
    agree(sv.PermuteAndFlip(LANGUAGES[name], epsilon=epsilon, adjacency=1), words(LANGUAGES[name], 25))


@pytest.mark.parametrize("name", ["dead end", "public start", "accepting states"])
def test_also_where_floats_decide_nothing(name: str, monkeypatch) -> None:
    monkeypatch.setattr(racing, "_MARGIN", 1e9)
    agree(sv.PermuteAndFlip(LANGUAGES[name], epsilon=3, adjacency=1), words(LANGUAGES[name], 25))


@pytest.mark.parametrize("hits", [1, 200, 10**6])
@pytest.mark.parametrize("symbols", [0, 4, 9, 90])
def test_tables_in_pieces_change_nothing(hits: int, symbols: int, set_limits) -> None:
    language = LANGUAGES["many starts"]
    mechanism = sv.PermuteAndFlip(language, epsilon=2, adjacency=1)
    codes = words(language, 20)
    set_limits(COUNTS, batch_counts=hits, batch_paths=symbols * 91 * 4, batch_products=hits)
    set_limits(LIMITS, runners=hits, flipped_at_once=7)
    different = np.unique(codes, axis=0)
    cut = list(pieces(language, different))
    assert [part.start for part in cut] == [0, *(part.stop for part in cut[:-1])]
    assert cut[-1].stop == len(different)
    assert max(len(np.unique(different[part])) for part in cut) <= max(symbols, 4)
    agree(mechanism, codes)


def test_few_words_and_many_are_the_same_records() -> None:
    language = LANGUAGES["dead end"]
    mechanism = sv.PermuteAndFlip(language, epsilon=1, adjacency=1)
    codes = words(language, 20)
    names = KEY.names_of_rows(np.arange(20))
    whole = mechanism.release_codes(codes, bits=KEY.streams(names))
    for size in (1, 7):
        parts = [slice(at, at + size) for at in range(0, 20, size)]
        few = [mechanism.release_codes(codes[part], bits=KEY.streams(names[part])) for part in parts]
        assert np.concatenate(few).tolist() == whole.tolist()


def test_counts_beyond_64_bits_are_left_to_whole_numbers() -> None:
    every = MarkovChain.from_transitions([(a, b, "1/2") for a in "ab" for b in "ab"])
    assert fits_batches(sv.runs(every, 61))
    assert fits_batches(sv.runs(every, 62, public_start=True))
    long = sv.runs(every, 64)
    assert ways_to_finish(long) is None
    assert not fits_batches(long)
    released = sv.PermuteAndFlip(long, epsilon=20, adjacency=1).release_many(["ab" * 32] * 3)
    assert [len(word) for word in released] == [64] * 3


def test_the_largest_counts_of_64_bits_are_exact() -> None:
    """Σⁿ as a model: N(ℓ) is known, and terms of 2⁶⁰ and more cancel on the way."""
    every = MarkovChain.from_transitions([(a, b, "1/2") for a in "ab" for b in "ab"])
    near = RunNeighboursBatch(sv.runs(every, 61), np.tile(np.array([0, 1, 1], dtype=np.int32), 21)[None, :61])
    assert near.counts[0].tolist() == [math.comb(61, distance) for distance in range(62)]


# --- the race ----------------------------------------------------------------------------------


def test_floats_are_as_near_as_they_are_proved_to_be() -> None:
    """1 − U^{1/N} against decimals of 60 digits, at both ends of what is known of U."""
    generator = np.random.default_rng(3)
    shifts = generator.integers(0, 31, 300).astype(np.uint64)
    words = generator.integers(0, 2**64, 300, dtype=np.uint64) >> shifts
    words = np.where(generator.random(300) < 0.5, words, ~words)
    words = words[(words >= racing._FEW_BITS) & (~words >= racing._FEW_BITS)]
    counts = np.exp2(generator.random(len(words)) * 62).astype(np.int64)
    found = racing._floats_below(words, counts)
    with localcontext() as context:
        context.prec = 60
        for word, count, value in zip(words.tolist(), counts.tolist(), found.tolist(), strict=True):
            for end in (word, word + 1):
                exact = 1 - (Decimal(end) / 2**64) ** (Decimal(1) / count)
                assert abs(Decimal(value) / exact - 1) < Decimal(2) ** -32


@pytest.mark.parametrize("rate", ["1/1000", "1/2", "700", "5000"])
def test_many_races_are_those_of_each_row(rate: str) -> None:
    """Also where a handicap is beyond floats, where nobody runs without one, and where a runner is alone."""
    generator = np.random.default_rng(7)
    counts = np.exp2(generator.random((60, 6)) * 62).astype(np.int64)
    counts[generator.random((60, 6)) < 0.4] = 0
    counts[:, 5] = np.maximum(counts[:, 5], 1)
    names = KEY.names_of_rows(np.arange(60))
    together, apart = KEY.streams(names), KEY.streams(names)
    found = racing.races(counts, Fraction(rate), together)
    eta = Fraction(rate)
    for row in range(60):
        balls = lambda own=counts[row]: [racing.ball(int(count)) for count in own]  # noqa: E731
        assert found[row] == racing.race(balls, lambda: racing.ball(eta), apart.of_row(row))
    assert together.words(60).tolist() == apart.words(60).tolist()


class Given(NotPrivateSeededBits):
    """Numbers for the runners that are written down; more bits from a seed."""

    def __init__(self, words: list[int]) -> None:
        super().__init__(1)
        self._given = np.array(words, dtype=np.uint64)

    def ragged_words(self, lengths):
        return self._given


@pytest.mark.parametrize("word", [0, 1, 2**33 - 1, 2**64 - 2**33, 2**64 - 1])
def test_numbers_that_64_bits_say_little_about_are_left_to_balls(word: int, monkeypatch) -> None:
    decided = []
    real = racing._finish
    monkeypatch.setattr(racing, "_finish", lambda *given: decided.append(given) or real(*given))
    racing.races(np.array([[1, 9]]), Fraction(1), Given([2**62, word]))
    assert len(decided) == 1
