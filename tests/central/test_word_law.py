"""The law of words against all words written out."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from symveil.central.fit import fitted, words_in
from symveil.central.limits import LIMITS
from symveil.central.noise import NoisyTable
from symveil.central.word_law import FEATURES, Parameters, Support, Trellis, draw_words, no_parameters
from symveil.errors import ModelError
from symveil.randomness import NotPrivateSeededBits


@st.composite
def laws(draw, *, parted: bool = True) -> tuple[Support, Parameters]:
    symbols = draw(st.integers(1, 4))
    pairs = list(itertools.product(range(symbols), repeat=2))
    moves = sorted(draw(st.sets(st.sampled_from(pairs), min_size=1)))
    zones = draw(st.integers(1, symbols))
    zone = draw(st.lists(st.integers(0, zones - 1), min_size=symbols, max_size=symbols))
    zone[draw(st.integers(0, symbols - 1))] = zones - 1
    longest = draw(st.integers(1, 4))
    shortest = draw(st.integers(1, longest))
    split = draw(st.none() | st.integers(1, 4)) if parted else None
    support = Support(
        symbols=symbols,
        source=np.array([pair[0] for pair in moves]),
        target=np.array([pair[1] for pair in moves]),
        zone=np.array(zone),
        shortest=shortest,
        longest=longest,
        split=split,
    )
    numbers = st.floats(-3, 3)
    sizes = {name: len(values) for name, values in no_parameters(support).items()}
    return support, {
        name: np.array(draw(st.lists(numbers, min_size=size, max_size=size))) for name, size in sizes.items()
    }


def written_out(support: Support, parameters: Parameters):
    """Every word with its weight, by the definition."""
    number = {(int(a), int(b)): index for index, (a, b) in enumerate(zip(support.source, support.target, strict=True))}
    for length in range(support.shortest, support.longest + 1):
        for word in itertools.product(range(support.symbols), repeat=length):
            moves = [number.get(pair) for pair in itertools.pairwise(word)]
            if None in moves:
                continue
            late = [support.split is not None and position > support.split for position in range(1, length + 1)]
            steps = [move + len(number) * own for move, own in zip(moves, late, strict=False)]
            end = word[-1] + support.symbols * late[-1]
            zones = support.zone[word[0]] * support.zones + support.zone[word[-1]]
            log = sum(np.log(support.base[move]) for move in moves) + sum(parameters["moves"][step] for step in steps)
            log += parameters["starts"][word[0]] + parameters["ends"][end] + parameters["od"][zones]
            yield word, steps, end, zones, np.exp(log + parameters["lengths"][length - support.shortest])


@given(laws())
@settings(max_examples=80)
def test_everything_expected(law) -> None:
    support, parameters = law
    words = list(written_out(support, parameters))
    if not words:
        with pytest.raises(ModelError, match="a word of the public lengths"):
            Trellis.of(support, parameters)
        return
    total = sum(weight for *_, weight in words)
    means = no_parameters(support)
    shared = {name: np.zeros_like(means[name]) for name in ("starts", "moves", "ends")}
    for word, steps, end, zones, weight in words:
        chance = weight / total
        counted = 1 / max(len(steps), 1) if support.split is None else min(1, support.split / (len(word) + 1))
        means["starts"][word[0]] += chance
        means["ends"][end] += chance
        shared["starts"][word[0]] += chance * counted
        shared["ends"][end] += chance * counted
        means["od"][zones] += chance
        means["lengths"][len(word) - support.shortest] += chance
        for step in steps:
            means["moves"][step] += chance
            shared["moves"][step] += chance * counted
    found = Trellis.of(support, parameters).expected()
    assert found.log_total == pytest.approx(np.log(total), abs=1e-9)
    for name in FEATURES:
        assert found.means[name] == pytest.approx(means[name], abs=1e-9)
    for name, own in shared.items():
        assert found.shared[name] == pytest.approx(own, abs=1e-9)
    shares = np.array([1.0 / (length + 1) for length in range(support.shortest, support.longest + 1)])
    there = np.array(
        [any(len(word) == length for word, *_ in words) for length in range(support.shortest, support.longest + 1)]
    )
    weighed = Trellis.of(support, parameters, shares=shares).expected().means["lengths"]
    assert weighed == pytest.approx(shares * there / (shares * there).sum(), abs=1e-9)


@given(laws(), st.integers(0, 10**6))
@settings(max_examples=40)
def test_only_words_of_the_law_are_drawn(law, seed) -> None:
    support, parameters = law
    words = {word for word, *_ in written_out(support, parameters)}
    if words:
        codes, lengths = draw_words(Trellis.of(support, parameters), 30, NotPrivateSeededBits(seed))
        drawn = np.split(codes, np.cumsum(lengths)[:-1])
        assert len(drawn) == 30 and {tuple(word.tolist()) for word in drawn} <= words


def test_words_are_drawn_as_often_as_the_law_says() -> None:
    """Pearson's test over all words: 20,000 draws by a fixed seed, at 1e-6; another law is rejected."""
    support = Support(
        symbols=3, source=np.array([0, 0, 1, 2, 2]), target=np.array([1, 2, 0, 0, 2]), zone=np.array([0, 1, 1]),
        shortest=1, longest=4,
    )  # fmt: skip
    parameters = no_parameters(support)
    parameters["moves"][:] = [0.5, -0.5, 0.0, 1.0, -1.0]
    parameters["od"][:] = [0.3, -0.3, 0.8, 0.0]
    parameters["lengths"][:] = [-1.0, 0.0, 0.5, 0.2]
    codes, lengths = draw_words(Trellis.of(support, parameters), 20_000, NotPrivateSeededBits(5))
    drawn = Counter(tuple(word.tolist()) for word in np.split(codes, np.cumsum(lengths)[:-1]))

    def p_value(own: Parameters) -> float:
        weights = {word: weight for word, *_, weight in written_out(support, own)}
        total = sum(weights.values())
        expected = [20_000 * weight / total for weight in weights.values()]
        return float(stats.chisquare([drawn[word] for word in weights], expected).pvalue)

    assert p_value(parameters) > 1e-6
    assert p_value(no_parameters(support)) < 1e-6


