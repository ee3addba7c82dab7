"""The policy `private` as a mechanism: its law over all inputs, its guarantee, its draws, read from outside."""

from __future__ import annotations

import itertools
import math
import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import symveil as sv
from symveil.errors import ParameterError, WordError
from symveil.examples.paper_systems import example_4
from symveil.mechanisms.restricted import Restricted
from symveil.randomness import NotPrivateSeededBits

from .plain_observer import Plain, hamming, ks, layered_systems
from .test_private_loss import three_ways


def release_for(system: sv.StochasticSystem, k: int | str, length: int, **options: object) -> Restricted | None:
    enforced = sv.enforce_opacity(system, k, length=length, **options)
    return enforced.mechanism(length) if enforced._runs.safe.language(length) else None


@settings(max_examples=60)
@given(layered_systems(), ks, st.integers(1, 3), st.sampled_from(["1/2", 2, 7]), st.sampled_from([1, 2, "all"]))
def test_the_law_over_all_inputs(system, k, length, epsilon, adjacency):
    plain = Plain(system)
    release = release_for(system, k, length, epsilon=epsilon, adjacency=adjacency)
    possible, safe = plain.possible(length), plain.safe(length, k)
    assert (release is not None) is bool(safe)
    assume(safe)
    (inputs,), (outputs,) = release.inputs(at_most=10_000), release.outputs(at_most=10_000)
    spelled = [[tuple(plain.observable[e] for e in row) for row in codes.tolist()] for codes in (inputs, outputs)]
    assert spelled == [possible, safe]
    for word, codes in zip(possible, inputs, strict=True):
        assert release.distance(codes, outputs).tolist() == [hamming(word, other) for other in safe]
        assert math.fsum(np.exp(release.log_probabilities(codes, outputs))) == pytest.approx(1, abs=1e-12)
        is_shown = np.isfinite(release.log_probabilities(codes, inputs)).tolist()
        assert is_shown == [other in safe for other in possible]
        law = release.distances(word)
        counts = Counter(hamming(word, other) for other in safe)
        assert dict(zip(law.distances.tolist(), law.counts, strict=True)) == counts
    # the audit: all adjacent inputs, safe or not, and all outputs
    logs = [release.log_probabilities(codes, outputs) for codes in inputs]
    reach = length if adjacency == "all" else adjacency
    adjacent = [(u, v) for u, v in itertools.permutations(range(len(possible)), 2)
                if hamming(possible[u], possible[v]) <= reach]  # fmt: skip
    worst = max((float((logs[u] - logs[v]).max()) for u, v in adjacent), default=0.0)
    verdict = sv.audit(release)
    assert verdict.worst_epsilon == pytest.approx(max(worst, 0), abs=1e-9)
    assert verdict.pairs_checked == len(adjacent)
    assert worst - 1e-9 <= release.guarantee.epsilon <= Fraction(epsilon)
    if release.guarantee.how == "exact":
        assert worst == pytest.approx(release.guarantee.epsilon, abs=1e-9)


def test_draws_follow_the_law():
    """One of a million right samplers fails; the seed is fixed, and a tilted law is rejected."""
    release = release_for(three_ways(3), 0, 3, epsilon=2)
    word = np.array([[2, 0, 2]] * 20_000, dtype=np.int32)
    drawn = Counter(map(tuple, release.release_codes(word, bits=NotPrivateSeededBits(5)).tolist()))
    (outputs,) = release.outputs(at_most=100)
    chance = np.exp(release.log_probabilities(word[0], outputs))
    counts = [drawn[tuple(row)] for row in outputs.tolist()]
    assert sum(counts) == len(word)
    assert chisquare(counts, len(word) * chance).pvalue >= 1e-6
    tilted = chance * np.linspace(0.9, 1.1, len(chance))
    assert chisquare(counts, len(word) * tilted / tilted.sum()).pvalue < 1e-6


def test_it_is_a_mechanism_like_any_other():
    """Audited, proved without trusting it, pickled for a cluster, and not to be changed."""
    release = sv.enforce_opacity(example_4(), 1, epsilon=2).mechanism(3)
    verdict = sv.audit(release)
    assert verdict.private
    assert verdict.worst_epsilon == pytest.approx(release.guarantee.epsilon, abs=1e-9)
    # aab is possible and unsafe, acc and bab are safe; aab and bab are adjacent
    proved = sv.verify_privacy(release.release_chain(["aab", "bab"]), epsilon="2.0001", delta=0)
    assert proved.holds
    assert not sv.verify_privacy(release.release_chain(["aab", "bab"]), epsilon="1", delta=0).holds
    assert release.probability("aab", "bab") == pytest.approx(math.exp(release.log_probability("aab", "bab")))
    with pytest.raises(WordError):
        release.probability("bab", "aab")  # never shown
    again = pickle.loads(pickle.dumps(release))  # noqa: S301 - our own
    assert again.guarantee == release.guarantee
    assert again.release("aab") in {"acc", "bab", "bac", "bcc"}
    with pytest.raises(AttributeError):
        release.epsilon = 9
    assert "rate" in release.parameters_document()


def test_only_lengths_with_a_safe_observation_have_one():
    enforced = sv.enforce_opacity(example_4(), 1, epsilon=2)
    with pytest.raises(ParameterError, match="^length: expected one with a safe observation, found 9$"):
        enforced.mechanism(9)
    with pytest.raises(ParameterError, match="^policy: expected private, which is a mechanism, found safe$"):
        sv.enforce_opacity(example_4(), 1, policy="safe", omega=2).mechanism(3)


@pytest.mark.parametrize("epsilon", ["1/10", 2, "7/2"])
def test_another_epsilon_is_what_it_would_have_been_from_the_start(epsilon):
    moved = sv.enforce_opacity(example_4(), 1, epsilon=1, adjacency=2).with_epsilon(epsilon)
    fresh = sv.enforce_opacity(example_4(), 1, epsilon=epsilon, adjacency=2)
    assert (moved.guarantee, moved.sensitive, moved.adjacency) == (fresh.guarantee, fresh.sensitive, 2)
    assert moved.expected_distance == fresh.expected_distance
    assert moved.posterior_of_secret == fresh.posterior_of_secret


def test_only_the_policy_private_has_an_epsilon():
    with pytest.raises(ParameterError, match="^epsilon: expected none with the policy safe, found 1$"):
        sv.enforce_opacity(example_4(), 1, policy="safe", omega=2).with_epsilon(1)
    with pytest.raises(ParameterError, match="^epsilon: expected a number above 0"):
        sv.enforce_opacity(example_4(), 1, epsilon=1).with_epsilon(0)
