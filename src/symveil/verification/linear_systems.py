"""Linear systems x = A x + c with A ≥ 0: values of policies (`distances`), probabilities of violations (`opacity`).

One text for rationals and for balls; in floats a proposal, by compiled loops or by factors, and a proof of how far off
it may be. With an approximate x̃ of residual r, and any h > 0 with g = (I − A)h > 0,

    |x − x̃|  ≤  (I − A)⁻¹|r|  ≤  max(|r|/g) · h,

because (I − A)⁻¹ = Σ Aⁿ has no negative entry. Both sides are evaluated with bounds on every rounding, so it does not
matter how h and x̃ were computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flint import fmpq_mat
from numpy.typing import NDArray

from symveil.graphs.walk import strong_components
from symveil.numbers.once import computed_once

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Entry = tuple[int, int, Any]
"""Row, column and amount of an entry of A; those that meet are added up."""

ROUNDING = 2.0**-52
# What underflows is lost altogether: more than that, in every sum.
UNDERFLOW = 1e-290


def identity_less(size: int, entries: Iterable[Entry], matrix: type = fmpq_mat) -> Any:
    """I − A, in the arithmetic of `matrix`: `fmpq_mat` or `arb_mat`.

    >>> from flint import fmpq
    >>> identity_less(2, [(0, 1, fmpq(1, 2)), (0, 1, fmpq(1, 3))]).tolist()
    [[1, -5/6], [0, 1]]
    """
    result = matrix(size, size)
    for state in range(size):
        result[state, state] = 1
    for row, column, amount in entries:
        result[row, column] -= amount
    return result


def parts_of(entries: Iterable[Entry], size: int) -> list[list[int]]:
    """The unknowns in parts that depend on each other, each part after those that it depends on."""
    depends_on: list[list[int]] = [[] for _ in range(size)]
    for row, column, _ in entries:
        depends_on[row].append(column)
    return strong_components(depends_on)


def solved(
    entries: Sequence[Entry],
    constant: Sequence[Any],
    matrix: type = fmpq_mat,
    *,
    parts: Sequence[Sequence[int]] | None = None,
) -> list[Any]:
    """x, one part after the other; `parts` are those of `parts_of`, where they are known already.

    ZeroDivisionError where I − A is singular, or may be as far as balls tell.

    >>> from flint import fmpq
    >>> solved([(0, 0, fmpq(1, 2)), (1, 0, fmpq(1, 3))], [fmpq(1, 4), fmpq(0)])
    [1/2, 1/6]
    """
    parts = parts_of(entries, len(constant)) if parts is None else parts
    if len(parts) == 1 and entries:
        return _solved_at_once(entries, constant, matrix)
    rows: list[list[tuple[int, Any]]] = [[] for _ in constant]
    for row, column, amount in entries:
        rows[row].append((column, amount))
    values = list(constant)
    for part in parts:
        number = {row: index for index, row in enumerate(part)}
        inside: list[Entry] = []
        for row in part:
            for column, amount in rows[row]:
                if column in number:
                    inside.append((number[row], number[column], amount))
                else:
                    values[row] += amount * values[column]
        if inside:
            solution = _solved_at_once(inside, [values[row] for row in part], matrix)
            for row, value in zip(part, solution, strict=True):
                values[row] = value
    return values


def _solved_at_once(entries: Iterable[Entry], constant: Sequence[Any], matrix: type) -> list[Any]:
    size = len(constant)
    solution = identity_less(size, entries, matrix).solve(matrix(size, 1, list(constant)))
    return [solution[row, 0] for row in range(size)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How hard floats are iterated: Gauss–Seidel sweeps, restarts and steps of a Krylov method, sweeps after it."""

    sweeps: int = 0
    restarts: int
    steps: int
    last_sweeps: int = 0
    fine: float = 0.0
    """A residual with which one can go on, where the goal is below it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FloatSystem:
    """A in floats: row k has the entries `amount[start[k] : start[k + 1]]`, in these columns."""

    start: Integers = field(repr=False)
    column: Integers = field(repr=False)
    amount: Floats = field(repr=False)

    @property
    def size(self) -> int:
        """How many unknowns there are."""
        return len(self.start) - 1

    @computed_once
    def matrix(self) -> Any:
        """A as a sparse matrix."""
        from scipy.sparse import csr_array  # noqa: PLC0415  # small systems never need scipy

        return csr_array((self.amount, self.column, self.start), shape=(self.size, self.size))

    def iterated(self, constant: Floats, guess: Floats, *, goal: float, effort: Effort) -> Floats:
        """An approximate solution by compiled loops, from a guess; nothing is promised about it."""
        from symveil.verification import linear_loops  # noqa: PLC0415  # for large systems only

        loops: Any = linear_loops
        rows, value = (self.start, self.column, self.amount), guess.copy()
        if effort.sweeps and loops.relax(*rows, constant, value, goal, effort.sweeps) <= goal:
            return value
        remaining = loops.krylov(*rows, constant, value, goal, effort.restarts, effort.steps)
        if effort.last_sweeps and remaining > max(goal, effort.fine):
            loops.relax(*rows, constant, value, max(goal, effort.fine), effort.last_sweeps)
        return value

    def factored(self, constant: Floats) -> Floats:
        """The same by an LU factorisation, which may be large; 0 where there is none."""
        try:
            return np.asarray(self._factors.solve(constant), dtype=np.float64)
        except RuntimeError:  # singular, as floats
            return np.zeros(self.size)

    @computed_once
    def _factors(self) -> Any:
        from scipy.sparse import eye_array  # noqa: PLC0415
        from scipy.sparse.linalg import splu  # noqa: PLC0415

        return splu((eye_array(self.size, format="csr") - self.matrix).tocsc())

    def largest_component(self) -> int:
        """How many unknowns the largest part has that does not fall apart."""
        from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

        _, component = connected_components(self.matrix, directed=True, connection="strong")
        return int(np.bincount(component).max(initial=0))

    def proved(
        self, constant: Floats, at: int, solve: Callable[[Floats], Floats], *, roundings: int
    ) -> tuple[float, float] | None:
        """x[at] between 0 and 1, and how far off it may be; None where nothing could be proved.

        `solve` proposes x and h; `roundings` bounds those of an entry, its product and the sum of a row.
        """
        guess = np.clip(solve(constant), 0.0, 1.0)
        slack = solve(np.ones(self.size))
        ahead = self.matrix @ slack
        gain = slack - ahead - roundings * ROUNDING * (np.abs(slack) + np.abs(ahead)) - UNDERFLOW * slack.max()
        if not (np.isfinite(slack).all() and (slack > 0).all() and (gain > 0).all()):
            return None
        inflow = self.matrix @ guess + constant
        residual = np.abs(inflow - guess) + roundings * ROUNDING * (inflow + guess) + UNDERFLOW
        error = float((residual / gain).max() * slack[at]) * (1 + 8 * ROUNDING)
        return float(guess[at]), error
