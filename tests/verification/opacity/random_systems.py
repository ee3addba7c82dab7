"""Random small systems: any shape that the definitions allow, dead ends, unused events and unreachable parts too.

`drawn_…` are hypothesis' own: they shrink well and like the degenerate. `seeded_…` are fuller:
violations come late there, or never. The strategies without a prefix mix both.
"""

from __future__ import annotations

import random
from fractions import Fraction

from hypothesis import strategies as st

from symveil.models.stochastic_system import LogicalSystem, StochasticSystem

KS = (0, 1, 2, 3, "infinite")

ks = st.sampled_from(KS)
notions = st.sampled_from(("weak", "weak", "strong", "initial"))
seeds = st.integers(0, 2**32 - 1)


def _observables() -> st.SearchStrategy[list[str]]:
    """One to three observable events; some may occur on no transition."""
    return st.sampled_from([["a"], ["a", "b"], ["b", "a"], ["a", "b", "c"]])


def _secrets(states: list[str]) -> st.SearchStrategy[list[str]]:
    """Any subset: none, all, the initial state, unreachable ones."""
    return st.lists(st.sampled_from(states), unique=True, max_size=len(states))


@st.composite
def drawn_stochastic(draw, *, most_states: int = 6, acyclic: bool = False):
    """Deterministic, with probabilities; `acyclic` ones lead from lower to higher states only."""
    states = [f"q{number}" for number in range(draw(st.integers(1, most_states)))]
    observable = draw(_observables())
    events = observable + draw(st.sampled_from([[], ["u"], ["u", "v"]]))
    numbers = range(len(states))
    places = [(i, e) for i in numbers for e in events if not acyclic or i + 1 < len(states)]
    chosen = draw(st.lists(st.sampled_from(places), unique=True, max_size=3 * len(states))) if places else []
    rows = []
    for source in numbers:
        out = [event for number, event in chosen if number == source]
        weights = draw(st.lists(st.integers(1, 5), min_size=len(out), max_size=len(out)))
        for event, weight in zip(out, weights, strict=True):
            target = draw(st.integers(source + 1 if acyclic else 0, len(states) - 1))
            rows.append((states[source], event, states[target], Fraction(weight, sum(weights))))
    return StochasticSystem.from_transitions(
        rows,
        initial=states[0] if acyclic else draw(st.sampled_from(states)),
        observable=observable,
        secret=draw(_secrets(states)),
        states=states,
    )


@st.composite
def drawn_logical(draw, *, most_states: int = 6):
    """Nondeterministic, with one or several initial states."""
    states = [f"q{number}" for number in range(draw(st.integers(1, most_states)))]
    observable = draw(_observables())
    events = observable + draw(st.sampled_from([[], ["u"], ["u", "v"]]))
    move = st.tuples(st.sampled_from(states), st.sampled_from(events), st.sampled_from(states))
    return LogicalSystem.from_transitions(
        draw(st.lists(move, unique=True, max_size=14)),
        initial=draw(st.lists(st.sampled_from(states), unique=True, min_size=1, max_size=3)),
        observable=observable,
        secret=draw(_secrets(states)),
        states=states,
    )


def _seeded_parts(source: random.Random, most_states: int) -> tuple[list[str], list[str], list[str], list[str]]:
    states = [f"q{number}" for number in range(source.randint(min(3, most_states), most_states))]
    observable = ["a", "b", "c"][: source.choice((1, 2, 2, 3))]
    silent = ["u", "v"][: source.choice((0, 1, 1, 2))]
    # the first state is the initial one: secret at times, but then there is little to find out
    candidates = states if source.random() < 0.15 else states[1:]
    secret = source.sample(candidates, min(len(candidates), source.choice((1, 1, 2, 3))))
    return states, observable, silent, secret


