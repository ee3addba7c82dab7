"""A place on the grid for each node of any directed graph, cycles and all.

Columns are the breadth-first layers from the first nodes, so an edge goes at most one column
onwards and long edges go back. A long edge gets a place of its own in every column it passes: a
lane, which no node stands in (the method of Sugiyama, Tagawa and Toda, 1981). The order within the
columns is found by barycentres and exchanges of neighbours, the rows by least squares under that
order. Nothing is drawn at random: equal graphs get equal pictures.

A picture of any graph of states: parallel edges become one arrow, and every state finds its place.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from symveil.errors import TooLargeError
from symveil.pictures.diagram import Diagram, Edge, Node
from symveil.pictures.limits import LIMITS
from symveil.pictures.text import joined

Spot = tuple[int, float]
"""(column, row); rows count upwards in quarters."""

_ALONG_LANE, _TO_LANE, _LANE_INSISTS = 3.0, 0.05, 0.05
_PASSED_WEIGHT = 2  # an edge within a column that passes a node is as bad as two crossings

# Distances in rows.
_NODES_APART, _NODE_TO_LANE, _LANES_APART, _ROOM_FOR_LOOP = 1.0, 0.75, 0.5, 0.25


@dataclass(frozen=True, slots=True)
class Grid:
    """Where the nodes are, and through which places the long edges pass, by their two ends."""

    spots: dict[Hashable, Spot]
    lanes: dict[tuple[Hashable, Hashable], tuple[Spot, ...]]


def layered(keys: Sequence[Hashable], edges: Iterable[tuple[Hashable, Hashable]], *, first: Iterable[Hashable]) -> Grid:
    """Places for the nodes `keys`, with the nodes `first` in the first column.

    A node that cannot be reached from them is put right before what it leads to.

    >>> grid = layered("abc", [("a", "b"), ("b", "c"), ("c", "a")], first="a")
    >>> grid.spots["a"], grid.spots["b"], grid.lanes
    ((0, 0.0), (1, 0.0), {('c', 'a'): ((1, -0.75),)})
    """
    pairs = list(dict.fromkeys(edges))
    columns = _columns(keys, pairs, first)
    layers = _Layers(pairs, columns)
    layers.order()
    rows = layers.rows()
    return Grid(
        spots={key: (columns[key], rows[key]) for key in keys},
        lanes={
            (source, target): tuple((column, rows[source, target, column]) for column in passed)
            for source, target, passed in layers.long_edges
        },
    )


def _columns(
    keys: Sequence[Hashable], pairs: Sequence[tuple[Hashable, Hashable]], first: Iterable[Hashable]
) -> dict[Hashable, int]:
    """The breadth-first layer of each node, in the order in which they are met."""
    following: dict[Hashable, list[Hashable]] = {key: [] for key in keys}
    entered = set()
    for source, target in pairs:
        following[source].append(target)
        if source != target:
            entered.add(target)
    columns: dict[Hashable, int] = {}

    def explore(roots: Iterable[Hashable]) -> None:
        queue = deque(key for key in roots if key not in columns)
        columns.update(dict.fromkeys(queue, 0))
        while queue:
            key = queue.popleft()
            for target in following[key]:
                if target not in columns:
                    columns[target] = columns[key] + 1
                    queue.append(target)

    explore(first)
    _spot_before(keys, following, columns)
    for key in (*(key for key in keys if key not in entered), *keys):
        explore([key])
    return columns


def _spot_before(
    keys: Sequence[Hashable], following: Mapping[Hashable, Sequence[Hashable]], columns: dict[Hashable, int]
) -> None:
    """Nodes that lead to placed ones without being reached from them: right before the first that they lead to."""
    before = dict.fromkeys(keys, 0)
    while before:
        before = {
            key: max(0, min(columns[target] for target in following[key] if target in columns) - 1)
            for key in keys
            if key not in columns and any(target in columns for target in following[key])
        }
        columns.update(before)


@dataclass(slots=True)
class _Vertex:
    """A node, or where a long edge passes a column; `before`, `after`, `beside`: what it is joined to."""

    key: Hashable
    column: int
    is_lane: bool = False
    loops: int = 0
    before: list[_Vertex] = field(default_factory=list)
    after: list[_Vertex] = field(default_factory=list)
    beside: list[_Vertex] = field(default_factory=list)
    rank: int = 0
    down: float = 0.0  # its row, counted downwards while working

    @property
    def joined(self) -> list[_Vertex]:
        return self.before + self.after + self.beside


class _Layers:
    """The columns while they are being sorted, from top to bottom."""

    def __init__(self, pairs: Sequence[tuple[Hashable, Hashable]], columns: dict[Hashable, int]) -> None:
        vertices: dict[Hashable, _Vertex] = {}
        self._columns: list[list[_Vertex]] = [[] for _ in range(max(columns.values(), default=-1) + 1)]
        self._beside: list[list[tuple[_Vertex, _Vertex]]] = [[] for _ in self._columns]
        self.long_edges: list[tuple[Hashable, Hashable, tuple[int, ...]]] = []
        self._lanes: list[list[_Vertex]] = []
        for key, column in columns.items():
            vertices[key] = _Vertex(key, column)
            self._columns[column].append(vertices[key])
        for source, target in pairs:
            begin, end = columns[source], columns[target]
            if source == target:
                vertices[source].loops += 1
            elif begin == end:
                self._beside[begin].append((vertices[source], vertices[target]))
                vertices[source].beside.append(vertices[target])
                vertices[target].beside.append(vertices[source])
            else:
                step = 1 if end > begin else -1
                passed = tuple(range(begin + step, end, step))
                lane = [_Vertex((source, target, column), column, is_lane=True) for column in passed]
                for vertex, column in zip(lane, passed, strict=True):
                    self._columns[column].append(vertex)
                if lane:
                    self.long_edges.append((source, target, passed))
                    self._lanes.append(lane)
                chain = [vertices[source], *lane, vertices[target]][::step]
                for left, right in itertools.pairwise(chain):
                    left.after.append(right)
                    right.before.append(left)
        self._number()

    def _number(self) -> None:
        for column in self._columns:
            for rank, vertex in enumerate(column):
                vertex.rank = rank

    # --- the order within the columns ------------------------------------------------------------

    def order(self) -> None:
        """Sort each column by the middle of its neighbours, to and fro, and keep the best order met."""
        best, fewest = [list(column) for column in self._columns], self._cost()
        for sweep in range(LIMITS.now.sweeps):
            if fewest == 0:
                break
            onwards = sweep % 2 == 0
            for column in self._columns if onwards else reversed(self._columns):
                column.sort(key=lambda vertex: _middle(vertex.before if onwards else vertex.after, vertex.rank))
                for rank, vertex in enumerate(column):
                    vertex.rank = rank
            self._exchange()
            cost = self._cost()
            if cost < fewest:
                best, fewest = [list(column) for column in self._columns], cost
        self._columns = best
        self._number()

    def _exchange(self) -> None:
        """Exchange neighbours within a column while that removes crossings."""
        improved, rounds = True, 0
        while improved and rounds < LIMITS.now.sweeps:
            improved, rounds = False, rounds + 1
            for number, column in enumerate(self._columns):
                for rank in range(len(column) - 1):
                    upper, lower = column[rank], column[rank + 1]
                    gain = _crossings(upper, lower) - _crossings(lower, upper) + self._passed(number)
                    upper.rank, lower.rank = rank + 1, rank
                    gain -= self._passed(number)
                    if gain > 0:
                        column[rank], column[rank + 1] = lower, upper
                        improved = True
                    else:
                        upper.rank, lower.rank = rank, rank + 1

    def _cost(self) -> int:
        crossings = sum(
            _crossings_onwards(upper, lower)
            for column in self._columns
            for rank, upper in enumerate(column)
            for lower in column[rank + 1 :]
        )
        return crossings + sum(map(self._passed, range(len(self._columns))))

    def _passed(self, number: int) -> int:
        """How many nodes the edges within a column go past."""
        return _PASSED_WEIGHT * sum(abs(one.rank - other.rank) - 1 for one, other in self._beside[number])

    # --- rows --------------------------------------------------------------------------------------

    def rows(self) -> dict[Hashable, float]:
        """Rows that keep the order and the distances, each vertex as level with its neighbours as they allow."""
        for column in self._columns:
            offsets = _offsets(column)
            for vertex, offset in zip(column, offsets, strict=True):
                vertex.down = offset - offsets[-1] / 2
        for round_ in range(LIMITS.now.relaxations):
            for column in self._columns if round_ % 2 == 0 else reversed(self._columns):
                _level(column)
        # Counted from the first node, what is nearly level with it comes to its very row.
        anchor = next((vertex.down for vertex in self._vertices()), 0.0)
        for column in self._columns:
            for vertex, offset in zip(column, _offsets(column), strict=True):
                # Rounding the slack and not the row keeps the distances, which are whole quarters.
                vertex.down = math.floor((vertex.down - anchor - offset) * 4 + 0.5) / 4 + offset
        for lane in self._lanes:
            self._straighten(lane)
        lowest = max((vertex.down for vertex in self._vertices() if not vertex.is_lane), default=0.0)
        return {vertex.key: lowest - vertex.down for vertex in self._vertices()}

    def _straighten(self, lane: Sequence[_Vertex]) -> None:
        """Lead a lane along one row, one of those it has already, if all columns have room for it there."""
        rows = sorted({vertex.down for vertex in lane})
        middle = sum(vertex.down for vertex in lane) / len(lane)
        for row in sorted(rows, key=lambda row: abs(row - middle)):
            if all(self._has_room(vertex, row) for vertex in lane):
                for vertex in lane:
                    vertex.down = row
                return

    def _has_room(self, vertex: _Vertex, row: float) -> bool:
        column = self._columns[vertex.column]
        above, below = column[: vertex.rank][-1:], column[vertex.rank + 1 :][:1]
        return all(row - other.down >= _apart(other, vertex) for other in above) and all(
            other.down - row >= _apart(vertex, other) for other in below
        )

    def _vertices(self) -> Iterator[_Vertex]:
        for column in self._columns:
            yield from column


def _middle(neighbours: Sequence[_Vertex], rank: int) -> float:
    return sum(vertex.rank for vertex in neighbours) / len(neighbours) if neighbours else float(rank)


def _crossings(upper: _Vertex, lower: _Vertex) -> int:
    """How many edges of two vertices cross, on both sides, with `upper` above `lower`."""
    backwards = sum(one.rank > other.rank for one in upper.before for other in lower.before)
    return backwards + _crossings_onwards(upper, lower)


def _crossings_onwards(upper: _Vertex, lower: _Vertex) -> int:
    return sum(one.rank > other.rank for one in upper.after for other in lower.after)


def _offsets(column: Sequence[_Vertex]) -> list[float]:
    """How far down each vertex is, when all stand as close as they may."""
    offsets = [0.0]
    for upper, lower in itertools.pairwise(column):
        offsets.append(offsets[-1] + _apart(upper, lower))
    return offsets


def _apart(upper: _Vertex, lower: _Vertex) -> float:
    # A loop is drawn above its node or below, whichever is emptier.
    loops = (lower.loops > 0) + (upper.loops > 0)
    lanes = upper.is_lane + lower.is_lane
    return (_NODES_APART, _NODE_TO_LANE, _LANES_APART)[lanes] + loops * _ROOM_FOR_LOOP


def _level(column: Sequence[_Vertex]) -> None:
    """Move a column's vertices as near to the mean of their neighbours as order and distances allow.

    Weighted least squares under lower bounds on the distances: in what is left above these bounds
    that is isotonic regression, solved by pooling adjacent violators.
    """
    pools: list[tuple[float, float, int]] = []  # mean slack, weight, size
    offsets = _offsets(column)
    for vertex, offset in zip(column, offsets, strict=True):
        wanted, weight = _wanted(vertex)
        pool = (wanted - offset, weight, 1)
        while pools and pools[-1][0] >= pool[0]:
            mean, heavier, size = pools.pop()
            total = heavier + pool[1]
            pool = ((mean * heavier + pool[0] * pool[1]) / total, total, size + pool[2])
        pools.append(pool)
    slacks = [mean for mean, _, size in pools for _ in range(size)]
    for vertex, offset, slack in zip(column, offsets, slacks, strict=True):
        vertex.down = offset + slack


def _wanted(vertex: _Vertex) -> tuple[float, float]:
    """Where a vertex wants to be, and how much it insists: nodes push lanes aside, hardly the other way round."""
    if not vertex.joined:
        return vertex.down, _LANE_INSISTS
    weights = [_pull(vertex, other) for other in vertex.joined]
    mean = sum(weight * other.down for weight, other in zip(weights, vertex.joined, strict=True)) / sum(weights)
    return mean, _LANE_INSISTS if vertex.is_lane else float(len(weights))


def _pull(vertex: _Vertex, other: _Vertex) -> float:
    """How strongly a vertex is drawn level with another: lanes want to be straight, nodes care for nodes."""
    if vertex.is_lane:
        return _ALONG_LANE if other.is_lane else 1.0
    return _TO_LANE if other.is_lane else 1.0


def state_diagram(
    *,
    title: str,
    nodes: Sequence[Node],
    edges: Iterable[Edge],
    advice: str,
    label_meaning: str = "",
    annotation_meaning: str = "",
    marked_meaning: str = "",
    dashed_meaning: str = "",
) -> Diagram:
    """The states and edges as a diagram; refused, with advice, when it would be too large to read.

    Where `nodes` were placed before does not matter. A meaning is left out of the legend where nothing has it.

    >>> nodes = [Node(key=0, label=("p",), initial=True), Node(key=1, label=("q",), marked=True)]
    >>> edges = [Edge(source=0, target=1, label="a"), Edge(source=0, target=1, label="b")]
    >>> diagram = state_diagram(title="two", nodes=nodes, edges=edges, advice="", marked_meaning="secret")
    >>> [node.column for node in diagram.nodes], [edge.label for edge in diagram.edges]
    ([0, 1], ['a, b'])
    """
    arrows = merged(edges)
    for most, count_of, noun in ((LIMITS.now.states, len(nodes), "states"), (LIMITS.now.arrows, len(arrows), "arrows")):
        if count_of > most:
            raise TooLargeError(f"drawing: expected at most {most} {noun}, found {count_of}; {advice}")
    grid = layered(
        [node.key for node in nodes],
        [(edge.source, edge.target) for edge in arrows],
        first=[node.key for node in nodes if node.initial],
    )
    placed = []
    for node in nodes:
        column, row = grid.spots[node.key]
        placed.append(replace(node, column=column, row=row))
    return Diagram(
        title=title,
        nodes=tuple(placed),
        edges=tuple(replace(edge, via=grid.lanes.get((edge.source, edge.target), ())) for edge in arrows),
        label_meaning=label_meaning,
        annotation_meaning=annotation_meaning if any(edge.annotation for edge in arrows) else "",
        marked_meaning=marked_meaning if any(node.marked for node in nodes) else "",
        dashed_meaning=dashed_meaning if any(edge.dashed for edge in arrows) else "",
    )


def merged(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Edges alike from one node to another as one arrow, with their labels and annotations in the same order.

    >>> two = [Edge(source=0, target=1, label=label, annotation="1/4") for label in "ab"]
    >>> [(edge.label, edge.annotation) for edge in merged(two)]
    [('a, b', '1/4 each')]
    """
    alike: dict[tuple[Hashable, Hashable, bool], list[Edge]] = {}
    for edge in edges:
        alike.setdefault((edge.source, edge.target, edge.dashed), []).append(edge)
    return tuple(_merged(together) for together in alike.values())


def _merged(edges: Sequence[Edge]) -> Edge:
    if len(edges) == 1:
        return edges[0]
    annotations = [edge.annotation for edge in edges]
    if len(set(annotations)) == 1:
        annotation = f"{annotations[0]} each" if annotations[0] else ""
    else:
        annotation = joined(annotations)
    return replace(edges[0], label=joined([edge.label for edge in edges]), annotation=annotation)
