"""The race against exact comparison of V_ℓ = e^{ηℓ}(1 − U_ℓ^{1/N(ℓ)}) in Python's decimals.

See docs/theory/losses.md.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpz

from symveil.mechanisms.permute_and_flip_race import race
from symveil.numbers.conversions import ball
from symveil.randomness import BitSource, NotPrivateSeededBits


class Fed(BitSource):
    """First the runners' 64-bit words, then the extensions, 64 bits each; refuses to give more."""

    def __init__(self, words: list[int], extensions: list[int]) -> None:
        self.first = np.array(words, dtype=np.uint64).tobytes()
        self.rest = [extension.to_bytes(8, "big") for extension in extensions]

    def fill(self, size):
        if self.first:
            given, self.first = self.first, b""
            assert size == len(given)
        else:
            assert self.rest, "more bits were asked for than the race needs"
            given = self.rest.pop(0)
        return np.frombuffer(given, dtype=np.uint8)


def value_of(numerator: int, bits: int, count: int, eta: Fraction, distance: int) -> Decimal:
    uniform = Decimal(numerator) / Decimal(2) ** bits
    root = Decimal(0) if uniform == 0 else (uniform.ln() / count).exp()
    return (Decimal(eta.numerator) / Decimal(eta.denominator) * distance).exp() * (1 - root)


def run(counts: list[int], eta: Fraction, bits: BitSource) -> int:
    return race(lambda: [arb(fmpz(count)) for count in counts], lambda: ball(eta), bits)


@pytest.mark.parametrize(
    ("length", "size", "eta"),
    [(1, 2, "1/10"), (3, 2, "1"), (5, 4, "2"), (20, 3, "3/2"), (37, 2, "5"), (60, 26, "1/100")],
)
def test_the_smallest_value_wins(length, size, eta):
    counts = [math.comb(length, d) * (size - 1) ** d for d in range(length + 1)]
    seeded = NotPrivateSeededBits(length)
    for _ in range(40):
        words = [int(word) for word in seeded.words(length + 1)]
        with localcontext() as context:
            context.prec = 120
            values = [value_of(2 * word + 1, 65, counts[d], Fraction(eta), d) for d, word in enumerate(words)]
        assert run(counts, Fraction(eta), Fed(words, [])) == values.index(min(values))


@pytest.mark.parametrize("agreed", [1, 2, 3])
@pytest.mark.parametrize(("counts", "eta"), [([1, 1], "1"), ([1, 7], "1/3"), ([5, 10**30], "2"), ([1, 10**400], "900")])
def test_a_photo_finish_is_decided_by_more_bits(counts, eta, agreed):
    """Give runner 1 a word, let runner 0 follow the value that ties with it digit by digit, then leave it."""
    with localcontext() as context:
        context.prec = 600
        fixed = [7 * 2**61 + 12345, *[987654321 * 2**30 + 1] * agreed]
        whole = sum(digit << (64 * (agreed - place)) for place, digit in enumerate(fixed))
        target = value_of(2 * whole + 1, 64 * (agreed + 1) + 1, counts[1], Fraction(eta), 1)
        tying = (1 - target) ** counts[0]  # U₀ with V₀ = V₁
        assert 0 < tying < 1
        scaled = math.floor(tying * 2 ** (64 * (agreed + 1)))
    digits = [(scaled >> (64 * (agreed - place))) & (2**64 - 1) for place in range(agreed + 1)]
    for beside, winner in ((2**10, 0), (-(2**10), 1)):  # a larger U is a smaller V
        ours = [*digits[:-1], digits[-1] + beside]
        extensions = [word for pair in zip(ours[1:], fixed[1:], strict=True) for word in pair]
        bits = Fed([ours[0], fixed[0]], extensions)
        assert run(counts, Fraction(eta), bits) == winner
        assert bits.rest == []


def test_runners_that_have_lost_are_not_drawn_further():
    """Three runners: 0 and 1 tie in their first bits, 2 is far behind and gets no extension."""
    tie = 2**63
    bits = Fed([tie, tie, 0], [0, 2**64 - 1])
    # η = 0 makes the values comparable directly: the larger U wins
    assert run([1, 1, 1], Fraction(0), bits) == 1
    assert bits.rest == []


def test_words_of_all_zeros_and_all_ones_are_numbers_like_others():
    top = 2**64 - 1
    assert run([1, 5], Fraction(1), Fed([top, 0], [])) == 0
    assert run([1, 5], Fraction(1), Fed([0, top], [])) == 1
    assert run([1, 1], Fraction(0), Fed([0, 0], [0, 0, 3, 9])) == 1
    assert run([1, 1], Fraction(0), Fed([top, top], [top, top, top, top - 7])) == 0


def test_a_single_runner_wins():
    assert run([1], Fraction(1), Fed([0], [])) == 0
