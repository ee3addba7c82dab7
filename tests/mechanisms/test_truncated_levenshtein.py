"""The truncated mechanism: law, guarantee and draws against enumeration, on Σ^{≤N} and on models."""

from __future__ import annotations

import itertools
import math
import pickle
import random
import time
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist
from scipy.stats import chi2

import symveil as sv
from edit_oracle import neighbours, words
from symveil.calibration import truncated_loss
from symveil.calibration.limits import LIMITS as CALIBRATION
from symveil.calibration.truncated_loss import BallBounds, RunBallBounds
from symveil.errors import ParameterError, WordError
from symveil.languages.limits import LIMITS as COUNTING
from symveil.randomness import Boundaries, NotPrivateSeededBits
from symveil.randomness.limits import LIMITS as BITS

pytestmark = pytest.mark.usefixtures("shared_cache")

FALSE_ALARM = 1e-6
CHAIN = sv.MarkovChain.from_transitions(
    [("a", "a", "1/3"), ("a", "b", "2/3"), ("b", "c", "1/2"), ("b", "a", "1/2"), ("c", "a", 1)]
)
ROADS = sv.load_model("examples/roads.json")


def words_of(language) -> list[tuple[int, ...]]:
    return [tuple(row) for rows in language.enumerate_codes(at_most=10_000) for row in rows.tolist()]


def law_by_definition(inputs, rate: float, cutoff: int) -> np.ndarray:
    distance = np.array([[Levenshtein.distance(w, v) for v in inputs] for w in inputs])
    weights = np.exp(-rate * np.minimum(distance, cutoff + 1))
    return np.log(weights / weights.sum(axis=1, keepdims=True))


def log_law(mechanism, inputs) -> np.ndarray:
    rows = mechanism.language.enumerate_codes(at_most=10_000)
    return np.array(
        [np.concatenate([mechanism.log_probabilities(np.array(w, np.int32), each) for each in rows]) for w in inputs]
    )


LANGUAGES = [sv.words_up_to("ab", 5), sv.words_up_to("abc", 4), sv.words_up_to("a", 6), sv.runs_up_to(CHAIN, 5)]


@pytest.mark.parametrize("language", LANGUAGES, ids=repr)
@pytest.mark.parametrize(("epsilon", "adjacency", "cutoff"), [(2, 1, None), (4, 1, 1), (6, 2, 2), (9, 3, 1), (1, 1, 0)])
@pytest.mark.parametrize("calibration", ["tight", "classic"])
def test_law_and_loss_equal_enumeration(language, epsilon, adjacency, cutoff, calibration):
    mechanism = sv.TruncatedLevenshtein(
        language, epsilon=epsilon, adjacency=adjacency, cutoff=cutoff, calibration=calibration
    )
    inputs = words_of(language)
    logs = log_law(mechanism, inputs)
    expected = law_by_definition(inputs, float(mechanism.rate), mechanism.cutoff)
    np.testing.assert_allclose(logs, expected, atol=1e-11)
    worst = max(float((logs[i] - logs[j]).max()) for i, j in neighbours(inputs, adjacency))
    assert worst <= mechanism.guarantee.epsilon + 1e-11 <= epsilon + 1e-11
    if calibration == "tight":
        assert mechanism.guarantee.how == "exact"
        assert worst == pytest.approx(mechanism.guarantee.epsilon, abs=1e-9)
        assert worst > 0.99 * epsilon  # and the budget is spent
    else:
        assert mechanism.guarantee == sv.Guarantee(epsilon=float(epsilon), how="classic")


