"""Charts as files: SVG, which is written here, or the same marks as PNG or PDF by matplotlib, an extra.

Figures are objects of their own and never touch pyplot, whose global state belongs to the user.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from symveil.errors import InputError, ParameterError, either
from symveil.pictures.marks import Box, Chart, Dot, Label, Line, Mark
from symveil.pictures.text import CARD, displayable
from symveil.storage.files import write_files

SUFFIXES = (".svg", ".png", ".pdf")
"""What a chart can be written as; all but the first need the extra `plots`."""

_DOTS_PER_INCH = 220
_POINTS = 0.72  # of a unit of a chart, of which 100 are an inch
_ANCHORS = {"start": "left", "middle": "center", "end": "right"}


def save_chart(chart: Chart, path: Path | str) -> None:
    """Write a chart below its title to a file, whole or not at all; the suffix of its name says in which format.

    Parameters
    ----------
    chart
        What is drawn.
    path
        A name that ends in `.svg`, or in `.png` or `.pdf` where the extra `plots` is installed.
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
