"""How long the book is, in which words it is written, and what every page that shows a release says.

A word is whatever blanks separate, if it has a letter or a digit: numbers and parts of formulas are words, the bars of
tables and single signs are none. All pages of the site are counted, generated ones too, in their text outside of code
blocks; only the changelog, the texts for contributors and the results of benchmarks are not. What `wc -w` counts of
docs/, code, bars and signs included, has a bar of its own.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from layout.word_list import words_in

from .blocks import PAGES, ROOT, blocks, name

MOST_WORDS = 46_300
MOST_IN_ALL = 58_000
MOST_PAGES = 67
MOST_OF_A_PART = {
    "start": (1_300, "docs/install.md", "docs/quickstart-"),
    "concepts": (4_800, "docs/concepts/", "docs/glossary.md"),
    "tutorials": (2_300, "docs/tutorials/"),
    "how-to": (3_900, "docs/how-to/"),
    "mechanisms": (2_200, "docs/mechanisms/"),
    "proofs": (10_000, "docs/theory/"),
    "commands": (5_600, "docs/reference/commands.md", "docs/reference/parameters.md"),
    "project": (3_200, "docs/architecture.md", "docs/decisions.md", "docs/policies.md", "docs/errata.md"),
}
"""A part, the most words of it, and how its pages begin."""
MOST_OF_A_PAGE = {
    "README.md": 600,
    "docs/how-to/": 475,
    "docs/tutorials/": 575,
    "docs/mechanisms/": 400,
    "docs/concepts/": 775,
    "docs/architecture.md": 1_500,
    "docs/theory/": 2_240,
}
"""A page, or a folder, and the most words of it or of each page in it."""

_GENERATED = re.compile(r"<!-- results: .*?<!-- end of the results[^>]*-->", re.DOTALL)
RELEASES = re.compile(
    r"\.release\(|\.step\(|sv\.privatize|privatize_file\(|^symveil (privatize|release) ", re.MULTILINE
)
CENTRAL_RELEASES = re.compile(r"sv\.(count|learn)\(|^symveil (count|learn) (?=.*--epsilon)", re.MULTILINE)
LOSS_BEYOND_B = re.compile(r"loss_at|lose at most|loses at most|lose [\d.]*d\b|loss at every distance")
UNPROTECTED = re.compile(r"pass(es)?_?\s?unprotected|unprotected", re.IGNORECASE)
PROOF = re.compile(r"\]\([^)]*(theory/|mechanisms/)[^)]*\)")

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


def count_of(page: Path) -> int:
    """The words of a page's text; where the API is shown, its directives are none."""
    lines = [line for line in text_of(page).splitlines() if not re.match(r"::: |    options: ", line)]
    return sum(bool(re.search(r"\w", word)) for line in lines for word in line.split())


def in_plain_words() -> list[Path]:
    """All pages but the changelog and those written from --help and fields, whose words are looked at there."""
    generated = {page for page in PAGES if page.read_text(encoding="utf-8").startswith("<!-- Written by")}
    return [page for page in PAGES if page not in generated and page.name != "CHANGELOG.md"]


BOOK = [page for page in PAGES if page.parent != ROOT or page.name == "README.md"]


def test_the_book_is_short() -> None:
    words = {name(page): count_of(page) for page in BOOK}
    assert sum(words.values()) <= MOST_WORDS, words
    assert len(words) <= MOST_PAGES


def test_all_that_is_between_blanks_is_counted_too() -> None:
    texts = [_GENERATED.sub("", page.read_text(encoding="utf-8")) for page in BOOK if page.name != "README.md"]
    assert sum(len(text.split()) for text in texts) <= MOST_IN_ALL


@pytest.mark.parametrize("part", MOST_OF_A_PART)
def test_parts_are_short(part: str) -> None:
    most, *pages = MOST_OF_A_PART[part]
    words = [count_of(page) for page in BOOK if name(page).startswith(tuple(map(str, pages)))]
    assert words and sum(words) <= most


@pytest.mark.parametrize("where", MOST_OF_A_PAGE)
def test_pages_of_a_kind_are_short(where: str) -> None:
    lengths = {name(page): count_of(page) for page in BOOK if name(page).startswith(where)}
    assert lengths
    assert {page: words for page, words in lengths.items() if words > MOST_OF_A_PAGE[where]} == {}


def test_words_are_counted(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = "# A title\n\n| a | 1 |\n|---|---|\n\nx ≤ 2\n\n```sh\nsymveil\n```\n\n::: symveil.x\n"
    page.write_text(text, encoding="utf-8")
    assert count_of(page) == 6


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
    assert PROOF.search(text) or "/theory/" in name(page) or "/mechanisms/" in name(page), "the theorem"


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
    assert {"docs/central.md", "docs/quickstart-logs.md", "docs/how-to/count-times.md"} <= shown


@pytest.mark.parametrize("page", SHOWING_CENTRAL_RELEASES, ids=name)
def test_a_page_that_shows_a_central_release_says_what_passes(page: Path) -> None:
    text = " ".join(page.read_text(encoding="utf-8").split())
    assert UNPROTECTED.search(text), "what passes unprotected"
    assert re.search(r"person|rider|patient", text), "to whom"
    assert re.search(r"\]\([^)]*central\.md[^)]*\)", text), "the proof, or the page that has it"
