"""The true ε of a policy that was not built to have one: the largest loss over all adjacent observations."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations

from flint import arb, fmpq

from symveil.enforcement.safe_observations import Events
from symveil.errors import TooLargeError
from symveil.numerics.balls import STANDARD_PRECISION, precision
from symveil.privacy.guarantee import Guarantee

_MOST_PAIRS = 5_000_000


def policy_loss(laws: Mapping[Events, Mapping[Events, Fraction | float]], adjacency: int) -> Guarantee:
    """sup ln P(w'|w)/P(w'|v) over adjacent w, v of one length, exactly; infinite where supports differ.

    >>> half = {(0,): Fraction(1, 2), (1,): Fraction(1, 2)}
    >>> policy_loss({(0,): half, (1,): {(1,): Fraction(1)}}, 1).epsilon
    inf
    """
    by_length: dict[int, list[Events]] = defaultdict(list)
    for events in laws:
        by_length[len(events)].append(events)
    worst = Fraction(1)
    pairs = 0
    for inputs in by_length.values():
        for one, other in combinations(inputs, 2):
            pairs += 1
            if pairs > _MOST_PAIRS:
                raise TooLargeError(
                    f"loss: expected at most {_MOST_PAIRS} pairs of observations, found more; use a smaller length"
                )
            if sum(map(int.__ne__, one, other)) <= adjacency:
                if laws[one].keys() != laws[other].keys():
                    return Guarantee(epsilon=math.inf, how="exact")
                ratios = [Fraction(chance) / Fraction(laws[other][shown]) for shown, chance in laws[one].items()]
                worst = max(worst, *ratios, *(1 / ratio for ratio in ratios))
    with precision(STANDARD_PRECISION):
        return Guarantee.of_loss(arb(fmpq(worst.numerator, worst.denominator)).log(), "exact")
