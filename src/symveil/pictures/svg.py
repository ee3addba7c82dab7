"""A diagram as SVG: one self-contained string, readable in light and dark notebooks alike.

The picture brings its own white card, so that its colours do not depend on the page; it uses
neither style sheets nor ids, because inside a notebook both would be shared with the page.

What draws itself: one description as a diagram, and from it every format.
"""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from symveil.errors import TooLargeError
from symveil.pictures.bezier import Outline, Path
from symveil.pictures.diagram import Diagram, to_dot
from symveil.pictures.layout import (
    LABEL_SIZE,
    LINE_HEIGHT,
    NODE_SIZE,
    VALUE_SIZE,
    Arrow,
    Layout,
    PlacedNode,
    PlacedText,
    Role,
    lay_out,
)
from symveil.pictures.text import BLUE, BORDER, CARD, GREY, GROUND, INK, LINE, MARKED, RED, displayable, width

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
_COLOUR: dict[Role, str] = {"label": INK, "annotation": RED, "value": BLUE}
_SIZE: dict[Role, float] = {"label": LABEL_SIZE, "annotation": LABEL_SIZE, "value": VALUE_SIZE}
_WEIGHT: dict[Role, str] = {"label": "500", "annotation": "400", "value": "600"}
_MARGIN = 26.0
_TITLE_SIZE = 15.0
_LEGEND_SIZE = 12.0
_LEGEND_GAP = 22.0
_WIDENED = 0.7
_DASHES = ' stroke-dasharray="5 4"'
_BASELINE = 0.35  # of the font size, from the middle of a line of text down to its baseline


def to_svg(diagram: Diagram) -> str:
    """The diagram as an SVG document.

    >>> from symveil.pictures.diagram import Node
    >>> dot = Node(key=0, column=0, row=0, label=("q<0>",), value="12", initial=True)
    >>> picture = to_svg(Diagram(title="one state", nodes=(dot,), edges=()))
    >>> picture[:4], "<title>one state</title>" in picture, "q&lt;0&gt;" in picture
    ('<svg', True, True)
    """
    layout = lay_out(diagram)
    legend = _legend(diagram)
    title_width = width(diagram.title, _TITLE_SIZE) * 1.06  # it is set bolder than the widths are for
    legend_width = sum(entry.width + _LEGEND_GAP for entry in legend)
    longest_entry = max((entry.width for entry in legend), default=0.0)
    # A small picture is made wide enough for a legend in one row, if that is not too long.
    one_row = legend_width if layout.right - layout.left > _WIDENED * legend_width else 0.0
    inner = max(layout.right - layout.left, title_width, longest_entry, one_row)
    rows = _legend_rows(legend, inner)
    title_height = _TITLE_SIZE + 20 if diagram.title else 0.0
    legend_height = 18 + len(rows) * _LEGEND_SIZE * 1.6 if rows else 0.0
    wide = inner + 2 * _MARGIN
    high = layout.bottom - layout.top + title_height + legend_height + 2 * _MARGIN

    shift_x = _MARGIN + (inner - (layout.right - layout.left)) / 2 - layout.left
    shift_y = _MARGIN + title_height - layout.top
    pieces = []
    if diagram.title:
        pieces.append(
            f'<text x="{coordinate(_MARGIN)}" y="{coordinate(_MARGIN + _TITLE_SIZE * 0.8)}" text-anchor="start" '
            f'font-size="{coordinate(_TITLE_SIZE)}" font-weight="600" fill="{INK}">{escaped(diagram.title)}</text>'
        )
    pieces.append(f'<g transform="translate({coordinate(shift_x)} {coordinate(shift_y)})">')
    pieces += _graph(layout)
    pieces.append("</g>")
    pieces += _legend_lines(rows, top=high - _MARGIN - legend_height + 18)
    attributes = ' xml:space="preserve" text-anchor="middle"'
    return svg_document(diagram.title, pieces, wide=wide, high=high, attributes=attributes)


def _graph(layout: Layout) -> list[str]:
    return [
        f'<g fill="none" stroke="{LINE}" stroke-width="1.4" stroke-linecap="round">',
        *(f'<path d="{_path(arrow.line)}"{_DASHES if arrow.dashed else ""}/>' for arrow in layout.arrows),
        "</g>",
        f'<g fill="{LINE}">',
        *(_arrowhead(arrow) for arrow in layout.arrows),
        "</g>",
        *(_node(placed, layout.outline) for placed in layout.nodes),
        *(_placed_text(text) for text in layout.texts),
    ]