@pytest.mark.parametrize(("symbols", "cutoff"), [(1, 2), (2, 3), (3, 2), (3, 7)])
def test_words_of_four_symbols_and_outputs_of_seven(symbols, cutoff):
    """The bar of the issue, on languages that may be too large to be exact: counts, laws, and the worst loss."""
    language = sv.words_up_to("abc"[:symbols], 7)
    mechanism = sv.TruncatedLevenshtein(language, epsilon=4, cutoff=cutoff)
    inputs, outputs = (["".join("abc"[c] for c in word) for word in words(symbols, size)] for size in (4, 7))
    distance = cdist(inputs, outputs, scorer=Levenshtein.distance)
    capped = np.minimum(distance, cutoff + 1)
    for word, row in zip(inputs, capped, strict=True):
        law = mechanism.distances(word)
        assert list(law.words) == [int((row == d).sum()) for d in range(len(law.words))]
    weights = np.exp(-float(mechanism.rate) * capped)
    expected = np.log(weights / weights.sum(axis=1, keepdims=True))
    logs = log_law(mechanism, words(symbols, 4))
    np.testing.assert_allclose(logs, expected, atol=1e-11)
    pairs = np.argwhere(cdist(inputs, inputs, scorer=Levenshtein.distance) == 1)
    worst = max(float((logs[i] - logs[j]).max()) for i, j in pairs)
    assert worst <= mechanism.guarantee.epsilon <= 4


@pytest.mark.parametrize("symbols", [1, 2, 3])
def test_bounds_on_balls_hold_for_every_word(symbols):
    """The fewest near words are those of aa…a, exactly; no word has more than the upper bound."""
    within, longest = 4, 5 if symbols < 3 else 4
    bounds = BallBounds(symbols=symbols, within=within, longest=longest)
    for length, other in itertools.product(range(longest + 1), range(longest + 2)):
        inputs, outputs = ([w for w in words(symbols, size) if len(w) == size] for size in (length, other))
        distance = np.array([[Levenshtein.distance(w, v) for v in outputs] for w in inputs])
        for edits in range(within + 1):
            counts = (distance <= edits).sum(axis=1)
            assert bounds.fewest(length, edits, other) == counts.min() == counts[0]
            if abs(length - other) <= edits:
                assert bounds.most(length, edits, other) >= counts.max()
                if edits == 1:
                    most = bounds.most(length, edits, other)
                    # one deletion: as many words as runs, which an alphabet of one symbol cannot have
                    assert most == counts.max() or symbols == 1


def random_language(source: random.Random):
    if source.random() < 0.3:
        return sv.words_up_to(range(source.randrange(1, 4)), source.randrange(1, 5))
    states, symbols = source.randrange(1, 5), "abc"[: source.randrange(1, 4)]
    rows = [("s0", symbols[0], f"s{source.randrange(states)}")]
    rows += [
        (f"s{i}", a, f"s{source.randrange(states)}") for i in range(states) for a in symbols if source.random() < 0.7
    ]
    model = sv.TransitionSystem.from_transitions(list(dict.fromkeys(rows)), initial="s0")
    return sv.runs_up_to(model, source.randrange(1, 6))


def test_certified_losses_are_never_below_the_exact_ones():
    """What large languages rely on, checked on 150 small ones, at small and at large rates."""
    source = random.Random(5)
    for _ in range(150):
        language, cutoff, adjacency = random_language(source), source.randrange(4), source.randrange(1, 4)
        rate = Fraction(source.choice(["1/10", "1/2", "1", "2", "5", "20"]))
        slope = max(min(adjacency, cutoff + 1, language.max_length), 1)
        sizes = truncated_loss._ball_sizes(language, cutoff)
        certified = truncated_loss._certified_loss(sizes, language, rate=rate, adjacency=adjacency, slope=slope)
        written = truncated_loss._written_out(language, adjacency=adjacency, cutoff=cutoff)
        exact = truncated_loss._exact_loss(written, language.size, rate=rate, cutoff=cutoff)
        assert exact <= certified + Fraction(1, 10**12)
        assert certified <= 2 * slope * rate


