"""What a search for a violation needs of a system: of one, or of several parts together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from symveil.graphs.state_sets import StateSet

Step = Callable[[StateSet], StateSet]


class Observing(Protocol):
    """A system as its observer computes with it; `Observed` and `ComposedObserved` say what each of these is."""

    @property
    def size(self) -> int:
        """How many states it has, or how many were met."""

    @property
    def secret(self) -> StateSet:
        """The secret states, of those that were met."""

    @property
    def initial(self) -> StateSet:
        """Where a run may start."""

    @property
    def start(self) -> StateSet:
        """The states possible before anything was observed."""

    @property
    def occurring(self) -> tuple[int, ...]:
        """The observable events that some transition has."""

    @property
    def reach(self) -> Step:
        """The unobservable reach."""

    @property
    def steps(self) -> Sequence[Step]:
        """For each event the estimate after it."""

    @property
    def clean_reach(self) -> Step:
        """The unobservable reach through states without a secret."""

    @property
    def clean_steps(self) -> Sequence[Step]:
        """For each event the states in which the whole instant after it may have been without a secret."""

    def names(self, states: StateSet) -> tuple[str, ...]:
        """The names of a set of states."""

    def spelled(self, observation: Sequence[int]) -> tuple[str, ...]:
        """An observation as its events."""

    def delayed(self, events: Sequence[int], instant: int) -> StateSet:
        """The states possible after the first `instant` events, given all of them."""
