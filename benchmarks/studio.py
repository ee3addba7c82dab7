"""The studio: from a move of the ε slider to the updated picture, measured in the browser itself."""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measure import Effort, find_peer
from benchmarks.row import Benchmark, Row
from symveil.examples.paper_systems import TRIP, road_network
from symveil.formats.models.model_files import save_model

BAR = 0.1  # seconds: what feels immediate
_NAME = "ε slider to updated picture, 43 states, n = 14"
_FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
_PATIENCE = 150_000  # ms: loops are compiled on a new machine

# Moves the slider as a hand would, waits for cards of that ε and for the next frame to be drawn: any cards, and those
# that are final. Both times are returned.
_MOVE = """async (epsilon) => {
  const slider = document.getElementById('release-epsilon');
  const cards = `#panel-release .cards[data-epsilon="${epsilon}"]`;
  const began = performance.now();
  slider.value = epsilon;
  slider.dispatchEvent(new Event('input', {bubbles: true}));
  const seconds = [];
  for (const wanted of [`${cards} figure svg`, `${cards}:not([data-preliminary]) figure svg`]) {
    while (!document.querySelector(wanted)) {
      if (performance.now() - began > 60000) throw new Error(`no picture for ${epsilon} within a minute`);
      await new Promise((next) => setTimeout(next, 1));
    }
    await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
    seconds.push((performance.now() - began) / 1000);
  }
  return seconds;
}"""


def slider(effort: Effort) -> Iterator[Row]:
    """Prepared values of ε, as the studio proves them while one looks at the page; and values it has not met yet."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    api = find_peer("playwright.sync_api")
    if chromium is None or api.module is None or find_peer("nicegui").module is None:
        missing = "no Chromium" if chromium is None else "playwright or nicegui not installed"
        yield Row(
            name=_NAME, ours=None, peer="—", peer_time=None, quantity="seconds", limit=BAR, unit="move", note=missing
        )
        return
    with _studio() as (address, command_line), api.module.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=_FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(address.replace("/?token", "/release?source=network&epsilon=5&token"))
        page.wait_for_selector("#panel-release .cards", timeout=_PATIENCE)
        # far from 5, where preparing begins
        fresh = [page.evaluate(_MOVE, value) for value in effort.of(("9.3", "1.3", "8.7"), ("9.3",))]
        page.wait_for_selector('#panel-release[data-prepared="all"]', timeout=_PATIENCE)
        values = [f"{value / 10:g}" for value in effort.of(range(30, 70, 2), range(40, 46, 2))]
        moves = [page.evaluate(_MOVE, value)[0] for value in values]
        browser.close()
        seconds = _command_line(command_line)
    ordered = sorted(moves)
    peer = "symveil explain, a command for the same numbers"
    yield Row(
        name=_NAME,
        ours=statistics.median(moves),
        peer=peer,
        peer_time=seconds,
        quantity="seconds",
        limit=BAR,
        unit="move",
        note=f"the median of {len(moves)} moves, in the browser; the slowest took {1000 * ordered[-1]:.0f} ms",
    )
    yield Row(
        name=f"{_NAME}: an ε that was not prepared",
        ours=statistics.median(shown for shown, _ in fresh),
        peer=peer,
        peer_time=seconds,
        quantity="seconds",
        limit=BAR,
        unit="move",
        note="a preliminary answer at the published rate",
    )
    yield Row(
        name=f"{_NAME}: the same, until its guarantee is proved",
        ours=statistics.median(proved for _, proved in fresh),
        peer=peer,
        peer_time=seconds,
        quantity="seconds",
        unit="move",
        note="it begins when the slider has rested for a quarter of a second",
    )


@contextmanager
def _studio() -> Iterator[tuple[str, list[str]]]:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        environment = {**os.environ, "SYMVEIL_CACHE": str(Path(folder, "cache"))}
        command = [sys.executable, "-m", "symveil", "studio", "--port", "0", "--no-browser"]
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
        try:
            model = Path(folder, "roads.json")
            save_model(road_network(), model)
            same = [
                sys.executable,
                "-m",
                "symveil",
                "explain",
                " ".join(TRIP),
                "--separator",
                " ",
                "--model",
                str(model),
            ]
            yield _address(log), [*same, "--epsilon", "5", "--adjacency", "1"]
        finally:
            process.terminate()
            process.wait()


def _address(log: Path) -> str:
    for _ in range(1200):
        found = re.search(r"http://127\.0\.0\.1:\d+/\S+(?=\s)", log.read_text())
        if found:
            return found[0]
        time.sleep(0.05)
    raise RuntimeError("the studio did not start")


def _command_line(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run([*command, "--json"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


BENCHMARKS: list[Benchmark] = [slider]
