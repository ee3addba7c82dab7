"""Random small models, and their words by definition: no code of the package decides what a word is."""

from __future__ import annotations

import itertools
from fractions import Fraction

from hypothesis import strategies as st

from symveil.models.automaton import Automaton, TransitionSystem
from symveil.models.markov_chain import MarkovChain


@st.composite
def chains(draw, *, most_states: int = 4):
    names = [f"s{number}" for number in range(draw(st.integers(1, most_states)))]
    rows = []
    for source in names:
        targets = draw(st.lists(st.sampled_from(names), unique=True, max_size=len(names)))
        shares = [draw(st.integers(1, 4)) for _ in targets]
        rows += [(source, target, Fraction(share, sum(shares))) for target, share in zip(targets, shares, strict=True)]
    initial = draw(st.none() | st.sampled_from(names))
    return MarkovChain.from_transitions(rows, initial=initial, states=names)


@st.composite
def automata(draw):
    states = [f"q{number}" for number in range(draw(st.integers(1, 4)))]
    moves = [(p, symbol, q) for p in states for symbol in ("a", "b", "c", None) for q in states if symbol or p != q]
    rows = draw(st.lists(st.sampled_from(moves), unique=True, min_size=1, max_size=9))
    rows = [*rows, ("q0", "a", "q0")] if all(symbol is None for _, symbol, _ in rows) else rows
    accepting = draw(st.lists(st.sampled_from(states), unique=True, min_size=1))
    return Automaton.from_transitions(rows, initial="q0", accepting=accepting, states=states)


@st.composite
def systems(draw):
    states = [f"q{number}" for number in range(draw(st.integers(1, 4)))]
    moves = [(p, symbol, q) for p in states for symbol in "abc" for q in states]
    rows = draw(st.lists(st.sampled_from(moves), unique=True, min_size=1, max_size=9))
    return TransitionSystem.from_transitions(rows, initial="q0", states=states)


models = st.one_of(chains(), automata(), systems())


def words_by_definition(model, length: int) -> list[tuple[str, ...]]:
    if isinstance(model, MarkovChain):
        return _trajectories(model, length)
    symbols = dict.fromkeys(symbol for _, symbol, _ in model.transitions if symbol is not None)
    accepting = set(model.accepting) if isinstance(model, Automaton) else set(model.states)
    return [word for word in itertools.product(symbols, repeat=length) if _ends(model, word) & accepting]


def _trajectories(chain: MarkovChain, length: int) -> list[tuple[str, ...]]:
    allowed = {(source, target) for source, target, _ in chain.transitions}
    found = []
    for word in itertools.product(chain.states, repeat=length):
        path = word if chain.initial is None else (chain.initial, *word)
        if all(pair in allowed for pair in itertools.pairwise(path)):
            found.append(word)
    return found


def _ends(model, word) -> set[str]:
    def close(states: set[str]) -> set[str]:
        while True:
            more = states | {q for p, symbol, q in model.transitions if symbol is None and p in states}
            if more == states:
                return states
            states = more

    current = close({model.initial})
    for symbol in word:
        current = close({q for p, read, q in model.transitions if read == symbol and p in current})
    return current


def prior_by_definition(chain: MarkovChain, word: tuple[str, ...]) -> Fraction:
    """Π T; a hidden first state is uniform."""
    chance = {(source, target): value for source, target, value in chain.transitions}
    path = word if chain.initial is None else (chain.initial, *word)
    product = Fraction(1, len(chain.states)) if chain.initial is None and word else Fraction(1)
    for pair in itertools.pairwise(path):
        product *= chance[pair]
    return product


def distance(word, other) -> int:
    return sum(a != b for a, b in zip(word, other, strict=True))
