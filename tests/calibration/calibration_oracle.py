"""An oracle for the calibration tests: small random systems, and their losses from the definition.

Words are found by walking the *model's* own transitions (never the graph the library makes of it),
distances are counted symbol by symbol, Z is the sum over all words.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from symveil.calibration import certify
from symveil.calibration.answers import clear_answers
from symveil.calibration.enumeration import Enumeration
from symveil.calibration.search import CertifiedRate, ProvedLoss
from symveil.calibration.weighting import Weighting
from symveil.errors import ModelError
from symveil.languages.costs import hamming
from symveil.languages.runs import RunLanguage, runs
from symveil.laws.guarantee import How
from symveil.models.automaton import Automaton, TransitionSystem
from symveil.models.markov_chain import MarkovChain

Word = tuple[str, ...]


def seeded(seed: int) -> random.Random:
    return random.Random(seed)


def forget() -> None:
    """Empty what calibration remembers in memory."""
    clear_answers()


def plain(language: RunLanguage, adjacency: int, *, with_prior: bool = False) -> Weighting:
    """Exponential weights by Hamming distance."""
    return Weighting(language=language, cost=hamming(language), adjacency=adjacency, with_prior=with_prior)


def certified_rate(
    language: RunLanguage, *, epsilon: Fraction, adjacency: int, with_prior: bool = False, progress: Any = None
) -> CertifiedRate:
    """The library's quick rate of such weights."""
    return certify.quick_rate(plain(language, adjacency, with_prior=with_prior), epsilon=epsilon, progress=progress)


def certified_loss(
    language: RunLanguage, *, rate: Fraction, adjacency: int, with_prior: bool = False
) -> tuple[Fraction, How]:
    """What the library proves quickly of a rate, and how it is known."""
    proved = certify.quick_loss(plain(language, adjacency, with_prior=with_prior), rate)
    return proved.loss, proved.how


def enumerated(language: RunLanguage, *, rate: Fraction, adjacency: int, with_prior: bool = False) -> ProvedLoss | None:
    """The library's own loss of all words, by Hamming distance."""
    return Enumeration(plain(language, adjacency, with_prior=with_prior)).loss(rate)


@dataclass(frozen=True)
class Case:
    """A language with its words and their prior weights, listed by hand."""

    language: RunLanguage
    weights: dict[Word, Fraction]
    public_start: bool
    with_prior: bool

    def loss(self, rate: float, adjacency: int) -> float:
        """max of η·d + ln Z(v)/Z(w) over pairs at distance at most b; 0 without pairs."""
        words = list(self.weights)
        number = {symbol: index for index, symbol in enumerate({symbol for word in words for symbol in word})}
        rows = np.array([[number[symbol] for symbol in word] for word in words]).reshape(len(words), -1)
        apart = np.zeros((len(words), len(words)))
        for symbols in rows.T:
            apart += symbols[:, None] != symbols[None, :]
        same = rows[:, :1] == rows[:, :1].T if self.public_start and rows.size else np.ones_like(apart, dtype=np.bool_)
        totals = np.where(same, np.exp(-rate * apart), 0.0) @ np.array([float(each) for each in self.weights.values()])
        logs = np.log(totals)
        losses = rate * apart + np.abs(logs[:, None] - logs[None, :])
        return float(losses[same & (apart <= adjacency)].max())  # a word and itself are a pair that loses 0


def chain_case(model: MarkovChain, length: int, *, public_start: bool = False, with_prior: bool = False) -> Case | None:
    """The trajectories of a chain; None where there are none."""
    follows: dict[str, list[tuple[str, Fraction]]] = {state: [] for state in model.states}
    for source, target, chance in model.transitions:
        follows[source].append((target, chance))
    even = Fraction(1, len(model.states))
    begin = [(state, even) for state in model.states] if model.initial is None else follows[model.initial]
    weights: dict[Word, Fraction] = {(): Fraction(1)}
    for position in range(length):
        weights = {
            (*word, state): value * (1 if public_start and position == 0 else chance)
            for word, value in weights.items()
            for state, chance in (follows[word[-1]] if word else begin)
        }
    if not with_prior:
        weights = dict.fromkeys(weights, Fraction(1))
    return _case(model, length, weights, public_start, with_prior)


