"""The law of words that private tables speak for: maximum entropy, with each table trusted as far as its noise allows.

Minimises N·Σ share(ℓ)·ln Z_ℓ(θ) − θ·y + ½·Σ σ_k·θ_k², which is convex: Z_ℓ sums the weights of all words of length ℓ, y
are the noisy tables, σ_k how far a cell is trusted, N the number of words that they speak of. Lengths keep the shares
that were released, whatever the moves are. A cell that says less than its noise keeps its parameter near 0, the base
measure. Everything here reads released numbers only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from scipy.optimize import minimize

from symveil.central.noisy_tables import NoisyTable, length_shares
from symveil.central.support import Support
from symveil.central.word_law import Expected, Floats, Parameters, Trellis, no_parameters
from symveil.estimation.batches import Indices

FARTHEST = 12.0
"""How far a parameter goes from where it begins: a factor of e¹², as good as never or always."""
TOLERANCE = 0.1
"""A fit ends where no cell is farther than this from what the law expects of it, in deviations of such a count."""
MISTRUST = 0.05
"""Tables are counts of persons, and the law has not all of their words: a cell of y is not trusted beyond this share of
√y, however little noise it has. Without it tables that no law can have at once drive parameters apart."""
LEAST_DOUBTED = 0.1
"""Of what count an empty cell is doubted."""
FITTED = ("moves", "starts", "ends", "od")
"""The features whose parameters are fitted; those of lengths follow from their shares."""
_NO_SHARE = 1e-300
MOST_ROUNDS = 20
"""How often the weights of moves are brought up to the law at most; with more noise two or three are enough."""


def words_in(tables: dict[str, NoisyTable]) -> float:
    """How many words the tables speak of: the mean of their totals, each weighed by how sure it is; at least 1."""
    weights = {name: 1.0 / table.total_variance for name, table in tables.items()}
    mean = sum(weights[name] * tables[name].total for name in tables) / sum(weights.values())
    return max(1.0, mean)


Classes = dict[str, Indices]
"""For some features: the class of each cell. Cells of a class share a parameter, nearly free, beside their own."""
FREE = 0.01
"""How much the parameter of a class is held back, compared with that of a cell."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Solved:
    """A fitted law, and how far it is from where its gradient is 0."""

    parameters: Parameters
    gradient: float
    """The largest part of the gradient, with weights of moves brought up to this law, in deviations of a count."""
    rounds: int


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
    return solved(support, tables, classes).parameters


def solved(support: Support, tables: dict[str, NoisyTable], classes: Classes | None = None) -> Solved:
    """The same, with how well it was solved.

    The weights of moves (what a share of a move stands for) are those of the law itself: they are brought up to it
    until the gradient is below the tolerance with the weights that the fitted law has.
    """
    fit = _Fit.of(support, tables, classes or {})
    steps = np.zeros(sum(fit.spread.shape))
    rounds = 0
    while True:
        law = fit.law(fit.cells(steps)).expected()
        problem = fit.targets(law)
        gradient = fit.gradient(problem, steps, law)
        if gradient <= TOLERANCE or rounds >= MOST_ROUNDS:
            return Solved(parameters=fit.finished(steps), gradient=gradient, rounds=rounds)
        steps = fit.minimised(problem, steps)
        rounds += 1


