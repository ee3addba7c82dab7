"""The marks that charts are made of: lines, boxes, dots and labels with their coordinates, on a card.

A chart is data. It is written as SVG here, or as PNG or PDF by matplotlib, an extra; figures are objects of their own
and never touch pyplot, whose global state belongs to the user.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

from symveil.errors import InputError, ParameterError, either
from symveil.pictures.bezier import Point
from symveil.pictures.svg import coordinate, escaped, svg_document
from symveil.pictures.text import CARD, GREY, INK, displayable, width
from symveil.storage.files import write_files

_HEADING, _HEADING_SIZE = 30.0, 14.0

Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points; with `opacity` the region inside it instead."""

    points: tuple[Point, ...]
    colour: str
    wide: float = 1.0
    dashes: tuple[float, ...] = ()
    opacity: float | None = None

    def svg(self) -> str:
        """As an element of SVG."""
        path = "L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in self.points)
        if self.opacity is not None:
            return f'<path d="M{path}Z" fill="{self.colour}" fill-opacity="{self.opacity:g}"/>'
        dashes = f' stroke-dasharray="{" ".join(f"{each:g}" for each in self.dashes)}"' if self.dashes else ""
        return (
            f'<path d="M{path}" fill="none" stroke="{self.colour}" stroke-width="{self.wide:g}" '
            f'stroke-linejoin="round"{dashes}/>'
        )

    def moved_down(self, by: float) -> Line:
        """The same, lower."""
        return replace(self, points=tuple((x, y + by) for x, y in self.points))


@dataclass(frozen=True, slots=True)
class _Placed:
    """A mark at one point."""

    x: float
    y: float

    def moved_down(self, by: float) -> Self:
        """The same, lower."""
        return replace(self, y=self.y + by)


@dataclass(frozen=True, slots=True)
class Box(_Placed):
    """A rectangle, and what it says when it is pointed at."""

    wide: float
    high: float
    colour: str
    opacity: float = 1.0
    hint: str = ""

    def svg(self) -> str:
        """As an element of SVG."""
        opacity = "" if self.opacity == 1.0 else f' fill-opacity="{self.opacity:.3f}"'
        return (
            f'<rect x="{coordinate(self.x)}" y="{coordinate(self.y)}" width="{coordinate(self.wide)}" '
            f'height="{coordinate(self.high)}" fill="{self.colour}"{opacity}>{_hint(self.hint)}</rect>'
        )


@dataclass(frozen=True, slots=True)
class Dot(_Placed):
    """A filled circle."""

    radius: float
    colour: str

    def svg(self) -> str:
        """As an element of SVG."""
        return f'<circle cx="{coordinate(self.x)}" cy="{coordinate(self.y)}" r="{self.radius:g}" fill="{self.colour}"/>'


@dataclass(frozen=True, slots=True)
class Label(_Placed):
    """A line of text; `upright` ones are read from below, and below `passive` ones another mark is pointed at."""

    text: str
    colour: str = GREY
    anchor: Anchor = "middle"
    size: float = 12.5
    bold: bool = False
    upright: bool = False
    hint: str = ""
    passive: bool = False

    def svg(self) -> str:
        """As an element of SVG."""
        x, y = coordinate(self.x), coordinate(self.y)
        where = f'transform="translate({x} {y}) rotate(-90)"' if self.upright else f'x="{x}" y="{y}"'
        more = ' font-weight="600"' if self.bold else ""
        more += ' pointer-events="none"' if self.passive else ""
        return (
            f'<text {where} text-anchor="{self.anchor}" font-size="{self.size:g}"{more} fill="{self.colour}">'
            f"{escaped(self.text)}{_hint(self.hint)}</text>"
        )


def _hint(text: str) -> str:
    return f"<title>{escaped(text)}</title>" if text else ""


Mark = Line | Box | Dot | Label


