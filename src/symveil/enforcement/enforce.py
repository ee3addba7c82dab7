"""Enforcing opacity: putting a system under a policy."""

from __future__ import annotations

from typing import Literal, get_args

from symveil.enforcement.enforcement import Enforcement
from symveil.enforcement.length_tables import AUTO, RELEASES
from symveil.enforcement.private import PrivatePolicy
from symveil.enforcement.safe import SafeSubstitutes
from symveil.enforcement.sensitive_only import SensitiveOnlyPolicy, read_omega
from symveil.enforcement.substitution import AnySubstitutes
from symveil.errors import ParameterError
from symveil.laws.parameters import Adjacency, read_adjacency, read_epsilon
from symveil.models.stochastic_system import PartiallyObserved
from symveil.numbers.progress import Progress, accepted
from symveil.numbers.rationals import Number
from symveil.verification.opacity.notions import read_question
from symveil.verification.opacity.observation import Observed
from symveil.verification.opacity.run_observations import RunObservations, read_horizon
from symveil.verification.opacity.safe_observations import SafeObservations

PolicyName = Literal["private", "safe", "substitution"]
POLICIES = get_args(PolicyName)


def enforce_opacity(
    system: PartiallyObserved,
    k: int | float | str = 0,
    *,
    policy: str = "private",
    epsilon: Number | None = None,
    mechanism: str = AUTO,
    omega: int | None = None,
    length: int | None = None,
    adjacency: Adjacency = 1,
    progress: Progress | None = None,
) -> Enforcement:
    """Put a system under a policy, so that what is shown gives no secret away.

    Parameters
    ----------
    system
        a stochastic system with secret states
    k
        how many observations back a secret must stay hidden: 0, 1, 2 … or "infinite"
    policy
        "private", "safe" or "substitution"
    epsilon
        the budget of the policy private, which needs one
    omega
        the exact distance of substitutes, which the policies safe and substitution need
    length
        the largest number of observed events, which a system with loops needs
    adjacency
        in how many events two observations may differ and still be hard to distinguish
    mechanism
        how the policy private releases: "direct", by weights on safe observations only; "corrected", by a certified
        mechanism for all observations whose unsafe outcomes become safe ones; "auto", the one with less expected error
    progress
        called now and then with the number of estimates or observations explored, and None: nobody knows how many
        there are

    >>> import symveil as sv
    >>> system = sv.StochasticSystem.from_transitions(
    ...     [("0", "a", "1", "1/3"), ("0", "b", "2", "1/3"), ("0", "d", "3", "1/3"),
    ...      ("1", "c", "4", 1), ("2", "c", "4", 1), ("3", "c", "4", 1)],
    ...     initial="0", observable=["a", "b", "c", "d"], secret=["1"],
    ... )
    >>> enforced = sv.enforce_opacity(system, k=1, policy="private", epsilon=2)
    >>> enforced.violation_before, enforced.violation_after, enforced.guarantee
    (Fraction(1, 3), Fraction(0, 1), Guarantee(epsilon=1.99999..., how='exact'))
    >>> enforced.release(["a", "c"])[0] in "bd"
    True
    """
    runs = observations_of(Observed(system), k, length=length, progress=accepted(progress, before=1))
    return enforce_policy(runs, policy=policy, epsilon=epsilon, omega=omega, adjacency=adjacency, mechanism=mechanism)


def observations_of(
    observed: Observed, k: int | float | str, *, length: int | None, progress: Progress | None = None
) -> RunObservations:
    """What all policies for one system, one k and one length have in common."""
    observed.stochastic  # noqa: B018  # refuses a system without probabilities
    question, longest = read_question(k, "weak"), read_horizon(observed, length)
    safe = SafeObservations(observed, question, longest=longest, limit=observed.limit(progress=progress))
    return RunObservations(safe, progress=progress)


def enforce_policy(
    runs: RunObservations,
    *,
    policy: str,
    epsilon: Number | None = None,
    omega: int | None = None,
    adjacency: Adjacency = 1,
    mechanism: str = AUTO,
) -> Enforcement:
    """A policy of a public name, with the parameters that it needs and no others."""
    read_adjacency(adjacency, length=1)
    if policy not in POLICIES:
        raise ParameterError("policy", expected=f"one of {', '.join(POLICIES)}", found=policy)
    if mechanism not in RELEASES or (mechanism != AUTO and policy != PrivatePolicy.name):
        expected = "auto, direct or corrected, the latter two with the policy private"
        raise ParameterError("mechanism", expected=expected, found=mechanism)
    if policy == PrivatePolicy.name:
        if omega is not None:
            raise ParameterError(
                "omega", expected="none with the policy private, which uses all distances", found=omega
            )
        if epsilon is None:
            raise ParameterError("epsilon", expected="a number above 0 for the policy private", found="none")
        spent = read_epsilon(epsilon)
        return Enforcement(runs, PrivatePolicy(runs, epsilon=spent, adjacency=adjacency, release=mechanism))
    if epsilon is not None:
        raise ParameterError(
            "epsilon", expected=f"none with the policy {policy}, which has no ε to choose", found=epsilon
        )
    distance, safe = read_omega(omega), runs.safe
    is_safe = policy == SafeSubstitutes.name
    substitutes = SafeSubstitutes(safe, distance) if is_safe else AnySubstitutes(safe.alphabet, distance)
    return Enforcement(runs, SensitiveOnlyPolicy(runs, substitutes, adjacency=adjacency))
