"""A walk through all panels in a real browser: the numbers on the page are those of the API."""

from __future__ import annotations

import json
import time
from fractions import Fraction
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

import symveil as sv
from symveil.examples.paper_systems import TRIP, example_4, medical, network_language, pin_checker
from symveil.formats.manifest import manifest_path
from symveil.tasks.count import count_file
from symveil.tasks.draw import error_curves
from symveil.tasks.explain import average_over_model
from symveil.tasks.opacity import judge_opacity

from .running import Running, Watched, watched

pytestmark = pytest.mark.xdist_group("studio")  # one studio and one browser for all of them

PANELS = ("release", "compare", "map", "file", "answers", "opacity", "proofs", "ledger")

EXAMPLES = Path(__file__).parents[2] / "examples"
PLANT = EXAMPLES / "plant.fsm"


def text_of(tab: Watched, panel: str) -> str:
    return tab.page.locator(f"#panel-{panel} .answer").inner_text()


def test_release_says_what_the_api_says(tab: Watched) -> None:
    page = tab.open("/release")
    page.fill("#release-alphabet", "abc")
    page.fill("#release-word", "abcab")
    page.select_option("#release-mechanism", "permute-and-flip")
    marks = tab.answered("release", mechanism="permute-and-flip", epsilon="2")
    page.wait_for_function("document.querySelector('#panel-release .word.true')?.innerText === 'abcab'")
    mechanism = sv.PermuteAndFlip(sv.words("abc", 5), epsilon=2)
    marks = tab.answered("release")
    assert float(marks["error"]) == mechanism.distances().expected_error
    assert (float(marks["guarantee"]), marks["how"]) == (mechanism.guarantee.epsilon, mechanism.guarantee.how)
    # all rows at once: the panel may be drawn anew at any time
    rows = page.evaluate(
        """[...document.querySelectorAll('#panel-release tbody tr')].filter(row => row.querySelector('td.word')).map(
            row => [row.querySelector('td.word').innerText, row.querySelectorAll('td')[1].innerText,
                    [...row.querySelectorAll('b')].map(changed => changed.innerText).join('')])"""
    )
    assert len(rows) == 10
    for word, changed, underlined in rows:
        assert len(word) == 5 and set(word) <= set("abc")
        differing = sum(new != old for new, old in zip(word, "abcab", strict=True))
        assert int(changed) == differing == len(underlined)  # what is underlined is what differs
    assert "V counts the ways to finish" in text_of(tab, "release")


def test_a_mechanism_that_hides_the_length(tab: Watched) -> None:
    tab.open("/release?mechanism=truncated-levenshtein&epsilon=4&max_length=10")
    marks = tab.answered("release", mechanism="truncated-levenshtein", epsilon="4")
    mechanism = sv.TruncatedLevenshtein(sv.words_up_to("abcd", 10), epsilon=4)
    assert float(marks["error"]) == mechanism.distances("abcdabcd").expected_error
    assert float(marks["guarantee"]) == mechanism.guarantee.epsilon
    assert tab.page.is_visible("#release-max_length") and not tab.page.is_visible("#release-distance")


def test_the_slider_redraws_on_a_road_network(tab: Watched) -> None:
    page = tab.open("/release?source=network&epsilon=4")
    language = network_language()
    for epsilon in ("4", "4.1"):
        marks = tab.answered("release", epsilon=epsilon)
        mechanism = sv.select_mechanism(language, epsilon=epsilon, adjacency=2)
        assert float(marks["error"]) == mechanism.distances(TRIP).expected_error
        assert float(marks["guarantee"]) == mechanism.guarantee.epsilon
        page.focus("#release-epsilon")
        page.keyboard.press("ArrowRight")  # the slider works from the keyboard
    assert "3,421 states" in text_of(tab, "release")  # too many to draw: summed up
    chosen = "epsilon=4.2&adjacency=&beyond=graceful&mechanism=auto&cost=auto&calibration=tight&distance=auto"
    assert page.url.endswith(chosen)