@dataclass(frozen=True, slots=True)
class Chart:
    """Marks on a card of a size.

    >>> Chart("one", 40.0, 30.0, (Dot(20.0, 15.0, 4.0, INK),)).to_svg().count("<circle")
    1
    """

    title: str
    wide: float
    high: float
    marks: tuple[Mark, ...]

    def titled(self) -> Chart:
        """The same with its title above it, for a picture that is a file of its own."""
        size = min(_HEADING_SIZE, _HEADING_SIZE * (self.wide - 32) / max(1.1 * width(self.title, _HEADING_SIZE), 1.0))
        heading = Label(16, 30, self.title, INK, "start", round(size, 1), bold=True)
        below = (mark.moved_down(_HEADING) for mark in self.marks)
        return Chart(self.title, self.wide, self.high + _HEADING, (heading, *below))

    def to_svg(self) -> str:
        """The chart as a self-contained SVG document."""
        return svg_document(self.title, [mark.svg() for mark in self.marks], wide=self.wide, high=self.high)

    def _repr_svg_(self) -> str:
        return self.to_svg()


SUFFIXES = (".svg", ".png", ".pdf")
"""What a chart can be written as; all but the first need the extra `plots`."""

_DOTS_PER_INCH = 220
_POINTS = 0.72  # of a unit of a chart, of which 100 are an inch
_ANCHORS = {"start": "left", "middle": "center", "end": "right"}


def save_chart(chart: Chart, path: Path | str) -> None:
    """Write a chart below its title to a file, whole or not at all; the suffix of its name says in which format.

    PNG and PDF need the extra `plots`.
    """
    target = Path(path)
    kind = target.suffix.lower()
    if kind not in SUFFIXES:
        raise ParameterError("path", expected=f"a file name ending in {either(SUFFIXES)}", found=repr(target.name))
    write_files({target: _rendered(chart.titled(), kind.removeprefix("."))})


def _rendered(chart: Chart, kind: str) -> bytes:
    if kind == "svg":
        return chart.to_svg().encode()
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - an extra, and heavy
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise InputError(
            f"plots: expected the extra symveil[plots] for pictures as {kind}, found none; pip install "
            '"symveil[plots]", or name a file that ends in .svg'
        ) from None
    figure = Figure(figsize=(chart.wide / 100, chart.high / 100), facecolor=CARD)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0.0, chart.wide)
    axes.set_ylim(chart.high, 0.0)
    axes.set_axis_off()
    for order, mark in enumerate(chart.marks):
        _draw(axes, mark, order)
    # the same numbers should not make another file tomorrow
    metadata = {"Title": displayable(chart.title)} | ({} if kind == "png" else {"CreationDate": None})
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=_DOTS_PER_INCH, facecolor=CARD, metadata=metadata)
    return buffer.getvalue()


def _draw(axes: Any, mark: Mark, order: int) -> None:
    """One mark on matplotlib's axes, above those before it."""
    from matplotlib.patches import Circle, Polygon, Rectangle  # noqa: PLC0415 - as above

    match mark:
        case Line(opacity=None):
            dashes = (0, [each / mark.wide for each in mark.dashes]) if mark.dashes else "solid"
            across, down = zip(*mark.points, strict=True)
            wide = mark.wide * _POINTS
            axes.plot(across, down, color=mark.colour, linewidth=wide, linestyle=dashes, zorder=order)
        case Line():
            axes.add_patch(Polygon(mark.points, color=mark.colour, alpha=mark.opacity, linewidth=0, zorder=order))
        case Box():
            corner, opacity = (mark.x, mark.y), mark.opacity
            axes.add_patch(
                Rectangle(corner, mark.wide, mark.high, color=mark.colour, alpha=opacity, linewidth=0, zorder=order)
            )
        case Dot():
            axes.add_patch(Circle((mark.x, mark.y), mark.radius, color=mark.colour, linewidth=0, zorder=order))
        case Label():
            axes.text(
                mark.x, mark.y, displayable(mark.text), color=mark.colour, fontsize=mark.size * _POINTS,
                fontweight="bold" if mark.bold else "normal", horizontalalignment=_ANCHORS[mark.anchor],
                verticalalignment="baseline", rotation=90 if mark.upright else 0, rotation_mode="anchor",
                parse_math=False, zorder=order,
            )  # fmt: skip
