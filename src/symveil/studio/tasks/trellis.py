"""The automaton of a word as a picture: state by state where that can be read, else summed up on a grid."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from symveil.errors import TooLargeError
from symveil.languages.error_grid import ErrorGrid, error_grid
from symveil.languages.free import FreeLanguage
from symveil.languages.hamming_automaton import hamming_automaton
from symveil.languages.run_product import product_diagram
from symveil.languages.runs import RunLanguage
from symveil.models.word import decode
from symveil.pictures.heat_grid import Cell, heat_grid_svg
from symveil.pictures.svg import to_svg

MOST_STATES = 30
"""More than these on one picture nobody reads on a screen."""
_MOST_COLUMNS, _MOST_ROWS = 26, 16
_SEEN = 5e-4

Language = FreeLanguage | RunLanguage


@lru_cache(maxsize=64)
def trellis_svg(language: Language, codes: tuple[int, ...], distance: int) -> str | None:
    """The automaton of the words at one distance, with V and μ; None where it has too many states."""
    row = np.array(codes, dtype=np.int32)
    if language.runs is None:
        automaton = hamming_automaton(
            decode(row, language.alphabet, like=()), alphabet=language.alphabet, exactly=distance
        )
        return automaton.to_svg() if automaton.state_count <= MOST_STATES else None
    try:
        return to_svg(product_diagram(language.runs, row, exactly=distance, most_states=MOST_STATES))
    except TooLargeError:
        return None


@lru_cache(maxsize=16)
def _grid(language: Language, codes: tuple[int, ...]) -> ErrorGrid:
    return error_grid(language, np.array(codes, dtype=np.int32))


def grid_svg(language: Language, codes: tuple[int, ...], law: NDArray[np.float64], title: str) -> str:
    """Position × errors for a law of the distance (law[ℓ]): how likely each cell is, and how likely an error there."""
    through, errs = _grid(language, codes).mixed(law)
    length = language.length
    columns = np.unique(np.linspace(0, length, min(length + 1, _MOST_COLUMNS)).round().astype(int))
    highest = int(np.max(np.nonzero((through >= _SEEN).any(axis=0))[0], initial=0))
    rows = range(min(highest, _MOST_ROWS - 1) + 1)
    cells = [
        Cell(
            column=index,
            row=errors,
            heat=float(through[position, errors]),
            value=_share(through[position, errors]),
            annotation="" if position == length else _share(errs[position, errors]),
            hint=_hint(position, errors, through[position, errors], errs[position, errors], length),
        )
        for index, position in enumerate(columns.tolist())
        for errors in rows
        if errors <= position and through[position, errors] >= _SEEN
    ]
    return heat_grid_svg(
        cells,
        title=title,
        columns=[str(position) for position in columns],
        rows=[str(errors) for errors in rows],
        x_label="symbols read",
        y_label="of them changed",
        value_meaning="P: passes here",
        annotation_meaning="μ: the next symbol is changed",
    )


def _share(value: float) -> str:
    percent = 100 * float(value)
    if percent < 0.05:
        return "0"
    return f"{percent:.1f}%" if percent < 9.95 else f"{percent:.0f}%"


def _hint(position: int, errors: int, through: float, errs: float, length: int) -> str:
    told = f"after {position} symbols, {errors} changed: probability {through:.4g}"
    return told if position == length else f"{told}; the next one is changed with probability {errs:.4g}"
