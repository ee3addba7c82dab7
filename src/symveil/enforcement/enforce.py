"""Enforcing opacity: putting a system under a policy.

A system under a policy: what is shown for an observation, and what that achieves.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

import numpy as np

from symveil.enforcement.length_tables import AUTO, RELEASES
from symveil.enforcement.policies import (
    AnySubstitutes,
    PrivatePolicy,
    SafeSubstitutes,
    SensitiveOnlyPolicy,
    read_omega,
    require_few_outcomes,
)
from symveil.errors import ParameterError, WordError
from symveil.languages.language import Language
from symveil.laws.guarantee import Guarantee
from symveil.laws.parameters import Adjacency, read_adjacency, read_epsilon
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.stochastic_system import PartiallyObserved
from symveil.numbers.once import computed_once
from symveil.numbers.progress import Progress, accepted
from symveil.numbers.rationals import Number, epsilon_text
from symveil.pictures.diagram import Diagram
from symveil.randomness import BitSource, system_bits
from symveil.reports.page import Reported
from symveil.reports.report import Report, facts_report
from symveil.verification.opacity.estimators import read_question
from symveil.verification.opacity.observation import Observed, in_row
from symveil.verification.opacity.run_observations import Events, RunObservations, SafeObservations, read_horizon

OpacityPolicy = PrivatePolicy | SensitiveOnlyPolicy
"""A way to keep the secret: what is shown instead of an observation, how probably, and what that achieves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Substitute:
    """What is shown instead of a sensitive string: `given` it, and together with it (`probability`, Z25's Pr_o).

    Exact rationals, except for the policy private, whose probabilities are irrational.
    """

    observation: tuple[str, ...]
    probability: Fraction | float
    given: Fraction | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitive:
    """A sensitive string, how probable it is, and what is shown instead, the likeliest first."""

    observation: tuple[str, ...]
    probability: Fraction
    substitutes: tuple[Substitute, ...]
    substitute_count: int


