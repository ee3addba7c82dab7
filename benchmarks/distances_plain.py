"""The baseline for distances: C19's definition as it stands, one `scipy.optimize.linprog` per pair and sweep."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from symveil.models.labelled_chain import LabelledChain

Matrix = NDArray[np.float64]


def plain_sweep(chain: LabelledChain, alpha: float, distance: Matrix, *, pairs: int | None = None) -> Matrix:
    """Γ(d) for all pairs of one label, or for the first so many of them."""
    size = len(chain.states)
    rows = np.zeros((size, size))
    for source, target, chance in chain.transitions:
        rows[chain.number[source], chain.number[target]] = float(chance)
    arcs = [(i, j) for i in range(size) for j in range(size) if i != j and distance[i, j] < 1]
    matrix = np.zeros((len(arcs), size))
    for row, (i, j) in enumerate(arcs):
        matrix[row, i], matrix[row, j] = 1.0, -alpha
    bounds = np.array([distance[i, j] for i, j in arcs])
    result = distance.copy()
    todo = [(s, t) for s in range(size) for t in range(size) if s != t and chain.labels[s] == chain.labels[t]]
    for s, t in todo[:pairs]:
        gain = rows[s] - alpha * rows[t]
        limits = {"A_ub": matrix, "b_ub": bounds} if arcs else {}
        result[s, t] = -linprog(-gain, bounds=(0, 1), method="highs", **limits).fun
    return result


def plain_distances(chain: LabelledChain, alpha: float, *, tolerance: float = 1e-9) -> tuple[Matrix, int]:
    """Value iteration from 1, until no distance moves; for chains whose kernel is the diagonal. And how many sweeps."""
    labels = np.array(chain.labels)
    distance = np.ones((len(labels), len(labels)))
    np.fill_diagonal(distance, 0.0)
    sweeps = 0
    while True:
        following = plain_sweep(chain, alpha, distance)
        sweeps += 1
        moved = float(np.abs(following - distance).max())
        distance = following
        if moved < tolerance:
            return distance, sweeps