def test_bounds_on_models_hold_for_every_word():
    source = random.Random(8)
    for _ in range(60):
        language = random_language(source)
        if language.graph is None:
            continue
        inputs, within = words_of(language), source.randrange(1, 4)
        bounds = RunBallBounds(language.graph, language.ways, within=within, longest=language.max_length)
        for word in inputs:
            found = Counter((len(v), e) for v in inputs for e in range(Levenshtein.distance(word, v), within + 1))
            assert all(count <= bounds.most(len(word), e, length) for (length, e), count in found.items())


@pytest.mark.parametrize(
    ("language", "epsilon"),
    [(sv.words_up_to("abcd", 14), 8), (sv.runs_up_to(ROADS, 10), 5), (sv.words_up_to("ab", 40), 2)],
)
def test_large_languages_are_certified_and_better_than_classic(language, epsilon):
    mechanism = sv.TruncatedLevenshtein(language, epsilon=epsilon, adjacency=1)
    assert language.size > CALIBRATION.now.truncated_words
    assert mechanism.guarantee.how == "certified"
    assert mechanism.guarantee.epsilon <= epsilon
    assert mechanism.rate > Fraction(epsilon, 2) * Fraction(3, 2)


def test_certified_rates_survive_sampled_pairs():
    """On a language too large to write out: the true loss of 40 random adjacent pairs is below the guarantee."""
    language = sv.words_up_to("abcd", 12)
    mechanism = sv.TruncatedLevenshtein(language, epsilon=6, cutoff=3)
    source = random.Random(4)
    seen = 0.0
    for _ in range(40):
        word = [source.choice("abcd") for _ in range(source.choice([0, 1, 5, 11, 12]))]
        near = [list(word), list(word)]
        place = source.randrange(len(word) + 1)
        if len(word) < 12:
            near[0].insert(place, source.choice("abcd"))
        if word:
            del near[1][place % len(word)]
        for other in near:
            if other != word:
                own = mechanism.log_probability(word, word) - mechanism.log_probability(other, word)
                back = mechanism.log_probability(other, other) - mechanism.log_probability(word, other)
                seen = max(seen, own, back)
    assert float(mechanism.rate) < seen <= mechanism.guarantee.epsilon


@pytest.mark.parametrize("language", [sv.words_up_to("ab", 3), sv.runs_up_to(CHAIN, 3)], ids=repr)
@pytest.mark.parametrize("cutoff", [1, 3])
def test_draws_follow_the_law(language, cutoff):
    """40,000 draws of one word, a cell for every word that can be released; false alarm once in a million."""
    mechanism = sv.TruncatedLevenshtein(language, epsilon=2, adjacency=1, cutoff=cutoff)
    inputs = words_of(language)
    word, count = (0, 1), 40_000
    released, lengths = mechanism.release_flat(
        np.tile(np.array(word, np.int32), count), np.full(count, 2), bits=NotPrivateSeededBits(6)
    )
    seen = Counter(tuple(each.tolist()) for each in np.split(released, np.cumsum(lengths)[:-1]))
    assert set(seen) <= set(inputs)

    def fits(rate: float) -> bool:
        logs = law_by_definition(inputs, rate, cutoff)[inputs.index(word)]
        expected = count * np.exp(logs)
        observed = np.array([seen[each] for each in inputs])
        return chi2.sf(float(((observed - expected) ** 2 / expected).sum()), len(inputs) - 1) >= FALSE_ALARM

    rate = float(mechanism.rate)
    assert fits(rate)
    assert not fits(rate * 1.1)
    assert not fits(rate * 0.9)