def test_compare_says_what_the_api_says(tab: Watched) -> None:
    page = tab.open("/compare?epsilon=5")
    page.wait_for_selector('#panel-compare .supplement [data-averages="20"]')
    with page.expect_download() as waiting:
        page.click("#panel-compare [data-act=json]")
    document = json.loads(Path(waiting.value.path()).read_text())
    curves = error_curves(sv.words("abcd", 8))
    assert [each["mechanism"] for each in document["curves"]] == [each.mechanism for each in curves]
    assert [each["expected_error"] for each in document["curves"]] == [list(each.errors) for each in curves]
    shown = text_of(tab, "compare")
    assert f"{curves[0].errors[9]:.4g}" in shown
    assert "of a private word is wrong" in shown and "Benvenuti 2026, Mechanism 2" in shown
    averages = average_over_model(sv.select_mechanism(sv.words("abcd", 8), epsilon=5))
    assert document["averages"][9] == averages.document()
    followed = page.inner_text("#panel-compare .supplement")
    assert f"At ε = 5: {averages.sentence()}." in followed and "Averaging" not in followed
    page.focus("#compare-epsilon")
    page.keyboard.press("ArrowRight")  # another place to look at: nothing is computed again
    page.get_by_text("At ε = 5.5: expected error").wait_for()


def test_the_map_shows_trips_that_can_be_driven(tab: Watched) -> None:
    page = tab.open("/map?epsilon=4.5&samples=3")
    marks = tab.answered("map", epsilon="4.5")
    mechanism = sv.select_mechanism(network_language(), epsilon="4.5", adjacency=2)
    assert float(marks["error"]) == mechanism.distances(TRIP).expected_error
    assert page.locator("#panel-map figure svg").count() == 5  # the true one, three private ones, one without the map
    assert "3 of 3 private trips below can be driven" in text_of(tab, "map")


def test_answers_are_those_of_the_command_line(tab: Watched, tmp_path: Path) -> None:
    true = tmp_path / "true.csv"
    true.write_text("id,word\n" + "".join(f"{number},a b {'ab'[number % 2]}\n" for number in range(400)))
    private = sv.privatize_file(true, tmp_path / "private.csv", alphabet="abc", epsilon=3).out
    page = tab.open("/answers?source=file&statistic=ngrams:K&order=2")
    assert "No private file yet" in text_of(tab, "answers")
    page.set_input_files("#answers-private", private)
    page.locator("#answers-manifest-error").get_by_text("drop it here").wait_for()
    page.set_input_files("#answers-manifest", manifest_path(private))
    tab.answered("answers", statistic="ngrams:2", method="exact-unbiased")
    with page.expect_download() as waiting:
        page.click("#panel-answers [data-act=json]")
    assert json.loads(Path(waiting.value.path()).read_text()) == sv.estimate(private, "ngrams:2").document()
    assert page.locator("#panel-answers figure svg").count() == 1
    page.select_option("#answers-statistic", "presence")  # with another statistic, of the same files
    tab.answered("answers", statistic="presence")
    page.set_input_files("#answers-private", true)  # not what the manifest is about
    page.locator("#answers-private-error").get_by_text("expected the bytes that the manifest tells").wait_for()
    kept = [each for each in tab.studio.log.parent.rglob("*.csv") if each.name in ("private.csv", "true.csv")]
    assert len(kept) == 2
    page.goto("about:blank")
    deadline = time.monotonic() + 20
    while any(each.exists() for each in kept) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(each.exists() for each in kept)  # gone with the page


def test_answers_show_a_table_of_private_counts(tab: Watched, tmp_path: Path) -> None:
    true = tmp_path / "true.csv"
    true.write_text("id,word\n" + "".join(f"{number},a b\n" for number in range(400)))
    release = count_file(true, "visits", epsilon=1, alphabet="abc", out=tmp_path / "visits.json")
    page = tab.open("/answers?source=file")
    page.set_input_files("#answers-private", release.out)
    page.set_input_files("#answers-manifest", release.manifest_file)
    tab.answered("answers", statistic="visits", method="private counts")
    assert page.locator("#panel-answers figure svg").count() == 1
    assert "for each person" in text_of(tab, "answers")
    with page.expect_download() as waiting:
        page.click("#panel-answers [data-act=json]")
    assert release.counts is not None
    assert json.loads(Path(waiting.value.path()).read_text()) == release.counts.document()


