"""The most and the least that each path of a block can weigh: pairs of paths that need no closer look.

See docs/theory/certificates.md, *Paths*. With lo ≤ α ≤ hi and lo' ≤ β ≤ hi' at the two ends of a block, a path p
weighs
at least lo·P_p·lo' and at most hi·P_p·hi', whatever surrounds it; Z(v)/Z(w) is at most v's most over w's least. That is
two numbers for each path instead of a vector for each pair. Paths share their halves: a vector is moved along the first
half of a path from its left end, another along the second half from its right end, and a path is a product of the two.
"""

from __future__ import annotations

import numpy as np

from symveil.calibration.costs.blocks import Groups
from symveil.calibration.costs.boxes import Boxes
from symveil.calibration.costs.graph import CostGraph, Floats, Integers
from symveil.calibration.costs.half_loops import path_weights, second_halves
from symveil.calibration.costs.outcome import at_once, slices

_MOST_BYTES = 400 << 20  # for the second halves of paths
_WORTH_A_THREAD = 64  # halves of paths


def numbered(columns: list[Integers]) -> tuple[Integers, Integers]:
    """(number, member): the same number for the same row of columns, and for each number one row that has it.

    >>> number, member = numbered([np.array([1, 1, 0]), np.array([5, 5, 5])])
    >>> number.tolist(), len(member)
    ([1, 1, 0], 2)
    """
    number = np.zeros(len(columns[0]), dtype=np.int64)
    member = np.zeros(0, dtype=np.int64)
    for column in columns:
        span = int(column.max(initial=0)) + 1
        _, member, number = np.unique(number * span + column, return_index=True, return_inverse=True)
    return number.astype(np.int64), member.astype(np.int64)


def weights_of_paths(
    graph: CostGraph, left: Boxes, right: Boxes, groups: Groups, begin: int, slots: tuple[tuple[int, int], ...]
) -> Floats | None:
    """The least and the most of every path, a row each; None where their halves would take too much memory.

    `begin` is the step of the first symbol, `slots` where the boxes at both ends are taken from.
    """
    paths, half, rows = groups.paths, groups.paths.shape[1] // 2, groups.row_of
    suffix, member = numbered([*paths.T[half:], groups.end])
    prefix, _ = numbered([rows, *paths.T[:half]])
    if 8 * len(member) * left.low.shape[2] > _MOST_BYTES:
        return None
    order = np.argsort(prefix, kind="stable")
    prefix_first = np.concatenate([[0], np.cumsum(np.bincount(prefix))]).astype(np.int64)
    least = np.zeros((len(member), left.low.shape[2]), dtype=np.float32)
    most = np.zeros_like(least)

    def followed(part: slice) -> None:
        second_halves(
            graph.moves, right.stored, *slots[1], paths[member[part]], groups.end[member[part]], begin, half,
            least[part], most[part],
        )  # fmt: skip

    def weighed(part: slice) -> Floats:
        return path_weights(
            graph.moves, left.stored, *slots[0], rows, paths, begin, half, prefix_first[part.start : part.stop + 1],
            order, suffix, least, most, graph.rounding,
        )  # fmt: skip

    at_once(followed, slices(len(member), fewest=_WORTH_A_THREAD))
    weights = np.empty((len(paths), 2))
    weights[order] = np.concatenate(at_once(weighed, slices(len(prefix_first) - 1, fewest=_WORTH_A_THREAD)))
    return weights
