"""Files that the documentation names as evidence exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "docs" / "threat-model.md",
    ROOT / "docs" / "architecture.md",
    *(ROOT / "docs").glob("theory/*.md"),
    ROOT / "docs" / "mechanisms.md",
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


def test_sections_that_the_sources_cite_are_there() -> None:
    """Written as a page, a comma and *Section*: a heading, or words in bold or italics that begin a paragraph."""
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "proofs").rglob("*.v")]
    cited = {
        (file.name, page, " ".join(section.split()))
        for file in files
        for page, section in re.findall(
            r'\b(docs/[\w/.-]+\.md),\s+(?:\*|")([^*"]+)(?:\*|")', file.read_text(encoding="utf-8")
        )
    }
    assert len(cited) >= 20
    headings = {
        page: {
            (heading or marked).replace("`", "").rstrip(".:")
            for heading, marked in re.findall(
                r"^#+ (.+)$|^\*+([^*\n]+)\*", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE
            )
        }
        for page in {page for _, page, _ in cited}
    }
    assert sorted(each for each in cited if each[2].replace("`", "") not in headings[each[1]]) == []
