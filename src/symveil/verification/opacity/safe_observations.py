"""The observations that the system could have shown and that give nothing away, as a graph of words."""

from __future__ import annotations

from dataclasses import replace
from itertools import count, pairwise

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ModelError, WordError
from symveil.graphs.state_sets import StateSet, set_of
from symveil.graphs.strong_components import strong_components
from symveil.languages.graph import WordGraph
from symveil.languages.runs import RunLanguage
from symveil.laws.protection import any_word
from symveil.models.alphabet import Alphabet
from symveil.numbers.once import Memo, computed_once
from symveil.verification.opacity.estimators import ExplorationLimit, estimator
from symveil.verification.opacity.exploration import Explored, explore
from symveil.verification.opacity.notions import Question
from symveil.verification.opacity.observation import Observed

Events = tuple[int, ...]
"""An observation as the numbers of its events."""


VERY_MANY = 2**31
"""Observations are counted up to this number, so that their sums over all estimates and events stay below 2⁶³."""


class SafeObservations:
    """All observations of a system, and among them the safe ones: those without a violating prefix.

    With `longest`, right for observations of at most so many events. Everything is computed when it is first
    needed, and once.
    """

    def __init__(
        self,
        observed: Observed,
        question: Question,
        *,
        longest: int | None = None,
        limit: ExplorationLimit | None = None,
    ) -> None:
        self.observed, self.question, self.longest = observed, question, longest
        self._limit = limit or observed.limit()
        self._by_length = Memo(self._language)

    @computed_once
    def alphabet(self) -> Alphabet:
        """The observable events."""
        return Alphabet(self.observed.events)

    @computed_once
    def explored(self) -> Explored:
        """The estimates that safe observations lead to."""
        return explore(self.observed, estimator(self.observed, self.question), self._limit, within=self.longest)

    @computed_once
    def _everything(self) -> Explored:
        """The estimates that all observations lead to: the observer, to the depth that is needed."""
        return explore(self.observed, estimator(self.observed, None), self._limit, within=self.longest)

    @computed_once
    def graph(self) -> WordGraph | None:
        """Its paths are the safe observations; None where not even the empty one is safe."""
        return self._graph(self.explored) if self.explored.states else None

    def _graph(self, explored: Explored) -> WordGraph:
        table = explored.table
        sources, columns = np.nonzero(table >= 0)  # by state, then by event
        counts = np.bincount(sources, minlength=len(table))
        return WordGraph(
            alphabet=self.alphabet,
            start=0,
            first=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            symbol=np.array(explored.events, dtype=np.int32)[columns],
            target=table[sources, columns].astype(np.int32),
            accepting=np.ones(len(table), dtype=np.bool_),
        )

    def language(self, length: int) -> RunLanguage | None:
        """The safe observations of one length; None where there is none."""
        return self._by_length[length]

    def _language(self, length: int) -> RunLanguage | None:
        try:
            return None if self.graph is None else RunLanguage(graph=self.graph, length=length)
        except ModelError:  # no safe observation is that long
            return None

    @computed_once
    def possible_graph(self) -> WordGraph:
        """Its paths are all observations, safe or not."""
        return self._graph(self._everything)

    def possible(self, length: int) -> RunLanguage:
        """All observations of one length, safe or not, of which there must be one."""
        return RunLanguage(graph=self.possible_graph, length=length)

    @computed_once
    def moves(self) -> list[dict[int, int]]:
        """For each state of the graph where its events lead."""
        if self.graph is None:
            return []
        first, symbol, target = (part.tolist() for part in (self.graph.first, self.graph.symbol, self.graph.target))
        return [dict(zip(symbol[low:high], target[low:high], strict=True)) for low, high in pairwise(first)]

    def is_safe(self, events: Events) -> bool:
        """Whether the system could have shown this and it gives nothing away."""
        state: int | None = None if self.graph is None else self.graph.start
        for event in events:
            if state is None:
                return False
            state = self.moves[state].get(event)
        return state is not None

    def require_possible(self, events: Events) -> None:
        """Refuse an observation that the system cannot produce, at its first impossible position."""
        estimate = self.observed.start
        for position, event in enumerate(events, start=1):
            estimate = self.observed.steps[event](estimate)
            if not estimate:
                raise WordError(
                    f"observation: expected one that the system can produce, found an impossible event at position "
                    f"{position} of {len(events)}",
                    position=position,
                )

    @computed_once
    def complete_lengths(self) -> dict[int, int]:
        """The lengths of what runs show, complete or cut at the horizon; how many observations, up to VERY_MANY."""
        table = self._everything.table
        ways = np.zeros(len(table), dtype=np.int64)  # of leading to each estimate
        ways[0] = 1
        lengths: dict[int, int] = {}
        for length in count():
            complete = ways[self._ends(length)]
            if complete.any():
                lengths[length] = int(np.minimum(complete, VERY_MANY).sum())
            if length == self.longest or not ways.any():
                return lengths
            reached = np.flatnonzero(ways)  # few of all, where systems move on: a pass over all edges would take longer
            following = np.zeros(len(table), dtype=np.int64)
            for column in table[reached].T:
                leads = column >= 0
                np.add.at(following, column[leads], ways[reached][leads])
                np.minimum(following, VERY_MANY, out=following)
            ways = following
        raise AssertionError("count() does not end")

    def example(self, length: int) -> Events:
        """The first observation of one of the `complete_lengths`, in the order of the events."""
        complete = replace(self.possible_graph, accepting=self._ends(length))
        return tuple(any_word(RunLanguage(graph=complete, length=length)).tolist())

    def _ends(self, length: int) -> NDArray[np.bool_]:
        """For each estimate whether an observation of this length, complete or cut at the horizon, may lead to it."""
        return np.ones_like(self._may_end) if length == self.longest else self._may_end

    @computed_once
    def _may_end(self) -> NDArray[np.bool_]:
        """For each estimate whether a run may show nothing more after it."""
        ending = self._quiet_states
        states = self._everything.states
        if not ending:
            return np.zeros(len(states), dtype=np.bool_)
        return np.array([bool(state[0] & ending) for state in states], dtype=np.bool_)

    @property
    def _quiet_states(self) -> StateSet:
        """The states from which nothing is ever observed again with positive probability: no transition leads on,
        or a part of unobservable moves that is never left."""
        observed, quiet = self.observed, 0
        shows = {
            observed.number[source] for source, event, _ in observed.system.moves if event in observed.event_number
        }
        for part in strong_components(observed.successors):
            inside = set(part)
            if inside.isdisjoint(shows) and all(inside.issuperset(observed.successors[state]) for state in part):
                quiet |= set_of(part)
        return quiet