@dataclass(frozen=True, kw_only=True, eq=False)
class _Problem:
    """What a law is fitted to in one round."""

    wanted: Floats
    """Counts of all cells, one feature after the other."""
    held: Floats
    """How much the parameters of cells, and then of classes, are held back."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _Fit:
    """The tables, the shares of lengths, and the functions of steps: parameters of cells, and then those of classes."""

    support: Support
    tables: dict[str, NoisyTable]
    shares: Floats
    words: float
    spread: scipy.sparse.csr_array

    @classmethod
    def of(cls, support: Support, tables: dict[str, NoisyTable], classes: Classes) -> _Fit:
        there = Trellis.of(support, no_parameters(support)).log_lengths[support.shortest - 1 :] > -np.inf
        sizes = {name: len(tables[name].values) for name in FITTED}
        return cls(
            support=support,
            tables=tables,
            shares=length_shares(tables["lengths"], there),
            words=words_in(tables),
            spread=_spread(classes, sizes),
        )

    def targets(self, law: Expected) -> _Problem:
        """Each table with the total that it has to have, and how far its cells are trusted."""
        lengths = np.arange(self.support.shortest, self.support.longest + 1)
        wanted, trusted = [], []
        for name in FITTED:
            table = self.tables[name]
            whole = _whole_moves(law) if name == "moves" else np.ones(len(table.values))
            total = self.words * (float(self.shares @ (lengths - 1)) if name == "moves" else 1.0)
            values = table.values * whole
            doubt = np.hypot(table.deviation * whole, MISTRUST * np.sqrt(np.maximum(values, LEAST_DOUBTED)))
            if len(values):  # what is too much or too little is shared among cells as they are doubted
                values = values + (total - values.sum()) * doubt**2 / (doubt**2).sum()
            wanted.append(values)
            trusted.append(np.hypot(table.deviation * whole, MISTRUST * np.sqrt(np.maximum(values, LEAST_DOUBTED))))
        held = np.concatenate(trusted)
        shared = np.sqrt(self.spread.T @ held**2)  # the deviation of a class
        return _Problem(wanted=np.concatenate(wanted), held=np.concatenate([held, FREE * shared]))

    def units(self, problem: _Problem) -> Floats:
        """About one over the root of the curvature of each parameter: then one unit is as far for all of them."""
        y, held = problem.wanted, problem.held[: len(problem.wanted)]
        shared = np.sqrt(self.spread.T @ held**2)
        cells = 1.0 / np.sqrt(np.maximum(y, 0.0) + held)
        classes = 1.0 / np.sqrt(np.maximum(self.spread.T @ y, 0.0) + shared)
        return np.concatenate([cells, classes])

    def cells(self, steps: Floats) -> Floats:
        """The parameters of cells: their own and those of their classes."""
        size = self.spread.shape[0]
        return np.asarray(steps[:size] + self.spread @ steps[size:])

    def law(self, values: Floats) -> Trellis:
        return Trellis.of(self.support, self._named(values), shares=self.shares)

    def slope(self, problem: _Problem, steps: Floats, law: Expected) -> Floats:
        """The gradient by parameters."""
        apart = self.words * np.concatenate([law.means[name] for name in FITTED]) - problem.wanted
        return np.concatenate([apart, self.spread.T @ apart]) + problem.held * steps

    def gradient(self, problem: _Problem, steps: Floats, law: Expected) -> float:
        """Its largest part in deviations of a count; a parameter as far as it may go is not counted outwards."""
        slope = self.units(problem) * self.slope(problem, steps, law)
        outwards = (np.abs(steps) >= FARTHEST) & (np.sign(slope) == -np.sign(steps))
        return float(np.abs(np.where(outwards, 0.0, slope)).max(initial=0.0))

    def minimised(self, problem: _Problem, begin: Floats) -> Floats:
        """Where the gradient is below the tolerance, with targets as they are."""
        unit = self.units(problem)
        known = self.shares > 0

        def objective(scaled: Floats) -> tuple[float, Floats]:
            steps = unit * scaled
            values = self.cells(steps)
            trellis = self.law(values)
            log_total = float(self.shares[known] @ trellis.log_lengths[self.support.shortest - 1 :][known])
            value = self.words * log_total - float(values @ problem.wanted) + 0.5 * float(problem.held @ steps**2)
            return value, unit * self.slope(problem, steps, trellis.expected())

        bounds = [(-FARTHEST / each, FARTHEST / each) for each in unit.tolist()]
        # the gradient alone ends it; scipy asks for numbers of steps, so large ones
        options = {"maxiter": 10**6, "maxfun": 10**6, "maxcor": 20, "ftol": 0.0, "gtol": TOLERANCE / 2}
        found = minimize(objective, begin / unit, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        return np.asarray(np.clip(unit * found.x, -FARTHEST, FARTHEST), dtype=np.float64)

    def finished(self, steps: Floats) -> Parameters:
        """All parameters: those of lengths are such that lengths have their shares."""
        parameters = self._named(self.cells(steps))
        weights = Trellis.of(self.support, parameters, shares=np.maximum(self.shares, _NO_SHARE)).log_weight
        weights = weights[self.support.shortest - 1 :]
        return parameters | {"lengths": np.where(np.isfinite(weights), weights, 0.0)}  # some lengths have no word

    def _named(self, values: Floats) -> Parameters:
        cuts = np.cumsum([len(self.tables[name].values) for name in FITTED])[:-1]
        return no_parameters(self.support) | dict(zip(FITTED, np.split(values, cuts), strict=True))


def _whole_moves(law: Expected) -> Floats:
    """What a share of a move stands for: how many moves, by the law."""
    shared = law.shared["moves"]
    mean = law.means["moves"].sum() / max(shared.sum(), 1e-300)
    found = np.where(shared > 1e-12, law.means["moves"] / np.maximum(shared, 1e-300), mean)
    return np.maximum(found, 1.0)  # a word with a move has at least one


def _spread(classes: Classes, sizes: dict[str, int]) -> scipy.sparse.csr_array:
    """Which cell, of all features one after the other, is in which class."""
    rows, columns, begin, count = [], [], 0, 0
    for name in FITTED:
        if name in classes:
            found, number = np.unique(classes[name], return_inverse=True)  # a class without a cell has no parameter
            rows.append(begin + np.arange(sizes[name]))
            columns.append(count + number)
            count += len(found)
        begin += sizes[name]
    where = [np.concatenate(each) if each else np.empty(0, dtype=np.int64) for each in (rows, columns)]
    return scipy.sparse.csr_array((np.ones(len(where[0])), (where[0], where[1])), shape=(begin, count))
