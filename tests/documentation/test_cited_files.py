"""Files that the documentation names as evidence exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "docs" / "threat-model.md",
    ROOT / "docs" / "architecture.md",
    ROOT / "docs" / "decisions.md",
    *(ROOT / "docs").glob("theory/*.md"),
    *(ROOT / "docs").glob("mechanisms/*.md"),
]
CITED = [
    (page, name)
    for page in PAGES
    for name in re.findall(r"`([\w./]+(?:\.py|\.v|/calibration))`", page.read_text("utf-8"))
]


def test_there_are_some() -> None:
    assert len(CITED) >= 15


@pytest.mark.parametrize(("page", "name"), CITED, ids=lambda each: each if isinstance(each, str) else each.stem)
def test_it_is_there(page: Path, name: str) -> None:
    folders = [ROOT, ROOT / "src" / "symveil", ROOT / "src" / "symveil" / "calibration"]
    assert any((folder / name).exists() for folder in folders), f"{page.name} cites {name}"


def test_pages_that_the_sources_cite_are_there() -> None:
    sources = [file for folder in ("src", "benchmarks", "tests") for file in (ROOT / folder).rglob("*.py")]
    sources += (ROOT / "proofs").rglob("*.v")
    cited = {
        (file.name, page)
        for file in sources
        for page in re.findall(r"\bdocs/[\w/.-]+\.md\b", file.read_text(encoding="utf-8"))
    }
    assert len(cited) >= 60
    assert sorted(each for each in cited if not (ROOT / each[1]).exists()) == []
