"""Every Python block of a page is an example that doctest runs (pyproject collects all pages)."""

from __future__ import annotations

import ast
import doctest
import tomllib

import pytest

import symveil as sv

from .blocks import PAGES, ROOT, Block, blocks, name

PYTHON = [
    (name(page), block)
    for page in PAGES
    for block in blocks(page.read_text(encoding="utf-8"))
    if block.language in ("python", "py", "pycon")
]


def test_pages_are_collected() -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    assert "--doctest-glob=*.md" in options["addopts"]
    assert {"docs", "*.md"} <= set(options["testpaths"])
    assert len(PYTHON) > 20


@pytest.mark.parametrize(("page", "block"), PYTHON, ids=[f"{page}:{block.line}" for page, block in PYTHON])
def test_it_is_an_example(page: str, block) -> None:
    assert block.lines[0].lstrip().startswith(">>> "), f"{page}, line {block.line}: expected >>> before every statement"
    examples = doctest.DocTestParser().get_examples("\n".join(block.lines))
    assert examples
    assert not any("+SKIP" in line for line in block.lines), f"{page}, line {block.line}: an example that is not run"


# how a mechanism is added is told to those who change the package itself
FOR_CONTRIBUTORS = {"CONTRIBUTING.md"}


def taught(page: str, block: Block) -> set[str]:
    """The names of symveil that a block imports, or asks the package for, as `home.name`."""
    source = "".join(example.source for example in doctest.DocTestParser().get_examples("\n".join(block.lines)))
    found = set()
    for each in ast.walk(ast.parse(source)):
        if isinstance(each, ast.ImportFrom) and (each.module or "").split(".")[0] == "symveil":
            found |= {f"{each.module}.{alias.name}" for alias in each.names}
        elif isinstance(each, ast.Import):
            found |= {alias.name for alias in each.names if alias.name.startswith("symveil.")}
        elif isinstance(each, ast.Attribute) and ast.unparse(each.value) in ("sv", "symveil"):
            found.add(f"symveil.{each.attr}")
    return found


EXAMPLES = "symveil.examples."


@pytest.mark.parametrize("page", sorted({page for page, _ in PYTHON} - FOR_CONTRIBUTORS))
def test_it_teaches_public_names_only(page: str) -> None:
    names = {name for where, block in PYTHON if where == page for name in taught(page, block)}
    examples = {name for name in names if name.startswith(EXAMPLES)}  # things to look at, which pages name as such
    assert sorted(names - examples - {f"symveil.{name}" for name in sv.__all__}) == []


def test_what_counts_as_taught() -> None:
    lines = (">>> import symveil.cli", ">>> from symveil.a import b, c", ">>> x = sv.words(sv.d.e)", ">>> y.sv.f")
    assert taught("", Block("python", 1, lines)) == {
        *("symveil.cli", "symveil.a.b", "symveil.a.c", "symveil.words", "symveil.d"),
    }
