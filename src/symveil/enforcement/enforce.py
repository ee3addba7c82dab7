"""Enforcing opacity: a policy for a system, and what it achieves against an observer who knows it."""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Literal, get_args

import numpy as np

from symveil.drawing.diagram import Diagram
from symveil.enforcement.losses import policy_loss
from symveil.enforcement.policy import Policy, read_omega
from symveil.enforcement.private import Private
from symveil.enforcement.safe import Safe
from symveil.enforcement.safe_observations import Events, SafeObservations
from symveil.enforcement.substitution import Substitution
from symveil.errors import ModelError, ParameterError, TooLargeError, WordError
from symveil.models.stochastic_system import PartiallyObserved, StochasticSystem
from symveil.numerics.rationals import Number
from symveil.privacy.guarantee import Guarantee
from symveil.privacy.parameters import Adjacency, read_adjacency, read_epsilon
from symveil.randomness import BitSource, system_bits
from symveil.verification.opacity.notions import Question, read_question
from symveil.verification.opacity.shown_observations import Shown, ShownObservations, read_horizon

PolicyName = Literal["private", "safe", "substitution"]
POLICIES = get_args(PolicyName)

# What runs may show is written out to judge a policy; beyond this many observations it is not.
MOST_OBSERVATIONS = 50_000
_MOST_OUTCOMES_TOGETHER = 5_000_000


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


