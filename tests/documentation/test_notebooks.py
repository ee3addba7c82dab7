"""The tutorials as notebooks: the same cells as in their Markdown, executed, and showing what it shows.

`python docs/make_notebooks.py` makes them anew.
"""

from __future__ import annotations

import doctest
import os
import re
import sys
from pathlib import Path

import nbformat
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
import make_notebooks

ROOT = Path(__file__).parents[2]
SAME = doctest.OutputChecker().check_output
LOOSELY = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NAMES = make_notebooks.NAMES
# what only a machine or a moment has: its folders, other machines, times of execution, addresses of objects
FOREIGN = {
    "a path": r"(?<![\w.])/(?:tmp|home|root|work|usr|opt|var|Users)/",
    "an address": r"https?://(?!www\.w3\.org/)",
    "a time": r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d",
    "an object's address": r"\b0x[0-9a-f]{6,}",
    "a log line": r"\b(?:WARN|WARNING|ERROR|INFO)\b",
}


def markdown(name: str) -> str:
    return (make_notebooks.TUTORIALS / f"{name}.md").read_text(encoding="utf-8")


def stored(name: str):
    return nbformat.read(make_notebooks.TUTORIALS / f"{name}.ipynb", as_version=4)


def shown(cell) -> str:
    """What a cell shows as text."""
    texts = []
    for output in cell.outputs:
        texts.append(output["text"] if output.output_type == "stream" else output["data"]["text/plain"] + "\n")
    return "".join(texts)


def code_cells(notebook) -> list:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_every_tutorial_has_one() -> None:
    written = {path.stem for path in make_notebooks.TUTORIALS.glob("*.md")}
    made = {path.stem for path in make_notebooks.TUTORIALS.glob("*.ipynb")}
    assert written == made == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_in_step_with_its_markdown(name: str) -> None:
    notebook, expected = stored(name), make_notebooks.notebook_of(markdown(name))
    nbformat.validate(notebook)
    assert [(cell.cell_type, cell.source) for cell in notebook.cells] == [
        (cell.cell_type, cell.source) for cell in expected.cells
    ]
    assert notebook.metadata == expected.metadata


@pytest.mark.parametrize("name", NAMES)
def test_every_cell_was_executed_and_shows_what_the_markdown_says(name: str) -> None:
    cells, wants = code_cells(stored(name)), make_notebooks.wants_of(markdown(name))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert len(cells) == len(wants)
    for cell, want in zip(cells, wants, strict=True):
        assert all(output.output_type != "error" for output in cell.outputs), cell.source
        assert SAME(want, shown(cell), LOOSELY), (cell.source, want, shown(cell))


@pytest.mark.parametrize("name", NAMES)
def test_it_holds_nothing_of_the_machine_that_made_it(name: str) -> None:
    # the source is the page's, whose times are examples; what was shown is the machine's
    text = "".join(
        nbformat.writes(nbformat.from_dict({**stored(name), "cells": [{**cell, "source": ""}]}))
        for cell in code_cells(stored(name))
    )
    for what, pattern in FOREIGN.items():
        assert not re.search(pattern, text), what
    for cell in stored(name).cells:
        assert cell.metadata == {}


def test_what_is_foreign_is_found() -> None:
    examples = ["see /tmp/x", "https://example.org", "2026-01-05T11:13", "<X at 0x7f00aa00bb>", "26/01/05 WARN Utils"]
    for pattern, example in zip(FOREIGN.values(), examples, strict=True):
        assert re.search(pattern, example)


@pytest.mark.parametrize("name", NAMES)
def test_its_pictures_are_there(name: str) -> None:
    pictures = [
        make_notebooks.TUTORIALS / found for found in re.findall(r"\]\((\.\./pictures/[^)]+)\)", markdown(name))
    ]
    assert pictures
    for picture in pictures:
        assert picture.read_text(encoding="utf-8").startswith("<svg"), picture


def test_objects_draw_themselves_in_notebooks() -> None:
    """Every tutorial but one shows a picture as a notebook does: as SVG, or inside HTML."""
    for name in NAMES:
        kinds = {kind for cell in code_cells(stored(name)) for out in cell.outputs for kind in out.get("data", {})}
        assert "image/svg+xml" in kinds and (name == "partially-observed-system" or "text/html" in kinds), name


@pytest.mark.filterwarnings("ignore")  # of the kernel's client
@pytest.mark.parametrize("name", NAMES)
def test_it_can_be_executed_again(name: str, monkeypatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, [ROOT / "src", os.environ.get("PYTHONPATH", "")])))
    notebook = make_notebooks.notebook_of(markdown(name))
    make_notebooks.execute(notebook)
    for cell, want in zip(code_cells(notebook), make_notebooks.wants_of(markdown(name)), strict=True):
        assert SAME(want, shown(cell), LOOSELY), (cell.source, want, shown(cell))
