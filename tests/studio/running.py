"""A studio as a user starts it, in a process of its own, and a browser that notices everything that goes wrong."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PATIENCE = 150_000  # ms: on a new machine the loops that prove guarantees are compiled first


@dataclass(frozen=True)
class Running:
    """A studio that runs."""

    address: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def port(self) -> int:
        return int(self.address.rstrip("/").rpartition(":")[2])


@contextmanager
def running_studio(folder: Path, *arguments: str, cache: Path | None = None) -> Iterator[Running]:
    log = folder / "studio.log"
    environment = {**os.environ, "SYMVEIL_CACHE": str(cache or folder / "cache"), "TMPDIR": str(folder)}
    command = [sys.executable, "-m", "symveil", "studio", "--port", "0", "--no-browser", *arguments]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
    try:
        yield Running(_address(log, process), process, log)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(log: Path, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(r"http://127\.0\.0\.1:\d+/", log.read_text())
        if found:
            _wait_for(found[0], deadline)
            return found[0]
        time.sleep(0.05)
    raise AssertionError(f"the studio did not start: {log.read_text()}")


def _wait_for(address: str, deadline: float) -> None:
    import http.client

    port = int(address.rstrip("/").rpartition(":")[2])
    while time.monotonic() < deadline:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/release")
            connection.getresponse().read()
            return
        except OSError:
            time.sleep(0.05)
        finally:
            connection.close()


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Watched:
    """A tab and what it asked for and complained about."""

    page: Page
    context: BrowserContext
    studio: Running
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        self.page.goto(self.studio.address + path.lstrip("/"))
        self.answered(path.lstrip("/").partition("?")[0])
        return self.page

    def answered(self, panel: str, **marks: str) -> dict[str, str]:
        """Wait for an answer of a panel, with these marks; its marks."""
        wanted = "".join(f'[data-{name}="{value}"]' for name, value in marks.items())
        found = self.page.locator(f"#panel-{panel} .cards{wanted}")
        found.first.wait_for(state="visible", timeout=PATIENCE)
        return dict(found.first.evaluate("element => ({...element.dataset})"))

    def external(self) -> list[str]:
        own = (self.studio.address, self.studio.address.replace("http", "ws"), "data:", "blob:")
        return [url for url in self.requests if not url.startswith(own)]


@contextmanager
def watched(browser: Browser, studio: Running, *, width: int = 1280, theme: str = "light") -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, accept_downloads=True)  # type: ignore[arg-type]
    page = context.new_page()
    tab = Watched(page, context, studio)
    page.on("request", lambda request: tab.requests.append(request.url))
    page.on("websocket", lambda socket: tab.requests.append(socket.url))
    page.on("pageerror", lambda error: tab.complaints.append(str(error)))
    page.on("console", lambda told: tab.complaints.append(told.text) if told.type in ("error", "warning") else None)
    try:
        yield tab
    finally:
        context.close()
