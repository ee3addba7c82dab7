"""A trellis, and the passes over it: what is to come, what came before, both at an edge, and draws.

Positions count the steps from 0; the layer of position i has the values of all states before step i. A backward pass
gives every state what all paths from it to the end are worth; a forward pass what all paths are worth that lead
there; at an edge both meet.

Walks over graphs that are too large to write down, of which a walk sees a few nodes, are explored as they are taken:
step by step by their chances (`WeightedWalk`), or as a whole by their rank (`RankedWalks`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from symveil.graphs.csr import Csr
from symveil.numbers.once import computed_once
from symveil.trellis.semirings import Semiring, Values

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class Steps(Protocol):
    """What passes go over, from the end on."""

    @property
    def length(self) -> int:
        """How many steps a path has."""

    @property
    def final(self) -> Values:
        """What ending in each state is worth."""

    def back(self, position: int, after: Values) -> Values:
        """What is to come from each state, by what is to come after a step: a new array."""


class StepsBothWays(Steps, Protocol):
    """What passes go over from the beginning on too."""

    def along(self, position: int, before: Values) -> Values:
        """What came before at the end of each edge, by what came before in each state."""

    def into(self, position: int, arriving: Values) -> Values:
        """What came before in each state, by what came before at the end of each edge: a new array."""

    def meet(self, position: int, arriving: Values, after: Values) -> Values:
        """What paths are worth that take each edge."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Trellis:
    """`length` steps along the edges of one graph; what a step is worth may differ from position to position.

    `final` is what ending in each state is worth, `worth` what a step at a position is worth along each edge, as the
    semiring takes it; None, or where it is None: 1.

    >>> from symveil.trellis.semirings import COUNTS
    >>> edges = Csr(first=np.array([0, 2, 3]), target=np.array([0, 1, 0]))          # aa, ab, ba, and no bb
    >>> paths = Trellis(edges=edges, length=3, semiring=COUNTS, final=COUNTS.ends(np.array([True, True])))
    >>> [layer.tolist() for layer in backward(paths)]
    [[5, 3], [3, 2], [2, 1], [1, 1]]
    """

    edges: Csr
    length: int
    semiring: Semiring
    final: Values = field(repr=False)
    worth: Callable[[int], Any] | None = field(repr=False, default=None)

    def back(self, position: int, after: Values) -> Values:
        """What is to come from each state, by what is to come after a step."""
        worth, reached = self.worth and self.worth(position), after[self.edges.target]
        return self.semiring.sums(self.edges, reached if worth is None else self.semiring.times(worth, reached))

    def along(self, position: int, before: Values) -> Values:
        """What came before at the end of each edge, by what came before at its source."""
        worth, values = self.worth and self.worth(position), before[self._source]
        return values if worth is None else self.semiring.onwards(worth, values)

    def into(self, position: int, arriving: Values) -> Values:
        """What came before in each state, by what came before at the end of each edge."""
        del position  # edges lead to the same states everywhere
        return self.semiring.sums(self._reversed, arriving)

    def meet(self, position: int, arriving: Values, after: Values) -> Values:
        """What paths are worth that take each edge."""
        del position
        return self.semiring.meet(arriving, after[self.edges.target])

    @computed_once
    def _source(self) -> Indices:
        return self.edges.source

    @computed_once
    def _reversed(self) -> Csr:
        return self.edges.reversed()


def backward(steps: Steps, *, begin: int = 0, settles: bool = False) -> list[Values]:
    """What is to come from each state, layer by layer from position `begin` to the end.

    With `settles` all steps are worth the same: a layer that repeats repeats for ever.
    """
    layers = [steps.final]
    for position in reversed(range(begin, steps.length)):
        layer = steps.back(position, layers[-1])
        if settles and np.array_equal(layer, layers[-1]):
            layers += [layers[-1]] * (position - begin + 1)
            break
        layers.append(layer)
    return layers[::-1]


