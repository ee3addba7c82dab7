"""The staircase: the least expected error among all distance-weighted mechanisms on Σⁿ (mathematics §5).

Its weights fall in steps of e^{−ε}: 1 for the distances 0 … t−1, then one step down after every
b distances. Two words at distance at most b never see more than one step, so the loss is exactly
ε, and nothing that ε allows is left unused. The width t ∈ 1..b of the first step is the one with
the least expected error. For b = 1 the staircase is the tight exponential mechanism.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.languages.free import FreeLanguage
from symveil.mechanisms.mechanism import WordMechanism
from symveil.numerics.balls import STANDARD_PRECISION, ball, nearest_float, precision
from symveil.privacy.guarantee import Guarantee


class Staircase(WordMechanism):
    """The staircase mechanism with its best first step.

    >>> import symveil as sv
    >>> words = sv.words("abc", 6)
    >>> staircase = sv.Staircase(words, epsilon=2, adjacency=3)
    >>> staircase.first_step, round(staircase.distances().expected_error, 4)
    (3, 3.0063)
    >>> round(sv.Exponential(words, epsilon=2, adjacency=3).distances().expected_error, 4)
    3.0397
    """

    name: ClassVar[str] = "staircase"

    @cached_property
    def step_height(self) -> Fraction:
        """How much ln r falls at each step."""
        return self.epsilon if self.calibration == "tight" else self.epsilon / 2

    @cached_property
    def first_step(self) -> int:
        """t: how many distances share the largest weight. Chosen from public parameters only."""
        if self.reach == 0:
            return 1
        return 1 + int(np.argmin(expected_errors(self.language, self.reach, self.step_height)))

    @property
    def guarantee(self) -> Guarantee:
        """One step: attained by two words on either side of the first step."""
        return Guarantee.of_loss(self.step_height if self.reach else Fraction(0), "exact")

    def weight_balls(self) -> list[arb]:
        """e^{−(steps down)·ε}."""
        down = (-ball(self.step_height)).exp()
        steps = steps_down(np.arange(self.language.largest_distance + 1), self.first_step, max(self.reach, 1))
        powers = [arb(1)]
        for _ in range(int(steps[-1])):
            powers.append(powers[-1] * down)
        return [powers[step] for step in steps.tolist()]


def steps_down(distances: NDArray[np.int64], first_step: int, adjacency: int) -> NDArray[np.int64]:
    """⌈(ℓ−t+1)⁺/b⌉: how many steps the distance ℓ lies below the top."""
    return np.asarray(-(-np.maximum(distances - first_step + 1, 0) // adjacency), dtype=np.int64)


def expected_errors(language: FreeLanguage, adjacency: int, step_height: Fraction) -> NDArray[np.float64]:
    """E[d] for every first step 1..adjacency, in floats: a choice between private mechanisms."""
    with precision(STANDARD_PRECISION):
        log_counts = np.array([nearest_float(count.log()) for count in language.count_balls()])
    distances = np.arange(len(log_counts))
    errors = np.empty(adjacency)
    for first_step in range(1, adjacency + 1):
        log_mass = log_counts - float(step_height) * steps_down(distances, first_step, adjacency)
        mass = np.exp(log_mass - log_mass.max())
        errors[first_step - 1] = mass @ distances / mass.sum()
    return errors
