"""Which blocks two adjacent words can differ in: kinds, lengths, positions, all their paths, and what is known of them.

See docs/theory/certificates.md, *Blocks*. On a chain two adjacent words differ in maximal blocks, swapping one block
keeps a word feasible, and the loss is a sum over blocks. Elsewhere differences are swapped from left to right: what
lies to the left of a block is then v's and what lies to the right is w's, each with states of its own; the words in
between need not be feasible, only to have a positive total weight.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TypeVar

import numpy as np
from scipy import sparse

from symveil.calibration.costs.block_loops import Paths, Prices
from symveil.calibration.costs.graph import Booleans, CostGraph, Integers, differences_after
from symveil.calibration.limits import LIMITS
from symveil.graphs.csr import offsets
from symveil.models.alphabet import Codes

_CLASSES, _MOST_COUNTED = 5, 1e13

INNER, INITIAL, FINAL, WHOLE = "inner", "initial", "final", "whole"


@dataclass(frozen=True, slots=True)
class Kind:
    """Blocks of one length at one place: inside a word, at its (hidden) beginning, at its end, or all of it."""

    where: str
    length: int


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Paths that may be compared with each other, group by group; see `block_loops.root_bounds`.

    `origin[k]` is the state that path k starts from: on a chain that of its group; elsewhere w's and v's may differ.
    `spare[g]`: how many differences the words of a group may still have after this block; apart[x, y] is how many they
    need at least once they are in x and y (one entry, 0, on a chain, where they need none).
    """

    first: Integers
    row: Integers
    spare: Integers
    paths: Integers
    end: Integers
    origin: Integers
    may_own: Booleans
    may_other: Booleans
    apart: Integers

    @property
    def row_of(self) -> Integers:
        """The left anchor of each path."""
        return np.repeat(self.row, np.diff(self.first))

    def as_paths(self, steps: Integers) -> Paths:
        """As the loops take them, with the symbols or the states of their steps."""
        return Paths(
            self.first, self.row, self.spare, steps, self.end, self.may_own, self.may_other, self.apart
        )  # fmt: skip

    def only(self, remaining: Booleans) -> Groups:
        """Some of the paths, with the groups that they are in."""
        number = np.repeat(np.arange(len(self.row)), np.diff(self.first))[remaining]
        counts = np.bincount(number, minlength=len(self.row))
        left = counts > 0
        return Groups(
            offsets(counts[left]), self.row[left], self.spare[left],
            self.paths[remaining], self.end[remaining], self.origin[remaining], self.may_own[remaining],
            self.may_other[remaining], self.apart,
        )  # fmt: skip

    def part(self, begin: int, end: int) -> Groups:
        """Some of the groups."""
        low, high = int(self.first[begin]), int(self.first[end])
        return Groups(
            self.first[begin : end + 1] - low, self.row[begin:end], self.spare[begin:end], self.paths[low:high],
            self.end[low:high], self.origin[low:high], self.may_own[low:high], self.may_other[low:high], self.apart,
        )  # fmt: skip


