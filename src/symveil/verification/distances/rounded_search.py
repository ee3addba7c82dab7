"""The bracket of a long search in floats that are rounded against the claim (why both ends hold: `search_loops`).

Words are extended in the same order as in `bracket`, and merged where (p; r) are proportional up to rounding. That is
tens of times as fast as rationals and costs about 1e-12 of width, so it is for those searches that would stop
with a gap anyway, at the width or the limit asked for. Where a search comes to an end by itself, or is short, or where
the digits of floats would show, there is no rounded answer, and rationals give theirs, which may be exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from symveil.numbers.conversions import float_at_least, float_at_most
from symveil.numbers.progress import Progress
from symveil.verification.distances import search_loops as loops
from symveil.verification.distances.distances import CompiledBound
from symveil.verification.distances.tables import TINY, ChainTable
from symveil.verification.linear_systems import Floats, Integers

FINEST = Fraction(1, 10**9)  # the narrowest bracket that is left to floats
_SHORT = 64  # nodes: rationals take milliseconds for these
SHOWING = 1e-3  # of the width, if what rounding adds is more than that, rationals are worth their time
_ROOM = 4096
_PAUSE = 4096  # visits


@dataclass(frozen=True, slots=True)
class RoundedEnds:
    """lower ≤ lv ≤ upper, both proved, and how many kinds of words it took.

    `all_read`: every node was read further, so that rationals might solve for the value itself.
    """

    lower: Fraction
    upper: Fraction
    nodes: int
    all_read: bool

    def is_close_to(self, question: Fraction) -> bool:
        """Whether what was asked lies inside, so near to one end that rounding may be why."""
        near = Fraction(SHOWING) * (self.upper - self.lower) + FINEST
        return self.lower <= question < self.upper and min(question - self.lower, self.upper - question) <= near


class RoundedSearch:
    """Brackets for the pairs of one chain at one α, in floats."""

    def __init__(self, table: ChainTable, classes: Integers, bound: CompiledBound, *, alpha_above: Fraction) -> None:
        self._label = table.label
        by_rank = np.argsort(table.label, kind="stable")
        rank = np.empty_like(by_rank)
        rank[by_rank] = np.arange(table.size)
        self._rank = rank
        self._alpha_above = float_at_least(alpha_above)
        chance = np.where(table.chance < TINY, 0.0, table.chance)
        comes_from = np.bincount(table.successor, minlength=table.size).astype(np.float64)
        self._bounds: Any = loops.Bounds(
            classes, bound.distance, bound.alpha, self._alpha_above, *bound.relays, bound.less
        )
        self._chain: Any = loops.Chain(table.first, table.successor, chance, table.label, rank, by_rank, comes_from)

    def ends(
        self,
        source: int,
        target: int,
        *,
        width: Fraction,
        nodes: int,
        most_visits: int,
        horizon: int | None,
        question: Fraction | None,
        progress: Progress | None,
    ) -> RoundedEnds | None:
        """Both ends, or None where rationals should be asked."""
        if width < FINEST or source == target or self._label[source] != self._label[target]:
            return None
        store = self._start(source, target)
        below, above = (2.0, -1.0) if question is None else (float_at_most(question), float_at_least(question))
        limits = (-1 if horizon is None else horizon, min(nodes, 2**60), min(most_visits, 2**60), _PAUSE)
        goal: Any = (float_at_most(width), below, above, *limits)
        while True:
            why = loops.advance(self._chain, self._bounds, store.nodes, *goal)
            if why == loops.DONE:
                break
            if why == loops.ROOM:
                store.grow(len(self._label))
            elif progress:
                progress(min(int(store.count[loops.WORK]), nodes), nodes)
        count = int(store.count[loops.NODES])
        lower, upper, more, less = loops.ends(store.figure, count, self._alpha_above)
        is_over = store.gaps[1] <= 0.0
        shows = more + self._alpha_above * less > SHOWING * (upper - lower)
        if is_over or shows or count <= _SHORT:
            return None
        is_waiting = store.gaps[len(store.gaps) // 2 :][:count] > 0.0
        unread = is_waiting & (store.span[:count, loops.LAST_CHILD] < 0)
        return RoundedEnds(
            lower=Fraction(lower), upper=min(Fraction(upper), Fraction(1)), nodes=count, all_read=not unread.any()
        )

    def _start(self, source: int, target: int) -> _Store:
        """One node of weight 2: half its mass in the source for p, half in the target for r."""
        store = _Store(len(self._label))
        states = np.array(sorted((source, target), key=lambda state: self._rank[state]), dtype=np.int64)
        halves = np.array([[0.5, 0.0] if state == source else [0.0, 0.5] for state in states])
        store.state[:2], store.entry[:2] = states, halves
        mass, other = halves.T.copy()
        judged = loops.judge(states, mass, other, self._bounds)
        store.figure[0] = (2.0, *judged)
        store.span[0] = (0, 2, 0, 0, -1, -1)
        store.count[[loops.NODES, loops.ENTRIES, loops.WORK]] = 1, 2, 1
        lower, upper = judged[:2]
        store.estimate[:2] = 2 * lower, 2 * upper
        loops.set_gap(store.gaps, 0, 2 * (upper - lower))
        return store


class _Store:
    """The arrays of a search, which grow."""

    def __init__(self, size: int) -> None:
        room = _ROOM + size
        self.figure: Floats = np.zeros((room, 5))
        self.span: Integers = np.zeros((room, 6), dtype=np.int64)
        self.state: Integers = np.zeros(4 * room, dtype=np.int64)
        self.entry: Floats = np.zeros((4 * room, 2))
        self.child: Integers = np.zeros(2 * room, dtype=np.int64)
        self.share: Floats = np.zeros(2 * room)
        self.count: Integers = np.zeros(5, dtype=np.int64)
        self.estimate: Floats = np.zeros(4)
        self._index(np.zeros(0))

    @property
    def nodes(self) -> Any:
        """As `advance` takes them."""
        return loops.Nodes(
            self.figure, self.span, self.state, self.entry, self.child, self.share, self.bucket, self.gaps,
            self.count, self.estimate,
        )  # fmt: skip

    def grow(self, size: int) -> None:
        """Make room for one more extension everywhere, and for many more where there was none."""
        nodes, entries, shares = self.count[:3].tolist()
        self.state, self.entry = (_grown(array, entries + size) for array in (self.state, self.entry))
        self.child, self.share = (_grown(array, shares + size) for array in (self.child, self.share))
        if nodes + size > len(self.figure):
            self.figure, self.span = (_grown(array, nodes + size) for array in (self.figure, self.span))
            self._index(self.gaps[len(self.gaps) // 2 :][:nodes])

    def _index(self, gaps: Floats) -> None:
        """The buckets of the nodes and the tree of their gaps, for the room there is now."""
        leaves = 1 << (len(self.figure) - 1).bit_length()
        self.bucket: Integers = np.full(4 * leaves, -1, dtype=np.int64)
        loops.rehash(self.span, int(self.count[0]), self.bucket)
        self.gaps: Floats = np.zeros(2 * leaves)
        self.gaps[leaves : leaves + len(gaps)] = gaps
        level = leaves
        while level > 1:
            self.gaps[level // 2 : level] = self.gaps[level : 2 * level].reshape(-1, 2).max(axis=1)
            level //= 2


def _grown(array: Any, needed: int) -> Any:
    if needed <= len(array):
        return array
    return np.concatenate([array, np.zeros((needed + len(array), *array.shape[1:]), dtype=array.dtype)])
