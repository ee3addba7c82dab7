"""What a system shows and what that gives away, from the definitions of docs/opacity.md, by names and fractions.

Two independent ways to a probability:

* `Runs`: every run of an acyclic system written out, one by one.
* `Chances`: backwards, by one plain linear system for each observation (the package goes forwards and
  keeps the probability of each state), solved by Gaussian elimination over `Fraction`. Loops are allowed.

`Plain` has what both need: estimates Q̂(β|ω) by closing sets of names, violations, sensitive strings.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from hypothesis import strategies as st

import symveil as sv

Observation = tuple[str, ...]
K = int | str

OBSERVABLE, SILENT = ("a", "b", "c"), ("u", "v")


def hamming(one: Observation, other: Observation) -> int:
    assert len(one) == len(other)
    return sum(left != right for left, right in zip(one, other, strict=True))


class Plain:
    """A system by the names of its states and events."""

    def __init__(self, system: sv.StochasticSystem) -> None:
        self.system = system
        self.secret = set(system.secret)
        self.observable = tuple(system.observable)
        self.moves: dict[str, list[tuple[str | None, str, Fraction]]] = {state: [] for state in system.states}
        for source, event, target, chance in system.transitions:
            self.moves[source].append((event if event in system.observable else None, target, chance))
        self._states_after: dict[Observation, frozenset[str]] = {}
        self._estimates: dict[tuple[Observation, int], frozenset[str]] = {}

    # --- estimates ------------------------------------------------------------------------------

    def silently(self, states: set[str]) -> frozenset[str]:
        """`states` and all that unobservable moves lead to."""
        found = set(states)
        while True:
            more = {target for state in found for event, target, _ in self.moves[state] if event is None} - found
            if not more:
                return frozenset(found)
            found |= more

    def after(self, states: frozenset[str], event: str) -> frozenset[str]:
        return self.silently({target for state in states for e, target, _ in self.moves[state] if e == event})

    def states_after(self, observation: Observation) -> frozenset[str]:
        if observation not in self._states_after:
            self._states_after[observation] = (
                self.after(self.states_after(observation[:-1]), observation[-1])
                if observation
                else self.silently({self.system.initial})
            )
        return self._states_after[observation]

    def is_possible(self, observation: Observation) -> bool:
        return bool(self.states_after(observation))

    def estimate(self, observation: Observation, instant: int) -> frozenset[str]:
        """Q̂(β|ω): states after β from which the rest of ω can still be observed."""
        key = observation, instant
        if key not in self._estimates:
            possible = set()
            for state in self.states_after(observation[:instant]):
                now = self.silently({state})
                for event in observation[instant:]:
                    now = self.after(now, event)
                if now:
                    possible.add(state)
            self._estimates[key] = frozenset(possible)
        return self._estimates[key]

    # --- violations -----------------------------------------------------------------------------

    def exposed(self, observation: Observation, k: K) -> list[int]:
        """The instants of the last k+1 whose every possible state is secret."""
        back = len(observation) if k == "infinite" else min(int(k), len(observation))
        instants = range(len(observation) - back, len(observation) + 1)
        return [
            instant
            for instant in instants
            if self.estimate(observation, instant) and self.estimate(observation, instant) <= self.secret
        ]

    def first_violation(self, observation: Observation, k: K) -> Observation | None:
        """The shortest violating prefix."""
        prefixes = (observation[:length] for length in range(len(observation) + 1))
        return next((prefix for prefix in prefixes if self.exposed(prefix, k)), None)

    def is_safe(self, observation: Observation, k: K) -> bool:
        return self.is_possible(observation) and self.first_violation(observation, k) is None

    def possible(self, length: int) -> list[Observation]:
        return [word for word in itertools.product(self.observable, repeat=length) if self.is_possible(word)]

    def safe(self, length: int, k: K) -> list[Observation]:
        return [word for word in self.possible(length) if self.is_safe(word, k)]

    def sensitive_length(self, first: Observation, k: K, horizon: int | None) -> float:
        """Where §9a ends the extension of a first-violating observation: k observations after the exposed instant."""
        limit = math.inf if horizon is None else horizon
        return limit if k == "infinite" else min(limit, max(self.exposed(first, k)) + int(k))

    def sensitive_part(self, observation: Observation, k: K, horizon: int | None = None) -> Observation | None:
        """What of a whole run's observation is the sensitive string; None where nothing is given away."""
        first = self.first_violation(observation, k)
        if first is None:
            return None
        return observation[: int(min(self.sensitive_length(first, k, horizon), len(observation)))]


