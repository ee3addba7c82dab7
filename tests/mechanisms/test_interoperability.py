"""Mechanisms in the hands of other libraries: never less than what they lose, and no more than rounding above it."""

from __future__ import annotations

import importlib.util
import math
import sys

import numpy as np
import pytest

import symveil as sv
from symveil.errors import ParameterError
from symveil.laws.losses import by_distances, enumerated, worst_deltas
from symveil.ledger.composition import composed_epsilon, symbol_loss
from symveil.mechanisms.code_law import pairs_of_laws
from symveil.mechanisms.mechanism import Mechanism

EPSILONS = np.linspace(-3, 3, 61)
ON_FREE_WORDS = [
    (kind, symbols, length, adjacency)
    for kind in (sv.Exponential, sv.PermuteAndFlip, sv.Staircase)
    for symbols, length in (("ab", 4), ("abc", 3), ("abcd", 2))
    for adjacency in ((1,) if kind is sv.PermuteAndFlip else (1, 2))  # whose law takes its time
]


def brute_delta(mechanism: Mechanism, epsilon: float, apart: int) -> float:
    """The largest δ(ε) over all pairs at most so far apart, by the definition, from the probabilities themselves."""
    words = np.concatenate(mechanism.inputs(at_most=1000))
    laws = [np.exp(mechanism.log_probabilities(word, words)) for word in words]
    return max(
        float(np.maximum(one - math.exp(epsilon) * other, 0).sum())
        for index, one in enumerate(laws)
        for second, other in enumerate(laws)
        if index != second and mechanism.distance(words[index], words[second][None, :])[0] <= apart
    )


@pytest.mark.parametrize(("kind", "symbols", "length", "adjacency"), ON_FREE_WORDS)
def test_counted_losses_are_those_of_every_pair(kind: type, symbols: str, length: int, adjacency: int) -> None:
    mechanism = kind(sv.words(symbols, length), epsilon=1.5, adjacency=adjacency)
    weights = mechanism._log_weights_by_distance()
    assert weights is not None
    counted = [by_distances(weights, len(symbols), apart) for apart in range(1, adjacency + 1)]
    every = worst_deltas(list(enumerated(mechanism)), EPSILONS)
    assert np.allclose(worst_deltas(counted, EPSILONS), every, rtol=1e-8, atol=1e-12)
    for epsilon in (-1.0, 0.0, 0.7, 1.2):
        exact = brute_delta(mechanism, epsilon, adjacency)
        found = worst_deltas(counted, np.array([epsilon]))[0]
        assert exact - 1e-15 <= found <= exact + 1e-8
    for pair in counted:
        assert 1 <= pair.chances.sum() < 1 + 1e-8


@pytest.mark.parametrize(("kind", "symbols", "length", "adjacency"), ON_FREE_WORDS)
def test_group_privacy_is_exact_on_free_words(kind: type, symbols: str, length: int, adjacency: int) -> None:
    mechanism = kind(sv.words(symbols, length), epsilon=1.5, adjacency=adjacency)
    for apart in range(1, length + 2):
        exact = max(pair.largest for pair in enumerated(mechanism, min(apart, length)))
        found = mechanism.loss_at(apart)
        assert found <= exact + 1e-9
        assert found >= max(_losses(mechanism, min(apart, length))) - 1e-13
    assert mechanism.loss_at(0) == 0
    assert mechanism.loss_at(adjacency) <= mechanism.guarantee.epsilon


def _losses(mechanism: Mechanism, apart: int) -> list[float]:
    words = np.concatenate(mechanism.inputs(at_most=1000))
    laws = [mechanism.log_probabilities(word, words) for word in words]
    return [
        float((one - other).max())
        for index, one in enumerate(laws)
        for second, other in enumerate(laws)
        if index != second and mechanism.distance(words[index], words[second][None, :])[0] <= apart
    ]


def test_group_privacy_on_models() -> None:
    """Few words: every pair. Many: 2η a place for the exponential mechanism and permute-and-flip, η for online."""
    roads = sv.MarkovChain.from_transitions(
        [
            ("a", "b", "1/2"),
            ("a", "c", "1/2"),
            ("b", "a", "1/3"),
            ("b", "c", "2/3"),
            ("c", "c", "1/2"),
            ("c", "a", "1/2"),
        ]
    )
    small = sv.runs(roads, length=3)
    for mechanism in (
        sv.Exponential(small, epsilon=2, adjacency=1, calibration="classic"),
        sv.Online(small, epsilon=2, adjacency=1),
        sv.PermuteAndFlip(small, epsilon=2, adjacency=1, calibration="classic"),
    ):
        for apart in (1, 2, 3):
            worst = max(_losses(mechanism, apart))
            assert worst - 1e-13 <= mechanism.loss_at(apart) <= worst + 1e-9
    large = sv.runs(roads, length=12)
    exponential = sv.Exponential(large, epsilon=2, adjacency=1, calibration="classic")
    assert exponential.loss_at(1) <= exponential.guarantee.epsilon
    assert exponential.loss_at(3) == pytest.approx(float(6 * exponential.rate), rel=1e-12)
    assert sv.Online(large, epsilon=2, adjacency=1).loss_at(3) == 6
    assert sv.PermuteAndFlip(large, epsilon=2, adjacency=1, calibration="classic").loss_at(3) == 6
    edits = sv.EditChannel(alphabet="ab", epsilon=1)
    assert edits.loss_at(3) == pytest.approx(3 * edits.guarantee.epsilon)
    with pytest.raises(ParameterError, match="distance: expected a whole number, 0 or more"):
        edits.loss_at(-1)


