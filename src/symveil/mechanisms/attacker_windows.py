"""What a promise allows an attacker at most: bounds by windows, on languages that are written out and on large models.

A class of words with a loss of at most e between any two of them, in which the likeliest symbol has the chance p, lets
no guess be right with more than B(e, p) = e^e·p/(1 + (e^e − 1)p). The words that agree outside a window around position
i are such classes, and to know the class only helps. One window serves all words of a position: the smallest average
over windows is a bound, the average of the smallest ones is none (docs/theory/losses.md).

On a large model the averages are sampled. The windows are chosen by some of the drawn words and judged by others, so
that the choice does not make the average too small: one upper confidence limit is enough, however many were tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.languages.runs import RunLanguage
from symveil.laws.losses import most_right_of
from symveil.laws.protection import uniform_words
from symveil.mechanisms.limits import LIMITS
from symveil.models.alphabet import Codes

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Losses = Callable[[int], float]
"""A proved bound on the loss between words that differ in so many places."""

FAILS = 0.05
"""How often an interval or a limit may miss."""

_CHOOSING, _FEWEST_JUDGING = 40, 60  # words


# --- languages that are written out -------------------------------------------------------------


def largest_share(group: NDArray[np.integer[Any]], symbols: Codes) -> tuple[Indices, Indices]:
    """Of each group of words: how many have the symbol that most of them have, and how many there are.

    >>> most, own = largest_share(np.array([0, 0, 0, 1]), np.array([5, 6, 6, 7], dtype=np.int32))
    >>> most.tolist(), own.tolist()
    ([2, 1], [3, 1])
    """
    pairs, counts = np.unique(group.astype(np.int64) << 32 | symbols, return_counts=True)
    first = np.flatnonzero(np.diff(pairs >> 32, prepend=-1))
    return np.maximum.reduceat(counts, first), np.add.reduceat(counts, first)


def promised_by_enumeration(words: Codes, known: Codes, begin: int, losses: Losses) -> float:
    """For each position the best window, the same for all words; the mean of that over positions.

    Each word is as likely as any other; `known` numbers what is public of it, and its symbols are secret from `begin`
    on.
    """
    count, length = words.shape
    least = np.ones(length)
    for width in range(1, min(length - begin, LIMITS.now.window_positions) + 1):
        loss = losses(width)
        if not math.isfinite(loss):
            break  # wider windows promise no more
        for left in range(begin, length - width + 1):
            outside = np.column_stack([known, words[:, :left], words[:, left + width :]])
            _, group = np.unique(outside, axis=0, return_inverse=True)
            for position in range(left, left + width):
                most, own = largest_share(group.reshape(-1), words[:, position])
                bound = float((own * most_right_of(loss, most / own)).sum()) / count
                least[position] = min(least[position], bound * (1 + 1e-12))
    return float(least[begin:].mean())


# --- large models --------------------------------------------------------------------------------


def promised_by_sampling(language: RunLanguage, losses: Losses, whole: Floats) -> float:
    """An upper confidence limit of the same on a model of any size, right in 95 of 100 sets of draws.

    `whole` has for each secret position the chance of the likeliest symbol before anything is released. All words that
    begin alike are one class too, and B is concave in p, so that the mean of p stands for all starts.
    """
    begin, length = int(language.public_start), language.length
    at_all = most_right_of(losses(length - begin), whole)
    words = uniform_words(language, _CHOOSING + LIMITS.now.judging_words)
    chosen, work = _choose_windows(language, words[:_CHOOSING], losses, at_all)
    judging = int(
        min(LIMITS.now.judging_words, max(_FEWEST_JUDGING, LIMITS.now.window_work * _CHOOSING // max(work, 1)))
    )
    rows = words[_CHOOSING : _CHOOSING + judging]
    bound = np.tile(at_all, (judging, 1))
    for (left, right), positions in chosen.items():
        loss, shares = losses(right - left), _shares_of_one_window(language, rows, left, right)
        for position in positions:
            bound[:, position - begin] = most_right_of(loss, shares[:, position - left])
    by_word = bound.mean(axis=1)  # independent numbers in [0, 1] with windows that do not depend on these words
    return mean_interval(float(by_word.mean()), judging, fails=2 * FAILS)[1]


def _choose_windows(
    language: RunLanguage, words: Codes, losses: Losses, at_all: Floats
) -> tuple[dict[tuple[int, int], list[int]], int]:
    """The window with the smallest average for each position that has a better one than all words that begin alike.

    And how many edges the windows have that were chosen.
    """
    begin, length = int(language.public_start), language.length
    least, best = at_all.copy(), np.full((length, 2), -1)
    works: dict[tuple[int, int], int] = {}
    spent = 0
    for left in range(begin, length):
        for right, shares, work in _windows(language, words, left, min(length, left + LIMITS.now.window_positions)):
            loss = losses(right - left)
            spent += work
            if not math.isfinite(loss) or spent > LIMITS.now.window_work * (left - begin + 1) // (length - begin):
                break
            works[left, right] = work
            for position in range(left, right):
                bound = float(most_right_of(loss, shares[:, position - left]).mean())
                if bound < least[position - begin]:
                    least[position - begin], best[position] = bound, (left, right)
    chosen: dict[tuple[int, int], list[int]] = {}
    for position, (left, right) in enumerate(best.tolist()):
        if right > 0:
            chosen.setdefault((left, right), []).append(position)
    return chosen, sum(works[window] for window in chosen)


def _shares_of_one_window(language: RunLanguage, words: Codes, left: int, right: int) -> Floats:
    """The last of the windows from `left`, in pieces, so that little memory is needed."""
    pieces = []
    for start in range(0, len(words), _CHOOSING):
        for end, shares, _ in _windows(language, words[start : start + _CHOOSING], left, right, limit=None):
            if end == right:
                pieces.append(shares)
    return np.concatenate(pieces)


def _windows(
    language: RunLanguage, words: Codes, left: int, last: int, *, limit: int | None = LIMITS.now.window_edges
) -> Iterator[tuple[int, Floats, int]]:
    """For windows from `left` to left + 1 … `last`: the chance of the likeliest symbol at each of their positions among
    the words that agree with each row outside, and how many edges that took. Ends where there are more than `limit`.

    The edges of a window are those that its words can take: each layer has states of its own, and the layers before it
    serve all windows from `left`, which a pass over a trellis of one window would go over again."""
    graph, states = language.graph, language.walk(words)
    row, state, ways = np.arange(len(words)), states[:, left].astype(np.int64), np.ones(len(words))
    steps: list[tuple[Indices, Floats, Indices, Indices, Indices]] = []
    work = 0
    for position in range(left, last):
        if limit is not None and graph.degrees[state].sum() > limit:
            return
        begin, edge = graph.expand(state)
        known, to = np.unique(row[begin] * graph.state_count + graph.target[edge], return_inverse=True)
        steps.append((row, ways, begin, edge, to.reshape(-1)))
        ways = np.bincount(steps[-1][4], weights=ways[begin]).astype(np.float64)
        row, state = known // graph.state_count, known % graph.state_count
        work += len(edge)
        if limit is None and position + 1 < last:
            continue  # only the last window is asked for
        after = _reads_on(language, words, states, row, state, position + 1).astype(np.float64)
        shares = np.empty((len(words), len(steps)))
        for index in reversed(range(len(steps))):
            own, before, begin, edge, to = steps[index]
            through = before[begin] * after[to]
            shares[:, index] = _likeliest(own[begin], graph.symbol[edge], through, len(words), len(graph.alphabet))
            after = np.bincount(begin, weights=after[to], minlength=len(own)).astype(np.float64)
        yield position + 1, shares, work


def _likeliest(row: Indices, symbol: Codes, ways: Floats, rows: int, size: int) -> Floats:
    """Of each row the share of the symbol that most ways read."""
    known, group = np.unique(row * size + symbol, return_inverse=True)
    sums = np.bincount(group.reshape(-1), weights=ways)
    most = np.zeros(rows)
    np.maximum.at(most, known // size, sums)
    return np.asarray(most / np.bincount(row, weights=ways, minlength=rows))


def _reads_on(
    language: RunLanguage, words: Codes, states: NDArray[np.int32], row: Indices, state: Indices, position: int
) -> NDArray[np.bool_]:
    """Whether the rest of each row's word, from `position` on, can be read from another state than its own."""
    possible = np.ones(len(row), dtype=np.bool_)
    apart = np.flatnonzero(state != states[row, position])  # from its own state every word reads on
    here = state[apart]
    for at in range(position, language.length):
        if not len(apart):
            return possible
        edge = language.edge_numbers(here, words[row[apart], at])
        possible[apart[edge < 0]] = False
        here = language.graph.target[edge].astype(np.int64)
        going = (edge >= 0) & (here != states[row[apart], at + 1])
        apart, here = apart[going], here[going]
    possible[apart] = language.graph.accepting[here]
    return possible


def mean_interval(mean: float, draws: int, *, fails: float = FAILS) -> tuple[float, float]:
    """Where the expectation of numbers in [0, 1] lies: all μ whose relative entropy from the mean is at most ln(2/δ)/t.

    By Chernoff's bound, with Hoeffding's lemma for numbers between 0 and 1: it misses with a chance of at most δ, at
    any t, on each side with at most δ/2, and is never wider than Hoeffding's interval.

    The draws are t, and the chance of missing is δ (`fails`).

    >>> [round(end, 3) for end in mean_interval(0.9, 200)]
    [0.833, 0.948]
    """
    limit = math.log(2 / fails) / draws

    def end(low: float, high: float) -> float:
        """From inside the interval at `low` to the edge outside, towards `high`."""
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if _relative_entropy(mean, middle) <= limit else (low, middle)
        return high

    return end(mean, 0.0), end(mean, 1.0)


def _relative_entropy(mean: float, other: float) -> float:
    terms = [(mean, other), (1 - mean, 1 - other)]
    return math.fsum(p * math.log(p / q) if p and q else math.inf if p else 0.0 for p, q in terms)
