"""The observations that the system could have shown and that give nothing away, as a graph of words."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from symveil.errors import ModelError, WordError
from symveil.languages.graph import WordGraph
from symveil.languages.observation import Observed
from symveil.languages.runs import RunLanguage
from symveil.languages.state_sets import StateSet, set_of
from symveil.languages.strong_components import strong_components
from symveil.models.alphabet import Alphabet
from symveil.models.stochastic_system import StochasticSystem
from symveil.numerics.once import computed_once
from symveil.verification.opacity.estimators import estimator
from symveil.verification.opacity.exploration import Explored, explore
from symveil.verification.opacity.notions import Question

Events = tuple[int, ...]
"""An observation as the numbers of its events."""


class SafeObservations:
    """All observations of a system, and among them the safe ones: those without a violating prefix.

    With `longest`, right for observations of at most so many events.
    """

    def __init__(self, system: StochasticSystem, question: Question, *, longest: int | None = None) -> None:
        self._system = system
        self.seen = Observed(system)
        self.alphabet = Alphabet(system.observable)
        self._machine = estimator(self.seen, question)
        self._longest = longest
        self._by_length: dict[int, RunLanguage | None] = {}

    @computed_once
    def explored(self) -> Explored:
        """The estimates that safe observations lead to."""
        return explore(self.seen, self._machine, within=self._longest)

    @computed_once
    def graph(self) -> WordGraph | None:
        """Its paths are the safe observations; None where not even the empty one is safe."""
        table = self.explored.table
        if not len(table):
            return None
        sources, columns = np.nonzero(table >= 0)  # by state, then by event
        counts = np.bincount(sources, minlength=len(table))
        return WordGraph(
            alphabet=self.alphabet,
            start=0,
            first=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            symbol=np.array(self.explored.events, dtype=np.int32)[columns],
            target=table[sources, columns].astype(np.int32),
            accepting=np.ones(len(table), dtype=np.bool_),
        )

    def language(self, length: int) -> RunLanguage | None:
        """The safe observations of one length; None where there is none."""
        if length not in self._by_length:
            self._by_length[length] = self._language(length)
        return self._by_length[length]

    def _language(self, length: int) -> RunLanguage | None:
        if self.graph is None:
            return None
        try:
            return RunLanguage(graph=self.graph, length=length)
        except ModelError:  # no safe observation is that long
            return None

    @computed_once
    def _moves(self) -> list[dict[int, int]]:
        """For each state of the graph where its symbols lead."""
        if self.graph is None:
            return []
        first, symbol, target = (part.tolist() for part in (self.graph.first, self.graph.symbol, self.graph.target))
        return [dict(zip(symbol[low:high], target[low:high], strict=True)) for low, high in pairwise(first)]

    def is_safe(self, events: Events) -> bool:
        """Whether the system could have shown this and it gives nothing away."""
        if self.graph is None:
            return False
        moves, state = self._moves, self.graph.start
        for event in events:
            following = moves[state].get(event)
            if following is None:
                return False
            state = following
        return True

    def require_possible(self, events: Events) -> None:
        """Refuse an observation that the system cannot produce, at its first impossible position."""
        estimate = self.seen.start
        for position, event in enumerate(events, start=1):
            estimate = self.seen.steps[event](estimate)
            if not estimate:
                raise WordError(
                    f"observation: expected one that the system can produce, found an impossible event at position "
                    f"{position} of {len(events)}",
                    position=position,
                )

    def complete_lengths(self) -> dict[int, Events]:
        """The lengths of what runs show, complete or cut at the horizon, with an observation of each."""
        ending = self._quiet_states
        layer: dict[StateSet, Events] = {self.seen.start: ()}
        found: dict[int, Events] = {}
        length = 0
        while layer:
            at_horizon = length == self._longest
            complete = [events for estimate, events in layer.items() if at_horizon or estimate & ending]
            if complete:
                # one that gives a secret away says best why it matters
                found[length] = next((events for events in complete if not self.is_safe(events)), complete[0])
            following: dict[StateSet, Events] = {}
            for estimate, events in layer.items() if not at_horizon else ():
                for event in self.seen.occurring:
                    after = self.seen.steps[event](estimate)
                    if after:
                        following.setdefault(after, (*events, event))
            layer = following
            length += 1
        return found

    @property
    def _quiet_states(self) -> StateSet:
        """The states from which nothing is ever observed again with positive probability: no transition leads on,
        or a part of unobservable moves that is never left."""
        system = self.seen.system
        number = self.seen.number
        successors: list[list[int]] = [[] for _ in system.states]
        shows = [False] * len(system.states)
        for source, event, target in system.moves:
            successors[number[source]].append(number[target])
            shows[number[source]] |= event in system.observable
        quiet = 0
        for part in strong_components(successors):
            inside = set(part)
            if not any(shows[state] or not inside.issuperset(successors[state]) for state in part):
                quiet |= set_of(part)
        return quiet

    def all_of_length(self, length: int) -> RunLanguage:
        """All observations of one length, safe or not, of which there must be one."""
        return RunLanguage(graph=self._everything, length=length)

    @computed_once
    def _everything(self) -> WordGraph:
        """The observer as a graph of words, to the depth that is needed."""
        question = Question("weak", 0)
        blind = SafeObservations(self._system.with_secret(()), question, longest=self._longest)
        graph = blind.graph
        if graph is None:
            raise AssertionError("without secrets every observation is safe")
        return graph
