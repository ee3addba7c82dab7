"""Z25 written plainly, as a reader of the paper would: sets for the observer, dictionaries for Algorithms 1 and 2.

A baseline, not a part of symveil: nothing here is imported from it but the system itself. Corrected
only where the printed algorithms do not work: Algorithm 1 goes over |s| layers, not ℓ of them, and the
product of Algorithm 2 leaves out estimates that violate opacity (docs/errata.md, E5). Pairs of states that
no string reaches are never looked at, although line 3 of Algorithm 2 goes over all pairs of them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import symveil as sv

Estimate = frozenset[str]
State = tuple[int, int, Estimate]
"""(i events shown, d of them changed, what the observer then thinks)."""


class PlainObserver:
    """The same questions with sets of names: what a textbook's pseudocode becomes when it is typed in."""

    def __init__(self, system: sv.StochasticSystem) -> None:
        self.secret = frozenset(system.secret)
        self.observable = system.observable
        self._after: dict[tuple[str, str], list[str]] = {}
        self._silent: dict[str, list[str]] = {}
        for source, event, target in system.moves:
            if event in self.observable:
                self._after.setdefault((source, event), []).append(target)
            else:
                self._silent.setdefault(source, []).append(target)
        self.start = self.reach(system.initial_states)

    def reach(self, states: object) -> frozenset[str]:
        """The states themselves and all that unobservable moves lead to."""
        found = set(states)  # type: ignore[call-overload]
        waiting = list(found)
        while waiting:
            for target in self._silent.get(waiting.pop(), ()):
                if target not in found:
                    found.add(target)
                    waiting.append(target)
        return frozenset(found)

    def step(self, states: frozenset[str], event: str) -> frozenset[str]:
        """The estimate after one more event."""
        return self.reach({target for state in states for target in self._after.get((state, event), ())})

    def observer(self) -> set[frozenset[str]]:
        """All reachable estimates."""
        found, waiting = {self.start}, [self.start]
        while waiting:
            estimate = waiting.pop()
            for event in self.observable:
                after = self.step(estimate, event)
                if after and after not in found:
                    found.add(after)
                    waiting.append(after)
        return found

    def is_weakly_opaque(self, k: int | str) -> bool:
        """Follow each secret state x beside B, where the runs that were not secret may be, for k observations."""
        seeds = set()
        for estimate in self.observer():
            clean = self.reach(estimate - self.secret)
            if not clean:
                return False
            seeds |= {(state, clean) for state in estimate & self.secret}
        layer, found, age = seeds, set(seeds), 0
        while layer and (k == "infinite" or age < int(k)):
            following = set()
            for state, clean in layer:
                for event in self.observable:
                    targets = self.step(frozenset([state]), event)
                    if targets:
                        after = self.step(clean, event)
                        if not after:
                            return False
                        following |= {(target, after) for target in targets}
            layer = following - found
            found |= layer
            age += 1
        return True

    def exposes(self, estimate: Estimate) -> bool:
        """Whether nothing but secret states is possible now."""
        return estimate <= self.secret


def modified_automaton(
    observer: PlainObserver, string: Sequence[str], distance: int
) -> list[dict[State, dict[str, State]]]:
    """Algorithm 2 for current-state opacity: for each i, the states after i events and their successors, trimmed."""
    layers: list[dict[State, dict[str, State]]] = []
    layer: set[State] = {(0, 0, observer.start)}
    for number, own in enumerate(string, start=1):
        edges: dict[State, dict[str, State]] = {}
        for state in layer:
            _, changed, estimate = state
            for event in observer.observable:
                errors = changed + (event != own)
                after = observer.step(estimate, event) if errors <= distance else frozenset()
                if after and not observer.exposes(after):
                    edges.setdefault(state, {})[event] = (number, errors, after)
        layers.append(edges)
        layer = {target for targets in edges.values() for target in targets.values()}
    marked = {state for state in layer if state[1] == distance}
    for edges in reversed(layers):
        for state in list(edges):
            edges[state] = {event: target for event, target in edges[state].items() if target in marked}
            if not edges[state]:
                del edges[state]
        marked = set(edges)
    return layers


Policy = dict[State, tuple[list[str], list[State], list[float]]]


def control_policy(layers: list[dict[State, dict[str, State]]]) -> tuple[int, Policy]:
    """Algorithm 1: V, the number of strings from a state to the end, and the chances V(q')/V(q)."""
    paths: dict[State, int] = {}
    policy: Policy = {}
    for edges in reversed(layers):
        for state, targets in edges.items():
            weights = [paths.get(target, 1) for target in targets.values()]
            paths[state] = sum(weights)
            policy[state] = (list(targets), list(targets.values()), [weight / paths[state] for weight in weights])
    start = next(iter(layers[0]), None) if layers else None
    return (paths[start] if start is not None else 0), policy


def show(policy: Policy, start: State, length: int) -> list[str]:
    """A run of the policy: a uniform safe string at the distance."""
    state, shown = start, []
    for _ in range(length):
        events, targets, chances = policy[state]
        (number,) = random.choices(range(len(events)), chances)
        shown.append(events[number])
        state = targets[number]
    return shown


def violation_by_listing(system: sv.StochasticSystem, k: int, length: int) -> float:
    """The probability that an observation of up to `length` events violates weak k-step opacity: one after the other.

    For every observation: where the run may be, with its probability in floats, and for each of the last k + 1 instants
    where it may be now if it was not secret then. Unobservable moves are followed until next to nothing is left.
    """
    observer = PlainObserver(system)
    shown: dict[str, list[tuple[str, str, float]]] = {}
    silent: dict[str, list[tuple[str, float]]] = {}
    for source, event, target, chance in system.transitions:
        if event in observer.observable:
            shown.setdefault(source, []).append((event, target, float(chance)))
        else:
            silent.setdefault(source, []).append((target, float(chance)))

    def passed(spread: dict[str, float]) -> dict[str, float]:
        """How often each state is met before the next observation."""
        visits, moving = dict(spread), spread
        while sum(moving.values()) > 1e-15:
            following: dict[str, float] = {}
            for state, chance in moving.items():
                for target, share in silent.get(state, ()):
                    following[target] = following.get(target, 0.0) + chance * share
            for state, chance in following.items():
                visits[state] = visits.get(state, 0.0) + chance
            moving = following
        return visits

    def violated(spread: dict[str, float], estimate: Estimate, clean: list[Estimate], left: int) -> float:
        recent = [*clean, observer.reach(estimate - observer.secret)][-k - 1 :]
        if not all(recent):
            return sum(spread.values())
        total = 0.0
        if left:
            after: dict[str, dict[str, float]] = {}
            for state, chance in passed(spread).items():
                for event, target, share in shown.get(state, ()):
                    own = after.setdefault(event, {})
                    own[target] = own.get(target, 0.0) + chance * share
            for event, following in after.items():
                kept = [observer.step(states, event) for states in recent]
                total += violated(following, observer.step(estimate, event), kept, left - 1)
        return total

    return violated({system.initial: 1.0}, observer.start, [], length)
