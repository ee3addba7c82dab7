"""The law of an event log: lengths as they were released, and moves by position fitted to a noisy table.

Minimises N·Σ share(ℓ)·ln Z_ℓ(θ) − θ·y + ½·c·Σ σ_k·θ_k², which is convex: Z_ℓ sums the weights of all words of length ℓ,
y are the noisy starts, moves and ends, σ_k the deviation of their noise. The law of lengths is not fitted: whatever the
moves are, lengths keep their shares. Everything here reads released numbers only.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from symveil.central.fit import FARTHEST
from symveil.central.noisy_tables import NoisyTable
from symveil.central.support import Support
from symveil.central.word_law import Floats, Parameters, Trellis, no_parameters

FITTED = ("starts", "moves", "ends")
"""The parameters that the table of moves is fitted with, in the order of its cells."""
STEPS = 60
"""Of the quasi-Newton method, for each round."""
ROUNDS = 2
"""How often the weights of moves are brought up to the law that was fitted before."""
HELD = 0.005
"""c: how much a parameter is held back. Cells that drown in noise were set to 0 before, so little is needed."""


def lower_quartile(shares: Floats, shortest: int) -> int:
    """The least length that at least a quarter of all words do not exceed; at least 2.

    >>> lower_quartile(np.array([0.1, 0.1, 0.5, 0.3]), shortest=3)
    5
    """
    return max(2, shortest + int(np.searchsorted(np.cumsum(shares), 0.25 * shares.sum())))


def fitted_log(support: Support, shares: Floats, table: NoisyTable, *, clear: float) -> Parameters:
    """The parameters of the law that a table of moves speaks for.

    Parameters
    ----------
    support
        The moves, the lengths, and where positions are split.
    shares
        Of each length.
    table
        Starts, moves and ends with noise, as `LogMoves` counts them.
    clear
        Cells below this count as 0.
    """
    values = np.where(table.values >= clear, table.values, 0.0)
    cuts = np.cumsum([len(no_parameters(support)[name]) for name in FITTED])[:-1]

    def law(thetas: Floats) -> Parameters:
        return no_parameters(support) | dict(zip(FITTED, np.split(thetas, cuts), strict=True))

    thetas = np.zeros(len(values))
    for _ in range(ROUNDS):
        whole = _whole(Trellis.of(support, law(thetas), shares=shares))
        y, sigma = values * whole, table.deviation * whole
        thetas = _minimised(support, shares, y, HELD * sigma, thetas, law)
    parameters = law(thetas)
    trellis = Trellis.of(support, parameters, shares=np.maximum(shares, 1e-300))
    weights = trellis.log_weight[support.shortest - 1 :]
    parameters["lengths"] = np.where(np.isfinite(weights), weights, 0.0)  # lengths that have no word need no weight
    return parameters


def _whole(trellis: Trellis) -> Floats:
    """What a share of each start, move and end stands for: how many of them, by the law."""
    law = trellis.expected()
    means, shared = (np.concatenate([each[name] for name in FITTED]) for each in (law.means, law.shared))
    mean = means.sum() / max(float(shared.sum()), 1e-300)
    return np.asarray(np.maximum(np.where(shared > 1e-12, means / np.maximum(shared, 1e-300), mean), 1.0))


def _minimised(
    support: Support, shares: Floats, y: Floats, held: Floats, begin: Floats, law: Callable[[Floats], Parameters]
) -> Floats:
    lengths = np.arange(support.shortest, support.longest + 1)
    # each word has one start, one end and a move between neighbours: so many words the table speaks of
    words = max(1.0, float(y.sum() / (shares @ (lengths + 1))))
    unit = 1.0 / np.sqrt(y + held + 1e-3 * max(1.0, float(y.max(initial=0.0))))

    def objective(steps: Floats) -> tuple[float, Floats]:
        thetas = unit * steps
        trellis = Trellis.of(support, law(thetas), shares=shares)
        own = trellis.log_lengths[support.shortest - 1 :]
        log_total = float(shares[shares > 0] @ own[shares > 0])
        means = trellis.expected().means
        slope = words * np.concatenate([means[name] for name in FITTED]) - y + held * thetas
        return words * log_total - float(thetas @ y) + 0.5 * float(held @ thetas**2), unit * slope

    bounds = [(-FARTHEST / each, FARTHEST / each) for each in unit.tolist()]
    options = {"maxiter": STEPS, "maxcor": 20, "ftol": 1e-9, "gtol": 0.01}
    return np.asarray(
        unit * minimize(objective, begin / unit, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    )