def seeded_stochastic(seed: int, *, most_states: int = 6, acyclic: bool = False) -> StochasticSystem:
    """A fuller system than `drawn_stochastic` likes."""
    source = random.Random(seed)
    states, observable, silent, secret = _seeded_parts(source, most_states)
    often = source.choice((0.4, 0.6, 0.8))
    rows = []
    for number, state in enumerate(states):
        targets = states[number + 1 :] if acyclic else states
        out = [e for e in observable + silent if targets and source.random() < (often if e in observable else 0.35)]
        weights = [source.randint(1, 9) for _ in out]
        rows += [
            (state, event, source.choice(targets), Fraction(weight, sum(weights)))
            for event, weight in zip(out, weights, strict=True)
        ]
    return StochasticSystem.from_transitions(
        rows, initial=states[0], observable=observable, secret=secret, states=states
    )


def seeded_logical(seed: int, *, most_states: int = 6) -> LogicalSystem:
    """A fuller system than `drawn_logical` likes."""
    source = random.Random(seed)
    states, observable, silent, secret = _seeded_parts(source, most_states)
    often, most_targets = source.choice((0.4, 0.6, 0.8)), source.choice((1, 2, 3))
    moves = sorted({
        (state, event, target)
        for state in states
        for event in observable + silent
        if source.random() < (often if event in observable else 0.3)
        for target in source.choices(states, k=source.randint(1, most_targets))
    })  # fmt: skip
    initial = states[: source.choice((1, 1, 2, 3))]
    return LogicalSystem.from_transitions(moves, initial=initial, observable=observable, secret=secret, states=states)


def seeded_delayed(seed: int) -> StochasticSystem:
    """Two systems that look alike for a while, and an unobserved choice between them: secrets come out late.

    The second is a copy of the first with some transitions missing or led elsewhere. Secrets are in
    the first, so the observer has to wait for what only the first can do; how long is where k counts.
    """
    source = random.Random(seed)
    size = source.randint(2, 4)
    first = {(n, e): source.randrange(size) for n in range(size) for e in "ab" if source.random() < 0.8}
    second = {
        place: target if source.random() < 0.8 else source.randrange(size)
        for place, target in first.items()
        if source.random() < 0.85
    }
    rows = [("start", "u", "p0", Fraction(1, 2)), ("start", "v", "q0", Fraction(1, 2))]
    for copy, moves in (("p", first), ("q", second)):
        for number in range(size):
            out = [event for event in "ab" if (number, event) in moves]
            weights = [source.randint(1, 5) for _ in out]
            rows += [
                (f"{copy}{number}", event, f"{copy}{moves[number, event]}", Fraction(weight, sum(weights)))
                for event, weight in zip(out, weights, strict=True)
            ]
    states = ["start", *[f"{copy}{number}" for copy in "pq" for number in range(size)]]
    secret = [f"p{number}" for number in source.sample(range(size), source.choice((1, 1, 2)))]
    return StochasticSystem.from_transitions(rows, initial="start", observable=["a", "b"], secret=secret, states=states)


delayed_systems = seeds.map(seeded_delayed)


def stochastic_systems(*, most_states: int = 6, acyclic: bool = False) -> st.SearchStrategy[StochasticSystem]:
    """Of both makes, mostly the fuller ones."""
    fuller = seeds.map(lambda seed: seeded_stochastic(seed, most_states=most_states, acyclic=acyclic))
    return st.one_of(drawn_stochastic(most_states=most_states, acyclic=acyclic), fuller)


def logical_systems(*, most_states: int = 6) -> st.SearchStrategy[LogicalSystem]:
    """Of both makes, mostly the fuller ones."""
    fuller = seeds.map(lambda seed: seeded_logical(seed, most_states=most_states))
    return st.one_of(drawn_logical(most_states=most_states), fuller)


def systems(*, most_states: int = 6) -> st.SearchStrategy[StochasticSystem | LogicalSystem]:
    """Of both kinds."""
    return st.one_of(stochastic_systems(most_states=most_states), logical_systems(most_states=most_states))