def _path(path: Path) -> str:
    curves = (
        "C" + " ".join(_point(*point) for point in (piece.first_control, piece.second_control, piece.end))
        for piece in path.pieces
    )
    return f"M{_point(*path.start)}" + "".join(curves)


def _point(x: float, y: float) -> str:
    return f"{coordinate(x)} {coordinate(y)}"


def _arrowhead(arrow: Arrow) -> str:
    """A slender dart whose back the line runs into."""
    back_x, back_y = arrow.line.end
    tip_x, tip_y = arrow.tip
    along_x, along_y = tip_x - back_x, tip_y - back_y
    tail_x, tail_y = back_x - along_x * 0.28, back_y - along_y * 0.28
    side_x, side_y = -along_y * 0.52, along_x * 0.52
    corners = ((tip_x, tip_y), (tail_x + side_x, tail_y + side_y), (back_x, back_y), (tail_x - side_x, tail_y - side_y))
    return f'<path d="M{"L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in corners)}Z"/>'


def _node(placed: PlacedNode, outline: Outline) -> str:
    node = placed.node
    ground = MARKED if node.marked else GROUND
    shapes = [_outline(placed, outline, inset=0.0, attributes=f'fill="{ground}" stroke="{INK}" stroke-width="1.5"')]
    if node.current:
        halo = f'fill="none" stroke="{BLUE}" stroke-width="3.4"'
        shapes.insert(0, _outline(placed, outline, inset=-4.5, attributes=halo))
    if node.accepting:
        ring = f'fill="none" stroke="{INK}" stroke-width="1.2"'
        shapes.append(_outline(placed, outline, inset=3.6, attributes=ring))
    step = NODE_SIZE * LINE_HEIGHT
    first = placed.y - (len(node.label) - 1) * step / 2 + NODE_SIZE * _BASELINE
    texts = [
        f'<text x="{coordinate(placed.x)}" y="{coordinate(first + index * step)}">{escaped(text)}</text>'
        for index, text in enumerate(node.label)
    ]
    return f'<g>{"".join(shapes)}<g font-size="{coordinate(NODE_SIZE)}" fill="{INK}">{"".join(texts)}</g></g>'


def _outline(placed: PlacedNode, outline: Outline, *, inset: float, attributes: str) -> str:
    half_width, radius = outline.half_width - inset, outline.radius - inset
    return (
        f'<rect x="{coordinate(placed.x - half_width)}" y="{coordinate(placed.y - radius)}" '
        f'width="{coordinate(2 * half_width)}" height="{coordinate(2 * radius)}" '
        f'rx="{coordinate(radius)}" {attributes}/>'
    )


def _placed_text(placed: PlacedText) -> str:
    box, size = placed.box, _SIZE[placed.role]
    turn = f" rotate({coordinate(box.angle)})" if abs(box.angle) > 0.05 else ""
    plate = ""
    if not placed.clear:
        plate = (
            f'<rect x="{coordinate(-box.width / 2)}" y="{coordinate(-box.height / 2)}" width="{coordinate(box.width)}" '
            f'height="{coordinate(box.height)}" rx="3" fill="{CARD}" fill-opacity="0.88"/>'
        )
    style = f'font-size="{coordinate(size)}" font-weight="{_WEIGHT[placed.role]}" fill="{_COLOUR[placed.role]}"'
    lines = placed.text.split("\n")
    first = size * (_BASELINE - (len(lines) - 1) * LINE_HEIGHT / 2)
    texts = (
        f'<text y="{coordinate(first + index * size * LINE_HEIGHT)}" {style}>{escaped(line)}</text>'
        for index, line in enumerate(lines)
    )
    return f'<g transform="translate({coordinate(box.x)} {coordinate(box.y)}){turn}">{plate}{"".join(texts)}</g>'


# --- legend --------------------------------------------------------------------------------------

_SAMPLE = {
    "": 0.0,
    "marked": 20.0,
    "dashed": 28.0,
    "current": 24.0,
}  # how wide the sample of a ground or of a line is, with a gap


