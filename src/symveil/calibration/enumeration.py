"""The loss of a small language under any cost and prior: every Z(w), every adjacent pair.

See docs/theory/certificates.md. With κ(w, w') = e^{−rate·k}, k depends on the two words
alone: N_w(k), the weight of the words with each k, is summed once over all pairs, and Z(w) = Σ N_w(k)·e^{−rate·k} at
any rate. The largest of ln κ(w, w')/κ(v, w') over all words w' is rate·D(w, v) with one phase, attained at w' = w. With
several it is at most one step for every period that D(w, v) covers; it is computed where words are few.

All terms are positive, so their relative rounding error is at most the number of operations times 2⁻⁵³, and the result
is rounded up by more.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from symveil.calibration.answers import remembered
from symveil.calibration.counting_loops import largest_losses, totals_of, weights_by_drop
from symveil.calibration.limits import LIMITS, CalibrationLimits
from symveil.calibration.search import ANY, ProofEffort, ProvedLoss
from symveil.calibration.weighting import Weighting
from symveil.languages.run_weights import RunWeights
from symveil.laws.guarantee import How
from symveil.numbers.once import computed_once

_SMALLEST = 2.0**-900

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Codes = NDArray[np.int32]


class Enumeration:
    """Every word of a language, in groups that are compared, with the weights of what it can become."""

    def __init__(self, weighting: Weighting) -> None:
        language, cost = weighting.language, weighting.cost
        self._weighting = weighting
        self._codes = np.ascontiguousarray(language.enumerate_codes(at_most=CalibrationLimits().words))
        self._begin = 1 if language.public_start and language.length else 0
        self._group = self._codes[:, 0].copy() if self._begin else np.zeros(len(self._codes), dtype=np.int32)
        self._unit = math.lcm(*(value.denominator for value in cost.values))
        levels = np.stack([cost.table(metric) for metric in range(len(cost.metrics))])
        units = np.array([*(int(value * self._unit) for value in cost.values), -1], dtype=np.int64)
        self._costs = (units[levels], np.array(cost.metric_of, dtype=np.int64), self._begin)
        """What symbols cost each other in whole units; −1 where they may not stand for each other."""
        most = int(units.max()) * max(language.length - self._begin, 0)
        self._drops = (cost.start_phase, cost.period, (most + cost.start_phase) // cost.period + 1)

        table = self._costs[0]
        self._symmetric = cost.period == 1 and bool((table == table.transpose(0, 2, 1)).all())

    @computed_once
    def _of_all_rates(self) -> Floats | None:
        """ln N_w(k) of every word; None where it takes much memory or depends on the rate."""
        if self._weighting.balanced or len(self._codes) * float(self._drops[2]) > LIMITS.now.sums:
            return None
        prior = self._prior(self._weighting.weights(Fraction(1)))
        with np.errstate(divide="ignore"):
            return np.log(weights_by_drop(self._codes, self._group, prior, *self._costs, *self._drops))

    def _log_totals(self, rate: Fraction, step: float) -> tuple[Floats, float] | None:
        """ln Z of every word, and more than its error in units of 2⁻⁵²; None where floats cannot hold a prior."""
        language, count = self._weighting.language, self._drops[2]
        weights = self._weighting.weights(rate)
        operations = float(len(self._codes) + 2 * language.length + 4)
        if weights.balance is None:
            prior = self._prior(weights)
        else:
            logs = weights.log_prior(self._codes)
            prior = np.exp(logs)
            # n logarithms and their sum, each with an error in units of the last place of the largest
            operations += math.ceil(4 * (language.length + 2) * (1 + float(np.abs(logs).max(initial=0.0))))
        if prior.min() < _SMALLEST:
            return None
        known = self._of_all_rates
        if known is None:
            totals = np.log(totals_of(self._codes, self._group, prior, *self._costs, *self._drops[:2], step))
            scale = 2.0 + step * count + float(np.abs(totals).max()) + float(np.abs(np.log(prior)).max())
        else:
            terms = known - step * np.arange(count)
            top = terms.max(axis=1)
            totals = top + np.log(np.exp(terms - top[:, None]).sum(axis=1))
            scale = 2.0 + float(np.abs(terms[known > -np.inf]).max())
        # relative errors of the weights and of the sum; of each logarithm and exponent in units of the last place of
        # the largest
        return totals, operations + language.length + 8 * scale

    def _prior(self, weights: RunWeights) -> Floats:
        """T(w) of every word: the product over its edges."""
        total = np.ones(len(self._codes))
        if weights.is_weighted:
            edges = self._weighting.language.walk_edges(self._codes)
            for position in range(self._begin, self._codes.shape[1]):
                total *= weights.edge_weights[edges[:, position]]
        return total

    def loss(self, rate: Fraction, farthest: int | None = None) -> ProvedLoss | None:
        """The loss of words at most `farthest` apart (None: of adjacent ones) at a rate; None beyond floats.

        It is rounded up by less than 10⁻¹⁰ where rates times lengths are below 10³.
        """
        weighting = self._weighting
        apart = min(weighting.adjacency if farthest is None else farthest, self._codes.shape[1])
        start, period, _ = self._drops
        step = float(rate / self._unit) if period == 1 else float(rate)
        known = self._log_totals(rate, step)
        if known is None:
            return None
        totals, error = known
        few, plain = len(self._codes) <= LIMITS.now.words_with_outputs, weighting.cost.is_hamming and period == 1
        largest, least, one, other = largest_losses(
            self._codes, self._group, totals, *self._costs, start, period, step, apart, few,
            self._symmetric, plain,
        )  # fmt: skip
        if not largest.max(initial=0.0) < math.inf:
            return None
        fixed = rate if plain else Fraction(0)  # of each symbol: not in `largest`, so that it is not rounded
        error += 0.0 if plain else 4 * float(largest.max(initial=0.0))
        widening = Fraction(4 * error) / 2**52  # twice, as two words are compared; times two, to be on the safe side
        losses = {
            distance: fixed * distance + Fraction(worst) + widening
            for distance, worst in enumerate(largest.tolist())
            if distance > 0 and worst >= 0
        }
        pairs = ((self._codes[one], self._codes[other]),) if losses else ()
        how: How = "exact" if few or period == 1 else "certified"
        most = max(losses.values(), default=Fraction(0))
        return ProvedLoss(most, how, max(least, 0.0), pairs, farthest=max(losses, default=0), by_distance=losses)


def is_enumerable(weighting: Weighting) -> bool:
    """Whether all pairs of words are compared."""
    most = LIMITS.now.words if weighting.is_plain else LIMITS.now.costly_words
    return not weighting.with_shorter and weighting.language.has_at_most(most)


def enumeration(weighting: Weighting) -> Enumeration | None:
    """All words of a weighting; None where they are too many.

    >>> import symveil as sv
    >>> from symveil.languages.costs import hamming
    >>> words = sv.runs(sv.MarkovChain.from_transitions([(a, b, "1/3") for a in "abc" for b in "abc"]), length=3)
    >>> every = enumeration(Weighting(language=words, cost=hamming(words), adjacency=2))
    >>> round(float(every.loss(Fraction(2)).loss), 9)                        # on Σⁿ exactly 2η
    4.0
    """
    if not is_enumerable(weighting):
        return None
    return _listed(weighting)


def loss_by_enumeration(weighting: Weighting, rate: Fraction, _: ProofEffort = ANY) -> ProvedLoss | None:
    """The loss at a rate; None where words are too many, or floats cannot hold their prior."""
    every = enumeration(weighting)
    return None if every is None else every.loss(rate)


_listed = remembered(4)(Enumeration)
