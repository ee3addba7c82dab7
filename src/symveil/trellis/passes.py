"""A trellis, and the passes over it: what is to come, what came before, both at an edge, and draws.

Positions count the steps from 0; the layer of position i has the values of all states before step i. A backward pass
gives every state what all paths from it to the end are worth; a forward pass what all paths are worth that lead
there; at an edge both meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

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

    Parameters
    ----------
    edges
        The graph.
    length
        How many steps a path has.
    semiring
        What worths are computed with.
    final
        What ending in each state is worth.
    worth
        What a step at a position is worth along each edge, as the semiring takes it; None, or where it is None: 1.

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

    Parameters
    ----------
    steps
        What the pass goes over.
    begin
        The first position.
    settles
        All steps are worth the same: a layer that repeats repeats for ever.
    """
    layers = [steps.final]
    for position in reversed(range(begin, steps.length)):
        layer = steps.back(position, layers[-1])
        if settles and np.array_equal(layer, layers[-1]):
            layers += [layers[-1]] * (position - begin + 1)
            break
        layers.append(layer)
    return layers[::-1]


def backward_into(layers: Values, steps: Steps) -> None:
    """The same into one array, which is quicker to fill than many: its layer of every position.

    Parameters
    ----------
    layers
        Where they go.
    steps
        What the pass goes over.
    """
    layers[steps.length] = steps.final
    for position in reversed(range(steps.length)):
        layers[position] = steps.back(position, layers[position + 1])


def scaled_backward(
    steps: Steps, axes: int | tuple[int, ...] | None, *, begin: int = 0
) -> tuple[list[Floats], list[Floats]]:
    """The same in floats, every layer divided by its largest values along some axes; and ln of all it was divided by.

    Parameters
    ----------
    steps
        What the pass goes over.
    axes
        Along which the largest value is looked for; None: all.
    begin
        The first position.
    """
    pairs = list(scaled_layers_back(steps, axes, begin=begin))[::-1]
    return [layer for layer, _ in pairs], [log for _, log in pairs]


def scaled_layers_back(
    steps: Steps, axes: int | tuple[int, ...] | None, *, begin: int = 0
) -> Iterator[tuple[Floats, Floats]]:
    """The same from the end on, each layer when it is needed.

    Parameters
    ----------
    steps
        What the pass goes over.
    axes
        Along which the largest value is looked for; None: all.
    begin
        The first position.
    """
    layer, log = scaled(steps.final, axes)
    yield layer, log
    for position in reversed(range(begin, steps.length)):
        layer = steps.back(position, layer)
        layer, more = scaled(layer, axes, layer)
        log = log + more
        yield layer, log


def scaled(layer: Floats, axes: int | tuple[int, ...] | None, into: Floats | None = None) -> tuple[Floats, Floats]:
    """Values divided by the largest along some axes, and ln of that; zeros are divided by 1.

    Parameters
    ----------
    layer
        The values.
    axes
        Along which the largest is looked for; None: all.
    into
        Where the quotients go; None: into a new array.

    >>> scaled(np.array([[1.0, 0.0], [4.0, 0.0]]), 0)[0].tolist()
    [[0.25, 0.0], [1.0, 0.0]]
    """
    top = np.asarray(layer.max(axis=axes))
    divisor = np.where(top > 0, top, 1.0)
    return np.divide(layer, divisor, out=into), np.log(divisor)


def scaled_total(steps: Steps, axes: int | tuple[int, ...] | None, *, begin: int = 0) -> tuple[Floats, Floats]:
    """The same, of position `begin` alone: no other layer is kept.

    Parameters
    ----------
    steps
        What the pass goes over.
    axes
        Along which the largest value is looked for; None: all.
    begin
        The first position.
    """
    layers = scaled_layers_back(steps, axes, begin=begin)
    layer, log = next(layers)
    for layer, log in layers:  # noqa: B007 - the last ones count
        pass
    return layer, log


def forward(steps: StepsBothWays, start: Values, *, begin: int = 0) -> Iterator[Values]:
    """What came before in each state, layer by layer, each when it is needed.

    Parameters
    ----------
    steps
        What the pass goes over.
    start
        What beginning in each state is worth.
    begin
        The first position.
    """
    layer = start
    yield layer
    for position in range(begin, steps.length):
        layer = steps.into(position, steps.along(position, layer))
        yield layer


def scaled_forward(
    steps: StepsBothWays, start: Floats, axes: int | tuple[int, ...] | None, *, begin: int = 0
) -> Iterator[tuple[Floats, Floats]]:
    """The same in floats, scaled as in `scaled_backward`.

    Parameters
    ----------
    steps
        What the pass goes over.
    start
        What beginning in each state is worth.
    axes
        Along which the largest value is looked for; None: all.
    begin
        The first position.
    """
    layer, log = scaled(start, axes)
    yield layer, log
    for position in range(begin, steps.length):
        layer = steps.into(position, steps.along(position, layer))
        layer, more = scaled(layer, axes, layer)
        log = log + more
        yield layer, log


def through_edges(steps: StepsBothWays, start: Values, behind: list[Values] | None = None) -> Iterator[Values]:
    """For each position what all paths are worth that take each edge there.

    Parameters
    ----------
    steps
        What the passes go over.
    start
        What beginning in each state is worth.
    behind
        The layers of its backward pass, where they are known.
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

    Parameters
    ----------
    steps
        What the passes go over.
    start
        What beginning in each state is worth.
    axes
        Along which the largest value is looked for, to divide by it; None: all.
    begin
        The first position.
    behind
        The layers of its scaled backward pass from `begin` on, where they are known.
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

    Parameters
    ----------
    edges
        The graph.
    values
        One per edge; each of the states has an edge with a value above 0.
    states
        Where to leave from, several at a time.
    uniform
        A number from 0 to 1 for each of them, 1 excluded.

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

    Parameters
    ----------
    edges
        The graph.
    values
        For each position one number per edge, above 0 for an edge of every state that a path may be in.
    start
        Where paths begin.
    uniform
        For each path, a row, and each position a number from 0 to 1, 1 excluded.

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