class BlockValues(ABC):
    """What blocks are worth on a graph at its rate: rate·D + ln Z(v)/Z(w), for staircases without the first term."""

    def __init__(self, graph: CostGraph, adjacency: int, largest_step: float, near_ends: int) -> None:
        self.graph = graph
        self.adjacency = adjacency
        self._largest_step = largest_step  # what two symbols cost at most that adjacent words can have
        self._near_ends = near_ends
        costs = graph.weights.costs
        self._rate, self._period = float(graph.weights.rate), costs.period
        self._value = np.array([float(value) for value in costs.values])

    @abstractmethod
    def largest(
        self, kind: Kind, *, target: float, nodes: int, stop_at: float = math.inf, tolerance: float = 0.0,
        report: Callable[[float], None] | None = None,
    ) -> Outcome:  # fmt: skip
        """The largest value of a kind of block, proved; nothing below `target` is of interest.

        `nodes` bounds the work. The search also ends as soon as a pair above `stop_at` is found, or as what is proved
        exceeds the largest loss of a pair by no more than `tolerance`. `report` is called with the share of the work
        that is done, and may raise an exception.
        """

    def prices(self, target: float) -> Prices:
        """As the loops take them."""
        return Prices(self._value, self._rate, self._period, target)

    def least(self, kind: Kind) -> float:
        """What a block is worth where Z(v) ≤ Z(w): pairs are not looked at below that."""
        return 0.0 if self._period > 1 else self._rate * self._largest_step * kind.length * (1 + 2.0**-40)

    def classic(self, kind: Kind) -> float:
        """What the triangle inequality gives for any block of this length."""
        most = self._largest_step * kind.length
        if self._period > 1:
            return self._rate * math.ceil(most / self._period) * (1 + 2.0**-40)
        return 2 * self._rate * most * (1 + 2.0**-40)

    def value(self, ratio: float, cost: float) -> float:
        """Of a block whose words have such a ratio of Z and cost each other so much; rounded up."""
        logarithm = math.log(ratio) * (1 + 2.0**-50) + 2.0**-50 if 0 < ratio < math.inf else math.inf
        return logarithm if self._period > 1 else logarithm + self._rate * cost * (1 + 2.0**-50)


def kinds(graph: CostGraph, adjacency: int) -> list[Kind]:
    """All kinds of blocks of at most `adjacency` symbols that fit."""
    hidden = has_hidden_start(graph)
    results = []
    for length in range(1, min(adjacency, graph.steps) + 1):
        if length < graph.steps:
            results.append(Kind(INNER, length))
            results.append(Kind(FINAL, length))
            if hidden:
                results.append(Kind(INITIAL, length))
        else:
            results.append(Kind(WHOLE if hidden else FINAL, length))
    return results


def has_hidden_start(graph: CostGraph) -> bool:
    """Whether words of a chain start before their first symbol, in a state that is none of the chain's."""
    return graph.is_chain and len(graph.starts) == 1 and graph.back[graph.starts[0]] == graph.back[graph.starts[0] + 1]


def tail_of(graph: CostGraph, kind: Kind) -> int:
    """How many agreeing symbols after a block belong to its paths: on a chain the one it comes back to."""
    return 1 if graph.is_chain and kind.where in (INNER, INITIAL) else 0


def positions(graph: CostGraph, kind: Kind) -> range:
    """The steps at which a block of this kind may begin."""
    if kind.where in (INITIAL, WHOLE):
        return range(1, 2)
    if kind.where == FINAL:
        begin = graph.steps - kind.length + 1
        return range(begin, begin + 1)
    return range(2 if has_hidden_start(graph) else 1, graph.steps - kind.length + 1)


def classes(graph: CostGraph, kind: Kind, near_ends: int) -> Iterator[tuple[int, int]]:
    """Ranges of positions (first, last) at which the costs are the same; near both ends each alone."""
    begins = positions(graph, kind)
    width = kind.length + tail_of(graph, kind)

    def costs_at(begin: int) -> tuple[int, ...]:
        return tuple(graph.metric_at[begin : begin + width].tolist())

    low = None
    for begin in begins:
        alone = begin - begins[0] < near_ends or begins[-1] - begin < near_ends
        if low is None:
            low = begin
        following = begin + 1
        ends = following not in begins or alone or begins[-1] - following < near_ends
        if ends or costs_at(following) != costs_at(begin):
            yield low, begin
            low = None


def root_work(graph: CostGraph, adjacency: int) -> float:
    """About how many multiplications the bounds of all blocks at one rate take, with nothing known around them.

    On a chain: pairs of paths between the same two states, times the states and phases that each is followed through,
    for the few classes of positions. Elsewhere pairs are counted, and given up, while they are listed.
    """
    if not graph.is_chain:
        return 0.0
    moves = sparse.csr_matrix((np.ones(len(graph.other)), graph.other, graph.first), shape=(graph.size, graph.size))
    paths, work = moves, 0.0
    for length in range(1, min(adjacency, graph.steps) + 1):
        paths = paths @ moves
        work += _CLASSES * float((paths.data**2).sum()) * graph.size * graph.phases * (length + 2)
        if work > _MOST_COUNTED:
            break
    return work


