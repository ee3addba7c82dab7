"""Local balance: a public prior on the words of a chain that keeps their total weight nearly constant.

A certificate pays for Z varying with the word. With the prior

    s(o) = Π_i 1/(1 + (k_i − 1)·z),     k_i = #{y : o_{i−1} → y → o_{i+1}},     z = e^{−rate},

Z = 1 + O(z²): the words at cost 1 from o are those that differ in one position, Σ(k_i − 1) of them
(docs/theory/near-optimal.md, *Balance*). At a hidden start k_0 counts the first symbols before o_1, at the end
k_{n−1} the last ones after o_{n−2}; a public first symbol has no factor. Any prior is sound: the certificate is
computed with it.

A factor reads three symbols in a row, so the graph's states become its edges (`PairGraph`): the weight sits on pairs
of edges, and on the last edge for the last factor. Everything that runs on a word graph with edge weights runs on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.errors import ParameterError, TooLargeError
from symveil.languages.graph import WordGraph
from symveil.languages.runs import RunLanguage
from symveil.numbers.conversions import ball

_MOST_EDGES = 20_000_000


@dataclass(frozen=True, slots=True, eq=False)
class PairGraph:
    """The graph of a chain's edges, and for each step and each end how many symbols could stand where one stands.

    State 0 is the start. States 1 … are first symbols, `first_state[symbol]`; then one for each edge of the chain.
    `ways[e]` is k of the symbol that a step leaves behind (0: no factor), `last_ways[s]` of the last symbol.
    """

    graph: WordGraph
    first_state: NDArray[np.int32] = field(repr=False)
    ways: NDArray[np.int64] = field(repr=False)
    last_ways: NDArray[np.int64] = field(repr=False)


def pair_graph(language: RunLanguage) -> PairGraph:
    """The graph of edges of a chain's words.

    >>> import symveil as sv
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> pair_graph(sv.runs(chain, length=5)).graph.state_count       # the start, two first symbols, three edges
    6
    """
    graph = language.graph
    if not graph.state_is_symbol or not np.array_equal(graph.symbol, graph.target):
        raise ParameterError("balance", expected="a Markov chain, whose symbols are states", found="actions")
    beginning = np.array(graph.edges(graph.start), dtype=np.int64)
    first_symbols = graph.symbol[beginning]
    kept = np.flatnonzero(graph.source != graph.start) if _never_entered(graph) else np.arange(graph.edge_count)
    number = np.full(graph.edge_count, -1)
    number[kept] = 1 + len(beginning) + np.arange(len(kept))
    # the edge behind each state, the first symbols' included
    edge_of = np.concatenate([beginning, kept])
    degree = np.diff(graph.first)[graph.target[edge_of]]
    if degree.sum() > _MOST_EDGES:
        raise TooLargeError(f"balance: expected at most {_MOST_EDGES} pairs of edges, found {int(degree.sum())}")
    row = np.repeat(np.arange(len(edge_of)), degree)
    following = np.repeat(graph.first[graph.target[edge_of]], degree) + _counted(degree)
    before, after = graph.source[edge_of[row]], graph.target[following].astype(np.int64)
    ways = _ways_between(graph, before, after)
    last_ways = np.concatenate([[0], _ways_to_end(graph)[graph.source[edge_of]]])
    if language.public_start:
        ways[row < len(beginning)] = 0
        last_ways[: 1 + len(beginning)] = 0
    first_state = np.full(len(language.alphabet), -1, dtype=np.int32)
    first_state[first_symbols] = 1 + np.arange(len(beginning))
    targets = np.concatenate([first_state[first_symbols], number[following]]).astype(np.int32)
    counts = np.concatenate([[len(beginning)], degree])
    return PairGraph(
        graph=WordGraph(
            alphabet=graph.alphabet,
            start=0,
            first=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            symbol=np.concatenate([first_symbols, graph.symbol[following]]).astype(np.int32),
            target=targets,
            accepting=np.concatenate([[graph.accepting[graph.start]], graph.accepting[graph.target[edge_of]]]),
        ),
        first_state=first_state,
        ways=np.concatenate([np.zeros(len(beginning), dtype=np.int64), ways]),
        last_ways=last_ways,
    )


def balance_weight(ways: int, rate: Fraction) -> arb:
    """1/(1 + (k − 1)e^{−rate}) at the working precision; 1 where there is no choice."""
    return arb(1) if ways <= 1 else 1 / (1 + (ways - 1) * (-ball(rate)).exp())


def _never_entered(graph: WordGraph) -> bool:
    return not bool((graph.target == graph.start).any())


def _counted(degree: NDArray[np.int64]) -> NDArray[np.int64]:
    """0 … d−1 for each degree d, one after the other."""
    return np.arange(int(degree.sum())) - np.repeat(np.cumsum(degree) - degree, degree)


def _ways_between(graph: WordGraph, before: NDArray[np.int64], after: NDArray[np.int64]) -> NDArray[np.int64]:
    """#{y : before → y → after} of every pair."""
    size = graph.state_count
    degree = np.diff(graph.first)[graph.target]
    ends = graph.target[np.repeat(graph.first[graph.target], degree) + _counted(degree)].astype(np.int64)
    keys, counts = np.unique(np.repeat(graph.source, degree) * size + ends, return_counts=True)
    return np.asarray(counts[np.searchsorted(keys, before * size + after)], dtype=np.int64)


def _ways_to_end(graph: WordGraph) -> NDArray[np.int64]:
    """#{y accepting : x → y} of every state x."""
    return np.bincount(graph.source, weights=graph.accepting[graph.target], minlength=graph.state_count).astype(
        np.int64
    )
