"""A cheap proved bound on ln Z(v)/Z(w) for any graph of any size: the largest Z over the smallest.

See docs/theory/certificates.md.
With k symbols left, the weight of everything that can follow is at most V_k(y) and, in the word's own
state t, at least W_k(t):

    V_k(y) = z·Σ T V_{k−1}(y') + (1−z)·max T V_{k−1}(y')          one symbol at most matches,
    W_k(t) = min over the word's next edge t → t' of T W_{k−1}(t') + z·Σ_{others} T B_{k−1}(y'),
    B_k(y) = z·Σ T B_{k−1}(y')                                      nothing matches.

The bound does not ask how far w and v are apart, so it grows with the length of the words; it wins
over the classic ηd where η is large. One pass over the edges per symbol.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from symveil.calibration.certificate import ProvedLoss
from symveil.calibration.weighting import Weighting
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage

_SMALLEST, _LARGEST = 2.0**-600, 2.0**600


def spread_bound(language: RunLanguage, *, rate: Fraction, with_prior: bool) -> float:
    """A bound on ln Z(v)/Z(w) over all pairs of words, adjacent or not; infinite where floats give none."""
    weights = RunWeights(language=language, rate=rate, with_prior=with_prior)
    graph, decay, excess, weight = language.graph, weights.mismatch, weights.match_excess, weights.edge_weights
    most = graph.accepting.astype(np.float64)
    least, blank = most.copy(), most.copy()
    symbols = language.largest_distance
    for left in range(1, symbols + 1):
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            reached = weight * most[graph.target]
            most = decay * graph.sum_over(reached) + excess * graph.sum_over(reached, np.maximum)
            unmatched = decay * weight * blank[graph.target]
            all_unmatched = graph.sum_over(unmatched)
            # the other edges' weight is positive: what cancels is rounded down, to 0 at worst
            others = np.maximum(all_unmatched[graph.source] * (1 - 1e-9) - unmatched, 0.0)
            own = weight * least[graph.target] + others
            own[~language.alive[left - 1][graph.target]] = np.inf
            least = graph.sum_over(own, np.minimum, np.inf)
            least[np.isinf(least)] = 0.0
            blank = all_unmatched
        scale = math.frexp(float(most.max()))[1]
        most = np.ldexp(most, -scale)
        least, blank = np.ldexp(least, -scale), np.ldexp(blank, -scale)
    ratio = 1.0
    for state in language.secret_starts:
        if not (least[state] > _SMALLEST and most[state] < _LARGEST):
            return math.inf
        ratio = max(ratio, most[state] / least[state])
    rounded = (symbols + 1) * (graph.widest + 16) * 2.0**-50
    return math.log(ratio) * (1 + 2.0**-50) + 2 * rounded


def loss_by_spread(weighting: Weighting, rate: Fraction) -> ProvedLoss | None:
    """The loss at a rate of exponential weights by Hamming distance, for words of one length; None without a bound."""
    if weighting.with_shorter:
        return None
    bound = spread_bound(weighting.language, rate=rate, with_prior=weighting.with_prior)
    return ProvedLoss(weighting.farthest * rate + Fraction(bound), "certified") if bound < math.inf else None
