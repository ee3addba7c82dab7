"""Turn the tutorials into executed notebooks: `python docs/make_notebooks.py`, from anywhere.

A tutorial has one source, its Markdown. Text becomes Markdown cells; a Python block becomes code cells, cut after
every example that shows something, because a notebook shows the last value of a cell only. A picture under
`pictures/tutorials/` is what the cell before it drew: it is taken out of the executed notebook for the Markdown,
and left out of the notebook's text, where the cell shows it itself.

Nothing that changes from run to run or from machine to machine is kept: no times, no versions, numbered cells.
"""

from __future__ import annotations

import doctest
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

DOCS = Path(__file__).parent
TUTORIALS = DOCS / "tutorials"
NAMES = ("synthetic-city", "hospital-process", "road-network", "partially-observed-system", "proving-privacy")

OPENING = """\
# the examples are in the project's folder, wherever this notebook was opened from
import os, pathlib
os.chdir(next(place for place in [pathlib.Path.cwd(), *pathlib.Path.cwd().parents] if (place / "examples").is_dir()))"""

_BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
_PICTURE = re.compile(r"^!\[[^\]]*\]\((\.\./pictures/tutorials/[^)]+\.svg)\)\n", re.MULTILINE)
_DIRECTIVE = re.compile(r"\s*#\s*doctest:.*$", re.MULTILINE)
_SVG = re.compile(r"<svg\b.*?</svg>", re.DOTALL)


def notebook_of(markdown: str) -> Any:
    """The notebook of a tutorial, not executed."""
    cells = [_numbered(cell, number) for number, cell in enumerate(_cells(markdown))]
    return new_notebook(
        cells=cells,
        metadata={
            "kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"},
            "language_info": {"name": "python"},
        },
    )


def wants_of(markdown: str) -> list[str]:
    """What each code cell shows, as the Markdown says; the opening shows nothing."""
    return ["", *(cell[-1].want for block in _BLOCK.finditer(markdown) for cell in _groups(block[1]))]


def execute(notebook: Any) -> None:
    """Run every cell, in a new kernel that stands where the notebook does."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    place = {"metadata": {"path": TUTORIALS}}
    # generous limits: a busy machine is no error
    client = NotebookClient(notebook, timeout=600, startup_timeout=600, record_timing=False, resources=place)
    client.execute(env=environment)
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        cell.metadata = {}


def save_pictures(markdown: str, notebook: Any) -> None:
    """Every picture that the Markdown shows, from the output of the cell before it."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for picture in _PICTURE.finditer(markdown):
        before = len(wants_of(markdown[: picture.start()]))
        target = TUTORIALS / picture[1]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(drawn_by(code[before - 1]) + "\n", encoding="utf-8")


def drawn_by(cell: Any) -> str:
    """The picture in a cell's output."""
    for output in cell.outputs:
        data = output.get("data", {})
        found = _SVG.search(data.get("image/svg+xml", "") or data.get("text/html", ""))
        if found:
            return found[0]
    raise ValueError(f"a cell shows no picture: {cell.source}")


def _cells(markdown: str) -> Iterator[Any]:
    first, _, rest = markdown.partition("\n\n")
    yield new_markdown_cell(first)
    yield new_code_cell(OPENING)
    end = 0
    for block in _BLOCK.finditer(rest):
        yield from _text(rest[end : block.start()])
        for group in _groups(block[1]):
            yield new_code_cell(_DIRECTIVE.sub("", "".join(example.source for example in group)).rstrip("\n"))
        end = block.end()
    yield from _text(rest[end:])


def _text(markdown: str) -> Iterator[Any]:
    text = _PICTURE.sub("", markdown).strip()
    if text:
        yield new_markdown_cell(text)


def _groups(block: str) -> Iterator[list[doctest.Example]]:
    """The examples of a block, up to and including one that shows something."""
    group: list[doctest.Example] = []
    for example in doctest.DocTestParser().get_examples(block):
        group.append(example)
        if example.want:
            yield group
            group = []
    if group:
        yield group


def _numbered(cell: Any, number: int) -> Any:
    cell.id = f"cell-{number}"
    return cell


def main(names: list[str]) -> None:
    """Make all of them, or those that are named."""
    for name in names or NAMES:
        markdown = (TUTORIALS / f"{name}.md").read_text(encoding="utf-8")
        notebook = notebook_of(markdown)
        execute(notebook)
        nbformat.validate(notebook)
        save_pictures(markdown, notebook)
        (TUTORIALS / f"{name}.ipynb").write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
