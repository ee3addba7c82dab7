"""Our discrete Laplace noise against that of OpenDP: the same law, and a scale that is 5 % off is told apart.

OpenDP has no seed, so draws of version 0.16.0 stand in a file (`python -m tests.randomness.test_against_opendp` writes
it anew) and are compared everywhere; where OpenDP is installed (the extra `bench`), fresh ones are compared too. Ours
are from a fixed seed.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from scipy import stats

from symveil.randomness import NotPrivateSeededBits, discrete_laplace

RECORDED = Path(__file__).with_name("opendp_draws.json")
SCALE = Fraction(7, 2)
OFF = {"5 % less": 0.95, "5 % more": 1.05}
OURS, THEIRS = 50_000, 200_000
DEVIATIONS = 5.1
"""Of a difference of means: more with a chance below 4e-7 for the same law. A scale that is 5 % off is 10.2 of them
away, so it is missed with a chance below 2e-7, on either side."""
FALSE_ALARM = 1e-7
"""Of the χ² test. Together fresh draws fail less than once in a million times."""

Histogram = dict[int, int]


def opendp_draws(scale: float, count: int = THEIRS) -> Histogram:
    library = pytest.importorskip("opendp.prelude", reason="OpenDP is not installed: it is in the extra bench")
    library.enable_features("contrib")
    domain, metric = library.vector_domain(library.atom_domain(T=int)), library.l1_distance(T=int)
    noisy = library.m.make_laplace(domain, metric, scale=scale)
    assert noisy.map(1) == pytest.approx(1 / scale, rel=1e-12)  # the loss that it claims for a table off by 1
    return dict(Counter(noisy([0] * count)))


@cache
def ours() -> Histogram:
    source = NotPrivateSeededBits(17)
    return dict(Counter(discrete_laplace(SCALE, source) for _ in range(OURS)))


def moments(drawn: Histogram) -> tuple[float, float, int]:
    """Mean and variance of |z|, and how many there are."""
    size = sum(drawn.values())
    mean = sum(abs(z) * times for z, times in drawn.items()) / size
    return mean, sum((abs(z) - mean) ** 2 * times for z, times in drawn.items()) / size, size


def deviations(one: Histogram, other: Histogram) -> float:
    """How many standard errors the means of |z| are apart."""
    (mean, variance, size), (mean_2, variance_2, size_2) = moments(one), moments(other)
    return abs(mean - mean_2) / math.sqrt(variance / size + variance_2 / size_2)


def same_law(one: Histogram, other: Histogram) -> float:
    """The p-value of the χ² test of homogeneity; values that few have belong together."""
    edge = next(
        z for z in range(1, 1000) if min(part.get(side * z, 0) for part in (one, other) for side in (1, -1)) < 20
    )
    rows = []
    for part in (one, other):
        inside = [part.get(z, 0) for z in range(-edge + 1, edge)]
        rows.append([
            sum(times for z, times in part.items() if z <= -edge), *inside,
            sum(times for z, times in part.items() if z >= edge),
        ])  # fmt: skip
    return float(stats.chi2_contingency(rows).pvalue)


def compared(theirs: Histogram, off: dict[str, Histogram]) -> None:
    assert deviations(ours(), theirs) < DEVIATIONS
    assert same_law(ours(), theirs) > FALSE_ALARM
    for wrong in off.values():
        assert deviations(ours(), wrong) > DEVIATIONS


def test_against_recorded_draws() -> None:
    recorded = {
        name: {int(z): times for z, times in drawn.items()}
        for name, drawn in json.loads(RECORDED.read_text())["draws"].items()
    }
    assert {sum(drawn.values()) for drawn in recorded.values()} == {THEIRS}
    compared(recorded.pop("as it is"), recorded)


def test_against_fresh_draws() -> None:
    compared(opendp_draws(float(SCALE)), {name: opendp_draws(factor * float(SCALE)) for name, factor in OFF.items()})


def record() -> None:
    """Write the file of draws anew."""
    draws = {
        name: dict(sorted(opendp_draws(factor * float(SCALE)).items()))
        for name, factor in {"as it is": 1.0, **OFF}.items()
    }
    RECORDED.write_text(json.dumps({"made with": "OpenDP 0.16.0, make_laplace", "scale": str(SCALE), "draws": draws}))


if __name__ == "__main__":
    record()