def scaled_backward(
    steps: Steps, axes: int | tuple[int, ...] | None, *, begin: int = 0
) -> tuple[list[Floats], list[Floats]]:
    """The same in floats, every layer divided by its largest values along some axes; and ln of all it was divided by.

    The largest value is looked for along `axes`; None: all.
    """
    pairs = list(scaled_layers_back(steps, axes, begin=begin))[::-1]
    return [layer for layer, _ in pairs], [log for _, log in pairs]


def scaled_layers_back(
    steps: Steps, axes: int | tuple[int, ...] | None, *, begin: int = 0
) -> Iterator[tuple[Floats, Floats]]:
    """The same from the end on, each layer when it is needed."""
    layer, log = scaled(steps.final, axes)
    yield layer, log
    for position in reversed(range(begin, steps.length)):
        layer = steps.back(position, layer)
        layer, more = scaled(layer, axes, layer)
        log = log + more
        yield layer, log


def scaled(layer: Floats, axes: int | tuple[int, ...] | None, into: Floats | None = None) -> tuple[Floats, Floats]:
    """Values divided by the largest along some axes, and ln of that; zeros are divided by 1.

    >>> scaled(np.array([[1.0, 0.0], [4.0, 0.0]]), 0)[0].tolist()
    [[0.25, 0.0], [1.0, 0.0]]
    """
    top = np.asarray(layer.max(axis=axes))
    divisor = np.where(top > 0, top, 1.0)
    return np.divide(layer, divisor, out=into), np.log(divisor)


def scaled_total(steps: Steps, axes: int | tuple[int, ...] | None, *, begin: int = 0) -> tuple[Floats, Floats]:
    """The same, of position `begin` alone: no other layer is kept."""
    layers = scaled_layers_back(steps, axes, begin=begin)
    layer, log = next(layers)
    for layer, log in layers:  # noqa: B007 - the last ones count
        pass
    return layer, log


def forward(steps: StepsBothWays, start: Values, *, begin: int = 0) -> Iterator[Values]:
    """What came before in each state, layer by layer, each when it is needed.

    `start` is what beginning in each state is worth.
    """
    layer = start
    yield layer
    for position in range(begin, steps.length):
        layer = steps.into(position, steps.along(position, layer))
        yield layer


def scaled_forward(
    steps: StepsBothWays, start: Floats, axes: int | tuple[int, ...] | None, *, begin: int = 0
) -> Iterator[tuple[Floats, Floats]]:
    """The same in floats, scaled as in `scaled_backward`."""
    layer, log = scaled(start, axes)
    yield layer, log
    for position in range(begin, steps.length):
        layer = steps.into(position, steps.along(position, layer))
        layer, more = scaled(layer, axes, layer)
        log = log + more
        yield layer, log


def through_edges(steps: StepsBothWays, start: Values, behind: list[Values] | None = None) -> Iterator[Values]:
    """For each position what all paths are worth that take each edge there.

    `behind` has the layers of the backward pass, where they are known.
    """
    layers, layer = behind or backward(steps), start
    for position in range(steps.length):
        arriving = steps.along(position, layer)
        yield steps.meet(position, arriving, layers[position + 1])
        layer = steps.into(position, arriving)


def scaled_through_edges(
    steps: StepsBothWays,
    start: Floats,
    axes: int | tuple[int, ...] | None,
    *,
    begin: int = 0,
    behind: list[Floats] | None = None,
) -> Iterator[Floats]:
    """The same in floats, up to one factor for all edges of a position; with `axes`, for each of the others.

    `behind` has the layers of the scaled backward pass from `begin` on, where they are known.
    """
    layers, layer = behind or scaled_backward(steps, axes, begin=begin)[0], start
    for position in range(begin, steps.length):
        arriving = steps.along(position, layer)
        yield steps.meet(position, arriving, layers[position - begin + 1])
        layer = steps.into(position, arriving)
        layer, _ = scaled(layer, axes, layer)


