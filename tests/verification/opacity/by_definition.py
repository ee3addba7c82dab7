"""Opacity from its definitions (docs/opacity.md), three times over; nothing of the package computes an answer here.

1. **Runs, written out.** `runs_observed_as` lists paths of states, instant by instant. Unobservable
   cycles make infinitely many runs, so each state is visited at most twice within one instant. That
   loses nothing that is judged below: if a run passes x in an instant, cut the loops before x and the
   loops after x; what is left enters and leaves the instant in the same states, still passes x, visits
   no state more than twice, and visits only states that the run visited (a clean run stays clean).
2. **One observation at a time**, on small sets: `delayed_estimate` is {η(s) : P(s) = β} ∩ {x : some t
   from x has P(t) = ω∖β}, both by least fixed points, so that no length of a string has to be chosen;
   s and t are independent because a state is all that the rest of a run depends on.
3. **All observations**: what an observation tells about the runs behind it, as pairs (flag, state now).
   Two observations that tell the same have the same future, so there are finitely many of them, and
   exploring until nothing is new is complete for every length. (`shortest_violation`, `ever_violates`.)

The tests compare 2 with 1, 3 with 2, and the package with 2 and 3.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from symveil.models.stochastic_system import LogicalSystem, StochasticSystem

System = StochasticSystem | LogicalSystem
Observation = tuple[str, ...]
Path = tuple[tuple[str, ...], ...]
"""One run: for each instant the states it visits there, in order."""

INFINITE = "infinite"
NOTIONS = ("weak", "strong", "initial")


def back(k: int | str) -> float:
    """How many observations the observer looks back."""
    return math.inf if k == INFINITE else int(k)


def closed(items: Iterable[Hashable], step: Callable[[Any], Iterable[Hashable]]) -> frozenset[Any]:
    """The least set that holds `items` and whatever `step` makes of its members."""
    found, waiting = set(items), list(items)
    while waiting:
        for item in step(waiting.pop()):
            if item not in found:
                found.add(item)
                waiting.append(item)
    return frozenset(found)


class Defined:
    """A system as Z25 §2.1 writes it: η, Σ_o, Q_s, q₀."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.secret = frozenset(system.secret)
        self.initial = frozenset(system.initial_states)
        self.observable = tuple(system.observable)
        self._eta: dict[str, list[tuple[str, str]]] = {state: [] for state in system.states}
        for source, event, target in [row[:3] for row in system.transitions]:
            self._eta[source].append((event, target))

    def silent(self, state: str) -> list[str]:
        """Where one unobservable event leads."""
        return [target for event, target in self._eta[state] if event not in self.observable]

    def by(self, state: str, event: str) -> list[str]:
        """Where one event leads."""
        return [target for label, target in self._eta[state] if label == event]

    # --- 1. runs, written out ---------------------------------------------------------------------

    def runs_observed_as(self, observation: Observation) -> Iterator[Path]:
        """Every run with this observation, up to loops that change nothing (see above)."""
        for state in self.system.states:
            if state in self.initial:
                yield from self._continued(((state,),), observation)

    def _continued(self, path: Path, rest: Observation) -> Iterator[Path]:
        here = path[-1]
        if not rest:
            yield path
        else:
            for target in set(self.by(here[-1], rest[0])):
                yield from self._continued((*path, (target,)), rest[1:])
        for target in set(self.silent(here[-1])):
            if here.count(target) < 2:
                yield from self._continued((*path[:-1], (*here, target)), rest)

    # --- 2. one observation at a time -------------------------------------------------------------

    def states_after(self, observation: Observation) -> frozenset[str]:
        """{η(s) : P(s) = β}."""
        now = closed(self.initial, self.silent)
        for event in observation:
            now = closed([target for state in now for target in self.by(state, event)], self.silent)
        return now

    def states_that_can(self, observation: Observation) -> frozenset[str]:
        """{x : some t from x has P(t) = this observation}."""
        can = frozenset(self.system.states)
        for event in reversed(observation):
            entered = can
            direct = [s for s in self.system.states if any(target in entered for target in self.by(s, event))]
            can = closed(direct, lambda state: [s for s in self.system.states if state in self.silent(s)])
        return can

    def delayed_estimate(self, observation: Observation, after: int) -> frozenset[str]:
        """Q̂(β|ω), β the first `after` events."""
        return self.states_after(observation[:after]) & self.states_that_can(observation[after:])

    def initial_estimate(self, observation: Observation) -> frozenset[str]:
        """The initial states from which the observation is possible."""
        return self.initial & self.states_that_can(observation)

    def flagged_runs(self, observation: Observation) -> frozenset[tuple[str, tuple[bool, ...]]]:
        """(state now, for each instant whether a secret state was visited in it) of all runs with this observation."""

        def silently(item: tuple[str, tuple[bool, ...]]) -> list[tuple[str, tuple[bool, ...]]]:
            state, flags = item
            return [(t, (*flags[:-1], flags[-1] or t in self.secret)) for t in self.silent(state)]

        now = closed([(state, (state in self.secret,)) for state in self.initial], silently)
        for event in observation:
            moved = [(t, (*flags, t in self.secret)) for state, flags in now for t in self.by(state, event)]
            now = closed(moved, silently)
        return now

    def violates(self, observation: Observation, k: int | str, notion: str) -> bool:
        """Whether ω violates, as the definition says it; an impossible observation does not."""
        length = len(observation)
        if notion == "weak":
            instants = [instant for instant in range(length + 1) if length - instant <= back(k)]
            estimates = [self.delayed_estimate(observation, instant) for instant in instants]
            return any(estimate and estimate <= self.secret for estimate in estimates)
        if notion == "strong":
            runs = self.flagged_runs(observation)
            last = min(length, back(k)) + 1
            return bool(runs) and all(any(flags[-int(last) :]) for _, flags in runs)
        starts = self.initial_estimate(observation)
        return bool(starts) and starts <= self.secret

    def observations(self, length: int) -> list[Observation]:
        """All possible observations of this length."""
        found: list[Observation] = [()]
        for _ in range(length):
            found = [(*one, e) for one in found for e in self.observable if self.states_after((*one, e))]
        return found

    # --- 3. all observations ----------------------------------------------------------------------

    def knowledge(self, k: int | str, notion: str) -> Knowledge:
        """What observations tell, for one question."""
        return {"weak": _Weak, "strong": _Strong, "initial": _Initial}[notion](self, k)

    # --- probabilities, for stochastic systems ----------------------------------------------------

    def violates_within(self, events: int, k: int | str, notion: str) -> tuple[Fraction, Fraction]:
        """Σ Pr(s) over the strings of at most so many events that violate for the first time; and what can still come.

        Every string is followed on its own. The second number is the probability of the strings
        that did not violate and have not ended: the whole probability is at most the sum of both.
        """
        chances = {(source, event): chance for source, event, _, chance in self.system.transitions}
        judged = lru_cache(maxsize=None)(lambda observation: self.violates(observation, k, notion))
        violated, open_ended = Fraction(0), Fraction(0)
        waiting: list[tuple[str, Observation, Fraction, int]] = [(self.system.initial, (), Fraction(1), 0)]
        while waiting:
            state, observation, chance, length = waiting.pop()
            if judged(observation):
                violated += chance
            elif length == events:
                open_ended += chance if self._eta[state] else 0
            else:
                for event, target in self._eta[state]:
                    longer = (*observation, event) if event in self.observable else observation
                    waiting.append((target, longer, chance * chances[state, event], length + 1))
        return violated, open_ended

    def ever_violates(self, k: int | str, notion: str, *, most: int) -> Fraction | None:
        """The whole probability by eliminating states from the chain (state, knowledge); None beyond `most` of them."""
        knowledge = self.knowledge(k, notion)
        chances = {(source, event): chance for source, event, _, chance in self.system.transitions}
        if knowledge.exposes(knowledge.start):
            return Fraction(1)
        start = (self.system.initial, knowledge.start)
        arrows: dict[Any, dict[Any, Fraction]] = {}
        waiting = [start]
        while waiting:
            state, known = pair = waiting.pop()
            if pair in arrows:
                continue
            arrows[pair] = {}
            if len(arrows) > most:
                return None
            for event, target in self._eta[state]:
                then = knowledge.after(known, event) if event in self.observable else known
                following = "violated" if knowledge.exposes(then) else (target, then)
                arrows[pair][following] = arrows[pair].get(following, 0) + chances[state, event]
                if following != "violated":
                    waiting.append(following)
        return _reached(arrows, start)


