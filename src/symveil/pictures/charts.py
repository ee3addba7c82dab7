"""What a plot shows, before any format: named curves and bands, and the colours they get in turn.

Plots as SVG text, made in a millisecond: for pages that redraw while a slider moves.

The pictures in files come from `plots`, which knows more and takes longer. Both draw the same `Curve`s
in the same colours. As in `svg`, a picture brings its own white card and uses no style sheet and no id.

Bars with whiskers as SVG: an estimate for each name, how sure it is, and what it is compared with.

Two values for each of several names, as bars one below the other: SVG text, as in `svg_plots`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.pictures.svg import FONT, coordinate, escaped, svg_document
from symveil.pictures.text import BARS, BORDER, CARD, GREY, GRID, INK, RED, superscript, width

Numbers = Sequence[float] | NDArray[np.float64] | NDArray[np.int64]
Style = Literal["solid", "dashed", "dotted", "points"]

# Okabe and Ito's colours, which stay apart for colour-blind readers, darkened until text in them
# has a contrast of 4.5 against white.
PALETTE = ("#0072b2", "#b84a00", "#00785a", "#a4457f", "#8a6100", "#1b2733")


@dataclass(frozen=True, slots=True)
class Curve:
    """A named line through points, or the points alone; a value that is not finite leaves a gap.

    >>> Curve("expected error", [1, 2], [0.5, 0.25], "dashed").y
    (0.5, 0.25)
    """

    label: str
    x: Numbers
    y: Numbers
    style: Style = "solid"

    def __post_init__(self) -> None:
        if self.style not in get_args(Style):
            raise ParameterError("style", expected=" or ".join(get_args(Style)), found=self.style)
        _freeze(self, "x", "y")
        if not any(map(math.isfinite, self.y)):
            raise ParameterError("y", expected="a finite value somewhere", found="none")


@dataclass(frozen=True, slots=True)
class Band:
    """A named region between two bounds, in the colour of the curve of the same number."""

    label: str
    x: Numbers
    lower: Numbers
    upper: Numbers

    def __post_init__(self) -> None:
        _freeze(self, "x", "lower", "upper")


def _freeze(owner: Curve | Band, *names: str) -> None:
    """Keep sequences as tuples of floats, all of one length."""
    lengths = set()
    for name in names:
        values = tuple(map(float, getattr(owner, name)))
        object.__setattr__(owner, name, values)
        lengths.add(len(values))
    if len(lengths) != 1 or lengths == {0}:
        raise ParameterError(
            names[-1],
            expected=f"as many values as {names[0]} has, at least one",
            found=" and ".join(str(len(getattr(owner, name))) for name in names),
        )


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
    rows = [(float(x_value), float(height)) for x_value, height in zip(positions, heights, strict=True)]
    highest = max((height for _, height in rows), default=1.0) or 1.0
    if len(rows) > _MOST_BARS:
        rows = [row for row in rows if row[1] >= highest * _SEEN][:_MOST_BARS]
    first, last = min(x_value for x_value, _ in rows), max(x_value for x_value, _ in rows)
    frame = _Frame(x=(first - 0.6, last + 0.6), y=(0.0, highest * 1.12), size=_BARS_SIZE, whole_x=True)
    bar = 0.78 * (frame.at_x(1.0) - frame.at_x(0.0))
    pieces = list(frame.axes(x_label, y_label))
    ground = frame.at_y(0.0)
    for x_value, height in rows:
        top = frame.at_y(height)
        pieces.append(
            f'<rect x="{coordinate(frame.at_x(x_value) - bar / 2)}" y="{coordinate(top)}" width="{coordinate(bar)}" '
            f'height="{coordinate(ground - top)}" fill="{BARS}"><title>{x_value:g}: {height:.6g}</title></rect>'
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


def _mark(frame: _Frame, value: float, label: str) -> Iterator[str]:
    x, colour = frame.at_x(value), PALETTE[1]
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


_WHISKER_ROW, _WHISKER_TEXT, _WHISKER_TOP, _WHISKER_FOOT, _WHISKER_WIDTH, _WHISKER_RIGHT = (
    22.0,
    12.5,
    18.0,
    62.0,
    720.0,
    24.0,
)
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
    left = 16.0 + max((width(name, _WHISKER_TEXT) for name in names), default=0.0)
    values = [value for bar in bars for value in (bar.value, bar.high, bar.reference) if value is not None]
    highest = max((value for value in values if math.isfinite(value)), default=1.0) or 1.0
    top = _WHISKER_TOP + (_HEADING if heading else 0.0)
    ground = top + _WHISKER_ROW * max(len(bars), 1)
    high = ground + _WHISKER_FOOT

    def at(value: float) -> float:
        return left + min(max(value, 0.0), highest * 1.02) / (highest * 1.02) * (_WHISKER_WIDTH - left - _WHISKER_RIGHT)

    pieces = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{_WHISKER_WIDTH:g}" height="{high:g}" '
        f'viewBox="0 0 {_WHISKER_WIDTH:g} {high:g}" style="max-width:100%;height:auto" font-family="{FONT}">',
        f"<title>{escaped(title)}</title>",
        f'<rect x="0.5" y="0.5" width="{_WHISKER_WIDTH - 1:g}" height="{high - 1:g}" rx="12" '
        f'fill="{CARD}" stroke="{BORDER}"/>',
    ]
    if heading:
        size = min(_HEADING_SIZE, _HEADING_SIZE * (_WHISKER_WIDTH - 32) / max(1.1 * width(title, _HEADING_SIZE), 1.0))
        pieces.append(
            f'<text x="16" y="30" font-size="{size:.1f}" font-weight="bold" fill="{INK}">{escaped(title)}</text>'
        )
    for tick in ticks(0.0, highest, most=6):
        x = at(tick)
        pieces.append(f'<path d="M{x:.1f} {top:g}V{ground:g}" stroke="{GRID}" fill="none"/>')
        pieces.append(_whisker_text(x, ground + 16, f"{tick:g}", GREY, "middle"))
    for index, (bar, name) in enumerate(zip(bars, names, strict=True)):
        y = top + _WHISKER_ROW * index
        middle = y + _WHISKER_ROW / 2
        text = f"{bar.name}: {bar.value:.6g} ({bar.low:.6g} to {bar.high:.6g})"
        pieces += [
            f"<g><title>{escaped(text)}</title>",
            f'<rect x="{left:.1f}" y="{y + 4:.1f}" width="{at(bar.value) - left:.1f}" height="{_WHISKER_ROW - 8:g}" '
            f'fill="{BARS}"/>',
            f'<path d="M{at(bar.low):.1f} {middle:.1f}H{at(bar.high):.1f}M{at(bar.low):.1f} {middle - 4:.1f}v8'
            f'M{at(bar.high):.1f} {middle - 4:.1f}v8" stroke="{INK}" stroke-width="1.4" fill="none"/>',
        ]
        if bar.reference is not None:
            pieces.append(_cross(at(bar.reference), middle))
        pieces += ["</g>", _whisker_text(left - 8, middle + 4, name, INK, "end")]
    if reference:
        pieces += [_cross(left + 5, ground + 38), _whisker_text(left + 16, ground + 42, reference, RED, "start")]
    return "\n".join([*pieces, "</svg>\n"])


def _cross(x: float, y: float) -> str:
    return f'<path d="M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8" stroke="{RED}" stroke-width="1.5" fill="none"/>'


def _whisker_text(x: float, y: float, text: str, colour: str, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{_WHISKER_TEXT}" fill="{colour}">'
        f"{escaped(text)}</text>"
    )


def _shortened(name: str) -> str:
    """The name, or its beginning where it would leave no room for bars."""
    if width(name, _WHISKER_TEXT) <= _LONGEST_NAME:
        return name
    while name and width(name + "…", _WHISKER_TEXT) > _LONGEST_NAME:
        name = name[:-1]
    return name + "…"


_BAR_WIDTH, _BAR_TEXT = 720.0, 12.5
_BAR, _BAR_ROW, _BAR_TOP, _BAR_FOOT, _BAR_RIGHT = 9.0, 28.0, 18.0, 40.0, 74.0
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
    left = 22 + min(_MOST_LABEL, max((width(name, _BAR_TEXT) for name in shown), default=0.0))
    highest = max((*first, *second), default=0.0) or 1.0
    high = _BAR_TOP + _BAR_ROW * len(names) + _BAR_FOOT
    pieces = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{_BAR_WIDTH:g}" height="{high:g}" '
        f'viewBox="0 0 {_BAR_WIDTH:g} {high:g}" style="max-width:100%;height:auto" font-family="{FONT}">',
        f"<title>{escaped(title)}</title>",
        f'<rect x="0.5" y="0.5" width="{_BAR_WIDTH - 1:g}" height="{high - 1:g}" rx="12" '
        f'fill="{CARD}" stroke="{BORDER}"/>',
    ]
    for row, (name, *values) in enumerate(zip(shown, first, second, strict=True)):
        y = _BAR_TOP + row * _BAR_ROW
        pieces.append(_bar_text(left - 8, y + _BAR + _BAR_TEXT * 0.36, name, "end", INK))
        for index, value in enumerate(values):
            wide = max(0.0, value) / highest * (_BAR_WIDTH - left - _BAR_RIGHT)
            top = y + index * (_BAR + 1)
            pieces.append(
                f'<rect x="{left:.1f}" y="{top:g}" width="{wide:.1f}" height="{_BAR:g}" fill="{PALETTE[index]}"/>'
            )
            pieces.append(_bar_text(left + wide + 5, top + _BAR - 0.5, f"{value:.3g}", "start", GREY, size=9.5))
    x = left
    for index, label in enumerate(labels):
        y = high - 20
        pieces.append(f'<rect x="{x:.1f}" y="{y - 9:g}" width="14" height="{_BAR:g}" fill="{PALETTE[index]}"/>')
        pieces.append(_bar_text(x + 20, y, label, "start", INK))
        x += 44 + width(label, _BAR_TEXT)
    return "\n".join([*pieces, "</svg>\n"])


def _bar_text(x: float, y: float, text: str, anchor: str, colour: str, *, size: float = _BAR_TEXT) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size:g}" fill="{colour}">'
        f"{escaped(text)}</text>"
    )