@pytest.mark.parametrize("filter_bits", [1, 4, 20])
def test_the_slow_path_releases_the_same_words(filter_bits, monkeypatch, set_limits):
    sources = ["abca", "", "c", "bbbb"] * 8
    fast_bits, slow_bits = NotPrivateSeededBits(9), NotPrivateSeededBits(9)
    expected = sv.TruncatedLevenshtein(sv.words_up_to("abc", 4), epsilon=3).release_many(sources, bits=fast_bits)
    decided = []
    real = Boundaries.resolve
    set_limits(BITS, filter_bits=filter_bits)
    monkeypatch.setattr(Boundaries, "resolve", lambda self, prefix, bits: decided.append(1) or real(self, prefix, bits))
    slow = sv.TruncatedLevenshtein(sv.words_up_to("abc", 4), epsilon=3)
    assert slow.release_many(sources, bits=slow_bits) == expected
    assert fast_bits.words(1) == slow_bits.words(1), "the slow path drew bits that the fast one did not"
    assert len(decided) > (8 if filter_bits == 1 else -1)


def test_the_law_of_the_distance():
    language = sv.words_up_to("abc", 4)
    mechanism = sv.TruncatedLevenshtein(language, epsilon=4, cutoff=2)
    law = mechanism.distances("abca")
    inputs = words_of(language)
    distance = np.array([Levenshtein.distance((0, 1, 2, 0), v) for v in inputs])
    chances = np.exp(law_by_definition(inputs, float(mechanism.rate), 2)[inputs.index((0, 1, 2, 0))])
    capped = np.minimum(distance, 3)
    assert law.words == tuple(int((capped == d).sum()) for d in range(4))
    assert law.probabilities == pytest.approx([chances[capped == d].sum() for d in range(4)])
    assert law.expected_error == pytest.approx(float(chances @ capped))
    assert law.bounds.lower <= float(chances @ distance) <= law.bounds.upper
    assert law.label(3) == "3 or more"
    whole = sv.TruncatedLevenshtein(language, epsilon=4).distances("abca")
    assert whole.bounds is None
    assert not whole.or_more


def test_released_words_are_words_of_the_model():
    language = sv.runs_up_to(ROADS, 12)
    mechanism = sv.TruncatedLevenshtein(language, epsilon=1, adjacency=1, cutoff=2)
    trip = ("harbour rd", "bridge", "main st n", "market st")
    for released in mechanism.release_many([trip] * 50):
        language.encode(released)
    with pytest.raises(WordError, match="position 2"):
        mechanism.release(("harbour rd", "harbour rd"))


def test_degenerate_languages():
    only = sv.TruncatedLevenshtein(sv.words_up_to("abc", 0), epsilon=1)
    assert only.release("") == ""
    assert only.guarantee.epsilon <= 1
    assert only.distances("").probabilities.tolist() == [1]
    lengths = sv.TruncatedLevenshtein(sv.words_up_to("a", 300), epsilon=3)
    assert set(lengths.release("aaa")) <= {"a"}
    far = sv.TruncatedLevenshtein(sv.words_up_to("ab", 3), epsilon=2, cutoff=50)
    assert not far.distances("ab").or_more


def test_whole_words():
    mechanism = sv.TruncatedLevenshtein(sv.words_up_to("ab", 4), epsilon=6, adjacency="all")
    assert mechanism.adjacency == 4
    inputs = words_of(mechanism.language)
    logs = log_law(mechanism, inputs)
    worst = float((logs[:, None, :] - logs[None, :, :]).max())
    assert worst == pytest.approx(mechanism.guarantee.epsilon, abs=1e-9)
    assert worst <= 6


def test_extreme_budgets():
    mechanism = sv.TruncatedLevenshtein(sv.words_up_to("abc", 30), epsilon=10**6, cutoff=2)
    assert mechanism.release("abcabc") == "abcabc"
    assert mechanism.log_probability("abc", "c" * 30) < -1e6
    tiny = sv.TruncatedLevenshtein(sv.words_up_to("ab", 3), epsilon="1/1000000")
    assert math.isclose(tiny.probability("ab", "bbb"), 1 / 15, rel_tol=1e-4)