def automaton_case(model: Automaton | TransitionSystem, length: int) -> Case | None:
    """The words of an automaton or a transition system: subsets of states, followed by hand."""
    reach: dict[Word, frozenset[str]] = {(): _silent(model, {model.initial})}
    symbols = sorted({symbol for _, symbol, _ in model.transitions if symbol is not None})
    for _ in range(length):
        longer = {}
        for word, states in reach.items():
            for symbol in symbols:
                after = {t for s, a, t in model.transitions if s in states and a == symbol}
                if after:
                    longer[*word, symbol] = _silent(model, after)
        reach = longer
    accepting = set(model.accepting) if isinstance(model, Automaton) else set(model.states)
    weights = {word: Fraction(1) for word, states in reach.items() if states & accepting}
    return _case(model, length, weights, False, False)


def _silent(model: Automaton | TransitionSystem, states: set[str]) -> frozenset[str]:
    while True:
        more = states | {t for s, a, t in model.transitions if s in states and a is None}
        if more == states:
            return frozenset(states)
        states = more


def _case(
    model: MarkovChain | Automaton | TransitionSystem,
    length: int,
    weights: dict[Word, Fraction],
    public_start: bool,
    with_prior: bool,
) -> Case | None:
    try:
        language = runs(model, length, public_start=public_start)
    except ModelError:
        assert not weights
        return None
    assert weights
    return Case(language, weights, public_start, with_prior)


# --- random systems --------------------------------------------------------------------------------


def random_chain(dice: random.Random, *, states: int | None = None, dead_ends: bool = True) -> MarkovChain:
    """A chain with, at random, dead ends, self-loops, an initial state and uneven probabilities."""
    names = "abcdef"[: states or dice.randint(1, 5)]
    rows = []
    density = dice.choice([0.3, 0.5, 0.8])
    for source in names:
        targets = [target for target in names if dice.random() < density]
        if not targets and not (dead_ends and dice.random() < 0.5):
            targets = [dice.choice(names)]
        parts = [dice.choice([1, 1, 2, 5, 20]) for _ in targets]
        rows += [(source, t, Fraction(part, sum(parts))) for t, part in zip(targets, parts, strict=True)]
    initial = dice.choice([None, None, dice.choice(names)])
    return MarkovChain.from_transitions(rows, states=list(names), initial=initial)


def random_chain_case(dice: random.Random, *, longest: int = 6) -> Case | None:
    """A chain with a length, a start and a prior or not."""
    return chain_case(
        random_chain(dice),
        dice.randint(0, longest),
        public_start=dice.random() < 0.4,
        with_prior=dice.random() < 0.4,
    )


def random_actions(dice: random.Random) -> TransitionSystem:
    """A deterministic system whose symbols are not its states."""
    states, symbols = "pqrs"[: dice.randint(1, 4)], "abc"[: dice.randint(1, 3)]
    density = dice.choice([0.4, 0.7, 1.0])
    rows = [(s, a, dice.choice(states)) for s in states for a in symbols if dice.random() < density]
    return TransitionSystem.from_transitions(rows or [("p", "a", "p")], states=list(states), initial="p")


def random_automaton(dice: random.Random) -> Automaton:
    """A nondeterministic automaton with silent moves and a few accepting states."""
    states, symbols = "pqrs"[: dice.randint(1, 4)], "abc"[: dice.randint(1, 3)]
    rows: set[tuple[str, str | None, str]] = {
        (s, a, t) for s in states for a in symbols for t in states if dice.random() < 0.3
    }
    rows |= {(s, None, t) for s in states for t in states if s != t and dice.random() < 0.08}
    rows.add(("p", "a", dice.choice(states)))
    accepting = [state for state in states if dice.random() < 0.5] or [dice.choice(states)]
    return Automaton.from_transitions(sorted(rows, key=str), states=list(states), initial="p", accepting=accepting)


def random_system_case(dice: random.Random, *, longest: int = 6) -> Case | None:
    """An action system or an automaton with a length."""
    model = random_actions(dice) if dice.random() < 0.5 else random_automaton(dice)
    return automaton_case(model, dice.randint(0, longest))