def block_groups(
    graph: CostGraph, kind: Kind, low: int, high: int, adjacency: int, starts: Integers | None = None
) -> Groups | None:
    """All paths of blocks of a kind at the positions low … high, grouped; None where they are too many.

    On a chain those from some states only, if `starts` are given.
    """
    if graph.is_chain:
        return _chain_groups(graph, kind, low, high, starts)
    return _pair_groups(graph, kind, low, high, adjacency)


def _paths(graph: CostGraph, starts: Integers, low: int, high: int, steps: int) -> tuple[Integers, Integers] | None:
    """(states, start): all paths of `steps` steps from the starts at steps low − 1 … high − 1, through live states."""
    states, start = starts[:, None], starts
    for step in range(steps):
        now = states[:, -1]
        if graph.ahead.degrees[now].sum() > LIMITS.now.block_paths:
            return None
        row, edge = graph.ahead.expand(now)
        reached = graph.other[edge]
        live = np.asarray(graph.live[low + step : high + step + 1].any(axis=0))[reached]
        states = np.column_stack([states[row[live]], reached[live]])
        start = start[row[live]]
    return states[:, 1:], start


def _chain_groups(graph: CostGraph, kind: Kind, low: int, high: int, starts: Integers | None) -> Groups | None:
    if starts is None:
        starts = np.flatnonzero(graph.live[low - 1 : high].any(axis=0))
    tail = tail_of(graph, kind)
    result = _paths(graph, starts, low, high, kind.length + tail)
    if result is None:
        return None
    states, start = result
    if graph.padding is not None:  # words of one length are compared: they are filled up at the same steps
        real = (states[:, : kind.length] != graph.padding).all(axis=1)
        states, start = states[real], start[real]
    symbols = graph.symbol[states]
    # paths from the same state to the same symbol; at the end of a word to any
    key = start * np.int64(len(graph.symbol) + 1) + (symbols[:, -1] if tail else 0)
    order = np.argsort(key, kind="stable")
    key, states, start, symbols = key[order], states[order], start[order], symbols[order]
    first = np.concatenate([[0], np.flatnonzero(np.diff(key)) + 1, [len(key)]]) if len(key) else np.zeros(1, np.int64)
    if float((np.diff(first).astype(np.float64) ** 2).sum()) > LIMITS.now.block_pairs:
        return None
    every = np.ones(len(key), dtype=np.bool_)
    return Groups(
        first.astype(np.int64), start[first[:-1]], np.zeros(len(first) - 1, dtype=np.int64),
        np.ascontiguousarray(symbols), np.ascontiguousarray(states[:, -1]), start, every, every,
        np.zeros((1, 1), dtype=np.int64),
    )  # fmt: skip


def differences(graph: CostGraph, adjacency: int) -> tuple[list[Integers], list[Integers]] | None:
    """For each step, how many differences two words need at least to be in x and in y, and to go on from there.

    More than `adjacency` are written as adjacency + 1. None where pairs of edges are too many.
    """
    edges = len(graph.other)
    if edges**2 > 16_000_000 or edges**2 * graph.steps > 400_000_000:
        return None
    beyond = adjacency + 1
    source = graph.ahead.source
    differ = (graph.symbol[graph.other][:, None] != graph.symbol[graph.other][None, :]).astype(np.int64)
    before = [np.full((graph.size, graph.size), beyond)]
    before[0][graph.starts, graph.starts] = 0
    for step in range(1, graph.steps + 1):
        layer = differences_after(before[-1], source, graph.other, differ, beyond)
        layer[~np.logical_and.outer(graph.live[step], graph.live[step])] = beyond
        before.append(layer)
    last = graph.live[graph.steps]
    after = [np.where(np.logical_and.outer(last, last), 0, beyond)]
    for step in range(graph.steps - 1, -1, -1):
        layer = differences_after(after[-1], graph.other, source, differ, beyond)
        layer[~np.logical_and.outer(graph.live[step], graph.live[step])] = beyond
        after.append(layer)
    return before, after[::-1]


