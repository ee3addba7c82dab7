"""Sensitive strings: the observations that give a secret away, long enough to cover the whole exposure.

A sensitive string is a first-violating observation, extended until k observations after the exposed
instant or until the run ends (docs/opacity.md; Z25 Example 4: aa exposes state 2, so aab for k = 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from symveil.errors import TooLargeError
from symveil.models.stochastic_system import StochasticSystem
from symveil.verification.opacity.notions import read_question
from symveil.verification.opacity.observation import Observed
from symveil.verification.opacity.run_observations import RunObservations, read_horizon
from symveil.verification.opacity.safe_observations import SafeObservations

MOST_STRINGS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitiveString:
    """An observation that gives a secret away, and the probability that a run shows it.

    Its first `violates_after` events are already too much. Where the run may end here
    (`run_ends`), the probability is that of seeing exactly this and nothing more.
    """

    observation: tuple[str, ...]
    probability: Fraction
    violates_after: int
    run_ends: bool


def sensitive_strings(
    system: StochasticSystem, k: int | float | str = 0, *, length: int | None = None
) -> tuple[SensitiveString, ...]:
    """The observations that give a secret away, each with the probability that a run shows it.

    Parameters
    ----------
    system
        A stochastic system with secret states.
    k
        How many observations back a secret must stay hidden: 0, 1, 2 … or "infinite".
    length
        The largest number of observed events; needed where the system has loops. A longer string is cut there.

    >>> import symveil as sv
    >>> system = sv.StochasticSystem.from_transitions(
    ...     [("0", "a", "1", "1/3"), ("0", "b", "2", "2/3"), ("1", "c", "3", 1), ("2", "c", "3", 1)],
    ...     initial="0", observable=["a", "b", "c"], secret=["1"],
    ... )
    >>> [("".join(each.observation), str(each.probability)) for each in sv.sensitive_strings(system, k=1)]
    [('ac', '1/3')]
    """
    observed = Observed(system)
    observed.stochastic  # noqa: B018  # refuses a system without probabilities
    safe = SafeObservations(observed, read_question(k, "weak"), longest=read_horizon(observed, length))
    strings = tuple(
        SensitiveString(
            observation=observed.spelled(each.events),
            probability=each.probability,
            violates_after=len(each.events) if each.violates_after is None else each.violates_after,
            run_ends=each.run_ends,
        )
        for each in islice(RunObservations(safe).walk(cut=True, only_violating=True), MOST_STRINGS + 1)
    )
    if len(strings) > MOST_STRINGS:
        raise TooLargeError(
            f"sensitive strings: expected at most {MOST_STRINGS}, found more; use a smaller length or k"
        )
    return strings