class Enforcement(Reported):
    """A system under a policy. Construct with `enforce_opacity`; `release` draws what is shown.

    Everything about the policy is computed when it is first asked for, over all observations that runs may show. Where
    they are too many to list, the policy private still answers `release` and `guarantee`.
    """

    def __init__(self, runs: RunObservations, policy: OpacityPolicy) -> None:
        self._runs, self._policy, self._observed = runs, policy, runs.safe.observed
        self.system, self.question, self.horizon = self._observed.stochastic, runs.safe.question, runs.safe.longest
        self.policy, self.adjacency = policy.name, policy.adjacency

    def with_epsilon(self, epsilon: Number) -> Enforcement:
        """The same with another ε, for the policy private: only what depends on ε is computed again."""
        if not isinstance(self._policy, PrivatePolicy):
            raise ParameterError("epsilon", expected=f"none with the policy {self.policy}", found=epsilon)
        return Enforcement(self._runs, self._policy.with_epsilon(read_epsilon(epsilon)))

    @property
    def release_by(self) -> str | None:
        """How the policy private was asked to release: "auto", "direct" or "corrected"; None for other policies."""
        return self._policy.release if isinstance(self._policy, PrivatePolicy) else None

    @property
    def longest(self) -> int:
        """How many events the longest observations of runs have, up to the horizon."""
        return max(self._runs.safe.complete_lengths, default=0)

    def observations(self, length: int) -> Language:
        """All observations of one length, safe or not, that the policy private takes.

        Parameters
        ----------
        length
            How many events they have: one with a safe observation.
        """
        if not isinstance(self._policy, PrivatePolicy):
            raise ParameterError("policy", expected="private, which takes all observations", found=self.policy)
        return self._policy.language(length)

    def mechanism(self, length: int | None = None) -> Mechanism:
        """The mechanism behind the policy private, for observations of one length or of all: verifiers read it.

        Parameters
        ----------
        length
            How many events the observations have: `audit` looks at those. None: any number, as in a log.
        """
        if not isinstance(self._policy, PrivatePolicy):
            raise ParameterError("policy", expected="private, which is a mechanism", found=self.policy)
        if length is None:
            return self._policy.log_release
        if self._runs.safe.language(length) is None:
            raise ParameterError("length", expected="one with a safe observation", found=length)
        return self._policy.mechanism(length)

    # --- what it achieves ----------------------------------------------------------------------

    @computed_once
    def unenforceable(self) -> tuple[str, ...] | None:
        """An observation for which there is nothing to show; None where there is none."""
        events = self._policy.unenforceable()
        return None if events is None else self._observed.spelled(events)

    @property
    def enforceable(self) -> bool:
        """Whether the policy has something to show for every observation it must replace."""
        return self.unenforceable is None

    @property
    def sensitive_count(self) -> int:
        """How many sensitive strings there are."""
        return len(self._runs.sensitive)

    @computed_once
    def sensitive(self) -> tuple[Sensitive, ...]:
        """The sensitive strings with their substitutes."""
        return self.list_sensitive()

    def list_sensitive(self, most_substitutes: int | None = None) -> tuple[Sensitive, ...]:
        """The sensitive strings, each with the likeliest of its substitutes, or with all of them."""
        strings = self._runs.sensitive
        counts = {events: self._policy.substitute_count(events) for events in strings}
        require_few_outcomes(sum(counts.values()))
        spelled = self._observed.spelled
        return tuple(
            Sensitive(
                observation=spelled(events),
                probability=string.probability,
                substitutes=tuple(
                    Substitute(observation=spelled(shown), probability=_times(string.probability, given), given=given)
                    for shown, given in self._policy.substitutes(events, most_substitutes)
                ),
                substitute_count=counts[events],
            )
            for events, string in strings.items()
        )

    @property
    def violation_before(self) -> Fraction:
        """The probability that an observation gives a secret away, within the horizon."""
        return self._runs.violation

    @property
    def violation_after(self) -> Fraction | None:
        """The probability that what is shown gives a secret away, or is no observation of the system; None: cannot be.

        `private` and `safe` show safe observations only.
        """
        return self._policy.violation if self.enforceable else None

    @property
    def guarantee(self) -> Guarantee | None:
        """The largest loss over adjacent observations of one length; infinite where a policy has no bound."""
        return self._policy.guarantee if self.enforceable else None

    @property
    def epsilon(self) -> float | None:
        """The true ε, rounded up; infinite where it is."""
        return None if self.guarantee is None else self.guarantee.epsilon

    @property
    def expected_distance(self) -> float | None:
        """How many events are changed on average."""
        return self._policy.expected_distance if self.enforceable else None

    @property
    def posterior_of_secret(self) -> Fraction | float | None:
        """The largest Pr(a secret state was visited | what is shown), for an observer who knows the policy."""
        return self._policy.posterior_of_secret if self.enforceable else None

    @property
    def prior_of_secret(self) -> float | None:
        """Pr(a secret state was visited) before anything is shown, for the policy private; None for other policies."""
        if self.release_by is None or not self.enforceable:
            return None
        return math.fsum(float(table.chances[:, 1].sum()) for table in self._runs.complete.values())

    # --- what is shown -------------------------------------------------------------------------

    def release(self, observation: Sequence[str], *, bits: BitSource | None = None) -> tuple[str, ...] | str:
        """What is shown for one observation: a tuple of events, or a str where a str came in."""
        return self._released([observation], [self._read(observation)], bits or system_bits())[0]

    def release_many(
        self, observations: Sequence[Sequence[str]], *, bits: BitSource | None = None
    ) -> list[tuple[str, ...] | str]:
        """What is shown for each observation of a log; nothing is drawn unless all of them can be."""
        read: list[Events] = []
        for row, observation in enumerate(observations, start=1):
            with in_row(row):
                read.append(self._read(observation))
        return self._released(observations, read, bits or system_bits())

    def _released(
        self, observations: Sequence[Sequence[str]], read: Sequence[Events], source: BitSource
    ) -> list[tuple[str, ...] | str]:
        by_length: dict[int, list[int]] = defaultdict(list)
        for row, requested in enumerate(read):
            by_length[len(requested)].append(row)
        shown: list[tuple[str, ...] | str] = [()] * len(read)
        for rows in by_length.values():
            codes = np.array([read[row] for row in rows], dtype=np.int32)
            for row, drawn in zip(rows, self._policy.draw(codes, source).tolist(), strict=True):
                events = self._observed.spelled(drawn)
                shown[row] = "".join(events) if isinstance(observations[row], str) else events
        return shown

    def _read(self, observation: Sequence[str]) -> Events:
        events = self._observed.read(observation)
        if self.horizon is not None and len(events) > self.horizon:
            raise WordError(f"observation: expected at most {self.horizon} events (length), found {len(events)}")
        self._runs.safe.require_possible(events)
        if not self._policy.can_replace(events):
            raise WordError(
                f"observation: expected one that can be replaced, found none to show for {len(events)} events"
            )
        return events

    def to_diagram(self) -> Diagram:
        """The automaton of the substitutes of the first sensitive string (Z25 Figs. 6, 7, 9 and 10)."""
        if not self._runs.sensitive:
            raise ParameterError("draw", expected="a system with a sensitive string", found="none")
        return self._policy.diagram(next(iter(self._runs.sensitive)))

    def report(self) -> Report:
        """What the policy promises, or for which observation it cannot be enforced; substitutes are in `sensitive`."""
        if not self.enforceable:
            answer = f"cannot be enforced for {' '.join(self.unenforceable or ())}"
            return facts_report("Enforcement", [("policy", self.policy), ("answer", answer)])
        facts = [
            ("policy", self.policy),
            ("notion", self.question.property_name),
            ("violation before", str(self.violation_before)),
            ("violation after", str(self.violation_after)),
            ("loss", "not computed" if self.epsilon is None else f"ε = {epsilon_text(self.epsilon)}"),
        ]
        return facts_report("Enforcement", facts)

    def __repr__(self) -> str:
        return f"Enforcement(policy {self.policy}, {self.question.property_name}, {self.system!r})"


def _times(probability: Fraction, given: Fraction | float) -> Fraction | float:
    return float(probability) * given if isinstance(given, float) else probability * given


PolicyName = Literal["private", "safe", "substitution"]
POLICIES = get_args(PolicyName)


def require_policy(policy: str) -> None:
    """Refuse another policy than those that `enforce_opacity` has."""
    if policy in ("insertion", "edit", "supervisor"):
        expected = f"one of {', '.join(POLICIES)} here, or symveil.synthesize_opacity for {policy}"
        raise ParameterError("policy", expected=expected, found=policy)
    if policy not in POLICIES:
        raise ParameterError("policy", expected=f"one of {', '.join(POLICIES)}", found=policy)


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
        called now and then with the number of estimates or observations explored, and None, because their
        total number is unknown

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
    require_policy(policy)  # before the length, which policies of other functions do not need
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
    require_policy(policy)
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