@dataclass(frozen=True, slots=True)
class _Entry:
    """A text of the legend, after a sample of what it is about where the text's colour does not say so."""

    text: str
    colour: str
    sample: Literal["", "marked", "dashed", "current"] = ""

    @property
    def width(self) -> float:
        return width(self.text, _LEGEND_SIZE) + _SAMPLE[self.sample]


def _legend(diagram: Diagram) -> list[_Entry]:
    entries = (
        _Entry(diagram.label_meaning, GREY),
        _Entry(diagram.value_meaning, BLUE),
        _Entry(diagram.annotation_meaning, RED),
        _Entry(diagram.marked_meaning, GREY, "marked"),
        _Entry(diagram.dashed_meaning, GREY, "dashed"),
        _Entry(diagram.current_meaning, GREY, "current"),
    )
    return [entry for entry in entries if entry.text]


def _legend_rows(entries: list[_Entry], inner: float) -> list[list[_Entry]]:
    """The entries in as few rows as the picture is wide enough for."""
    rows: list[list[_Entry]] = []
    room = 0.0
    for entry in entries:
        if not rows or room < entry.width + _LEGEND_GAP:
            rows.append([])
            room = inner + _LEGEND_GAP
        rows[-1].append(entry)
        room -= entry.width + _LEGEND_GAP
    return rows


def _legend_lines(rows: list[list[_Entry]], *, top: float) -> list[str]:
    lines = []
    for index, row in enumerate(rows):
        x, y = _MARGIN, top + (index + 0.75) * _LEGEND_SIZE * 1.6
        for entry in row:
            if entry.sample:
                lines.append(_sample(entry, x, y - _LEGEND_SIZE * _BASELINE))
            lines.append(
                f'<text x="{coordinate(x + _SAMPLE[entry.sample])}" y="{coordinate(y)}" text-anchor="start" '
                f'font-size="{coordinate(_LEGEND_SIZE)}" fill="{entry.colour}">{escaped(entry.text)}</text>'
            )
            x += entry.width + _LEGEND_GAP
    return lines


def _sample(entry: _Entry, x: float, y: float) -> str:
    if entry.sample == "dashed":
        line = f"M{_point(x, y)}H{coordinate(x + 22)}"
        return f'<path d="{line}" fill="none" stroke="{LINE}" stroke-width="1.4"{_DASHES}/>'
    if entry.sample == "current":
        return (
            f'<rect x="{coordinate(x + 1)}" y="{coordinate(y - 7)}" width="14" height="14" rx="7" fill="none" '
            f'stroke="{BLUE}" stroke-width="3"/>'
        )
    return (
        f'<rect x="{coordinate(x)}" y="{coordinate(y - 7)}" width="14" height="14" rx="7" fill="{MARKED}" '
        f'stroke="{INK}" stroke-width="1.2"/>'
    )


def svg_document(title: str, pieces: Sequence[str], *, wide: float, high: float, attributes: str = "") -> str:
    """A picture on its white card. `attributes` are more of those of the outermost element."""
    width, height = coordinate(wide), coordinate(high)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" style="max-width:100%;height:auto" font-family="{FONT}"{attributes}>',
            f"<title>{escaped(title)}</title>",
            f'<rect x="0.5" y="0.5" width="{coordinate(wide - 1)}" height="{coordinate(high - 1)}" rx="12" '
            f'fill="{CARD}" stroke="{BORDER}"/>',
            *pieces,
            "</svg>\n",
        ]
    )


def escaped(text: str) -> str:
    """Text as it may stand in an SVG document."""
    return html.escape(displayable(text), quote=False)  # as xml.sax does, which loads a client for HTTP


def coordinate(value: float) -> str:
    """A coordinate with one decimal, without a trailing zero or a negative zero."""
    return f"{round(value, 1) + 0.0:g}"


class Drawable(ABC):
    """Has a diagram, and so is drawn in notebooks and files."""

    __slots__ = ()

    @abstractmethod
    def to_diagram(self) -> Diagram:
        """The picture before any format; refused with `TooLargeError` when it is too large to read."""

    def to_svg(self) -> str:
        """The drawing as a self-contained SVG document."""
        return to_svg(self.to_diagram())

    def to_dot(self) -> str:
        """The drawing as a Graphviz graph."""
        return to_dot(self.to_diagram())

    def _repr_svg_(self) -> str | None:
        """What a notebook shows; None, so that it shows the text, where a drawing would be too large."""
        try:
            return self.to_svg()
        except TooLargeError:
            return None
