"""The edit channel: its law against the definition, its loss against enumeration, its draws against its law."""

from __future__ import annotations

import itertools
import math
import pickle
from collections import Counter

import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein
from scipy.stats import chi2

import symveil as sv
from edit_oracle import Channel, neighbours, words
from symveil.calibration.edit_channel import ChannelParameters
from symveil.errors import ParameterError, WordError
from symveil.mechanisms.limits import LIMITS
from symveil.randomness import Boundaries, NotPrivateSeededBits
from symveil.randomness.limits import LIMITS as BITS
from symveil.trellis.semirings import LOGARITHMS

pytestmark = pytest.mark.usefixtures("shared_cache")

VALUES = {"ratio": "0.3", "power": "2.5", "deletion": "0.15", "substitution": "0.2"}
FALSE_ALARM = 1e-6


def channel_of(symbols: int, **change) -> sv.EditChannel:
    values = {**VALUES, **change, **({"substitution": 0} if symbols == 1 else {})}
    return sv.EditChannel(range(symbols), epsilon=50, parameters=ChannelParameters.of(**values))


def oracle_of(channel: sv.EditChannel) -> Channel:
    chosen = channel.parameters
    return Channel(
        symbols=len(channel.alphabet),
        ratio=float(chosen.ratio),
        power=float(chosen.power),
        deletion=float(chosen.deletion),
        substitution=float(chosen.substitution),
    )


def log_law(channel: sv.EditChannel, inputs, outputs: int) -> np.ndarray:
    rows = sv.words_up_to(channel.alphabet, outputs).enumerate_codes(at_most=10_000)
    return np.array(
        [
            np.concatenate([channel.log_probabilities(np.array(w, dtype=np.int32), each) for each in rows])
            for w in inputs
        ]
    )


@pytest.mark.parametrize("symbols", [1, 2, 3])
def test_the_law_is_the_sum_over_all_ways(symbols):
    channel = channel_of(symbols)
    oracle = oracle_of(channel)
    for word in words(symbols, 3):
        for released in words(symbols, 4):
            expected = oracle.probability(word, released)
            assert channel.probability(word, released) == pytest.approx(expected, rel=1e-12)
            rows = np.array(released, dtype=np.int32)[None, :]
            (weight,) = channel._forward._passed(np.array(word, dtype=np.int32), rows, LOGARITHMS)
            assert weight - len(released) * math.log(symbols) == pytest.approx(math.log(expected), rel=1e-12)


@pytest.mark.parametrize("symbols", [1, 2, 3])
def test_the_law_sums_to_one_as_outputs_grow(symbols):
    channel = channel_of(symbols, ratio="0.1")
    totals = [float(np.exp(log_law(channel, [(0, 0)], longest)).sum()) for longest in (2, 4, 7)]
    assert totals == sorted(totals)
    assert 1 - 1e-3 < totals[-1] < 1


@pytest.mark.parametrize(("symbols", "epsilon"), [(1, 3), (2, 2), (2, 5), (3, 3), (3, 6)])
def test_loss_on_all_words_of_four_symbols_and_outputs_of_seven(symbols, epsilon):
    """The bar of the issue: never more than reported, and equal to it."""
    channel = sv.EditChannel(range(symbols), epsilon=epsilon)
    inputs = words(symbols, 4)
    logs = log_law(channel, inputs, 7)
    worst = max(float((logs[i] - logs[j]).max()) for i, j in neighbours(inputs, 1))
    assert channel.guarantee.how == "exact"
    assert worst <= channel.guarantee.epsilon + 1e-12
    assert worst == pytest.approx(channel.guarantee.epsilon, abs=1e-9)
    assert channel.guarantee.epsilon <= epsilon


@pytest.mark.parametrize("adjacency", [2, 3])
def test_several_edits_lose_at_most_so_many_times_as_much(adjacency):
    channel = sv.EditChannel("ab", epsilon=9, adjacency=adjacency)
    inputs = words(2, 3)
    logs = log_law(channel, inputs, 6)
    worst = max(float((logs[i] - logs[j]).max()) for i, j in neighbours(inputs, adjacency))
    assert channel.guarantee.how == "certified"
    assert 9 / adjacency < worst <= channel.guarantee.epsilon <= 9


def test_draws_follow_the_law():
    """100,000 draws, the cells of all outputs of up to four symbols; false alarm once in a million."""
    channel = channel_of(2)
    word, count = (0, 1, 0), 100_000
    codes, lengths = channel.release_flat(
        np.tile(np.array(word, dtype=np.int32), count), np.full(count, 3), bits=NotPrivateSeededBits(5)
    )
    seen = Counter(tuple(each.tolist()) for each in np.split(codes, np.cumsum(lengths)[:-1]))
    assert _fits(seen, channel, word, count)
    assert not _fits(seen, channel_of(2, deletion="0.17"), word, count)
    assert not _fits(seen, channel_of(2, deletion="0.13"), word, count)
    assert not _fits(seen, channel_of(2, ratio="0.32"), word, count)
    assert not _fits(seen, channel_of(2, power="2.6"), word, count)


