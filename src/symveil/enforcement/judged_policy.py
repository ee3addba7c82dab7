"""What a policy achieves against an observer who knows it (docs/mechanisms/opacity-policies.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from symveil.enforcement.losses import policy_loss
from symveil.enforcement.policy import Policy
from symveil.enforcement.private import Private
from symveil.enforcement.safe_observations import Events, SafeObservations
from symveil.enforcement.substitution import Substitution
from symveil.errors import TooLargeError
from symveil.models.stochastic_system import StochasticSystem
from symveil.numerics.once import computed_once
from symveil.privacy.guarantee import Guarantee
from symveil.privacy.parameters import Adjacency, read_adjacency
from symveil.verification.opacity.notions import Question
from symveil.verification.opacity.shown_observations import Shown, ShownObservations

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


class JudgedPolicy:
    """A system under a policy: whether it can be enforced, what it changes, what it gives away.

    Everything about it is worked out when first asked for, over all observations that runs may
    show; with very many of them, the policy private still answers `guarantee`.
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

    @computed_once
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

    @computed_once
    def _sensitive(self) -> tuple[Shown, ...]:
        return _few(self._shown.sensitive())

    @computed_once
    def _inputs(self) -> tuple[Shown, ...]:
        """What goes into the policy: whole observations, or sensitive strings and whole safe observations."""
        everything = self._policy.changes_everything
        return _few(self._shown.complete() if everything else self._shown.cut_when_exposed())

    @computed_once
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

    @computed_once
    def _sensitive_strings(self) -> frozenset[Events]:
        return frozenset(each.events for each in self._sensitive)

    # --- what it achieves ----------------------------------------------------------------------

    @computed_once
    def violation_before(self) -> Fraction:
        """The probability that an observation gives a secret away, within the horizon."""
        return sum((each.probability for each in self._sensitive), start=Fraction(0))

    @computed_once
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

    @computed_once
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

    @computed_once
    def expected_distance(self) -> float | None:
        """How many events are changed on average."""
        if not self.enforceable:
            return None
        return float(sum(_times(each.probability, self._mean_distance(each.events)) for each in self._inputs))

    def _mean_distance(self, events: Events) -> Fraction | float:
        law = self._outcomes(events)
        return sum((_times(chance, _distance(events, shown)) for shown, chance in law.items()), start=Fraction(0))

    @computed_once
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