# --- draws ---------------------------------------------------------------------------------------


def chosen_edges(edges: Csr, values: Floats, states: Indices, uniform: Floats) -> Indices:
    """An edge of each of some states, with chances in proportion to values; never one whose value is 0.

    `values` has one number per edge; each of the states has an edge with a value above 0. `uniform` has a number from 0
    to 1 for each of them, 1 excluded.

    >>> edges = Csr(first=np.array([0, 3, 4]), target=np.array([0, 1, 0, 0]))
    >>> chosen_edges(edges, np.array([1.0, 0.0, 3.0, 2.0]), np.array([0, 0, 1]), np.array([0.2, 0.3, 0.9])).tolist()
    [0, 2, 3]
    """
    keys = edges.source + _cumulative_shares(edges, values)
    edge = np.searchsorted(keys, states + uniform, side="right")
    low, high = edges.first[states], edges.first[states + 1]
    edge = np.clip(edge, low, high - 1)
    for row in np.flatnonzero(values[edge] <= 0):  # rounding led to an impossible one
        edge[row] = low[row] + np.flatnonzero(values[low[row] : high[row]] > 0)[-1]
    return np.asarray(edge)


def drawn_paths(edges: Csr, values: Iterable[Floats], start: int, uniform: Floats) -> Indices:
    """The edges of paths that are drawn step by step, a row for each: with chances in proportion to values.

    `values` has for each position one number per edge, above 0 for an edge of every state that a path may be in;
    `uniform` has a row for each path, with a number from 0 to 1, 1 excluded, for each position.

    >>> edges = Csr(first=np.array([0, 2, 3]), target=np.array([0, 1, 0]))
    >>> drawn_paths(edges, [np.ones(3)] * 3, 0, np.array([[0.1, 0.6, 0.0], [0.9, 0.9, 0.4]])).tolist()
    [[0, 1, 2], [1, 2, 0]]
    """
    taken, states = np.empty(uniform.shape, dtype=np.int64), np.full(len(uniform), start)
    for position, of_edges in enumerate(values):
        taken[:, position] = chosen_edges(edges, of_edges, states, uniform[:, position])
        states = edges.target[taken[:, position]]
    return taken


def _cumulative_shares(edges: Csr, values: Floats) -> Floats:
    """For each edge the share of its state's edges up to it: sums within a state only, so errors stay there."""
    first, degrees = edges.first, edges.degrees
    shares = np.zeros(len(values))
    wide = degrees > 64
    for state in np.flatnonzero(wide):
        part = slice(first[state], first[state + 1])
        shares[part] = np.cumsum(values[part])
    running = np.zeros(len(degrees))
    for column in range(int(degrees[~wide].max(initial=0))):
        states = np.flatnonzero(~wide & (degrees > column))
        running[states] += values[first[states] + column]
        shares[first[states] + column] = running[states]
    total = shares[np.repeat(first[1:] - 1, degrees)]
    return np.divide(shares, total, out=np.ones(len(values)), where=total > 0)


Node = TypeVar("Node", bound=Hashable)

_LONGEST_STRETCH = 32
"""Stretches are cached in pieces: the memory of long walks must not grow with the square of their length."""


