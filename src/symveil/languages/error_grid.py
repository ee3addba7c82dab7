"""How errors build up along a word: the product automaton summed over the states of the model.

The product of a word's Hamming automaton with a model has thousands of states; drawn, it is a
hairball. Summed over the model's states it is a grid, position × errors, as for the free language.
For words at distance ℓ the grid holds the share of them that passes each cell, and the share that
errs next: Σ_y F(i, e, y)·V(i, ℓ−e, y) over all of them, with F counted forwards and V backwards
(docs/theory/exact-sampling.md). Floats, scaled at every step: these numbers are for pictures only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError, TooLargeError
from symveil.languages.free import FreeLanguage
from symveil.languages.runs import RunLanguage
from symveil.models.word import Codes

Floats = NDArray[np.float64]

LONGEST_WORD = 150  # beyond it the counts of one layer leave the range of floats
_MOST_ENTRIES = 40_000_000


@dataclass(frozen=True, slots=True, eq=False)
class ErrorGrid:
    """passing[i, e, ℓ]: the share of the words at distance ℓ with e errors after i symbols; erring: that err next."""

    passing: Floats
    erring: Floats

    def mixed(self, law: Floats) -> tuple[Floats, Floats]:
        """The grid of a law of the distance: P(i, e), and μ(i, e), the probability that the next symbol is an error."""
        if law.shape != self.passing.shape[2:]:
            raise ParameterError("law", expected=f"{self.passing.shape[2]} probabilities", found=str(law.shape))
        through, errs = self.passing @ law, self.erring @ law
        rate = np.divide(errs, through, out=np.zeros_like(errs), where=through > 0)
        return through, np.minimum(rate, 1.0)


def error_grid(language: FreeLanguage | RunLanguage, codes: Codes) -> ErrorGrid:
    """The grid of a word; it does not depend on any mechanism, only its mixture does.

    >>> from symveil.languages.free import words
    >>> language = words("abc", 2)
    >>> grid = error_grid(language, language.encode("ab"))
    >>> grid.passing[1].tolist()                 # after one symbol: rows are errors, columns distances
    [[1.0, 0.5, 0.0], [0.0, 0.5, 1.0], [0.0, 0.0, 0.0]]
    """
    length = len(codes)
    steps = _steps(language, codes)
    if length > LONGEST_WORD or length**2 * steps.states > _MOST_ENTRIES:
        raise TooLargeError(
            f"grid of errors: expected at most {LONGEST_WORD} symbols and {_MOST_ENTRIES} entries, found more; use a "
            "shorter word or a smaller model"
        )
    back = [steps.final]
    for position in reversed(range(length)):
        back.append(steps.back(back[-1], position))
    back.reverse()
    passing = np.zeros((length + 1, length + 1, length + 1))
    erring = np.zeros((length + 1, length + 1, length + 1))
    forward = np.zeros((steps.states, length + 1))
    forward[steps.start, 0] = 1.0
    for position in range(length + 1):
        passing[position] = _meet(forward, back[position])
        whole = passing[position].sum(axis=0)
        share = np.divide(1.0, whole, out=np.zeros_like(whole), where=whole > 0)
        if position < length:
            source, target, weight = steps.mismatches(position)
            # the same scale as `passing`: the layer before, one step back, without scaling it again
            after = np.zeros((len(source), length + 1))
            after[:, 1:] = back[position + 1][target, :-1] * weight[:, None] / steps.scales[position]
            erring[position] = _meet(forward[source], after) * share
            forward = steps.on(forward, position)
        passing[position] *= share
    return ErrorGrid(passing, erring)


def _meet(forward: Floats, back: Floats) -> Floats:
    """Σ over rows of F(e)·V(ℓ−e): entry (e, ℓ)."""
    size = forward.shape[1]
    met = forward.T @ back  # (e, what is still to come)
    grid = np.zeros((size, size))
    for errors in range(size):
        grid[errors, errors:] = met[errors, : size - errors]
    return grid


class _Steps:
    """The moves of a language around a word: edges with weights, apart by whether they match the word."""

    def __init__(
        self,
        source: NDArray[np.int64],
        target: NDArray[np.int64],
        weight: Floats,
        match: NDArray[np.bool_],
        *,
        start: int,
        final: Floats,
    ) -> None:
        # match[position, edge]; an edge that cannot be taken at a position has weight[position, edge] 0
        self.source, self.target, self.weight, self.match = source, target, weight, match
        self.start, self.final = start, final
        self.states = len(final)
        self.scales = np.ones(len(match))

    def mismatches(self, position: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
        chosen = ~self.match[position] & (self.weight[position] > 0)
        return self.source[chosen], self.target[chosen], self.weight[position][chosen]

    def back(self, layer: Floats, position: int) -> Floats:
        values = layer[self.target] * self.weight[position][:, None]
        differs = ~self.match[position]
        values[differs, 1:] = values[differs, :-1]
        values[differs, 0] = 0.0
        earlier = np.zeros_like(layer)
        np.add.at(earlier, self.source, values)
        self.scales[position] = earlier.max() or 1.0
        return np.asarray(earlier / self.scales[position])

    def on(self, layer: Floats, position: int) -> Floats:
        values = layer[self.source] * self.weight[position][:, None]
        differs = ~self.match[position]
        values[differs, 1:] = values[differs, :-1]
        values[differs, 0] = 0.0
        later = np.zeros_like(layer)
        np.add.at(later, self.target, values)
        return np.asarray(later / (later.max() or 1.0))


def _steps(language: FreeLanguage | RunLanguage, codes: Codes) -> _Steps:
    length = len(codes)
    runs = language.runs
    if runs is None:
        nowhere = np.zeros(2, dtype=np.int64)
        weight = np.tile([1.0, len(language.alphabet) - 1.0], (length, 1))
        final = np.zeros((1, length + 1))
        final[0, 0] = 1.0
        return _Steps(nowhere, nowhere, weight, np.tile([True, False], (length, 1)), start=0, final=final)
    graph = runs.graph
    source = np.repeat(np.arange(graph.state_count, dtype=np.int64), np.diff(graph.first))
    match = graph.symbol[None, :] == np.asarray(codes)[:, None]
    weight = np.ones((length, graph.edge_count))
    if runs.public_start and length:
        weight[0, ~match[0]] = 0.0  # the first symbol is given
    final = np.zeros((graph.state_count, length + 1))
    final[graph.accepting, 0] = 1.0
    return _Steps(source, graph.target.astype(np.int64), weight, match, start=graph.start, final=final)
