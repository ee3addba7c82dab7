"""Draws that fall on a boundary to the last bit: more bits decide, exactly as in exact arithmetic.

The boundaries are computed from the definitions with Python's decimals to 150 digits. Bits are fed
that follow a boundary digit by digit (base 2⁶⁴) and then leave it downwards or upwards.
"""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

import symveil as sv
from symveil.mechanisms.distance_weighted import Jones2019Printed
from symveil.randomness import BitSource, NotPrivateSeededBits

DIGITS = 150
LENGTH, SIZE = 2, 3
COUNTS = {0: 1, 1: 4, 2: 4}


class Script(BitSource):
    """Gives the scripted bytes first, then seeded ones."""

    def __init__(self, script: bytes) -> None:
        self.script = script
        self._then = NotPrivateSeededBits(1)

    def fill(self, size):
        taken, self.script = self.script[:size], self.script[size:]
        rest = self._then.fill(size - len(taken)).tobytes()
        return np.frombuffer(taken + rest, dtype=np.uint8)


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def flip_weights(rate: Fraction) -> list[Decimal]:
    """p_ℓ Σ_k (−1)^k/(k+1) e_k(p of all other words): B26 equation 5."""
    p = [(-decimal(rate) * d).exp() for d in range(LENGTH + 1)]
    weights = []
    for left_out in COUNTS:
        others = [p[d] for d, count in COUNTS.items() for _ in range(count - (d == left_out))]
        coefficients = [Decimal(1)]
        for chance in others:
            padded = [*coefficients, Decimal(0)]
            coefficients = [a - chance * b for a, b in zip(padded, [Decimal(0), *coefficients], strict=True)]
        weights.append(p[left_out] * sum(c / (k + 1) for k, c in enumerate(coefficients)))
    return weights


def language():
    return sv.words("abc", LENGTH)


def inverse():
    """ε = 1, a = b = 1, tight: r(ℓ) = exp(2/(ℓ+1))."""
    weights = [(Decimal(2) / (d + 1)).exp() for d in COUNTS]
    return sv.Exponential(language(), epsilon=1, utility="inverse"), weights


def staircase():
    """b = 2, so two levels: 1 for the distances below t, e^{−ε} from t on."""
    mechanism = sv.Staircase(language(), epsilon=3, adjacency=2)
    weights = [Decimal(0 if d < mechanism.first_step else -3).exp() for d in COUNTS]
    return mechanism, weights


def permute_and_flip():
    mechanism = sv.PermuteAndFlip(language(), epsilon=2, calibration="classic")
    return mechanism, flip_weights(Fraction(1))


def tight_permute_and_flip():
    mechanism = sv.PermuteAndFlip(language(), epsilon=2)
    return mechanism, flip_weights(mechanism.rate)


def printed():
    """ε = 1, a = b = 1: ρ(ℓ) = exp(1/(ℓ+1)), shared by the words at that distance."""
    weights = [(Decimal(1) / (d + 1)).exp() / count for d, count in COUNTS.items()]
    return Jones2019Printed(language(), epsilon=1), weights


def base_2_64(value: Decimal, places: int, first_bits: int = 64) -> list[int]:
    """The first digits of a number in [0, 1): one of `first_bits` bits, then of 64 bits each."""
    whole = math.floor(value * Decimal(2) ** (first_bits + 64 * (places - 1)))
    digits = [whole >> (64 * (places - 1))]
    for place in range(places - 2, -1, -1):
        digits.append((whole >> (64 * place)) & (2**64 - 1))
    return digits


CASES = [inverse, staircase, permute_and_flip, tight_permute_and_flip, printed]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("agreed", [1, 2, 3])
def test_a_distance_on_the_edge_is_decided_by_its_later_bits(case, agreed):
    with localcontext() as context:
        context.prec = DIGITS
        mechanism, weights = case()
        masses = [COUNTS[d] * weight for d, weight in enumerate(weights)]
        cuts = [partial / sum(masses) for partial in itertools.accumulate(masses)][:-1]
        for piece, cut in enumerate(cuts):
            digits = base_2_64(cut, agreed + 1)
            assert 2 <= digits[-1] < 2**64 - 2
            for beside, expected in ((-1, piece), (1, piece + 1)):
                # 16 rows, so that every mechanism decides by its table; only the first is on the edge
                words = [digits[0], *[0] * 15]
                extension = [*digits[1:-1], digits[-1] + beside]
                script = np.array(words, dtype=np.uint64).tobytes()
                script += b"".join(digit.to_bytes(8, "big") for digit in extension)
                bits = Script(script)
                codes = np.zeros((16, LENGTH), dtype=np.int32)
                released = mechanism.release_codes(codes, bits=bits)
                assert bits.script == b""
                assert np.count_nonzero(released, axis=1).tolist() == [expected, *[0] * 15]


@pytest.mark.parametrize("epsilon", [1, 5])
@pytest.mark.parametrize("agreed", [1, 2, 3])
def test_a_symbol_on_the_edge_is_decided_by_its_later_bits(agreed, epsilon):
    """λ = mz/(1+(m−1)z), z = e^{−ε}: a symbol is drawn anew below λ, kept above."""
    with localcontext() as context:
        context.prec = DIGITS
        z = Decimal(-epsilon).exp()
        digits = base_2_64(SIZE * z / (1 + (SIZE - 1) * z), agreed + 1, first_bits=32)
    mechanism = sv.Exponential(sv.words("abc", 1), epsilon=epsilon)
    for beside, expected in ((-1, 2), (1, 0)):
        lanes = np.array([digits[0], 2**32 - 1], dtype=np.uint32)  # the second lane draws the last symbol
        extension = [*digits[1:-1], digits[-1] + beside]
        bits = Script(lanes.tobytes() + b"".join(digit.to_bytes(8, "big") for digit in extension))
        assert mechanism.release_codes(np.zeros((1, 1), dtype=np.int32), bits=bits).tolist() == [[expected]]
        assert bits.script == b""
