"""Charts: marks on a frame. Curves, bars, bars with whiskers, pairs of bars and tables of heat, made in a millisecond.

A chart is data, a few kinds of marks with their coordinates, and its SVG text is written from that. `plots` writes the
same marks as PNG or PDF. As in `svg`, a picture brings its own white card and uses no style sheet and no id.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.pictures.bezier import Point
from symveil.pictures.limits import LIMITS
from symveil.pictures.marks import Box, Chart, Dot, Label, Line, Mark
from symveil.pictures.text import BARS, BLUE, GREY, GRID, INK, RED, superscript, width

Numbers = Sequence[float] | NDArray[np.float64] | NDArray[np.int64]
Style = Literal["solid", "dashed", "dotted", "points"]

# Okabe and Ito's colours, which stay apart for colour-blind readers, darkened until text in them
# has a contrast of 4.5 against white.
PALETTE = ("#0072b2", "#b84a00", "#00785a", "#a4457f", "#8a6100", "#1b2733")


# --- what is drawn ----------------------------------------------------------------------------------


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


@dataclass(frozen=True, slots=True)
class Whisker:
    """A bar: its name, its length, the interval around it, and another value to compare it with."""

    name: str
    value: float
    low: float
    high: float
    reference: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell: where it is, how dark, what is written in it, and what it says when pointed at."""

    column: int
    row: int
    heat: float
    value: str = ""
    annotation: str = ""
    hint: str = ""


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


# --- curves and bars in a frame ---------------------------------------------------------------------

_BARS_SIZE, _CURVES_HIGH = (520.0, 300.0), 360.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 18.0, 22.0, 50.0
_SIZE = 12.5
_LEGEND_ROW = 20.0
_DASHES: dict[Style, tuple[float, ...]] = {"solid": (), "dashed": (6, 4), "dotted": (1.5, 4), "points": ()}


@dataclass(frozen=True, slots=True)
class _Frame:
    """The rectangle between the axes, and where a point lies in it; on an axis of powers values are exponents of 10."""

    x: tuple[float, float]
    y: tuple[float, float]
    size: tuple[float, float]
    whole_x: bool = False
    powers_x: bool = False
    powers_y: bool = False

    def at(self, x: float, y: float) -> Point:
        across, up = (
            (x - self.x[0]) / ((self.x[1] - self.x[0]) or 1.0),
            (y - self.y[0]) / ((self.y[1] - self.y[0]) or 1.0),
        )
        wide, high = self.size[0] - _LEFT - _RIGHT, self.size[1] - _TOP - _BOTTOM
        return _LEFT + across * wide, self.size[1] - _BOTTOM - up * high

    @property
    def ground(self) -> float:
        return self.size[1] - _BOTTOM

    def axes(self, x_label: str, y_label: str) -> Iterator[Mark]:
        left, right = _LEFT, self.size[0] - _RIGHT
        for value, text in _spelled_ticks(self.y, 5, powers=self.powers_y):
            y = self.at(self.x[0], value)[1]
            yield Line(((left, y), (right, y)), GRID)
            yield Label(left - 7, y + _SIZE * 0.35, text, anchor="end")
        for value, text in _spelled_ticks(self.x, 9, whole=self.whole_x, powers=self.powers_x):
            yield Label(self.at(value, self.y[0])[0], self.ground + 18, text)
        yield Line(((left, self.ground), (right, self.ground)), GREY)
        yield Label((left + right) / 2, self.ground + 38, x_label, INK)
        yield Label(15, (_TOP + self.ground) / 2, y_label, INK, upright=True)

    def pointed_out(self, value: float, label: str) -> Iterator[Mark]:
        """A line at a value of the horizontal axis, with a name."""
        x, colour = self.at(value, self.y[0])[0], PALETTE[1]
        yield Line(((x, _TOP), (x, self.ground)), colour, 1.6, (5, 4))
        if label:
            fits_right = x + 6 + width(label, _SIZE) < self.size[0] - 4
            yield Label(x + (6 if fits_right else -6), _TOP + 4, label, colour, "start" if fits_right else "end")


