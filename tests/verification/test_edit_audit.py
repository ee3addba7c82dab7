"""The audit under Levenshtein adjacency: it confirms what holds and finds what does not."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import symveil as sv
from symveil.errors import ParameterError, SymveilError, TooLargeError
from symveil.languages.edit_distance import edit_distances
from symveil.languages.open import words_up_to
from symveil.models.alphabet import Alphabet

pytestmark = pytest.mark.usefixtures("shared_cache")


class Changed:
    """A mechanism with something else in place of one of its parts."""

    def __init__(self, law, **parts) -> None:
        self._law, self._parts = law, parts

    def __getattr__(self, name: str):
        return self._parts[name] if name in self._parts else getattr(self._law, name)


class GeometricChannel:
    """The edit channel as one would first write it: geometric insertions, no symbol ever substituted or deleted…"""

    name, metric, adjacency, epsilon = "geometric", "levenshtein", 1, Fraction(3)
    alphabet, length, largest_output = Alphabet.from_symbols("a"), None, None
    guarantee = sv.Guarantee(epsilon=3.0, how="classic")

    def __init__(self, ratio: float = 0.5, deletion: float = 0.5) -> None:
        self.ratio, self.deletion = ratio, deletion

    def inputs(self, length, *, at_most):
        return words_up_to("a", length).by_length(at_most=at_most)

    outputs = inputs
    distance = staticmethod(edit_distances)

    def log_probabilities(self, word, released):
        size = released.shape[1]
        law = (1 - self.ratio) * self.ratio ** np.arange(size + 1)
        gap = law.copy()
        for _ in word:
            kept = np.concatenate([[0], law[:-1]]) * (1 - self.deletion) + law * self.deletion
            law = np.convolve(kept, gap)[: size + 1]
        return np.full(len(released), math.log(law[size]))


@pytest.mark.parametrize("epsilon", [2, 5])
def test_the_channel_is_confirmed_and_attains_its_loss(epsilon):
    channel = sv.EditChannel("ab", epsilon=epsilon)
    verdict = sv.audit(channel, length=3, output_length=6)
    assert verdict.private
    assert verdict.outputs_up_to == 6
    assert verdict.longer_outputs_epsilon == channel.guarantee.epsilon
    assert verdict.worst_epsilon == pytest.approx(channel.guarantee.epsilon, abs=1e-9)
    word, neighbour = verdict.witness.word, verdict.witness.neighbour
    found = channel.log_probability(word, verdict.witness.released)
    assert found - channel.log_probability(neighbour, verdict.witness.released) == pytest.approx(verdict.worst_epsilon)


def test_a_promise_too_small_by_a_little_is_refuted():
    channel = sv.EditChannel("ab", epsilon=3)
    assert not sv.audit(Changed(channel, epsilon=Fraction("2.999")), length=2).private
    # what is only proved counts too: outputs within reach lose less than longer ones are said to
    longer = Changed(channel, guarantee=sv.Guarantee(epsilon=3.5, how="certified"))
    assert not sv.audit(longer, length=2).private


def test_geometric_insertions_lose_more_the_longer_one_looks():
    found = [sv.audit(GeometricChannel(), length=1, output_length=size).worst_epsilon for size in (2, 10, 100, 1000)]
    assert found == sorted(found)
    assert found[-1] > found[0] + 3
    assert not sv.audit(GeometricChannel(), length=1, output_length=1000).private


def test_the_truncated_mechanism_is_enumerated_whole():
    mechanism = sv.TruncatedLevenshtein(sv.words_up_to("ab", 5), epsilon=3, cutoff=2)
    verdict = sv.audit(mechanism)
    assert verdict.private
    assert verdict.outputs_up_to == 5
    assert verdict.longer_outputs_epsilon is None
    assert verdict.worst_epsilon == pytest.approx(mechanism.guarantee.epsilon, abs=1e-9)
    assert not sv.audit(Changed(mechanism, epsilon=Fraction("2.99"))).private
    assert sv.audit(mechanism, length=2).pairs_checked < verdict.pairs_checked


def test_models():
    chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "c", 1), ("c", "a", 1)])
    mechanism = sv.TruncatedLevenshtein(sv.runs_up_to(chain, 5), epsilon=4, adjacency=2)
    assert sv.audit(mechanism).worst_epsilon == pytest.approx(mechanism.guarantee.epsilon, abs=1e-9)


def test_a_table_that_is_no_law_is_refused():
    mechanism = sv.TruncatedLevenshtein(sv.words_up_to("ab", 3), epsilon=3)
    half = Changed(mechanism, log_probabilities=lambda w, rows: mechanism.log_probabilities(w, rows) - 0.5)
    with pytest.raises(SymveilError, match="sum to 1"):
        sv.audit(half)
    channel = sv.EditChannel("ab", epsilon=3)
    double = Changed(channel, log_probabilities=lambda w, rows: channel.log_probabilities(w, rows) + 0.7)
    with pytest.raises(SymveilError, match="sum to 1"):
        sv.audit(double, length=2)


def test_what_is_too_large_or_makes_no_sense():
    channel = sv.EditChannel("abc", epsilon=3)
    with pytest.raises(TooLargeError):
        sv.audit(channel, length=9)
    with pytest.raises(TooLargeError):
        sv.audit(channel, length=2, output_length=12)
    with pytest.raises(ParameterError, match="length"):
        sv.audit(channel, length=-1)
    with pytest.raises(ParameterError, match="length: expected none"):
        sv.audit(sv.Exponential(sv.words("ab", 2), epsilon=1), length=2)
    with pytest.raises(TooLargeError):
        sv.audit(sv.EditChannel("a", epsilon=3), length=900)
