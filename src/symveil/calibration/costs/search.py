"""Best-first search for the worst block: what is proved, and the worst pair of words that was found.

See docs/theory/certificates.md, *Refinement*. A node is a set of pairs of words that differ in one block: the block,
some symbols before it and after it, and a range of positions. Its bound holds for all of its words. The node with the
largest bound is split: first its positions, then by the symbol before or the symbol after, whichever side is the less
certain. A dive follows the likeliest child down to two words, whose loss is a lower bound. What is proved at any moment
is the largest bound that is left, so that the search may stop at any time.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from symveil.calibration.costs.block_loops import children_bounds, root_bounds
from symveil.calibration.costs.blocks import (
    BlockValues,
    Groups,
    Kind,
    LossyPair,
    Node,
    Outcome,
    at_once,
    block_groups,
    classes,
    tail_of,
)
from symveil.calibration.costs.boxes import Surroundings, boxes_of_side, weights_of_paths
from symveil.calibration.costs.context_loops import context_bounds
from symveil.calibration.costs.graph import CostGraph, Floats, Integers
from symveil.calibration.costs.half_loops import not_yet_proved
from symveil.calibration.costs.step_loops import total_of_word
from symveil.calibration.limits import LIMITS

_HOPELESS, _FEW_NODES = 2, 200
_AT_ONCE, _WIDE = 8, 1000  # so many nodes are split at the same time where vectors are that long


class BlockSearch(BlockValues):
    """The search over one graph at one rate; boxes are computed once."""

    def __init__(
        self, graph: CostGraph, adjacency: int, *, largest_step: float, window: int, near_ends: int = 2
    ) -> None:
        super().__init__(graph, adjacency, largest_step, near_ends)
        widest = max(near_ends, adjacency + 2)
        both = at_once(lambda forwards: boxes_of_side(graph, widest, window, forwards=forwards), (True, False))
        self.left, self.right = both

    # --- one kind of block ---------------------------------------------------------------------------

    def largest(
        self, kind: Kind, *, target: float, nodes: int, stop_at: float = math.inf, tolerance: float = 0.0,
        report: Callable[[float], None] | None = None,
    ) -> Outcome:  # fmt: skip
        """The largest rate·D + ln Z(v)/Z(w) of a kind of block (for staircases without the first term), proved.

        As `BlockValues.largest`; at most `nodes` nodes are split.
        """
        outcome = Outcome()
        roots, settled = self._all_roots(kind, max(target, self.least(kind)), outcome, report)
        heap = [(-self._value_of(node), number, node) for number, node in enumerate(roots)]
        heapq.heapify(heap)
        at_first = max(settled, -heap[0][0] if heap else -math.inf)  # the bound of all roots
        if len(heap) > LIMITS.now.roots:
            heap = heapq.nsmallest(LIMITS.now.roots + 1, heap)
            settled = max(settled, -heap.pop()[0])
        nodes = self._worth_splitting(nodes, len(heap))
        if nodes:
            self._first_dives(roots, kind, outcome)
        counter, dives = len(roots), 0
        batch = _AT_ONCE if self.graph.size * self.graph.phases >= _WIDE else 1
        while heap and outcome.nodes < nodes and outcome.low <= stop_at:
            floor = max(settled, outcome.low + tolerance)
            if -heap[0][0] <= floor:
                break
            if report is not None and (batch > 1 or outcome.nodes % LIMITS.now.reported_nodes == 0):
                report(outcome.nodes / nodes)
            top = heap[0][2]
            if 8 * dives <= outcome.nodes and top.nominal > 0 and self._value_of(top, nominal=True) > outcome.low:
                self._dive(top, kind, outcome)
                dives += 1
                floor = max(settled, outcome.low + tolerance)
            worst: list[Node] = []
            while heap and len(worst) < min(batch, nodes - outcome.nodes) and (not worst or -heap[0][0] > floor):
                worst.append(heapq.heappop(heap)[2])
            outcome.nodes += len(worst)
            splits = at_once(partial(self._split, kind=kind, floor=floor), worst)
            for node, children in zip(worst, splits, strict=True):
                if children is None:  # a single pair: its bound is its value, up to rounding
                    self._note(node, outcome)
                    settled = max(settled, self._value_of(node))
                    continue
                for child in children:
                    counter += 1
                    heapq.heappush(heap, (-self._value_of(child), counter, child))
        # what was left out lies below one of these; both only grew since
        left = max(settled, outcome.low + tolerance, -heap[0][0] if heap else -math.inf)
        outcome.high = min(left, at_first)
        return outcome

    def _all_roots(
        self, kind: Kind, settled: float, outcome: Outcome, report: Callable[[float], None] | None
    ) -> tuple[list[Node], float]:
        """The roots above a bound, and the largest bound of what is none of them."""
        roots: list[Node] = []
        for low, high in classes(self.graph, kind, self._near_ends):
            if report is not None:
                report(0.0)
            groups = block_groups(self.graph, kind, low, high, self.adjacency)
            if groups is None:
                outcome.exists = True
                settled = max(settled, self.classic(kind))
                continue
            roots += self._roots(kind, groups, low, high, settled, outcome)
        return roots, settled

    def _worth_splitting(self, nodes: int, roots: int) -> int:
        """How many nodes: few where there are so many roots that minutes of refinement would change nothing."""
        return min(nodes, _FEW_NODES) if self.adjacency > 2 and roots > _HOPELESS * nodes else nodes

    def _first_dives(self, roots: list[Node], kind: Kind, outcome: Outcome) -> None:
        likely = heapq.nlargest(LIMITS.now.first_dives, roots, key=lambda node: self._value_of(node, nominal=True))
        if not likely and outcome.likely is not None:  # all is proved; still say how little is left
            likely = [outcome.likely]
        for node in likely:
            self._dive(node, kind, outcome)

    def _split(self, node: Node, kind: Kind, floor: float) -> list[Node] | None:
        """Nodes that cover this one, those that keep within `floor` left out; None where it is a single pair."""
        nothing_known = max(node.left, node.right) < self.graph.size and node.lead == 0
        if nothing_known and len(node.own) == kind.length + tail_of(self.graph, kind):
            result = self._in_contexts(node, kind, floor)
            if result is not None:
                return result
        parts = self._parts(node)
        if parts is None:
            return None
        lowest, _ = self._limits(node.cost, floor)
        return [child for child in self._bounded(parts, node, kind, floor) if child.ratio > lowest]

    def _value_of(self, node: Node, *, nominal: bool = False) -> float:
        return self.value(node.nominal if nominal else node.ratio, node.cost)

    def _limits(self, cost: float, target: float) -> tuple[float, float]:
        steps = cost if self._period == 1 else math.ceil(cost / self._period)
        room = target - (self._rate * cost if self._period == 1 else 0.0)
        floor = max(1.0, math.exp(min(room, 600.0)) * (1 - 2.0**-40))
        return floor, math.exp(min(self._rate * steps, 600.0)) * (1 + 2.0**-40)

    # --- roots ---------------------------------------------------------------------------------------

    def _roots(self, kind: Kind, groups: Groups, low: int, high: int, target: float, outcome: Outcome) -> list[Node]:
        nodes = []
        last = kind.length + tail_of(self.graph, kind) - 1
        left_slots, right_slots = self.left.slots(low - 1, high - 1), self.right.slots(low + last, high + last)
        if self.graph.is_chain and len(groups.row):
            given = len(groups.paths)
            groups = self._not_proved_by_halves(kind, groups, (low, high), (left_slots, right_slots), target, outcome)
            merged = max(left_slots[1] - left_slots[0], right_slots[1] - right_slots[0]) > 1
            if low < high and merged and len(groups.paths) <= LIMITS.now.split_share * given:
                middle = (low + high) // 2
                nodes = self._roots(kind, groups, low, middle, target, outcome)
                return nodes + self._roots(kind, groups, middle + 1, high, target, outcome)
        begins = range(0, len(groups.row), LIMITS.now.groups_at_once)
        parts = [groups.part(begin, min(begin + LIMITS.now.groups_at_once, len(groups.row))) for begin in begins]

        def bounded(part: Groups) -> tuple[Floats, bool]:
            return root_bounds(
                self.graph.moves, self.left.stored, self.right.stored, np.array(left_slots), np.array(right_slots),
                part.as_paths(part.paths), low, kind.length, self.prices(target), self.graph.rounding,
            )  # fmt: skip

        for part, (result, some) in zip(parts, at_once(bounded, parts), strict=True):
            outcome.exists = outcome.exists or bool(some)
            for group, i, j, ratio, nominal, before, after in result.tolist():
                which = (int(group), int(i), int(j))
                nodes.append(self._root(part, (low, high), which, (ratio, nominal, before, after)))
        return nodes

    def _not_proved_by_halves(
        self,
        kind: Kind,
        groups: Groups,
        begins: tuple[int, int],
        slots: tuple[tuple[int, int], tuple[int, int]],
        target: float,
        outcome: Outcome,
    ) -> Groups:
        """The paths of pairs for which the most of one over the least of the other does not settle it."""
        weights = weights_of_paths(self.graph, self.left, self.right, groups, begins[0], slots)
        if weights is None:
            return groups
        _, _, phase = self.graph.automaton
        own = np.arange(self.graph.size) * self.graph.phases + phase
        end_high = (
            self.right.high[slots[1][0] : slots[1][1], : self.graph.size, own].max(axis=0).astype(np.float64, order="C")
        )
        still, (one, two, ratio) = not_yet_proved(
            self.graph.moves, self.prices(target), groups.as_paths(groups.paths), begins[0], kind.length, weights,
            end_high,
        )  # fmt: skip
        if one >= 0:
            outcome.exists = True
            if outcome.likely is None or ratio > outcome.likely.ratio:
                group = int(np.searchsorted(groups.first, one, side="right")) - 1
                outcome.likely = self._root(groups, begins, (group, int(one), int(two)), (ratio, ratio, 0.0, 0.0))
        return groups.only(still)

    def _root(
        self,
        part: Groups,
        begins: tuple[int, int],
        which: tuple[int, int, int],
        result: tuple[float, float, float, float],
    ) -> Node:
        """The node of a group, w's path and v's path."""
        group, i, j = which
        own, other = tuple(part.paths[i].tolist()), tuple(part.paths[j].tolist())
        ratio, nominal, before, after = result
        return Node(
            low=begins[0], high=begins[1], lead=0, left=int(part.row[group]), own=own, other=other,
            right=int(part.end[i]), right_other=int(part.end[j]),
            same_start=bool(part.origin[i] == part.origin[j]), spare=int(part.spare[group]),
            cost=self._cost(begins[0], own, other), ratio=ratio, nominal=nominal, before=before, after=after,
        )  # fmt: skip

    def _cost(self, begin: int, own: tuple[int, ...], other: tuple[int, ...]) -> float:
        levels, metric_at = self.graph.levels, self.graph.metric_at
        pairs = enumerate(zip(own, other, strict=True))
        return float(sum(self._value[levels[metric_at[begin + k], one, two]] for k, (one, two) in pairs))

    # --- contexts ------------------------------------------------------------------------------------

    def _in_contexts(self, root: Node, kind: Kind, floor: float) -> list[Node] | None:
        """A root with a few symbols on both sides, all at once; None where its positions must be split first."""
        contexts = Surroundings(self.graph, self.left, self.right, root, kind)
        lowest, largest = self._limits(root.cost, floor)
        largest = max(largest, lowest)
        own, other = np.array(root.own, dtype=np.int64), np.array(root.other, dtype=np.int64)
        before = after = np.empty((1, 0), dtype=np.int64)
        row, column = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
        results = np.zeros((1, 6))
        width = self.graph.size * self.graph.phases
        symbols = 0
        while True:
            symbols += 1
            room = contexts.room(symbols)
            if room is None or room == (before.shape[1], after.shape[1]):
                break
            remaining = np.zeros(len(before), dtype=np.bool_)
            remaining[row] = True
            remaining_after = np.zeros(len(after), dtype=np.bool_)
            remaining_after[column] = True
            longer = (
                contexts.longer(self.left, root.left, before, remaining)
                if room[0] > before.shape[1]
                else (before[remaining], np.flatnonzero(remaining))
            )
            longer_after = (
                contexts.longer(self.right, root.right, after, remaining_after)
                if room[1] > after.shape[1]
                else (after[remaining_after], np.flatnonzero(remaining_after))
            )
            moves = 2 * symbols * len(self.graph.other) * self.graph.phases
            if float(len(longer[0])) * len(longer_after[0]) * width > LIMITS.now.context_work or (
                float(len(longer[0]) + len(longer_after[0])) * moves > LIMITS.now.context_work
            ):
                break
            still = np.zeros((len(before), len(after)), dtype=np.bool_)
            still[row, column] = True
            before, after = longer[0], longer_after[0]
            there, least, wide = contexts.boxes_before(root.left, before)
            there_after, end_least, end_wide = contexts.boxes_after(root.right, after)
            still = still[longer[1]][:, longer_after[1]] & there[:, None] & there_after[None, :]
            if not still.any():
                results = np.empty((0, 6))
                break
            results = context_bounds(
                self.graph.moves, own, other, root.low, kind.length, least, wide, end_least, end_wide,
                np.ascontiguousarray(still),
                lowest, largest, self.graph.rounding,
            )  # fmt: skip
            row, column = results[:, 0].astype(np.int64), results[:, 1].astype(np.int64)
            if not len(results) or len(results) > LIMITS.now.contexts:
                break
        if symbols == 1 and room is None:
            return None
        if not before.shape[1] and not after.shape[1]:
            return None
        return self._with_contexts(root, before, after, results)

    def _with_contexts(self, root: Node, before: Integers, after: Integers, result: Floats) -> list[Node]:
        graph = self.graph
        nodes = []
        window, window_after = self.left.rows, self.right.rows
        for i, j, ratio, nominal, left_term, right_term in result.tolist():
            earlier, later = before[int(i)], after[int(j)]
            moved = window.state[earlier[window.longest :]]
            lead = tuple(graph.symbol[[*moved[:-1][::-1], root.left]].tolist()) if len(moved) else ()
            tail = tuple(graph.symbol[window_after.state[later[window_after.longest :]]].tolist())
            other_state = root.right_other
            for symbol in graph.symbol[window_after.farthest[later]].tolist():
                other_state = self._followed(other_state, symbol)
            if other_state < 0 and (graph.is_chain or root.spare == 0):
                continue
            nodes.append(
                replace(
                    root, lead=len(moved), left=int(earlier[-1]) if len(earlier) else root.left,
                    own=lead + root.own + tail, other=lead + root.other + tail,
                    right=int(later[-1]) if len(later) else root.right, right_other=other_state,
                    ratio=min(root.ratio, ratio), nominal=nominal, before=left_term, after=right_term,
                )
            )  # fmt: skip
        return nodes

    def _followed(self, state: int, symbol: int) -> int:
        """Where a symbol leads, or −1."""
        if state < 0:
            return -1
        graph = self.graph
        following = graph.other[graph.first[state] : graph.first[state + 1]]
        reached = following[graph.symbol[following] == symbol]
        return int(reached[0]) if len(reached) else -1

    # --- refinement ----------------------------------------------------------------------------------

    def _parts(self, node: Node) -> list[Node] | None:
        graph = self.graph
        depth, end = node.low - 1 - node.lead, node.low + len(node.own) - 1 - node.lead
        span = node.high - node.low
        known, known_after = int(self.left.rows.length[node.left]), int(self.right.rows.length[node.right])
        if span:
            many = (
                self.left.slot_of[depth] != self.left.slot_of[depth + span]
                or self.right.slot_of[end] != self.right.slot_of[end + span]
                or depth == known
                or end + span + known_after == graph.steps
            )
            if many or not self._one_metric(node):
                middle = (node.low + node.high) // 2
                return [replace(node, high=middle), replace(node, low=middle + 1)]
        if depth == known and end + known_after == graph.steps:
            return None
        forwards = depth == known or (end + known_after < graph.steps and node.after > node.before)
        return self._with_symbol_after(node) if forwards else self._with_symbol_before(node)

    def _one_metric(self, node: Node) -> bool:
        """Whether the costs at the known steps and the two beside them are the same at all positions of a node."""
        begin, end = node.low - 1 - node.lead, node.low + len(node.own) - node.lead
        span = node.high - node.low
        metric_at = self.graph.metric_at
        return bool((metric_at[begin : end + 1] == metric_at[begin + span : end + span + 1]).all())

    def _with_symbol_before(self, node: Node) -> list[Node]:
        rows = self.left.rows
        longer = rows.longer(node.left).tolist()
        if rows.length[node.left] < rows.longest:
            return [replace(node, left=row) for row in longer]
        symbol = int(self.graph.symbol[rows.state[node.left]])  # the anchor moves away: its own symbol is now a step
        own, other = (symbol, *node.own), (symbol, *node.other)
        return [replace(node, lead=node.lead + 1, left=row, own=own, other=other) for row in longer]

    def _with_symbol_after(self, node: Node) -> list[Node]:
        graph, rows = self.graph, self.right.rows
        moves = rows.length[node.right] == rows.longest
        # v goes on with the same symbol: always on a chain, elsewhere where no other difference may follow
        bound = graph.is_chain or node.spare == 0
        parts = []
        for row in rows.longer(node.right).tolist():
            other_state = self._followed(node.right_other, int(graph.symbol[rows.farthest[row]]))
            if other_state < 0 and bound:
                continue
            step = (int(graph.symbol[rows.state[row]]),) if moves else ()
            parts.append(
                replace(node, own=node.own + step, other=node.other + step, right=row, right_other=other_state)
            )
        return parts

    def _bounded(self, parts: list[Node], parent: Node, kind: Kind, floor: float) -> list[Node]:
        if not parts:
            return []
        lowest, largest = self._limits(parent.cost, floor)
        left_slots, right_slots = np.empty((len(parts), 2), dtype=np.int64), np.empty((len(parts), 2), dtype=np.int64)
        begin = np.empty(len(parts), dtype=np.int64)
        for k, part in enumerate(parts):
            begin[k] = part.low - part.lead
            end = begin[k] + len(part.own) - 1
            span = part.high - part.low
            left_slots[k] = self.left.slots(begin[k] - 1, begin[k] - 1 + span)
            right_slots[k] = self.right.slots(end, end + span)
        lead = parts[0].lead
        results = children_bounds(
            self.graph.moves, self.left.stored, self.right.stored,
            np.array([part.own for part in parts], dtype=np.int64),
            np.array([part.other for part in parts], dtype=np.int64),
            begin, lead, lead + kind.length,
            np.array([part.left for part in parts], dtype=np.int64),
            np.array([part.right for part in parts], dtype=np.int64),
            left_slots, right_slots, lowest, max(largest, lowest), self.graph.rounding,
        )  # fmt: skip
        children = []
        known = len(parts[0].own) <= self.graph.longest_node  # beyond, roundings are not known: the parent's bound
        for part, (ratio, nominal, before, after) in zip(parts, results.tolist(), strict=True):
            if not known:
                children.append(replace(part, ratio=parent.ratio, nominal=nominal if nominal > 0 else parent.nominal))
            elif ratio > 0:
                children.append(
                    replace(part, ratio=min(parent.ratio, ratio), nominal=nominal, before=before, after=after)
                )
        return children

    # --- lower bounds --------------------------------------------------------------------------------

    def _dive(self, node: Node, kind: Kind, outcome: Outcome) -> None:
        """Follow the child with the largest nominal ratio to a single pair of words."""
        while True:
            parts = self._parts(node)
            if parts is None:
                self._note(node, outcome)
                return
            children = self._bounded(parts, node, kind, -math.inf)
            if not children:
                return
            # two feasible words, where that is still possible
            node = max(children, key=lambda child: (child.right_other >= 0, child.nominal))

    def _note(self, node: Node, outcome: Outcome) -> None:
        """Remember a single pair, if it is one of two feasible words and the worst so far."""
        if not node.same_start or node.right_other < 0 or not self.graph.live[self.graph.steps, node.right_other]:
            return
        before, after = self.left.rows.known(node.left), self.right.rows.known(node.right)[::-1]
        lead = tuple(self.graph.symbol[before[1:]].tolist())
        tail = tuple(self.graph.symbol[after[1:]].tolist())
        own, other = lead + node.own + tail, lead + node.other + tail
        log_ratio = self.log_ratio(before[0], own, other)
        value = log_ratio if self._period > 1 else log_ratio + self._rate * node.cost
        if value > outcome.low:
            outcome.low = value
            outcome.pair = LossyPair(before[0], own, other, log_ratio)

    def log_ratio(self, start: int, own: tuple[int, ...], other: tuple[int, ...]) -> float:
        """ln Z(v)/Z(w) of two words, in floats."""
        graph = self.graph
        _, _, phase = graph.automaton
        totals = [
            total_of_word(graph.moves, np.array(word, dtype=np.int64), start, phase, graph.final, graph.steps)
            for word in (own, other)
        ]
        return float(totals[1] - totals[0])