def test_it_travels_without_the_words_it_has_seen():
    mechanism = sv.TruncatedLevenshtein(sv.words_up_to("abc", 6), epsilon=5)
    mechanism.release("cabcab")
    assert mechanism._remembered
    copy = pickle.loads(pickle.dumps(mechanism))  # noqa: S301 - our own
    assert "_remembered" not in copy.__dict__
    assert copy.guarantee == mechanism.guarantee
    with pytest.raises(AttributeError, match="cannot be changed"):
        mechanism.cutoff = 1


@pytest.mark.parametrize("cutoff", [-1, 1.5, True, "2", 10**9])
def test_bad_cutoffs(cutoff):
    with pytest.raises(ParameterError, match="cutoff"):
        sv.TruncatedLevenshtein(sv.words_up_to("ab", 3), epsilon=1, cutoff=cutoff)


def test_a_language_of_one_length_is_refused():
    with pytest.raises(ParameterError, match="words_up_to"):
        sv.TruncatedLevenshtein(sv.words("ab", 3), epsilon=1)


def test_the_default_cutoff_looks_at_public_things_only():
    assert sv.TruncatedLevenshtein(sv.words_up_to("abc", 5), epsilon=1).cutoff == 5
    assert sv.TruncatedLevenshtein(sv.words_up_to("abc", 100), epsilon=1).cutoff == 4
    assert sv.TruncatedLevenshtein(sv.words_up_to("abc", 1000), epsilon=1).cutoff == 3
    assert sv.TruncatedLevenshtein(sv.runs_up_to(ROADS, 20), epsilon=1, adjacency=1).cutoff == 10
    assert sv.TruncatedLevenshtein(sv.runs_up_to(ROADS, 500), epsilon=1, adjacency=1).cutoff == 3


DENSE = sv.MarkovChain.from_transitions([(f"s{i}", f"s{j}", "1/40") for i in range(40) for j in range(40)])


def test_on_a_dense_model_every_word_is_answered():
    """A limit met on the way would tell a word of many different symbols from one symbol repeated."""
    mechanism = sv.TruncatedLevenshtein(sv.runs_up_to(DENSE, 100), epsilon=8, adjacency=1)
    assert 1 <= mechanism.cutoff < 4
    source = random.Random(3)
    for word in (["s1", "s2", "s3"], ["s0"] * 80, [f"s{source.randrange(40)}" for _ in range(80)]):
        mechanism.language.encode(mechanism.release(word))


def test_a_word_is_never_refused_for_its_work(set_limits):
    """Whatever the limit of counting is elsewhere: the mechanism has decided before it saw the word."""
    set_limits(COUNTING, edit_edges=5)
    mechanism = sv.TruncatedLevenshtein(sv.words_up_to("abc", 30), epsilon=8)
    assert mechanism.release("abc" * 10) is not None


def test_what_would_take_too_long_is_refused_for_all_words_at_once():
    with pytest.raises(ParameterError, match=r"^cutoff: expected one .* every word of up to 100 symbols .*found 4$"):
        sv.TruncatedLevenshtein(sv.runs_up_to(DENSE, 100), epsilon=8, adjacency=1, cutoff=4)
    with pytest.raises(ParameterError, match="^cutoff: "):
        sv.TruncatedLevenshtein(sv.words_up_to("abcdefghijkl", 60), epsilon=8, cutoff=9)


@pytest.mark.parametrize("longest", [100_000, 10**7])
def test_a_bound_far_too_long_is_refused_at_once(longest):
    begin = time.process_time()
    with pytest.raises(ParameterError, match=rf"^max_length: expected at most \d+ .*found {longest}$"):
        sv.TruncatedLevenshtein(sv.words_up_to("abcdefgh", longest), epsilon=8)
    with pytest.raises(ParameterError, match=rf"^max_length: expected at most \d+ .*found {longest}$"):
        sv.runs_up_to(ROADS, longest)
    assert time.process_time() - begin < 5  # without the refusal: hours
    assert sv.select_mechanism(sv.words_up_to("abcdefgh", longest), epsilon=8).name == "edit"
