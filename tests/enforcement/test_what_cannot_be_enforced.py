"""Where nothing can be shown the answer names the observation; what is refused is refused with a reason."""

from __future__ import annotations

import contextlib
from fractions import Fraction

import pytest
from scipy.stats import binomtest

import symveil as sv
from symveil.enforcement.limits import LIMITS
from symveil.errors import ModelError, ParameterError, TooLargeError, WordError
from symveil.examples.paper_systems import example_3, example_4
from symveil.models.stochastic_system import LogicalSystem
from symveil.randomness import NotPrivateSeededBits
from symveil.verification.limits import LIMITS as PROOFS

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
        assert enforced.release("a") == "a"
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
    assert sv.enforce_opacity(quiet, 0, epsilon=1).release("b") == "a"


def after_the_string() -> list[sv.StochasticSystem]:
    """Systems whose runs are observed longer than their sensitive string."""
    going_on = [*FORK, ("1", "a", "3", 1), ("2", "a", "3", 1), ("3", "a", "4", "1/2"), ("3", "b", "4", "1/2")]
    parting = [*FORK, ("1", "c", "3", 1), ("2", "a", "3", 1)]
    return [system(going_on, secret=["1"]), system(parting, secret=["1"], observable="abc")]


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("k", [0, 1])
@pytest.mark.parametrize("policy", ["safe", "substitution"])
def test_what_is_promised_holds_for_all_that_is_accepted(policy, k, number):
    """ω = 1. The report covers sensitive strings: a for k = 0, and aa or ac for k = 1; a log that ends before them or
    goes on after them is refused. A right sampler fails one binomial test in a million; the seed is fixed."""
    plant = after_the_string()[number]
    plain = Plain(plant)
    enforced = sv.enforce_opacity(plant, k, policy=policy, omega=1)
    given_ = inputs(plain, k, cut=True)
    sensitive = {word for word in given_ if not plain.is_safe(word, k)}
    refused, shares = set(), {}
    if not enforced.enforceable:
        assert (policy, k, number) == ("safe", 1, 1)  # ac, and neither bc nor a letter after the a is possible
        assert enforced.unenforceable == ("a", "c")
        return
    for word in [word for length in range(4) for word in plain.possible(length)]:
        try:
            times = DRAWS if word in sensitive else 20  # the others are kept
            shown = enforced.release_many([word] * times, bits=NotPrivateSeededBits(1))
        except WordError as error:
            assert str(error).startswith("observation 1: expected a sensitive string, which this policy can replace")
            refused.add(word)
        else:
            shares[word] = Fraction(sum(not plain.is_safe(other, k) for other in shown), times)
    possible_and_unsafe = {w for n in range(4) for w in plain.possible(n) if not plain.is_safe(w, k)}
    assert refused == possible_and_unsafe - sensitive
    assert refused  # the observations of whole runs are among them, or those of unfinished ones
    assert all(shares[word] == 0 for word in shares.keys() - sensitive)
    (only,) = sensitive
    assert enforced.violation_before == given_[only][0]
    promised = enforced.violation_after / given_[only][0]
    if promised in {0, 1}:
        assert shares[only] == promised
    else:
        assert is_share(shares[only], promised)
        assert not is_share(shares[only], promised * Fraction(9, 10))
        assert not is_share(shares[only], promised * Fraction(11, 10))


DRAWS = 5_000


def is_share(found: Fraction, share: Fraction) -> bool:
    return bool(binomtest(int(found * DRAWS), DRAWS, float(share)).pvalue >= 1e-6)


def test_adjacent_strings_with_the_same_substitutes_have_a_finite_loss():
    """xa and xb are sensitive, and xc is all that can be shown for them at distance 1."""
    rows = [("0", "x", "1", 1), ("1", "a", "s", "1/3"), ("1", "b", "t", "1/3"), ("1", "c", "2", "1/3")]
    plant = system(rows, secret=["s", "t"], observable="abcx")
    enforced = sv.enforce_opacity(plant, 0, policy="safe", omega=1)
    assert {each.observation for each in enforced.sensitive} == {("x", "a"), ("x", "b")}
    assert {other.observation for each in enforced.sensitive for other in each.substitutes} == {("x", "c")}
    # xa, xb → xc and xc → xc: one common support
    assert enforced.epsilon == 0
    assert sv.enforce_opacity(plant, 0, policy="safe", omega=1, adjacency="all").epsilon == 0
    assert sv.enforce_opacity(plant, 0, policy="substitution", omega=1).epsilon == float("inf")
    assert enforced.posterior_of_secret == Fraction(2, 3)


def test_logs_that_end_early_count_too():
    """As above, but already the first events differ, and safe ones are shown as they are."""
    rows = [
        ("0", "a", "1", "1/2"), ("1", "b", "s", "1/2"), ("1", "c", "s", "1/2"),
        ("0", "d", "2", "1/2"), ("2", "d", "3", 1),
    ]  # fmt: skip
    enforced = sv.enforce_opacity(system(rows, secret=["s"], observable="abcd"), 0, policy="safe", omega=2)
    assert [enforced.release("a"), enforced.release("d")] == ["a", "d"]
    assert enforced.epsilon == float("inf")


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
            "omega: expected the exact distance of substitutes, a whole number, 1 or more, found none",
        ),
        ({"policy": "safe", "omega": 0}, "omega: expected the exact distance of substitutes"),
        ({"policy": "substitution", "omega": True}, "omega: expected the exact distance of substitutes"),
        ({"policy": "none"}, "policy: expected one of private, safe, substitution, found none"),
        (
            {"policy": "edit"},
            "policy: expected one of private, safe, substitution here, or symveil.synthesize_opacity for edit",
        ),
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


