"""The goodness-of-fit test that the tests of this folder share, with its false-alarm rate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import chi2

# A right sampler fails one test in a million. The seeds are fixed, so a test that passes keeps passing;
# the rate matters when a seed or a sampler is changed.
FALSE_ALARM = 1e-6

# Pearson's statistic follows χ² closely where no cell is expected to be this small.
SMALLEST_CELL = 10.0


def p_value(observed: np.ndarray, chances: np.ndarray) -> float:
    """P(a fit this bad or worse | the law is `chances`), by Pearson's χ² with small cells put together."""
    if observed[chances == 0].any():
        return 0.0
    draws = observed.sum()
    order = np.argsort(chances)
    cells: list[tuple[float, float]] = []
    seen, expected = 0.0, 0.0
    for index in order:
        seen += observed[index]
        expected += draws * chances[index]
        if expected >= SMALLEST_CELL:
            cells.append((seen, expected))
            seen, expected = 0.0, 0.0
    if expected or seen:
        last_seen, last_expected = cells.pop()
        cells.append((last_seen + seen, last_expected + expected))
    assert len(cells) > 1, "too few draws to tell one law from another"
    statistic = sum((found - hoped) ** 2 / hoped for found, hoped in cells)
    return float(chi2.sf(statistic, len(cells) - 1))


@pytest.fixture(scope="session")
def fits() -> Callable[[np.ndarray, np.ndarray], bool]:
    """Whether counts look like draws from a law."""

    def fits(observed: np.ndarray, chances: np.ndarray) -> bool:
        assert abs(chances.sum() - 1) < 1e-9
        return p_value(np.asarray(observed), np.asarray(chances)) >= FALSE_ALARM

    return fits


@pytest.fixture(scope="session")
def fit_of() -> Callable[[np.ndarray, np.ndarray], float]:
    """The p-value itself."""
    return p_value
