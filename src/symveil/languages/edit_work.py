"""How much work counting words by Levenshtein distance is, bounded for every word at once.

See docs/theory/levenshtein-balls.md.
Whether a mechanism answers must not depend on the secret word, so what `EditNeighbours` will do is bounded
beforehand, from the language, the public bound N on the length and the distance k alone.

A profile after j symbols holds e(δ), δ = −min(j, k) … k: the least edits that lead to the word's first j+δ
symbols, capped at k+1. Neighbouring entries of a row of the textbook's table differ by at most 1, |δ| ≤ e(δ),
and e(−j) = j where j ≤ k. The sequences with these properties, one entry at most k, are counted below: no
word has more profiles in layer j. A node is a profile and a state of the model, and no state has more nodes
than words of j symbols lead to it.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from symveil.languages.graph import WordGraph

_MANY = 10.0**18
# beyond this distance there are more profiles than `_MANY`
_FAR = 24


def most_edges(*, symbols: int, within: int, max_length: int, graph: WordGraph | None = None) -> float:
    """No `EditNeighbours` has more edges, whatever its word of up to `max_length` symbols; ∞ for very many.

    >>> most_edges(symbols=2, within=1, max_length=3)       # 2 from the start, 4 from two words, 8 from four
    14.0
    """
    total = 0.0
    if graph is None:
        # a group of symbols is one edge: each symbol near in the word, and all others together
        groups, words = min(symbols, 2 * within + 2), 1.0
        for position in range(max_length):
            total += min(most_profiles(within, position), words) * groups
            words = min(words * symbols, _MANY)
    else:
        leaving = np.diff(graph.first)
        source = np.repeat(np.arange(graph.state_count), leaving)
        paths = np.zeros(graph.state_count)
        paths[graph.start] = 1
        for position in range(max_length):
            total += float(np.minimum(paths, most_profiles(within, position)) @ leaving)
            paths = np.minimum(np.bincount(graph.target, paths[source], graph.state_count), _MANY)
    return total if total < _MANY else math.inf


def most_profiles(within: int, position: int) -> float:
    """No word has more profiles of the universal automaton after `position` symbols are read.

    >>> [most_profiles(within, 10) for within in range(5)]
    [1.0, 8.0, 50.0, 322.0, 2187.0]
    """
    return _most_profiles(within, min(position, within + 1))


@lru_cache(maxsize=1024)
def _most_profiles(within: int, position: int) -> float:
    if within > _FAR:
        return _MANY  # the number of words may still be small
    cap = within + 1
    begin = -min(within, position)
    first = [position] if position <= within else [within, cap]
    ways = dict.fromkeys(first, 1)
    for shift in range(begin + 1, within + 1):
        ways = {
            value: sum(ways.get(before, 0) for before in (value - 1, value, value + 1))
            for value in range(abs(shift), cap + 1)
        }
    everywhere_far = 1 if cap in first else 0  # the sequence of caps alone is no profile
    return float(min(sum(ways.values()) - everywhere_far, int(_MANY)))