def _fits(seen: Counter, channel: sv.EditChannel, word, count: int) -> bool:
    cells = [(seen[each], count * channel.probability(word, each)) for each in words(2, 5)]
    rest = (count - sum(found for found, _ in cells), count - sum(hoped for _, hoped in cells))
    statistic = sum((found - hoped) ** 2 / hoped for found, hoped in [*cells, rest])
    assert min(hoped for _, hoped in [*cells, rest]) > 10
    return chi2.sf(statistic, len(cells)) >= FALSE_ALARM


def test_long_insertions_are_drawn_on_beyond_the_first_table(set_limits):
    """With a table of one entry every insertion takes several draws; the law must stay the same."""
    set_limits(LIMITS, gaps_at_once=1)
    channel = channel_of(1, ratio="0.8", power=2, deletion="0.2")
    count = 100_000
    gaps = np.bincount(channel._draw_gaps(count, NotPrivateSeededBits(3)), minlength=12)
    weights = 0.8 ** np.arange(2000) / (1.0 + np.arange(2000)) ** 2
    chances = weights / weights.sum()
    observed = [*gaps[:10], gaps[10:].sum()]
    expected = count * np.array([*chances[:10], chances[10:].sum()])
    statistic = float((((np.array(observed) - expected) ** 2) / expected).sum())
    assert chi2.sf(statistic, 10) >= FALSE_ALARM
    wrong = count * np.array([*chances[1:11], chances[11:].sum() + chances[0]])
    assert chi2.sf(float(((np.array(observed) - wrong) ** 2 / wrong).sum()), 10) < FALSE_ALARM


@pytest.mark.parametrize("filter_bits", [1, 4, 12])
def test_the_slow_path_releases_the_same_words(filter_bits, monkeypatch, set_limits):
    """Widening the filter sends draws to ball arithmetic on the same bits: not one released symbol changes."""
    sources = ["abcab", "", "c", "bbbbbbb"] * 10
    fast_bits, slow_bits = NotPrivateSeededBits(9), NotPrivateSeededBits(9)
    expected = sv.EditChannel("abc", epsilon=3).release_many(sources, bits=fast_bits)
    decided = []
    real = Boundaries.resolve
    set_limits(BITS, filter_bits=filter_bits)
    monkeypatch.setattr(Boundaries, "resolve", lambda self, prefix, bits: decided.append(1) or real(self, prefix, bits))
    assert sv.EditChannel("abc", epsilon=3).release_many(sources, bits=slow_bits) == expected
    assert len(decided) >= {1: 100, 4: 10, 12: 0}[filter_bits]
    assert fast_bits.words(1) == slow_bits.words(1), "the slow path drew bits that the fast one did not"
    assert len(set(expected)) > 4


@pytest.mark.parametrize("symbols", [1, 2, 5])
@pytest.mark.parametrize("length", [0, 1, 7, 400])
def test_the_number_of_edits(symbols, length):
    """The law sums to one, its mean is the closed form n(δ+σ) + (n+1)E[t]."""
    channel = channel_of(symbols)
    law = channel.distances([0] * length)
    assert law.measured == "edits"
    assert law.probabilities.sum() == pytest.approx(1, abs=1e-9)
    mean = channel.expected_edits(length)
    assert law.expected_error == mean
    if length <= 7:
        assert float(law.probabilities @ law.distances) == pytest.approx(mean, abs=1e-6)
    count = np.arange(500)
    weights = 0.3**count / (1.0 + count) ** 2.5
    gap = float(weights @ count / weights.sum())
    assert mean == pytest.approx(length * (0.35 if symbols > 1 else 0.15) + (length + 1) * gap, rel=1e-12)


def test_counts_of_near_words_are_in_the_law():
    law = sv.EditChannel("abc", epsilon=5).distances("abc")
    distances = Counter(Levenshtein.distance((0, 1, 2), word) for word in words(3, 6))
    assert law.words[:4] == tuple(distances[d] for d in range(4))
    assert law.words[4:] == (None,) * (len(law.words) - 4)
    assert "or more" in law.label(len(law.distances) - 1)
    assert "Expected edits" in law._repr_html_()


def test_at_a_small_epsilon_it_says_that_it_tells_nothing():
    channel = sv.EditChannel("abc", epsilon=1)
    assert channel.tells_nothing
    assert channel.release_many(["abcab", "", "c"]) == ["", "", ""]
    assert channel.guarantee == sv.Guarantee(epsilon=0.0, how="exact")
    assert channel.probability("abc", "") == 1
    assert channel.probability("abc", "a") == 0
    assert channel.expected_edits(7) == 7
    assert channel.distances("abc").probabilities.tolist() == [0, 0, 0, 1]
    assert channel.distances("abc").label(3) == "3"
    assert sv.audit(channel, length=2).private