class WeightedWalk(Generic[Node]):
    """Walks with rational weights: that of a walk is the product of its steps' and of its last node's.

    `steps` has the symbol, the weight and the next node of each step from a node, `ending` what ending in it is worth.

    >>> def steps(node):
    ...     return [] if node == 2 else [("a", Fraction(1), node + 1), ("b", Fraction(1, 2), 2)]
    >>> walk = WeightedWalk(steps, lambda node: Fraction(node == 2))
    >>> walk.total(0), [(symbol, str(chance)) for symbol, _, chance in walk.moves(0)]
    (Fraction(2, 1), [('a', '3/4'), ('b', '1/4')])
    """

    def __init__(
        self, steps: Callable[[Node], Iterable[tuple[int, Fraction, Node]]], ending: Callable[[Node], Fraction]
    ) -> None:
        self._steps, self.ending = steps, ending
        self._totals: dict[Node, Fraction] = {}

    def total(self, node: Node) -> Fraction:
        """What all walks from a node are worth."""
        open_nodes = [node]
        while open_nodes:
            now = open_nodes[-1]
            missing: list[Node] = []
            if now not in self._totals:
                steps = list(self._steps(now))
                missing = [after for _, _, after in steps if after not in self._totals]
                if not missing:
                    self._totals[now] = sum((w * self._totals[after] for _, w, after in steps), start=self.ending(now))
            open_nodes += missing
            if not missing:
                open_nodes.pop()
        return self._totals[node]

    def moves(self, node: Node) -> Iterator[tuple[int, Node, Fraction]]:
        """The symbol, the next node and the chance of each step that a walk takes from a node."""
        whole = self.total(node)
        for symbol, weight, after in self._steps(node):
            share = weight * self.total(after)
            if share:
                yield symbol, after, share / whole


class _Crossing(Generic[Node]):
    """A stretch without a choice, then the choices: symbols, where they lead, how many walks come up to each."""

    __slots__ = ("following", "stretch", "symbols", "targets", "up_to")

    def __init__(self, stretch: list[int], choices: list[tuple[int, Node, int]]) -> None:
        self.stretch = stretch
        self.symbols = [symbol for symbol, _, _ in choices]
        self.targets = [target for _, target, _ in choices]
        self.up_to = list(accumulate(ways for _, _, ways in choices))
        self.following: list[_Crossing[Node] | None] = [None] * len(choices)


class RankedWalks(Generic[Node]):
    """Walks in the order of their symbols: the one of a given rank.

    What is decided on the way is cached, so that a walk costs a look-up for each real choice: a stretch in which only
    one symbol can follow is one step.

    `choices` has the symbol and the next node of each step from a node after which a walk can end, and how many walks
    there are from there; none where walks end. No step has more than `longest_stretch` symbols without a choice.

    >>> walks = RankedWalks(lambda left: [(0, left - 1, left), (1, 0, 1)] if left else [])   # 000 001 01 1
    >>> [walks.walk(3, rank) for rank in range(4)]
    [[0, 0, 0], [0, 0, 1], [0, 1], [1]]
    """

    def __init__(
        self, choices: Callable[[Node], list[tuple[int, Node, int]]], *, longest_stretch: int = _LONGEST_STRETCH
    ) -> None:
        self._choices, self._longest_stretch = choices, longest_stretch
        self._crossings: dict[Node, _Crossing[Node]] = {}

    def walk(self, begin: Node, rank: int) -> list[int]:
        """The symbols of walk number `rank`, counted from 0, of those from `begin`."""
        codes: list[int] = []
        crossing = self._crossing(begin)
        while True:
            codes += crossing.stretch
            if not crossing.symbols:
                return codes
            choice = bisect_right(crossing.up_to, rank)
            codes.append(crossing.symbols[choice])
            if choice:
                rank -= crossing.up_to[choice - 1]
            following = crossing.following[choice]
            if following is None:
                following = crossing.following[choice] = self._crossing(crossing.targets[choice])
            crossing = following

    def _crossing(self, node: Node) -> _Crossing[Node]:
        if node not in self._crossings:
            self._crossings[node] = self._explored(node)
        return self._crossings[node]

    def _explored(self, node: Node) -> _Crossing[Node]:
        stretch: list[int] = []
        choices = self._choices(node)
        while len(choices) == 1 and len(stretch) < self._longest_stretch:
            ((symbol, node, _),) = choices
            stretch.append(symbol)
            choices = self._choices(node)
        return _Crossing(stretch, choices)
