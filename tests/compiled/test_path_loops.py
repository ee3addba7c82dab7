"""Loops over paths of blocks and over windows: the same bits as their interpreted twins."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import symveil as sv
from compiled.twins import Call, agree_again, recording
from symveil.calibration.block_bounds import chain_loss, chain_search
from symveil.calibration.limits import LIMITS
from symveil.calibration.windows import window_loss, window_search
from symveil.models.markov_chain import MarkovChain

HOME = "symveil.calibration."


def random_chain(seed: int, size: int, degree: int) -> MarkovChain:
    random = np.random.default_rng(seed)
    rows = []
    for state in range(size):
        weights = random.integers(1, 9, degree)
        for target, weight in zip(random.choice(size, degree, replace=False), weights, strict=True):
            rows.append((f"{state}", f"{target}", Fraction(int(weight), int(weights.sum()))))
    return MarkovChain.from_transitions(rows)


@pytest.fixture(scope="module")
def calls() -> list[Call]:
    """Short words and long ones, with a prior and without, in pairs of paths and path by path."""
    found: list[Call] = []
    with recording(found, most=150):
        for seed, (size, degree, length) in enumerate([(3, 2, 4), (5, 3, 6), (4, 4, 3), (9, 2, 12)]):
            for with_prior in (False, True):
                language = sv.runs(random_chain(seed, size, degree), length)
                if length < 10:
                    windows = window_search(language, adjacency=2, with_prior=with_prior, width=2)
                    assert windows is not None
                    window_loss(windows, Fraction(1))
                for most in (3e9, 0):
                    with LIMITS.changed(quick_pair_work=most):
                        search = chain_search(language, adjacency=2, with_prior=with_prior)
                    assert search is not None
                    for rate in ("1/100", "2", "8"):
                        chain_loss(search, Fraction(rate), 2)
    return found


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("path_loops.largest_ratio", 10),
        ("path_loops.glanced_ratio", 10),
        ("window_loops.next_boxes", 6),
        ("window_loops.next_ratios", 6),
        ("window_loops.adjacent_windows", 6),
    ],
)
def test_the_same_bits(calls: list[Call], name: str, least: int) -> None:
    chosen = [call for call in calls if call.loop == HOME + name]
    assert len(chosen) >= least
    for call in chosen:
        agree_again(call)
