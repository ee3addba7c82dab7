"""Draw the architecture from the import graph: `python docs/architecture_picture.py`.

Packages stand on a staircase, layer by layer. A line leaves a package to the right and has a dot
above everything that the package imports; from the dots a line leads down to what is imported. So
every line ends in a box further down, which is what the layers promise.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import grimp

from symveil.pictures.svg import FONT, escaped
from symveil.pictures.text import BLUE, BORDER, CARD, GREY, GROUND, INK, LINE

ROOT = Path(__file__).parents[1]
PICTURE = Path(__file__).parent / "pictures" / "architecture.svg"

_STEP_X, _STEP_Y = 36, 36
_BOX_WIDE, _BOX_HIGH = 104, 28
_BOX_RIGHT = 15
"""How far a box reaches to the right of its column; the rest of it lies over columns that end further up."""
_LEFT, _TOP, _MARGIN = 20, 64, 20
_SIZES = ((1, 3.2), (5, 5.0), (20, 7.2))  # imports from so many on, radius of the dot

Edges = Mapping[tuple[str, str], int]


def layers() -> list[list[str]]:
    """The layers from the top down, as import-linter checks them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = settings["tool"]["importlinter"]["contracts"]
    return [layer.split(" | ") for layer in contract["layers"]]


def imports() -> Edges:
    """How many imports lead from one package into another."""
    graph = grimp.build_graph("symveil", cache_dir=None)
    edges: Counter[tuple[str, str]] = Counter()
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            source, target = _package(module), _package(imported)
            if source and target and source != target:
                edges[source, target] += 1
    return edges


def _package(module: str) -> str | None:
    """The package of a module: None for `symveil` itself and for `python -m symveil`, which are in no layer."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] != "__main__" else None


def drawn(bands: Sequence[Sequence[str]], edges: Edges) -> str:
    """The picture as SVG.

    >>> picture = drawn([["cli"], ["io", "ledger"]], {("cli", "io"): 7})
    >>> 'data-import="cli io"' in picture, "cli imports io 7 times" in picture
    (True, True)
    """
    order = [package for band in bands for package in band]
    rank = {package: number for number, package in enumerate(order)}
    wide = _column(len(order) - 1) + _BOX_RIGHT + _MARGIN
    high = _TOP + len(order) * _STEP_Y + _MARGIN
    pieces = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{wide}" height="{high}" '
        f'viewBox="0 0 {wide} {high}" style="max-width:100%;height:auto" font-family="{FONT}">',
        "<title>The packages of symveil and their imports, which all point downwards</title>",
        f'<rect x="0.5" y="0.5" width="{wide - 1}" height="{high - 1}" rx="12" fill="{CARD}" stroke="{BORDER}"/>',
        f'<text x="{_LEFT}" y="32" font-size="15" font-weight="600" fill="{INK}">'
        "Imports point downwards only: packages, layer by layer</text>",
    ]
    pieces += _bands(bands, wide)
    pieces += _wires(order, rank, edges)
    pieces += [_dot(rank, source, target, count) for (source, target), count in sorted(edges.items())]
    pieces += [_box(rank, package) for package in order]
    pieces += _legend(high)
    return "\n".join([*pieces, "</svg>", ""])


def _row(number: int) -> float:
    return _TOP + (number + 0.5) * _STEP_Y


def _column(number: int) -> float:
    return _LEFT + number * _STEP_X + _BOX_WIDE - _BOX_RIGHT


def _bands(bands: Sequence[Sequence[str]], wide: float) -> list[str]:
    pieces, row = [], 0
    for number, band in enumerate(bands):
        if number % 2 == 0:
            top, high = _TOP + row * _STEP_Y, len(band) * _STEP_Y
            pieces.append(f'<rect x="1" y="{top}" width="{wide - 2}" height="{high}" fill="{GROUND}"/>')
        row += len(band)
    return pieces


def _wires(order: Sequence[str], rank: Mapping[str, int], edges: Edges) -> list[str]:
    """A line to the right from each package that imports, a line down to each that is imported."""
    pieces = []
    for package in order:
        here = rank[package]
        imported = [rank[target] for source, target in edges if source == package]
        importing = [rank[source] for source, target in edges if target == package]
        if imported:
            right = _column(max(imported))
            pieces.append(_line(_column(here) + _BOX_RIGHT, _row(here), right, _row(here)))
        if importing:
            pieces.append(_line(_column(here), _row(min(importing)), _column(here), _row(here) - _BOX_HIGH / 2 - 5))
            tip = _row(here) - _BOX_HIGH / 2
            pieces.append(f'<path d="M{_column(here)} {tip}l-4.5 -8h9z" fill="{LINE}"/>')
    return pieces


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path d="M{x1} {y1}L{x2} {y2}" stroke="{LINE}" stroke-opacity="0.45" stroke-width="1.2"/>'


def _dot(rank: Mapping[str, int], source: str, target: str, count: int) -> str:
    radius = max(size for least, size in _SIZES if count >= least)
    times = "once" if count == 1 else f"{count} times"
    return (
        f'<circle data-import="{source} {target}" cx="{_column(rank[target])}" cy="{_row(rank[source])}" r="{radius}" '
        f'fill="{BLUE}"><title>{source} imports {target} {times}</title></circle>'
    )


def _box(rank: Mapping[str, int], package: str) -> str:
    x, y = _column(rank[package]) + _BOX_RIGHT - _BOX_WIDE, _row(rank[package]) - _BOX_HIGH / 2
    return (
        f'<rect x="{x}" y="{y}" width="{_BOX_WIDE}" height="{_BOX_HIGH}" rx="6" fill="{CARD}" stroke="{INK}" '
        f'stroke-width="1.3"/><text x="{x + _BOX_WIDE / 2}" y="{y + _BOX_HIGH / 2 + 4.5}" text-anchor="middle" '
        f'font-size="14.5" font-weight="500" fill="{INK}">{escaped(package)}</text>'
    )


def _legend(high: float) -> list[str]:
    """In the lower left corner, which the staircase leaves empty."""
    x, y = _LEFT + 8, high - _MARGIN - 4 * 22
    pieces = []
    for least, radius in _SIZES:
        words = "imports it" if least == 1 else f"imports it in {least} places or more"
        pieces.append(
            f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{BLUE}"/>'
            f'<text x="{x + 18}" y="{y + 4.5}" font-size="14" fill="{GREY}">{words}</text>'
        )
        y += 22
    words = "lines that cross without a dot do not meet"
    return [*pieces, f'<text x="{x - 7}" y="{y + 4.5}" font-size="14" fill="{GREY}">{words}</text>']


def draw() -> None:
    """Draw it into its place."""
    PICTURE.write_text(drawn(layers(), imports()), encoding="utf-8")


if __name__ == "__main__":
    draw()
