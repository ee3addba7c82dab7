"""The privacy programme from both sides: a law whose loss is proved, and a bound below every such law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symveil.bounds.lower_bound import decays
from symveil.bounds.programme import PrivacyProgramme
from symveil.numbers.rationals import exact

words = st.lists(st.tuples(*[st.integers(0, 2)] * 3), unique=True, min_size=2, max_size=6)
shares = st.lists(st.integers(1, 9), min_size=6, max_size=6)
budgets = st.sampled_from(["1/2", "1", "2", "4"])


def programme(rows: list[tuple[int, ...]], weights: list[int], reach: int, *, graceful: bool) -> PrivacyProgramme:
    """Words are the outputs; under the graceful promise all pairs are compared."""
    codes = np.array(rows)
    apart = np.count_nonzero(codes[:, None] != codes[None], axis=2)
    near = (apart > 0) & (apart <= (3 if graceful else reach))
    likely = np.array(weights[: len(rows)], dtype=np.float64)
    return PrivacyProgramme(
        losses=apart.astype(np.float64),
        shares=likely / likely.sum(),
        adjacent=np.argwhere(near),
        steps=apart[near] if graceful else np.ones(int(near.sum()), dtype=np.int64),
    )


@settings(max_examples=60, deadline=None)
@given(words, shares, st.integers(1, 3), st.booleans(), budgets)
def test_the_bound_is_below_the_law_and_as_good_as_it(rows, weights, reach, graceful, epsilon) -> None:
    small = programme(rows, weights, reach, graceful=graceful)
    if not len(small.adjacent):
        assert small.bound(decays(exact(epsilon, name="epsilon"))) == 0
        return
    ratio = math.exp(exact(epsilon, name="epsilon"))
    law = small.law(ratio)
    assert law is not None
    assert law.sum(axis=1) == pytest.approx(1, abs=1e-7)
    for (word, other), steps in zip(small.adjacent, small.steps, strict=True):
        assert (law[word] <= law[other] * ratio**steps * (1 + 1e-6) + 1e-7).all()
    loss = float((small.shares[:, None] * law * small.losses).sum())
    bound = small.bound(decays(exact(epsilon, name="epsilon")))
    assert bound <= loss * (1 + 1e-6) + 1e-9
    assert bound == pytest.approx(loss, rel=1e-5, abs=1e-7)  # strong duality


@settings(max_examples=60, deadline=None)
@given(words, shares, st.integers(1, 3), budgets, st.randoms(use_true_random=False))
def test_no_private_law_is_below_the_bound(rows, weights, reach, epsilon, random) -> None:
    """Any table becomes private when every cell is raised to what its neighbours ask for; then rows are normalised."""
    small = programme(rows, weights, reach, graceful=False)
    budget = exact(epsilon, name="epsilon")
    count = len(rows)
    hops = np.where(np.eye(count, dtype=bool), 0.0, np.inf)
    for _ in range(count):
        for word, other in small.adjacent:
            hops[word] = np.minimum(hops[word], hops[other] + 1)
    table = np.array([[0.01 + random.random() for _ in range(count)] for _ in range(count)])
    decay = np.exp(-float(budget) / 2 * hops)  # half for the cells, half for the normaliser
    raised = np.array([[(decay[word] * table[:, output]).max() for output in range(count)] for word in range(count)])
    law = raised / raised.sum(axis=1, keepdims=True)
    for word, other in small.adjacent:
        assert (law[word] <= law[other] * math.exp(budget) * (1 + 1e-12)).all()
    loss = float((small.shares[:, None] * law * small.losses).sum())
    assert small.bound(decays(budget)) <= loss * (1 + 1e-12)
