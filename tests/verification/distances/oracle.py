"""Independent answers, as plainly as the definitions: C19's linear programmes over *all* states, in Fractions.

Shares nothing with the package but the chain: no flows, no labels as a shortcut, no relays as a special
case. The primal of Definition 13 is solved by a textbook tableau with Bland's rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np

from symveil.models.labelled_chain import LabelledChain

Matrix = list[list[Fraction]]


def rows_of(chain: LabelledChain) -> Matrix:
    size = len(chain.states)
    rows = [[Fraction(0)] * size for _ in range(size)]
    for source, target, chance in chain.transitions:
        rows[chain.number[source]][chain.number[target]] = chance
    return rows


def largest_difference(gains: list[Fraction], alpha: Fraction, distance: Matrix) -> Fraction:
    """max Σ b_i f_i over f in [0,1]^S with f_i − αf_j ≤ d_ij (C19 Definition 13)."""
    size = len(gains)
    constraints: list[tuple[dict[int, Fraction], Fraction]] = [({i: Fraction(1)}, Fraction(1)) for i in range(size)]
    for i in range(size):
        for j in range(size):
            if i != j and distance[i][j] < 1:  # with d_ij = 1 there is nothing to respect
                constraints.append(({i: Fraction(1), j: -alpha}, distance[i][j]))
    width = size + len(constraints) + 1
    tableau = np.zeros((len(constraints) + 1, width), dtype=object)
    tableau[:] = Fraction(0)
    for row, (parts, bound) in enumerate(constraints):
        for column, value in parts.items():
            tableau[row, column] = value
        tableau[row, size + row] = Fraction(1)
        tableau[row, -1] = bound
    for column, value in enumerate(gains):
        tableau[-1, column] = -value
    basis = [size + row for row in range(len(constraints))]
    while True:
        entering = next((column for column in range(width - 1) if tableau[-1, column] < 0), None)
        if entering is None:
            return Fraction(tableau[-1, -1])
        ratios = [
            (tableau[row, -1] / tableau[row, entering], basis[row], row)
            for row in range(len(constraints))
            if tableau[row, entering] > 0
        ]
        row = min(ratios)[2]
        tableau[row] = tableau[row] / tableau[row, entering]
        for other in range(len(tableau)):
            if other != row and tableau[other, entering] != 0:
                tableau[other] = tableau[other] - tableau[other, entering] * tableau[row]
        basis[row] = entering


def skewed(left: list[Fraction], right: list[Fraction], alpha: Fraction, distance: Matrix) -> Fraction:
    """K(d)(μ, μ')."""
    return largest_difference([a - alpha * b for a, b in zip(left, right, strict=True)], alpha, distance)


def operator(chain: LabelledChain, alpha: Fraction, distance: Matrix, *, symmetric: bool = False) -> Matrix:
    """Γ(d) of C19 Definition 15; with `symmetric` that of bd."""
    rows, size = rows_of(chain), len(chain.states)
    result = [[Fraction(1)] * size for _ in range(size)]
    for s in range(size):
        for t in range(size):
            if chain.labels[s] == chain.labels[t]:
                result[s][t] = skewed(rows[s], rows[t], alpha, distance)
                if symmetric:
                    result[s][t] = max(result[s][t], skewed(rows[t], rows[s], alpha, distance))
    return result


def kernel(chain: LabelledChain, alpha: Fraction) -> list[list[bool]]:
    """~_α by C19 Proposition 24, with labels."""
    size = len(chain.states)
    inside = [[chain.labels[s] == chain.labels[t] for t in range(size)] for s in range(size)]
    while True:
        distance = [[Fraction(0) if inside[s][t] else Fraction(1) for t in range(size)] for s in range(size)]
        image = operator(chain, alpha, distance)
        smaller = [[inside[s][t] and image[s][t] == 0 for t in range(size)] for s in range(size)]
        if smaller == inside:
            return inside
        inside = smaller


def iterated(
    chain: LabelledChain, alpha: Fraction, start: Matrix, steps: int, hold: Callable[[int, int], bool]
) -> Matrix:
    """Value iteration of Γ' with the pairs of `hold` kept at 0, rounded to 2⁻³⁰: coarse enough to be quick."""
    distance = start
    for _ in range(steps):
        image = operator(chain, alpha, distance)
        distance = [
            [Fraction(0) if hold(s, t) else Fraction(round(value * 2**30), 2**30) for t, value in enumerate(row)]
            for s, row in enumerate(image)
        ]
    return distance


def label_words(chain: LabelledChain, state: str, steps: int) -> dict[tuple[str, ...], Fraction]:
    """P(first steps+1 labels) from a state, by following every path."""
    rows = rows_of(chain)
    layer: dict[tuple[int, tuple[str, ...]], Fraction] = {(chain.number[state], (chain.label(state),)): Fraction(1)}
    for _ in range(steps):
        following: dict[tuple[int, tuple[str, ...]], Fraction] = {}
        for (place, word), mass in layer.items():
            for target, chance in enumerate(rows[place]):
                if chance:
                    key = (target, (*word, chain.labels[target]))
                    following[key] = following.get(key, Fraction(0)) + mass * chance
        layer = following
    words: dict[tuple[str, ...], Fraction] = {}
    for (_, word), mass in layer.items():
        words[word] = words.get(word, Fraction(0)) + mass
    return words


def seen_difference(chain: LabelledChain, s: str, t: str, alpha: Fraction, steps: int) -> Fraction:
    """L_T: what can be told from the first labels alone, at most lv."""
    mine, theirs = label_words(chain, s, steps), label_words(chain, t, steps)
    words: Iterable[tuple[str, ...]] = mine
    return sum(
        (max(Fraction(0), mine[word] - alpha * theirs.get(word, Fraction(0))) for word in words), start=Fraction(0)
    )