def _pair_groups(graph: CostGraph, kind: Kind, low: int, high: int, adjacency: int) -> Groups | None:
    """Groups of w's and v's paths for each pair of states that adjacent words can be in before the block."""
    result = differences(graph, adjacency)
    if result is None:
        return None
    before, after = result
    used = np.minimum.reduce(before[low - 1 : high])
    left = np.minimum.reduce(after[low + kind.length - 1 : high + kind.length])
    starts = np.flatnonzero(graph.live[low - 1 : high].any(axis=0))
    listed = _paths(graph, starts, low, high, kind.length)
    if listed is None:
        return None
    states, start = listed
    symbols, ends = graph.symbol[states], states[:, -1]
    of_start = {int(state): np.flatnonzero(start == state) for state in starts}
    first, rows, spare, members = [0], [], [], []
    own, other = [], []
    pairs = 0.0
    for w, v in zip(*np.nonzero(used + kind.length <= adjacency), strict=True):
        of_w, of_v = of_start.get(int(w)), of_start.get(int(v))
        if of_w is None or of_v is None or not len(of_w) or not len(of_v):
            continue
        room = adjacency - kind.length - int(used[w, v])
        pairs += float(len(of_w)) * len(of_v)
        together = np.concatenate([of_w, of_v]) if w != v else of_w
        possible = (left[ends[together][:, None], ends[together][None, :]] <= room).any(axis=1)
        is_own = np.arange(len(together)) < len(of_w)
        together, is_own = together[possible], is_own[possible]
        members.append(together)
        own.append(is_own)
        other.append(~is_own if w != v else np.ones(len(together), dtype=np.bool_))
        first.append(first[-1] + len(together))
        rows.append(int(v))
        spare.append(room)
        if pairs > LIMITS.now.block_pairs or first[-1] > LIMITS.now.block_paths:
            return None
    which = np.concatenate(members) if members else np.empty(0, dtype=np.int64)
    none = np.empty(0, dtype=np.bool_)
    return Groups(
        np.array(first, dtype=np.int64), np.array(rows, dtype=np.int64), np.array(spare, dtype=np.int64),
        np.ascontiguousarray(symbols[which]), ends[which], start[which],
        np.concatenate(own) if own else none, np.concatenate(other) if other else none, left,
    )  # fmt: skip


def total_over_blocks(worth: Mapping[Kind, Fraction], steps: int, adjacency: int) -> Fraction:
    """The largest sum of what blocks are worth over blocks that fit into a word together, `adjacency` symbols in all.

    A block that does not end the word is followed by a position that agrees; there is one at the beginning and one at
    the end at most. A word that is one block stands alone. Where there are many positions to share out, how the blocks
    fit is not looked at: each is worth at most what the best of them is worth for each of its positions.
    """
    differ = min(adjacency, steps)
    ends = [(kind.length, value) for kind, value in worth.items() if kind.where == FINAL and kind.length <= differ]
    alone = max((value for kind, value in worth.items() if kind.where == WHOLE), default=Fraction(0))
    if differ > LIMITS.now.fitted_positions:
        each = max((value / kind.length for kind, value in worth.items() if kind.where in (INNER, INITIAL)), default=0)
        return max([alone, *(value + (differ - end) * each for end, value in [(0, Fraction(0)), *ends])])
    # as whole numbers of one unit: thousands of sums of fractions would take minutes
    unit = math.lcm(*(value.denominator for value in worth.values()))
    inner = {kind.length: int(value * unit) for kind, value in worth.items() if kind.where == INNER}
    first = [(0, 0), *((k.length, int(value * unit)) for k, value in worth.items() if k.where == INITIAL)]
    last = [(0, 0), *((end, int(value * unit)) for end, value in ends)]
    widest = min(steps, 2 * differ)
    filled = _filled(inner, differ, widest)
    most = 0
    for (begin, one), (end, two) in product(first, last):
        room = steps - end - (begin + 1 if begin else 0)
        if room >= 0 and begin + end <= differ:
            most = max(most, one + two + filled[differ - begin - end][min(room, widest)])
    return max(alone, Fraction(most, unit))


