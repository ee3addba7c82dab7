"""The law of words that private tables speak for: maximum entropy, with each table trusted as far as its noise allows.

Minimises N·ln Z(θ) − θ·y + ½·Σ σ_k·θ_k², which is convex: y are the noisy tables, σ_k the deviation of a cell's noise,
N the number of words that they speak of. A cell that says less than its noise keeps its parameter near 0, the base
measure. Everything here reads released numbers only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from scipy.optimize import minimize

from symveil.central.support import Support
from symveil.central.word_law import FEATURES, Expected, Floats, Parameters, Trellis, no_parameters
from symveil.estimation.batches import Indices

FARTHEST = 12.0
"""How far a parameter goes from where it begins: a factor of e¹², as good as never or always."""
STEPS = 60
"""Of the quasi-Newton method, for each round."""
ROUNDS = 2
"""How often the weights of moves are brought up to the law that was fitted before."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyTable:
    """A released table, and the deviation of the noise of its cells."""

    values: Floats
    deviation: float

    @property
    def total(self) -> float:
        """The sum of its cells."""
        return float(self.values.sum())

    @property
    def total_variance(self) -> float:
        """Of the noise of the sum."""
        return self.values.size * self.deviation**2


def words_in(tables: dict[str, NoisyTable]) -> float:
    """How many words the tables speak of: the mean of their totals, each weighed by how sure it is; at least 1."""
    weights = {name: 1.0 / table.total_variance for name, table in tables.items()}
    mean = sum(weights[name] * tables[name].total for name in tables) / sum(weights.values())
    return max(1.0, mean)


Classes = dict[str, Indices]
"""For some features: the class of each cell. Cells of a class share a parameter, nearly free, beside their own."""
FREE = 0.01
"""How much the parameter of a class is held back, compared with that of a cell."""


def fitted(support: Support, tables: dict[str, NoisyTable], classes: Classes | None = None) -> Parameters:
    """The parameters of the law that the tables speak for.

    Parameters
    ----------
    support
        The graph, the zones and the lengths.
    tables
        Noisy tables, named as the features are. In that of moves each word counts 1 in all, shared among its moves.
    classes
        What cells have in common by the public map: turns, how far zones are from each other.
    """
    words = words_in(tables)
    around = parameters = _first(support, tables["lengths"])
    for _ in range(ROUNDS):
        whole = _whole_moves(Trellis.of(support, parameters).expected())
        parameters = _minimised(support, tables, whole, words, classes or {}, around=around, begin=parameters)
    return parameters


def _first(support: Support, lengths: NoisyTable) -> Parameters:
    """Where a fit begins: all moves alike, and lengths as the table has them."""
    parameters = no_parameters(support)
    law = Trellis.of(support, parameters).expected().means["lengths"]
    shares = np.maximum(lengths.values, lengths.deviation / 10)
    with np.errstate(divide="ignore"):
        parameters["lengths"] = np.where(law > 0, np.log(shares / shares.sum()) - np.log(law), 0.0)
    return parameters


def _whole_moves(law: Expected) -> Floats:
    """What a share of a move stands for: how many moves, by the law."""
    shared = law.shared["moves"]
    mean = law.means["moves"].sum() / max(shared.sum(), 1e-300)
    found = np.where(shared > 1e-12, law.means["moves"] / np.maximum(shared, 1e-300), mean)
    return np.maximum(found, 1.0)  # a word with a move has at least one


def _minimised(
    support: Support,
    tables: dict[str, NoisyTable],
    whole: Floats,
    words: float,
    classes: Classes,
    *,
    around: Parameters,
    begin: Parameters,
) -> Parameters:
    target = {name: tables[name].values * (whole if name == "moves" else 1.0) for name in FEATURES}
    penalty = {
        name: tables[name].deviation * (whole if name == "moves" else np.ones_like(target[name])) for name in FEATURES
    }
    cuts = np.cumsum([len(target[name]) for name in FEATURES])[:-1]

    def joined(parts: Parameters) -> Floats:
        return np.concatenate([parts[name] for name in FEATURES])

    y, sigma = joined(target), joined(penalty)

    def apart(values: Floats) -> Parameters:
        return dict(zip(FEATURES, np.split(values, cuts), strict=True))

    spread = _spread(classes, {name: len(target[name]) for name in FEATURES})
    shared = np.sqrt(spread.T @ sigma**2)  # the deviation of the noise of a class
    held = np.concatenate([sigma, FREE * shared])
    # about one over the root of the curvature of each parameter: then one unit is as far for all of them
    unit = 1.0 / np.sqrt(np.concatenate([np.maximum(y, 0.0) + sigma, np.maximum(spread.T @ y, 0.0) + shared]))
    centre = joined(around)

    def cells(steps: Floats) -> Floats:
        moved = unit * steps
        return np.asarray(centre + moved[: len(y)] + spread @ moved[len(y) :])

    def objective(steps: Floats) -> tuple[float, Floats]:
        values, moved = cells(steps), unit * steps
        law = Trellis.of(support, apart(values)).expected()
        value = words * law.log_total - float(values @ y) + 0.5 * float(held @ moved**2)
        slope = words * joined(law.means) - y
        return value, unit * (np.concatenate([slope, spread.T @ slope]) + held * moved)

    start = np.concatenate([(joined(begin) - centre), np.zeros(spread.shape[1])]) / unit
    bounds = [(-FARTHEST / each, FARTHEST / each) for each in unit.tolist()]
    options = {"maxiter": STEPS, "maxcor": 20, "ftol": 1e-12, "gtol": 0.05}
    return apart(cells(minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x))


def _spread(classes: Classes, sizes: dict[str, int]) -> scipy.sparse.csr_array:
    """Which cell, of all features one after the other, is in which class."""
    rows, columns, begin, count = [], [], 0, 0
    for name in FEATURES:
        if name in classes:
            found, number = np.unique(classes[name], return_inverse=True)  # a class without a cell has no parameter
            rows.append(begin + np.arange(sizes[name]))
            columns.append(count + number)
            count += len(found)
        begin += sizes[name]
    where = [np.concatenate(each) if each else np.empty(0, dtype=np.int64) for each in (rows, columns)]
    return scipy.sparse.csr_array((np.ones(len(where[0])), (where[0], where[1])), shape=(begin, count))
