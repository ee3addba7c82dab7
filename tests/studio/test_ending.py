"""However the studio is ended, dropped files go with it, and so does the file that told the browser the address."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser

from .running import Running, running_studio, watched
from .test_access import EVERYTHING, assert_closed, raw
from .test_guard import ask, own

pytestmark = [
    pytest.mark.xdist_group("studio"),
    pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix"),
]


def recording_browser(folder: Path) -> Path:
    """A browser that writes down its command line, as `ps` would show it to everybody."""
    program = folder / "browser"
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$0" "$@" > {folder}/called.new && mv {folder}/called.new {folder}/called\n'
    )
    program.chmod(0o755)
    return program


def called(folder: Path) -> str:
    deadline = time.monotonic() + 60
    while not (folder / "called").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return (folder / "called").read_text()


def command_lines(studio: Running) -> Iterator[str]:
    """Of the studio and of every process below it."""
    parents = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it may have ended
            parents[int(process.name)] = int((process / "stat").read_text().rpartition(")")[2].split()[1])
    family = {studio.process.pid}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    for number in family:
        with suppress(OSError):
            yield Path(f"/proc/{number}/cmdline").read_bytes().decode()


def test_a_second_studio_is_opened_by_a_file_and_leaves_nothing(
    tmp_path: Path, browser: Browser, studio: Running
) -> None:
    """No other account learns its token, its secrets are its own, and both can be used in one browser."""
    first = studio
    dead = tmp_path / "symveil-studio-dead"  # left by one that was killed
    dead.mkdir(mode=0o700)
    (dead / "symveil-studio.lock").touch(mode=0o600)
    (dead / "secret.json").touch(mode=0o600)
    with running_studio(tmp_path, browser=recording_browser(tmp_path)) as second, watched(browser, first) as tab:
        opened = called(tmp_path)
        secrets = (second.token, second.cookie, second.root)
        assert not any(secret in opened for secret in secrets)
        if Path("/proc").exists():
            told = list(command_lines(second))
            assert len(told) > 2 and not any(secret in each for each in told for secret in secrets)
        file = Path(unquote(urlsplit(opened.splitlines()[1]).path))
        assert stat.S_IMODE(file.stat().st_mode) == 0o600 and file.stat().st_uid == os.geteuid()
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700 and file.parent.parent == tmp_path
        assert second.printed in file.read_text()
        # and a browser gets from there to the page, although a file is another site
        tab.page.goto(file.as_uri())
        tab.page.wait_for_url(f"{second.address}release", timeout=60_000)
        tab.page.wait_for_function("window.did_handshake", timeout=60_000)
        tab.open("/ledger")  # and the first one is still open
        assert {first.token, first.cookie, first.root}.isdisjoint(secrets)
        for method, path in EVERYTHING:
            assert_closed(raw(second, method, first.root + path, Cookie=first.cookie_header), head=method == "HEAD")
        assert_closed(raw(second, "GET", f"/?token={first.token}"))
        assert not dead.exists() and len(list(tmp_path.glob("symveil-studio-*"))) == 1
        second.process.send_signal(signal.SIGINT)
        assert second.process.wait(20) == 0
        assert list(tmp_path.glob("symveil-studio-*")) == []
        assert second.log.read_text().count(second.token) == 1


@pytest.mark.parametrize(("sent", "options"), [("SIGTERM", []), ("SIGHUP", ["--json"])])
def test_dropped_files_go_with_the_studio(tmp_path: Path, sent: str, options: list[str]) -> None:
    with running_studio(tmp_path, *options) as studio:
        assert ask(studio, "POST", "/upload", {"Host": own(studio), "X-File-Name": "roads.json"}, b"{}").status == 200
        assert len(list(tmp_path.rglob("roads.json"))) == 1
        studio.process.send_signal(getattr(signal, sent))
        assert studio.process.wait(20) == 0
        assert list(tmp_path.glob("symveil-studio-*")) == []
        (line,) = studio.log.read_text().splitlines()
        if options:
            assert json.loads(line) == {"address": studio.printed}