def _filled(worth: Mapping[int, int], differ: int, room: int) -> list[list[int]]:
    """[d][r]: the most that blocks inside a word are worth with d positions that differ among r positions."""
    best: list[list[int]] = []
    for positions in range(differ + 1):
        row = []
        for space in range(room + 1):
            sizes = [size for size in worth if size <= positions and size < space]
            row.append(max((worth[size] + best[positions - size][space - size - 1] for size in sizes), default=0))
        best.append(row)
    return best


_Kind = TypeVar("_Kind")


@dataclass(frozen=True, slots=True)
class LossyPair:
    """Two words (the symbols after their start), the state they start from, and ln Z(v)/Z(w)."""

    start: int
    own: tuple[int, ...]
    other: tuple[int, ...]
    log_ratio: float

    def words(self, graph: CostGraph) -> tuple[Codes, Codes] | None:
        """Both as codes, a public first symbol included; None where they are shorter than the language's words."""
        if graph.padding is not None and int(graph.symbol[graph.padding]) in self.own:
            return None
        language = graph.weights.language
        lead = (int(graph.symbol[self.start]),) if language.public_start and language.length else ()
        return np.array(lead + self.own, dtype=np.int32), np.array(lead + self.other, dtype=np.int32)


@dataclass(frozen=True, slots=True)
class Node:
    """All pairs of words with these symbols around a block that begins at one of the steps low … high."""

    low: int
    high: int
    lead: int  # how many symbols before the block are known
    left: int  # the window before the first known symbol: its row in the boxes
    own: tuple[int, ...]
    other: tuple[int, ...]
    right: int  # w's window after the last known symbol: its row
    right_other: int  # v's state at the end of that window; −1 where it has none
    same_start: bool  # whether w and v agree on everything before the block
    spare: int  # how many differences they may still have after it
    cost: float  # D(p, q)
    ratio: float = math.inf
    nominal: float = 0.0
    before: float = 0.0  # first-order terms: how much is lost to what is not known before and after
    after: float = 0.0


@dataclass(slots=True)
class Outcome:
    """What is known of one kind of block: no pair exceeds `high` (as ln), and `pair` attains `low`."""

    high: float = -math.inf
    low: float = -math.inf
    pair: LossyPair | None = None
    nodes: int = 0
    exists: bool = False
    complete: bool = True  # False: the search ended at a bound above the budget, and `high` holds for what it looked at
    likely: Node | None = None  # the pair with the largest bound among those that halves of paths were compared of


def worths(outcomes: Mapping[_Kind, Outcome]) -> dict[_Kind, Fraction]:
    """What each kind of block is worth at most, those left out that no word has or that lose nothing."""
    return {kind: Fraction(each.high) for kind, each in outcomes.items() if each.exists and each.high > 0}


_Given = TypeVar("_Given")
_Result = TypeVar("_Result")


def at_once(work: Callable[[_Given], _Result], given: Sequence[_Given]) -> list[_Result]:
    """The results in order.

    >>> at_once(lambda number: number * 2, [1, 2, 3])
    [2, 4, 6]
    """
    if len(given) < 2:
        return [work(each) for each in given]
    with ThreadPoolExecutor(max_workers=min(len(given), os.cpu_count() or 1)) as pool:
        return list(pool.map(work, given))


def slices(count: int, *, fewest: int) -> list[slice]:
    """Parts of `count` things for the cores there are, none of less than `fewest`.

    >>> slices(5, fewest=10)
    [slice(0, 5, None)]
    """
    parts = max(1, min(2 * (os.cpu_count() or 1), count // fewest))
    return [slice(count * k // parts, count * (k + 1) // parts) for k in range(parts)]