def test_words_of_every_kind():
    channel = sv.EditChannel(["main st", "park rd"], epsilon=1000)
    assert channel.release(["main st", "park rd"]) == ("main st", "park rd")
    assert sv.EditChannel("abc", epsilon=1000).release_many(["abc", ("a",), ""]) == ["abc", ("a",), ""]
    assert sv.EditChannel("abc", epsilon=5).release_many([]) == []
    codes, lengths = sv.EditChannel("abc", epsilon=5).release_flat(np.empty(0, np.int32), np.empty(0, np.int64))
    assert len(codes) == len(lengths) == 0
    codes, lengths = sv.EditChannel("abc", epsilon=5).release_flat(np.empty(0, np.int32), np.zeros(3, np.int64))
    assert len(lengths) == 3


def test_lengths_and_order_survive_in_batches():
    """With ε = 1000 nothing is ever edited: any slip in the bookkeeping of places would show."""
    source = np.random.default_rng(2)
    lengths = source.integers(0, 9, size=500)
    codes = source.integers(0, 4, size=int(lengths.sum())).astype(np.int32)
    released, new = sv.EditChannel(range(4), epsilon=1000).release_flat(codes, lengths)
    assert new.tolist() == lengths.tolist()
    assert released.tolist() == codes.tolist()


def test_words_in_a_batch_are_independent_of_their_neighbours():
    """The same bits, one word or many: total length is the sum of lengths, symbols lie in the alphabet."""
    channel = channel_of(3)
    codes = np.tile(np.array([0, 1, 2], dtype=np.int32), 300)
    released, new = channel.release_flat(codes, np.full(300, 3), bits=NotPrivateSeededBits(4))
    assert new.sum() == len(released)
    assert set(released.tolist()) == {0, 1, 2}
    mean = 3 * 0.85 + 4 * (channel.expected_edits(3) - 3 * 0.35) / 4
    assert abs(new.mean() - mean) < 5 * new.std() / math.sqrt(300)


def test_substitution_never_keeps_the_symbol():
    channel = channel_of(3, ratio="1/1000000000", deletion="1/1000000000", substitution="0.666666")
    released = channel.release([1] * 30_000)
    counts = np.bincount(np.array(released), minlength=3)
    # a third each: within five standard deviations, which fails once in 10⁶
    assert np.all(np.abs(counts - 10_000) < 5 * math.sqrt(30_000 * 2 / 9))


def test_it_travels_to_other_processes():
    channel = sv.EditChannel("abc", epsilon=5, max_length=7)
    channel.release("abc")
    copy = pickle.loads(pickle.dumps(channel))  # noqa: S301 - our own
    assert copy.guarantee == channel.guarantee
    assert "epsilon=5" in repr(copy)
    with pytest.raises(AttributeError, match="cannot be changed"):
        copy.epsilon = 9


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": 5, "adjacency": 0}, "adjacency"),
        ({"epsilon": 5, "adjacency": "all"}, "adjacency"),
        ({"epsilon": 5, "max_length": -1}, "max_length"),
        ({"epsilon": 5, "nominal_length": 1.5}, "nominal_length"),
        ({"epsilon": 1, "parameters": ChannelParameters.of(**VALUES)}, "parameters"),
    ],
)
def test_bad_parameters(arguments, name):
    with pytest.raises(ParameterError, match=f"^{name}: expected"):
        sv.EditChannel("abc", **arguments)


def test_bad_words():
    channel = sv.EditChannel("abc", epsilon=5, max_length=4)
    with pytest.raises(WordError, match="at most 4 symbols"):
        channel.release("abcab")
    assert channel.probability("abc", "abcabc") > 0  # a released word may be longer
    with pytest.raises(WordError, match="word 2, word: .* position 1"):
        channel.release_many(["a", "xb"])
    with pytest.raises(WordError, match="single string"):
        channel.release_many("abc")
    for codes, lengths in (
        (np.zeros((2, 2), np.int32), [2, 2]),
        (np.zeros(2, np.int64), [2]),
        (np.zeros(2, np.int32), [1]),
        (np.zeros(2, np.int32), [3, -1]),
        (np.zeros(2, np.int32), [2.0]),
    ):
        with pytest.raises(ParameterError):
            channel.release_flat(codes, np.array(lengths))
    with pytest.raises(WordError, match="word 2"):
        channel.release_flat(np.array([0, 5], np.int32), np.array([1, 1]))
    with pytest.raises(WordError, match="word 1"):
        channel.release_flat(np.zeros(5, np.int32), np.array([5]))


def test_all_words_alike_within_a_public_bound():
    channel = sv.EditChannel("ab", epsilon=30, adjacency="all", max_length=3)
    assert channel.adjacency == 3
    inputs = words(2, 3)
    logs = log_law(channel, inputs, 6)
    worst = max(float((logs[i] - logs[j]).max()) for i, j in itertools.permutations(range(len(inputs)), 2))
    assert worst <= channel.guarantee.epsilon <= 30