# --- runs, written out ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    probability: Fraction
    observation: Observation
    instants: tuple[tuple[str, ...], ...]
    """For each instant the states the run was in."""

    def met(self, secret: set[str], before: int | None = None) -> bool:
        """Whether it met a secret state, before the observation number `before` + 1 where that is given."""
        upto = self.instants if before is None else self.instants[: before + 1]
        return any(state in secret for instant in upto for state in instant)


class Runs:
    """All runs of an acyclic system."""

    def __init__(self, plain: Plain) -> None:
        self.plain = plain

    def _grown(self, run: Run) -> Iterator[Run]:
        for event, target, chance in self.plain.moves[run.instants[-1][-1]]:
            if event is None:
                instants = (*run.instants[:-1], (*run.instants[-1], target))
                yield Run(run.probability * chance, run.observation, instants)
            else:
                yield Run(run.probability * chance, (*run.observation, event), (*run.instants, (target,)))

    @cached_property
    def started(self) -> list[Run]:
        """All beginnings of runs."""
        found = [Run(Fraction(1), (), ((self.plain.system.initial,),))]
        for run in found:  # it grows while it is read
            found.extend(self._grown(run))
        return found

    @cached_property
    def complete(self) -> list[Run]:
        return [run for run in self.started if not self.plain.moves[run.instants[-1][-1]]]

    def shown(self) -> dict[Observation, tuple[Fraction, Fraction]]:
        """Each whole observation: how probable it is, and together with "a secret was met"."""
        law: dict[Observation, list[Fraction]] = defaultdict(lambda: [Fraction(0), Fraction(0)])
        for run in self.complete:
            law[run.observation][0] += run.probability
            law[run.observation][1] += run.probability * run.met(self.plain.secret)
        return {observation: (all_, secret) for observation, (all_, secret) in law.items()}

    def beginning(self, observation: Observation) -> tuple[Fraction, Fraction]:
        """Pr(the observation begins so), and together with "a secret was met before the next one"."""
        size = len(observation)
        runs = [run for run in self.complete if run.observation[:size] == observation]
        return (
            sum((run.probability for run in runs), start=Fraction(0)),
            sum((run.probability for run in runs if run.met(self.plain.secret, before=size)), start=Fraction(0)),
        )

    def estimate(self, observation: Observation, instant: int) -> frozenset[str]:
        """Q̂(β|ω): where some run observed as ω was in that instant."""
        runs = (run for run in self.started if run.observation == observation)
        return frozenset(state for run in runs for state in run.instants[instant])


# --- chances, by linear systems -------------------------------------------------------------------


