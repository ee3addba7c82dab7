"""How long the book is, in which words it is written, and what every page that shows a release says.

A word is whatever blanks separate: what `wc -w` counts, code, numbers and signs included. All pages of docs/ and the
README are counted; only the changelog and the texts for contributors are not.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from layout.word_list import words_in

from .blocks import PAGES, ROOT, blocks, name

MOST_WORDS = 48_350
MOST_PAGES = 48
MOST_OF_A_PART = {
    "start": (1_610, "docs/install.md", "docs/quickstart-"),
    "concepts": (5_350, "docs/concepts/", "docs/glossary.md"),
    "tutorials": (3_950, "docs/tutorials/"),
    "how-to": (4_815, "docs/how-to/"),
    "reference": (
        16_180,
        "docs/reference/",
        *(f"docs/{page}.md" for page in ("mechanisms", "statistics", "files", "models", "manifest", "ledger")),
        *(f"docs/{page}.md" for page in ("opacity", "verify", "threat-model", "studio")),
    ),
    "proofs": (12_520, "docs/theory/", "docs/errata.md"),
    "project": (4_000, "docs/architecture.md", "docs/policies.md", "docs/benchmarks.md"),
}
"""A part, the most words of it, and how its pages begin. Every page is of one part."""
MOST_OF_A_PAGE = {
    "README.md": 450,
    "docs/how-to/": 500,
    "docs/tutorials/": 1_110,
    "docs/concepts/": 1_110,
    "docs/theory/": 2_450,
}
"""A page, or a folder, and the most words of it or of each page in it."""

_GENERATED = re.compile(r"<!-- results: .*?<!-- end of the results[^>]*-->", re.DOTALL)
RELEASES = re.compile(
    r"\.release\(|\.step\(|sv\.privatize|privatize_file\(|^symveil (privatize|release) ", re.MULTILINE
)
CENTRAL_RELEASES = re.compile(r"sv\.(count|learn)\(|^symveil (count|learn) (?=.*--epsilon)", re.MULTILINE)
LOSS_BEYOND_B = re.compile(r"loss_at|lose at most|loses at most|lose [\d.]*d\b|loss at every distance")
UNPROTECTED = re.compile(r"pass(es)?_?\s?unprotected|unprotected", re.IGNORECASE)
PROOF = re.compile(r"\]\([^)]*theory/[^)]*\)")

# what a release looks like in another respect: a refusal, an option of a command, a proof, a file format
OF_SOMETHING_ELSE = {
    "docs/reference/commands.md": "every command has an example; the shared options have --beyond and --keep",
    "docs/models.md": "formats: one word is released to show that a file is read",
    "docs/threat-model.md": "it refuses a word, and lists everything that is public",
    "docs/errata.md": "laws as printed",
    "docs/ledger.md": "charges; each release is that of another page",
    "docs/theory/hidden-lengths.md": "a proof",
}


def text_of(page: Path) -> str:
    """The text of a page without its code blocks and without what is generated; lines keep their numbers."""
    text = page.read_text(encoding="utf-8")
    lines = text.splitlines()
    for block in blocks(text):
        lines[block.line - 1 : block.line + len(block.lines) + 1] = [""] * (len(block.lines) + 2)
    return _GENERATED.sub(lambda match: "\n" * match[0].count("\n"), "\n".join(lines))


def in_plain_words() -> list[Path]:
    """All pages but the changelog and those written from --help and fields, whose words are looked at there."""
    generated = {page for page in PAGES if page.read_text(encoding="utf-8").startswith("<!-- Written by")}
    return [page for page in PAGES if page not in generated and page.name != "CHANGELOG.md"]


BOOK = [page for page in PAGES if page.parent != ROOT or page.name == "README.md"]


LENGTHS = {name(page): len(page.read_text(encoding="utf-8").split()) for page in BOOK}


def of_pages(*beginnings: str) -> dict[str, int]:
    return {page: words for page, words in LENGTHS.items() if page.startswith(beginnings)}


def test_the_book_is_short() -> None:
    assert sum(of_pages("docs/").values()) <= MOST_WORDS
    assert len(LENGTHS) <= MOST_PAGES


@pytest.mark.parametrize("part", MOST_OF_A_PART)
def test_parts_are_short(part: str) -> None:
    most, *pages = MOST_OF_A_PART[part]
    assert 0 < sum(of_pages(*map(str, pages)).values()) <= most


def test_every_page_is_of_one_part() -> None:
    found = [page for _, *pages in MOST_OF_A_PART.values() for page in of_pages(*map(str, pages))]
    assert sorted([*found, "README.md"]) == sorted(LENGTHS)


@pytest.mark.parametrize("where", MOST_OF_A_PAGE)
def test_pages_of_a_kind_are_short(where: str) -> None:
    lengths = of_pages(where)
    assert lengths
    assert {page: words for page, words in lengths.items() if words > MOST_OF_A_PAGE[where]} == {}


@pytest.mark.parametrize("page", in_plain_words(), ids=name)
def test_it_is_written_in_plain_words(page: Path) -> None:
    assert [str(each) for each in words_in(text_of(page))] == []


def test_a_word_that_is_not_plain_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```python\n>>> told = 1\n```\n\nIt is told whoever listens.\n", encoding="utf-8")
    assert [each.line for each in words_in(text_of(page))] == [7, 7]


SHOWING_RELEASES = [
    page
    for page in PAGES
    if name(page) not in OF_SOMETHING_ELSE
    and page.name not in ("CHANGELOG.md", "CONTRIBUTING.md")
    and any(RELEASES.search("\n".join(block.lines).replace(">>> ", "")) for block in blocks(page.read_text("utf-8")))
]


def test_releases_are_noticed() -> None:
    shown = {name(page) for page in SHOWING_RELEASES}
    assert {"README.md", "docs/files.md", "docs/quickstart-trips.md", "docs/tutorials/road-network.md"} <= shown
    assert all((ROOT / page).exists() for page in OF_SOMETHING_ELSE)


@pytest.mark.parametrize("page", SHOWING_RELEASES, ids=name)
def test_a_page_that_shows_a_release_says_what_it_does_not_protect(page: Path) -> None:
    text = " ".join(page.read_text(encoding="utf-8").split())
    assert LOSS_BEYOND_B.search(text), "the loss beyond b"
    assert UNPROTECTED.search(text), "what passes unprotected"
    assert PROOF.search(text) or "/theory/" in name(page), "the theorem"


SHOWING_CENTRAL_RELEASES = [
    page
    for page in PAGES
    if name(page) not in OF_SOMETHING_ELSE
    and page.name not in ("CHANGELOG.md", "CONTRIBUTING.md")
    and any(
        CENTRAL_RELEASES.search("\n".join(block.lines).replace(">>> ", "").replace("\\\n", ""))
        for block in blocks(page.read_text("utf-8"))
    )
]


def test_central_releases_are_noticed() -> None:
    shown = {name(page) for page in SHOWING_CENTRAL_RELEASES}
    assert {"docs/statistics.md", "docs/quickstart-logs.md", "docs/how-to/count-times.md"} <= shown


@pytest.mark.parametrize("page", SHOWING_CENTRAL_RELEASES, ids=name)
def test_a_page_that_shows_a_central_release_says_what_passes(page: Path) -> None:
    text = " ".join(page.read_text(encoding="utf-8").split())
    assert UNPROTECTED.search(text), "what passes unprotected"
    assert re.search(r"person|rider|patient", text), "to whom"
    assert re.search(r"\]\([^)]*(theory/|statistics\.md)[^)]*\)", text), "the proof, or the page that has it"
