"""Bars with whiskers as SVG: an estimate for each name, how sure it is, and what it is compared with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from symveil.pictures.colours import BARS, BORDER, CARD, GREY, GRID, INK, RED
from symveil.pictures.svg import FONT, escaped
from symveil.pictures.svg_plots import ticks
from symveil.pictures.text import width

_ROW, _SIZE, _TOP, _FOOT, _WIDE, _RIGHT = 22.0, 12.5, 18.0, 62.0, 720.0, 24.0
_LONGEST_NAME = 230.0
_HEADING, _HEADING_SIZE = 30.0, 14.0


@dataclass(frozen=True, slots=True)
class Whisker:
    """A bar: its name, its length, the interval around it, and another value to compare it with."""

    name: str
    value: float
    low: float
    high: float
    reference: float | None = None


def whiskers_svg(bars: Sequence[Whisker], *, title: str, reference: str = "", heading: bool = False) -> str:
    """Bars from the left, each with its interval; a cross stands where the reference value is.

    With `heading` the title stands above them, for a picture that is a file of its own.

    >>> picture = whiskers_svg([Whisker("a", 3.0, 2.0, 4.0, 3.5)], title="visits", reference="as released")
    >>> "<title>a: 3 (2 to 4)</title>" in picture, ">as released<" in picture
    (True, True)
    """
    names = [_shortened(bar.name) for bar in bars]
    left = 16.0 + max((width(name, _SIZE) for name in names), default=0.0)
    values = [value for bar in bars for value in (bar.value, bar.high, bar.reference) if value is not None]
    highest = max((value for value in values if math.isfinite(value)), default=1.0) or 1.0
    top = _TOP + (_HEADING if heading else 0.0)
    ground = top + _ROW * max(len(bars), 1)
    high = ground + _FOOT

    def at(value: float) -> float:
        return left + min(max(value, 0.0), highest * 1.02) / (highest * 1.02) * (_WIDE - left - _RIGHT)

    pieces = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{_WIDE:g}" height="{high:g}" '
        f'viewBox="0 0 {_WIDE:g} {high:g}" style="max-width:100%;height:auto" font-family="{FONT}">',
        f"<title>{escaped(title)}</title>",
        f'<rect x="0.5" y="0.5" width="{_WIDE - 1:g}" height="{high - 1:g}" rx="12" fill="{CARD}" stroke="{BORDER}"/>',
    ]
    if heading:
        size = min(_HEADING_SIZE, _HEADING_SIZE * (_WIDE - 32) / max(1.1 * width(title, _HEADING_SIZE), 1.0))
        pieces.append(
            f'<text x="16" y="30" font-size="{size:.1f}" font-weight="bold" fill="{INK}">{escaped(title)}</text>'
        )
    for tick in ticks(0.0, highest, most=6):
        x = at(tick)
        pieces.append(f'<path d="M{x:.1f} {top:g}V{ground:g}" stroke="{GRID}" fill="none"/>')
        pieces.append(_text(x, ground + 16, f"{tick:g}", GREY, "middle"))
    for index, (bar, name) in enumerate(zip(bars, names, strict=True)):
        y = top + _ROW * index
        middle = y + _ROW / 2
        told = f"{bar.name}: {bar.value:.6g} ({bar.low:.6g} to {bar.high:.6g})"
        pieces += [
            f"<g><title>{escaped(told)}</title>",
            f'<rect x="{left:.1f}" y="{y + 4:.1f}" width="{at(bar.value) - left:.1f}" height="{_ROW - 8:g}" '
            f'fill="{BARS}"/>',
            f'<path d="M{at(bar.low):.1f} {middle:.1f}H{at(bar.high):.1f}M{at(bar.low):.1f} {middle - 4:.1f}v8'
            f'M{at(bar.high):.1f} {middle - 4:.1f}v8" stroke="{INK}" stroke-width="1.4" fill="none"/>',
        ]
        if bar.reference is not None:
            pieces.append(_cross(at(bar.reference), middle))
        pieces += ["</g>", _text(left - 8, middle + 4, name, INK, "end")]
    if reference:
        pieces += [_cross(left + 5, ground + 38), _text(left + 16, ground + 42, reference, RED, "start")]
    return "\n".join([*pieces, "</svg>\n"])


def _cross(x: float, y: float) -> str:
    return f'<path d="M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8" stroke="{RED}" stroke-width="1.5" fill="none"/>'


def _text(x: float, y: float, text: str, colour: str, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{_SIZE}" fill="{colour}">'
        f"{escaped(text)}</text>"
    )


def _shortened(name: str) -> str:
    """The name, or its beginning where it would leave no room for bars."""
    if width(name, _SIZE) <= _LONGEST_NAME:
        return name
    while name and width(name + "…", _SIZE) > _LONGEST_NAME:
        name = name[:-1]
    return name + "…"
