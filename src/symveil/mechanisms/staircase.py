"""The staircase: the least expected error among all mechanisms on Σⁿ.

See docs/theory/losses.md.
Its weights fall in steps of e^{−ε}: 1 for the distances 0 … t−1, then one step down after every
b distances. Two words at distance at most b never see more than one step, so the loss is exactly
ε, and nothing that ε allows is left unused. The width t ∈ 1..b of the first step is the one with
the least expected error. For b = 1 the staircase is the tight exponential mechanism. On the words
of a model the normaliser varies, and half of ε pays for it where nothing better is proved; costs may be others than the
Hamming distance, and steps are as wide as costs of adjacent words can differ (docs/theory/certificates.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.languages.cost_table import CostTable
from symveil.languages.costs import Cost
from symveil.languages.free import FreeLanguage, words
from symveil.languages.language import Language
from symveil.languages.run_laws import expected_errors as expected_errors_of
from symveil.laws.guarantee import Guarantee
from symveil.laws.parameters import Adjacency, Cap, read_step
from symveil.laws.protection import public_words
from symveil.mechanisms.cost_weighted import CostWeighted
from symveil.mechanisms.law import Law
from symveil.mechanisms.limits import LIMITS
from symveil.numbers.conversions import STANDARD_PRECISION, ball, nearest_float, precision
from symveil.numbers.once import computed_once
from symveil.numbers.rationals import Number, at_least, spelled


class Staircase(CostWeighted):
    """The staircase mechanism with its best first step.

    Parameters
    ----------
    language
        The words: all over an alphabet, or those of a model.
    epsilon
        Privacy budget: a number, a decimal or a fraction as text, above 0.
    adjacency
        How far apart words may be that are to look alike: a whole number, or "all". None: 1 over an alphabet; on a
        model it has to be given.
    calibration
        "tight" spends the whole budget; "classic" is the papers' factor 2.
    step
        t: how wide the first step is; None: chosen by the expected error over public words.
    cost, cap, balanced, costs
        As in `MechanismChoice`.

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

    def __init__(
        self,
        language: Language,
        *,
        epsilon: Number,
        adjacency: Adjacency | None = None,
        calibration: str = "tight",
        cost: str | None = None,
        cap: Cap | None = None,
        balanced: bool = False,
        costs: CostTable | None = None,
        step: int | None = None,
    ) -> None:
        super().__init__(
            language,
            epsilon=epsilon,
            adjacency=adjacency,
            calibration=calibration,
            cost=cost,
            cap=cap,
            balanced=balanced,
            costs=costs,
        )
        self.step: Final[int | None] = None if step is None else read_step(step)

    @computed_once
    def period(self) -> int:
        """How many distances, or units of cost, share a weight: Δ, by which adjacent words can differ at most."""
        if self.plain_cost is None:
            return max(self.reach, 1)
        whole = all(value.denominator == 1 for value in self.plain_cost.values)
        if not whole:
            raise ParameterError("costs", expected="whole numbers, which a staircase needs", found="fractions")
        return max(1, math.ceil(self._weighted(self.plain_cost).sensitivity))

    def _calibrated(self, claimed: Law | None) -> Law:
        """One step: attained by two words on either side of the first step."""
        certified = None if self.weighting is None else self._proof(self.weighting, claimed)
        height = self._plain_height if claimed is None or claimed.rate is None else claimed.rate
        if certified is not None:
            height, proved = certified.rate, Guarantee.of_loss(certified.loss, certified.how)
        elif self.language.homogeneous:
            proved = Guarantee.of_loss(height if self.reach else Fraction(0), "exact")
        else:
            proved = Guarantee.of_loss(max(2 * height, self.epsilon), "classic")
        chosen = {**self._resolved(), "step": self.first_step}
        return self._law_with(proved, rate=height, certificate=certified, parameters=chosen)

    @property
    def _plain_height(self) -> Fraction:
        """The height of a step where nothing is certified."""
        tight = self.calibration == "tight" and self.language.homogeneous
        return self.epsilon if tight else self.epsilon / 2

    @property
    def step_height(self) -> Fraction:
        """How much ln r falls at each step."""
        assert self.law.rate is not None  # noqa: S101 - every staircase has one
        return self.law.rate

    @computed_once
    def first_step(self) -> int:
        """t: how many distances share the largest weight. Chosen from public parameters only."""
        if self.step is not None:
            if self.step > self.period:
                raise ParameterError("step", expected=f"a whole number from 1 to {self.period}", found=self.step)
            return self.step
        if self.reach == 0 or self.period == 1:
            return 1
        if self.plain_cost is None:
            return 1 + int(np.argmin(expected_errors(_same_words(self.language), self.reach, self._plain_height)))
        return self._least_error_step(self.plain_cost)

    def _least_error_step(self, cost: Cost) -> int:
        """The t with the least expected error over public words, at a height between the classic and the largest."""
        height = self.epsilon / 2 if self.calibration == "classic" else self.epsilon * 3 / 4
        words = public_words(self._weighted(cost).language, LIMITS.now.staircase_words)
        steps: list[int] = sorted({*range(1, min(self.period, LIMITS.now.staircase_steps) + 1), self.period})
        shaped = [self._weighted(cost.staircase(period=self.period, first_step=step)) for step in steps]
        errors = [float(expected_errors_of(each.weights(height), words).symbols.mean()) for each in shaped]
        least = errors.index(min(errors))
        return steps[least]

    def _shaped(self, cost: Cost) -> Cost:
        return cost.staircase(period=self.period, first_step=self.first_step)

    def _loss_beyond(self, distance: int) -> float:
        """On a model 2h⌈Cd/F⌉: costs of one released word differ by Cd at most, and F share a step of height h."""
        largest = self._largest_symbol_cost
        if self.language.graph is None or largest is None:
            return super()._loss_beyond(distance)
        return at_least(2 * self.step_height * math.ceil(largest * distance / self.period))

    @property
    def described(self) -> str:
        """Its name with cost, prior and first step."""
        return f"{self.name} ({self.weighting_name}, first step {self.first_step})"

    def parameters_document(self) -> dict[str, object]:
        """The width of the first step, the height of every step, and what symbols cost."""
        document = {"first_step": self.first_step, "step_height": spelled(self.step_height)}
        return document | self._cost_document()

    def weight_balls(self, counts: Sequence[arb]) -> list[arb]:
        """e^{−(steps down)·ε}."""
        down = (-ball(self.step_height)).exp()
        steps = steps_down(np.arange(len(counts)), self.first_step, self.period)
        powers = [arb(1)]
        for _ in range(int(steps[-1])):
            powers.append(powers[-1] * down)
        return [powers[step] for step in steps.tolist()]


def _same_words(language: Language) -> FreeLanguage:
    """The free language itself, as one whose words are counted."""
    return words(language.alphabet, language.length or 0)


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
