"""Two values for each of several names, as bars one below the other: SVG text, as in `svg_plots`."""

from __future__ import annotations

from collections.abc import Sequence

from symveil.pictures.colours import BORDER, CARD, GREY, INK
from symveil.pictures.curves import PALETTE
from symveil.pictures.svg import FONT, escaped
from symveil.pictures.text import width

_WIDE, _SIZE = 720.0, 12.5
_BAR, _ROW, _TOP, _FOOT, _RIGHT = 9.0, 28.0, 18.0, 40.0, 74.0
_MOST_LABEL, _MOST_LETTERS = 230.0, 40


def paired_bars_svg(
    names: Sequence[str], first: Sequence[float], second: Sequence[float], *, title: str, labels: tuple[str, str]
) -> str:
    """A pair of bars for each name, with their values; `labels` say what the first and the second bars are.

    >>> picture = paired_bars_svg(["main st"], [0.5], [0.25], title="visits", labels=("true", "private"))
    >>> picture.count("<rect"), ">0.25<" in picture
    (5, True)
    """
    shown = [name if len(name) <= _MOST_LETTERS else f"{name[: _MOST_LETTERS - 1]}…" for name in names]
    left = 22 + min(_MOST_LABEL, max((width(name, _SIZE) for name in shown), default=0.0))
    highest = max((*first, *second), default=0.0) or 1.0
    high = _TOP + _ROW * len(names) + _FOOT
    pieces = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{_WIDE:g}" height="{high:g}" '
        f'viewBox="0 0 {_WIDE:g} {high:g}" style="max-width:100%;height:auto" font-family="{FONT}">',
        f"<title>{escaped(title)}</title>",
        f'<rect x="0.5" y="0.5" width="{_WIDE - 1:g}" height="{high - 1:g}" rx="12" fill="{CARD}" stroke="{BORDER}"/>',
    ]
    for row, (name, *values) in enumerate(zip(shown, first, second, strict=True)):
        y = _TOP + row * _ROW
        pieces.append(_text(left - 8, y + _BAR + _SIZE * 0.36, name, "end", INK))
        for index, value in enumerate(values):
            wide = max(0.0, value) / highest * (_WIDE - left - _RIGHT)
            top = y + index * (_BAR + 1)
            pieces.append(
                f'<rect x="{left:.1f}" y="{top:g}" width="{wide:.1f}" height="{_BAR:g}" fill="{PALETTE[index]}"/>'
            )
            pieces.append(_text(left + wide + 5, top + _BAR - 0.5, f"{value:.3g}", "start", GREY, size=9.5))
    x = left
    for index, label in enumerate(labels):
        y = high - 20
        pieces.append(f'<rect x="{x:.1f}" y="{y - 9:g}" width="14" height="{_BAR:g}" fill="{PALETTE[index]}"/>')
        pieces.append(_text(x + 20, y, label, "start", INK))
        x += 44 + width(label, _SIZE)
    return "\n".join([*pieces, "</svg>\n"])


def _text(x: float, y: float, text: str, anchor: str, colour: str, *, size: float = _SIZE) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size:g}" fill="{colour}">'
        f"{escaped(text)}</text>"
    )
