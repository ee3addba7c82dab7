"""Strongly connected components: the parts of a graph that lead back to themselves."""

from __future__ import annotations

from collections.abc import Sequence


def strong_components(successors: Sequence[Sequence[int]]) -> list[list[int]]:
    """The components of a graph on 0 … n−1, each one before those that lead to it (Tarjan 1972).

    >>> strong_components([[1], [2], [1], [0]])
    [[1, 2], [0], [3]]
    """
    unseen = -1
    order = [unseen] * len(successors)
    lowest = [0] * len(successors)
    open_nodes: list[int] = []
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
                    start = open_nodes.index(node)
                    component = sorted(open_nodes[start:])
                    del open_nodes[start:]
                    for member in component:
                        is_open[member] = False
                    components.append(component)
                if path:
                    parent = path[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[node])
    return components