def bars_chart(
    positions: Numbers,
    heights: Numbers,
    *,
    title: str,
    x_label: str,
    y_label: str,
    mark: float | None = None,
    mark_label: str = "",
) -> Chart:
    """A law as bars; `mark` points a place on the horizontal axis out, such as the expected value.

    Of many bars those that are too low to be seen are left out; if many are left, they are one shape.

    >>> law = bars_chart([0, 1], [0.75, 0.25], title="law", x_label="changed", y_label="probability", mark=0.25)
    >>> law.to_svg().count("<rect"), "<title>0: 0.75</title>" in law.to_svg()
    (3, True)
    """
    xs, values = [float(each) for each in positions], [float(each) for each in heights]
    if len(xs) != len(values) or not xs:
        raise ParameterError(
            "heights", expected="one for each of at least one position", found=f"{len(values)} for {len(xs)}"
        )
    if not all(math.isfinite(each) and each >= 0 for each in values):
        raise ParameterError("heights", expected="finite values, 0 or more", found="another one")
    highest = max(values) or 1.0
    rows = list(zip(xs, values, strict=True))
    if len(rows) > LIMITS.now.bars:
        rows = [row for row in rows if row[1] >= highest * LIMITS.now.faint_bar]
    first, last = min(x for x, _ in rows), max(x for x, _ in rows)
    frame = _Frame(x=(first - 0.6, last + 0.6), y=(0.0, highest * 1.12), size=_BARS_SIZE, whole_x=True)
    marks = list(frame.axes(x_label, y_label))
    if len(rows) > LIMITS.now.bars:
        steps = [frame.at(x + side, height) for x, height in rows for side in (-0.5, 0.5)]
        marks.append(Line(((steps[0][0], frame.ground), *steps, (steps[-1][0], frame.ground)), BARS, opacity=1.0))
    else:
        bar = 0.78 * (frame.at(1.0, 0.0)[0] - frame.at(0.0, 0.0)[0])
        for x_value, height in rows:
            x, top = frame.at(x_value, height)
            marks.append(Box(x - bar / 2, top, bar, frame.ground - top, BARS, hint=f"{x_value:g}: {height:.6g}"))
    if mark is not None:
        marks += frame.pointed_out(mark, mark_label)
    return Chart(title, *_BARS_SIZE, tuple(marks))


def curves_chart(
    curves: Sequence[Curve],
    bands: Sequence[Band] = (),
    *,
    title: str,
    x_label: str,
    y_label: str,
    mark: float | None = None,
    mark_label: str = "",
    logarithmic: bool = False,
    log_y: bool = False,
    wide: float = 720.0,
) -> Chart:
    """Curves and bands in one frame, named in a legend below it.

    With `logarithmic` both axes count powers of ten, a dot shows each value, and what is not positive is left out;
    with `log_y` the upright axis alone. The chart is `wide`.

    >>> chart = curves_chart([Curve("error", [1, 2], [0.5, 0.25])], title="t", x_label="ε", y_label="changed")
    >>> svg = chart.to_svg()
    >>> svg.count('stroke="#0072b2"'), ">error<" in svg     # the curve, and its line in the legend
    (2, True)
    """
    log_y = log_y or logarithmic
    on_x, on_y = (_exponents if powers else list[float] for powers in (logarithmic, log_y))
    if log_y and not any(value > 0 for curve in curves for value in curve.y):
        raise ParameterError("log_y", expected="a positive value to draw on a logarithmic axis", found="none")
    lines = [list(zip(on_x(curve.x), on_y(curve.y), strict=True)) for curve in curves]
    lines = [[(x, y) for x, y in line if math.isfinite(x + y)] for line in lines]
    regions = [(on_x(band.x), on_y(band.lower), on_y(band.upper)) for band in bands]
    xs = [x for line in lines for x, _ in line] or [0.0, 1.0]
    ys = [y for line in lines for _, y in line] or [0.0, 1.0]
    ys += [value for _, *ends in regions for end in ends for value in end if math.isfinite(value)]
    room = 0.04 * ((max(ys) - min(ys)) or 1.0)
    y_range = (min(ys) - room, max(ys) + room) if log_y else (min(0.0, *ys), (max(ys) * 1.06) or 1.0)
    frame = _Frame((min(xs), max(xs)), y_range, (wide, _CURVES_HIGH), powers_x=logarithmic, powers_y=log_y)
    marks = list(frame.axes(x_label, y_label))
    for number, (across, lower, upper) in enumerate(regions):
        there = [frame.at(x, y if math.isfinite(y) else y_range[0]) for x, y in zip(across, upper, strict=True)]
        back = [frame.at(x, y if math.isfinite(y) else y_range[0]) for x, y in zip(across, lower, strict=True)]
        marks.append(Line((*there, *reversed(back)), PALETTE[number % len(PALETTE)], opacity=0.18))
    for number, (curve, line) in enumerate(zip(curves, lines, strict=True)):
        colour, points = PALETTE[number % len(PALETTE)], tuple(frame.at(x, y) for x, y in line)
        alone = curve.style == "points" or len(points) == 1
        if alone or logarithmic:
            marks += [Dot(x, y, 4.0 if alone else 3.0, colour) for x, y in points]
        if not alone and points:
            marks.append(Line(points, colour, 2.2, _DASHES[curve.style]))
    if mark is not None:
        marks += frame.pointed_out(mark, mark_label)
    legend, high = _legend(curves, wide)
    return Chart(title, wide, high, (*marks, *legend))


