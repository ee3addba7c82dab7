"""A square table as SVG: the darker a cell, the larger its value; rows and columns have the same names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from symveil.pictures.colours import BLUE, BORDER, CARD, GREY, INK
from symveil.pictures.svg import FONT, escaped
from symveil.pictures.text import width

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
            told = f"{names[row]} → {names[column]}: {value:.6g}"
            pieces.append(
                f'<rect x="{left + _CELL * column + 0.5:.1f}" y="{top + _CELL * row + 0.5:.1f}" width="{_CELL - 1:g}" '
                f'height="{_CELL - 1:g}" fill="{BLUE}" fill-opacity="{shade:.3f}"><title>{escaped(told)}</title></rect>'
            )
    return "\n".join([*pieces, "</svg>\n"])


def _text(x: float, y: float, text: str, colour: str, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{_SIZE}" fill="{colour}">'
        f"{escaped(text)}</text>"
    )