def least_solution(
    inside: Mapping[Hashable, list[tuple[Hashable, Fraction]]], gained: Mapping[Hashable, Fraction]
) -> dict[Hashable, Fraction]:
    """The least x ≥ 0 with x(i) = Σ p·x(j) + gained(i): what cannot gain is 0, the rest is a regular system."""
    gaining = {node for node, gain in gained.items() if gain}
    while True:
        more = {node for node in inside if node not in gaining and any(j in gaining for j, _ in inside[node])}
        if not more:
            break
        gaining |= more
    order = [node for node in inside if node in gaining]
    place = {node: index for index, node in enumerate(order)}
    rows = []
    for node in order:
        row = [Fraction(0)] * (len(order) + 1)
        row[place[node]] += 1
        for target, chance in inside[node]:
            if target in place:
                row[place[target]] -= chance
        row[-1] = gained.get(node, Fraction(0))
        rows.append(row)
    for column in range(len(order)):
        pivot = next(row for row in range(column, len(order)) if rows[row][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        lead = rows[column][column]
        rows[column] = [value / lead for value in rows[column]]
        for row in range(len(order)):
            if row != column and rows[row][column]:
                factor = rows[row][column]
                rows[row] = [own - factor * other for own, other in zip(rows[row], rows[column], strict=True)]
    return {node: rows[place[node]][-1] if node in place else Fraction(0) for node in inside}


Node = tuple[str, bool]
"""(state, whether a secret was met)."""


class Chances:
    """Probabilities of observations from the values that states have for what is still to come."""

    def __init__(self, plain: Plain) -> None:
        self.plain = plain
        self._nodes = [(state, met) for state in plain.moves for met in (False, True)]
        self._silent = {
            node: [(self._node(node, target), p) for event, target, p in plain.moves[node[0]] if event is None]
            for node in self._nodes
        }
        self._begins = lru_cache(maxsize=None)(self._begins)  # type: ignore[method-assign]

    def _node(self, before: Node, target: str) -> Node:
        return target, before[1] or target in self.plain.secret

    @property
    def _start(self) -> Node:
        return self.plain.system.initial, self.plain.system.initial in self.plain.secret

    def _value(self, gained: dict[Node, Fraction], *, stop: bool = False) -> dict[Node, Fraction]:
        inside = {node: [] if stop and node[1] else self._silent[node] for node in self._nodes}
        return least_solution(inside, gained)  # type: ignore[arg-type,return-value]

    @cached_property
    def _silent_for_ever(self) -> dict[Node, Fraction]:
        seen = {n: sum((p for e, _, p in self.plain.moves[n[0]] if e is not None), Fraction(0)) for n in self._nodes}
        return {node: 1 - value for node, value in self._value(seen).items()}

    @cached_property
    def _meets_before_next(self) -> dict[Node, Fraction]:
        return self._value({node: Fraction(1) for node in self._nodes if node[1]}, stop=True)

    @cached_property
    def _silent_and_met(self) -> dict[Node, Fraction]:
        """Nothing more is observed, and a secret was or will be met."""
        return self._value({node: self._silent_for_ever[node] for node in self._nodes if node[1]}, stop=True)

    def _begins(self, observation: Observation, ending: str) -> dict[Node, Fraction]:
        """For each node the probability that what comes begins with `observation` and then ends as `ending` says."""
        if not observation:
            return {
                "anyhow": {node: Fraction(1) for node in self._nodes},
                "secret": self._meets_before_next,
                "silent": self._silent_for_ever,
                "silent and secret": self._silent_and_met,
            }[ending]
        later = self._begins(observation[1:], ending)
        return self._value({
            node: sum(
                (p * later[self._node(node, to)] for e, to, p in self.plain.moves[node[0]] if e == observation[0]),
                start=Fraction(0),
            )
            for node in self._nodes
        })  # fmt: skip

    def beginning(self, observation: Observation) -> tuple[Fraction, Fraction]:
        """Pr(the observation begins so), and together with "a secret was met before the next one"."""
        return self._begins(observation, "anyhow")[self._start], self._begins(observation, "secret")[self._start]

    def exactly(self, observation: Observation) -> tuple[Fraction, Fraction]:
        """Pr(this is all that is ever observed), and together with "a secret was met"."""
        return (
            self._begins(observation, "silent")[self._start],
            self._begins(observation, "silent and secret")[self._start],
        )

    def sensitive(self, k: K, horizon: int) -> dict[Observation, tuple[Fraction, int, bool]]:
        """§9a to the letter: (probability, length of the first-violating prefix, whether the run ends there)."""
        found = {}
        waiting: list[Observation] = [()]
        for observation in waiting:  # it grows while it is read
            first = self.plain.first_violation(observation, k)
            if first is None:
                end: float = horizon
            else:
                end = self.plain.sensitive_length(first, k, horizon)
            if first is not None and len(observation) == end:
                found[observation] = self.beginning(observation)[0], len(first), False
            elif first is not None and self.exactly(observation)[0]:
                found[observation] = self.exactly(observation)[0], len(first), True
            if len(observation) < end:
                longer = ((*observation, event) for event in self.plain.observable)
                waiting += [word for word in longer if self.plain.is_possible(word)]
        return found


# --- what goes into a policy ----------------------------------------------------------------------

Inputs = dict[Observation, tuple[Fraction, Fraction]]
"""Each observation a policy is given: how probable it is, and together with "a secret was met"."""


def inputs(plain: Plain, k: K, *, cut: bool, horizon: int | None = None) -> Inputs:
    """Whole observations, or first `horizon` events; with `cut`, of an exposed one only the sensitive string."""
    return _inputs_by_chances(plain, k, cut, horizon) if horizon else _inputs_by_runs(plain, k, cut)


def _inputs_by_runs(plain: Plain, k: K, cut: bool) -> Inputs:
    found: dict[Observation, tuple[Fraction, Fraction]] = defaultdict(lambda: (Fraction(0), Fraction(0)))
    for run in Runs(plain).complete:
        part = plain.sensitive_part(run.observation, k) if cut else None
        shown = run.observation if part is None else part
        met = run.met(plain.secret, before=None if part is None else len(part))
        total, secret = found[shown]
        found[shown] = total + run.probability, secret + run.probability * met
    return dict(found)


def _inputs_by_chances(plain: Plain, k: K, cut: bool, horizon: int) -> Inputs:
    found = {}
    chances = Chances(plain)
    waiting: list[Observation] = [()]
    for observation in waiting:  # it grows while it is read
        first = plain.first_violation(observation, k) if cut else None
        end = horizon if first is None else plain.sensitive_length(first, k, horizon)
        if len(observation) == end:
            found[observation] = chances.beginning(observation)
            continue
        if chances.exactly(observation)[0]:
            found[observation] = chances.exactly(observation)
        longer = ((*observation, event) for event in plain.observable)
        waiting += [word for word in longer if plain.is_possible(word)]
    return found


# --- random systems -------------------------------------------------------------------------------


@st.composite
def _drawn(draw: st.DrawFn, *, loops: bool, most_states: int):
    """Hypothesis' own: they shrink well and like the degenerate."""
    size = draw(st.integers(2, most_states))
    observable = OBSERVABLE[: draw(st.integers(1, 3))]
    moves = {}
    for number in range(size if loops else size - 1):
        at_least = 1 if number == 0 else 0
        events = draw(st.lists(st.sampled_from(observable + SILENT), unique=True, min_size=at_least, max_size=3))
        lowest = 0 if loops else number + 1
        moves[number] = [(event, draw(st.integers(lowest, size - 1)), draw(st.integers(1, 4))) for event in events]
    secret = draw(st.lists(st.integers(0, size - 1), unique=True, max_size=2))
    return _system(size, moves, observable, secret)


def _seeded(seed: int, *, loops: bool, most_states: int) -> sv.StochasticSystem:
    """Fuller: several observations of one length, of which some give the secret away."""
    source = random.Random(seed)
    size = source.randint(min(4, most_states), most_states)
    observable = OBSERVABLE[: source.choice((2, 3))]
    silent_often = source.choice((0.0, 0.3, 0.6))
    moves = {}
    for number in range(size if loops else size - 1):
        events = [event for event in observable if source.random() < 0.7]
        events += [event for event in SILENT if source.random() < silent_often / 2]
        lowest = 0 if loops else number + 1
        near = size - 1 if loops else min(number + 2, size - 1)
        moves[number] = [(event, source.randint(lowest, near), source.randint(1, 4)) for event in events]
    return _system(size, moves, observable, source.sample(range(1, size), source.choice((1, 1, 2))))


def _layered(seed: int) -> sv.StochasticSystem:
    """In layers, with one secret: all runs are observed equally long, and often there is something safe to show."""
    source = random.Random(seed)
    shape = source.choice([(1, 2, 2, 1), (1, 3, 2), (1, 3, 1, 1), (1, 2, 3), (1, 2, 1, 2), (2, 2, 2), (2, 2, 1, 1)])
    often = source.choice((0.2, 1.0))  # unobservable moves: what was passed is often known only later
    layers = [[*range(sum(shape[:depth]), sum(shape[: depth + 1]))] for depth in range(len(shape))]
    moves: dict[int, list[tuple[str, int, int]]] = {}
    for layer, following in itertools.pairwise(layers):
        for number in layer:
            events = source.sample(OBSERVABLE, source.choice((1, 2, 2, 3)))
            moves[number] = [(event, source.choice(following), source.randint(1, 4)) for event in events]
            if number < layer[-1] and source.random() < often:
                moves[number].append(("u", number + 1, 1))
    return _system(sum(shape), moves, OBSERVABLE, [source.choice(layers[source.randint(1, len(layers) - 1)])])


def _system(
    size: int, moves: dict[int, list[tuple[str, int, int]]], observable: tuple[str, ...], secret: list[int]
) -> sv.StochasticSystem:
    """States are numbers; the weights of a state's moves are made probabilities."""
    rows = [
        (str(number), event, str(target), Fraction(weight, sum(weight for _, _, weight in out)))
        for number, out in moves.items()
        for event, target, weight in out
    ]
    return sv.StochasticSystem.from_transitions(
        rows,
        initial="0",
        observable=observable,
        secret=[str(number) for number in secret],
        states=[str(number) for number in range(size)],
    )


def busy_system(size: int, seed: int) -> sv.StochasticSystem:
    """Five events, all of them possible in every state: 5ⁿ observations of n events, of which a few expose a secret."""
    source = random.Random(seed)
    moves = {
        number: [(event, source.randrange(size), source.randint(1, 9)) for event in (*"abcde", *"u"[: number % 5 == 0])]
        for number in range(size)
    }
    return _system(size, moves, tuple("abcde"), source.sample(range(1, size), 3))


def quiet_systems() -> st.SearchStrategy[sv.StochasticSystem]:
    """Long ways, loops among them, between one observation and the next."""
    return st.integers(0, 2**32 - 1).map(_quiet)


def _quiet(seed: int) -> sv.StochasticSystem:
    source = random.Random(seed)
    size = source.randint(5, 9)
    back = source.choice((0, 0, 1, size))  # how far back a move may lead
    moves = {}
    for number in range(size - 1):
        events = source.sample(["u", "v", "w", "x"], source.choice((1, 2, 3))) + ["a"] * (source.random() < 0.3)
        lowest = max(0, number + 1 - back)
        moves[number] = [(event, source.randint(lowest, size - 1), source.randint(1, 4)) for event in events]
    return _system(size, moves, ("a",), source.sample(range(1, size), 2))


def acyclic_systems(most_states: int = 6) -> st.SearchStrategy[sv.StochasticSystem]:
    """All moves lead upwards."""
    return _mixed(loops=False, most_states=most_states)


def layered_systems() -> st.SearchStrategy[sv.StochasticSystem]:
    """Acyclic, of six states, and likely to have both sensitive strings and something to show instead."""
    return st.integers(0, 2**32 - 1).map(_layered)


def looping_systems(most_states: int = 6) -> st.SearchStrategy[sv.StochasticSystem]:
    """Any moves, so most of them have loops."""
    return _mixed(loops=True, most_states=most_states)


def _mixed(*, loops: bool, most_states: int) -> st.SearchStrategy[sv.StochasticSystem]:
    fuller = st.integers(0, 2**32 - 1).map(lambda seed: _seeded(seed, loops=loops, most_states=most_states))
    return st.one_of(_drawn(loops=loops, most_states=most_states), fuller)


ks = st.sampled_from([0, 1, 2, "infinite"])
