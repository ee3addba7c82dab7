"""Where nothing can be shown the answer names the observation; what is refused is refused with a reason."""

from __future__ import annotations

from fractions import Fraction

import pytest

import symveil as sv
from symveil.errors import ModelError, ParameterError, TooLargeError, WordError
from symveil.models.stochastic_system import LogicalSystem
from symveil.randomness import NotPrivateSeededBits
from symveil.workflows.reproduce.zhao2025_systems import example_3, example_4

from .plain_observer import Plain, inputs

POLICIES = [{"epsilon": 1}, {"policy": "safe", "omega": 1}, {"policy": "substitution", "omega": 1}]


def system(rows, *, secret, observable=("a", "b")) -> sv.StochasticSystem:
    return sv.StochasticSystem.from_transitions(rows, initial="0", observable=list(observable), secret=list(secret))


LOOP = [("0", "a", "0", "1/2"), ("0", "b", "1", "1/2")]
FORK = [("0", "a", "1", "1/2"), ("0", "b", "2", "1/2")]


def test_example_10():
    enforced = sv.enforce_opacity(example_3(), 1, policy="safe", omega=2)
    assert not enforced.enforceable
    assert enforced.unenforceable == tuple("abd")
    assert enforced.violation_before == Fraction(1, 2)
    assert [each.substitutes for each in enforced.sensitive] == [()]
    with pytest.raises(WordError, match="^observation: expected one that can be replaced, found none to show for 3"):
        enforced.release("abd")


@pytest.mark.parametrize("options", POLICIES[1:])
def test_a_distance_longer_than_the_string(options):
    enforced = sv.enforce_opacity(example_4(), 1, **{**options, "omega": 4})
    assert enforced.unenforceable == tuple("aab")


@pytest.mark.parametrize("options", POLICIES)
def test_no_secret_nothing_to_do(options):
    enforced = sv.enforce_opacity(system(FORK, secret=[]), "infinite", **options)
    assert enforced.enforceable
    assert enforced.sensitive == ()
    assert enforced.violation_before == enforced.violation_after == 0
    assert enforced.posterior_of_secret == 0
    if "omega" in options:  # shown as it is, which is no privacy at all
        assert enforced.epsilon == float("inf")
        assert enforced.release("a") == ("a",)
        assert enforced.expected_distance == 0
    else:
        assert enforced.epsilon <= 1


@pytest.mark.parametrize("options", POLICIES)
@pytest.mark.parametrize("k", [0, 1, "infinite"])
def test_a_secret_start_gives_itself_away_before_anything_can_be_done(options, k):
    """Every observation is unsafe, the empty one too."""
    enforced = sv.enforce_opacity(system([("0", "a", "1", 1)], secret=["0"]), k, **options)
    assert enforced.violation_before == 1
    if options.get("policy") == "substitution" and k != 0:
        assert enforced.violation_after == 1  # b, which an observer recognises
    else:
        assert not enforced.enforceable
        assert enforced.violation_after is None


@pytest.mark.parametrize("options", POLICIES)
def test_all_observations_unsafe(options):
    """Both letters lead to a secret."""
    enforced = sv.enforce_opacity(system(FORK, secret=["1", "2"]), 0, **options)
    assert enforced.violation_before == 1
    if options.get("policy") == "substitution":
        assert enforced.violation_after == 1
        assert enforced.posterior_of_secret == 1
    else:
        assert enforced.unenforceable in {("a",), ("b",)}


@pytest.mark.parametrize("options", POLICIES)
def test_loops_need_a_length(options):
    looping = system([*LOOP, ("1", "a", "2", 1)], secret=["1"])
    with pytest.raises(ParameterError, match="^length: .* since the system has loops, found none$"):
        sv.enforce_opacity(looping, 0, **options)
    enforced = sv.enforce_opacity(looping, 0, **options, length=2)
    assert enforced.violation_before == Fraction(3, 4)
    with pytest.raises(WordError, match=r"^observation: expected at most 2 events \(length\), found 3$"):
        enforced.release("aaa")


def test_an_unobservable_loop_needs_none():
    quiet = system(
        [("0", "a", "1", "1/2"), ("0", "b", "2", "1/2"), ("1", "u", "3", 1), ("3", "u", "1", 1)], secret=["2"]
    )
    assert sv.enforce_opacity(quiet, 0, epsilon=1).release("b") == ("a",)


def after_the_string() -> list[sv.StochasticSystem]:
    """Systems whose runs are observed longer than their sensitive string."""
    going_on = [*FORK, ("1", "a", "3", 1), ("2", "a", "3", 1), ("3", "a", "4", "1/2"), ("3", "b", "4", "1/2")]
    parting = [*FORK, ("1", "c", "3", 1), ("2", "a", "3", 1)]
    return [system(going_on, secret=["1"]), system(parting, secret=["1"], observable="abc")]


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("policy", ["safe", "substitution"])
def test_what_is_promised_holds_for_whole_runs_too(policy, number):
    """k = 0 and ω = 1: the string a is sensitive, but the run goes on, and a log holds all that was observed."""
    plant = after_the_string()[number]
    plain = Plain(plant)
    enforced = sv.enforce_opacity(plant, 0, policy=policy, omega=1)
    if not enforced.enforceable:
        return
    shown_unsafe = 0.0
    for word, (probability, _) in inputs(plain, 0, cut=False).items():
        shown = enforced.release_many([word] * 400, bits=NotPrivateSeededBits(1))
        shown_unsafe += float(probability) * sum(not plain.is_safe(other, 0) for other in shown) / 400
    # 5 standard deviations of the mean of 400 draws at most: a false alarm in a million, were seeds not fixed
    assert shown_unsafe == pytest.approx(float(enforced.violation_after), abs=5 * 0.5 / 400**0.5)
    if enforced.violation_after == 0:
        assert shown_unsafe == 0