def test_opacity_steps_through_an_observation(tab: Watched) -> None:
    page = tab.open("/opacity")
    marks = tab.answered("opacity")
    report = judge_opacity(example_4(), "1")
    assert Fraction(marks["violation"]) == Fraction(report.document()["violation_probability"]) == Fraction(1, 3)
    assert marks["estimate"] == "0"
    for observed, estimate in (("b", "8"), ("ba", "9"), ("bac", "11")):
        page.click(f'#panel-opacity [data-act=observe][data-value="{observed[-1]}"]')
        assert tab.answered("opacity", estimate=estimate)["estimate"] == ",".join(
            sv.delayed_estimate(example_4(), observed)
        )
    page.click("#panel-opacity [data-act=back]")
    tab.answered("opacity", estimate="9")
    private = sv.enforce_opacity(example_4(), 1, policy="private", epsilon="2")
    assert f"{private.expected_distance:.6g}" in text_of(tab, "opacity")
    page.select_option("#opacity-source", "medical")
    tab.answered("opacity", violation=str(judge_opacity(medical(), "1").document()["violation_probability"]))


def test_proofs_bracket_delta(tab: Watched) -> None:
    page = tab.open("/proofs?epsilon=0.1")
    marks = tab.answered("proofs", epsilon="0.1")
    verdict = sv.verify_privacy(pin_checker(), epsilon="0.1").document()
    assert float(marks["lower"]) == verdict["delta"]["lower"]  # type: ignore[index]
    assert float(marks["upper"]) == verdict["delta"]["upper"]  # type: ignore[index]
    page.fill("#proofs-delta", "0.01")
    page.get_by_text("At most 1/100, as asked: NO").wait_for()


def test_the_ledger_is_read(tab: Watched) -> None:
    page = tab.open("/ledger")
    assert tab.answered("ledger")["persons"] == "2"
    assert "3.25" in text_of(tab, "ledger") and "ada" in text_of(tab, "ledger")
    page.fill("#ledger-person", "somebody new")
    page.wait_for_function("document.querySelector('#panel-ledger tbody').innerText.includes('somebody new')")
    assert "2.5" in text_of(tab, "ledger")


def test_what_was_typed_stays_when_another_panel_is_looked_at(tab: Watched) -> None:
    page = tab.open("/release")
    page.fill("#release-word", "dcba")
    page.wait_for_function("document.querySelector('#panel-release .word.true')?.innerText === 'dcba'")
    page.click("nav >> text=Opacity")
    tab.answered("opacity")
    assert page.url.startswith(f"{tab.studio.address}opacity") and not page.is_visible("#panel-release")
    page.go_back()
    page.wait_for_selector("#panel-release", state="visible")
    assert page.input_value("#release-word") == "dcba"


OUT_OF_REACH = """() => {
  const side = document.querySelector('section.panel:not([hidden]) .side');
  const last = [...side.querySelectorAll('input, select, summary')].filter((each) => each.checkVisibility()).at(-1);
  last.scrollIntoView({block: 'nearest'});
  const box = last.getBoundingClientRect();
  return side.scrollHeight > side.clientHeight + 1 || box.bottom > window.innerHeight + 1 || box.top < -1;
}"""
WIDE_PICTURES = """() => [...document.querySelectorAll('section.panel:not([hidden]) figure svg')]
  .filter((svg) => svg.getBoundingClientRect().width > window.innerWidth).length"""
CUT_TABLES = """() => [...document.querySelectorAll('section.panel:not([hidden]) table')]
  .filter((table) => { const box = table.closest('.scroll');
    return !box || (table.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX !== 'auto'); }).length"""


CUT_TEXTS = """() => [...document.querySelectorAll('section.panel:not([hidden]) :is(p, dd, dt, h1, h2, h3, label)')]
  .filter((each) => each.checkVisibility() && !each.closest('.scroll') && each.scrollWidth > each.clientWidth + 1
    && getComputedStyle(each).display !== 'inline').map((each) => each.textContent.slice(0, 40))"""


