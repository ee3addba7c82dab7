"""The loss of a small language under any cost and prior: every Z(w), every adjacent pair.

See docs/theory/two-sided.md. The largest of ln κ(w, w')/κ(v, w') over all words w' is rate·D(w, v) with one phase,
attained at w' = w. With several it is at most one step for every period that D(w, v) covers; it is computed where
words are few.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from symveil.languages.compiling import compiled
from symveil.languages.run_weights import RunWeights
from symveil.laws.guarantee import How
from symveil.models.word import Codes

MOST_WORDS = 3000
_FEW_WORDS = 400
_SMALLEST = 2.0**-900

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class EnumeratedLoss:
    """A loss, rounded up by less than a billionth, how it is known, and the same in floats."""

    loss: Fraction
    how: How
    attained: float
    pair: tuple[Codes, Codes] | None = field(default=None, repr=False, compare=False)
    farthest: int | None = None


def enumerated_loss(weights: RunWeights, adjacency: int) -> EnumeratedLoss | None:
    """The loss over all words; None where there are too many, or a weight leaves the range of floats."""
    language, costs = weights.language, weights.costs
    if not language.has_at_most(MOST_WORDS):
        return None
    codes = np.ascontiguousarray(language.enumerate_codes(at_most=MOST_WORDS))
    begin = 1 if language.public_start and language.length else 0
    group = codes[:, 0].copy() if begin else np.zeros(len(codes), dtype=np.int32)
    prior = np.exp(weights.log_prior(codes))
    if prior.min() < _SMALLEST or float(weights.step_weights.min()) ** max(language.length, 1) < _SMALLEST:
        return None
    levels = np.stack([costs.table(metric).astype(np.int16) for metric in range(len(costs.metrics))])
    metric_of = np.array(costs.metric_of, dtype=np.int64)
    value = np.array([float(cost) for cost in costs.values])
    automaton = (levels, metric_of, weights.step_weights, costs.next_phase, costs.start_phase, begin)
    totals = np.log(_totals(codes, group, prior, *automaton))
    few = len(codes) <= _FEW_WORDS
    largest, result, one, other, farthest = _largest(
        codes, group, totals, *automaton, value, adjacency, float(weights.rate), costs.period, few,
    )  # fmt: skip
    if not largest < np.inf:
        return None
    # logarithms of sums of at most N products, of the prior (n roundings of logarithms), and rate·D: each relative
    scale = 4.0 + largest + float(np.abs(totals).max()) + float(np.abs(np.log(prior)).max())
    widening = 16 * (len(codes) + 8 * language.length + 16) * scale * 2.0**-52
    if farthest == 0:
        return EnumeratedLoss(Fraction(0), "exact", 0.0, farthest=0)
    how: How = "exact" if few or costs.period == 1 else "certified"
    pair = (codes[one], codes[other])
    return EnumeratedLoss(Fraction(largest + widening), how, float(result), pair, int(farthest))


@compiled
def _weight(one, two, levels, metric_of, kappa, following, phase, begin):
    total = 1.0
    for k in range(begin, len(one)):
        level = levels[metric_of[k], one[k], two[k]]
        if level < 0:
            return 0.0
        total *= kappa[level, phase]
        phase = following[level, phase]
    return total


@compiled
def _totals(codes, group, prior, levels, metric_of, kappa, following, phase, begin):
    """Z of every word."""
    count = len(codes)
    totals = np.zeros(count)
    for i in range(count):
        for j in range(count):
            if group[i] == group[j]:
                totals[i] += prior[j] * _weight(codes[i], codes[j], levels, metric_of, kappa, following, phase, begin)
    return totals


@compiled
def _largest(
    codes, group, totals, levels, metric_of, kappa, following, phase, begin, value, adjacency, rate, period, exactly
):  # fmt: skip
    """(at most, at least, its two words, how far apart words are at most): the largest loss of adjacent words.

    With several phases and not `exactly`, the first term is a whole step for every period that D covers, at most, and
    what the released word that is one of the two shows, at least. Infinite where supports differ.
    """
    count, length = codes.shape
    largest, least, first_word, second_word, farthest = 0.0, -1.0, 0, 0, 0
    start = phase
    for i in range(count):
        for j in range(count):
            if i == j or group[i] != group[j]:
                continue
            distance = 0
            cost = 0.0
            for k in range(begin, length):
                if codes[i, k] != codes[j, k]:
                    distance += 1
                    level = levels[metric_of[k], codes[i, k], codes[j, k]]
                    cost += value[level] if level >= 0 else np.inf
                    if distance > adjacency:
                        break
            if distance > adjacency:
                continue
            if cost == np.inf:
                return np.inf, 0.0, 0, 0, 0
            farthest = max(farthest, distance)
            change = totals[j] - totals[i]
            if period == 1:
                at_most = rate * cost + change
                at_least = at_most
            elif exactly:
                most = -np.inf
                for k in range(count):
                    if group[k] == group[i]:
                        one = _weight(codes[i], codes[k], levels, metric_of, kappa, following, phase, begin)
                        two = _weight(codes[j], codes[k], levels, metric_of, kappa, following, phase, begin)
                        if one > 0.0 and two == 0.0:
                            return np.inf, 0.0, 0, 0, 0
                        if one > 0.0:
                            most = max(most, np.log(one / two))
                at_most = most + change
                at_least = at_most
            else:
                at_most = rate * np.ceil(cost / period) + change
                at_least = rate * np.floor((cost + start) / period) + change
            largest = max(largest, at_most)
            if at_least > least:
                least, first_word, second_word = at_least, i, j
    return largest, max(least, 0.0), first_word, second_word, farthest
