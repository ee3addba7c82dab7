"""Policies that replace sensitive strings and show every safe observation as it is (Z25 §5 and Algorithm 2).

What is shown instead is uniform over substitutes at an exact distance ω. Which ones is all that the two policies
differ in: `SafeSubstitutes` and `AnySubstitutes`, one file each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction

from flint import fmpq

from symveil.enforcement.limits import LIMITS
from symveil.enforcement.losses import loss_of_laws
from symveil.enforcement.safe import AnySubstitutes, SafeSubstitutes
from symveil.errors import ParameterError, TooLargeError, WordError
from symveil.laws.guarantee import Guarantee
from symveil.laws.parameters import Adjacency, read_adjacency
from symveil.models.word import Codes
from symveil.numbers.conversions import fraction, rational
from symveil.numbers.once import computed_once
from symveil.randomness import BitSource
from symveil.verification.opacity import run_observations
from symveil.verification.opacity.run_observations import RunObservations
from symveil.verification.opacity.safe_observations import Events


class SensitiveOnlyPolicy:
    """Sensitive strings are replaced by a uniform substitute; safe observations are shown as they are."""

    def __init__(
        self, runs: RunObservations, substitutes: SafeSubstitutes | AnySubstitutes, *, adjacency: Adjacency
    ) -> None:
        self._runs, self._substitutes, self.adjacency = runs, substitutes, adjacency
        self.name, self.substitute_count, self.diagram = substitutes.name, substitutes.count, substitutes.diagram

    def unenforceable(self) -> Events | None:
        """A sensitive string without any substitute."""
        return next((events for events in self._runs.sensitive if not self._substitutes.count(events)), None)

    def can_replace(self, events: Events) -> bool:
        """Whether there is a substitute. Only sensitive strings, exactly, are replaced; safe ones need not be."""
        if self._runs.safe.is_safe(events):
            return True
        if events not in self._runs.sensitive:
            raise WordError(
                f"observation: expected a sensitive string, which this policy can replace, found one that ends "
                f"before it or goes on after it, of {len(events)} events; the policy private takes any observation"
            )
        return self._substitutes.count(events) > 0

    def substitutes(self, events: Events, at_most: int | None = None) -> list[tuple[Events, Fraction]]:
        """All have the same probability, and come in the order of their events."""
        return sorted(self._law(events).items())[:at_most]

    def _law(self, events: Events) -> Mapping[Events, Fraction]:
        if self._runs.safe.is_safe(events):
            return {events: Fraction(1)}
        count = self._substitutes.count(events)
        if count > LIMITS.now.substitutes:
            raise TooLargeError(
                f"{self.name}: expected at most {LIMITS.now.substitutes} substitutes to write out, found {count}; use "
                "a smaller omega or length"
            )
        return dict.fromkeys(self._substitutes.listed(events), Fraction(1, count)) if count else {}

    def draw(self, codes: Codes, bits: BitSource) -> Codes:
        """What is shown for each row."""
        rows = list(map(tuple, codes.tolist()))
        is_safe = {events: self._runs.safe.is_safe(events) for events in set(rows)}
        unsafe = [number for number, events in enumerate(rows) if not is_safe[events]]
        shown = codes.copy()
        if unsafe:
            shown[unsafe] = self._substitutes.draw(codes[unsafe], bits)
        return shown

    @computed_once
    def guarantee(self) -> Guarantee:
        """Over all that may be handed in: sensitive strings, and every safe observation."""
        laws = {events: self._law(events) for events in self._accepted()}
        return loss_of_laws(laws, read_adjacency(self.adjacency, length=max(map(len, laws), default=1)))

    def _accepted(self) -> Iterator[Events]:
        yield from self._runs.sensitive
        left = run_observations.MOST_OBSERVATIONS
        for length in range(max(self._runs.safe.complete_lengths, default=0) + 1):
            language = self._runs.safe.language(length)
            if language is not None:
                safe = language.enumerate_codes(at_most=left)
                left -= len(safe)
                yield from map(tuple, safe.tolist())

    @computed_once
    def violation(self) -> Fraction:
        """The share of substitutes that are unsafe: an observer recognises what the system cannot produce."""
        total = Fraction(0)
        for events, string in self._runs.sensitive.items() if not self._substitutes.are_safe else ():
            law = self._law(events)
            total += string.probability * Fraction(sum(not self._runs.safe.is_safe(each) for each in law), len(law))
        return total

    @property
    def expected_distance(self) -> float:
        """All substitutes lie at distance ω."""
        return float(self._substitutes.omega * self._runs.violation)

    @computed_once
    def posterior_of_secret(self) -> Fraction:
        """Exact, over everything that runs may lead to."""
        inputs = self._runs.cut_when_exposed
        counts = (1 if each.violates_after is None else self._substitutes.count(each.events) for each in inputs)
        require_few_outcomes(sum(counts))
        shown: dict[Events, fmpq] = defaultdict(fmpq)
        secret: dict[Events, fmpq] = defaultdict(fmpq)
        for each in inputs:
            law = self._law(each.events)
            probability, with_secret = (rational(chance) / len(law) for chance in (each.probability, each.secret))
            for events in law:
                shown[events] += probability
                secret[events] += with_secret
        largest = max((secret[events] / chance for events, chance in shown.items()), default=fmpq(0))
        return fraction(largest)


def require_few_outcomes(outcomes: int) -> None:
    """Refuse, before the work, to list more outcomes than fit into the memory."""
    if outcomes > LIMITS.now.outcomes:
        raise TooLargeError(
            f"enforcement: expected at most {LIMITS.now.outcomes} pairs of what happens and what is shown, found "
            "more; use a smaller length"
        )


def read_omega(omega: int | None) -> int:
    """ω: the exact distance of a substitute."""
    if omega is None or isinstance(omega, bool) or not isinstance(omega, int) or omega < 1:
        raise ParameterError(
            "omega", expected="the exact distance of substitutes, a whole number, 1 or more", found=omega
        )
    return omega
