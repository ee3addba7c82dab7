"""The law of words that private tables speak for: maximum entropy, with each table trusted as far as its noise allows.

Minimises N·Σ share(ℓ)·ln Z_ℓ(θ) − θ·y + ½·Σ held_k·θ_k², which is convex: Z_ℓ sums the weights of all words of length
ℓ, y are the noisy tables, held_k follows from how far a cell is trusted, N is the number of words that they speak of.
Lengths keep the shares that were released, whatever the moves are. A cell that says less than its noise keeps its
parameter near 0, the base measure. Everything here reads released numbers only.

Trips and event logs have the same fit with other features: moves, starts, ends and zones, each a table of its own, or
the starts, moves and ends of one table, by position. On a map moves and pairs of zones have something in common: how
sharp a turn is, how far zones are apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any, ClassVar, Self

import numpy as np

from symveil.central.limits import LIMITS
from symveil.central.noise import NoisyTable, length_shares
from symveil.central.word_law import Expected, Parameters, Support, Trellis, no_parameters
from symveil.estimation.table import Floats, Indices
from symveil.pictures.maps import Road

FITTED = ("moves", "starts", "ends", "od")
"""The features whose parameters are fitted to tables of trips; those of lengths follow from their shares."""
LOG_FITTED = ("starts", "moves", "ends")
"""Those that are fitted to the table of moves of a log, in the order of its cells."""
_NO_SHARE = 1e-300
_ROUNDED = 1e-12
"""A parameter at its bound is inside it by a rounding, as a multiple of its unit: it is as far as it may go."""


def words_in(support: Support, tables: dict[str, NoisyTable]) -> float:
    """How many words the tables speak of: the mean of their totals, each weighed by how sure it is; at least 1.

    A word of one symbol adds nothing to the table of moves: such words are taken from the table of lengths.
    """
    totals = {name: (table.total, table.total_variance) for name, table in tables.items()}
    if support.shortest == 1:
        without = tables["lengths"]
        total, variance = totals["moves"]
        totals["moves"] = total + float(without.values[0]), variance + without.deviation**2
    weights = {name: 1.0 / variance for name, (_, variance) in totals.items()}
    mean = sum(weights[name] * total for name, (total, _) in totals.items()) / sum(weights.values())
    return max(1.0, mean)


Classes = dict[str, Indices]
"""For some features: the class of each cell. Cells of a class share a parameter, nearly free, beside their own."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Solved:
    """A fitted law, and how far it is from where its gradient is 0."""

    parameters: Parameters
    gradient: float
    """The largest part of the gradient, with weights of moves brought up to this law, in deviations of a count."""
    rounds: int


def fitted(support: Support, tables: dict[str, NoisyTable], classes: Classes | None = None) -> Parameters:
    """The parameters of the law that the tables speak for.

    Tables are named as the features are; in that of moves each word counts 1 in all, shared among its moves. Classes
    are what cells have in common by the public map.
    """
    return solved(support, tables, classes).parameters


def solved(support: Support, tables: dict[str, NoisyTable], classes: Classes | None = None) -> Solved:
    """The same, with how well it was solved.

    The weights of moves (what a share of a move stands for) are those of the law itself: they are brought up to it
    until the gradient is below the tolerance with the weights that the fitted law has.
    """
    there = Trellis.of(support, no_parameters(support)).log_lengths[support.shortest - 1 :] > -np.inf
    shares = length_shares(tables["lengths"], there)
    return _TripFit.of(support, shares, classes or {}, tables=tables, words=words_in(support, tables)).solved()


def fitted_log(support: Support, shares: Floats, table: NoisyTable, *, clear: float) -> Parameters:
    """The parameters of the law that a table of moves speaks for.

    The table is that of `LogMoves`; cells below `clear` count as 0. `shares` are those of the lengths.
    """
    values = np.where(table.values >= clear, table.values, 0.0)
    return _LogFit.of(support, shares, {}, values=values, deviation=table.deviation).solved().parameters


@dataclass(frozen=True, kw_only=True, eq=False)
class _Problem:
    """What a law is fitted to in one round."""

    words: float
    """How many words are spoken of."""
    wanted: Floats
    """Counts of all cells, one feature after the other."""
    held: Floats
    """How much the parameters of cells, and then of classes, are held back."""
    unit: Floats
    """About one over the root of the curvature of each parameter: then one unit is as far for all of them."""


