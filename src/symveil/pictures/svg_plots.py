"""Plots as SVG text, made in a millisecond: for pages that redraw while a slider moves.

The pictures in files come from `plots`, which knows more and takes longer. Both draw the same `Curve`s
in the same colours. As in `svg`, a picture brings its own white card and uses no style sheet and no id.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from symveil.pictures.colours import BARS, GREY, GRID, INK
from symveil.pictures.curves import PALETTE, Band, Curve, Numbers
from symveil.pictures.labels import superscript
from symveil.pictures.svg import coordinate, escaped, svg_document
from symveil.pictures.text import width

_BARS_SIZE, _CURVES_SIZE = (520.0, 300.0), (720.0, 360.0)
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 18.0, 22.0, 50.0
_SIZE = 12.5
_LEGEND_ROW = 20.0
_DASHES = {"solid": "", "dashed": ' stroke-dasharray="6 4"', "dotted": ' stroke-dasharray="1.5 4"', "points": ""}
_MOST_BARS = 160
_SEEN = 1e-4  # of the highest bar


def bars_svg(
    positions: Numbers,
    heights: Numbers,
    *,
    title: str,
    x_label: str,
    y_label: str,
    mark: float | None = None,
    mark_label: str = "",
) -> str:
    """A law as bars; `mark` points a place on the horizontal axis out, such as the expected value.

    >>> picture = bars_svg([0, 1], [0.75, 0.25], title="law", x_label="changed", y_label="probability", mark=0.25)
    >>> picture.count("<rect"), "<title>0: 0.75</title>" in picture
    (3, True)
    """
    rows = [(float(place), float(height)) for place, height in zip(positions, heights, strict=True)]
    highest = max((height for _, height in rows), default=1.0) or 1.0
    if len(rows) > _MOST_BARS:
        rows = [row for row in rows if row[1] >= highest * _SEEN][:_MOST_BARS]
    first, last = min(place for place, _ in rows), max(place for place, _ in rows)
    frame = _Frame(x=(first - 0.6, last + 0.6), y=(0.0, highest * 1.12), size=_BARS_SIZE, whole_x=True)
    bar = 0.78 * (frame.at_x(1.0) - frame.at_x(0.0))
    pieces = list(frame.axes(x_label, y_label))
    ground = frame.at_y(0.0)
    for place, height in rows:
        top = frame.at_y(height)
        pieces.append(
            f'<rect x="{coordinate(frame.at_x(place) - bar / 2)}" y="{coordinate(top)}" width="{coordinate(bar)}" '
            f'height="{coordinate(ground - top)}" fill="{BARS}"><title>{place:g}: {height:.6g}</title></rect>'
        )
    if mark is not None:
        pieces += _mark(frame, mark, mark_label)
    return svg_document(title, pieces, wide=_BARS_SIZE[0], high=_BARS_SIZE[1])


def curves_svg(
    curves: Sequence[Curve],
    bands: Sequence[Band] = (),
    *,
    title: str,
    x_label: str,
    y_label: str,
    mark: float | None = None,
    mark_label: str = "",
    logarithmic: bool = False,
) -> str:
    """Curves and bands in one frame, named in a legend below it.

    With `logarithmic`, both axes count powers of ten, a dot shows each value, and what is not positive is left out.

    >>> picture = curves_svg([Curve("error", [1, 2], [0.5, 0.25])], title="t", x_label="ε", y_label="changed")
    >>> picture.count('stroke="#0072b2"'), ">error<" in picture         # the curve, and its line in the legend
    (2, True)
    """
    if logarithmic:
        curves, bands = [_logarithms(curve) for curve in curves], ()
    xs = [value for curve in curves for value in curve.x if math.isfinite(value)]
    ys = [value for curve in curves for value in curve.y if math.isfinite(value)]
    ys += [value for band in bands for value in (*band.lower, *band.upper) if math.isfinite(value)]
    if logarithmic:
        room = 0.04 * ((max(ys) - min(ys)) or 1.0)
        y_range = (min(ys) - room, max(ys) + room)
    else:
        y_range = (min(0.0, *ys), (max(ys) * 1.06) or 1.0)
    frame = _Frame(x=(min(xs), max(xs)), y=y_range, size=_CURVES_SIZE, powers=logarithmic)
    pieces = list(frame.axes(x_label, y_label))
    for number, band in enumerate(bands):
        there = [(frame.at_x(x), frame.at_y(y)) for x, y in zip(band.x, band.upper, strict=True)]
        back = [(frame.at_x(x), frame.at_y(y)) for x, y in zip(band.x, band.lower, strict=True)]
        line = "L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in [*there, *reversed(back)])
        pieces.append(f'<path d="M{line}Z" fill="{PALETTE[number % len(PALETTE)]}" fill-opacity="0.18"/>')
    for number, curve in enumerate(curves):
        pieces += _curve(frame, curve, PALETTE[number % len(PALETTE)])
    if mark is not None:
        pieces += _mark(frame, mark, mark_label)
    legend, high = _legend(curves)
    return svg_document(title, [*pieces, *legend], wide=_CURVES_SIZE[0], high=high)


@dataclass(frozen=True, slots=True)
class _Frame:
    """The place between the axes, and where a point lies in it."""

    x: tuple[float, float]
    y: tuple[float, float]
    size: tuple[float, float]
    whole_x: bool = False
    powers: bool = False
    """Whether values are exponents of ten."""

    def at_x(self, value: float) -> float:
        span = (self.x[1] - self.x[0]) or 1.0
        return _LEFT + (value - self.x[0]) / span * (self.size[0] - _LEFT - _RIGHT)

    def at_y(self, value: float) -> float:
        span = (self.y[1] - self.y[0]) or 1.0
        return self.size[1] - _BOTTOM - (value - self.y[0]) / span * (self.size[1] - _TOP - _BOTTOM)

    def axes(self, x_label: str, y_label: str) -> Iterator[str]:
        left, right, ground = _LEFT, self.size[0] - _RIGHT, self.at_y(self.y[0])
        spelled = _power_of_ten if self.powers else "{:g}".format
        for value in ticks(*self.y, most=8 if self.powers else 5, whole=self.powers):
            y = self.at_y(value)
            yield f'<path d="M{left} {coordinate(y)}H{right}" stroke="{GRID}" stroke-width="1" fill="none"/>'
            yield _label(left - 7, y + _SIZE * 0.35, spelled(value), "end")
        for value in ticks(*self.x, most=9, whole=self.whole_x or self.powers):
            x = self.at_x(value)
            yield _label(x, ground + 18, spelled(value), "middle")
        yield f'<path d="M{left} {coordinate(ground)}H{right}" stroke="{GREY}" stroke-width="1" fill="none"/>'
        yield _label((left + right) / 2, ground + 38, x_label, "middle", INK)
        middle = (_TOP + ground) / 2
        yield (
            f'<text transform="translate(15 {coordinate(middle)}) rotate(-90)" text-anchor="middle" '
            f'font-size="{_SIZE}" fill="{INK}">{escaped(y_label)}</text>'
        )


def ticks(low: float, high: float, *, most: int, whole: bool = False) -> list[float]:
    """Round numbers within [low, high], at most about so many.

    >>> ticks(0, 1, most=5), ticks(-0.6, 3.6, most=9, whole=True)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 1.0, 2.0, 3.0])
    """
    span = high - low
    if not span > 0 or not math.isfinite(span):
        return [low]
    step = 10.0 ** math.floor(math.log10(span / most))
    step *= next(factor for factor in (1, 2, 5, 10) if span / (step * factor) <= most + 1e-9)
    if whole:
        step = max(1.0, step)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(index * step, 12) + 0.0 for index in range(first, last + 1)]


def _curve(frame: _Frame, curve: Curve, colour: str) -> Iterator[str]:
    points = [(frame.at_x(x), frame.at_y(y)) for x, y in zip(curve.x, curve.y, strict=True) if math.isfinite(x + y)]
    if curve.style == "points" or len(points) == 1:
        for x, y in points:
            yield f'<circle cx="{coordinate(x)}" cy="{coordinate(y)}" r="4" fill="{colour}"/>'
        return
    line = "L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in points)
    if frame.powers:
        for x, y in points:
            yield f'<circle cx="{coordinate(x)}" cy="{coordinate(y)}" r="3" fill="{colour}"/>'
    dashes = _DASHES[curve.style]
    yield f'<path d="M{line}" fill="none" stroke="{colour}" stroke-width="2.2" stroke-linejoin="round"{dashes}/>'


def _logarithms(curve: Curve) -> Curve:
    """The curve of the exponents of ten."""

    def exponents(values: Numbers) -> list[float]:
        return [math.log10(value) if value > 0 else math.nan for value in values]

    return Curve(curve.label, exponents(curve.x), exponents(curve.y), curve.style)


def _mark(frame: _Frame, place: float, label: str) -> Iterator[str]:
    x, colour = frame.at_x(place), PALETTE[1]
    yield (
        f'<path d="M{coordinate(x)} {_TOP}V{coordinate(frame.at_y(frame.y[0]))}" stroke="{colour}" stroke-width="1.6" '
        'stroke-dasharray="5 4" fill="none"/>'
    )
    if label:
        fits_right = x + 6 + width(label, _SIZE) < frame.size[0] - 4
        yield _label(x + (6 if fits_right else -6), _TOP + 4, label, "start" if fits_right else "end", colour)


def _legend(curves: Sequence[Curve]) -> tuple[list[str], float]:
    """The names of the curves below the frame, in as many rows as they need, and the height of the picture."""
    pieces, x, y = [], _LEFT, _CURVES_SIZE[1] + 8
    for number, curve in enumerate(curves):
        wide = 34 + width(curve.label, _SIZE) + 12
        if x > _LEFT and x + wide > _CURVES_SIZE[0]:
            x, y = _LEFT, y + _LEGEND_ROW
        colour, middle = PALETTE[number % len(PALETTE)], coordinate(y - _SIZE * 0.35)
        if curve.style == "points":
            pieces.append(f'<circle cx="{coordinate(x + 13)}" cy="{middle}" r="4" fill="{colour}"/>')
        else:
            pieces.append(
                f'<path d="M{coordinate(x)} {middle}h26" fill="none" stroke="{colour}" stroke-width="2.2"'
                f"{_DASHES[curve.style]}/>"
            )
        pieces.append(_label(x + 33, y, curve.label, "start", colour))
        x += wide
    return pieces, y + 14


def _label(x: float, y: float, text: str, anchor: str, colour: str = GREY) -> str:
    return (
        f'<text x="{coordinate(x)}" y="{coordinate(y)}" text-anchor="{anchor}" font-size="{_SIZE}" fill="{colour}">'
        f"{escaped(text)}</text>"
    )


def _power_of_ten(exponent: float) -> str:
    """The number itself where it is short, else its power of ten.

    >>> [_power_of_ten(exponent) for exponent in (-3, 0, 2, 6)]
    ['10⁻³', '1', '100', '10⁶']
    """
    if exponent in (0.0, 1.0, 2.0, 3.0):
        return f"{10**exponent:g}"
    return f"10{superscript(int(exponent))}"