POSSIBLE = "expected one that the system can produce, found an impossible event at position"
OBSERVABLE = "expected observable events of the system, found another at position"


@pytest.mark.parametrize("options", [{"epsilon": 1}, {"policy": "safe", "omega": 2}])
@pytest.mark.parametrize(
    ("log", "number", "message", "position"),
    [
        (["bb"], 1, f"{POSSIBLE} 2 of 2", 2),
        (["bac", "bb"], 2, f"{POSSIBLE} 2 of 2", 2),
        (["bacc"], 1, f"{POSSIBLE} 4 of 4", 4),
        (["bac", "acc", "bad"], 3, f"{OBSERVABLE} 3", 3),
        ([("b", "a", 7)], 1, f"{OBSERVABLE} 3", 3),
        (["bfc"], 1, f"{OBSERVABLE} 2", 2),
        (["bac"] * 11 + ["bb", "bfc"], 12, f"{POSSIBLE} 2 of 2", 2),
    ],
)
def test_an_observation_that_cannot_be_is_named_by_number_and_position(options, log, number, message, position):
    """By its number in a log, be it the only one; without one where there is no log."""
    enforced = sv.enforce_opacity(example_4(), 1, **options)
    with pytest.raises(WordError) as refused:
        enforced.release_many(log)
    assert str(refused.value) == f"observation {number}: {message}"
    assert refused.value.position == position
    with pytest.raises(WordError) as refused:
        enforced.release(log[number - 1])
    assert str(refused.value) == f"observation: {message}"
    assert refused.value.position == position


def test_too_many_observations_to_judge_by(set_limits):
    set_limits(PROOFS, tabulated=4)
    enforced = sv.enforce_opacity(example_4(), 1, epsilon=1)
    with pytest.raises(TooLargeError, match="at most 4 observations to judge a policy by, found more; use a smaller"):
        _ = enforced.posterior_of_secret
    assert len(enforced.release("aab")) == 3


@pytest.mark.parametrize("policy", ["safe", "substitution"])
def test_an_absurd_distance_is_answered_at_once(policy):
    enforced = sv.enforce_opacity(example_4(), 1, policy=policy, omega=10**15)
    assert not enforced.enforceable
    assert enforced.unenforceable == ("a", "a", "b")


@pytest.mark.parametrize("policy", ["safe", "substitution"])
def test_too_many_substitutes_to_write_out_can_still_be_shown(set_limits, policy):
    """On Σ³ with three events aab has C(3,2)·2² = 12 strings at distance 2; only some of them are safe."""
    (sensitive,) = sv.enforce_opacity(example_4(), 1, policy=policy, omega=2).sensitive
    count = len(sensitive.substitutes)
    assert count == 12 if policy == "substitution" else 1 < count < 12
    set_limits(LIMITS, substitutes=count - 1)
    enforced = sv.enforce_opacity(example_4(), 1, policy=policy, omega=2)
    message = f"{policy}: expected at most {count - 1} substitutes to write out, found {count}; use a smaller omega"
    with pytest.raises(TooLargeError, match=message):
        _ = enforced.sensitive
    assert tuple(enforced.release("aab")) in {each.observation for each in sensitive.substitutes}


def test_too_many_outcomes_together(set_limits):
    set_limits(LIMITS, outcomes=2)
    enforced = sv.enforce_opacity(example_4(), 1, policy="substitution", omega=2)
    with pytest.raises(TooLargeError, match="at most 2 pairs of what happens and what is shown, found more"):
        _ = enforced.posterior_of_secret


def test_too_many_pairs_for_the_true_loss(set_limits):
    set_limits(LIMITS, pairs=1)
    enforced = sv.enforce_opacity(example_4(), 1, policy="substitution", omega=2)
    with pytest.raises(TooLargeError, match="loss: expected at most 1 pairs of observations, found more"):
        _ = enforced.epsilon


def test_what_is_drawn_is_the_automaton_of_a_substitute():
    """Z25 Fig. 6: the strings at distance exactly ω; of the policy private the nearest safe ones."""
    enforced = sv.enforce_opacity(example_4(), 1, policy="substitution", omega=2)
    automaton = sv.hamming_automaton("aab", alphabet=enforced.system.observable, exactly=2)
    assert enforced.to_diagram() == automaton.to_diagram()
    private = sv.enforce_opacity(example_4(), 1, epsilon=1).to_diagram()
    drawn = []
    for omega in (1, 2, 3):
        with contextlib.suppress(ParameterError):
            drawn.append(sv.enforce_opacity(example_4(), 1, policy="safe", omega=omega).to_diagram())
    assert private == drawn[0]
    with pytest.raises(ParameterError, match="draw: expected an observation that can be replaced"):
        sv.enforce_opacity(example_3(), 1, policy="safe", omega=2).to_diagram()
    with pytest.raises(ParameterError, match="draw: expected a system with a sensitive string"):
        sv.enforce_opacity(system(FORK, secret=[]), 1, policy="safe", omega=1).to_diagram()


def test_what_a_notebook_shows():
    shown = sv.enforce_opacity(example_4(), 1, policy="substitution", omega=2)
    assert f"<dt>violation after</dt><dd>{shown.violation_after}</dd>" in shown._repr_html_()
    assert repr(shown).startswith("Enforcement(policy substitution, ")
    hidden = sv.enforce_opacity(system([("0", "<a>", "1", 1)], secret=["1"], observable=["<a>"]), 0, epsilon=1)
    assert hidden.unenforceable == ("<a>",)
    assert "<dd>cannot be enforced for &lt;a&gt;</dd>" in hidden._repr_html_()
