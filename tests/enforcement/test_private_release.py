"""The policy `private` as a mechanism: its law over all inputs, its guarantee, its draws, read from outside."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import symveil as sv
from symveil.enforcement.private import PrivateRelease
from symveil.errors import ParameterError
from symveil.randomness import NotPrivateSeededBits
from symveil.workflows.reproduce.zhao2025_systems import example_4

from .plain_observer import Plain, hamming, ks, layered_systems
from .test_private_loss import three_ways


def release_for(system: sv.StochasticSystem, k: int | str, length: int, **options: object) -> PrivateRelease | None:
    enforced = sv.enforce_opacity(system, k, length=length, **options)
    return enforced._policy.release_for(length) if enforced._runs.safe.language(length) else None


@settings(max_examples=60)
@given(layered_systems(), ks, st.integers(1, 3), st.sampled_from(["1/2", 2, 7]), st.sampled_from([1, 2, "all"]))
def test_the_law_over_all_inputs(system, k, length, epsilon, adjacency):
    plain = Plain(system)
    release = release_for(system, k, length, epsilon=epsilon, adjacency=adjacency)
    possible, safe = plain.possible(length), plain.safe(length, k)
    assert (release is not None) is bool(safe)
    assume(safe)
    spelled = [[tuple(plain.observable[e] for e in row) for row in codes.tolist()]
               for codes in (release.inputs(), release.outputs())]  # fmt: skip
    assert spelled == [possible, safe]
    for word, codes in zip(possible, release.inputs(), strict=True):
        assert release.distance(codes, release.outputs()).tolist() == [hamming(word, other) for other in safe]
        assert math.fsum(np.exp(release.log_probabilities(codes, release.outputs()))) == pytest.approx(1, abs=1e-12)
        is_shown = np.isfinite(release.log_probabilities(codes, release.inputs())).tolist()
        assert is_shown == [other in safe for other in possible]
    # the audit: all adjacent inputs, safe or not, and all outputs
    logs = [release.log_probabilities(codes, release.outputs()) for codes in release.inputs()]
    reach = length if adjacency == "all" else adjacency
    adjacent = [(u, v) for u, v in itertools.permutations(range(len(possible)), 2)
                if hamming(possible[u], possible[v]) <= reach]  # fmt: skip
    worst = max((float((logs[u] - logs[v]).max()) for u, v in adjacent), default=0.0)
    assert worst - 1e-9 <= release.guarantee.epsilon <= Fraction(epsilon)
    if release.guarantee.how == "exact":
        assert worst == pytest.approx(release.guarantee.epsilon, abs=1e-9)


def test_draws_follow_the_law():
    """One of a million right samplers fails; the seed is fixed, and a tilted law is rejected."""
    release = release_for(three_ways(3), 0, 3, epsilon=2)
    word = np.array([[2, 0, 2]] * 20_000, dtype=np.int32)
    drawn = Counter(map(tuple, release.draw(word, NotPrivateSeededBits(5)).tolist()))
    outputs = release.outputs()
    chance = np.exp(release.log_probabilities(word[0], outputs))
    counts = [drawn[tuple(row)] for row in outputs.tolist()]
    assert sum(counts) == len(word)
    assert chisquare(counts, len(word) * chance).pvalue >= 1e-6
    tilted = chance * np.linspace(0.9, 1.1, len(chance))
    assert chisquare(counts, len(word) * tilted / tilted.sum()).pvalue < 1e-6


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
