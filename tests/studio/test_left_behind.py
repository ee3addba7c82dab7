"""Nothing secret is left behind: not in a cache, not in a log, and not for anyone who has the port after the studio."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from .running import Running, Watched, running_studio, watched
from .test_guard import POLLING_PATH, ask, own

pytestmark = pytest.mark.xdist_group("studio")  # one studio and one browser for all of them


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/", {}),
        ("GET", "/release", {}),
        ("GET", "/nowhere", {}),
        ("GET", "/favicon.ico", {}),
        ("GET", "/assets/studio.js", {}),
        ("GET", "/assets/nothing.js", {}),
        ("GET", POLLING_PATH, {}),
        ("POST", "/upload", {"X-File-Name": "a.json"}),
        ("POST", "/upload", {"Content-Length": "999999999"}),
        ("GET", "/release", {"Cookie": "none=1"}),
        ("GET", "/release", {"Origin": "http://evil.example"}),
        ("GET", "/release", {"Host": "evil.example"}),
    ],
)
def test_no_answer_is_kept_by_a_cache(studio: Running, method: str, path: str, headers: dict[str, str]) -> None:
    response = ask(studio, method, path, {"Host": own(studio), **headers})
    assert response.headers.get_all("Cache-Control") == ["no-store"]
    assert response.headers["ETag"] is None and response.headers["Last-Modified"] is None
    assert response.headers.get_all("Referrer-Policy") == ["no-referrer"]


def test_everything_that_a_page_loads_is_not_kept(tab: Watched) -> None:
    kept = list[str]()
    tab.page.on(
        "response",
        lambda response: kept.append(response.url) if response.headers.get("cache-control") != "no-store" else None,
    )
    tab.open("/release")
    tab.page.reload()
    tab.answered("release")
    assert [url for url in kept if not url.startswith(("data:", "blob:"))] == []
    # Chromium keeps what it fetched where scripts of the same origin can find it again; there is nothing
    again = "url => fetch(url, {cache: 'only-if-cached', mode: 'same-origin'}).then(() => 'kept', () => 'nothing')"
    assert tab.page.evaluate(again, f"{tab.studio.address}release") == "nothing"
    tab.complaints.clear()  # the browser's own word for what it did not find
    # nor does a service translate the page
    assert tab.page.get_attribute("meta[name=google]", "content") == "notranslate"


@contextmanager
def taken_over(port: int) -> Iterator[list[bytes]]:
    """Another program at the port: what it is sent."""
    sent: list[bytes] = []
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen()

        def accept() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    sent.append(connection.recv(100_000))

        threading.Thread(target=accept, daemon=True).start()
        yield sent
        listening.shutdown(socket.SHUT_RDWR)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_a_page_sends_nothing_to_who_has_the_port_after_the_studio(
    browser: Browser, studio: Running, tmp_path: Path
) -> None:
    """It would connect again by itself, run what it is told there, and hand over what is typed and dropped."""
    secret = tmp_path / "secret.json"
    secret.write_text("{}")
    with running_studio(tmp_path, cache=studio.log.parent / "cache") as killed, watched(browser, killed) as tab:
        page = tab.page
        page.goto(f"{killed.address}release")
        page.wait_for_function("window.did_handshake", timeout=60_000)
        page.select_option("#release-source", "file")
        killed.process.kill()
        killed.process.wait()
        with taken_over(killed.port) as sent:
            page.get_by_text("The studio has ended").wait_for()
            page.fill("#release-trip", "hunter2")
            page.set_input_files("#release-model", secret)
            page.locator("#release-model-error").get_by_text("the studio has ended").wait_for()
            time.sleep(4)  # a socket tries again after half a second to one and a half, then less often
            assert sent == []


CHECK = """
import asyncio, logging, sys, threading
import nicegui, socketio, uvicorn
from symveil.studio.serve import only_locations

def fail():
    raise KeyError("hunter2")

async def fail_later():
    asyncio.get_running_loop().call_soon(fail)
    forgotten = asyncio.create_task(later())
    await asyncio.sleep(0.05)
    del forgotten

async def later():
    fail()

with only_locations():
    uvicorn.Config(None, access_log=False, log_config=None)
    for name in ("nicegui", "uvicorn", "uvicorn.error", "engineio.server", "socketio.server", "asyncio", "some.other"):
        try:
            fail()
        except KeyError:
            logging.getLogger(name).exception("hunter2")
        logging.getLogger(name).error("hunter2 %s", "hunter2")
        logging.getLogger(name).warning("hunter2")
    asyncio.run(fail_later())
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    nicegui.app.handle_exception(KeyError("hunter2"))
"""


def test_what_nobody_planned_is_told_without_a_value() -> None:
    done = subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert "hunter" not in done.stderr + done.stdout and "Traceback" not in done.stderr
    assert len([line for line in lines if "KeyError" in line]) == 11 and len(lines) == 18
    assert all(line.startswith("symveil studio: ") for line in lines)
