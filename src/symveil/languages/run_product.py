"""The product of a word's Hamming automaton with a model: its size, and a drawing (J19 §VI, B26 Definition 6, Z25 §5).

A state is (position, errors so far, state of the model). Trimmed: reachable, and a full word can
still be completed.

How errors build up along a word: the product automaton summed over the states of the model.

The product of a word's Hamming automaton with a model has thousands of states; drawn, it is a
hairball. Summed over the model's states it is a grid, position × errors, as for the free language.
For words at distance ℓ the grid holds the share of them that passes each cell, and the share that
errs next: Σ_y F(i, e, y)·V(i, ℓ−e, y) over all of them, with F counted forwards and V backwards
(docs/theory/hidden-lengths.md). Floats, scaled at every step: these numbers are for pictures only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError, TooLargeError
from symveil.graphs.csr import Csr
from symveil.languages.free import FreeLanguage
from symveil.languages.limits import LIMITS
from symveil.languages.run_counts import RunNeighbours
from symveil.languages.runs import RunLanguage
from symveil.models.alphabet import Codes
from symveil.pictures.diagram import Diagram, Edge, Node
from symveil.pictures.layers import merged
from symveil.pictures.text import count_label, probability_label, superscript, symbol_label
from symveil.trellis.passes import Trellis, forward, scaled_backward, scaled_forward
from symveil.trellis.semirings import BOOLEANS, FLOATS, ByDistance

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
    graph, by_errors = language.graph, ByDistance(BOOLEANS)

    def worth(position: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        differs = graph.symbol != codes[position]
        usable = language.alive[language.length - position - 1][graph.target]
        return differs, usable & ~differs if position == 0 and language.public_start else usable

    product = Trellis(
        edges=graph, length=len(codes), semiring=by_errors, final=by_errors.ends(graph.accepting), worth=worth
    )
    start, states, edges = by_errors.ends(np.arange(graph.state_count) == graph.start), 0, 0
    for position, reached in enumerate(forward(product, start)):
        states += int(np.count_nonzero(reached))
        if position < len(codes):
            edges += int(np.count_nonzero(product.along(position, reached)))
    return AutomatonSize(states, edges)


def product_diagram(
    language: RunLanguage,
    codes: Codes,
    *,
    exactly: int,
    state_label: Callable[[int], str] | None = None,
    most_states: int | None = None,
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
    words_there = near.count(exactly)
    if words_there == 0:
        possible = [distance for distance, count in enumerate(near.counts()) if count]
        raise ParameterError("distance", expected=f"one of {possible}, which have words", found=exactly)
    ways = _reachable_ways(language, codes, near, exactly)
    most_states = LIMITS.now.drawn_product_states if most_states is None else most_states
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
        title=f"Distance exactly {exactly} · {count_label(words_there)} word{'' if words_there == 1 else 's'}",
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


Floats = NDArray[np.float64]

LONGEST_WORD = 150  # beyond it the counts of one layer leave the range of floats


@dataclass(frozen=True, slots=True, eq=False)
class ErrorGrid:
    """passing[i, e, ℓ]: the share of the words at distance ℓ with e errors after i symbols; erring: that err next."""

    passing: Floats
    erring: Floats

    def mixed(self, law: Floats) -> tuple[Floats, Floats]:
        """The grid of a law of the distance: P(i, e), and μ(i, e), the probability that the next symbol is an error."""
        if law.shape != self.passing.shape[2:]:
            raise ParameterError("law", expected=f"{self.passing.shape[2]} probabilities", found=str(law.shape))
        through, errs = self.passing @ law, self.erring @ law
        rate = np.divide(errs, through, out=np.zeros_like(errs), where=through > 0)
        return through, np.minimum(rate, 1.0)


def error_grid(language: FreeLanguage | RunLanguage, codes: Codes) -> ErrorGrid:
    """The grid of a word; it does not depend on any mechanism, only its mixture does.

    >>> from symveil.languages.free import words
    >>> language = words("abc", 2)
    >>> grid = error_grid(language, language.encode("ab"))
    >>> grid.passing[1].tolist()                 # after one symbol: rows are errors, columns distances
    [[1.0, 0.5, 0.0], [0.0, 0.5, 1.0], [0.0, 0.0, 0.0]]
    """
    length, runs = len(codes), language.runs
    states = 1 if runs is None else runs.graph.state_count
    if length > LONGEST_WORD or length**2 * states > LIMITS.now.grid_entries:
        raise TooLargeError(
            f"grid of errors: expected at most {LONGEST_WORD} symbols and {LIMITS.now.grid_entries} entries, "
            "found more; use a shorter word or a smaller model"
        )
    trellis, start = _free_trellis(language, length) if runs is None else _run_trellis(runs, codes)
    edges, worth = trellis.edges, trellis.worth
    assert worth is not None  # noqa: S101 - both have one
    behind, logs = scaled_backward(trellis, None)
    passing, erring = np.zeros((2, length + 1, length + 1, length + 1))
    for position, (before, _) in enumerate(scaled_forward(trellis, start, None)):
        _add_met(passing[position], before, behind[position])
        whole = passing[position].sum(axis=0)
        share = np.divide(1.0, whole, out=np.zeros_like(whole), where=whole > 0)
        if position < length:
            differs, weight = worth(position)
            after = behind[position + 1][edges.target[differs]]
            after = after if weight is None else after * weight[differs, None]
            _add_met(erring[position], before[edges.source[differs]], after, errors=1)
            # on the same scale as `passing`
            erring[position] *= share * np.exp(logs[position + 1] - logs[position])
        passing[position] *= share
    return ErrorGrid(passing, erring)


def _add_met(grid: Floats, before: Floats, after: Floats, errors: int = 0) -> None:
    """Σ over rows of F(e)·V(ℓ−e): entry (e, ℓ); with `errors` more in between."""
    for made, row in enumerate(before.T @ after):
        grid[made, made + errors : made + errors + len(row)] += row


_BY_ERRORS = ByDistance(FLOATS)


def _free_trellis(language: FreeLanguage | RunLanguage, length: int) -> tuple[Trellis, Floats]:
    """One state with two edges: the word's own symbol, and all the others together."""
    edges = Csr(first=np.array([0, 2]), target=np.zeros(2, dtype=np.int64))
    worth = np.array([False, True]), np.array([1.0, len(language.alphabet) - 1.0])
    one = _BY_ERRORS.ends(np.array([True]))
    return Trellis(edges=edges, length=length, semiring=_BY_ERRORS, final=one, worth=lambda _: worth), one


def _run_trellis(language: RunLanguage, codes: Codes) -> tuple[Trellis, Floats]:
    """The graph of a model around a word; its first symbol may be given."""
    graph = language.graph

    def worth(position: int) -> tuple[NDArray[np.bool_], Floats | None]:
        differs = graph.symbol != codes[position]
        return differs, np.where(differs, 0.0, 1.0) if position == 0 and language.public_start else None

    ends, begin = (_BY_ERRORS.ends(each) for each in (graph.accepting, np.arange(graph.state_count) == graph.start))
    return Trellis(edges=graph, length=len(codes), semiring=_BY_ERRORS, final=ends, worth=worth), begin
