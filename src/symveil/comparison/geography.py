"""Metrics of words whose symbols have places: origins and destinations by zone, diameters, range queries.

Sources as in `distributions`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from symveil.comparison.distributions import CodedWords, Integers, jensen_shannon
from symveil.comparison.limits import LIMITS

BUCKETS = 20
QUERIES_A_SIDE = 15
_SIZE_FACTOR = 9.0
_SANITY_BOUND = 0.01

Points = NDArray[np.float64]
"""A row for each symbol: x and y."""


def od_jsd(true: CodedWords, private: CodedWords, zones: Integers) -> float | None:
    """The divergence of origins and destinations; `zones` has the zone of each symbol. None without such words.

    "Trip error" of AdaTrace (`calculateTripError`, 6 × 6 cells) and LDPTrace (`main.py`): the Jensen–Shannon
    divergence of the pairs (zone of the first symbol, zone of the last). They count words of one symbol as well,
    which go nowhere.
    """
    pairs = [
        zones[first].astype(np.int64) * (int(zones.max()) + 1) + zones[last] for first, last in _ends(true, private)
    ]
    if not len(pairs[0]) or not len(pairs[1]):
        return None
    different, names = np.unique(np.concatenate(pairs), return_inverse=True)  # of 10¹⁰ pairs of zones few are seen
    cut = len(pairs[0])
    return jensen_shannon(*(np.bincount(part, minlength=len(different)) for part in (names[:cut], names[cut:])))


def _ends(*files: CodedWords) -> list[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    return [words.ends() for words in files]


def diameters(words: CodedWords, points: Points) -> Points:
    """The largest distance between two places of each word; 0 for words of one symbol. Empty words have none.

    >>> diameters(CodedWords.from_words([[0, 1, 2], [1]], symbols=3), np.array([[0, 0], [3, 4], [0, 1]])).tolist()
    [5.0, 0.0]
    """
    lengths, starts = words.lengths, words.starts
    results = np.zeros(len(words))
    for length in np.unique(lengths).tolist():
        rows = np.flatnonzero(lengths == length)
        if 2 <= length <= LIMITS.now.points:
            visited = points[words.codes[starts[rows][:, None] + np.arange(length)]]
            for gap in range(1, length):
                away = visited[:, gap:] - visited[:, :-gap]
                results[rows] = np.maximum(results[rows], np.hypot(away[..., 0], away[..., 1]).max(axis=1))
        elif length > LIMITS.now.points:
            for row in rows.tolist():
                results[row] = _diameter(points[np.unique(words.codes[starts[row] : starts[row] + length])])
    return results[lengths > 0]


def _diameter(points: Points) -> float:
    """Of many places: that of the corners of their hull."""
    if len(points) > LIMITS.now.points:
        try:
            points = points[ConvexHull(points).vertices]
        except QhullError:  # all in one line, whose ends are the extremes of both coordinates
            points = points[
                [index for axis in (0, 1) for index in (points[:, axis].argmin(), points[:, axis].argmax())]
            ]
    return max(float(np.hypot(*(points - point).T).max()) for point in points)


def diameter_counts(true: CodedWords, private: CodedWords, points: Points) -> tuple[Points, Integers, Integers] | None:
    """The ends of the buckets, and how many words of both files are in each; None where a file has empty words only."""
    one, other = diameters(true, points), diameters(private, points)
    if not len(one) or not len(other):
        return None
    largest = max(float(one.max()), float(other.max())) or 1.0
    ends = np.linspace(0.0, largest, BUCKETS + 1)
    return ends, np.histogram(one, ends)[0], np.histogram(other, ends)[0]


def diameter_jsd(true: CodedWords, private: CodedWords, points: Points) -> float | None:
    """The divergence of the diameters in twenty equal buckets, from 0 to the largest one of both files.

    "Diameter error" of AdaTrace (`calculateDiameterError`) and LDPTrace (`calculate_diameter_error`), and equal to
    them where they are right. Their buckets begin at 0 and are (max − min)/20 wide, so that every word with a
    diameter above max − min is left out, as is every private one above the true largest; LDPTrace counts a diameter
    on the end of a bucket twice.
    """
    counted = diameter_counts(true, private, points)
    return None if counted is None else jensen_shannon(counted[1], counted[2])


def query_squares(points: Points, *, a_side: int = QUERIES_A_SIDE) -> tuple[Points, float]:
    """Centres on a lattice over the box of all places, and the length of a square's side: √(area of the box/9).

    LDPTrace draws its centres (`SquareQuery`); on a lattice the same files give the same number. In a box without area,
    squares are a third of its length.

    >>> centres, side = query_squares(np.array([[0.0, 0.0], [3.0, 3.0]]), a_side=2)
    >>> centres.tolist(), side
    ([[0.75, 0.75], [0.75, 2.25], [2.25, 0.75], [2.25, 2.25]], 1.0)
    """
    low, high = points.min(axis=0), points.max(axis=0)
    wide, tall = (high - low).tolist()
    side = math.sqrt(wide * tall / _SIZE_FACTOR) or max(wide, tall) / math.sqrt(_SIZE_FACTOR)
    steps = (np.arange(a_side) + 0.5) / a_side
    xs, ys = np.meshgrid(low[0] + steps * wide, low[1] + steps * tall, indexing="ij")
    return np.column_stack([xs.ravel(), ys.ravel()]), side


def range_query_error(true: CodedWords, private: CodedWords, points: Points, squares: tuple[Points, float] | None = None
) -> float:  # fmt: skip
    """Mean of |c − c′|/max(c, 1 % of all visits): c and c′ are the visits in a square, in either file.

    `calculate_point_query` of LDPTrace; AdaTrace asks circles how many words pass them (`calculateQueryError`).
    Numbers are not scaled: a private file of half as many sequences is off by a half. It is not symmetric.

    >>> places = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> true, private = (CodedWords.from_words(words, symbols=2) for words in ([[0, 0, 1, 1]], [[0, 1, 1, 1]]))
    >>> range_query_error(true, private, places, (places, 0.5))
    0.5
    """
    centres, side = query_squares(points) if squares is None else squares
    inside = (np.abs(points[None, :, :] - centres[:, None, :]) <= side / 2).all(axis=2)
    visits, others = true.visits(), private.visits()
    one, other = inside @ visits, inside @ others
    return math.fsum(np.abs(one - other) / np.maximum(one, _SANITY_BOUND * visits.sum())) / len(centres)