def _reached(arrows: dict[Any, dict[Any, Fraction]], start: Any) -> Fraction:
    """The probability of reaching "violated": take one state after the other out and redirect the ways through it."""
    before: dict[Any, set[Any]] = {}
    for source, targets in arrows.items():
        for target in targets:
            before.setdefault(target, set()).add(source)
    can = closed(["violated"], lambda pair: before.get(pair, ()))
    if start not in can:
        return Fraction(0)
    kept = {s: {t: chance for t, chance in targets.items() if t in can} for s, targets in arrows.items() if s in can}
    # those with few ways through them first: otherwise the rest fills up
    for gone in sorted((pair for pair in kept if pair != start), key=lambda pair: len(before.get(pair, ()))):
        ways = kept.pop(gone)
        again = ways.pop(gone, Fraction(0))
        for source in before[gone]:
            through = kept[source].pop(gone, None) if source in kept else None
            if through is not None:
                for target, chance in ways.items():
                    kept[source][target] = kept[source].get(target, 0) + through * chance / (1 - again)
                    before.setdefault(target, set()).add(source)
    ways = kept[start]
    return ways.get("violated", Fraction(0)) / (1 - ways.get(start, Fraction(0)))


Marked = frozenset[tuple[Hashable, str]]
"""{(what is remembered of a run, its state now)}."""