def _legend(curves: Sequence[Curve], most: float) -> tuple[list[Mark], float]:
    """The names of the curves below the frame, in as many rows as they need, and the height of the picture."""
    marks: list[Mark] = []
    x, y = _LEFT, _CURVES_HIGH + 8
    for number, curve in enumerate(curves):
        wide = 34 + width(curve.label, _SIZE) + 12
        if x > _LEFT and x + wide > most:
            x, y = _LEFT, y + _LEGEND_ROW
        colour, middle = PALETTE[number % len(PALETTE)], y - _SIZE * 0.35
        if curve.style == "points":
            marks.append(Dot(x + 13, middle, 4.0, colour))
        else:
            marks.append(Line(((x, middle), (x + 26, middle)), colour, 2.2, _DASHES[curve.style]))
        marks.append(Label(x + 33, y, curve.label, colour, "start"))
        x += wide
    return marks, y + 14


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


_FEW_POWERS = 3.0  # of ten, between which 2 and 5 times each are shown as well


def _spelled_ticks(
    ends: tuple[float, float], most: int, *, whole: bool = False, powers: bool = False
) -> list[tuple[float, str]]:
    """Values to show on an axis, and how they are written; of powers of ten the exponents."""
    if not powers:
        return [(value, f"{value:g}") for value in ticks(*ends, most=most, whole=whole)]
    if ends[1] - ends[0] > _FEW_POWERS:
        return [(value, _power_of_ten(value)) for value in ticks(*ends, most=8, whole=True)]
    between = range(math.floor(ends[0]), math.ceil(ends[1]) + 1)
    values = [exponent + math.log10(factor) for exponent in between for factor in (1, 2, 5)]
    return [(each, f"{round(10**each, 12):.4g}") for each in values if ends[0] - 1e-9 <= each <= ends[1] + 1e-9]


def _power_of_ten(exponent: float) -> str:
    """The number itself where it is short, else its power of ten.

    >>> [_power_of_ten(exponent) for exponent in (-3, 0, 2, 6)]
    ['10⁻³', '1', '100', '10⁶']
    """
    if exponent in (0.0, 1.0, 2.0, 3.0):
        return f"{10**exponent:g}"
    return f"10{superscript(int(exponent))}"


def _exponents(values: Numbers) -> list[float]:
    return [math.log10(value) if value > 0 else math.nan for value in values]


# --- bars with names, from the left -----------------------------------------------------------------

_ROWS_WIDTH, _ROWS_TOP = 560.0, 18.0
_LONGEST_NAME, _SMALLEST = 200.0, 9.5
_WHISKER_ROW, _WHISKER_FOOT, _WHISKER_RIGHT = 22.0, 62.0, 24.0
_PAIR_BAR, _PAIR_ROW, _PAIR_FOOT, _PAIR_RIGHT = 9.0, 28.0, 40.0, 74.0


