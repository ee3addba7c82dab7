"""A square table as SVG: the darker a cell, the larger its value; rows and columns have the same names.

A grid of probabilities as SVG: the darker a cell, the likelier; a number in blue and one in red in each.

What `svg` is for automata that can be read state by state, this is for those that cannot: position ×
errors, summed over the states of a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.pictures.svg import FONT, escaped, svg_document
from symveil.pictures.text import BLUE, BORDER, CARD, GREY, INK, RED, width

_CELL, _SIZE, _TOP, _MARGIN, _FOOT, _TITLE_SIZE = 22.0, 11.5, 50.0, 16.0, 26.0, 13.0
_LONGEST_NAME = 16


def heat_map_svg(values: NDArray[np.float64], *, names: Sequence[str], title: str) -> str:
    """A cell for each pair: from the name of its row to the name of its column. Values that are not known stay white.

    >>> picture = heat_map_svg(np.array([[1.0, 0.0], [np.nan, 3.0]]), names=["a", "b"], title="moves")
    >>> "<title>b → b: 3</title>" in picture, picture.count("<rect")
    (True, 4)
    """
    shown = [name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…" for name in names]
    left = _MARGIN + 8 + max((width(name, _SIZE) for name in shown), default=0.0)
    top = _TOP + left - _MARGIN  # names of columns stand upright
    wide, high = left + _CELL * len(names) + _MARGIN, top + _CELL * len(names) + _FOOT
    wide = max(wide, 260.0, 1.1 * width(title, _TITLE_SIZE) + 2 * _MARGIN)  # which is in bold
    highest = float(np.nanmax(values, initial=0.0)) or 1.0
    pieces = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{wide:.1f}" height="{high:.1f}" '
        f'viewBox="0 0 {wide:.1f} {high:.1f}" style="max-width:100%;height:auto" font-family="{FONT}">',
        f"<title>{escaped(title)}</title>",
        f'<rect x="0.5" y="0.5" width="{wide - 1:.1f}" height="{high - 1:.1f}" rx="12" fill="{CARD}" '
        f'stroke="{BORDER}"/>',
        f'<text x="{_MARGIN:g}" y="24" font-size="{_TITLE_SIZE:g}" font-weight="bold" fill="{INK}">'
        f"{escaped(title)}</text>",
        _text(_MARGIN, 42, "from row to column", INK, "start"),
    ]
    for row, name in enumerate(shown):
        middle = top + _CELL * (row + 0.5)
        pieces.append(_text(left - 6, middle + 4, name, GREY, "end"))
        across = left + _CELL * (row + 0.5)
        pieces.append(
            f'<text transform="translate({across + 4:.1f} {top - 6:.1f}) rotate(-90)" font-size="{_SIZE}" '
            f'fill="{GREY}">{escaped(name)}</text>'
        )
        for column, value in enumerate(values[row].tolist()):
            if np.isnan(value):
                continue
            shade = 0.02 + 0.93 * (min(max(value, 0.0), highest) / highest) ** 0.5
            text = f"{names[row]} → {names[column]}: {value:.6g}"
            pieces.append(
                f'<rect x="{left + _CELL * column + 0.5:.1f}" y="{top + _CELL * row + 0.5:.1f}" width="{_CELL - 1:g}" '
                f'height="{_CELL - 1:g}" fill="{BLUE}" fill-opacity="{shade:.3f}"><title>{escaped(text)}</title></rect>'
            )
    return "\n".join([*pieces, "</svg>\n"])


def _text(x: float, y: float, text: str, colour: str, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{_SIZE}" fill="{colour}">'
        f"{escaped(text)}</text>"
    )


_CELL_WIDE, _CELL_HIGH = 46.0, 34.0
_GRID_MARGIN, _LEFT, _GRID_FOOT = 20.0, 54.0, 82.0


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
    wide = _LEFT + inner + _GRID_MARGIN
    ground = _GRID_MARGIN + len(rows) * _CELL_HIGH
    high = ground + _GRID_FOOT
    pieces = [_cell(cell, ground) for cell in cells]
    for index, name in enumerate(columns):
        pieces.append(_grid_text(_LEFT + (index + 0.5) * _CELL_WIDE, ground + 17, name, GREY))
    for index, name in enumerate(rows):
        pieces.append(_grid_text(_LEFT - 8, ground - (index + 0.5) * _CELL_HIGH + 4, name, GREY, anchor="end"))
    pieces.append(_grid_text(_LEFT, ground + 38, x_label, INK, anchor="start"))
    middle = (_GRID_MARGIN + ground) / 2
    pieces.append(
        f'<text transform="translate(18 {middle:g}) rotate(-90)" text-anchor="middle" font-size="12.5" '
        f'fill="{INK}">{escaped(y_label)}</text>'
    )
    pieces.append(_grid_text(_LEFT, ground + 62, value_meaning, BLUE, anchor="start"))
    pieces.append(_grid_text(_LEFT + 150, ground + 62, annotation_meaning, RED, anchor="start"))
    return svg_document(title, pieces, wide=wide, high=high)


def _cell(cell: Cell, ground: float) -> str:
    x, y = _LEFT + cell.column * _CELL_WIDE, ground - (cell.row + 1) * _CELL_HIGH
    # never so dark that the numbers in it could not be read
    shade = 0.04 + 0.34 * min(1.0, max(0.0, cell.heat)) ** 0.5
    texts = ""
    if cell.value:
        texts += _grid_text(x + _CELL_WIDE / 2, y + 15, cell.value, BLUE, size=11.5, weight="600")
    if cell.annotation:
        texts += _grid_text(x + _CELL_WIDE / 2, y + 28, cell.annotation, RED, size=10.5)
    return (
        f'<g><title>{escaped(cell.hint)}</title><rect x="{x + 1:g}" y="{y + 1:g}" width="{_CELL_WIDE - 2:g}" '
        f'height="{_CELL_HIGH - 2:g}" rx="5" fill="{BLUE}" fill-opacity="{shade:.3f}"/>{texts}</g>'
    )


def _grid_text(
    x: float, y: float, text: str, colour: str, *, anchor: str = "middle", size: float = 12.5, weight: str = "400"
) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size:g}" font-weight="{weight}" '
        f'fill="{colour}">{escaped(text)}</text>'
    )
