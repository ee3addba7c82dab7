"""Boxes of what comes before and after a word's own state, at every step or merged over ranges of steps.

See docs/theory/two-sided.md, *Boxes*. At step j the word is in the state x and the phase that it stays in; the boxes
hold α(y, φ)/α(x, ·) for every word, and β(y, φ)/β(x, ·) on the other side, the mismatch of y at step j itself left
out. A slot is the hull over a range of steps; near both ends of a word every step has a slot of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.calibration.costs.graph import Booleans, CostGraph, Floats, Integers
from symveil.calibration.costs.steps import enclose, enclose_longer, next_left_boxes, next_right_boxes
from symveil.calibration.costs.windows import Windows, rows_needed, windows

_MOST_BYTES = 300 << 20  # for one side
_MOST_BYTES_OF_WINDOWS = 1500 << 20  # the same where that is what one state beside the anchor takes
_FEWEST_SLOTS = 5
_MOST_WINDOW_WORK = (1e9, 6e7)  # for windows of one state and of two
_MOST_PATIENT_WORK = (1e9, 1.2e9)  # the same where shorter windows proved nothing: half a minute for a rate


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """low[slot, r, ·] ≤ ratio ≤ high[slot, r, ·] wherever valid[slot, r]; slot_of[j] is the slot of step j.

    Kept with seven digits, rounded outwards.
    """

    rows: Windows
    low: NDArray[np.float32]
    high: NDArray[np.float32]
    valid: Booleans
    slot_of: Integers

    def slots(self, begin: int, end: int) -> tuple[int, int]:
        """The range of slots of the steps begin … end."""
        return int(self.slot_of[begin]), int(self.slot_of[end]) + 1


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
    return _bytes_of_slot(graph) * 3 <= _MOST_BYTES


def _bytes_of_slot(graph: CostGraph) -> int:
    return 8 * graph.size * graph.size * graph.phases


def longest_window(graph: CostGraph, *, patient: bool = False) -> int:
    """How many states a window may hold beside its anchor, for time and memory."""
    width, found = graph.size * graph.phases, 0
    entered = np.diff(graph.back) > 0  # not the hidden start, which all others may follow
    met = np.arange(graph.size) != graph.padding  # nor what fills words up, which may follow all others
    widest = int(max(np.diff(graph.first)[entered].max(initial=1), np.diff(graph.back)[met].max(initial=1)))
    limits = _MOST_PATIENT_WORK if patient else _MOST_WINDOW_WORK
    for longest, most_work in enumerate(limits[: graph.steps], start=1):
        rows = max(rows_needed(graph.back, graph.earlier, longest), rows_needed(graph.first, graph.other, longest))
        slots = min(_FEWEST_SLOTS, graph.steps + 1)
        if 8 * rows * width * slots > _MOST_BYTES_OF_WINDOWS or rows * width * graph.steps * widest > most_work:
            break
        found = longest
    return found


def left_boxes(graph: CostGraph, near_ends: int, longest: int = 0) -> Boxes:
    """Boxes of what comes before, from the exact start onwards."""
    kappa, following, phase = graph.automaton
    rows = windows(graph.back, graph.earlier, longest)
    low, high, valid = _nothing(graph, rows)
    for start in graph.starts:
        valid[start] = graph.live[0, start]
        low[start, start * graph.phases + phase] = high[start, start * graph.phases + phase] = 1.0
    plan = _Plan(graph, rows, near_ends)
    plan.add(0, low, high, valid)
    for step in range(1, graph.steps + 1):
        next_first = rows.next_first[0 if step <= longest else 1]
        low, high, valid = next_left_boxes(
            graph.first, graph.other, graph.back, graph.earlier, graph.earlier_weight, graph.symbol, graph.levels,
            kappa, following, graph.metric_at[step], phase, rows.state, next_first, rows.following,
            low, high, valid, graph.live[step], slack_of(graph),
        )  # fmt: skip
        plan.add(step, low, high, valid)
    return plan.boxes()


def right_boxes(graph: CostGraph, near_ends: int, longest: int = 0) -> Boxes:
    """Boxes of what follows, from the exact end backwards."""
    kappa, following, phase = graph.automaton
    rows = windows(graph.first, graph.other, longest)
    low, high, valid = _nothing(graph, rows)
    ends = np.repeat(graph.final, graph.phases)
    for x in np.flatnonzero(graph.live[graph.steps]):
        valid[x] = True
        low[x] = ends / graph.final[x] * (1 - 2.0**-51)
        high[x] = ends / graph.final[x] * (1 + 2.0**-51)
        low[x, x * graph.phases + phase] = high[x, x * graph.phases + phase] = 1.0
        if (graph.final[graph.final > 0] == graph.final[x]).all():  # 1 exactly, as without a balanced prior
            low[x] = high[x] = np.repeat((graph.final > 0).astype(np.float64), graph.phases)
    plan = _Plan(graph, rows, near_ends)
    plan.add(graph.steps, low, high, valid)
    for step in range(graph.steps - 1, -1, -1):
        next_first = rows.next_first[0 if graph.steps - step <= longest else 1]
        low, high, valid = next_right_boxes(
            graph.first, graph.other, graph.back, graph.earlier, graph.weight, graph.symbol, graph.levels,
            kappa, following, graph.metric_at[step + 1], phase, rows.state, next_first, rows.following,
            low, high, valid, graph.live[step], slack_of(graph),
        )  # fmt: skip
        plan.add(step, low, high, valid)
    return plan.boxes()


def _nothing(graph: CostGraph, rows: Windows) -> tuple[Floats, Floats, Booleans]:
    shape = (rows.count, graph.size * graph.phases)
    return np.zeros(shape), np.zeros(shape), np.zeros(rows.count, dtype=np.bool_)


class _Plan:
    """Slots while they are being filled."""

    def __init__(self, graph: CostGraph, rows: Windows, near_ends: int) -> None:
        room = _MOST_BYTES_OF_WINDOWS if rows.longest else _MOST_BYTES
        most = max(3, room // (8 * rows.count * graph.size * graph.phases))
        self._rows = rows
        self._slot_of = slot_plan(graph.steps, most, near_ends)
        slots, width = int(self._slot_of[-1]) + 1, graph.size * graph.phases
        self._low = np.zeros((slots, rows.count, width), dtype=np.float32)
        self._high = np.zeros((slots, rows.count, width), dtype=np.float32)
        self._valid = np.zeros((slots, rows.count), dtype=np.bool_)

    def add(self, step: int, low: Floats, high: Floats, valid: Booleans) -> None:
        """A step's boxes, those of shorter windows around them, and the slot around both."""
        slot, rows = int(self._slot_of[step]), self._rows
        whole = int(rows.length[valid].max(initial=0))  # rows of this length hold all words
        for length in range(whole - 1, -1, -1):
            enclose_longer(
                rows.first, rows.other, int(rows.begin[length]), int(rows.begin[length + 1]), low, high, valid
            )
        enclose(self._low[slot], self._high[slot], self._valid[slot], low, high, valid)
        valid[: rows.begin[whole]] = False  # words go on from the longest

    def boxes(self) -> Boxes:
        """What was collected."""
        return Boxes(self._rows, self._low, self._high, self._valid, self._slot_of)