def whiskers_chart(bars: Sequence[Whisker], *, title: str, reference: str = "") -> Chart:
    """Bars from the left, each with its interval; a cross stands where the reference value is.

    >>> picture = whiskers_chart([Whisker("a", 3.0, 2.0, 4.0, 3.5)], title="visits", reference="as released").to_svg()
    >>> "<title>a: 3 (2 to 4)</title>" in picture, ">as released<" in picture
    (True, True)
    """
    names, size, left = _named_rows([bar.name for bar in bars])
    values = [value for bar in bars for value in (bar.value, bar.high, bar.reference) if value is not None]
    highest = max((value for value in values if math.isfinite(value)), default=1.0) or 1.0
    top = _ROWS_TOP
    ground = top + _WHISKER_ROW * max(len(bars), 1)

    def at(value: float) -> float:
        return left + min(max(value, 0.0), highest * 1.02) / (highest * 1.02) * (_ROWS_WIDTH - left - _WHISKER_RIGHT)

    marks: list[Mark] = []
    for tick in ticks(0.0, highest, most=6):
        marks += [Line(((at(tick), top), (at(tick), ground)), GRID), Label(at(tick), ground + 16, f"{tick:g}")]
    for index, (bar, name) in enumerate(zip(bars, names, strict=True)):
        y = top + _WHISKER_ROW * index
        middle, low, high = y + _WHISKER_ROW / 2, at(bar.low), at(bar.high)
        hint = f"{bar.name}: {bar.value:.6g} ({bar.low:.6g} to {bar.high:.6g})"
        marks.append(Box(left, y + 4, at(bar.value) - left, _WHISKER_ROW - 8, BARS, hint=hint))
        marks += [Line(((x, middle - 4), (x, middle + 4)), INK, 1.4) for x in (low, high)]
        marks.append(Line(((low, middle), (high, middle)), INK, 1.4))
        if bar.reference is not None:
            marks += _cross(at(bar.reference), middle)
        marks.append(Label(left - 8, middle + 4, name, INK, "end", size, hint=hint))
    if reference:
        marks += [*_cross(left + 5, ground + 38), Label(left + 16, ground + 42, reference, RED, "start")]
    return Chart(title, _ROWS_WIDTH, ground + _WHISKER_FOOT, tuple(marks))


def paired_bars_chart(
    names: Sequence[str], first: Sequence[float], second: Sequence[float], *, title: str, labels: tuple[str, str]
) -> Chart:
    """A pair of bars for each name, with their values; `labels` say what the first and the second bars are.

    >>> picture = paired_bars_chart(["main st"], [0.5], [0.25], title="visits", labels=("true", "private")).to_svg()
    >>> picture.count("<rect"), ">0.25<" in picture
    (5, True)
    """
    shown, size, left = _named_rows(names)
    highest = max((*first, *second), default=0.0) or 1.0
    high = _ROWS_TOP + _PAIR_ROW * len(names) + _PAIR_FOOT
    marks: list[Mark] = []
    for row, (name, *values) in enumerate(zip(shown, first, second, strict=True)):
        y = _ROWS_TOP + row * _PAIR_ROW
        marks.append(Label(left - 8, y + _PAIR_BAR + size * 0.36, name, INK, "end", size))
        for index, value in enumerate(values):
            wide, top = max(0.0, value) / highest * (_ROWS_WIDTH - left - _PAIR_RIGHT), y + index * (_PAIR_BAR + 1)
            marks.append(Box(left, top, wide, _PAIR_BAR, PALETTE[index]))
            marks.append(Label(left + wide + 5, top + _PAIR_BAR - 0.5, f"{value:.3g}", anchor="start", size=9.5))
    x = left
    for index, label in enumerate(labels):
        marks += [Box(x, high - 29, 14, _PAIR_BAR, PALETTE[index]), Label(x + 20, high - 20, label, INK, "start")]
        x += 44 + width(label, _SIZE)
    return Chart(title, _ROWS_WIDTH, high, tuple(marks))


def _cross(x: float, y: float) -> list[Mark]:
    return [Line(((x - 4, y - 4 * way), (x + 4, y + 4 * way)), RED, 1.5) for way in (1, -1)]


def _named_rows(names: Sequence[str]) -> tuple[list[str], float, float]:
    """Names that leave room for bars, in smaller letters where some are long; their size; and where the bars begin."""
    longest = max((width(name, _SIZE) for name in names), default=0.0)
    size = max(_SMALLEST, _SIZE * min(1.0, _LONGEST_NAME / (longest or 1.0)))
    shown = [_shortened(name, _LONGEST_NAME, size) for name in names]
    return shown, size, 18.0 + max((width(name, size) for name in shown), default=0.0)


def _shortened(name: str, longest: float, size: float) -> str:
    """The name, or its beginning where it would be too long."""
    if width(name, size) <= longest:
        return name
    while name and width(name + "…", size) > longest:
        name = name[:-1]
    return name + "…"


# --- tables of heat ---------------------------------------------------------------------------------

_SQUARE, _SQUARE_SIZE, _SQUARE_TOP, _SQUARE_MARGIN, _SQUARE_FOOT = 22.0, 11.5, 50.0, 16.0, 26.0
_CELL_WIDE, _CELL_HIGH, _GRID_MARGIN, _GRID_LEFT, _GRID_FOOT = 46.0, 34.0, 20.0, 54.0, 82.0


