"""What a certificate of a public model takes: numbers of multiplications, never a clock.

Which certificates are made depends on these alone, so that a mechanism has the same rate on every machine.
"""

from __future__ import annotations

import math

import numpy as np

from symveil.calibration.weighting import Weighting
from symveil.languages.runs import RunLanguage
from symveil.trellis.passes import Trellis, forward
from symveil.trellis.semirings import FLOATS

MOST_HALVES_WORK = 8e10
"""Multiplications for one rate, where all pairs of words are compared: some seconds."""
MOST_BYTES = 400 << 20
"""For the vectors of one table of halves of words."""
MOST_BALANCED_WORDS = 5000
"""Up to so many words graceful rates are proved with a balance, which takes all pairs twice for each rate."""
_COMPARING = 150.0  # what comparing a word with others takes, in multiplications
_NARROW = 0.75  # what three products of 32 bits take, in two of 64
_TWO_POSITIONS = 2
_MOST_QUICK_WORK, _QUICK_HALVES_WORK = 5_000, 1e10
_QUICK_SYMBOLS, _QUICK_ADJACENCY = 16, 2
"""Edges × symbols, multiplications, symbols and b up to which slower certificates take no longer than the quick one."""
_MOST_AUTOMATON_WORK = 1_000
"""Edges × symbols of automata, for b = 1: two seconds, for a rate a quarter larger than the quick certificate's."""


def all_certificates_are_quick(weighting: Weighting) -> bool:
    """Whether the slower certificates take seconds as the quick one does."""
    graph = weighting.language.graph
    work = graph.edge_count * max(weighting.language.length, 1)
    if work > _MOST_QUICK_WORK:
        return False
    if not graph.state_is_symbol:
        return weighting.adjacency == 1 and work <= _MOST_AUTOMATON_WORK
    few = len(weighting.language.alphabet) <= _QUICK_SYMBOLS and weighting.adjacency <= _QUICK_ADJACENCY
    return few or halves_work(weighting) <= _QUICK_HALVES_WORK


def halves_work(weighting: Weighting) -> float:
    """How many multiplications it takes to compare all pairs of words at one rate.

    Infinite where words are too many, too short, or no paths of a chain.
    """
    language, cost = weighting.language, weighting.cost
    graph = language.graph
    if not graph.state_is_symbol or not np.array_equal(graph.symbol, graph.target):
        return math.inf
    if language.length < weighting.adjacency + 3:
        return math.inf
    states = graph.edge_count + 1 if weighting.balanced else graph.state_count
    width = float(states * cost.phases)
    counts = _path_counts(language)
    length, public = language.length, language.public_start
    if weighting.adjacency == _TWO_POSITIONS:
        cut = halves_at(length, public_start=public)
        halves, multiplying = max(counts[cut], counts[length - cut]), _NARROW
    else:
        split = splits(length, weighting.adjacency, public_start=public)
        halves, multiplying = max(counts[split[1] - 1], counts[length - split[0] - 1]), 1.0
    # about: paths from the start
    return math.inf if halves * width * 8 > MOST_BYTES else 2 * counts[length] * (multiplying * width + _COMPARING)


def _path_counts(language: RunLanguage) -> list[float]:
    """How many words of each length begin at the start, in floats."""
    graph = language.graph
    words = Trellis(edges=graph, length=language.length, semiring=FLOATS, final=FLOATS.ends(graph.accepting))
    starts = FLOATS.ends(np.arange(graph.state_count) == graph.start)
    with np.errstate(over="ignore"):  # infinitely many are too many, which is all that matters
        return [float(layer.sum()) for layer in forward(words, starts)]


def splits(length: int, adjacency: int, *, public_start: bool) -> tuple[int, int]:
    """After how many symbols words are cut.

    >>> splits(9, 2, public_start=False)
    (3, 5)
    """
    first = max(2 if public_start else 1, (length - adjacency) // 2)
    return first, first + adjacency


def halves_at(length: int, *, public_start: bool) -> int:
    """After how many symbols words are cut: two at least are before it that adjacent words can differ in.

    >>> halves_at(9, public_start=False), halves_at(5, public_start=True)
    (5, 3)
    """
    return max(3 if public_start else 2, (length + 1) // 2)
