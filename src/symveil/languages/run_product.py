"""The product of a word's Hamming automaton with a model: its size, and a drawing (J19 §VI, B26 Definition 6, Z25 §5).

A state is (position, errors so far, state of the model). Trimmed: reachable, and a full word can
still be completed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from symveil.errors import ParameterError, TooLargeError
from symveil.languages.run_counts import RunNeighbours
from symveil.languages.runs import RunLanguage
from symveil.models.word import Codes
from symveil.pictures.diagram import Diagram, Edge, Node
from symveil.pictures.labels import count_label, probability_label, superscript, symbol_label
from symveil.pictures.state_diagram import merged

MOST_STATES_DRAWN = 150

Key = tuple[int, int, int]
"""(position, errors, state)."""


@dataclass(frozen=True, slots=True)
class AutomatonSize:
    """How many states and edges an automaton has."""

    state_count: int
    edge_count: int


def product_size(language: RunLanguage, codes: Codes) -> AutomatonSize:
    """The size of the product for all distances, by one forward pass.

    >>> from symveil.languages.runs import runs
    >>> from symveil.models.markov_chain import MarkovChain
    >>> chain = MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> language = runs(chain, length=3)
    >>> product_size(language, language.encode("aba"))
    AutomatonSize(state_count=11, edge_count=10)
    """
    graph = language.graph
    source = np.repeat(np.arange(graph.state_count), np.diff(graph.first))
    # reached[y, e]: state y with e errors
    reached = np.zeros((graph.state_count, 1), dtype=np.bool_)
    reached[graph.start] = True
    states, edges = 1, 0
    for position, own in enumerate(codes):
        usable = language.alive[language.length - position - 1][graph.target]
        if position == 0 and language.public_start:
            usable = usable & (graph.symbol == own)
        following = np.zeros((graph.state_count, reached.shape[1] + 1), dtype=np.bool_)
        for differs in (False, True):
            chosen = usable & ((graph.symbol != own) == differs)
            from_edge = reached[source[chosen]]
            edges += int(np.count_nonzero(from_edge))
            span = slice(1, None) if differs else slice(0, -1)
            np.logical_or.at(following[:, span], graph.target[chosen], from_edge)
        reached = following
        states += int(np.count_nonzero(reached))
    return AutomatonSize(states, edges)


def product_diagram(
    language: RunLanguage,
    codes: Codes,
    *,
    exactly: int,
    state_label: Callable[[int], str] | None = None,
    most_states: int = MOST_STATES_DRAWN,
) -> Diagram:
    """The product for words at exactly one distance, with V and μ as in J19 Fig. 4 and B26 Fig. 3.

    The word need not be one of the language: with the language of safe observations and a sensitive
    word this is Z25's modified Levenshtein automaton (Z25 Fig. 7 and 10). `state_label` spells a
    state of the language's graph, on several lines if need be.

    >>> from symveil.languages.runs import runs
    >>> from symveil.models.automaton import TransitionSystem
    >>> safe = TransitionSystem.from_transitions([("0", "a", "1"), ("1", "c", "2"), ("0", "b", "2")], initial="0")
    >>> language = runs(safe, length=1)
    >>> diagram = product_diagram(language, [1], exactly=1, state_label=lambda state: f"{{{state}}}")  # not a word
    >>> diagram.title, [node.label for node in diagram.nodes], [edge.label for edge in diagram.edges]
    ('Distance exactly 1 · 2 words', [('{0}', '0⁰'), ('{1}', '1¹'), ('{2}', '1¹')], ['a', 'b'])
    """
    spell = state_label or partial(_state_label, language)
    near = RunNeighbours(language, codes)
    found = near.count(exactly)
    if found == 0:
        possible = [distance for distance, count in enumerate(near.counts()) if count]
        raise ParameterError("distance", expected=f"one of {possible}, which have words", found=exactly)
    ways = _reachable_ways(language, codes, near, exactly)
    if len(ways) > most_states:
        raise TooLargeError(
            f"drawing: expected at most {most_states} states, found {len(ways)}; draw a shorter word or a "
            "smaller distance",
        )
    rows = _rows(ways)
    nodes = tuple(
        Node(
            key=key,
            column=key[0],
            row=rows[key],
            label=(*spell(key[2]).splitlines(), f"{key[0]}{superscript(key[1])}"),
            value=count_label(count),
            initial=key[0] == 0,
            accepting=key[0] == language.length,
        )
        for key, count in ways.items()
    )
    edges = merged(
        Edge(
            source=(position, errors, state),
            target=target,
            label=symbol_label(language.alphabet.symbols[symbol]),
            annotation=probability_label(Fraction(ways[target], count)),
        )
        for (position, errors, state), count in ways.items()
        for symbol, target in _moves(language, codes, (position, errors, state))
        if target in ways
    )
    return Diagram(
        title=f"Distance exactly {exactly} · {count_label(found)} word{'' if found == 1 else 's'}",
        nodes=nodes,
        edges=edges,
        label_meaning="state of the model; iᵉ: after i symbols, e errors",
        value_meaning="V: ways to finish",
        annotation_meaning="μ: probability of a symbol" if edges else "",
    )


def _rows(ways: dict[Key, int]) -> dict[Key, int]:
    """Each column sorted by errors, then state, and centred: the picture stays as high as its fullest column."""
    columns: dict[int, list[Key]] = {}
    for key in sorted(ways):
        columns.setdefault(key[0], []).append(key)
    fullest = max(map(len, columns.values()))
    return {key: (fullest - len(column)) // 2 + rank for column in columns.values() for rank, key in enumerate(column)}


def _moves(language: RunLanguage, codes: Codes, key: Key) -> list[tuple[int, Key]]:
    position, errors, state = key
    graph = language.graph
    if position == language.length:
        return []
    own = int(codes[position])
    fixed = position == 0 and language.public_start
    return [
        (int(graph.symbol[e]), (position + 1, errors + (int(graph.symbol[e]) != own), int(graph.target[e])))
        for e in graph.edges(state)
        if not fixed or int(graph.symbol[e]) == own
    ]


def _reachable_ways(language: RunLanguage, codes: Codes, near: RunNeighbours, exactly: int) -> dict[Key, int]:
    """V of every state on a path to acceptance, from the start on."""
    start = (0, 0, language.graph.start)
    ways = {start: near.count(exactly)}
    layer = [start]
    while layer:
        following = []
        for key in layer:
            for _, target in _moves(language, codes, key):
                count = near.ways(target[0], exactly - target[1], target[2])
                if count and target not in ways:
                    ways[target] = count
                    following.append(target)
        layer = following
    return ways


def _state_label(language: RunLanguage, state: int) -> str:
    if language.graph.state_is_symbol and state < len(language.alphabet):
        return symbol_label(language.alphabet.symbols[state])
    return "start" if state == language.graph.start else f"q{state}"
