"""What runs show, each observation with its probability: the observations of complete runs, or up to a horizon.

Sensitive strings: the observations that give a secret away, long enough to cover the whole exposure.

A sensitive string is a first-violating observation, extended until k observations after the exposed
instant or until the run ends (docs/opacity.md; Z25 Example 4: aa exposes state 2, so aab for k = 1).

Safe observations, those that the system could have shown and that give nothing away, as a graph of words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count, islice

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from symveil.errors import ModelError, ParameterError, TooLargeError
from symveil.graphs.csr import offsets
from symveil.graphs.state_sets import StateSet, set_of
from symveil.graphs.walk import strong_components
from symveil.languages.graph import WordGraph
from symveil.languages.runs import RunLanguage
from symveil.laws.protection import any_word
from symveil.models.alphabet import Alphabet
from symveil.models.stochastic_system import StochasticSystem
from symveil.numbers.once import Memo, computed_once
from symveil.numbers.progress import Progress, named
from symveil.verification.limits import LIMITS
from symveil.verification.opacity.estimators import Question, estimator, read_question
from symveil.verification.opacity.exploration import NOWHERE, SINK, ExplorationLimit, Explored, explore
from symveil.verification.opacity.observation import Observed, impossible_event
from symveil.verification.opacity.observation_law import (
    Node,
    ObservationLaw,
    ObservationTable,
    Spread,
    complete_observations,
    mass,
)

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
            first=offsets(counts),
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
        """For each state of the graph where its events lead, but for violations."""
        return self.explored.moves(np.maximum(self.explored.table, NOWHERE))

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
                raise impossible_event(position, len(events))

    @computed_once
    def complete_lengths(self) -> dict[int, int]:
        """The lengths of what runs show, complete or cut at the horizon; how many observations, up to VERY_MANY."""
        lengths: dict[int, int] = {}
        for length, ways in enumerate(ways_to(self._everything.table, self.longest)):
            complete = int(ways[self._ends(length)].sum())
            if complete:
                lengths[length] = complete
        return lengths

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


def ways_to(table: NDArray[np.int64], longest: int | None) -> Iterator[NDArray[np.int64]]:
    """For each length, up to the longest, how many observations lead to each state of a table, up to VERY_MANY."""
    ways = np.zeros(len(table), dtype=np.int64)
    ways[:1] = 1
    for length in count():
        yield ways
        reached = np.flatnonzero(ways)  # few of all, where systems move on: a pass over all edges would take longer
        if length == longest or not len(reached):
            return
        chosen, ways = ways[reached], np.zeros(len(table), dtype=np.int64)
        for column in table[reached].T:
            leads = column >= 0
            np.add.at(ways, column[leads], chosen[leads])
            np.minimum(ways, VERY_MANY, out=ways)


_VISITS_BETWEEN_REPORTS = 1_000


@dataclass(frozen=True, slots=True)
class RunObservation:
    """One observation, the probability of the runs that show it, and of those among them that met a secret.

    Its first `violates_after` events give a secret away; None if it does not. Where `run_ends`,
    the probability is that of seeing exactly this and nothing more.
    """

    events: Events
    probability: Fraction
    secret: Fraction
    violates_after: int | None
    run_ends: bool


@dataclass(frozen=True, slots=True)
class _Prefix:
    events: Events
    state: int | None  # of the graph of safe observations; None where the prefix is none
    spread: Spread
    violates_after: int | None = None
    cut_at: int | None = None  # the length at which an exposed observation is cut


class RunObservations:
    """The observations that runs of one system show, up to the horizon of `safe`; each list is made once."""

    def __init__(self, safe: SafeObservations, *, progress: Progress | None = None) -> None:
        self.safe, self.law = safe, ObservationLaw(safe.observed)
        self.progress = progress

    @computed_once
    def complete(self) -> dict[int, ObservationTable]:
        """Each run's whole observation, or its first events up to the horizon, as tables by length."""
        total = sum(self.safe.complete_lengths.values())
        _require_at_most(LIMITS.now.tabulated, total)
        progress = named(self.progress, "tabulating observations")
        return complete_observations(
            self.law, longest=self.safe.longest, progress=lambda done, _: progress(done, total)
        )

    @computed_once
    def cut_when_exposed(self) -> list[RunObservation]:
        """The same, but an exposed observation is cut where it is a sensitive string: no k observations later."""
        _require_at_most(LIMITS.now.observations, self._exposures)  # each of them is one of these observations, or more
        listed = list(islice(self.walk(cut=True), LIMITS.now.observations + 1))
        _require_at_most(LIMITS.now.observations, len(listed))
        return listed

    @property
    def sensitive(self) -> dict[Events, RunObservation]:
        """The sensitive strings only."""
        _require_at_most(LIMITS.now.observations, len(self._sensitive))
        return self._sensitive

    @computed_once
    def _sensitive(self) -> dict[Events, RunObservation]:
        """One more than allowed, where they are too many; none where that is known without a list."""
        _require_at_most(LIMITS.now.observations, self._exposures)
        strings = self.walk(cut=True, only_violating=True)
        return {each.events: each for each in islice(strings, LIMITS.now.observations + 1)}

    @computed_once
    def _exposures(self) -> int:
        """How many observations violate opacity with their last event, up to a very large number."""
        table, longest = self.safe.explored.table, self.safe.longest
        if not len(table):
            return 1
        violating = (table == SINK).sum(axis=1)
        exposures = (int(ways @ violating) for length, ways in enumerate(ways_to(table, longest)) if length != longest)
        return min(sum(exposures), VERY_MANY)

    @computed_once
    def violation(self) -> Fraction:
        """The probability that a run's observation violates opacity, within the horizon: that of a sensitive string.

        Observations that lead to one estimate have one future, so their spreads are added up and nothing is listed.
        """
        total, length = Fraction(0), 0
        layer: dict[int | None, Spread] = {self._start: self.law.start}
        while layer:
            total += mass(layer.pop(None, {}))
            following: dict[int | None, dict[Node, fmpq]] = {}
            for state, spread in layer.items():
                if state is None or not self._can_violate(state, length):
                    continue
                for event, after in self.law.instant(spread).following.items():
                    merged = following.setdefault(self.safe.moves[state].get(event), {})
                    for node, chance in after.items():
                        merged[node] = merged.get(node, fmpq(0)) + chance
            layer = dict(following)
            length += 1
        return total

    def walk(self, *, cut: bool, only_violating: bool = False) -> Iterator[RunObservation]:
        """One observation after the other, depth first, in the order of the events; exact."""
        stack = [_Prefix((), self._start, self.law.start)]
        for visited in count():
            if not stack:
                return
            if self.progress and visited % _VISITS_BETWEEN_REPORTS == 0:
                named(self.progress, "observations listed")(visited, None)
            prefix = stack.pop()
            if prefix.state is None and prefix.violates_after is None:
                prefix = self._exposed(prefix, cut=cut)
            events, violates_after = prefix.events, prefix.violates_after
            is_wanted = violates_after is not None or not only_violating
            if prefix.state is not None and not is_wanted and not self._can_violate(prefix.state, len(events)):
                continue
            instant = self.law.instant(prefix.spread)
            if len(events) == (self.safe.longest if prefix.cut_at is None else prefix.cut_at):
                if is_wanted:
                    yield RunObservation(events, instant.probability, instant.secret, violates_after, run_ends=False)
                continue
            if instant.ends and is_wanted:
                yield RunObservation(events, instant.ends, instant.ends_secret, violates_after, run_ends=True)
            for event, spread in reversed(list(instant.following.items())):
                state = None if prefix.state is None else self.safe.moves[prefix.state].get(event)
                stack.append(replace(prefix, events=(*events, event), state=state, spread=spread))

    def _exposed(self, prefix: _Prefix, *, cut: bool) -> _Prefix:
        length, k = len(prefix.events), self.safe.question.k
        limit = self.safe.longest
        if cut and k is not None:
            end = length + k - self._age(prefix.events)
            limit = end if limit is None else min(end, limit)
        return replace(prefix, violates_after=length, cut_at=limit)

    def _age(self, violating: Events) -> int:
        """How many observations ago the exposed instant was; the latest one, where there are several."""
        observed, age = self.safe.observed, 0
        while observed.delayed(violating, len(violating) - age) & ~observed.secret:
            age += 1
        return age

    @property
    def _start(self) -> int | None:
        return None if self.safe.graph is None else self.safe.graph.start

    def _can_violate(self, state: int, length: int) -> bool:
        """Whether a safe observation of this length, which led to `state`, can still become a violation."""
        layers, longest = self._exposable, self.safe.longest
        return layers[-1 if longest is None else min(longest - length, len(layers) - 1)][state]

    @computed_once
    def _exposable(self) -> list[list[bool]]:
        """`[n][state]`: whether a violation is possible in at most n more events; the last layer, in any number."""
        table, longest = self.safe.explored.table, self.safe.longest
        layer = np.zeros(len(table), dtype=np.bool_)
        layers = [layer.tolist()]
        while longest is None or len(layers) <= longest:
            longer = ((table == SINK) | ((table >= 0) & layer[np.maximum(table, 0)])).any(axis=1)
            if np.array_equal(longer, layer):
                break
            layer = longer
            layers.append(layer.tolist())
        return layers