def test_long_words_and_large_alphabets_are_written_out() -> None:
    alphabet = [str(number) for number in range(100)]
    mechanism = sv.Exponential(sv.words(alphabet, 400), epsilon=3, adjacency=3)
    pairs = pairs_of_laws(mechanism)
    assert pairs is not None and len(pairs) == 3
    assert pairs[-1].largest == pytest.approx(3, abs=1e-6)
    assert mechanism.loss_at(400) == pytest.approx(400, rel=1e-6)
    # three places, each randomised response by itself
    stays = 1 / (1 + 99 * math.exp(-1))
    assert pairs[-1].chances[pairs[-1].losses > 3 - 1e-6].sum() == pytest.approx(stays**3, rel=1e-6)


@pytest.mark.parametrize(
    "mechanism",
    [
        sv.Exponential(sv.words("abcd", 14), epsilon="0.5"),
        sv.Staircase(sv.words("abc", 5), epsilon=1, adjacency=2),
        sv.PermuteAndFlip(sv.words("ab", 4), epsilon=2),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_a_loss_distribution_is_above_the_exact_curve_and_close(mechanism: Mechanism) -> None:
    distribution = mechanism.privacy_loss_distribution(value_discretization_interval=1e-3)
    pairs = [pair.at_most(mechanism.guarantee.epsilon) for pair in pairs_of_laws(mechanism)]
    for epsilon in (0.0, 0.1, 0.3, float(mechanism.epsilon)):
        exact = worst_deltas(pairs, np.array([epsilon]))[0]
        assert exact * (1 - 1e-9) <= distribution.get_delta_for_epsilon(epsilon) <= exact + 2e-3
    assert distribution.get_delta_for_epsilon(float(mechanism.guarantee.epsilon) + 2e-3) == 0


def test_composed_as_the_ledger_composes() -> None:
    mechanism = sv.Exponential(sv.words("abcd", 14), epsilon="0.1")
    ours = composed_epsilon([(symbol_loss(mechanism.rate, 4, 1), 100)], 1e-6)
    theirs = mechanism.privacy_loss_distribution().self_compose(100).get_epsilon_for_delta(1e-6)
    assert theirs == pytest.approx(ours, rel=2e-3)
    # beside other mechanisms, by the library itself
    from dp_accounting.pld import privacy_loss_distribution as pld

    noise = pld.from_laplace_mechanism(1.0, value_discretization_interval=1e-4)
    both = mechanism.privacy_loss_distribution().compose(noise)
    assert 1 < both.get_epsilon_for_delta(0) < 1.1 + 1e-3


def test_where_only_epsilon_is_known_the_worst_is_taken() -> None:
    roads = sv.MarkovChain.from_transitions([(one, other, "1/3") for one in "abc" for other in "abc"])
    mechanism = sv.Exponential(sv.runs(roads, length=12), epsilon=1, adjacency=1, calibration="classic")
    assert pairs_of_laws(mechanism) is None
    distribution = mechanism.privacy_loss_distribution()
    epsilon = mechanism.guarantee.epsilon
    worst = (math.exp(epsilon) - 1) / (math.exp(epsilon) + 1)
    assert distribution.get_delta_for_epsilon(0) >= worst - 1e-9
    with pytest.raises(ParameterError, match="value_discretization_interval: expected a number above 0"):
        mechanism.privacy_loss_distribution(value_discretization_interval=0)


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = sv.Exponential(sv.words("ab", 2), epsilon=1)
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(ParameterError, match=r"opendp to be installed \(pip install opendp\), found none"):
        mechanism.to_opendp()
    monkeypatch.setitem(sys.modules, "dp_accounting.pld.privacy_loss_distribution", None)
    with pytest.raises(
        ParameterError, match=r"dp-accounting to be installed \(pip install dp-accounting\), found none"
    ):
        mechanism.privacy_loss_distribution()


def test_a_measurement_of_opendp() -> None:
    if importlib.util.find_spec("opendp") is None:
        pytest.skip("OpenDP is not installed: it is in the extra bench")
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    mechanism = sv.Exponential(sv.words("abc", 5), epsilon=40, adjacency=2)
    measurement = mechanism.to_opendp()
    assert measurement("abcab") == "abcab"  # at this ε another word comes with a chance below 1e-7
    assert measurement.map(2) == mechanism.guarantee.epsilon == 40
    assert measurement.map(4) == mechanism.loss_at(4)
    with pytest.raises(dp.OpenDPException) as error:
        measurement("abxab")
    assert "abxab" not in str(error.value)
