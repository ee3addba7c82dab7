"""The words of one length by the smallest graph: its states are what can still follow.

The graph of a model may have very many states that differ only in what could follow later than the word is long: the
observer of a system, followed for n events, is one. States of one position with the same words to come become one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symveil.languages.graph import WordGraph
from symveil.languages.runs import RunLanguage

# fewer states are as quick as they are, and keep one set of edges for all positions
_FEW_STATES = 200
_MOST_ENTRIES = 50_000_000

Numbers = NDArray[np.int64]


def smallest(language: RunLanguage) -> RunLanguage:
    """The same words, by a graph with a state for every position and set of words to come, where that is smaller.

    >>> import symveil as sv
    >>> rows = [(str(n), symbol, str((n * 7 + (symbol == "a")) % 300)) for n in range(300) for symbol in "ab"]
    >>> words = sv.runs(sv.TransitionSystem.from_transitions(rows, initial="0"), length=5)
    >>> words.size, smallest(words).size, smallest(words).graph.state_count
    (32, 32, 6)
    """
    graph, length = language.graph, language.length
    if graph.state_count <= _FEW_STATES or language.public_start or graph.prior is not None:
        return language
    if graph.state_count * len(language.alphabet) > _MOST_ENTRIES:
        return language
    table = np.full((graph.state_count, len(language.alphabet)), -1, dtype=np.int64)
    table[graph.source, graph.symbol] = graph.target
    layers = _classes(language, table)
    if sum(len(layer) for layer in layers) + 1 > graph.state_count:
        return language
    begins = np.cumsum([0, *(len(layer) for layer in layers)])  # of each position; the last one has one state
    first, symbols, targets = [0], [], []
    for begin, layer in zip(begins[1:].tolist(), layers, strict=True):
        state, symbol = np.nonzero(layer >= 0)  # by state, then by symbol
        first += (first[-1] + np.cumsum(np.bincount(state, minlength=len(layer)))).tolist()
        symbols.append(symbol)
        targets.append(begin + layer[state, symbol])
    accepting = np.zeros(int(begins[-1]) + 1, dtype=np.bool_)
    accepting[-1] = True
    nothing = np.empty(0, dtype=np.int64)
    return RunLanguage(
        graph=WordGraph(
            alphabet=language.alphabet,
            start=0,
            first=np.array([*first, first[-1]], dtype=np.int64),
            symbol=np.concatenate([nothing, *symbols]).astype(np.int32),
            target=np.concatenate([nothing, *targets]).astype(np.int32),
            accepting=accepting,
        ),
        length=length,
    )


def _classes(language: RunLanguage, table: Numbers) -> list[Numbers]:
    """For each position its classes of states, as rows: the class of the next position for each symbol, or −1."""
    reached = [np.array([language.graph.start])]
    for left in reversed(range(language.length)):
        after = table[reached[-1]]
        seen = np.zeros(len(table), dtype=np.bool_)
        seen[after[after >= 0]] = True
        reached.append(np.flatnonzero(seen & language.alive[left]))
    number = np.full(len(table), -1, dtype=np.int64)
    number[reached[-1]] = 0
    layers: list[Numbers] = []
    for states in reversed(reached[:-1]):
        after = table[states]
        rows = np.where(after >= 0, number[np.maximum(after, 0)], -1)
        different, index = _unique_rows(rows)
        layers.append(rows[different])
        number = np.full(len(table), -1, dtype=np.int64)
        number[states] = index
    layers.reverse()
    return layers


def _unique_rows(rows: Numbers) -> tuple[Numbers, Numbers]:
    """The first place of each different row, and which of them each row is."""
    size = int(rows.max(initial=0)) + 2
    if size ** rows.shape[1] < 2**62:  # one number stands for a row: quicker to sort
        keys = (rows + 1) @ (size ** np.arange(rows.shape[1], dtype=np.int64))
        _, first, index = np.unique(keys, return_index=True, return_inverse=True)
    else:
        _, first, index = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, index.reshape(-1)