def test_no_form_table_or_picture_is_cut_off(browser: Browser, studio: Running) -> None:
    """A form longer than the screen is reached to its end, tables scroll, and pictures fit on a phone."""
    for width, height in ((1280, 500), (390, 844)):
        with watched(browser, studio, width=width, theme="light") as tab:
            tab.open("/release")
            tab.page.set_viewport_size({"width": width, "height": height})
            for panel in PANELS:
                tab.page.click(f"nav >> text={panel.capitalize()}")
                tab.answered(panel)
                assert not tab.page.evaluate(OUT_OF_REACH), (panel, width)
                assert tab.page.evaluate(CUT_TABLES) == 0, (panel, width)
                if width == 390:
                    assert tab.page.evaluate(WIDE_PICTURES) == 0, panel


def test_a_form_that_is_cut_off_is_noticed(tab: Watched) -> None:
    """A check that cannot fail would prove nothing."""
    tab.open("/release")
    tab.page.add_style_tag(content=".side { max-height: 200px; overflow: hidden } figure svg { min-width: 4000px }")
    assert tab.page.evaluate(OUT_OF_REACH) and tab.page.evaluate(WIDE_PICTURES) > 0


def test_a_system_without_secrets_proves_nothing(tab: Watched) -> None:
    page = tab.open("/opacity")
    page.select_option("#opacity-source", "file")
    page.set_input_files("#opacity-model", PLANT)
    page.get_by_text("No state is secret").wait_for()
    assert page.locator("#panel-opacity .badge.holds").count() == 0
    page.fill("#opacity-secret", "down")
    tab.answered("opacity", holds="True")
    assert page.locator("#panel-opacity .badge.holds").count() == 1
    page.fill("#opacity-observable", "start, done, break")
    tab.answered("opacity", holds="False")
    page.fill("#opacity-secret", "nothing of the sort")
    page.locator("#opacity-secret-error").get_by_text("found 'nothing of the sort'").wait_for()


def test_on_a_map_of_ones_own_b_is_chosen_first(tab: Watched) -> None:
    page = tab.open("/map")
    page.select_option("#map-source", "file")
    page.set_input_files("#map-model", EXAMPLES / "roads.json")
    page.set_input_files("#map-coordinates", EXAMPLES / "roads_map.csv")
    page.get_by_text("What is to be hidden?").wait_for()
    page.select_option("#map-adjacency", "3")
    tab.answered("map", epsilon="6")
    assert "ε by distance: trips that differ in 1 symbol lose at most 2" in text_of(tab, "map")
    assert "An attacker who knows the public model: names" in text_of(tab, "map")


def barriers(tab: Watched) -> list[tuple[str, str, str]]:
    """What axe-core calls serious or critical; about all that is in order it need not report at length."""
    return [
        (each["impact"], each["id"], each["nodes"][0]["html"])
        for each in Axe().run(tab.page, options={"resultTypes": ["violations"]}).response["violations"]
        if each["impact"] in ("serious", "critical")
    ]


def test_axe_does_find_barriers(tab: Watched) -> None:
    """A check that cannot fail would prove nothing."""
    tab.open("/release")
    tab.page.evaluate("document.querySelector('label[for=release-word]').remove()")
    assert ("critical", "label") in [found[:2] for found in barriers(tab)]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_every_panel_fits_the_screen_and_has_no_barriers(
    browser: Browser, studio: Running, tmp_path: Path, width: int, theme: str
) -> None:
    with watched(browser, studio, width=width, theme=theme) as tab:
        tab.open("/release")
        for panel in PANELS:
            tab.page.click(f"nav >> text={panel.capitalize()}")
            tab.answered(panel)
            assert tab.page.evaluate("document.documentElement.scrollWidth") <= width, panel
            assert tab.page.evaluate(CUT_TABLES) == 0 and tab.page.evaluate(CUT_TEXTS) == [], panel
            if theme == "light" or width > 390:
                assert barriers(tab) == [], panel
            picture = tmp_path / f"{panel}-{width}-{theme}.png"
            tab.page.screenshot(path=picture, full_page=True)
            assert picture.stat().st_size > 20_000
        assert tab.external() == [] and tab.complaints == []
        ground = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(15, 20, 26)") == (theme == "dark")
