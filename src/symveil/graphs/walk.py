"""What can be reached, breadth first: each node once, with a number, and a shortest way to it.

Strongly connected components: the parts of a graph that lead back to themselves.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Iterator, Sequence
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


def strong_components(successors: Sequence[Sequence[int]]) -> list[list[int]]:
    """The components of a graph on 0 … n−1, each one before those that lead to it (Tarjan 1972).

    >>> strong_components([[1], [2], [1], [0]])
    [[1, 2], [0], [3]]
    """
    unseen = -1
    order = [unseen] * len(successors)
    lowest = [0] * len(successors)
    open_nodes: list[int] = []
    opened_at = [0] * len(successors)  # where each of them is listed
    is_open = [False] * len(successors)
    components: list[list[int]] = []
    count = 0
    for root in range(len(successors)):
        if order[root] != unseen:
            continue
        path = [(root, 0)]  # in place of recursion: a node, and how many of its successors were seen to
        while path:
            node, done = path.pop()
            if done == 0:
                order[node] = lowest[node] = count
                count += 1
                opened_at[node] = len(open_nodes)
                open_nodes.append(node)
                is_open[node] = True
            for position in range(done, len(successors[node])):
                target = successors[node][position]
                if order[target] == unseen:
                    path.append((node, position + 1))
                    path.append((target, 0))
                    break
                if is_open[target]:
                    lowest[node] = min(lowest[node], order[target])
            else:
                if lowest[node] == order[node]:
                    component = sorted(open_nodes[opened_at[node] :])
                    del open_nodes[opened_at[node] :]
                    for member in component:
                        is_open[member] = False
                    components.append(component)
                if path:
                    parent = path[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[node])
    return components
