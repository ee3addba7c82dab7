"""Enforcing opacity: putting a system under a policy."""

from __future__ import annotations

from typing import Literal, get_args

from symveil.enforcement.enforcement import Enforcement
from symveil.enforcement.policy import Policy, read_omega
from symveil.enforcement.private import Private
from symveil.enforcement.safe import Safe
from symveil.enforcement.safe_observations import SafeObservations
from symveil.enforcement.substitution import Substitution
from symveil.errors import ModelError, ParameterError
from symveil.models.stochastic_system import PartiallyObserved, StochasticSystem
from symveil.numerics.rationals import Number
from symveil.privacy.parameters import Adjacency, read_adjacency, read_epsilon
from symveil.verification.opacity.notions import read_question
from symveil.verification.opacity.shown_observations import read_horizon

PolicyName = Literal["private", "safe", "substitution"]
POLICIES = get_args(PolicyName)


def enforce_opacity(
    system: PartiallyObserved,
    k: int | float | str = 0,
    *,
    policy: str = "private",
    epsilon: Number | None = None,
    omega: int | None = None,
    length: int | None = None,
    adjacency: Adjacency = 1,
) -> Enforcement:
    """Put a system under a policy, so that what is shown gives no secret away.

    `private` needs `epsilon`; `safe` and `substitution` need `omega`, the exact distance of
    substitutes; a system with loops needs `length`, the largest number of observed events.

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
    if not isinstance(system, StochasticSystem):
        raise ModelError(
            "system", expected="probabilities on every transition", found="a logical system, which can only be verified"
        )
    question = read_question(k, "weak")
    horizon = read_horizon(system, length)
    safe = SafeObservations(system, question, longest=horizon)
    read_adjacency(adjacency, length=1)
    chosen = _policy(policy, safe, epsilon, omega, adjacency)
    return Enforcement(system, question, chosen, safe, horizon=horizon, adjacency=adjacency)


def _policy(
    name: str, safe: SafeObservations, epsilon: Number | None, omega: int | None, adjacency: Adjacency
) -> Policy:
    if name not in POLICIES:
        raise ParameterError("policy", expected=f"one of {', '.join(POLICIES)}", found=name)
    if name == Private.name:
        if omega is not None:
            raise ParameterError(
                "omega", expected="none with the policy private, which uses all distances", found=omega
            )
        if epsilon is None:
            raise ParameterError("epsilon", expected="a number above 0 for the policy private", found="none")
        return Private(safe, epsilon=read_epsilon(epsilon), adjacency=adjacency)
    if epsilon is not None:
        raise ParameterError(
            "epsilon", expected=f"none with the policy {name}, which has no ε to choose", found=epsilon
        )
    distance = read_omega(omega)
    return Safe(safe, distance) if name == Safe.name else Substitution(safe, distance)
