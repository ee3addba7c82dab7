"""The site builds without a warning, links lead somewhere here as there, and its pages ask no other machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pages
import pytest
from playwright.sync_api import Page, expect

from studio.running import CHROMIUM, PATIENCE, chromium

from .blocks import PAGES, ROOT, blocks, name

pytestmark = pytest.mark.xdist_group("site")  # built once


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    told = built.stdout + built.stderr
    assert built.returncode == 0, told
    assert "WARNING" not in told, told
    return folder


def test_every_page_is_there(site: Path) -> None:
    for page in PAGES:
        inside = pages.PAGES.get(page.name) if page.parent == ROOT else page.relative_to(ROOT / "docs").as_posix()
        assert inside is not None, f"{page.name}: expected a place in docs/building/pages.py"
        assert (site / inside).with_suffix(".html").exists(), inside


class _Fetched(HTMLParser):
    """What a browser fetches by itself when it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            self.addresses.append(given.get("href") or "")
        if tag in ("script", "img", "iframe", "source", "video", "audio", "embed", "object", "input"):
            self.addresses += [given.get(key) or "" for key in ("src", "data", "srcset")]


def _elsewhere(page: str) -> list[str]:
    fetched = _Fetched()
    fetched.feed(page)
    return [address for address in fetched.addresses if re.match(r"(\w+:)?//", address)]


_SHEET_ELSEWHERE = re.compile(r"""(url\(|@import)\s*["']?(\w+:)?//""")


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert _elsewhere(page.read_text(encoding="utf-8")) == [], page
    for sheet in site.rglob("*.css"):
        assert not _SHEET_ELSEWHERE.search(sheet.read_text(encoding="utf-8")), sheet


def test_what_is_fetched_from_elsewhere_would_be_found() -> None:
    for tag in ('link rel="stylesheet" href', "script src", "img alt='' src", "iframe src"):
        assert _elsewhere(f'<{tag}="https://example.org/x">') == ["https://example.org/x"]
        assert _elsewhere(f'<{tag}="//example.org/x">') == ["//example.org/x"]
        assert _elsewhere(f'<{tag}="assets/x">') == []
    assert _elsewhere('<a href="https://example.org">read on</a>') == []
    assert _SHEET_ELSEWHERE.search("@font-face {src: url('https://example.org/font')}")


def test_links_also_work_where_the_repository_is_browsed() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in blocks(text):
            text = text.replace("\n".join(block.lines), "")
        for link in [*pages.LINK.finditer(text), *pages.PICTURE.finditer(text)]:
            assert (page.parent / link["target"]).exists(), f"{name(page)}: {link['target']}"


def test_examples_of_docstrings_are_shown_as_code(site: Path) -> None:
    text = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert 'class="language-pycon' in text
    assert "<blockquote>" not in text


def test_parameters_of_docstrings_are_shown_as_a_list(site: Path) -> None:
    text = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert re.search(r"<p><strong>Parameters</strong></p>\s*<ul>\s*<li>(<p>)?<code>language</code>:", text)
    assert ">----------<" not in text


def test_the_papers_are_spelled_out_where_they_first_occur(site: Path) -> None:
    page = (site / "mechanisms.html").read_text(encoding="utf-8")
    assert page.count('title="Jones, Leahy and Hale 2019"') == 1
    assert "glossary.html#the-four-papers" in page


def test_how_to_guides_are_ordered_by_task(site: Path) -> None:
    groups = ["Prepare data", "Choose", "Release", "Use and check"]
    page = (site / "how-to" / "your-own-csv.html").read_text(encoding="utf-8")
    shown = re.findall(r'class="md-ellipsis">\s*([^<]*?)\s*<', page)
    assert [each for each in shown if each in groups][: len(groups)] == groups


def test_names_in_signatures_lead_to_their_place(site: Path) -> None:
    text = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert re.search(r'<a [^>]*href="#symveil\.(words|Alphabet|FreeLanguage)"', text)
    assert re.search(r'<a [^>]*href="#symveil\.Guarantee"', text)


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def tab(address: str) -> Iterator[tuple[Page, list[str], list[str]]]:
    """A page as wide as a telephone, what it asks for, and what it complains about."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine (`make test` installs it where it may)")
    asked: list[str] = []
    complaints: list[str] = []
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.set_default_timeout(PATIENCE)
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda told: complaints.append(told.text) if told.type in ("error", "warning") else None)
        yield page, asked, complaints


@pytest.mark.parametrize(
    "path", ["index", "reference/commands", "reference/python", "mechanisms", "theory/chains-and-opacity"]
)
def test_a_browser_asks_nobody_else_and_nothing_sticks_out(address: str, tab, path: str) -> None:
    page, asked, complaints = tab
    page.goto(f"{address}{path}.html")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("h1").count() == 1
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
    assert complaints == []


def test_the_first_page_fits_on_a_screen_and_a_half(address: str, tab) -> None:
    page, _, _ = tab
    page.set_viewport_size({"width": 1400, "height": 900})
    page.goto(f"{address}index.html")
    assert page.evaluate("document.querySelector('article').getBoundingClientRect().bottom + scrollY") <= 1.5 * 900
    page.set_viewport_size({"width": 390, "height": 844})


def test_a_copy_has_no_prompts_and_no_answers(address: str, tab) -> None:
    """The button of the first example of the README's part about Python, and of its commands."""
    page, _, complaints = tab
    page.goto(f"{address}index.html")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    copied = {}
    for language in ("pycon", "sh"):
        block = page.locator(f".language-{language}").first
        block.hover()
        block.locator(".md-clipboard, [data-md-type=copy], button").first.click()
        copied[language] = page.evaluate("navigator.clipboard.readText()")
    assert ">>>" not in copied["pycon"] and "Guarantee(" not in copied["pycon"] and "$" not in copied["sh"]
    assert copied["sh"].startswith("make demo")
    names: dict[str, object] = {}
    exec(compile(copied["pycon"], "copied", "exec"), names)  # noqa: S102 - our own page: a copy runs
    assert names["private"]
    assert complaints == []


def test_the_search_finds_a_page(address: str, tab) -> None:
    page, asked, complaints = tab
    page.goto(f"{address}index.html")
    page.locator("label[for=__search]").first.click()
    expect(page.locator(".md-search-result__meta")).not_to_contain_text("Initializing search", timeout=PATIENCE)
    box = page.get_by_placeholder("Search")
    # The whole word at once: lunr.js confuses some terms that hold digits and then complains about a single letter
    # (its minimised set of terms can contain a term that the index does not). The page searches when a key is released
    box.fill("staircase")
    box.press("End")
    found = page.locator(".md-search-result__link").first
    found.wait_for(state="visible")
    # the page about mechanisms, before the one with all names of Python
    assert found.inner_text() == "Mechanisms"
    assert "staircase" in page.locator(".md-search-result__item").first.inner_text().lower()
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
    assert complaints == []