def of_single_symbols() -> tuple[Support, Parameters]:
    """Words of one symbol, of which one in twenty is the other one: none has a move."""
    support = Support(symbols=2, source=np.zeros(1, dtype=np.int64), target=np.zeros(1, dtype=np.int64),
                      zone=np.arange(2), shortest=1, longest=1)  # fmt: skip
    return support, no_parameters(support) | {"ends": np.array([0.0, 3.0])}


def has_words(law: tuple[Support, Parameters]) -> bool:
    return any(True for _ in written_out(*law))


@given(laws(parted=False).filter(has_words), st.integers(0, 10**6), st.sampled_from([0.3, 30.0]))
@example(of_single_symbols(), 0, 0.3)
@settings(max_examples=6)
def test_a_fit_matches_tables_as_far_as_they_are_trusted(law, seed, noise) -> None:
    """Tables may hold any numbers, negative ones too; where they have little noise, the law is found again.

    Likelihoods are those of words given their length: a length of which noise leaves nothing has no words.
    """
    support, parameters = law
    told = Trellis.of(support, parameters).expected()
    random = np.random.default_rng(seed)
    words = 200.0
    values = {**told.means, "moves": told.shared["moves"]}
    tables = {
        name: NoisyTable(values=words * values[name] + random.laplace(0, noise, len(values[name])), deviation=noise)
        for name in FEATURES
    }
    classes = {"moves": np.arange(len(support.source)) % 2 * 3, "od": np.zeros(support.zones**2, dtype=np.int64)}
    found = fitted(support, tables, classes)
    assert all(np.isfinite(each).all() for each in found.values())

    def likelihood(own: Parameters) -> float:
        """The mean logarithm of a word's probability under `own` given its length, over the law that was told."""
        linear = sum(float(own[name] @ told.means[name]) for name in FEATURES if name != "lengths")
        there = told.means["lengths"] > 0
        logs = Trellis.of(support, own).log_lengths[support.shortest - 1 :]
        return linear - float(told.means["lengths"][there] @ logs[there])

    if noise < 1:  # closer to what was told than the law before anything is learned, or as close
        assert likelihood(found) >= likelihood(no_parameters(support)) - 0.05
        assert words_in(support, tables) == pytest.approx(words, rel=0.05)


def test_words_drawn_some_at_a_time(set_limits) -> None:
    """What bounds memory changes nothing but where one draw ends and the next begins."""
    support = Support.of(symbols=3, graph=None, zone=None, shortest=1, longest=4)
    trellis = Trellis.of(support, no_parameters(support))
    set_limits(LIMITS, weights_at_once=60)
    codes, lengths = draw_words(trellis, 1001, NotPrivateSeededBits(5))
    assert len(lengths) == 1001 and lengths.sum() == len(codes) and {1, 2, 3, 4} == set(lengths.tolist())
