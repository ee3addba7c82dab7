"""The loss of a language of many short words: beginnings and ends of words are listed, and meet in the middle.

See docs/theory/two-sided.md, *Words that are halves*. Z(w) of a word is a product α·β of what its beginning and its end
are worth, so a table of beginnings times a table of ends has Z of every word: a hundred million words from some
ten thousand halves. Every pair of words that differ in one block is then compared, however large the rate is. What is
proved for blocks is exact, and for one hidden symbol so is the loss; for two hidden symbols see `meeting_places`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction

import numpy as np
from scipy import sparse

from symveil.calibration.calibrate import Weighting
from symveil.calibration.costs.loss import ProvedLoss, total_over_blocks
from symveil.calibration.costs.outcome import Outcome
from symveil.calibration.costs.pairs import pair_losses
from symveil.calibration.meeting_blocks import MOST_BYTES, BlockComparison, splits
from symveil.calibration.meeting_groups import Worst
from symveil.calibration.meeting_places import PlacesComparison, TooLight, halves_at
from symveil.calibration.meeting_tables import HalfTables
from symveil.languages.runs import RunLanguage
from symveil.laws.guarantee import How

_COMPARING = 150.0  # what comparing a word with others takes, in multiplications
_NARROW = 0.75  # what three products of 32 bits take, in two of 64
_TWO_PLACES = 2


def meeting_work(weighting: Weighting) -> float:
    """How many multiplications one rate takes; infinite where words are too many, too short, or no paths of a chain."""
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
    if weighting.adjacency == _TWO_PLACES:
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
    steps = sparse.csr_array(
        (np.ones(graph.edge_count), (graph.source, graph.target)), shape=(graph.state_count, graph.state_count)
    )
    now = np.zeros(graph.state_count)
    now[graph.start] = 1.0
    counts = [1.0]
    with np.errstate(over="ignore"):  # infinitely many are too many, which is all that is asked
        for _ in range(language.length):
            now = steps.T @ now
            counts.append(float(now.sum()))
    return counts


def met_loss(
    weighting: Weighting,
    rate: Fraction,
    *,
    epsilon: Fraction | None = None,
    heard: Callable[[float], None] | None = None,
) -> ProvedLoss | None:
    """The loss at a rate from the blocks of all pairs of words; None where weights leave the range of floats.

    Parameters
    ----------
    weighting
        The language with its costs, prior and adjacency, `meeting_work` of which is affordable.
    rate
        η of the exponential weights, or the height of a staircase's steps.
    epsilon
        If given, the search ends at the first block that alone is above it: the classic bound, with `reached` as what
        the block is worth, and its words.
    heard
        Is told which share of the work is done, and may raise an exception.

    >>> import symveil as sv
    >>> from symveil.languages.costs import hamming
    >>> words = sv.runs(sv.MarkovChain.from_transitions([(a, b, "1/3") for a in "abc" for b in "abc"]), length=8)
    >>> found = met_loss(Weighting(language=words, cost=hamming(words), adjacency=1), Fraction(2))
    >>> round(float(found.loss), 9), found.how                               # on Σⁿ exactly η
    (2.0, 'exact')
    """
    classic = 2 * weighting.drops * rate
    if classic == 0:
        return ProvedLoss(classic, "exact")
    tables = HalfTables(weighting, weighting.weights(rate))
    if not tables.is_bounded:
        return None
    if weighting.adjacency == _TWO_PLACES and tables.costs_alike:
        if PlacesComparison.is_narrow(tables, float(classic / 2 if epsilon is None else epsilon)):
            with suppress(TooLight):
                return _compared(PlacesComparison(tables, narrow=True), tables, rate, epsilon, heard or _silent)
        return _compared(PlacesComparison(tables, narrow=False), tables, rate, epsilon, heard or _silent)
    return _compared(BlockComparison(tables), tables, rate, epsilon, heard or _silent)


def _compared(
    comparison: BlockComparison | PlacesComparison,
    tables: HalfTables,
    rate: Fraction,
    epsilon: Fraction | None,
    told: Callable[[float], None],
) -> ProvedLoss:
    weighting, worst = tables.weighting, Worst()
    steep = weighting.cost.period > 1
    fixed = weighting.drops * rate
    most = math.inf if epsilon is None else float(epsilon - fixed if steep else epsilon)
    told(0.0)
    for share in comparison.compare(worst):
        told(share)
        if worst.value > most:
            reached = worst.value + (float(fixed) if steep else 0.0)
            return ProvedLoss(2 * fixed, "classic", pairs=worst.pairs[:1], reached=reached)
    widening = comparison.rounding(worst.largest_log)
    outcomes = {kind: Outcome(high=value + widening, exists=True) for kind, (value, _) in worst.found.items()}
    over_blocks = total_over_blocks(outcomes, tables.steps, weighting.adjacency)
    bound = fixed + min(fixed, over_blocks) if steep else over_blocks
    pairs = worst.pairs
    losses = [0.0]
    if pairs:
        losses = pair_losses(weighting, rate, *(np.stack(each) for each in zip(*pairs, strict=True))).tolist()
    how: How = "exact" if weighting.adjacency == 1 and not steep else "certified"
    return ProvedLoss(min(bound, 2 * fixed), how if bound < 2 * fixed else "classic", max(losses), pairs)


def _silent(_: float) -> None:
    """Where nobody wants to know."""
