"""Every Python block of a page is an example that doctest runs (pyproject collects all pages)."""

from __future__ import annotations

import doctest
import tomllib

import pytest

from .blocks import PAGES, ROOT, blocks, name

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
