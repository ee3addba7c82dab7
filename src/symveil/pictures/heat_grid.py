"""A grid of probabilities as SVG: the darker a cell, the likelier; a number in blue and one in red in each.

What `svg` is for automata that can be read state by state, this is for those that cannot: position ×
errors, summed over the states of a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symveil.pictures.colours import BLUE, GREY, INK, RED
from symveil.pictures.svg import escaped, svg_document

_CELL_WIDE, _CELL_HIGH = 46.0, 34.0
_MARGIN, _LEFT, _FOOT = 20.0, 54.0, 82.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell: where it is, how dark, what is written in it, and what it says when pointed at."""

    column: int
    row: int
    heat: float
    value: str = ""
    annotation: str = ""
    hint: str = ""


def heat_grid_svg(
    cells: Sequence[Cell],
    *,
    title: str,
    columns: Sequence[str],
    rows: Sequence[str],
    x_label: str,
    y_label: str,
    value_meaning: str,
    annotation_meaning: str,
) -> str:
    """The cells on a grid whose rows count upwards, with names for columns and rows.

    >>> picture = heat_grid_svg(
    ...     [Cell(column=0, row=0, heat=1.0, value="100 %", hint="at the start")], title="one cell", columns=["0"],
    ...     rows=["0"], x_label="symbols", y_label="errors", value_meaning="P", annotation_meaning="μ",
    ... )
    >>> "<title>at the start</title>" in picture, picture.count("<rect")
    (True, 2)
    """
    inner = max(len(columns) * _CELL_WIDE, 330.0)
    wide = _LEFT + inner + _MARGIN
    ground = _MARGIN + len(rows) * _CELL_HIGH
    high = ground + _FOOT
    pieces = [_cell(cell, ground) for cell in cells]
    for index, name in enumerate(columns):
        pieces.append(_text(_LEFT + (index + 0.5) * _CELL_WIDE, ground + 17, name, GREY))
    for index, name in enumerate(rows):
        pieces.append(_text(_LEFT - 8, ground - (index + 0.5) * _CELL_HIGH + 4, name, GREY, anchor="end"))
    pieces.append(_text(_LEFT, ground + 38, x_label, INK, anchor="start"))
    middle = (_MARGIN + ground) / 2
    pieces.append(
        f'<text transform="translate(18 {middle:g}) rotate(-90)" text-anchor="middle" font-size="12.5" '
        f'fill="{INK}">{escaped(y_label)}</text>'
    )
    pieces.append(_text(_LEFT, ground + 62, value_meaning, BLUE, anchor="start"))
    pieces.append(_text(_LEFT + 150, ground + 62, annotation_meaning, RED, anchor="start"))
    return svg_document(title, pieces, wide=wide, high=high)


def _cell(cell: Cell, ground: float) -> str:
    x, y = _LEFT + cell.column * _CELL_WIDE, ground - (cell.row + 1) * _CELL_HIGH
    # never so dark that the numbers in it could not be read
    shade = 0.04 + 0.34 * min(1.0, max(0.0, cell.heat)) ** 0.5
    texts = ""
    if cell.value:
        texts += _text(x + _CELL_WIDE / 2, y + 15, cell.value, BLUE, size=11.5, weight="600")
    if cell.annotation:
        texts += _text(x + _CELL_WIDE / 2, y + 28, cell.annotation, RED, size=10.5)
    return (
        f'<g><title>{escaped(cell.hint)}</title><rect x="{x + 1:g}" y="{y + 1:g}" width="{_CELL_WIDE - 2:g}" '
        f'height="{_CELL_HIGH - 2:g}" rx="5" fill="{BLUE}" fill-opacity="{shade:.3f}"/>{texts}</g>'
    )


def _text(
    x: float, y: float, text: str, colour: str, *, anchor: str = "middle", size: float = 12.5, weight: str = "400"
) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size:g}" font-weight="{weight}" '
        f'fill="{colour}">{escaped(text)}</text>'
    )
