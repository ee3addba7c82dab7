"""J19 §VI in plain Python: the product automaton, then Algorithm 2 for each distance, then runs by its policies."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Sequence

from symveil.models.automaton import TransitionSystem

State = tuple[int, int, str]
"""(position, errors, state of the system)."""


def plain_runs(system: TransitionSystem, word: Sequence[str], *, epsilon: float, runs: int) -> list[list[str]]:
    """Private runs, utility −d, rate ε/2, as the paper builds them: a policy for every distance."""
    edges = _product(system, word)
    counts, policies = {}, {}
    for distance in range(len(word) + 1):
        ways, policy = _synthesize(edges, len(word), distance)
        start = (0, 0, system.initial)
        if start in ways:
            counts[distance], policies[distance] = ways[start], policy
    weights = [count * math.exp(-epsilon / 2 * distance) for distance, count in counts.items()]
    released = []
    for _ in range(runs):
        policy = policies[random.choices(list(counts), weights)[0]]
        state: State = (0, 0, system.initial)
        run = []
        for _ in word:
            options = policy[state]
            action, state = random.choices([option[:2] for option in options], [option[2] for option in options])[0]
            run.append(action)
        released.append(run)
    return released


def _product(system: TransitionSystem, word: Sequence[str]) -> list[dict[State, list[tuple[str, State]]]]:
    """J19 Definition 13, layer by layer: every reachable state with its edges."""
    moves: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for source, action, target in system.transitions:
        moves[source].append((action, target))
    layer: set[State] = {(0, 0, system.initial)}
    layers = []
    for own in word:
        edges = {
            state: [(action, (state[0] + 1, state[1] + (action != own), target)) for action, target in moves[state[2]]]
            for state in layer
        }
        layers.append(edges)
        layer = {target for options in edges.values() for _, target in options}
    return layers


def _synthesize(
    layers: list[dict[State, list[tuple[str, State]]]], length: int, distance: int
) -> tuple[dict[State, int], dict[State, list[tuple[str, State, float]]]]:
    """Algorithm 2, with one layer per symbol: V and μ of the words at exactly one distance."""
    ways: dict[State, int] = {}
    policy: dict[State, list[tuple[str, State, float]]] = {}
    for edges in reversed(layers):
        for state, options in edges.items():
            total = 0
            for _, target in options:
                if target[0] == length:
                    ways.setdefault(target, int(target[1] == distance))
                total += ways.get(target, 0)
            if total:
                ways[state] = total
                policy[state] = [
                    (action, target, ways.get(target, 0) / total) for action, target in options if ways.get(target, 0)
                ]
    return ways, policy