class Enforcement:
    """A system under a policy. Construct with `enforce_opacity`; `release` draws what is shown.

    Everything about it is worked out when first asked for, over all observations that runs may
    show; with very many of them, the policy private still answers `release` and `guarantee`.
    """

    def __init__(
        self,
        system: StochasticSystem,
        question: Question,
        policy: Policy,
        safe: SafeObservations,
        *,
        horizon: int | None,
        adjacency: Adjacency,
    ) -> None:
        self.system, self.question, self.horizon, self.adjacency = system, question, horizon, adjacency
        self._policy, self._safe = policy, safe
        self._shown = ShownObservations(system, question, horizon)

    @property
    def policy(self) -> str:
        """The policy's name."""
        return self._policy.name

    # --- can it be done ------------------------------------------------------------------------

    @cached_property
    def unenforceable(self) -> tuple[str, ...] | None:
        """An observation for which there is nothing to show; None where there is none."""
        for events in self._to_replace():
            if not self._policy.can_replace(events):
                return self._spelled(events)
        return None

    @property
    def enforceable(self) -> bool:
        """Whether the policy has something to show for every observation it must replace."""
        return self.unenforceable is None

    def _to_replace(self) -> Iterable[Events]:
        if self._policy.changes_everything:
            # all observations of one length share what can be shown
            return self._safe.complete_lengths().values()
        return (each.events for each in self._sensitive)

    # --- what runs show ------------------------------------------------------------------------

    @cached_property
    def _sensitive(self) -> tuple[Shown, ...]:
        return _few(self._shown.sensitive())

    @cached_property
    def _inputs(self) -> tuple[Shown, ...]:
        """What goes into the policy: whole observations, or sensitive strings and whole safe observations."""
        everything = self._policy.changes_everything
        return _few(self._shown.complete() if everything else self._shown.cut_when_exposed())

    @cached_property
    def sensitive(self) -> tuple[Sensitive, ...]:
        """The sensitive strings with their substitutes."""
        found, outcomes = [], 0
        for each in self._sensitive:
            found.append(self._described(each))
            outcomes += len(found[-1].substitutes)
            _require_few_outcomes(outcomes)
        return tuple(found)

    def _described(self, shown: Shown) -> Sensitive:
        law = self._law(shown.events)
        ordered = sorted(law.items(), key=lambda outcome: (-outcome[1], outcome[0]))
        return Sensitive(
            observation=self._spelled(shown.events),
            probability=shown.probability,
            substitutes=tuple(
                Substitute(
                    observation=self._spelled(events), probability=_times(shown.probability, chance), given=chance
                )
                for events, chance in ordered
            ),
        )

    def _law(self, events: Events) -> Mapping[Events, Fraction | float]:
        is_shown_as_it_is = not self._policy.changes_everything and self._safe.is_safe(events)
        return self._policy.law(events) if is_shown_as_it_is or self._policy.can_replace(events) else {}

    def _spelled(self, events: Events) -> tuple[str, ...]:
        return self._safe.seen.spelled(events)

    # --- what it achieves ----------------------------------------------------------------------

    @cached_property
    def violation_before(self) -> Fraction:
        """The probability that an observation gives a secret away, within the horizon."""
        return sum((each.probability for each in self._sensitive), start=Fraction(0))

    @cached_property
    def violation_after(self) -> Fraction | None:
        """The probability that what is shown gives a secret away, or is no observation of the system; None: cannot be.

        `private` and `safe` show safe observations only.
        """
        if not self.enforceable:
            return None
        if self._policy.name != Substitution.name:
            return Fraction(0)
        total = Fraction(0)
        for each in self._sensitive:
            law = self._policy.law(each.events)
            unsafe = sum(not self._safe.is_safe(events) for events in law)
            total += each.probability * Fraction(unsafe, len(law))
        return total

    @cached_property
    def guarantee(self) -> Guarantee | None:
        """The largest loss over adjacent observations of one length; infinite where a policy has no bound."""
        if not self.enforceable:
            return None
        if isinstance(self._policy, Private):
            return self._largest_loss(self._policy)
        laws = {events: self._policy.law(events) for events in self._accepted()}
        return policy_loss(laws, read_adjacency(self.adjacency, length=max(map(len, laws), default=1)))

    def _largest_loss(self, policy: Private) -> Guarantee:
        """Over all lengths, since shorter logs are taken too; the longest first, as no loss exceeds the classic one."""
        worst: Guarantee | None = None
        for length in reversed(range(max(self._safe.complete_lengths(), default=0) + 1)):
            if self._safe.language(length) is not None:
                found = policy.guarantee(length)
                if found.how == "classic":
                    return found
                worst = found if worst is None or found.epsilon > worst.epsilon else worst
        return worst or Guarantee(epsilon=0.0, how="exact")

    def _accepted(self) -> Iterator[Events]:
        """What may be handed in where only sensitive strings are replaced: those, and every safe observation."""
        yield from self._sensitive_strings
        left = MOST_OBSERVATIONS
        for length in range(max(self._safe.complete_lengths(), default=0) + 1):
            language = self._safe.language(length)
            if language is not None:
                safe = language.enumerate_codes(at_most=left)
                left -= len(safe)
                yield from map(tuple, safe.tolist())

    @property
    def epsilon(self) -> float | None:
        """The true ε, rounded up; infinite where it is."""
        return None if self.guarantee is None else self.guarantee.epsilon

    @cached_property
    def expected_distance(self) -> float | None:
        """How many events are changed on average."""
        if not self.enforceable:
            return None
        return float(sum(_times(each.probability, self._mean_distance(each.events)) for each in self._inputs))

    def _mean_distance(self, events: Events) -> Fraction | float:
        law = self._outcomes(events)
        return sum((_times(chance, _distance(events, shown)) for shown, chance in law.items()), start=Fraction(0))

    @cached_property
    def posterior_of_secret(self) -> Fraction | float | None:
        """The largest Pr(a secret state was visited | what is shown), for an observer who knows the policy."""
        if not self.enforceable:
            return None
        shown: dict[Events, Fraction | float] = defaultdict(Fraction)
        secret: dict[Events, Fraction | float] = defaultdict(Fraction)
        for each in self._inputs:
            for events, chance in self._outcomes(each.events).items():
                shown[events] += _times(each.probability, chance)
                secret[events] += _times(each.secret, chance)
        return max((secret[events] / chance for events, chance in shown.items() if chance), default=Fraction(0))

    def _outcomes(self, events: Events) -> Mapping[Events, Fraction | float]:
        law = self._law(events)
        _require_few_outcomes(len(law) * len(self._inputs))
        return law

    def to_diagram(self) -> Diagram:
        """The automaton of the substitutes of the first sensitive string (Z25 Figs. 6, 7, 9 and 10)."""
        if not self._sensitive:
            raise ParameterError("draw", expected="a system with a sensitive string", found="none")
        return self._policy.diagram(self._sensitive[0].events)

    # --- releasing -------------------------------------------------------------------------------

    def release(self, observation: Sequence[str], *, bits: BitSource | None = None) -> tuple[str, ...] | str:
        """What is shown for one observation: a tuple of events, or a str where a str came in."""
        try:
            return self.release_many([observation], bits=bits)[0]
        except WordError as error:
            message = str(error).replace("observation 1", "observation", 1)
            raise WordError(message, position=error.position) from None

    def release_many(
        self, observations: Sequence[Sequence[str]], *, bits: BitSource | None = None
    ) -> list[tuple[str, ...] | str]:
        """What is shown for each observation of a log; nothing is drawn unless all of them can be."""
        source = bits or system_bits()
        by_length: dict[int, list[int]] = defaultdict(list)
        read: list[Events] = []
        for number, observation in enumerate(observations, start=1):
            try:
                read.append(self._read(observation))
            except WordError as error:
                place = str(error).replace("observation", f"observation {number}", 1)
                raise WordError(place, position=error.position) from None
            by_length[len(read[-1])].append(number - 1)
        shown: list[tuple[str, ...] | str] = [()] * len(read)
        for rows in by_length.values():
            codes = np.array([read[row] for row in rows], dtype=np.int32)
            for row, drawn in zip(rows, self._policy.draw(codes, source).tolist(), strict=True):
                events = self._spelled(tuple(drawn))
                shown[row] = "".join(events) if isinstance(observations[row], str) else events
        return shown

    def _read(self, observation: Sequence[str]) -> Events:
        events = self._safe.seen.read(observation)
        if self.horizon is not None and len(events) > self.horizon:
            raise WordError(f"observation: expected at most {self.horizon} events (length), found {len(events)}")
        self._safe.require_possible(events)
        if self._policy.changes_everything:
            is_replaceable = self._policy.can_replace(events)
        elif self._safe.is_safe(events):
            return events
        else:
            if events not in self._sensitive_strings:
                raise WordError(
                    f"observation: expected a sensitive string, which this policy can replace, found one that ends "
                    f"before it or goes on after it, of {len(events)} events; the policy private takes any observation"
                )
            is_replaceable = self._policy.can_replace(events)
        if not is_replaceable:
            raise WordError(
                f"observation: expected one that can be replaced, found none to show for {len(events)} events"
            )
        return events

    @cached_property
    def _sensitive_strings(self) -> frozenset[Events]:
        return frozenset(each.events for each in self._sensitive)

    def _repr_html_(self) -> str:
        if not self.enforceable:
            return f"<p>{self.policy}: cannot be enforced for {html.escape(' '.join(self.unenforceable or ()))}</p>"
        rows = "".join(
            f"<tr><td>{name}</td><td>{value}</td></tr>"
            for name, value in (
                ("violation before", self.violation_before),
                ("violation after", self.violation_after),
                ("true ε", self.epsilon),
            )
        )
        return f"<table><caption>policy {self.policy}, {self.question.property_name}</caption>{rows}</table>"

    def __repr__(self) -> str:
        return f"Enforcement(policy {self.policy}, {self.question.property_name}, {self.system!r})"


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


def _few(shown: Iterator[Shown]) -> tuple[Shown, ...]:
    found = tuple(islice(shown, MOST_OBSERVATIONS + 1))
    if len(found) > MOST_OBSERVATIONS:
        raise TooLargeError(
            f"enforcement: expected at most {MOST_OBSERVATIONS} observations to judge a policy by, found more; use a "
            "smaller length (the policy private releases without such a list)"
        )
    return found


def _require_few_outcomes(outcomes: int) -> None:
    if outcomes > _MOST_OUTCOMES_TOGETHER:
        raise TooLargeError(
            f"enforcement: expected at most {_MOST_OUTCOMES_TOGETHER} pairs of what happens and what is shown, found "
            "more; use a smaller length"
        )


def _times(one: Fraction | float, other: Fraction | float) -> Fraction | float:
    if isinstance(one, float) or isinstance(other, float):
        return float(one) * float(other)
    return one * other


def _distance(one: Events, other: Events) -> Fraction:
    return Fraction(sum(map(int.__ne__, one, other)))
