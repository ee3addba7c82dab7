"""Everything a run may show, with its probability: the observations of complete runs, or up to a horizon."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from symveil.errors import ParameterError
from symveil.languages.observation import Observed, looking_back
from symveil.languages.strong_components import strong_components
from symveil.models.stochastic_system import StochasticSystem
from symveil.numerics.once import computed_once
from symveil.verification.opacity.estimators import VIOLATION, State, estimator
from symveil.verification.opacity.exploration import can_reach_sink, explore
from symveil.verification.opacity.notions import Question
from symveil.verification.opacity.observation_law import Instant, ObservationLaw, Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One observation, the probability of the runs that show it, and of those among them that met a secret.

    Its first `violates_after` events give a secret away; None if it does not. Where `run_ends`,
    the probability is that of seeing exactly this and nothing more.
    """

    events: tuple[int, ...]
    probability: Fraction
    secret: Fraction
    violates_after: int | None
    run_ends: bool


@dataclass(frozen=True, slots=True)
class _Node:
    events: tuple[int, ...]
    state: State
    spread: Spread
    violates_after: int | None = None
    wanted: int | None = None  # where an exposed observation is cut


class ShownObservations:
    """The observations of one system, judged by one question, up to a horizon."""

    def __init__(self, system: StochasticSystem, question: Question, longest: int | None) -> None:
        self._seen = Observed(system)
        self._law = ObservationLaw(system)
        self._machine = estimator(self._seen, question)
        self._k, self._longest = question.k, longest

    def complete(self) -> Iterator[Shown]:
        """Each run's whole observation, or its first events up to the horizon."""
        return self._walk(cut=False, only_violating=False)

    def cut_when_exposed(self) -> Iterator[Shown]:
        """The same, but an exposed observation is cut where it is a sensitive string: no k observations later."""
        return self._walk(cut=True, only_violating=False)

    def sensitive(self) -> Iterator[Shown]:
        """The sensitive strings only."""
        return self._walk(cut=True, only_violating=True)

    def _walk(self, *, cut: bool, only_violating: bool) -> Iterator[Shown]:
        """Depth first, in the order of the events."""
        stack = [_Node((), self._machine.start(), self._law.start)]
        while stack:
            node = stack.pop()
            if node.violates_after is None and node.state is VIOLATION:
                node = self._exposed(node, cut=cut)
            if only_violating and node.violates_after is None and node.state not in self._live:
                continue
            instant = self._law.instant(node.spread)
            limit = self._longest if node.wanted is None else node.wanted
            if limit is not None and len(node.events) >= limit:
                if node.violates_after is not None or not only_violating:
                    yield _shown(node, instant.probability, instant.secret, run_ends=False)
                continue
            if instant.ends and (node.violates_after is not None or not only_violating):
                yield _shown(node, instant.ends, instant.ends_secret, run_ends=True)
            stack.extend(reversed(list(self._children(node, instant))))

    def _children(self, node: _Node, instant: Instant) -> Iterator[_Node]:
        for event, spread in instant.following.items():
            exposed = node.violates_after is not None
            state = VIOLATION if exposed else self._machine.step(node.state, event)
            yield _Node((*node.events, event), state, spread, node.violates_after, node.wanted)

    def _exposed(self, node: _Node, *, cut: bool) -> _Node:
        length = len(node.events)
        wanted = self._longest
        if cut and self._k is not None:
            wanted = length + self._k - self._age(node.events)
            wanted = wanted if self._longest is None else min(wanted, self._longest)
        return _Node(node.events, node.state, node.spread, length, wanted)

    def _age(self, violating: tuple[int, ...]) -> int:
        """How many observations ago the exposed instant was; the latest one, where there are several."""
        age = 0
        while looking_back(self._seen, violating, len(violating) - age) & ~self._seen.secret:
            age += 1
        return age

    @computed_once
    def _live(self) -> frozenset[State]:
        """The states of the estimator after which a violation is still possible."""
        explored = explore(self._seen, self._machine, within=self._longest)
        can = can_reach_sink(list(explored.table.T), len(explored.states))
        return frozenset(state for state, live in zip(explored.states, can.tolist(), strict=True) if live)


def _shown(node: _Node, probability: Fraction, secret: Fraction, *, run_ends: bool) -> Shown:
    return Shown(
        events=node.events,
        probability=probability,
        secret=secret,
        violates_after=node.violates_after,
        run_ends=run_ends,
    )


def read_horizon(system: StochasticSystem, length: int | None) -> int | None:
    """`length`, which is needed where observations have no bound."""
    if length is None:
        if has_endless_observations(system):
            raise ParameterError(
                "length", expected="the largest number of observed events, since the system has loops", found="none"
            )
        return None
    if isinstance(length, bool) or not isinstance(length, int) or length < 1:
        raise ParameterError("length", expected="a whole number of observed events, 1 or more", found=length)
    return length


def has_endless_observations(system: StochasticSystem) -> bool:
    """Whether a run can be observed for ever: an observable event inside a reachable loop."""
    number = {state: index for index, state in enumerate(system.states)}
    successors: list[list[int]] = [[] for _ in system.states]
    for source, _, target in system.moves:
        successors[number[source]].append(number[target])
    part_of = {state: part for part, states in enumerate(strong_components(successors)) for state in states}
    reached, border = {number[system.initial]}, [number[system.initial]]
    while border:
        for state in successors[border.pop()]:
            if state not in reached:
                reached.add(state)
                border.append(state)
    observable = set(system.observable)
    return any(
        event in observable and number[source] in reached and part_of[number[source]] == part_of[number[target]]
        for source, event, target in system.moves
    )
