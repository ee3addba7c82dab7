"""J19 §V written plainly, as a reader of the paper would: Algorithms 1 and 2 in Python, one word at a time.

A baseline, not a part of symveil: nothing here is imported from it and nothing is clever. Where the
printed algorithms do not work they are corrected, and only there:

- Algorithm 1 without its lines 10 and 11 (J19 Remark 1: substitutions only), line 9 testing e, and
  the mismatch edge reading every symbol *but* the right one (a DFA, J19 Remark 2 and Figure 1b);
- only states that a word of length |x| can visit, e ≤ i: 561 states and 1056 edges for
  "american control conference 2019", as J19 §VII-A counts them (an edge carries a set of symbols);
- Algorithm 2 runs over |x| layers, not ℓ (its line 5);
- equation 18 with N(ℓ), the number of words at distance ℓ, and its sum from 0.

Legend: x the word, k the largest distance, i symbols read, e errors made, ℓ the drawn distance,
V(q) the number of paths from q to q_{|x|,ℓ}, μ(q, σ) the policy, b the adjacency, a the offset.
Randomness is the standard library's `random`: right for a time, wrong for a release.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from itertools import accumulate

State = tuple[int, int]


@dataclass
class LevenshteinAutomaton:
    """A_{x,k} for words of length |x|: `edges[q][q']` is the list of symbols that lead from q to q'."""

    length: int
    states: set[State]
    edges: dict[State, dict[State, list[str]]]
    start: State = (0, 0)

    @property
    def edge_count(self) -> int:
        """Edges as J19 counts them: one from q to q', whatever the number of its symbols."""
        return sum(len(targets) for targets in self.edges.values())


def make_levenshtein(alphabet: str, x: str, k: int) -> LevenshteinAutomaton:
    """Algorithm 1, substitutions only."""
    states = {(i, e) for i in range(len(x) + 1) for e in range(min(i, k) + 1)}
    edges: dict[State, dict[State, list[str]]] = {}
    for i, e in states:
        if i == len(x):
            continue
        edges[i, e] = {(i + 1, e): [x[i]]}  # correct transition
        if e < k:
            edges[i, e][i + 1, e + 1] = [symbol for symbol in alphabet if symbol != x[i]]  # substitution
    return LevenshteinAutomaton(len(x), states, edges)


def restrict(automaton: LevenshteinAutomaton, distance: int) -> LevenshteinAutomaton:
    """J19 §V step 2: what is backwards reachable from q_{|x|,ℓ}."""
    kept = {(automaton.length, distance)}
    edges: dict[State, dict[State, list[str]]] = {}
    for state in sorted(automaton.edges, reverse=True):
        targets = {target: symbols for target, symbols in automaton.edges[state].items() if target in kept}
        if targets:
            kept.add(state)
            edges[state] = targets
    return LevenshteinAutomaton(automaton.length, kept, edges)


@dataclass
class Policy:
    """μ_{x,ℓ}, with V and δ: what a run needs."""

    length: int
    paths: dict[State, int] = field(default_factory=dict)
    chance: dict[State, dict[str, float]] = field(default_factory=dict)
    successor: dict[State, dict[str, State]] = field(default_factory=dict)


def synthesize_policy(automaton: LevenshteinAutomaton, distance: int) -> Policy:
    """Algorithm 2 on the automaton restricted to distance ℓ, one layer after another from the end."""
    policy = Policy(automaton.length)
    policy.paths[automaton.length, distance] = 1
    for state in sorted(automaton.edges, reverse=True):
        targets = automaton.edges[state]
        total = sum(len(symbols) * policy.paths[target] for target, symbols in targets.items())
        policy.paths[state] = total
        policy.chance[state] = {
            symbol: policy.paths[target] / total for target, symbols in targets.items() for symbol in symbols
        }
        policy.successor[state] = {symbol: target for target, symbols in targets.items() for symbol in symbols}
    return policy


def run(policy: Policy) -> str:
    """A run of the policy: a uniform word at distance ℓ."""
    state, word = (0, 0), []
    while state[0] < policy.length:
        chances = policy.chance[state]
        symbol = random.choices(list(chances), weights=chances.values())[0]
        word.append(symbol)
        state = policy.successor[state][symbol]
    return "".join(word)


def distance_weights(alphabet: str, x: str, *, epsilon: float, b: int = 1, a: float = 1) -> list[float]:
    """Equation 18 put right: N(ℓ)·exp(εa(b+a)/(2b(ℓ+a))) for ℓ = 0 … |x|."""
    return [
        math.comb(len(x), distance)
        * (len(alphabet) - 1) ** distance
        * math.exp(epsilon * a * (b + a) / (2 * b * (distance + a)))
        for distance in range(len(x) + 1)
    ]


def release(alphabet: str, x: str, *, epsilon: float) -> str:
    """J19 §V steps 1 to 3 as printed: automaton and policy are made for each word."""
    automaton = make_levenshtein(alphabet, x, len(x))
    weights = distance_weights(alphabet, x, epsilon=epsilon)
    distance = random.choices(range(len(x) + 1), weights=weights)[0]
    return run(synthesize_policy(restrict(automaton, distance), distance))


class KeptPolicies:
    """The same releases with everything that can be kept: a policy for each ℓ, chances already summed."""

    def __init__(self, alphabet: str, x: str, *, epsilon: float) -> None:
        automaton = make_levenshtein(alphabet, x, len(x))
        self._length = len(x)
        self._distances = range(len(x) + 1)
        self._distance_sums = list(accumulate(distance_weights(alphabet, x, epsilon=epsilon)))
        self._steps = [
            {
                state: (list(chances), list(accumulate(chances.values())), policy.successor[state])
                for state, chances in policy.chance.items()
            }
            for distance in self._distances
            for policy in [synthesize_policy(restrict(automaton, distance), distance)]
        ]

    def release(self) -> str:
        """One word: ℓ, then |x| symbols."""
        choices = random.choices
        steps = self._steps[choices(self._distances, cum_weights=self._distance_sums)[0]]
        state, word = (0, 0), []
        for _ in range(self._length):
            symbols, sums, successor = steps[state]
            symbol = choices(symbols, cum_weights=sums)[0]
            word.append(symbol)
            state = successor[symbol]
        return "".join(word)
