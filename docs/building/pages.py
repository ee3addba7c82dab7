"""Hooks of the site: pages that live outside docs/, links that lead outside, examples, folders in the navigation.

The README is the site's first page, and the other texts at the root of the repository are pages too.
Every text is written once, with links that work where the repository is browsed; what leads somewhere
else in the site is turned around here, and what is not in the site (a source file) stays as text.
What only the tests need to know about an example is left out.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"  # the site has a copy of each file
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "examples/README.md": "examples.md",
    "proofs/README.md": "theory/checked.md",
}
LINK = re.compile(r"(?<!`)\[(?P<text>[^\]\n]*)\]\((?P<target>[^)#\s:]+)(?P<anchor>#[^)\s]*)?\)")
PICTURE = re.compile(r'(?P<before><img [^>]*src=")(?P<target>[^":]+)')


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Write out the folders of the navigation: `how-to/` becomes the pages in it that are listed nowhere."""
    config.nav = _written_out(config.nav or [], _listed(config.nav or []))  # type: ignore[assignment]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the texts that the repository has outside docs/, and the files that examples read."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - the tests import this module without mkdocs

    for name, page in PAGES.items():
        if (ROOT / name).exists():
            folder, shown = (ROOT / name).parent, (DOCS / page).parent
            text = turned((ROOT / name).read_text(encoding="utf-8"), written_in=folder, shown_in=shown)
            files.append(File.generated(config, page, content=text))
    for example in sorted(EXAMPLES.glob("*.*")):
        if example.name != "README.md":
            files.append(File.generated(config, f"examples/{example.name}", abs_src_path=str(example)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Turn the links of a page in docs/ that lead out of it, and its lists."""
    source = page.file.abs_src_path
    if source is not None:
        markdown = turned(markdown, written_in=Path(source).parent, shown_in=Path(source).parent)
    depth = page.file.src_uri.count("/")
    markdown = with_papers(markdown, "../" * depth + PAPERS_PAGE) if page.file.src_uri != PAPERS_PAGE else markdown
    return with_plain_pipes(with_prompts_marked(without_test_marks(with_plain_lists(markdown))))


def with_papers(text: str, page: str) -> str:
    """The four papers spelled out and linked where their letters first occur in running text.

    >>> with_papers("# J19\\n\\n`J19` and [J19](x.md), J19 and J19", "g.md")
    '# J19\\n\\n`J19` and [J19](x.md), [J19](g.md#the-four-papers "Jones, Leahy and Hale 2019") and J19'
    """
    for letters, told in PAPERS.items():
        link = f'[{letters}]({page}#the-four-papers "{told}")'
        text = re.sub(
            rf"(?P<kept>{_NOT_TEXT})|\b{letters}\b",
            _once(link),
            text,
            flags=re.MULTILINE | re.DOTALL,
        )
    return text


def _once(link: str) -> Callable[[re.Match[str]], str]:
    left = [link]
    return lambda match: match[0] if match["kept"] or not left else left.pop()


PAPERS_PAGE = "glossary.md"
PAPERS = {
    "J19": "Jones, Leahy and Hale 2019",
    "B26": "Benvenuti, Rao and Hale 2026",
    "Z25": "Zhao, Uzam and Li 2025",
    "C19": "Chistikov, Murawski and Purser 2019",
}
_NOT_TEXT = r"^```.*?^```|^#[^\n]*|`[^`\n]*`|\[[^\]\n]*\]\([^)\n]*\)|<[^>\n]*>|^( {4}|\t)[^\n]*"


def with_plain_lists(text: str) -> str:
    """Lists as they may be written elsewhere, as mkdocs wants them.

    Elsewhere a list may follow a line of text at once, and what belongs to an item stands under its
    text; here an empty line must come first, and what belongs to an item stands four blanks further in.

    >>> with_plain_lists("so:\\n* one\\n* two\\n\\n  more of two\\n* three\\n\\n```\\na\\n* b\\n```")
    'so:\\n\\n* one\\n* two\\n\\n    more of two\\n\\n* three\\n\\n```\\na\\n* b\\n```'
    """
    lines: list[str] = []
    fenced = with_item = False  # inside a fence; one of the lines that stand together begins an item
    offset = 0  # of the text of the list's items, 0 outside lists
    for line in text.splitlines():
        inner = line.lstrip()
        indent = len(line) - len(inner)
        item = None if fenced else _ITEM.match(line)
        apart = not lines or not lines[-1].strip()
        if item:
            if not apart and not with_item:
                lines.append("")
            offset = item.end()
        elif offset and indent >= offset:
            line = " " * (4 - offset) + line  # noqa: PLW2901
        elif inner and apart and not fenced:
            offset = 0
        if inner.startswith("```"):
            fenced = not fenced
        with_item = bool(item) or (with_item and not apart)
        lines.append(line)
    return "\n".join(lines)


def without_test_marks(text: str) -> str:
    """Examples as a reader wants them, without what tells the tests how to run them.

    >>> without_test_marks("```python\\n>>> law     # doctest: +ELLIPSIS\\nLaw(...)\\n>>> print()\\n<BLANKLINE>\\n```")
    '```python\\n>>> law\\nLaw(...)\\n>>> print()\\n\\n```'
    >>> without_test_marks("```sh\\nsymveil studio  # not run: opens a page\\n```")
    '```sh\\nsymveil studio  # opens a page\\n```'
    """
    return _BLANK.sub("", _NOT_RUN.sub("# ", _DIRECTIVE.sub("", text)))


def with_prompts_marked(text: str) -> str:
    """Examples with prompts as sessions: their prompts and answers are marked, so that a copy can leave them out.

    >>> with_prompts_marked("```python\\n>>> 1 + 1\\n2\\n```\\n\\n```python\\nx = 1\\n```")
    '```pycon\\n>>> 1 + 1\\n2\\n```\\n\\n```python\\nx = 1\\n```'
    """
    return _SESSION.sub(r"\1pycon", text)


def with_plain_pipes(text: str) -> str:
    """Code in the cells of tables as mkdocs wants it: elsewhere a pipe inside needs a backslash, here it is shown.

    >>> with_plain_pipes("| `--cap C\\\\|none` | a \\\\| b |")
    '| `--cap C|none` | a \\\\| b |'
    """
    return _CELLS.sub(lambda row: _CODE.sub(lambda code: code[0].replace("\\|", "|"), row[0]), text)


_CELLS = re.compile(r"^\|.*$", re.MULTILINE)
_CODE = re.compile(r"`[^`\n]*`")
_SESSION = re.compile(r"^( *```)python(?=\n *>>> )", re.MULTILINE)
_DIRECTIVE = re.compile(r" *# doctest: \+[A-Z_]+$", re.MULTILINE)
_NOT_RUN = re.compile(r"(?<= )# not run: ")
_BLANK = re.compile(r"^<BLANKLINE>$", re.MULTILINE)
_ITEM = re.compile(r"([*-]|\d\.) +(?=\S)")


def turned(text: str, *, written_in: Path, shown_in: Path) -> str:
    """A text with its links as they are in the site.

    >>> turned("[a](docs/models.md#which) [b](README.md), [c](LICENSE)", written_in=ROOT, shown_in=DOCS)
    '[a](models.md#which) [b](index.md), c'
    >>> turned("[log](../../CHANGELOG.md)", written_in=DOCS / "how-to", shown_in=DOCS / "how-to")
    '[log](../changelog.md)'
    >>> turned('<img alt="x" src="docs/pictures/x.svg">', written_in=ROOT, shown_in=DOCS)
    '<img alt="x" src="pictures/x.svg">'
    """

    def site_link(match: re.Match[str]) -> str:
        target = (written_in / match["target"]).resolve()
        outside = target.relative_to(ROOT).as_posix() if target.is_relative_to(ROOT) else ""
        place = DOCS / PAGES[outside] if outside in PAGES else DOCS / outside if target.parent == EXAMPLES else target
        if place.is_relative_to(DOCS):
            relative = Path(os.path.relpath(place, shown_in)).as_posix()
            return f"[{match['text']}]({relative}{match['anchor'] or ''})"
        return match["text"] if place.exists() else match[0]

    def site_picture(match: re.Match[str]) -> str:
        return match["before"] + Path(os.path.relpath((written_in / match["target"]).resolve(), shown_in)).as_posix()

    return PICTURE.sub(site_picture, LINK.sub(site_link, text))


def _written_out(entry: object, listed: set[str]) -> object:
    """A part of the navigation in which each folder has become the list of its pages that are listed nowhere."""
    if isinstance(entry, dict):
        return {title: _written_out(inside, listed) for title, inside in entry.items()}
    if isinstance(entry, list):
        parts = [_written_out(part, listed) for part in entry]
        return [page for part in parts for page in (part if isinstance(part, list) else [part])]
    if isinstance(entry, str) and entry.endswith("/"):
        return sorted({f"{entry}{page.name}" for page in (DOCS / entry).glob("*.md")} - listed)
    return entry


def _listed(entry: object) -> set[str]:
    """Every page that a part of the navigation names."""
    if isinstance(entry, str):
        return {entry}
    parts = entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ()
    return {page for part in parts for page in _listed(part)}
