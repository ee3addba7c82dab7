"""Walks that are explored as they are taken: step by step by their chances, or as a whole by their rank.

Here nodes are whatever a caller tells apart, and steps are known from a function: for graphs that are too large to
write down, of which a walk sees a few nodes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator
from fractions import Fraction
from itertools import accumulate
from typing import Generic, TypeVar

Node = TypeVar("Node", bound=Hashable)

_LONGEST_STRETCH = 32
"""Stretches are cached in pieces: the memory of long walks must not grow with the square of their length."""


class WeightedWalk(Generic[Node]):
    """Walks with rational weights: that of a walk is the product of its steps' and of its last node's.

    Parameters
    ----------
    steps
        The symbol, the weight and the next node of each step from a node.
    ending
        What ending in a node is worth.

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

    Parameters
    ----------
    choices
        The symbol and the next node of each step from a node after which a walk can end, and how many walks there
        are from there; none where walks end.
    longest_stretch
        How many symbols without a choice are one step at most.

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
