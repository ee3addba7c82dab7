"""Random partially observed systems: those of the published comparison, and some that the observer can tell apart."""

from __future__ import annotations

import random
from fractions import Fraction

import symveil as sv


def random_system(size: int, seed: int) -> sv.StochasticSystem:
    """2n transitions, events a, b observable, c not, two secret states."""
    source = random.Random(seed)
    places = [(state, event) for state in range(size) for event in "abc"]
    moves = {place: source.randrange(size) for place in source.sample(places, 2 * size)}
    secret = source.sample(range(size), 2)
    return _with_probabilities(source, moves, size, observable="ab", secret=secret)


def told_apart_system(size: int, seed: int) -> sv.StochasticSystem:
    """Twelve events, of which a state has two or none, and few unobservable moves: the observer rarely doubts long."""
    source = random.Random(seed)
    moves = {}
    for state in range(size):
        if source.random() < 0.95:
            for event in source.sample("abcdefghijkl", 2):
                moves[state, event] = source.randrange(size)
        if source.random() < 0.1:
            moves[state, "u"] = source.randrange(size)
    secret = source.sample(range(1, size), size // 100)
    return _with_probabilities(source, moves, size, observable="abcdefghijkl", secret=secret)


def busy_system(size: int, seed: int) -> sv.StochasticSystem:
    """Five events, all of them possible in every state: 5ⁿ observations of n events, of which a few expose a secret."""
    source = random.Random(seed)
    moves = {(state, event): source.randrange(size) for state in range(size) for event in "abcde"}
    moves |= {(state, "u"): source.randrange(size) for state in range(size) if source.random() < 0.2}
    return _with_probabilities(source, moves, size, observable="abcde", secret=source.sample(range(1, size), 3))


def _with_probabilities(
    source: random.Random, moves: dict[tuple[int, str], int], size: int, *, observable: str, secret: list[int]
) -> sv.StochasticSystem:
    weights = {place: source.randint(1, 9) for place in sorted(moves)}
    totals: dict[int, int] = {}
    for (state, _), weight in weights.items():
        totals[state] = totals.get(state, 0) + weight
    rows = [
        (str(state), event, str(moves[state, event]), Fraction(weight, totals[state]))
        for (state, event), weight in weights.items()
    ]
    return sv.StochasticSystem.from_transitions(
        rows,
        initial="0",
        observable=list(observable),
        secret=[str(state) for state in secret],
        states=[str(state) for state in range(size)],
    )
