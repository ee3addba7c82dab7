"""Released words against the exact law, and against laws with too little and too much noise.

Each fit fails a right sampler once in 10⁶ seeds (see conftest). The same draws must reject the
law of a budget that is 20 % larger (less noise) and 20 % smaller (more noise).
"""

from __future__ import annotations

import numpy as np
import pytest

from symveil.randomness import NotPrivateSeededBits
from symveil.randomness.limits import LIMITS as BITS

DRAWS = 60_000


def exact_chances(written, mechanism, index: int) -> np.ndarray:
    return np.exp(mechanism.log_probabilities(written.rows[index], written.rows))


def released(written, mechanism, index: int, seed: int, draws: int = DRAWS) -> np.ndarray:
    """How often each word came out for the word `index`."""
    codes = np.repeat(written.rows[index : index + 1], draws, axis=0)
    found = mechanism.release_codes(codes, bits=NotPrivateSeededBits(seed))
    place = written.size ** np.arange(written.length)[::-1]
    return np.bincount(found @ place, minlength=len(written.words))


@pytest.mark.parametrize(("length", "size", "b", "index"), [(3, 3, 2, 15), (2, 4, 1, 7), (4, 2, 3, 0), (1, 3, 1, 1)])
def test_words_follow_the_law_and_no_other(write_out, fits, variant, length, size, b, index):
    written = write_out(length, size)
    mechanism = variant.make(written.language, 2, b)
    observed = released(written, mechanism, index, seed=length)
    assert fits(observed, exact_chances(written, mechanism, index))


@pytest.mark.parametrize("wrong", ["12/5", "5/3"])
def test_a_budget_wrong_by_a_fifth_is_noticed(write_out, fits, variant, wrong):
    written = write_out(3, 3)
    observed = released(written, variant.make(written.language, 2, 2), index=15, seed=3, draws=4 * DRAWS)
    assert not fits(observed, exact_chances(written, variant.make(written.language, wrong, 2), 15))


def test_words_drawn_by_the_slow_path_follow_the_law(write_out, fits, one_of_each, set_limits):
    """Every decision forced through ball arithmetic (docs/theory/hidden-lengths.md)."""
    set_limits(BITS, filter_bits=1)
    written = write_out(1, 3)
    mechanism = one_of_each.make(written.language, 2)
    observed = released(written, mechanism, index=2, seed=5, draws=300)
    assert fits(observed, exact_chances(written, mechanism, 2))
    assert not fits(observed, exact_chances(written, one_of_each.make(written.language, 4), 2))
    assert not fits(observed, exact_chances(written, one_of_each.make(written.language, "1/4"), 2))


def test_words_drawn_with_private_bits_follow_the_law(write_out, fits, one_of_each):
    """Not seeded: this one draws anew on every run."""
    written = write_out(3, 2)
    mechanism = one_of_each.make(written.language, 1)
    codes = np.repeat(written.rows[5:6], DRAWS, axis=0)
    observed = np.bincount(mechanism.release_codes(codes) @ np.array([4, 2, 1]), minlength=8)
    assert fits(observed, exact_chances(written, mechanism, 5))