def test_adjacent_strings_with_the_same_substitutes_have_a_finite_loss():
    """ab and ac are sensitive, and dd is all that can be shown for them at distance 2."""
    rows = [
        ("0", "a", "1", "1/2"), ("1", "b", "s", "1/2"), ("1", "c", "s", "1/2"),
        ("0", "d", "2", "1/2"), ("2", "d", "3", 1),
    ]  # fmt: skip
    plant = system(rows, secret=["s"], observable="abcd")
    enforced = sv.enforce_opacity(plant, 0, policy="safe", omega=2)
    assert {each.observation for each in enforced.sensitive} == {("a", "b"), ("a", "c")}
    assert {other.observation for each in enforced.sensitive for other in each.substitutes} == {("d", "d")}
    # ab, ac → dd and dd → dd: one common support
    assert enforced.epsilon == 0
    assert sv.enforce_opacity(plant, 0, policy="safe", omega=2, adjacency="all").epsilon == 0
    assert sv.enforce_opacity(plant, 0, policy="substitution", omega=2).epsilon == float("inf")
    assert enforced.posterior_of_secret == Fraction(1, 2)


# --- refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "epsilon: expected a number above 0 for the policy private, found none"),
        ({"epsilon": 0}, "epsilon: expected a number above 0 such as 0.5 or 1/2, found 0"),
        ({"epsilon": "inf"}, "epsilon: expected"),
        ({"epsilon": 1, "omega": 1}, "omega: expected none with the policy private, which uses all distances, found 1"),
        ({"epsilon": 1, "adjacency": 0}, "adjacency: expected a whole number, 1 or more"),
        ({"epsilon": 1, "length": 0}, "length: expected a whole number of observed events, 1 or more, found 0"),
        ({"policy": "safe", "omega": 1, "epsilon": 1}, "epsilon: expected none with the policy safe"),
        ({"policy": "substitution", "omega": 1, "epsilon": 1}, "epsilon: expected none with the policy substitution"),
        (
            {"policy": "safe"},
            "omega: expected the exact distance of substitutes, a whole number, 1 or more, found None",
        ),
        ({"policy": "safe", "omega": 0}, "omega: expected the exact distance of substitutes"),
        ({"policy": "substitution", "omega": True}, "omega: expected the exact distance of substitutes"),
        ({"policy": "none"}, "policy: expected one of private, safe, substitution, found none"),
        ({"k": -1, "epsilon": 1}, "k: expected a whole number, 0 or more, or 'infinite', found -1"),
    ],
)
def test_parameters(options, message):
    with pytest.raises(ParameterError) as refused:
        sv.enforce_opacity(example_4(), **{"k": 1, **options})
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


def test_a_logical_system_can_only_be_verified():
    logical = LogicalSystem.from_transitions([("0", "a", "1")], initial="0", observable=["a"], secret=["1"])
    with pytest.raises(ModelError, match="expected probabilities on every transition, found a logical system"):
        sv.enforce_opacity(logical, 0, epsilon=1)


@pytest.mark.parametrize("options", [{"epsilon": 1}, {"policy": "safe", "omega": 2}])
@pytest.mark.parametrize(
    ("log", "message", "position"),
    [
        (
            ["bb"],
            "observation: expected one that the system can produce, found an impossible event at pos",
            2,
        ),
        (["bac", "bb"], "observation 2: expected one that the system can produce", 2),
        (["bacc"], "observation: expected one that the system can produce", 4),
        (
            ["bac", "acc", "bad"],
            "observation 3: expected observable events of the system, found another at position 3",
            3,
        ),
        ([("b", "a", 7)], "observation: expected observable events of the system, found another at position 3", 3),
        (["bfc"], "observation: expected observable events of the system, found another at position 2", 2),
    ],
)
def test_an_observation_that_cannot_be_is_named_by_number_and_position(options, log, message, position):
    enforced = sv.enforce_opacity(example_4(), 1, **options)
    with pytest.raises(WordError) as refused:
        enforced.release_many(log)
    assert str(refused.value).startswith(message)
    assert refused.value.position == position


def test_too_many_observations_to_judge_by(monkeypatch):
    from symveil.enforcement import enforce

    monkeypatch.setattr(enforce, "MOST_OBSERVATIONS", 4)
    enforced = sv.enforce_opacity(example_4(), 1, epsilon=1)
    with pytest.raises(TooLargeError, match="at most 4 observations to judge a policy by, found more; use a smaller"):
        _ = enforced.posterior_of_secret
    assert len(enforced.release("aab")) == 3