def _require_at_most(allowed: int, observations: int) -> None:
    if observations > allowed:
        raise TooLargeError(
            f"enforcement: expected at most {allowed} observations to judge a policy by, found more; use a "
            "smaller length (the policy private releases without such a list)"
        )


def read_horizon(observed: Observed, length: int | None) -> int | None:
    """`length`, which is needed where observations have no bound."""
    if length is None:
        if has_endless_observations(observed):
            raise ParameterError(
                "length", expected="the largest number of observed events, since the system has loops", found="none"
            )
        return None
    if isinstance(length, bool) or not isinstance(length, int) or length < 1:
        raise ParameterError("length", expected="a whole number of observed events, 1 or more", found=length)
    return length


def has_endless_observations(observed: Observed) -> bool:
    """Whether a run can be observed for ever: an observable event inside a reachable loop."""
    number = observed.number
    parts = strong_components(observed.successors)
    part_of = {state: part for part, states in enumerate(parts) for state in states}
    return any(
        event in observed.event_number
        and number[source] in observed.reachable
        and part_of[number[source]] == part_of[number[target]]
        for source, event, target in observed.system.moves
    )


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
        for each in islice(RunObservations(safe).walk(cut=True, only_violating=True), LIMITS.now.strings + 1)
    )
    if len(strings) > LIMITS.now.strings:
        raise TooLargeError(
            f"sensitive strings: expected at most {LIMITS.now.strings}, found more; use a smaller length or k"
        )
    return strings