@dataclass(frozen=True, kw_only=True)
class _Ending:
    """Where a fit ends, and where the quasi-Newton method does in each of its rounds."""

    tolerance: float
    rounds: int
    options: dict[str, float]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Fit(ABC):
    """The law with some features to be fitted, by steps: parameters of cells, and then those of classes."""

    support: Support
    shares: Floats
    spread: Any
    features: ClassVar[tuple[str, ...]]

    @classmethod
    def of(cls, support: Support, shares: Floats, classes: Classes, **own: Any) -> Self:
        """The fit with the sums over classes; `own` are the fields that a kind of its own has."""
        return cls(support=support, shares=shares, spread=_spread(classes, support, cls.features), **own)

    @abstractmethod
    def problem(self, law: Expected) -> _Problem:
        """What is fitted to, with weights of moves (what a share of a move stands for) that are those of a law."""

    @property
    @abstractmethod
    def ending(self) -> _Ending:
        """Where it ends."""

    def solved(self) -> Solved:
        """The best law: weights of moves are brought up to it until the gradient is small with those that it has."""
        steps, rounds, ending = np.zeros(sum(self.spread.shape)), 0, self.ending
        while True:
            law = self.law(self.cells(steps)).expected()
            problem = self.problem(law)
            gradient = self.gradient(problem, steps, law)
            if gradient <= ending.tolerance or rounds >= ending.rounds:
                return Solved(parameters=self.finished(steps), gradient=gradient, rounds=rounds)
            steps = self.minimised(problem, steps, **ending.options)
            rounds += 1

    def cells(self, steps: Floats) -> Floats:
        """The parameters of cells: their own and those of their classes."""
        size = self.spread.shape[0]
        return np.asarray(steps[:size] + self.spread @ steps[size:])

    def law(self, values: Floats) -> Trellis:
        """The law with these parameters of cells, whose lengths have their shares."""
        return Trellis.of(self.support, self._named(values), shares=self.shares)

    def gradient(self, problem: _Problem, steps: Floats, law: Expected) -> float:
        """Its largest part in deviations of a count; a parameter as far as it may go is not counted outwards."""
        slope = problem.unit * self._slope(problem, steps, law)
        farthest = LIMITS.now.farthest * (1 - _ROUNDED)
        outwards = (np.abs(steps) >= farthest) & (np.sign(slope) == -np.sign(steps))
        return float(np.abs(np.where(outwards, 0.0, slope)).max(initial=0.0))

    def minimised(self, problem: _Problem, begin: Floats, **options: float) -> Floats:
        """The best steps from these on, with a problem as it is; `options` say where the quasi-Newton method ends."""
        from scipy.optimize import minimize  # noqa: PLC0415  # slow to import, and for learning only

        unit, known = problem.unit, self.shares > 0

        def objective(scaled: Floats) -> tuple[float, Floats]:
            steps = unit * scaled
            values = self.cells(steps)
            trellis = self.law(values)
            log_total = float(self.shares[known] @ trellis.log_lengths[self.support.shortest - 1 :][known])
            value = problem.words * log_total - float(values @ problem.wanted) + 0.5 * float(problem.held @ steps**2)
            return value, unit * self._slope(problem, steps, trellis.expected())

        bounds = [(-LIMITS.now.farthest / each, LIMITS.now.farthest / each) for each in unit.tolist()]
        with one_thread():
            result = minimize(
                objective, begin / unit, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxcor": 20, **options}
            )
        return np.asarray(unit * result.x, dtype=np.float64)

    def finished(self, steps: Floats) -> Parameters:
        """All parameters: those of lengths are such that lengths have their shares."""
        parameters = self._named(self.cells(steps))
        weights = Trellis.of(self.support, parameters, shares=np.maximum(self.shares, _NO_SHARE)).log_weight
        weights = weights[self.support.shortest - 1 :]
        return parameters | {"lengths": np.where(np.isfinite(weights), weights, 0.0)}  # some lengths have no word

    def _slope(self, problem: _Problem, steps: Floats, law: Expected) -> Floats:
        """The gradient by parameters."""
        apart = problem.words * np.concatenate([law.means[name] for name in self.features]) - problem.wanted
        return np.concatenate([apart, self.spread.T @ apart]) + problem.held * steps

    def _named(self, values: Floats) -> Parameters:
        own = no_parameters(self.support)
        cuts = np.cumsum([len(own[name]) for name in self.features])[:-1]
        return own | dict(zip(self.features, np.split(values, cuts), strict=True))


_lock, _inside, _before = Lock(), 0, list[int]()


@contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra of numpy and scipy with one thread, as long as the block lasts, where it is OpenBLAS.

    The quasi-Newton method solves triangular systems of forty rows. OpenBLAS wakes its threads for each of them, which
    then wait in a loop while everything else is computed: three times the processor time where other work is running.
    Where another block is inside already, the last one that leaves puts the numbers of threads back.
    """
    global _inside  # noqa: PLW0603 - the number of threads is one for the whole process
    with _lock:
        _inside += 1
        if _inside == 1:
            _before[:] = [read() for read, _ in openblas()]
            for _, write in openblas():
                write(1)
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                for (_, write), number in zip(openblas(), _before, strict=True):
                    write(number)


@cache
def openblas() -> list[tuple[Callable[[], int], Callable[[int], object]]]:
    """How to read and to write the number of threads of each OpenBLAS that numpy and scipy have loaded.

    A library that is loaded already is looked up through a module that needs it. Windows looks into the module alone:
    nothing is found there, nor in other libraries than OpenBLAS.
    """
    import ctypes  # noqa: PLC0415  # not light, and for learning only

    from numpy.linalg import lapack_lite  # noqa: PLC0415
    from scipy.linalg import cython_lapack  # noqa: PLC0415

    results = []
    for module in (lapack_lite, cython_lapack):
        library = ctypes.CDLL(module.__file__)
        for name in ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads"):
            if hasattr(library, name.format("get")):
                results.append((getattr(library, name.format("get")), getattr(library, name.format("set"))))
                break
    return results


@dataclass(frozen=True, kw_only=True, eq=False)
class _TripFit(_Fit):
    """A table for each feature, with the total that it has to have, and how far its cells are trusted."""

    tables: dict[str, NoisyTable]
    words: float
    features = FITTED

    @property
    def ending(self) -> _Ending:
        """Where the gradient is small; scipy asks for numbers of steps, so large ones."""
        options = {"maxiter": 10**6, "maxfun": 10**6, "ftol": 0.0, "gtol": LIMITS.now.tolerance / 2}
        return _Ending(tolerance=LIMITS.now.tolerance, rounds=LIMITS.now.rounds, options=options)

    def minimised(self, problem: _Problem, begin: Floats, **options: float) -> Floats:
        """Within the bounds, of which units are multiples but for rounding: there the gradient does not count."""
        best = super().minimised(problem, begin, **options)
        return np.clip(best, -LIMITS.now.farthest, LIMITS.now.farthest)

    def problem(self, law: Expected) -> _Problem:
        """Cells are held back as they are doubted, and those of a class together."""
        lengths = np.arange(self.support.shortest, self.support.longest + 1)
        wanted, trusted = [], []
        for name in self.features:
            table = self.tables[name]
            whole = whole_things(law, ("moves",)) if name == "moves" else np.ones(len(table.values))
            total = self.words * (float(self.shares @ (lengths - 1)) if name == "moves" else 1.0)
            values = table.values * whole
            doubt = _doubt(table.deviation * whole, values)
            if len(values):  # what is too much or too little is shared among cells as they are doubted
                values = values + (total - values.sum()) * doubt**2 / (doubt**2).sum()
            wanted.append(values)
            trusted.append(_doubt(table.deviation * whole, values))
        y, held = np.concatenate(wanted), np.concatenate(trusted)
        shared = np.sqrt(self.spread.T @ held**2)  # the deviation of a class
        unit = [1.0 / np.sqrt(np.maximum(y, 0.0) + held), 1.0 / np.sqrt(np.maximum(self.spread.T @ y, 0.0) + shared)]
        held = np.concatenate([held, LIMITS.now.free * shared])
        return _Problem(words=self.words, wanted=y, held=held, unit=np.concatenate(unit))


@dataclass(frozen=True, kw_only=True, eq=False)
class _LogFit(_Fit):
    """One table for starts, moves and ends, whose cells that drown in noise are 0, and the deviation of its noise."""

    values: Floats
    deviation: float
    features = LOG_FITTED

    @property
    def ending(self) -> _Ending:
        """After some rounds, each of some steps."""
        options = {"maxiter": LIMITS.now.log_steps, "ftol": 1e-9, "gtol": 0.01}
        return _Ending(tolerance=0.0, rounds=LIMITS.now.log_rounds, options=options)

    def problem(self, law: Expected) -> _Problem:
        """All cells are held back little."""
        whole = whole_things(law, self.features)
        y, held = self.values * whole, LIMITS.now.log_held * (self.deviation * whole)
        # each word has one start, one end and a move between neighbours: so many words the table speaks of
        lengths = np.arange(self.support.shortest, self.support.longest + 1)
        words = max(1.0, float(y.sum() / (self.shares @ (lengths + 1))))
        unit = 1.0 / np.sqrt(y + held + 1e-3 * max(1.0, float(y.max(initial=0.0))))
        return _Problem(words=words, wanted=y, held=held, unit=unit)


def _doubt(noise: Floats, values: Floats) -> Floats:
    """How far cells are doubted: for their noise, and because tables are counts of persons."""
    limits = LIMITS.now
    return np.asarray(np.hypot(noise, limits.mistrust * np.sqrt(np.maximum(values, limits.least_doubted))))


def whole_things(law: Expected, features: Sequence[str]) -> Floats:
    """What a share of each move (or start, or end) stands for: how many of them, by the law; at least one."""
    means, shared = (np.concatenate([each[name] for name in features]) for each in (law.means, law.shared))
    mean = means.sum() / max(float(shared.sum()), 1e-300)
    return np.asarray(np.maximum(np.where(shared > 1e-12, means / np.maximum(shared, 1e-300), mean), 1.0))


def _spread(classes: Classes, support: Support, features: Sequence[str]) -> Any:
    """Which cell, of all features one after the other, is in which class."""
    from scipy import sparse  # noqa: PLC0415  # slow to import, and for learning only

    sizes = {name: len(no_parameters(support)[name]) for name in features}
    rows, columns, begin, count = [], [], 0, 0
    for name, size in sizes.items():
        if name in classes:
            results, number = np.unique(classes[name], return_inverse=True)  # a class without a cell has no parameter
            rows.append(begin + np.arange(size))
            columns.append(count + number)
            count += len(results)
        begin += size
    where = [np.concatenate(each) if each else np.empty(0, dtype=np.int64) for each in (rows, columns)]
    return sparse.csr_array((np.ones(len(where[0])), (where[0], where[1])), shape=(begin, count))


def lower_quartile(shares: Floats, shortest: int) -> int:
    """The least length that at least a quarter of all words do not exceed; at least 2.

    >>> lower_quartile(np.array([0.1, 0.1, 0.5, 0.3]), shortest=3)
    5
    """
    return max(2, shortest + int(np.searchsorted(np.cumsum(shares), 0.25 * shares.sum())))


def map_classes(support: Support, roads: Mapping[str, Road], symbols: Sequence[str]) -> Classes:
    """The classes of moves and of pairs of zones on a map; none where places are not known.

    A symbol is a road with two ends, or twice the same point.
    """
    if not roads:
        return {}
    ends = np.array([roads[symbol] for symbol in symbols], dtype=np.float64)  # symbol, end, coordinate
    middle = ends.mean(axis=1)
    # a degree of longitude is shorter than one of latitude; metres need no such care, and are far beyond 90
    flat = np.cos(np.radians(middle[:, 1].mean())) if np.abs(ends[:, :, 1]).max() <= 90 else 1.0
    shape = np.array([flat, 1.0])
    way = (ends[:, 1] - ends[:, 0]) * shape
    there = (middle[support.target] - middle[support.source]) * shape
    heading = np.where(np.abs(way).sum(axis=1, keepdims=True) > 0, way, np.nan)
    direction = np.arctan2(heading[:, 1], heading[:, 0])
    turned = direction[support.target] - direction[support.source]
    turned = np.where(np.isnan(turned), np.arctan2(there[:, 1], there[:, 0]), turned)
    sector = np.round(turned / (2 * np.pi) * LIMITS.now.turns).astype(np.int64) % LIMITS.now.turns
    centres = np.zeros((support.zones, 2))
    np.add.at(centres, support.zone, middle * shape)
    centres /= np.maximum(np.bincount(support.zone, minlength=support.zones), 1)[:, None]
    apart = np.hypot(*(centres[:, None] - centres[None]).transpose(2, 0, 1))
    ring = np.minimum(
        (apart / max(float(apart.max()), 1e-300) * LIMITS.now.rings).astype(np.int64), LIMITS.now.rings - 1
    )
    return {"moves": sector, "od": ring.reshape(-1)}


_METRES_PER_DEGREE = 111_320.0
"""Of latitude, about: waits of links are counted for a kilometre, and classes of length need no more."""


def link_lengths(roads: Mapping[str, Road], symbols: Sequence[str]) -> Floats | None:
    """How long each link is, in metres; None where symbols are points, which have no length.

    Roads are in degrees or in metres.
    """
    ends = np.array([roads[symbol] for symbol in symbols], dtype=np.float64)
    way = ends[:, 1] - ends[:, 0]
    if not np.abs(way).sum() > 0:
        return None
    if np.abs(ends[:, :, 1]).max() <= 90 and np.abs(ends[:, :, 0]).max() <= 180:
        way = way * _METRES_PER_DEGREE * np.array([float(np.cos(np.radians(ends[:, :, 1].mean()))), 1.0])
    return np.asarray(np.hypot(way[:, 0], way[:, 1]))
