"""Published mechanisms as programs: what `unroll` makes chains of, right ones and famous wrong ones.

Each function returns a program of one input. Noise is geometric (the discrete Laplace law), so that every probability
is a rational: with ratio a, two values next to each other differ by a factor of a, which is e^−ε.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator
from fractions import Fraction
from typing import Any

from symveil.models.program_steps import draw, emit, hide
from symveil.numbers.rationals import Number, exact

Program = Callable[..., Generator[Any, Any, Any]]
Bits = tuple[int, ...]


def randomised_response(honest: Number = "3/4") -> Program:
    """Warner 1965: the truth with some probability, otherwise its opposite. Loss ln(p/(1−p))."""
    truthful = exact(honest)

    def response(truth: int) -> Generator[Any, Any, None]:
        lies = yield draw({0: truthful, 1: 1 - truthful}, name="lies")
        yield emit(truth ^ lies)

    return response


def rappor(f: Number = "3/4", p: Number = "0.45", q: Number = "0.55") -> Program:
    """Erlingsson, Pihur and Korolova 2014, steps 2 and 3, on the bits of a Bloom filter.

    Each bit is replaced for good by a fair coin with probability f, and then shown as 1 with probability q where it is
    1 and p where it is 0.
    """
    unchanged, low, high = 1 - exact(f) / 2, exact(p), exact(q)

    def report(bits: Bits) -> Generator[Any, Any, None]:
        if bits:
            fixed = yield draw({bits[0]: unchanged, 1 - bits[0]: 1 - unchanged}, name="fixed")
            chance = high if fixed else low
            yield emit((yield draw({1: chance, 0: 1 - chance}, name="shown")))
            yield hide(report, bits[1:])

    return report


def one_time_rappor(f: Number = "0.95") -> Program:
    """The same without step 3: the bits that are kept for good are shown."""
    unchanged = 1 - exact(f) / 2

    def report(bits: Bits) -> Generator[Any, Any, None]:
        if bits:
            yield emit((yield draw({bits[0]: unchanged, 1 - bits[0]: 1 - unchanged}, name="fixed")))
            yield hide(report, bits[1:])

    return report


def geometric(ratio: Fraction, reach: int) -> dict[int, Fraction]:
    """The two-sided geometric law, with everything beyond ±reach moved to the ends.

    >>> {value: str(chance) for value, chance in geometric(Fraction(1, 2), 1).items()}
    {-1: '1/3', 0: '1/3', 1: '1/3'}
    """
    inner = {z: (1 - ratio) / (1 + ratio) * ratio ** abs(z) for z in range(1 - reach, reach)}
    return {-reach: ratio**reach / (1 + ratio), **inner, reach: ratio**reach / (1 + ratio)}


def truncated_geometric(largest: int, ratio: Number = "1/2") -> Program:
    """Ghosh, Roughgarden and Sundararajan 2009: a count with geometric noise, cut off to 0 … largest."""
    decay = exact(ratio)

    def count(truth: int) -> Generator[Any, Any, None]:
        law: dict[int, Fraction] = {}
        for noise, chance in geometric(decay, 2 * largest + 1).items():
            shown = min(max(truth + noise, 0), largest)
            law[shown] = law.get(shown, Fraction(0)) + chance
        yield emit((yield draw(law, name="shown")))

    return count


def noisy_max(ratio: Number = "1/2", *, reach: int = 6, with_value: bool = False) -> Program:
    """Which of several counts is largest, after geometric noise; the first of equal ones.

    The wrong variant also shows the noisy count, which costs as much as all the counts would.
    """
    law = geometric(exact(ratio), reach)

    def argmax(counts: tuple[int, ...]) -> Generator[Any, Any, None]:
        yield hide(follow, counts, -reach, 0, 0)

    def follow(counts: tuple[int, ...], best: int, where: int, number: int) -> Generator[Any, Any, None]:
        if number == len(counts):
            yield emit((where, max(-reach // 2, min(best, reach // 2))) if with_value else where)
            return
        noisy = counts[number] + (yield draw(law, name="noise"))
        if noisy > best:
            yield hide(follow, counts, noisy, number, number + 1)
        yield hide(follow, counts, best, where, number + 1)

    return argmax


def sparse_vector(
    *, cutoff: int = 1, noisy_queries: bool = True, stops: bool = True, shows_values: bool = False, reach: int = 12
) -> Program:
    """Which answers are above a noisy threshold (Lyu, Su and Li 2017), each said once, until `cutoff` of them are.

    Threshold and answers have geometric noise of ratio 1/2: one more in every answer costs a factor of 2 for the
    threshold, and of 4 for each one that is above (the answer moves, and the threshold the other way). So the right one
    keeps e^ε = 2·4^cutoff however many answers there are. Wrong ones: without noise on the answers (their Algorithm 5),
    without stopping (6), and with the noisy answer itself shown (3). The threshold's noise is cut off far out.
    """
    half = Fraction(1, 2)

    def above(gap: int) -> Fraction:
        """The chance that noise is at least `gap`."""
        tail = half ** (gap if gap > 0 else 1 - gap) / (1 + half)
        return tail if gap > 0 else 1 - tail

    def value_law(answer: int, threshold: int) -> dict[int | str, Fraction]:
        """Below, or the noisy answer, between -2 and 2."""
        law: dict[int | str, Fraction] = {"below": 1 - above(threshold - answer)}
        for value in range(-2, 3):
            low, high = max(threshold, value if value > -2 else threshold), value + 1
            if value == 2:
                law[value] = above(max(low, 2) - answer)
            elif low < high:
                law[value] = above(low - answer) - above(high - answer)
        return law

    def svt(answers: tuple[int, ...]) -> Generator[Any, Any, None]:
        threshold = yield draw(geometric(half, reach), name="threshold")
        yield hide(ask, answers, threshold, 0)

    def ask(answers: tuple[int, ...], threshold: int, count_above: int) -> Generator[Any, Any, None]:
        if not answers or (stops and count_above == cutoff):
            return
        gap = threshold - answers[0]
        if shows_values:
            shown = yield draw(value_law(answers[0], threshold), name="shown")
            is_above = int(shown != "below")
            yield emit(shown)
        else:
            chance = above(gap) if noisy_queries else Fraction(int(gap <= 0))
            is_above = yield draw({1: chance, 0: 1 - chance}, name="above")
            yield emit("above" if is_above else "below")
        yield hide(ask, answers[1:], threshold, count_above + is_above)

    return svt


def jones2019_printed(letters: str = "ab") -> Program:
    """J19 equation 18 as it is printed, at ε = 0: a distance, all equally likely, then a word at that distance.

    N(ℓ), the number of words at each distance, is left out: short distances are far too likely (docs/errata.md, E1).
    """

    def word(secret: str) -> Generator[Any, Any, None]:
        distance = yield draw(range(len(secret) + 1), name="distance")
        positions = yield draw(list(itertools.combinations(range(len(secret)), distance)), name="places")
        shown = ""
        for index, letter in enumerate(secret):
            others = [each for each in letters if each != letter]
            shown += (yield draw(others, name="other")) if index in positions else letter
        yield emit(shown)

    return word


def dining_cryptographers(participants: int, *, heads: Number = "1/2") -> Program:
    """Chaum 1988: each says whether the two coins beside him agree, and who has paid says the opposite."""
    chance = exact(heads)
    coin = {1: chance, 0: 1 - chance}

    def dinner(payer: int) -> Generator[Any, Any, None]:
        first = yield draw(coin, name="first")
        yield hide(say, payer, 0, first, first)

    def say(payer: int, number: int, first: int, left: int) -> Generator[Any, Any, None]:
        if number == participants:
            return
        right = first if number == participants - 1 else (yield draw(coin, name="right"))
        yield emit("agree" if (left == right) != (number == payer) else "differ")
        yield hide(say, payer, number + 1, first, right)

    return dinner
