"""What is released follows its law, and no other: Pearson's χ² on seeded draws.

A right sampler fails one test in a million (FALSE_ALARM; the seeds are fixed, so a test that passes
keeps passing). Every expected count is at least 10. The same draws must reject a law with less and a
law with more noise.
"""

from __future__ import annotations

from collections import Counter

import pytest
from scipy.stats import chisquare

import symveil as sv
from symveil.examples.paper_systems import example_4, medical
from symveil.randomness import NotPrivateSeededBits

from .plain_observer import Plain
from .test_policies_by_definition import at_distance, exponential, rate_of
from .test_private_loss import three_ways

FALSE_ALARM = 1e-6
DRAWS = 20_000


def drawn(enforced, word, seed: int) -> Counter:
    return Counter(enforced.release_many([word] * DRAWS, bits=NotPrivateSeededBits(seed)))


def fits(counts: Counter, law: dict) -> bool:
    if not counts.keys() <= law.keys():
        return False
    expected = [DRAWS * float(chance) for chance in law.values()]
    assert min(expected) >= 10, "too few draws to tell"
    if len(law) == 1:
        return True
    return bool(chisquare([counts[word] for word in law], expected).pvalue >= FALSE_ALARM)


@pytest.mark.parametrize(
    ("system", "k", "word"),
    [(example_4(), 1, "aab"), (example_4(), 1, "bac"), (medical(), 2, "adea"), (three_ways(3), 0, "cac")],
    ids=["example 4, sensitive", "example 4, safe", "medical", "three ways"],
)
@pytest.mark.parametrize("epsilon", [1, 3])
def test_private_follows_its_law_and_no_other(system, k, word, epsilon):
    plain = Plain(system)
    enforced = sv.enforce_opacity(system, k, epsilon=epsilon)
    counts = drawn(enforced, tuple(word), seed=epsilon)
    rate = rate_of(enforced, len(word))
    assert fits(counts, exponential(plain, k, rate, tuple(word)))
    for other in (rate * 0.85, rate * 1.15):
        law = exponential(plain, k, other, tuple(word))
        if law != pytest.approx(exponential(plain, k, rate, tuple(word)), rel=1e-6):
            assert not fits(counts, law)


def test_private_of_another_observation_has_another_law():
    plain = Plain(example_4())
    enforced = sv.enforce_opacity(example_4(), 1, epsilon=1)
    counts = drawn(enforced, tuple("aab"), seed=5)
    assert not fits(counts, exponential(plain, 1, rate_of(enforced, 3), tuple("bac")))
    # one of the safe observations must not be missing, and an unsafe one not be among them
    lost = counts.copy()
    lost[tuple("bac")] += lost.pop(tuple("acc"))
    assert not fits(lost, exponential(plain, 1, rate_of(enforced, 3), tuple("aab")))
    assert set(counts) == set(plain.safe(3, 1))


@pytest.mark.parametrize(
    ("system", "k", "word", "omega"),
    [
        (example_4(), 1, "aab", 2),
        (medical(), 2, "adea", 1),
        (three_ways(3), 0, "bac", 2),
        (three_ways(4), 0, "abac", 3),
    ],
)
@pytest.mark.parametrize("policy", ["safe", "substitution"])
def test_substitutes_come_equally_often(policy, system, k, word, omega):
    plain = Plain(system)
    assert plain.sensitive_part(tuple(word), k) == tuple(word)
    near = at_distance(tuple(word), omega, plain.observable)
    if policy == "safe":
        near = [other for other in near if plain.is_safe(other, k)]
    counts = drawn(sv.enforce_opacity(system, k, policy=policy, omega=omega), tuple(word), seed=omega)
    assert len(near) > 1
    assert fits(counts, dict.fromkeys(near, 1 / len(near)))
    # half of them a tenth more often and the others a tenth less, either way round
    for tilt in (0.1, -0.1):
        weights = [1 + tilt * (-1) ** (2 * index // len(near)) for index in range(len(near))]
        assert not fits(counts, {other: w / sum(weights) for other, w in zip(near, weights, strict=True)})
    # one substitute missing, and one too many
    assert not fits(counts, dict.fromkeys(near[1:], 1 / (len(near) - 1)))
    assert not fits(counts, dict.fromkeys([*near, tuple(word)], 1 / (len(near) + 1)))


@pytest.mark.parametrize("policy", ["safe", "substitution"])
def test_safe_observations_are_kept(policy):
    enforced = sv.enforce_opacity(example_4(), 1, policy=policy, omega=2)
    assert drawn(enforced, tuple("bac"), seed=1) == {tuple("bac"): DRAWS}


def test_a_log_of_mixed_lengths_is_answered_in_its_order():
    enforced = sv.enforce_opacity(example_4(), 1, policy="safe", omega=2)
    log = [tuple("bac"), tuple("aab"), tuple("b"), tuple("acc"), (), tuple("aab")]
    shown = enforced.release_many(log, bits=NotPrivateSeededBits(3))
    assert [word for word in shown if len(word) < 3] == [("b",), ()]
    assert (shown[0], shown[3]) == (log[0], log[3])
    assert {shown[1], shown[5]} <= {tuple("acc"), tuple("bac")}
    assert enforced.release_many([]) == []


@pytest.mark.parametrize("options", [{"epsilon": 1}, {"policy": "safe", "omega": 2}])
def test_what_comes_in_as_a_string_goes_out_as_one(options):
    """And a list or a tuple as a tuple, each observation of a log for itself."""
    enforced = sv.enforce_opacity(example_4(), 1, **options)
    safe = {"".join(word) for word in Plain(example_4()).safe(3, 1)}
    assert enforced.release("aab") in safe
    assert "".join(enforced.release(list("aab"))) in safe
    kinds = [str, tuple, tuple, str, str, tuple]
    log = ["aab", list("aab"), tuple("bac"), "", "bac", []]
    for shown in (enforced.release_many(log), [enforced.release(each) for each in log]):
        assert [type(each) for each in shown] == kinds
        assert ["".join(each) in safe for each in shown] == [len(each) == 3 for each in log]


def test_seeded_bits_repeat_and_system_bits_do_not():
    enforced = sv.enforce_opacity(three_ways(4), 0, epsilon=1)
    log = [tuple("cacb")] * 50
    once, again = (enforced.release_many(log, bits=NotPrivateSeededBits(8)) for _ in range(2))
    assert once == again
    assert enforced.release_many(log) != enforced.release_many(log)