def heat_chart(values: NDArray[np.float64], *, names: Sequence[str], title: str) -> Chart:
    """A cell for each pair: from the name of its row to the name of its column. Values that are not known stay white.

    >>> picture = heat_chart(np.array([[1.0, 0.0], [np.nan, 3.0]]), names=["a", "b"], title="moves").to_svg()
    >>> "<title>b → b: 3</title>" in picture, picture.count("<rect")
    (True, 4)
    """
    size, margin = _SQUARE_SIZE, _SQUARE_MARGIN
    shown = [_shortened(name, 110.0, size) for name in names]
    left = margin + 8 + max((width(name, size) for name in shown), default=0.0)
    top = _SQUARE_TOP + left - margin  # names of columns stand upright
    wide = max(left + _SQUARE * len(names) + margin, 260.0, 1.1 * width(title, 13.0) + 2 * margin)  # which is in bold
    highest = float(np.nanmax(values, initial=0.0)) or 1.0
    marks: list[Mark] = [
        Label(margin, 24, title, INK, "start", 13.0, bold=True),
        Label(margin, 42, "from row to column", INK, "start", size),
    ]
    for row, name in enumerate(shown):
        middle = _SQUARE * (row + 0.5)
        marks.append(Label(left - 6, top + middle + 4, name, anchor="end", size=size))
        marks.append(Label(left + middle + 4, top - 6, name, anchor="start", size=size, upright=True))
        for column, value in enumerate(values[row].tolist()):
            if not np.isnan(value):
                x, y = left + _SQUARE * column + 0.5, top + _SQUARE * row + 0.5
                shade = 0.02 + 0.93 * (min(max(value, 0.0), highest) / highest) ** 0.5
                hint = f"{names[row]} → {names[column]}: {value:.6g}"
                marks.append(Box(x, y, _SQUARE - 1, _SQUARE - 1, BLUE, shade, hint))
    return Chart(title, wide, top + _SQUARE * len(names) + _SQUARE_FOOT, tuple(marks))


def heat_grid_chart(
    cells: Sequence[Cell],
    *,
    title: str,
    columns: Sequence[str],
    rows: Sequence[str],
    x_label: str,
    y_label: str,
    value_meaning: str,
    annotation_meaning: str,
) -> Chart:
    """The cells on a grid whose rows count upwards, with names for columns and rows.

    What `svg` is for automata that can be read state by state, this is for those that cannot: position × errors,
    summed over the states of a model. A number in blue and one in red stand in each cell.

    >>> chart = heat_grid_chart(
    ...     [Cell(column=0, row=0, heat=1.0, value="100 %", hint="at the start")], title="one cell", columns=["0"],
    ...     rows=["0"], x_label="symbols", y_label="errors", value_meaning="P", annotation_meaning="μ",
    ... )
    >>> "<title>at the start</title>" in chart.to_svg(), chart.to_svg().count("<rect")
    (True, 2)
    """
    left, ground = _GRID_LEFT, _GRID_MARGIN + len(rows) * _CELL_HIGH
    marks: list[Mark] = []
    for cell in cells:
        x, y = left + cell.column * _CELL_WIDE, ground - (cell.row + 1) * _CELL_HIGH
        # never so dark that the numbers in it could not be read
        shade = 0.04 + 0.34 * min(1.0, max(0.0, cell.heat)) ** 0.5
        marks.append(Box(x + 1, y + 1, _CELL_WIDE - 2, _CELL_HIGH - 2, BLUE, shade, cell.hint))
        middle = x + _CELL_WIDE / 2
        if cell.value:
            marks.append(Label(middle, y + 15, cell.value, BLUE, size=11.5, bold=True, passive=True))
        if cell.annotation:
            marks.append(Label(middle, y + 28, cell.annotation, RED, size=10.5, passive=True))
    marks += [Label(left + (index + 0.5) * _CELL_WIDE, ground + 17, name) for index, name in enumerate(columns)]
    marks += [
        Label(left - 8, ground - (index + 0.5) * _CELL_HIGH + 4, name, anchor="end") for index, name in enumerate(rows)
    ]
    marks += [
        Label(left, ground + 38, x_label, INK, "start"),
        Label(18, (_GRID_MARGIN + ground) / 2, y_label, INK, upright=True),
        Label(left, ground + 62, value_meaning, BLUE, "start"),
        Label(left + 150, ground + 62, annotation_meaning, RED, "start"),
    ]
    wide = left + max(len(columns) * _CELL_WIDE, 330.0) + _GRID_MARGIN
    return Chart(title, wide, ground + _GRID_FOOT, tuple(marks))
