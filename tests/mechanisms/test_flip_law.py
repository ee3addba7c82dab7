"""Permute-and-flip against what B26 prints: equation 5, and the algorithm itself over all permutations."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, arb_poly, ctx, fmpq

import symveil as sv
from symveil.mechanisms.permute_and_flip import FlipIntegral
from symveil.numbers.conversions import precision


def balls_of_equation_5(counts: Counter[int], rate: Fraction) -> tuple[dict[int, arb], dict[int, arb]]:
    """P(w'|w) and Φ by distance: p_ℓ Σ_k (−1)^k/(k+1) e_k(p of all other words).

    The signed elementary symmetric polynomials are the coefficients of Π(1 − p t). They are as
    large as 2^|L| and cancel to less than 1, so the balls need a bit or two per word.
    """
    chances, phis = {}, {}
    with ctx.workprec(256 + 2 * sum(counts.values())):
        eta = arb(fmpq(rate.numerator, rate.denominator))
        p = {distance: (-eta * distance).exp() for distance in counts}
        factor = {distance: arb_poly([1, -p[distance]]) for distance in counts}
        all_but_one_of_each = math.prod((factor[d] ** (count - 1) for d, count in counts.items()), start=arb_poly([1]))
        for left_out in counts:
            product = math.prod((factor[d] for d in counts if d != left_out), start=all_but_one_of_each)
            phi = sum((signed / (k + 1) for k, signed in enumerate(product.coeffs())), start=arb(0))
            assert phi.rel_accuracy_bits() > 60, "the oracle needs more precision"
            chances[left_out], phis[left_out] = p[left_out] * phi, phi
    return chances, phis


def law_of_equation_5(counts: Counter[int], rate: Fraction) -> tuple[dict[int, float], dict[int, float]]:
    """ln P(w'|w) and Φ by distance, as floats."""
    chances, phis = balls_of_equation_5(counts, rate)
    with ctx.workprec(128):
        return {d: float(chance.log().mid()) for d, chance in chances.items()}, {d: float(phis[d]) for d in phis}


def law_of_first_accepted(p: list[float]) -> list[float]:
    """Average over all orders: look at the words in turn, accept word i with probability p[i]."""
    law = [[] for _ in p]
    for order in itertools.permutations(range(len(p))):
        reached = 1.0
        for index in order:
            law[index].append(reached * p[index])
            reached *= 1 - p[index]
            if reached == 0:
                break
    return [math.fsum(terms) / math.factorial(len(p)) for terms in law]


@pytest.mark.parametrize("calibration", ["tight", "classic"])
@pytest.mark.parametrize(("length", "size"), [(n, m) for n in range(6) for m in range(1, 5)])
def test_the_law_is_equation_5(write_out, length, size, calibration):
    written = write_out(length, size)
    counts = written.counts
    for epsilon in (0.1, 1, 5):
        for b in (1, 2, 3):
            mechanism = sv.PermuteAndFlip(written.language, epsilon=epsilon, adjacency=b, calibration=calibration)
            log_law, _ = law_of_equation_5(counts, mechanism.rate)
            for index in written.some_words(3):
                expected = [log_law[d] for d in written.distances_from(written.words[index])]
                found = mechanism.log_probabilities(written.rows[index], written.rows)
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
                assert math.fsum(np.exp(found)) == pytest.approx(1, abs=1e-12)
            law = mechanism.distances()
            assert dict(zip(law.distances.tolist(), law.counts, strict=True)) == counts
            error = math.fsum(d * counts[d] * math.exp(log) for d, log in log_law.items())
            assert law.expected_error == pytest.approx(error, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("bits", [24, 53, 128, 320])
@pytest.mark.parametrize(("length", "size"), [(1, 2), (3, 2), (4, 3), (5, 4)])
def test_balls_of_any_precision_hold_the_value_of_equation_5(write_out, length, size, bits):
    """Truncated series and quadrature included: a ball is a proof, and it shrinks with the precision."""
    written = write_out(length, size)
    for rate in (Fraction(1, 20), Fraction(1, 2), Fraction(2), Fraction(9)):
        mechanism = sv.PermuteAndFlip(written.language, epsilon=2 * rate, calibration="classic")
        chances, _ = balls_of_equation_5(written.counts, rate)
        with precision(bits):
            for distance, found in enumerate(mechanism.weight_balls(mechanism.language.count_balls())):
                assert found.overlaps(chances[distance])
                assert found.rel_accuracy_bits() > bits - 24


@pytest.mark.parametrize("epsilon", [0.1, 1, 5])
@pytest.mark.parametrize(("length", "size"), [(1, 2), (1, 3), (1, 8), (2, 2), (3, 2)])
def test_the_law_is_the_average_over_all_permutations(write_out, length, size, epsilon):
    written = write_out(length, size)
    for calibration in ("tight", "classic"):
        mechanism = sv.PermuteAndFlip(written.language, epsilon=epsilon, calibration=calibration)
        distances = written.distances_from(written.words[-1])
        expected = law_of_first_accepted([math.exp(-float(mechanism.rate) * d) for d in distances])
        found = np.exp(mechanism.log_probabilities(written.rows[-1], written.rows))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("b", [1, 2, 5, "all"])
@pytest.mark.parametrize("epsilon", ["1/100", "3", "50"])
def test_the_classic_rate_is_the_papers(epsilon, b):
    mechanism = sv.PermuteAndFlip(sv.words("abc", 4), epsilon=epsilon, adjacency=b, calibration="classic")
    assert mechanism.rate == Fraction(epsilon) / (2 * (4 if b == "all" else b))


def test_bounds_are_those_of_theorem_2(write_out):
    """E_Exp[ℓ] − n(Φ(0)−Φ(n))/(4 E_Exp[Φ]) ≤ E[ℓ] ≤ E_Exp[ℓ], the sums from ℓ = 0 (docs/errata.md, E3)."""
    for length, size in [(1, 2), (3, 2), (5, 2), (4, 3), (5, 4)]:
        written = write_out(length, size)
        counts = written.counts
        for epsilon in (0.1, 1, 5, 12):
            mechanism = sv.PermuteAndFlip(written.language, epsilon=epsilon, calibration="classic")
            _, phis = law_of_equation_5(counts, mechanism.rate)
            mass = {d: count * math.exp(-epsilon / 2 * d) for d, count in counts.items()}
            total = math.fsum(mass.values())
            error = math.fsum(d * value for d, value in mass.items()) / total
            mean_phi = math.fsum(phis[d] * value for d, value in mass.items()) / total
            lower = error - length * (phis[0] - phis[length]) / (4 * mean_phi)
            law = mechanism.distances()
            assert law.bounds.upper == pytest.approx(error, rel=1e-12)
            assert law.bounds.lower == pytest.approx(lower, rel=1e-11, abs=1e-13)
            assert law.bounds.lower <= law.expected_error <= law.bounds.upper


@pytest.mark.parametrize("calls", [1, 5])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError])
def test_what_stops_an_integrand_stops_the_integral(monkeypatch, kind, calls):
    """The integrator is a library that would go on calling; nothing may come out of a broken integral."""
    asked = []
    series = FlipIntegral._exp_l

    def stopped(self, t):
        asked.append(t)
        if len(asked) == calls:
            raise kind
        return series(self, t)

    monkeypatch.setattr(FlipIntegral, "_exp_l", stopped)
    with pytest.raises(kind):
        sv.PermuteAndFlip(sv.words("abcd", 60), epsilon=2).distances()
    assert len(asked) == calls  # and it was not asked again
