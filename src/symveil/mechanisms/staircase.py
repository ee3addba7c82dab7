"""The staircase: the least expected error among all mechanisms on Σⁿ.

See docs/theory/tight-calibration.md.
Its weights fall in steps of e^{−ε}: 1 for the distances 0 … t−1, then one step down after every
b distances. Two words at distance at most b never see more than one step, so the loss is exactly
ε, and nothing that ε allows is left unused. The width t ∈ 1..b of the first step is the one with
the least expected error. For b = 1 the staircase is the tight exponential mechanism. On the words
of a model the normaliser varies, and half of ε pays for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.languages.free import FreeLanguage, words
from symveil.languages.language import Language
from symveil.mechanisms.distance_weighted import DistanceWeighted
from symveil.numerics.conversions import STANDARD_PRECISION, ball, nearest_float, precision
from symveil.numerics.once import computed_once
from symveil.numerics.rationals import spelled
from symveil.privacy.guarantee import Guarantee


class Staircase(DistanceWeighted):
    """The staircase mechanism with its best first step.

    >>> import symveil as sv
    >>> words = sv.words("abc", 6)
    >>> staircase = sv.Staircase(words, epsilon=2, adjacency=3)
    >>> staircase.first_step, round(staircase.distances().expected_error, 4)
    (3, 3.0063)
    >>> round(sv.Exponential(words, epsilon=2, adjacency=3).distances().expected_error, 4)
    3.0397
    """

    name = "staircase"
    label: ClassVar[str] = "staircase"

    @computed_once
    def step_height(self) -> Fraction:
        """How much ln r falls at each step."""
        tight = self.calibration == "tight" and self.language.homogeneous
        return self.epsilon if tight else self.epsilon / 2

    @computed_once
    def first_step(self) -> int:
        """t: how many distances share the largest weight. Chosen from public parameters only."""
        if self.reach == 0:
            return 1
        return 1 + int(np.argmin(expected_errors(_public_stand_in(self.language), self.reach, self.step_height)))

    @property
    def guarantee(self) -> Guarantee:
        """One step: attained by two words on either side of the first step."""
        if not self.language.homogeneous:
            return Guarantee.of_loss(self.epsilon, "classic")
        return Guarantee.of_loss(self.step_height if self.reach else Fraction(0), "exact")

    def parameters_document(self) -> dict[str, object]:
        """The width of the first step, and the height of every step."""
        return {"first_step": self.first_step, "step_height": spelled(self.step_height)}

    def weight_balls(self, counts: Sequence[arb]) -> list[arb]:
        """e^{−(steps down)·ε}."""
        down = (-ball(self.step_height)).exp()
        steps = steps_down(np.arange(len(counts)), self.first_step, max(self.reach, 1))
        powers = [arb(1)]
        for _ in range(int(steps[-1])):
            powers.append(powers[-1] * down)
        return [powers[step] for step in steps.tolist()]


def _public_stand_in(language: Language) -> FreeLanguage:
    """A free language about as large as `language`, to choose the first step by: the word is secret."""
    graph = language.graph
    if graph is None:
        return words(language.alphabet, language.length or 0)
    successors = max(2, round(graph.edge_count / graph.state_count))
    return words(range(successors), language.largest_distance or 0)


def steps_down(distances: NDArray[np.int64], first_step: int, adjacency: int) -> NDArray[np.int64]:
    """⌈(ℓ−t+1)⁺/b⌉: how many steps the distance ℓ lies below the top."""
    return np.asarray(-(-np.maximum(distances - first_step + 1, 0) // adjacency), dtype=np.int64)


def expected_errors(language: FreeLanguage, adjacency: int, step_height: Fraction) -> NDArray[np.float64]:
    """E[d] for every first step t = 1 … adjacency, in floats: a choice between private mechanisms.

    All t together have about n + b steps, and the sum of N(ℓ) over a step is a difference of two
    cumulative sums, so the whole takes linear time.
    """
    with precision(STANDARD_PRECISION):
        log_counts = np.array([nearest_float(count.log()) for count in language.count_balls()])
    size = len(log_counts)
    with np.errstate(divide="ignore"):
        log_moments = log_counts + np.log(np.arange(size))
    begin = np.concatenate([_step_begins(first_step, adjacency, size) for first_step in range(1, adjacency + 1)])
    steps_of = [len(_step_begins(first_step, adjacency, size)) for first_step in range(1, adjacency + 1)]
    offsets = np.concatenate([[0], np.cumsum(steps_of)])
    end = np.append(begin[1:], size)
    end[offsets[1:] - 1] = size
    height = float(step_height) * (np.arange(len(begin)) - np.repeat(offsets[:-1], steps_of))
    mass = _log_range_sums(log_counts, begin, end) - height
    moment = _log_range_sums(log_moments, begin, end) - height
    top = np.repeat(np.maximum.reduceat(mass, offsets[:-1]), steps_of)
    total = np.add.reduceat(np.exp(mass - top), offsets[:-1])
    return np.asarray(np.add.reduceat(np.exp(moment - top), offsets[:-1]) / total)


def _step_begins(first_step: int, adjacency: int, size: int) -> NDArray[np.int64]:
    """The first distance of every step."""
    return np.concatenate([[0], np.arange(first_step, size, adjacency)])


def _log_range_sums(logs: NDArray[np.float64], begin: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.float64]:
    """ln Σ_{begin ≤ i < end} e^{logs[i]} for a sequence that rises to a peak and then falls.

    Left of the peak from sums that start at the left, right of it from sums that start at the
    right, so that a small sum is never the difference of two large ones.
    """
    peak = int(np.argmax(logs))
    from_left = np.concatenate([[-np.inf], np.logaddexp.accumulate(logs)])
    from_right = np.concatenate([np.logaddexp.accumulate(logs[::-1])[::-1], [-np.inf]])
    left_end, right_begin = np.minimum(end, peak + 1), np.maximum(begin, peak + 1)
    left = _log_difference(from_left[np.maximum(left_end, begin)], from_left[begin])
    right = _log_difference(from_right[np.minimum(right_begin, end)], from_right[end])
    left[begin > peak] = -np.inf
    right[end <= peak + 1] = -np.inf
    return np.logaddexp(left, right)


def _log_difference(larger: NDArray[np.float64], smaller: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln(e^larger − e^smaller)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(smaller == -np.inf, larger, larger + np.log1p(-np.exp(smaller - larger)))
