"""What one certificate takes, and whether that can be afforded: see `limits`."""

from __future__ import annotations

import math

import numpy as np

from symveil.calibration.limits import LIMITS
from symveil.calibration.weighting import Weighting
from symveil.languages.runs import RunLanguage
from symveil.trellis.passes import Trellis, forward
from symveil.trellis.semirings import FLOATS

_COMPARING = 150.0  # what comparing a word with others takes, in multiplications
_NARROW = 0.75  # what three products of 32 bits take, in two of 64
_TWO_POSITIONS = 2


def all_certificates_are_quick(weighting: Weighting) -> bool:
    """Whether the slower certificates take seconds as the quick one does."""
    graph = weighting.language.graph
    work = graph.edge_count * max(weighting.language.length, 1)
    if work > LIMITS.now.quick_work:
        return False
    if not graph.state_is_symbol:
        return weighting.adjacency == 1 and work <= LIMITS.now.quick_automaton_work
    few = len(weighting.language.alphabet) <= LIMITS.now.quick_symbols
    return (few and weighting.adjacency <= LIMITS.now.quick_adjacency) or is_quick_by_halves(weighting)


def is_compared_by_halves(weighting: Weighting) -> bool:
    """Whether all pairs of words are compared, where words are too many to be enumerated."""
    return halves_work(weighting) <= LIMITS.now.halves_work


def is_quick_by_halves(weighting: Weighting) -> bool:
    """Whether that takes a second or two."""
    return halves_work(weighting) <= LIMITS.now.quick_halves_work


def halves_work(weighting: Weighting) -> float:
    """How many multiplications it takes to compare all pairs of words at one rate.

    Infinite where words are too many, too short, or no paths of a chain.
    """
    language, cost = weighting.language, weighting.cost
    graph = language.graph
    if not graph.is_chain:
        return math.inf
    length, public = language.length, language.public_start
    split = splits(length, weighting.adjacency, public_start=public)
    two = weighting.adjacency == _TWO_POSITIONS
    if length <= (2 + _TWO_POSITIONS if two else split[1]):  # no symbol after the last cut
        return math.inf
    states = graph.edge_count + 1 if weighting.balanced else graph.state_count
    width = float(states * cost.phases)
    counts = _path_counts(language)
    if two:
        cut = halves_at(length, public_start=public)
        halves, multiplying = max(counts[cut], counts[length - cut]), _NARROW
    else:
        halves, multiplying = max(counts[split[1] - 1], counts[length - split[0] - 1]), 1.0
    # about: paths from the start
    if halves * width * 8 > LIMITS.now.halves_bytes:
        return math.inf
    return 2 * counts[length] * (multiplying * width + _COMPARING)


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
