"""Boxes of what comes before and after a word's own state, at every step or merged over ranges of steps.

See docs/theory/certificates.md, *Boxes*. At step j the word is in the state x and the phase that it stays in; the boxes
hold α(y, φ)/α(x, ·) for every word, and β(y, φ)/β(x, ·) on the other side, the mismatch of y at step j itself left
out. A slot is the hull over a range of steps; near both ends of a word every step has a slot of its own.

*Windows* are a state of a word together with the few states before it, or after it, as the rows of tables of boxes.
Row x < K is the state x with nothing known beside it. Every other row adds one state, `farthest`, to its `parent`. Rows
of the full length h have no longer ones: beyond them the anchor moves instead, one state towards the known ones.

*Halves*: with lo ≤ α ≤ hi and lo' ≤ β ≤ hi' at the two ends of a block, a path p weighs at least lo·P_p·lo' and at most
hi·P_p·hi', whatever surrounds it; Z(v)/Z(w) is at most v's most over w's least. That is two numbers for each path
instead of a vector for each pair. Paths share their halves: a vector is moved along the first half of a path from its
left end, another along the second half from its right end, and a path is a product of the two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.calibration.costs.blocks import Groups, Kind, Node, at_once, slices, tail_of
from symveil.calibration.costs.box_loops import Slots, enclose, enclose_longer, next_boxes
from symveil.calibration.costs.context_loops import context_boxes
from symveil.calibration.costs.graph import Booleans, CostGraph, Floats, Integers
from symveil.calibration.costs.half_loops import path_weights, second_halves
from symveil.calibration.limits import LIMITS
from symveil.graphs.csr import Csr, offsets, spread
from symveil.trellis.passes import Trellis, backward
from symveil.trellis.semirings import FLOATS


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """The rows of one side.

    other[first[r]] … are the rows that know one state more than r: longer ones, or for rows of the full length those
    whose anchor is one state farther away. following[next_first[k, r]] … are the rows that a word in r can be in one
    step later: with its whole history known (k = 0), or in rows of the full length (k = 1).
    """

    longest: int
    state: Integers
    farthest: Integers
    length: Integers
    parent: Integers
    first: Integers
    other: Integers
    next_first: Integers
    following: Integers
    begin: Integers  # rows of length j: begin[j] … begin[j + 1] − 1

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.state)

    def known(self, row: int) -> list[int]:
        """The states of a window, the farthest first and the anchor last."""
        states = []
        while True:
            states.append(int(self.farthest[row]))
            if self.length[row] == 0:
                return states
            row = int(self.parent[row])

    def longer(self, row: int) -> Integers:
        """The rows that know one state more."""
        return self.other[self.first[row] : self.first[row + 1]]


def rows_needed(back: Integers, earlier: Integers, longest: int) -> float:
    """How many rows there would be."""
    every = np.ones(len(back) - 1)
    paths = Trellis(edges=Csr(first=back, target=earlier), length=longest, semiring=FLOATS, final=every)
    return sum(float(ways.sum()) for ways in backward(paths))


def windows(back: Integers, earlier: Integers, longest: int) -> Windows:
    """All windows up to a length; earlier[back[x]] … are the states on the side that windows reach to.

    >>> found = windows(np.array([0, 2, 3]), np.array([0, 1, 0]), 2)      # a, b → a; a → b
    >>> found.count, found.known(found.count - 1)
    (10, [1, 0, 1])
    """
    size = len(back) - 1
    state, farthest, parent = [np.arange(size)], [np.arange(size)], [np.full(size, -1)]
    prefix = [np.full(size, -1)]
    begin = [0, size]
    firsts: list[Integers] = []
    others: list[Integers] = []
    for length in range(longest):
        now = farthest[-1]
        degree = np.diff(back)[now]
        which, edge = spread(degree, back[now])
        row, reached = begin[-2] + which, earlier[edge]
        first = begin[-1] + offsets(degree)[:-1]
        if length == 0:
            before = reached
        else:  # the same state added to the row's own prefix, whose children were listed in the same order
            before = spread(degree, firsts[-1][prefix[-1] - begin[-3]])[1]
        firsts.append(first)
        others.append(np.arange(begin[-1], begin[-1] + len(row)))
        state.append(state[-1][row - begin[-2]])
        farthest.append(reached)
        parent.append(row)
        prefix.append(before)
        begin.append(begin[-1] + len(row))
    if longest == 0:
        first, other = back.copy(), earlier.copy()
        counts = [np.diff(back)]
        moved = (earlier, np.repeat(np.arange(size), np.diff(back)))
    else:
        counts = [np.diff(np.append(each, begin[k + 2])) for k, each in enumerate(firsts)]
        shorter, short_first = counts[-1], firsts[-1]
        of_prefix = prefix[-1] - begin[-3]
        counts.append(shorter[of_prefix])
        which, away = spread(counts[-1], short_first[of_prefix])
        others.append(away)
        first = offsets(np.concatenate(counts))
        other = np.concatenate(others)
        moved = (away, begin[-2] + which)
    next_first, following = _next_rows(np.concatenate(prefix), moved)
    return Windows(
        longest=longest,
        state=np.concatenate(state).astype(np.int64),
        farthest=np.concatenate(farthest).astype(np.int64),
        length=np.repeat(np.arange(longest + 1), np.diff(begin)).astype(np.int64),
        parent=np.concatenate(parent).astype(np.int64),
        first=first.astype(np.int64),
        other=other.astype(np.int64),
        next_first=next_first,
        following=following,
        begin=np.array(begin, dtype=np.int64),
    )


def _next_rows(prefix: Integers, moved: tuple[Integers, Integers]) -> tuple[Integers, Integers]:
    """The rows that each row can be in one step later: those that grew out of it, then those that it slid into."""
    grown = np.flatnonzero(prefix >= 0)
    begins, targets, offset = [], [], 0
    for source, target in ((prefix[grown], grown), moved):
        begins.append(offset + offsets(np.bincount(source, minlength=len(prefix))))
        targets.append(target[np.argsort(source, kind="stable")])
        offset += len(target)
    return np.stack(begins).astype(np.int64), np.concatenate(targets).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class SlotBoxes:
    """The boxes of all steps on one side, with seven digits, rounded outwards; slot_of[j] is the slot of step j."""

    low: NDArray[np.float32]
    high: NDArray[np.float32]
    valid: Booleans
    slot_of: Integers
    stored: Slots  # the same arrays, as the loops take them

    def slots(self, begin: int, end: int) -> tuple[int, int]:
        """The range of slots of the steps begin … end."""
        return int(self.slot_of[begin]), int(self.slot_of[end]) + 1

    def add(self, step: int, low: Floats, high: Floats, tail: Floats, valid: Booleans) -> None:
        """Enlarge the slot of a step so that it holds these boxes too."""
        enclose(self.stored, int(self.slot_of[step]), low.reshape(-1), high.reshape(-1), tail, valid)


def empty_slots(graph: CostGraph, first: Integers, room: int, near_ends: int) -> SlotBoxes:
    """Slots without a box for rows with the entries first[r] … first[r + 1] − 1, as many as `room` bytes allow."""
    rows, entries = len(first) - 1, int(first[-1])
    slot_of = slot_plan(graph.steps, max(3, room // (8 * entries)), near_ends)
    slots = int(slot_of[-1]) + 1
    low, high = (np.zeros((slots, entries), dtype=np.float32) for _ in range(2))
    valid = np.zeros((slots, rows), dtype=np.bool_)
    return SlotBoxes(low, high, valid, slot_of, Slots(first, low, high, np.zeros((slots, rows)), valid))


@dataclass(frozen=True, slots=True, eq=False)
class Boxes(SlotBoxes):
    """Over all states: low[slot, r, ·] ≤ ratio ≤ high[slot, r, ·] for the row r, wherever valid[slot, r]."""

    rows: Windows


def slack_of(graph: CostGraph) -> float:
    """More than four times the relative rounding error of one step of a box."""
    return (2 * graph.widest + 32) * 2.0**-51


def slot_plan(steps: int, most: int, near_ends: int) -> Integers:
    """Which slot each step 0 … `steps` has: all their own, or those near the ends and ranges between them."""
    if steps + 1 <= most:
        return np.arange(steps + 1)
    alone = min(near_ends, max(0, (most - 1) // 2), steps // 2)
    ranges = max(1, most - 2 * alone)
    middle = np.arange(steps + 1 - 2 * alone) * ranges // (steps + 1 - 2 * alone)
    last = alone + int(middle[-1])
    return np.concatenate([np.arange(alone), alone + middle, last + 1 + np.arange(alone)])


def is_affordable(graph: CostGraph) -> bool:
    """Whether at least a handful of slots fits into memory."""
    return _bytes_of_slot(graph) * 3 <= LIMITS.now.box_bytes


def _bytes_of_slot(graph: CostGraph) -> int:
    return 8 * graph.size * graph.size * graph.phases


def longest_window(graph: CostGraph, *, patient: bool = False) -> int:
    """How many states a window may hold beside its anchor, for time and memory."""
    width, result = graph.size * graph.phases, 0
    entered = np.diff(graph.back) > 0  # not the hidden start, which all others may follow
    met = np.arange(graph.size) != graph.padding  # nor what fills words up, which may follow all others
    widest = int(max(np.diff(graph.first)[entered].max(initial=1), np.diff(graph.back)[met].max(initial=1)))
    most = LIMITS.now.patient_window_work if patient else LIMITS.now.window_work
    for longest, most_work in enumerate(most[: graph.steps], start=1):
        rows = max(rows_needed(graph.back, graph.earlier, longest), rows_needed(graph.first, graph.other, longest))
        slots = min(LIMITS.now.fewest_slots, graph.steps + 1)
        if 8 * rows * width * slots > LIMITS.now.window_bytes or rows * width * graph.steps * widest > most_work:
            break
        result = longest
    return result


def boxes_of_side(graph: CostGraph, near_ends: int, longest: int = 0, *, forwards: bool) -> Boxes:
    """Boxes of what comes before, from the exact start onwards; or of what follows, from the exact end backwards."""
    phase, width = graph.automaton[2], graph.size * graph.phases
    reached = (graph.back, graph.earlier) if forwards else (graph.first, graph.other)
    rows = windows(*reached, longest)
    room = LIMITS.now.window_bytes if longest else LIMITS.now.box_bytes
    results = empty_slots(graph, np.arange(rows.count + 1) * width, room, near_ends)
    nothing_outside = np.zeros(rows.count)
    low, high, valid = (_at_the_start if forwards else _at_the_end)(graph, rows, phase)
    for away, step, metric in graph.walked(forwards=forwards):
        if away:
            low, high, valid = next_boxes(
                graph.moves, forwards, metric, phase, rows.state, rows.next_first[0 if away <= longest else 1],
                rows.following, low, high, valid, graph.live[step], slack_of(graph),
            )  # fmt: skip
        whole = _enclose_shorter(rows, low, high, valid)
        results.add(step, low, high, nothing_outside, valid)
        valid[: rows.begin[whole]] = False  # words go on from the longest
    each_row = (-1, rows.count, width)
    low_of, high_of = results.low.reshape(each_row), results.high.reshape(each_row)
    return Boxes(low_of, high_of, results.valid, results.slot_of, results.stored, rows)


def _enclose_shorter(rows: Windows, low: Floats, high: Floats, valid: Booleans) -> int:
    """Boxes of shorter windows around those of the longest, in place; the length of rows that hold all words."""
    whole = int(rows.length[valid].max(initial=0))
    for length in range(whole - 1, -1, -1):
        enclose_longer(rows.first, rows.other, int(rows.begin[length]), int(rows.begin[length + 1]), low, high, valid)
    return whole


def _at_the_start(graph: CostGraph, rows: Windows, phase: int) -> tuple[Floats, Floats, Booleans]:
    low, valid = np.zeros((rows.count, graph.size * graph.phases)), np.zeros(rows.count, dtype=np.bool_)
    valid[graph.starts] = graph.live[0, graph.starts]
    low[graph.starts, graph.starts * graph.phases + phase] = 1.0
    return low, low.copy(), valid


def _at_the_end(graph: CostGraph, rows: Windows, phase: int) -> tuple[Floats, Floats, Booleans]:
    low, valid = np.zeros((rows.count, graph.size * graph.phases)), np.zeros(rows.count, dtype=np.bool_)
    high, ends = low.copy(), np.repeat(graph.final, graph.phases)
    for x in np.flatnonzero(graph.live[graph.steps]):
        valid[x] = True
        low[x] = ends / graph.final[x] * (1 - 2.0**-51)
        high[x] = ends / graph.final[x] * (1 + 2.0**-51)
        low[x, x * graph.phases + phase] = high[x, x * graph.phases + phase] = 1.0
        if (graph.final[graph.final > 0] == graph.final[x]).all():  # 1 exactly, as without a balanced prior
            low[x] = high[x] = np.repeat((graph.final > 0).astype(np.float64), graph.phases)
    return low, high, valid


class Surroundings:
    """Symbols around the blocks of one class: all ways to go on that are not yet proved, a symbol longer at a time."""

    def __init__(self, graph: CostGraph, left: Boxes, right: Boxes, root: Node, kind: Kind) -> None:
        self._graph, self._left, self._right = graph, left, right
        self._low, self._span = root.low, root.high - root.low
        self._end = root.low + kind.length + tail_of(graph, kind) - 1  # the step of the last symbol

    def room(self, symbols: int) -> tuple[int, int] | None:
        """How many of them there are on each side; None where that is not the same at all positions of the class."""
        graph = self._graph
        before, after = min(symbols, self._low - 1), min(symbols, graph.steps - self._end - self._span)
        if self._span and (before < symbols or after < symbols):
            return None
        metric = graph.metric_at[self._low - before : self._end + after + 1]
        shifted = graph.metric_at[self._low - before + self._span : self._end + after + 1 + self._span]
        return (before, after) if np.array_equal(metric, shifted) else None

    def longer(self, boxes: Boxes, state: int, paths: Integers, remaining: Booleans) -> tuple[Integers, Integers]:
        """The kept paths, each with one more state known, and which row each comes from."""
        chosen, rows = np.flatnonzero(remaining), boxes.rows
        now = paths[chosen, -1] if paths.shape[1] else np.full(len(chosen), state)
        which, edge = spread(rows.first[now + 1] - rows.first[now], rows.first[now])
        return np.column_stack([paths[chosen[which]], rows.other[edge]]), chosen[which]

    def boxes_before(self, state: int, paths: Integers) -> tuple[Booleans, Floats, Floats]:
        """l and ω at the state before the block, a column for each path."""
        anchor = self._low - 1 - max(0, paths.shape[1] - self._left.rows.longest)
        return self._boxes(self._left, anchor, self._low - 1, state, paths, forwards=True)

    def boxes_after(self, state: int, paths: Integers) -> tuple[Booleans, Floats, Floats]:
        """l' and ω' at the state after the block, a column for each path."""
        anchor = self._end + max(0, paths.shape[1] - self._right.rows.longest)
        return self._boxes(self._right, anchor, self._end, state, paths, forwards=False)

    def _boxes(
        self, boxes: Boxes, anchor: int, step: int, state: int, paths: Integers, *, forwards: bool
    ) -> tuple[Booleans, Floats, Floats]:
        return context_boxes(
            self._graph.moves, forwards, boxes.stored, *boxes.slots(anchor, anchor + self._span), boxes.rows.state,
            boxes.rows.longest, step, state, paths,
        )  # fmt: skip


def numbered(columns: list[Integers]) -> tuple[Integers, Integers]:
    """(number, member): the same number for the same row of columns, and for each number one row that has it.

    >>> number, member = numbered([np.array([1, 1, 0]), np.array([5, 5, 5])])
    >>> number.tolist(), len(member)
    ([1, 1, 0], 2)
    """
    number = np.zeros(len(columns[0]), dtype=np.int64)
    member = np.zeros(0, dtype=np.int64)
    for column in columns:
        span = int(column.max(initial=0)) + 1
        _, member, number = np.unique(number * span + column, return_index=True, return_inverse=True)
    return number.astype(np.int64), member.astype(np.int64)


def weights_of_paths(
    graph: CostGraph, left: Boxes, right: Boxes, groups: Groups, begin: int, slots: tuple[tuple[int, int], ...]
) -> Floats | None:
    """The least and the most of every path, a row each; None where their halves would take too much memory.

    `begin` is the step of the first symbol, `slots` where the boxes at both ends are taken from.
    """
    paths, half, rows = groups.paths, groups.paths.shape[1] // 2, groups.row_of
    suffix, member = numbered([*paths.T[half:], groups.end])
    prefix, _ = numbered([rows, *paths.T[:half]])
    if 8 * len(member) * left.low.shape[2] > LIMITS.now.suffix_bytes:
        return None
    order = np.argsort(prefix, kind="stable")
    prefix_first = np.concatenate([[0], np.cumsum(np.bincount(prefix))]).astype(np.int64)
    least = np.zeros((len(member), left.low.shape[2]), dtype=np.float32)
    most = np.zeros_like(least)

    def followed(part: slice) -> None:
        second_halves(
            graph.moves, right.stored, *slots[1], paths[member[part]], groups.end[member[part]], begin, half,
            least[part], most[part],
        )  # fmt: skip

    def weighed(part: slice) -> Floats:
        return path_weights(
            graph.moves, left.stored, *slots[0], rows, paths, begin, half, prefix_first[part.start : part.stop + 1],
            order, suffix, least, most, graph.rounding,
        )  # fmt: skip

    at_once(followed, slices(len(member), fewest=LIMITS.now.thread_halves))
    weights = np.empty((len(paths), 2))
    weights[order] = np.concatenate(at_once(weighed, slices(len(prefix_first) - 1, fewest=LIMITS.now.thread_halves)))
    return weights
