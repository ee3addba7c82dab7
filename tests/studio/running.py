"""A studio as a user starts it, in a process of its own, and a browser that notices everything that goes wrong."""

from __future__ import annotations

import http.client
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
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PATIENCE = 150_000  # ms: on a new machine the loops that prove guarantees are compiled first


@dataclass(frozen=True)
class Running:
    """A studio that runs: the address it printed, where that leads, and the cookie that one gets there."""

    printed: str
    address: str
    cookie_name: str
    cookie: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def port(self) -> int:
        return int(urlsplit(self.address).port or 0)

    @property
    def root(self) -> str:
        """The path under which everything lies."""
        return urlsplit(self.address).path.rstrip("/")

    @property
    def token(self) -> str:
        return self.printed.partition("?token=")[2]

    @property
    def cookie_header(self) -> str:
        return f"{self.cookie_name}={self.cookie}"

    def admit(self, context: BrowserContext) -> None:
        """What opening the printed address does to a browser."""
        cookie = {"name": self.cookie_name, "value": self.cookie, "domain": "127.0.0.1", "path": f"{self.root}/"}
        context.add_cookies([{**cookie, "httpOnly": True, "sameSite": "Strict"}])  # type: ignore[typeddict-item]


@contextmanager
def running_studio(
    folder: Path, *arguments: str, cache: Path | None = None, browser: Path | None = None
) -> Iterator[Running]:
    """Its temporary files lie in the folder; a browser is a program that is called with what to open."""
    log = folder / "studio.log"
    environment = {**os.environ, "SYMVEIL_CACHE": str(cache or folder / "cache"), "TMPDIR": str(folder)}
    command = [sys.executable, "-m", "symveil", "studio", "--port", "0", *arguments]
    if browser is None:
        command.append("--no-browser")
    else:
        environment["BROWSER"] = str(browser)
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
    try:
        yield _opened(_printed(log, process), process, log)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _printed(log: Path, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=[\w-]+(?=[\"\s])", log.read_text())
        if found:
            return found[0]
        time.sleep(0.05)
    raise AssertionError(f"the studio did not start: {log.read_text()}")


def _opened(printed: str, process: subprocess.Popen[bytes], log: Path) -> Running:
    """It listens before it prints: anyone who asks early is answered a little later."""
    connection = http.client.HTTPConnection("127.0.0.1", int(urlsplit(printed).port or 0), timeout=90)
    connection.request("GET", printed.partition("/?")[1] + printed.partition("/?")[2])
    response = connection.getresponse()
    page, cookie = response.read().decode(), SimpleCookie(response.headers["Set-Cookie"])
    connection.close()
    (name,) = cookie
    (room,) = re.findall(r'content="0;url=(/[\w-]{20,}/)"', page)
    return Running(printed, printed.partition("/?")[0] + room, name, cookie[name].value, process, log)


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
        found = self.page.locator(f"#panel-{panel} .cards:not([data-preliminary]){wanted}")
        found.first.wait_for(state="visible", timeout=PATIENCE)
        return dict(found.first.evaluate("element => ({...element.dataset})"))

    def external(self) -> list[str]:
        own = (self.studio.address, self.studio.address.replace("http", "ws"), "data:", "blob:")
        return [url for url in self.requests if not url.startswith(own)]


@contextmanager
def watched(browser: Browser, studio: Running, *, width: int = 1280, theme: str = "light") -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, accept_downloads=True)  # type: ignore[arg-type]
    studio.admit(context)
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
