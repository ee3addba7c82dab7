"""Random small languages, and the least expected error on them: the linear programme over all mechanisms, written out.

Nothing here calls the code under test: words and priors come from definitions, the optimum from HiGHS, which is right
to about 1e-7.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

import symveil as sv

SOLVER_ERROR = 1e-6


@dataclass(frozen=True)
class Case:
    """A language with its words and their prior, ε and b."""

    language: sv.RunLanguage
    words: list[tuple[str, ...]]
    shares: np.ndarray
    kind: str
    epsilon: Fraction
    adjacency: int

    def least_error(self, *, factor: Fraction | None = None) -> float:
        """Of all ε-private mechanisms; with a factor K of those that also lose at most K·(d/b)·ε at any distance d."""
        return least_expected_error(
            self.words,
            self.shares,
            self.epsilon,
            self.adjacency,
            public_start=self.language.public_start,
            factor=factor,
        )


def least_expected_error(words, shares, epsilon, adjacency, *, public_start=False, factor=None) -> float:
    """The optimum over all mechanisms whose outputs are made of the symbols that occur at each position."""
    outputs = list(itertools.product(*(sorted(set(column)) for column in zip(*words, strict=True))))
    loss = np.array([[_apart(word, output) for output in outputs] for word in words], dtype=float)
    pairs = [
        (one, other, _allowed(_apart(word, neighbour), epsilon, adjacency, factor))
        for one, word in enumerate(words)
        for other, neighbour in enumerate(words)
        if one != other and (not public_start or word[0] == neighbour[0])
    ]
    pairs = [pair for pair in pairs if pair[2] < math.inf]
    count, width = loss.shape
    rows, columns, values = [], [], []
    for number, ((one, other, loss_allowed), output) in enumerate(itertools.product(pairs, range(width))):
        rows += [number, number]
        columns += [other * width + output, one * width + output]
        values += [math.exp(-loss_allowed), -1.0]
    height = len(pairs) * width
    solved = linprog(
        (shares[:, None] * loss).ravel(),
        A_ub=sparse.csr_array((values, (rows, columns)), shape=(height, count * width)) if height else None,
        b_ub=np.zeros(height) if height else None,
        A_eq=sparse.kron(sparse.eye_array(count), np.ones((1, width)), format="csr"),
        b_eq=np.ones(count),
        method="highs",
    )
    assert solved.success
    return float(solved.fun)


def _allowed(apart: int, epsilon, adjacency: int, factor) -> float:
    """What words so far apart may lose."""
    within = float(epsilon) if apart <= adjacency else math.inf
    return within if factor is None else min(within, float(factor * epsilon * apart / adjacency))


def _apart(word, other) -> int:
    return sum(a != b for a, b in zip(word, other, strict=True))


def random_cases(seed: int, count: int, *, most_cells: int = 2_500):
    """`count` cases with at least two words, small enough for a programme of so many inequalities."""
    rng = np.random.default_rng(seed)
    while count:
        case = _random_case(rng, most_cells)
        if case is not None:
            count -= 1
            yield case


def _random_case(rng, most_cells: int) -> Case | None:
    length = int(rng.integers(1, 6))
    model = _random_chain(rng) if rng.random() < 0.6 else _random_automaton(rng)
    is_chain = isinstance(model, sv.MarkovChain)
    chances = _chain_words(model, length) if is_chain else _automaton_words(model, length)
    words = list(chances)
    public_start = is_chain and bool(rng.random() < 0.4)
    kind = "chain" if is_chain and rng.random() < 0.5 else "uniform"
    epsilon = Fraction(int(rng.choice([1, 3, 10, 20, 40, 80])), 10)
    adjacency = int(rng.integers(1, 4))
    outputs = math.prod(len(set(column)) for column in zip(*words, strict=True))
    if len(words) < 2:
        return None
    codes = np.unique(np.array(words), return_inverse=True)[1].reshape(len(words), length)
    apart = (codes[:, None, :] != codes[None, :, :]).sum(axis=2)
    near = int((apart <= adjacency).sum()) - len(words)
    if not near or near * outputs > most_cells:
        return None
    weights = [chances[word] if kind == "chain" else Fraction(1) for word in words]
    shares = np.array([float(weight / sum(weights)) for weight in weights])
    language = sv.runs(model, length, public_start=public_start)
    return Case(language, words, shares, kind, epsilon, adjacency)


def _chain_words(chain: sv.MarkovChain, length: int) -> dict[tuple[str, ...], Fraction]:
    """Every trajectory with its chance, a hidden first state being uniform."""
    chance = {(source, target): value for source, target, value in chain.transitions}
    found = {}
    for word in itertools.product(chain.states, repeat=length):
        path = word if chain.initial is None else (chain.initial, *word)
        steps = [chance.get(pair, Fraction(0)) for pair in itertools.pairwise(path)]
        if all(steps):
            found[word] = math.prod(steps, start=Fraction(1))
    return found


def _automaton_words(automaton: sv.Automaton, length: int) -> dict[tuple[str, ...], Fraction]:
    """Every accepted word: followed through the sets of states that it can lead to."""
    found = {}
    for word in itertools.product("abc", repeat=length):
        current = {automaton.initial}
        for symbol in word:
            current = {q for p, read, q in automaton.transitions if read == symbol and p in current}
        if current & set(automaton.accepting):
            found[word] = Fraction(1)
    return found


def _random_chain(rng) -> sv.MarkovChain:
    names = [f"s{number}" for number in range(int(rng.integers(2, 5)))]
    rows = []
    for source in names:
        targets = [name for name in names if rng.random() < 0.6]  # none: a dead end
        shares = [int(rng.integers(1, 6)) for _ in targets]
        rows += [(source, target, Fraction(share, sum(shares))) for target, share in zip(targets, shares, strict=True)]
    rows = rows or [(names[0], names[0], Fraction(1))]
    return sv.MarkovChain.from_transitions(rows, initial=names[0] if rng.random() < 0.3 else None, states=names)


def _random_automaton(rng) -> sv.Automaton:
    states = [f"q{number}" for number in range(int(rng.integers(1, 5)))]
    moves = [(p, symbol, q) for p in states for symbol in "abc" for q in states]
    rows = [move for move in moves if rng.random() < 0.25] or [moves[0]]
    accepting = [state for state in states if rng.random() < 0.6] or [states[-1]]
    return sv.Automaton.from_transitions(rows, initial="q0", accepting=accepting, states=states)
