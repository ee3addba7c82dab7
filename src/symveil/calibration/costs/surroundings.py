"""Symbols around the blocks of one class of positions, for the search: which there can be, and the boxes they give."""

from __future__ import annotations

import numpy as np

from symveil.calibration.costs.blocks import Kind, tail_of
from symveil.calibration.costs.boxes import Boxes
from symveil.calibration.costs.contexts import extended, left_contexts, right_contexts
from symveil.calibration.costs.graph import Booleans, CostGraph, Floats, Integers
from symveil.calibration.costs.outcome import Node


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

    def longer(self, boxes: Boxes, state: int, paths: Integers, kept: Booleans) -> tuple[Integers, Integers]:
        """The kept paths, each with one more state known, and which row each comes from."""
        return extended(boxes.rows.first, boxes.rows.other, state, paths, kept)  # type: ignore[no-any-return]

    def boxes_before(self, state: int, paths: Integers) -> tuple[Booleans, Floats, Floats]:
        """l and ω at the state before the block, a column for each path."""
        graph = self._graph
        kappa, following, _ = graph.automaton
        boxes, step = self._left, self._low - 1
        anchor = step - max(0, paths.shape[1] - boxes.rows.longest)
        return left_contexts(  # type: ignore[no-any-return]
            graph.back, graph.earlier, graph.earlier_weight, graph.symbol, graph.levels, kappa, following,
            graph.metric_at, boxes.low, boxes.high, boxes.valid, *boxes.slots(anchor, anchor + self._span),
            boxes.rows.state, boxes.rows.longest, step, state, paths,
        )  # fmt: skip

    def boxes_after(self, state: int, paths: Integers) -> tuple[Booleans, Floats, Floats]:
        """l' and ω' at the state after the block, a column for each path."""
        graph = self._graph
        kappa, following, _ = graph.automaton
        boxes = self._right
        anchor = self._end + max(0, paths.shape[1] - boxes.rows.longest)
        return right_contexts(  # type: ignore[no-any-return]
            graph.first, graph.other, graph.weight, graph.symbol, graph.levels, kappa, following,
            graph.metric_at, boxes.low, boxes.high, boxes.valid, *boxes.slots(anchor, anchor + self._span),
            boxes.rows.state, boxes.rows.longest, self._end, state, paths,
        )  # fmt: skip
