"""Optimal transport between two lists of counts, exactly: an assignment, or a linear programme with a checked dual.

Both solvers are scipy's: `linear_sum_assignment` where the counts are few enough to be written out one by one, else
HiGHS on the few pairs that matter. Whichever it was, the plan is in whole numbers, so its cost is exact up to the
rounding of one sum, and prices prove that no plan costs less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import coo_array

from symveil.errors import InternalError

_MOST_ASSIGNED = 3000
_COPIES = 4
_NEAREST = 4
_MOST_NEW = 3
_TOLERANCE = 1e-10
_MOST_ROUNDS = 200
_GAP = 1e-9

Costs = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Transport:
    """The cheapest way to turn one distribution into another."""

    cost: float
    """Of a whole unit: a mean of costs."""
    gap: float
    """How far below it the prices prove the least cost to be: 0 but for rounding."""


def cheapest_transport(costs: ArrayLike, supply: ArrayLike, demand: ArrayLike) -> Transport:
    """The least Σ plan(i, j)·cost(i, j) over all plans whose margins are the two lists, divided by their sums.

    Costs need not be a metric: a row and a column of the same number have nothing to do with each other. Normalised
    Levenshtein distances are none either, so what is in both lists may not simply be left where it is.

    Parameters
    ----------
    costs
        The cost of moving a unit from each row to each column.
    supply, demand
        Whole numbers above 0, one for each row, one for each column; their sums may differ.

    Examples
    --------
    >>> cheapest_transport([[1.0, 0.0], [0.0, 1.0]], [1, 1], [1, 1]).cost
    0.0
    >>> cheapest_transport([[0.0, 3.0]], [5], [2, 1]).cost
    1.0
    """
    cost = np.asarray(costs, dtype=np.float64)
    one, other = np.asarray(supply, dtype=np.int64), np.asarray(demand, dtype=np.int64)
    total = math.lcm(int(one.sum()), int(other.sum()))
    one, other = one * (total // int(one.sum())), other * (total // int(other.sum()))
    shared = math.gcd(*one.tolist(), *other.tolist())
    one, other, total = one // shared, other // shared, total // shared
    if total <= min(_MOST_ASSIGNED, _COPIES * max(cost.shape)):
        return _assigned(cost, one, other, total)
    return _programmed(cost, one, other, total)


def _assigned(cost: Costs, supply: Counts, demand: Counts, total: int) -> Transport:
    """Every unit by itself."""
    rows, columns = np.repeat(np.arange(len(supply)), supply), np.repeat(np.arange(len(demand)), demand)
    chosen = linear_sum_assignment(cost[rows[:, None], columns])
    return Transport(math.fsum(cost[rows[chosen[0]], columns[chosen[1]]]) / total, 0.0)


def _programmed(cost: Costs, supply: Counts, demand: Counts, total: int) -> Transport:
    """A programme over the nearest pairs; pairs that its prices show to be worth it join, until there is none."""
    allowed = np.zeros(cost.shape, dtype=bool)
    near = min(_NEAREST, cost.shape[1]), min(_NEAREST, cost.shape[0])
    np.put_along_axis(allowed, np.argpartition(cost, near[0] - 1, axis=1)[:, : near[0]], True, axis=1)
    np.put_along_axis(allowed, np.argpartition(cost, near[1] - 1, axis=0)[: near[1]], True, axis=0)
    allowed[_some_plan(supply, demand)] = True  # so that there is one at all
    for done in range(_MOST_ROUNDS):
        rows, columns = np.nonzero(allowed)
        solved = _solved(cost[rows, columns], rows, columns, supply, demand)
        prices = solved.eqlin.marginals[: len(supply)]
        saved = cost - prices[:, None] - solved.eqlin.marginals[len(supply) :]
        missing = (saved < -_TOLERANCE) & ~allowed
        if not missing.any():
            break
        worst = np.argsort(np.where(missing, saved, np.inf), axis=1)[:, : _MOST_NEW + done]
        joined = np.zeros_like(allowed)
        np.put_along_axis(joined, worst, True, axis=1)
        allowed |= joined & missing
    plan = np.rint(solved.x).astype(np.int64)
    _require(np.array_equal(np.bincount(rows, weights=plan, minlength=len(supply)), supply), "rows of a plan")
    _require(np.array_equal(np.bincount(columns, weights=plan, minlength=len(demand)), demand), "columns of a plan")
    least = math.fsum(plan * cost[rows, columns]) / total
    # prices that no pair contradicts, whatever the solver's tolerance: what they earn is a lower bound
    proved = math.fsum([*(supply * prices), *(demand * (cost - prices[:, None]).min(axis=0))]) / total
    _require(least - proved <= _GAP * max(1.0, float(cost.max())), "optimality of a plan")
    return Transport(least, max(0.0, least - proved))


def _some_plan(supply: Counts, demand: Counts) -> tuple[Counts, Counts]:
    """The pairs of the plan that serves rows and columns in their order (the north-west corner)."""
    ends = np.union1d(np.cumsum(supply), np.cumsum(demand))
    return np.searchsorted(np.cumsum(supply), ends), np.searchsorted(np.cumsum(demand), ends)


def _solved(cost: Costs, rows: Counts, columns: Counts, supply: Counts, demand: Counts) -> Any:
    pairs = np.arange(len(cost))
    margins = coo_array(
        (np.ones(2 * len(cost)), (np.concatenate([rows, len(supply) + columns]), np.concatenate([pairs, pairs]))),
        shape=(len(supply) + len(demand), len(cost)),
    ).tocsr()
    solved = linprog(
        cost,
        A_eq=margins,
        b_eq=np.concatenate([supply, demand]),
        method="highs-ds",  # a simplex: its plans are vertices, which are whole
        options={"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE},
    )
    _require(solved.status == 0, "a solution of a transport")
    return solved


def _require(holds: object, what: str) -> None:
    if not holds:
        raise InternalError(f"internal error: {what} was not found; this is a mistake in symveil: please report it")
