"""The marks that charts are made of: lines, boxes, dots and labels with their coordinates, on a card.

A chart is data: its SVG text is written here, and `plots` writes the same marks as PNG or PDF.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self

from symveil.pictures.bezier import Point
from symveil.pictures.svg import coordinate, escaped, svg_document
from symveil.pictures.text import GREY, INK, width

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
