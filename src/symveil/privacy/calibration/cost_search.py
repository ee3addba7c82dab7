"""Best-first search for the worst block: what is proved, and the worst pair of words that was found.

See docs/theory/near-optimal.md, *Refinement*. A node is a set of pairs of words that differ in one block: the block,
some symbols before it and after it, and a range of positions. Its bound holds for all of its words. The node with the
largest bound is split: first its positions, then by the symbol before or the symbol after, whichever side is the less
certain. A dive follows the likeliest child down to two words, whose loss is a lower bound. What is proved at any moment
is the largest bound that is left, so that the search may stop whenever it likes.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, replace

import numpy as np

from symveil.privacy.calibration.cost_blocks import Groups, Kind, block_groups, classes, tail_of
from symveil.privacy.calibration.cost_boxes import Boxes, left_boxes, right_boxes
from symveil.privacy.calibration.cost_contexts import context_bounds, left_contexts, right_contexts
from symveil.privacy.calibration.cost_graph import CostGraph, Floats, Integers
from symveil.privacy.calibration.cost_nodes import children_bounds
from symveil.privacy.calibration.cost_roots import root_bounds
from symveil.privacy.calibration.cost_steps import total_of_word

_MANY_ROOTS = 200_000  # of one class that are kept for refinement; beyond, the largest bound of the others counts
_GROUPS_AT_ONCE = 512
_LONGEST_CONTEXT = 3
_CONTEXT_WORK = 1e7  # multiplications for one block


@dataclass(frozen=True, slots=True)
class Pair:
    """Two words (the symbols after their start), the state they start from, and ln Z(v)/Z(w)."""

    start: int
    own: tuple[int, ...]
    other: tuple[int, ...]
    log_ratio: float


@dataclass(frozen=True, slots=True)
class Node:
    """All pairs of words with these symbols around a block that begins at one of the steps low … high."""

    low: int
    high: int
    lead: int  # how many symbols before the block are known
    left: int  # the state before the first known symbol
    own: tuple[int, ...]
    other: tuple[int, ...]
    right: int  # w's state after the last known symbol
    right_other: int  # v's; −1 where it has none
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
    pair: Pair | None = None
    nodes: int = 0
    exists: bool = False


class _Contexts:
    """The contexts of one class of blocks, kept by state and number of symbols."""

    def __init__(self, search: BlockSearch, root: Node, kind: Kind) -> None:
        self._search = search
        self._low, self._high = root.low, root.high
        self._end = root.low + kind.length + tail_of(search.graph, kind) - 1  # the step of the last symbol
        self._left: dict[tuple[int, int], tuple[Integers, Floats, Floats]] = {}
        self._right: dict[tuple[int, int], tuple[Integers, Floats, Floats]] = {}

    def _steps(self, symbols: int) -> tuple[int, int]:
        """How many of them there is room for on each side."""
        graph, span = self._search.graph, self._high - self._low
        return min(symbols, self._low - 1), min(symbols, graph.steps - self._end - span)

    def fit(self, root: Node, symbols: int) -> bool:
        """Whether contexts of so many symbols are affordable, new, and the same at all positions of the class."""
        graph, span = self._search.graph, self._high - self._low
        before, after = self._steps(symbols)
        if (before, after) == self._steps(symbols - 1):
            return False
        if span and (before < symbols or after < symbols):
            return False  # some positions have no room for them: the search splits positions first
        metric = graph.metric_at[self._low - before : self._end + after + 1]
        if not np.array_equal(metric, graph.metric_at[self._low - before + span : self._end + after + 1 + span]):
            return False
        degree = float(np.diff(graph.first).mean())
        if degree ** (before + after) * graph.size * graph.phases > 4 * _CONTEXT_WORK:
            return False
        pairs = len(self.left(root.left, symbols)[0]) * len(self.right(root.right, symbols)[0])
        return pairs * graph.size * graph.phases <= _CONTEXT_WORK

    def left(self, state: int, symbols: int) -> tuple[Integers, Floats, Floats]:
        """Paths before a state and their boxes there, a column each."""
        steps, _ = self._steps(symbols)
        if (state, steps) not in self._left:
            search, graph = self._search, self._search.graph
            step, span = self._low - 1, self._high - self._low
            live = np.stack(
                [graph.live[step - k : step - k + span + 1].any(axis=0) for k in range(1, steps + 1)]
                or [np.empty(0, dtype=np.bool_)]
            )
            kappa, following, _ = graph.automaton
            boxes = search._left
            paths, least, wide = left_contexts(
                graph.back, graph.earlier, graph.earlier_weight, graph.symbol, graph.levels, kappa, following,
                graph.metric_at, boxes.low, boxes.high, boxes.valid, *boxes.slots(step - steps, step - steps + span),
                live, step, state, steps,
            )  # fmt: skip
            self._left[state, steps] = paths, np.ascontiguousarray(least.T), np.ascontiguousarray(wide.T)
        return self._left[state, steps]

    def right(self, state: int, symbols: int) -> tuple[Integers, Floats, Floats]:
        """Paths after a state and their boxes there, a column each."""
        _, steps = self._steps(symbols)
        if (state, steps) not in self._right:
            search, graph = self._search, self._search.graph
            step, span = self._end, self._high - self._low
            live = np.stack(
                [graph.live[step + k : step + k + span + 1].any(axis=0) for k in range(1, steps + 1)]
                or [np.empty(0, dtype=np.bool_)]
            )
            kappa, following, _ = graph.automaton
            boxes = search._right
            paths, least, wide = right_contexts(
                graph.first, graph.other, graph.weight, graph.symbol, graph.levels, kappa, following,
                graph.metric_at, boxes.low, boxes.high, boxes.valid, *boxes.slots(step + steps, step + steps + span),
                live, step, state, steps,
            )  # fmt: skip
            self._right[state, steps] = paths, np.ascontiguousarray(least.T), np.ascontiguousarray(wide.T)
        return self._right[state, steps]


class BlockSearch:
    """The search over one graph at one rate; boxes are computed once."""

    def __init__(self, graph: CostGraph, adjacency: int, *, largest_step: float, near_ends: int = 2) -> None:
        self.graph = graph
        self.adjacency = adjacency
        self._largest_step = largest_step  # what two symbols cost at most that adjacent words can have
        self._near_ends = near_ends
        costs = graph.weights.costs
        self._rate = float(graph.weights.rate)
        self._period = costs.period
        self._value = np.array([float(value) for value in costs.values])
        kept = max(near_ends, adjacency + 2)
        self._left: Boxes = left_boxes(graph, kept)
        self._right: Boxes = right_boxes(graph, kept)
        kappa, following, _ = graph.automaton
        self._arrays = (
            graph.back, graph.earlier, graph.earlier_weight, graph.first, graph.other, graph.weight, graph.symbol,
            graph.levels, kappa, following, graph.metric_at,
        )  # fmt: skip
        self._boxes = (
            self._left.low, self._left.high, self._left.valid, self._right.low, self._right.high, self._right.valid,
        )  # fmt: skip

    # --- one kind of block ---------------------------------------------------------------------------

    def largest(
        self, kind: Kind, *, target: float, nodes: int, stop_at: float = math.inf, tolerance: float = 0.0
    ) -> Outcome:
        """The largest rate·D + ln Z(v)/Z(w) of a kind of block (for staircases without the first term), proved.

        Nothing below `target` is of interest. At most `nodes` nodes are split; the search also ends as soon as a pair
        above `stop_at` is found, or as what is proved exceeds what was found by no more than `tolerance`.
        """
        outcome = Outcome()
        heap: list[tuple[float, int, Node]] = []
        settled = max(target, self._least(kind))  # the largest bound of what is not in the heap
        for low, high in classes(self.graph, kind, self._near_ends):
            groups = block_groups(self.graph, kind, low, high, self.adjacency)
            if groups is None:
                outcome.exists = True
                settled = max(settled, self._classic(kind))
                continue
            roots = self._roots(kind, groups, low, high, settled, outcome)
            if nodes:
                roots = self._in_contexts(roots, kind, settled)
            heap += [(-self._value_of(node), len(heap) + number, node) for number, node in enumerate(roots)]
        heapq.heapify(heap)
        if len(heap) > _MANY_ROOTS:
            heap = heapq.nsmallest(_MANY_ROOTS + 1, heap)
            settled = max(settled, -heap.pop()[0])
        counter, dives = len(heap), 0
        while heap and outcome.nodes < nodes and outcome.low <= stop_at:
            floor = max(settled, outcome.low + tolerance)
            if -heap[0][0] <= floor:
                break
            _, _, node = heapq.heappop(heap)
            outcome.nodes += 1
            if 8 * dives <= outcome.nodes and node.nominal > 0 and self._value_of(node, nominal=True) > outcome.low:
                self._dive(node, kind, outcome)
                dives += 1
            parts = self._parts(node)
            if parts is None:  # a single pair: its bound is its value, up to rounding
                self._note(node, outcome)
                settled = max(settled, self._value_of(node))
                continue
            floor = max(settled, outcome.low + tolerance)
            for child in self._bounded(parts, node, kind, floor):
                counter += 1
                heapq.heappush(heap, (-self._value_of(child), counter, child))
        # what was left out lies below one of these; both only grew since
        outcome.high = max(settled, outcome.low + tolerance, -heap[0][0] if heap else -math.inf)
        return outcome

    def _least(self, kind: Kind) -> float:
        """What a block is worth where Z(v) ≤ Z(w): pairs are not looked at below that."""
        return 0.0 if self._period > 1 else self._rate * self._largest_step * kind.length * (1 + 2.0**-40)

    def _classic(self, kind: Kind) -> float:
        """What the triangle inequality gives for any block of this length."""
        most = self._largest_step * kind.length
        if self._period > 1:
            return self._rate * math.ceil(most / self._period) * (1 + 2.0**-40)
        return 2 * self._rate * most * (1 + 2.0**-40)

    def _value_of(self, node: Node, *, nominal: bool = False) -> float:
        """rate·D + ln R, or ln R for a staircase, rounded up."""
        ratio = node.nominal if nominal else node.ratio
        logarithm = math.log(ratio) * (1 + 2.0**-50) + 2.0**-50 if 0 < ratio < math.inf else math.inf
        return logarithm if self._period > 1 else logarithm + self._rate * node.cost * (1 + 2.0**-50)

    def _limits(self, cost: float, target: float) -> tuple[float, float]:
        steps = cost if self._period == 1 else math.ceil(cost / self._period)
        room = target - (self._rate * cost if self._period == 1 else 0.0)
        floor = max(1.0, math.exp(min(room, 600.0)) * (1 - 2.0**-40))
        return floor, math.exp(min(self._rate * steps, 600.0)) * (1 + 2.0**-40)

    # --- roots ---------------------------------------------------------------------------------------

    def _roots(self, kind: Kind, groups: Groups, low: int, high: int, target: float, outcome: Outcome) -> list[Node]:
        nodes = []
        last = kind.length + tail_of(self.graph, kind) - 1
        left_slots = np.array(self._left.slots(low - 1, high - 1))
        right_slots = np.array(self._right.slots(low + last, high + last))
        for begin in range(0, len(groups.row), _GROUPS_AT_ONCE):
            part = groups.part(begin, min(begin + _GROUPS_AT_ONCE, len(groups.row)))
            found, some = root_bounds(
                *self._arrays, *self._boxes, left_slots, right_slots,
                part.first, part.row, part.spare, part.paths, part.end, part.may_own, part.may_other, part.apart,
                low, kind.length, self._value, self._rate, self._period, target, self.graph.rounding,
            )  # fmt: skip
            outcome.exists = outcome.exists or bool(some)
            for row in found:
                group, i, j = int(row[0]), int(row[1]), int(row[2])
                own, other = tuple(part.paths[i].tolist()), tuple(part.paths[j].tolist())
                nodes.append(
                    Node(
                        low=low, high=high, lead=0, left=int(part.row[group]), own=own, other=other,
                        right=int(part.end[i]), right_other=int(part.end[j]),
                        same_start=bool(part.origin[i] == part.origin[j]), spare=int(part.spare[group]),
                        cost=self._cost(low, own, other), ratio=float(row[3]), nominal=float(row[4]),
                        before=float(row[5]), after=float(row[6]),
                    )
                )  # fmt: skip
        return nodes

    def _cost(self, begin: int, own: tuple[int, ...], other: tuple[int, ...]) -> float:
        levels, metric_at = self.graph.levels, self.graph.metric_at
        pairs = enumerate(zip(own, other, strict=True))
        return float(sum(self._value[levels[metric_at[begin + k], one, two]] for k, (one, two) in pairs))

    # --- contexts ------------------------------------------------------------------------------------

    def _in_contexts(self, roots: list[Node], kind: Kind, floor: float) -> list[Node]:
        """Roots with a few symbols on both sides, all at once: those that are not proved by that."""
        if not roots:
            return []
        contexts = _Contexts(self, roots[0], kind)
        nodes = []
        for root in roots:
            parts: list[Node] = [root]
            for symbols in range(1, _LONGEST_CONTEXT + 1):
                if not contexts.fit(root, symbols):
                    break
                parts = self._with_contexts(root, kind, contexts, symbols, floor)
                if not parts:
                    break
            nodes += parts
        return nodes

    def _with_contexts(self, root: Node, kind: Kind, contexts: _Contexts, symbols: int, floor: float) -> list[Node]:
        graph = self.graph
        before, least, wide = contexts.left(root.left, symbols)
        after, end_least, end_wide = contexts.right(root.right, symbols)
        if not len(before) or not len(after):
            return []
        lowest, largest = self._limits(root.cost, floor)
        found = context_bounds(
            *self._arrays, np.array(root.own, dtype=np.int64), np.array(root.other, dtype=np.int64), root.low,
            kind.length, least, wide, end_least, end_wide, lowest, max(largest, lowest), graph.rounding,
        )  # fmt: skip
        nodes = []
        for i, j, ratio, nominal, left_term, right_term in found.tolist():
            earlier, later = before[int(i)], after[int(j)]
            lead = tuple(graph.symbol[[*earlier[:-1][::-1], root.left]].tolist()) if len(earlier) else ()
            tail = tuple(graph.symbol[later].tolist())
            other_state = root.right_other
            for symbol in tail:
                other_state = self._followed(other_state, symbol)
            if other_state < 0 and (graph.is_chain or root.spare == 0):
                continue
            nodes.append(
                replace(
                    root, lead=len(earlier), left=int(earlier[-1]) if len(earlier) else root.left,
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
        if node.low < node.high:
            span = node.high - node.low
            many = (
                self._left.slot_of[depth] != self._left.slot_of[depth + span]
                or self._right.slot_of[end] != self._right.slot_of[end + span]
                or depth == 0
                or end + span == graph.steps
            )
            if many or not self._one_metric(node):
                middle = (node.low + node.high) // 2
                return [replace(node, high=middle), replace(node, low=middle + 1)]
        if depth == 0 and end == graph.steps:
            return None
        forwards = depth == 0 or (end < graph.steps and node.after > node.before)
        if not forwards:
            return self._with_symbol_before(node, depth)
        return self._with_symbol_after(node, end)

    def _one_metric(self, node: Node) -> bool:
        """Whether the costs at the known steps and the two beside them are the same at all positions of a node."""
        begin, end = node.low - 1 - node.lead, node.low + len(node.own) - node.lead
        span = node.high - node.low
        metric_at = self.graph.metric_at
        return bool((metric_at[begin : end + 1] == metric_at[begin + span : end + span + 1]).all())

    def _with_symbol_before(self, node: Node, depth: int) -> list[Node]:
        graph = self.graph
        span = node.high - node.low
        symbol = int(graph.symbol[node.left])
        earlier = graph.earlier[graph.back[node.left] : graph.back[node.left + 1]]
        live = graph.live[depth - 1 : depth + span].any(axis=0)
        return [
            replace(
                node, lead=node.lead + 1, left=int(x), own=(symbol, *node.own), other=(symbol, *node.other)
            )
            for x in earlier
            if live[x]
        ]  # fmt: skip

    def _with_symbol_after(self, node: Node, end: int) -> list[Node]:
        graph = self.graph
        span = node.high - node.low
        live = graph.live[end + 1 : end + span + 2].any(axis=0)
        of_other = {}
        if node.right_other >= 0:
            following = graph.other[graph.first[node.right_other] : graph.first[node.right_other + 1]]
            of_other = {int(graph.symbol[y]): int(y) for y in following if live[y]}
        # v goes on with the same symbol: always on a chain, elsewhere where no other difference may follow
        bound = graph.is_chain or node.spare == 0
        parts = []
        for y in graph.other[graph.first[node.right] : graph.first[node.right + 1]]:
            symbol = int(graph.symbol[y])
            if live[y] and (symbol in of_other or not bound):
                parts.append(
                    replace(
                        node, own=(*node.own, symbol), other=(*node.other, symbol), right=int(y),
                        right_other=of_other.get(symbol, -1),
                    )
                )  # fmt: skip
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
            left_slots[k] = self._left.slots(begin[k] - 1, begin[k] - 1 + span)
            right_slots[k] = self._right.slots(end, end + span)
        lead = parts[0].lead
        results = children_bounds(
            *self._arrays, *self._boxes,
            np.array([part.own for part in parts], dtype=np.int64),
            np.array([part.other for part in parts], dtype=np.int64),
            begin, lead, lead + kind.length,
            np.array([part.left for part in parts], dtype=np.int64),
            np.array([part.right for part in parts], dtype=np.int64),
            left_slots, right_slots, lowest, max(largest, lowest), self.graph.rounding,
        )  # fmt: skip
        children = []
        for part, (ratio, nominal, before, after) in zip(parts, results.tolist(), strict=True):
            if ratio > 0:
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
        log_ratio = self.log_ratio(node.left, node.own, node.other)
        value = log_ratio if self._period > 1 else log_ratio + self._rate * node.cost
        if value > outcome.low:
            outcome.low = value
            outcome.pair = Pair(node.left, node.own, node.other, log_ratio)

    def log_ratio(self, start: int, own: tuple[int, ...], other: tuple[int, ...]) -> float:
        """ln Z(v)/Z(w) of two words, in floats."""
        graph = self.graph
        kappa, following, phase = graph.automaton
        totals = [
            total_of_word(
                graph.back, graph.earlier, graph.earlier_weight, graph.symbol, graph.levels, kappa, following,
                graph.metric_at, np.array(word, dtype=np.int64), start, phase, graph.final, graph.steps,
            )
            for word in (own, other)
        ]  # fmt: skip
        return float(totals[1] - totals[0])
