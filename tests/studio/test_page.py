"""What every panel has: downloads, a report, errors where they happen, a cancel that stops, use by keyboard."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import Page

from .running import Watched

pytestmark = pytest.mark.xdist_group("studio")  # one studio and one browser for all of them


def downloaded(page: Page, selector: str) -> tuple[str, bytes]:
    with page.expect_download() as waiting:
        page.click(selector)
    return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()


def test_everything_can_be_downloaded(tab: Watched) -> None:
    page = tab.open("/release")
    name, svg = downloaded(page, "#panel-release [data-save=svg] >> nth=0")
    assert name == "symveil-law.svg" and svg.startswith(b"<svg") and b"Law of the distance" in svg
    name, png = downloaded(page, "#panel-release [data-save=png] >> nth=1")
    assert name == "symveil-automaton.png" and png.startswith(b"\x89PNG") and len(png) > 10_000
    name, text = downloaded(page, "#panel-release [data-act=json]")
    document = json.loads(text)
    assert name == "symveil-release.json" and document["explain"]["length"] == 8
    name, text = downloaded(page, "#panel-release [data-act=csv]")
    rows = list(csv.reader(io.StringIO(text.decode())))
    assert rows[0] == ["distance", "words", "probability"] and len(rows) == 10
    assert sum(float(row[2]) for row in rows[1:]) == pytest.approx(1, abs=1e-12)
    name, report = downloaded(page, "#panel-release [data-act=html]")
    assert name == "symveil-release.html" and report.startswith(b"<!doctype html>")
    # self-contained: nothing in it is fetched
    fetched = re.findall(rb"""(?:src|href)\s*=\s*["']?([^"'\s>]+)|url\(([^)]+)\)|@import""", report)
    assert fetched == [] and report.count(b"<svg") == 2 and b"for their holder only" in report


def test_errors_are_shown_where_they_happen_and_go_away(tab: Watched) -> None:
    page = tab.open("/release")
    page.fill("#release-word", "abxd")
    error = page.locator("#release-word-error")
    error.wait_for(state="visible")
    assert "position 3" in error.inner_text() and page.get_attribute("#release-word", "aria-invalid") == "true"
    page.fill("#release-word", "abcd")
    error.wait_for(state="hidden")
    assert page.get_attribute("#release-word", "aria-invalid") is None
    page.fill("#release-alphabet", "aa")
    page.locator("#release-alphabet-error").wait_for(state="visible")


def test_a_wrong_file_is_refused_in_its_field(tab: Watched, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"format": "symveil/1", "kind": "markov-chain", "transitions": [["a", "b", 0.5]]}')
    page = tab.open("/release")
    page.select_option("#release-source", "file")
    page.set_input_files("#release-model", wrong)
    error = page.locator("#release-model-error")
    error.get_by_text("sum to 1").wait_for()
    assert "wrong.json" in error.inner_text() and "/" not in error.inner_text()


def test_a_long_job_shows_progress_and_really_stops(tab: Watched) -> None:
    page = tab.open("/compare")
    page.select_option("#compare-source", "network")
    page.select_option("#compare-adjacency", "3")  # minutes, if nobody stopped it
    page.wait_for_selector("#panel-compare .working progress", timeout=60_000)
    page.wait_for_timeout(400)
    phase = page.inner_text("#panel-compare .working span")
    assert phase.endswith(" …") and not phase.startswith("Working")  # what is being done has a name
    began = time.monotonic()
    page.focus("#panel-compare [data-act=cancel]")
    page.keyboard.press("Enter")
    page.get_by_text("Stopped.").wait_for()
    page.wait_for_function("document.activeElement.classList.contains('results')")  # not lost with the button
    # the worker is free again at once
    page.select_option("#compare-source", "alphabet")
    page.fill("#compare-word", "abc")
    page.wait_for_function(
        "document.querySelector('#panel-compare .answer').innerText.includes('of 3')", timeout=60_000
    )
    assert time.monotonic() - began < 30


def test_the_page_works_without_a_mouse(tab: Watched) -> None:
    page = tab.open("/release")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    reached: list[str] = []
    for _ in range(30):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.innerText"))
    for wanted in ("Compare", "release-source", "release-word", "release-epsilon", "release-mechanism", "SVG"):
        assert wanted in reached, reached
    page.focus("nav a[data-open=opacity]")
    page.keyboard.press("Enter")
    tab.answered("opacity")
    page.focus('#panel-opacity [data-act=observe][data-value="a"]')
    page.keyboard.press("Enter")
    tab.answered("opacity", estimate="1")
    # the answer replaced the button that was pressed; one may press on
    focused = "document.activeElement.closest('.events') !== null"
    page.wait_for_function(focused)
    page.focus("#panel-opacity [data-act=back]")
    page.keyboard.press("Enter")
    tab.answered("opacity", estimate="0")
    page.wait_for_function(focused)


def test_the_box_says_what_lies_between_the_steps(tab: Watched) -> None:
    page = tab.open("/release")
    page.fill("[data-of=release-epsilon]", "2.25")
    marks = tab.answered("release", epsilon="2.25")
    assert float(marks["guarantee"]) == pytest.approx(2.25) and "epsilon=2.25" in page.url
    page.focus("#release-epsilon")
    page.keyboard.press("ArrowRight")
    tab.answered("release", epsilon=page.input_value("[data-of=release-epsilon]"))
    page.fill("[data-of=release-epsilon]", "0.05")
    page.locator("#release-epsilon-error").get_by_text("Expected a number from 0.1 to 10, found '0.05'").wait_for()


def test_an_answer_to_an_earlier_form_is_dimmed_and_not_saved(tab: Watched) -> None:
    page = tab.open("/release")
    page.fill("#release-word", "abxd")
    page.wait_for_selector("#panel-release.stale")
    buttons = "#panel-release [data-save], #panel-release .panel-head [data-act]"
    disabled = f"[...document.querySelectorAll('{buttons}')].map(each => each.disabled)"
    assert set(page.evaluate(disabled)) == {True}
    # an error without a field of its own leaves no other one marked
    page.fill("#release-alphabet", "@file")
    page.wait_for_selector("#panel-release .failed >> text=found a file name")
    assert page.locator("#panel-release .error:visible").count() == 0
    page.fill("#release-alphabet", "abcdx")
    page.wait_for_selector("#panel-release:not(.stale)")
    assert set(page.evaluate(disabled)) == {False}


def test_a_link_beyond_the_slider_is_refused_at_its_field(tab: Watched) -> None:
    page = tab.page
    page.goto(f"{tab.studio.address}release?epsilon=50")
    page.locator("#release-epsilon-error").get_by_text("Expected a number from 0.1 to 10, found '50'").wait_for()
    assert page.input_value("[data-of=release-epsilon]") == "50" and page.locator(".cards").count() == 0
    page.fill("[data-of=release-epsilon]", "5")
    tab.answered("release", epsilon="5")


def test_each_file_has_its_own_errors(tab: Watched, tmp_path: Path) -> None:
    roads, places = tmp_path / "my café.json", tmp_path / "places.csv"
    roads.write_text('{"format": "symveil/1", "kind": "markov-chain", "transitions": [["a", "b", 1], ["b", "a", 1]]}')
    places.write_text("state,x,y\na,here,0\n")
    page = tab.open("/map")
    page.select_option("#map-source", "file")
    page.set_input_files("#map-model", roads)
    page.get_by_text("my café.json").wait_for()
    page.set_input_files("#map-coordinates", places)
    page.locator("#map-coordinates-error").get_by_text("line 2").wait_for()
    assert page.locator("#panel-map .error:visible").count() == 1
    places.write_text("state,x,y\n" + "a,0,0\n" * (3 << 20))
    page.set_input_files("#map-coordinates", places)
    page.locator("#map-coordinates-error").get_by_text("places.csv is still in use").wait_for()
    tab.complaints.clear()  # the browser's own word for a refused file
    places.write_text("state,x,y\na,0,0\nb,1,1\n")
    page.set_input_files("#map-coordinates", places)
    page.fill("#map-trip", "a|a")
    page.locator("#map-trip-error").get_by_text("position 2").wait_for()
    assert not page.inner_text("#map-trip-error").startswith("word")


def test_what_a_dropped_file_says_is_never_run(tab: Watched) -> None:
    """Names of states and events are somebody else's text; the file is dropped as with a mouse."""
    hostile = "<img src=x onerror=window.caught=1>"
    system = {
        "format": "symveil/1", "kind": "stochastic-system", "initial": hostile, "observable": ["</script>", "b"],
        "secret": ["s"], "transitions": [[hostile, "</script>", "s", "1/2"], [hostile, "b", "t", "1/2"]],
    }  # fmt: skip
    page = tab.open("/opacity")
    page.select_option("#opacity-source", "file")
    page.evaluate(
        """([text]) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([text], "<b>system</b>.json"));
            const zone = document.querySelector("[data-drop=opacity-model]");
            zone.dispatchEvent(new DragEvent("drop", {dataTransfer: transfer, bubbles: true, cancelable: true}));
        }""",
        [json.dumps(system)],
    )
    tab.answered("opacity", violation="1/2")
    assert hostile in page.inner_text("#panel-opacity .answer")
    page.click("#panel-opacity [data-act=observe] >> nth=0")
    tab.answered("opacity", estimate="s")
    assert page.locator("#panel-opacity img").count() == 0 and page.evaluate("window.caught") is None
    _, report = downloaded(page, "#panel-opacity [data-act=html]")
    assert b"<img" not in report and b"</script>" not in report
