"""A secret word never enters an address, a log, a file name or another machine; nor does what it was dropped in."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from symveil.examples.paper_systems import road_network
from symveil.formats.models.model_files import save_model

from .running import running_studio, watched

pytestmark = pytest.mark.xdist_group("studio")  # one studio and one browser for all of them

SECRET = "dabbadabbacaddaba"
SECRET_TRIP = "0,0-1,1 1,0-1,1 1,0-2,0"


def test_a_secret_word_stays_secret(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "studio"
    folder.mkdir()
    model = tmp_path / "my roads.json"
    save_model(road_network(), model)
    with running_studio(folder) as studio:
        with watched(browser, studio) as tab:
            page = tab.open("/release")
            page.fill("#release-word", SECRET)
            page.wait_for_function(f"document.querySelector('#panel-release .word.true')?.innerText === '{SECRET}'")
            page.context.grant_permissions(["clipboard-read", "clipboard-write"])
            page.click("#panel-release [data-link]")
            page.wait_for_selector("text=Copied")
            link = page.evaluate("navigator.clipboard.readText()")
            assert link.startswith(studio.address) and "epsilon=2" in link and "mechanism=auto" in link
            page.select_option("#release-calibration", "classic")  # proofs are not what this is about
            page.select_option("#release-source", "file")
            page.set_input_files("#release-model", model)
            page.fill("#release-separator", " ")
            page.fill("#release-trip", SECRET_TRIP)
            page.select_option("#release-adjacency", "1")  # on a model b is a decision
            page.wait_for_function(
                f"document.querySelector('#panel-release .word.true')?.innerText === '{SECRET_TRIP}'", timeout=150_000
            )
            with page.expect_download():
                page.click("#panel-release [data-act=html]")
            addresses = [link, page.url, *tab.requests]
            kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
            for secret in (SECRET, "1,0-1,1", "1%2C0-1%2C1"):
                assert not any(secret in address for address in addresses)
                assert secret not in kept
            # a mistake names the place, not the symbol
            page.fill("#release-trip", "0,0-1,1 zebra 1,0-2,0")
            page.wait_for_selector("#release-trip-error:visible")
            assert "zebra" not in page.inner_text("#release-trip-error")
            assert page.get_attribute("#release-trip", "aria-invalid") == "true"
            assert tab.external() == [] and tab.complaints == []
            for field in ("#release-word", "#release-trip"):
                assert page.get_attribute(field, "autocomplete") == "off"
                assert page.get_attribute(field, "spellcheck") == "false"
        everything = studio.log.read_text()
    assert SECRET not in everything and "1,0-1,1" not in everything and "zebra" not in everything
    assert len(everything.splitlines()) == 1, everything  # where it is, and nothing else: no access log
    left = [path for path in folder.rglob("*") if path.is_file() and path.name != "studio.log"]
    for path in left:  # calibrations only, named by digests of public things
        assert path.suffix == ".json" and SECRET not in path.read_text() and "1,0-1,1" not in path.read_text()
