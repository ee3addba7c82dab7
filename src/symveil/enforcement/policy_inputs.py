"""What policies are given: the observations of a system, listed or tabulated once for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice

from symveil.errors import TooLargeError, WordError
from symveil.languages.observation import Progress
from symveil.numerics.once import computed_once
from symveil.verification.opacity.complete_observations import ObservationTable, complete_observations
from symveil.verification.opacity.run_observations import RunObservation, RunObservations
from symveil.verification.opacity.safe_observations import Events, SafeObservations

# What runs may show is listed to judge a policy, or tabulated; beyond this many observations it is not.
MOST_OBSERVATIONS = 50_000
MOST_TABULATED = 300_000
MOST_OUTCOMES = 5_000_000
_OBSERVATIONS_BETWEEN_REPORTS = 1_000


class PolicyInputs:
    """The observations of one system, judged by one question. Computed when first needed, for all policies."""

    def __init__(self, safe: SafeObservations, *, progress: Progress | None = None) -> None:
        self.safe = safe
        self._runs = RunObservations(safe)
        self._progress = progress

    @property
    def violation(self) -> Fraction:
        """The probability that an observation gives a secret away, within the horizon."""
        return self._runs.violation

    @property
    def sensitive(self) -> dict[Events, RunObservation]:
        """The sensitive strings."""
        _require_at_most(MOST_OBSERVATIONS, len(self._sensitive))
        return self._sensitive

    @computed_once
    def _sensitive(self) -> dict[Events, RunObservation]:
        return {each.events: each for each in self._first(self._runs.sensitive())}

    @computed_once
    def cut_when_exposed(self) -> list[RunObservation]:
        """Sensitive strings and whole safe observations: the inputs of a policy that replaces sensitive strings."""
        listed = list(self._first(self._runs.cut_when_exposed()))
        _require_at_most(MOST_OBSERVATIONS, len(listed))
        return listed

    @computed_once
    def complete(self) -> dict[int, ObservationTable]:
        """Whole observations by their length: the inputs of a policy that replaces every observation."""
        _require_at_most(MOST_TABULATED, sum(count for _, count in self.safe.complete_lengths.values()))
        return complete_observations(self._runs.law, longest=self.safe.longest, progress=self._progress)

    def _first(self, observations: Iterator[RunObservation]) -> Iterator[RunObservation]:
        """One more than allowed, so that it shows where they are too many."""
        for number, each in enumerate(islice(observations, MOST_OBSERVATIONS + 1)):
            if self._progress and number % _OBSERVATIONS_BETWEEN_REPORTS == 0:
                self._progress(number)
            yield each


def _require_at_most(allowed: int, observations: int) -> None:
    if observations > allowed:
        raise TooLargeError(
            f"enforcement: expected at most {allowed} observations to judge a policy by, found more; use a "
            "smaller length (the policy private releases without such a list)"
        )


def require_few_outcomes(outcomes: int) -> None:
    """Refuse, before the work, to list more outcomes than fit into the memory."""
    if outcomes > MOST_OUTCOMES:
        raise TooLargeError(
            f"enforcement: expected at most {MOST_OUTCOMES} pairs of what happens and what is shown, found "
            "more; use a smaller length"
        )


def nothing_to_show(events: Events) -> WordError:
    """The error for an observation without any substitute."""
    return WordError(f"observation: expected one that can be replaced, found none to show for {len(events)} events")
