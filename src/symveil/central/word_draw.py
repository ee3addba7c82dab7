"""Words drawn from a learned law: every one is legal, and drawing more of them tells nothing more.

The chance of each step, given the position, the symbol and the zone of the first symbol, follows from the backward
sums. It is rounded to a multiple of 2⁻⁵³ that is 0 where it was 0; from the rounded chances draws are exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symveil.central.word_law import Floats, Trellis
from symveil.estimation.batches import Indices
from symveil.models.word import Codes, Lengths
from symveil.randomness import BitSource

_BITS = 53
_WEIGHTS_AT_ONCE = 8_000_000
"""Of the choices of one step, for all words that are drawn together: it bounds memory."""
_END = -1


def draw_words(trellis: Trellis, count: int, bits: BitSource) -> tuple[Codes, Lengths]:
    """So many words, one after the other, with their lengths.

    Parameters
    ----------
    trellis
        The sums of the law.
    count
        How many words.
    bits
        Where random bits come from.
    """
    support = trellis.support
    widest = int(np.bincount(support.source, minlength=1).max(initial=0))
    at_once = max(1, _WEIGHTS_AT_ONCE // (widest + support.longest + 1))
    backward = [sums[:, : support.zones] for sums in trellis.backward()]
    parts = [_drawn(trellis, backward, min(at_once, count - begin), bits) for begin in range(0, max(count, 1), at_once)]
    return np.concatenate([codes for codes, _ in parts]), np.concatenate([lengths for _, lengths in parts])


def _drawn(trellis: Trellis, backward: list[Floats], count: int, bits: BitSource) -> tuple[Codes, Lengths]:
    support = trellis.support
    order = np.lexsort((support.target, support.source))
    source, target = support.source[order], support.target[order]
    first = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=support.symbols))])
    widest = int(np.diff(first).max(initial=0))
    starts = (trellis.forward[0] * backward[0]).sum(axis=1)
    here = np.searchsorted(_ends(starts[None, :])[0], _uniform(count, bits), side="right")
    zone = support.zone[here]
    drawn = np.full((count, support.longest), _END, dtype=np.int32)
    drawn[:, 0] = here
    going = np.arange(count)
    for position in range(support.longest - 1):
        now, own = drawn[going, position], zone[going]
        stop, weight = trellis.ending(position)[now, own], trellis.onward(position)[order]
        edge = first[now][:, None] + np.arange(widest)
        there = edge < first[now + 1][:, None]
        edge = np.where(there, edge, 0)
        onward = np.where(there, weight[edge] * backward[position + 1][target[edge], own[:, None]], 0.0)
        picked = _chosen(np.concatenate([stop[:, None], onward], axis=1), bits)
        goes = picked > 0
        drawn[going[goes], position + 1] = target[edge[goes, picked[goes] - 1]]
        going = going[goes]
        if not len(going):
            break
    lengths = (drawn != _END).sum(axis=1)
    return drawn[drawn != _END], lengths


def _chosen(weights: Floats, bits: BitSource) -> Indices:
    """One column of each row, with chances in proportion to its weights; never one without weight.

    >>> from symveil.randomness import NotPrivateSeededBits
    >>> _chosen(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]), NotPrivateSeededBits(1)).tolist()
    [1, 0]
    """
    return np.asarray((_uniform(len(weights), bits)[:, None] >= _ends(weights)).sum(axis=1), dtype=np.int64)


def _ends(weights: Floats) -> NDArray[np.uint64]:
    """Where the share of each column ends, of 2⁵³; that of the last column with weight, and all after it, at 2⁵³."""
    sums = np.cumsum(weights, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        ends = np.floor(sums / sums[:, -1:] * 2.0**_BITS).astype(np.uint64)
    last = weights.shape[1] - 1 - np.argmax(weights[:, ::-1] > 0, axis=1)
    ends[np.arange(weights.shape[1]) >= last[:, None]] = np.uint64(1 << _BITS)
    return np.asarray(ends)


def _uniform(count: int, bits: BitSource) -> NDArray[np.uint64]:
    return np.asarray(bits.words(count) >> np.uint64(64 - _BITS))
