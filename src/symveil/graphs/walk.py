"""What can be reached, breadth first: each node once, with a number, and a shortest way to it."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

Node = TypeVar("Node", bound=Hashable)
Label = TypeVar("Label")

_NONE = -1


class Walk(Generic[Node, Label]):
    """Nodes, numbered in the order in which they are met. It grows while it is read.

    Who reads it says where each node leads; the walk remembers by which node, and by which label, one was met first. As
    long as nodes are read in order, that is a shortest way.

    >>> walk = Walk([1])
    >>> for number, node in walk:
    ...     for label, following in (("double", 2 * node), ("less", node - 3)):
    ...         if 0 < following < 10:
    ...             _ = walk.meet(following, number, label)
    >>> walk.nodes, walk.way_to(walk.number[5])
    ([1, 2, 4, 8, 5], ('double', 'double', 'double', 'less'))
    """

    __slots__ = ("_labels", "_sources", "nodes", "number")

    def __init__(self, starts: Iterable[Node]) -> None:
        self.nodes: list[Node] = list(dict.fromkeys(starts))
        self.number: dict[Node, int] = {node: number for number, node in enumerate(self.nodes)}
        self._sources = array("q", [_NONE] * len(self.nodes))
        self._labels: list[Label | None] = [None] * len(self.nodes)

    def __len__(self) -> int:
        """How many nodes were met."""
        return len(self.nodes)

    def __iter__(self) -> Iterator[tuple[int, Node]]:
        """Each node with its number, those that are met meanwhile included."""
        return enumerate(self.nodes)  # a list may grow while it is read

    def layers(self) -> Iterator[range]:
        """The numbers of the nodes that ways of 0, 1, 2 … labels lead to, and no shorter ones."""
        layer = range(len(self.nodes))
        while layer:
            yield layer
            layer = range(layer.stop, len(self.nodes))

    def meet(self, node: Node, source: int, label: Label) -> int:
        """The number of a node, which gets one where it is new: met from the node `source` by `label`."""
        number = self.number.get(node)
        if number is None:
            number = self.number[node] = len(self.nodes)
            self.nodes.append(node)
            self._sources.append(source)
            self._labels.append(label)
        return number

    def way_to(self, number: int) -> tuple[Label, ...]:
        """The labels of the way by which a node was first met."""
        labels: list[Label] = []
        while self._sources[number] != _NONE:
            labels.append(self._labels[number])  # type: ignore[arg-type]  # only starts have none
            number = self._sources[number]
        return tuple(reversed(labels))
