"""The exact least expected error on Σⁿ: that of the best staircase.

Every ε-private mechanism on Σⁿ can be averaged over the symmetries of Σⁿ without changing its mean error over uniform
words, and then the best staircase is no worse (docs/theory/tight-calibration.md, Theorem 4).
So the bound is the smallest expected error of a staircase: weights e^{−εk}, where k rises by 1 after the first t and
then after every b distances, over t = 1 … b.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from symveil.languages.free import FreeLanguage
from symveil.numerics.conversions import STANDARD_PRECISION, ball, precision


def least_staircase_error(language: FreeLanguage, epsilon: Fraction, adjacency: int) -> arb:
    """min over t of E[d] of the staircase, as a ball.

    Parameters
    ----------
    language
        All words of one length over an alphabet.
    epsilon, adjacency
        The loss, and the width b of the steps.

    >>> from symveil.languages.free import words
    >>> float(least_staircase_error(words("abc", 4), Fraction(4), 2).mid())         # doctest: +ELLIPSIS
    0.67366...
    """
    with precision(2 * STANDARD_PRECISION):
        counts = language.count_balls()
        down = (-ball(epsilon)).exp()
        words, losses = [arb(0)], [arb(0)]
        for distance, count in enumerate(counts):
            words.append(words[-1] + count)
            losses.append(losses[-1] + count * distance)
        steps = max(adjacency, 1)
        powers = [arb(1)]
        for _ in range(len(counts) // steps + 1):
            powers.append(powers[-1] * down)
        least: arb | None = None
        for first in range(1, min(steps, len(counts)) + 1):
            mass, loss = words[first], losses[first]
            for step, begin in enumerate(range(first, len(counts), steps), start=1):
                end = min(begin + steps, len(counts))
                mass += (words[end] - words[begin]) * powers[step]
                loss += (losses[end] - losses[begin]) * powers[step]
            error = loss / mass
            least = error if least is None else least.min(error)
        return least if least is not None else arb(0)
