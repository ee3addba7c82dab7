"""Plots: curves with shaded bounds, and the bars of a law, as PNG or SVG.

Each curve is named at its end, so that colours need not be matched with a legend. Figures are
objects of their own and never touch pyplot, whose global state belongs to the user.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from symveil.errors import ParameterError
from symveil.pictures.charts import PALETTE, Band, Curve, Numbers
from symveil.pictures.text import BARS, GREY, GRID, INK, displayable
from symveil.storage.atomic import write_files

__all__ = ["PALETTE", "Band", "Curve", "draw_bars", "draw_curves"]

_WIDTH, _HEIGHT = 6.2, 3.9  # inches, of the frame
_LABEL_WIDTH = 26  # characters, before a label at the end of a curve is wrapped
_LINE_OF_LABEL = 0.058  # of the height of the frame
_MOST_BARS = 120
_SEEN = 1e-3  # of the highest bar


def draw_curves(
    curves: Sequence[Curve],
    bands: Sequence[Band] = (),
    *,
    title: str,
    x_label: str,
    y_label: str,
    log_y: bool = False,
    path: Path | str,
) -> None:
    """Draw curves and bands into one frame and save it; the suffix of `path` says whether as PNG or SVG.

    The file appears whole or not at all.
    """
    target, kind = _target(path)
    if log_y and not any(value > 0 for curve in curves for value in curve.y):
        raise ParameterError("log_y", expected="a positive value to draw on a logarithmic axis", found="none")
    figure, axes = _frame(title, x_label, y_label)
    if log_y:
        axes.set_yscale("log", nonpositive="mask")
    for number, band in enumerate(bands):
        axes.fill_between(
            band.x, band.lower, band.upper, color=PALETTE[number % len(PALETTE)], alpha=0.16, linewidth=0, zorder=1
        )
    for number, curve in enumerate(curves):
        _draw_curve(axes, curve, PALETTE[number % len(PALETTE)])
    axes.margins(x=0.0)
    lowest = min((value for band in bands for value in band.lower), default=math.inf)
    if log_y and 0 < lowest <= min(value for curve in curves for value in curve.y if value > 0):
        axes.set_ylim(bottom=lowest)  # what is shaded down to the ground has no strip below it
    if not log_y and all(value >= 0 for curve in curves for value in curve.y if math.isfinite(value)):
        axes.set_ylim(bottom=0.0)  # errors and probabilities are read against nothing at all
    _name_at_the_end(axes, curves, bands)
    write_files({target: _rendered(figure, kind, title)})


def draw_bars(
    positions: Numbers,
    heights: Numbers,
    *,
    title: str,
    x_label: str,
    y_label: str,
    mark: float | None = None,
    mark_label: str = "",
    path: Path | str,
) -> None:
    """Draw a law, such as that of a distance, as bars, and save it as `draw_curves` does.

    `mark` is a place on the horizontal axis to point out, such as the expected value. Of more than
    120 bars those at either end that are too low to be seen are left out.
    """
    target, kind = _target(path)
    x_values, values = np.asarray(positions, dtype=np.float64), np.asarray(heights, dtype=np.float64)
    if x_values.shape != values.shape or x_values.ndim != 1 or not len(x_values):
        raise ParameterError(
            "heights", expected="one for each of at least one position", found=f"{values.size} for {x_values.size}"
        )
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ParameterError("heights", expected="finite values, 0 or more", found="another one")
    figure, axes = _frame(title, x_label, y_label)
    if len(x_values) <= _MOST_BARS:
        axes.bar(x_values, values, width=0.78, color=BARS, zorder=2)
        seen = x_values
    else:  # so many bars have no gaps one could see; one outline is drawn at once
        axes.fill_between(x_values, values, step="mid", color=BARS, linewidth=0, zorder=2)
        seen = x_values[values >= values.max() * _SEEN]
    axes.set_xlim(seen.min() - 0.6, seen.max() + 0.6)
    axes.set_ylim(0.0, float(values.max()) * 1.14 or 1.0)  # the mark is named above the bars
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
    if mark is not None:
        _point_out(axes, mark, mark_label)
    write_files({target: _rendered(figure, kind, title)})


# --- frame and file ------------------------------------------------------------------------------


def _target(path: Path | str) -> tuple[Path, str]:
    target = Path(path)
    kind = target.suffix.lower().removeprefix(".")
    if kind not in {"png", "svg"}:
        raise ParameterError("path", expected="a file name ending in .png or .svg", found=repr(target.name))
    return target, kind


def _frame(title: str, x_label: str, y_label: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(_WIDTH + 1.2, _HEIGHT + 1.0), facecolor="white")
    FigureCanvasAgg(figure)
    wide, high = figure.get_size_inches()
    axes = figure.add_axes((0.8 / wide, 0.6 / high, _WIDTH / wide, _HEIGHT / high))
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GREY)
        axes.spines[side].set_linewidth(0.8)
    axes.tick_params(colors=GREY, labelsize=10, length=3.5, width=0.8)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_facecolor("white")
    # Text is written as it comes: a dollar sign is a dollar sign.
    axes.set_xlabel(displayable(x_label), color=INK, fontsize=11, labelpad=7, parse_math=False)
    axes.set_ylabel(displayable(y_label), color=INK, fontsize=11, labelpad=8, parse_math=False)
    if title:
        axes.set_title(
            displayable(title), loc="left", color=INK, fontsize=12.5, fontweight="bold", pad=14, parse_math=False
        )
    return figure, axes


def _rendered(figure: Figure, kind: str, title: str) -> bytes:
    buffer = io.BytesIO()
    metadata: dict[str, str | None] = {"Title": displayable(title) or None}
    if kind == "svg":
        metadata["Date"] = None  # the same numbers should not make another file tomorrow
    figure.savefig(
        buffer,
        format=kind,
        dpi=200,
        bbox_inches="tight",
        pad_inches=0.18,
        facecolor="white",
        metadata={name: value for name, value in metadata.items() if value or name == "Date"},
    )
    return buffer.getvalue()


# --- what is in the frame ------------------------------------------------------------------------


def _draw_curve(axes: Axes, curve: Curve, colour: str) -> None:
    if curve.style == "points":
        axes.plot(curve.x, curve.y, "o", color=colour, markersize=4.5, markeredgecolor="white", zorder=4, clip_on=False)
    else:
        axes.plot(curve.x, curve.y, color=colour, linestyle=curve.style, linewidth=2.0, zorder=3, clip_on=False)


def _name_at_the_end(axes: Axes, curves: Sequence[Curve], bands: Sequence[Band]) -> None:
    """Write each name to the right of the frame, level with its line where there is room for that."""
    ends: list[tuple[tuple[float, float], str, str]] = []
    for number, curve in enumerate(curves):
        end = max((x, y) for x, y in zip(curve.x, curve.y, strict=True) if math.isfinite(y))
        ends.append((end, curve.label, PALETTE[number % len(PALETTE)]))
    for number, band in enumerate(bands):
        end = max((x, (low + high) / 2) for x, low, high in zip(band.x, band.lower, band.upper, strict=True))
        ends.append((end, band.label, PALETTE[number % len(PALETTE)]))
    named = [
        (_in_frame(axes, end), "\n".join(textwrap.wrap(displayable(label), _LABEL_WIDTH)), colour)
        for end, label, colour in ends
        if label
    ]
    named.sort(key=lambda entry: entry[0][1])
    levels = _spread(
        [end[1] for end, _, _ in named], [_LINE_OF_LABEL * (text.count("\n") + 1.35) for _, text, _ in named]
    )
    for ((right, level), text, colour), free in zip(named, levels, strict=True):
        axes.plot(
            [right, 1.045],
            [level, free],
            transform=axes.transAxes,
            color=colour,
            linewidth=0.9,
            alpha=0.55,
            clip_on=False,
            zorder=1,
        )
        axes.text(
            1.055,
            free,
            text,
            transform=axes.transAxes,
            color=colour,
            fontsize=10,
            verticalalignment="center",
            linespacing=1.15,
            parse_math=False,
        )


def _in_frame(axes: Axes, point: tuple[float, float]) -> tuple[float, float]:
    """A point in fractions of the frame."""
    low, high = axes.get_ylim()
    bounded = (point[0], min(max(point[1], low), high))
    across, up = axes.transAxes.inverted().transform(axes.transData.transform(bounded))
    return float(across), float(up)


def _spread(levels: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Levels in rising order, moved so that labels of these heights neither overlap nor leave the frame.

    >>> [round(level, 2) for level in _spread([0.5, 0.5, 0.9], [0.1, 0.1, 0.1])]
    [0.45, 0.55, 0.9]
    >>> [round(level, 2) for level in _spread([0, 0, 1], [0.1, 0.1, 0.1])]
    [0.05, 0.15, 0.95]
    """
    # Groups of touching labels sit where their wishes are met on average (pool adjacent violators).
    groups: list[tuple[float, float, list[int]]] = []  # wished level of the lowest label, height, labels
    for number, (level, height) in enumerate(zip(levels, heights, strict=True)):
        group = (level - height / 2, height, [number])
        while groups and groups[-1][0] + groups[-1][1] > group[0]:
            bottom, tall, members = groups.pop()
            count, more = len(members), len(group[2])
            lifted = (count * bottom + more * (group[0] - tall)) / (count + more)
            group = (lifted, tall + group[1], members + group[2])
        groups.append(group)
    moved: list[float] = []
    floor = 0.0
    for bottom, _, members in groups:
        for number in members:
            level = max(bottom if number == members[0] else floor, floor) + heights[number] / 2
            moved.append(level)
            floor = level + heights[number] / 2
    ceiling = 1.0
    for number in reversed(range(len(moved))):
        moved[number] = min(moved[number], ceiling - heights[number] / 2)
        ceiling = moved[number] - heights[number] / 2
    return moved


def _point_out(axes: Axes, value: float, label: str) -> None:
    axes.axvline(value, color=PALETTE[1], linewidth=1.6, linestyle="dashed", zorder=3)
    low, high = axes.get_xlim()
    on_the_right = value > low + 0.65 * (high - low)
    axes.annotate(
        displayable(label),
        (value, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(-6 if on_the_right else 6, -4),
        textcoords="offset points",
        color=PALETTE[1],
        fontsize=10,
        horizontalalignment="right" if on_the_right else "left",
        verticalalignment="top",
        parse_math=False,
    )