class Knowledge(ABC):
    """What an observation tells; equal knowledge has an equal future."""

    def __init__(self, defined: Defined, k: int | str) -> None:
        self._defined, self._back = defined, back(k)

    start: Hashable

    @abstractmethod
    def after(self, known: Any, event: str) -> Any:
        """What one more event tells."""

    def possible(self, known: Any) -> bool:
        """Whether some run has this observation."""
        return bool(known)

    @abstractmethod
    def exposes(self, known: Any) -> bool:
        """Whether the observation violates."""

    def _moved(self, marked: Marked, event: str) -> Marked:
        moved = [(mark, target) for mark, state in marked for target in self._defined.by(state, event)]
        return closed(moved, lambda item: [(item[0], target) for target in self._defined.silent(item[1])])


class _Weak(Knowledge):
    """For each instant that still counts {(was it secret there, state now)}; for k = ∞ the set of them."""

    @cached_property
    def start(self) -> Any:
        return self._kept([self._now(closed(self._defined.initial, self._defined.silent))])

    def _now(self, states: Iterable[str]) -> Marked:
        """The present instant: a run that is in x now may go on, unobserved, to y before anything more is seen."""
        marked = [(state in self._defined.secret, state) for state in states]
        return closed(marked, lambda item: [(item[0], target) for target in self._defined.silent(item[1])])

    def _kept(self, instants: list[Marked]) -> Any:
        return frozenset(instants) if self._back == math.inf else tuple(instants[: int(self._back) + 1])

    def after(self, known: Any, event: str) -> Any:
        earlier = [self._moved(marked, event) for marked in known]
        return self._kept([self._now({state for _, state in earlier[0]}), *earlier])

    def possible(self, known: Any) -> bool:
        return all(known)

    def exposes(self, known: Any) -> bool:
        return any(marked and all(was_secret for was_secret, _ in marked) for marked in known)


class _Strong(Knowledge):
    """{(for each of the last k+1 instants whether a secret was visited, state now)}; for k = ∞ one flag for all."""

    def _silently(self, item: Any) -> list[Any]:
        flags, state = item
        return [((*flags[:-1], flags[-1] or t in self._defined.secret), t) for t in self._defined.silent(state)]

    @cached_property
    def start(self) -> Any:
        return closed([((state in self._defined.secret,), state) for state in self._defined.initial], self._silently)

    def after(self, known: Any, event: str) -> Any:
        moved = []
        for flags, state in known:
            for target in self._defined.by(state, event):
                is_secret = target in self._defined.secret
                longer = (any(flags) or is_secret,) if self._back == math.inf else (*flags, is_secret)
                moved.append((longer if self._back == math.inf else longer[-(int(self._back) + 1) :], target))
        return closed(moved, self._silently)

    def exposes(self, known: Any) -> bool:
        return bool(known) and all(any(flags) for flags, _ in known)


class _Initial(Knowledge):
    """{(did it start in a secret, state now)}."""

    @cached_property
    def start(self) -> Any:
        begun = [(state in self._defined.secret, state) for state in self._defined.initial]
        return closed(begun, lambda item: [(item[0], target) for target in self._defined.silent(item[1])])

    def after(self, known: Any, event: str) -> Any:
        return self._moved(known, event)

    def exposes(self, known: Any) -> bool:
        return bool(known) and all(was_secret for was_secret, _ in known)


@dataclass(frozen=True)
class Shortest:
    """The length of a shortest violating observation; None: there is none of up to `looked_at` events (∞: at all)."""

    length: int | None
    looked_at: float = math.inf

    def agrees_with(self, witness: Observation | None) -> bool:
        """Whether a verdict says the same, as far as was looked."""
        if self.length is not None or self.looked_at == math.inf:
            return (None if witness is None else len(witness)) == self.length
        return witness is None or len(witness) > self.looked_at


def shortest_violation(defined: Defined, k: int | str, notion: str, *, most: int = 3000) -> Shortest:
    """Explore what observations tell, by length, until one violates, nothing is new, or there are too many."""
    knowledge = defined.knowledge(k, notion)
    layer, found, length = [knowledge.start], {knowledge.start}, 0
    while layer:
        if any(knowledge.exposes(known) for known in layer):
            return Shortest(length)
        if len(found) > most:
            return Shortest(None, length)
        following = []
        for known in layer:
            for event in defined.observable:
                then = knowledge.after(known, event)
                if knowledge.possible(then) and then not in found:
                    found.add(then)
                    following.append(then)
        layer = following
        length += 1
    return Shortest(None)
