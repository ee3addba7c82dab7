"""Who did not open the studio by the printed address is refused, whatever is asked for; who did is let in."""

from __future__ import annotations

import http.client
import http.server
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Browser, Request

from symveil.studio.guard import CLOSED, Access, OnlyThisMachine

from .running import Running, watched
from .test_guard import POLLING_PATH, own, upgrade
from .test_worker import in_a_loop

pytestmark = pytest.mark.xdist_group("studio")  # one studio and one browser for all of them

EVERYTHING = [
    ("GET", ""),
    ("GET", "/"),
    ("GET", "/release"),
    ("GET", "/compare?source=network&adjacency=3"),
    ("HEAD", "/release"),
    ("OPTIONS", "/release"),
    ("GET", "/favicon.ico"),
    ("GET", "/assets/studio.js"),
    ("GET", "/nowhere"),
    ("GET", POLLING_PATH),
    ("POST", POLLING_PATH),
    ("POST", "/upload"),
    ("PUT", "/upload"),
]


def raw(studio: Running, method: str, target: str, **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    """An answer to somebody who has only what is given here."""
    connection = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=20)
    connection.request(method, target, headers={"Host": own(studio), **headers})
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response, body


def assert_closed(answer: tuple[http.client.HTTPResponse, bytes], *, head: bool = False) -> None:
    response, body = answer
    assert response.status == 403 and (head or body.decode() == CLOSED)
    assert CLOSED.count("\n") == 1 and response.headers["Content-Type"].startswith("text/plain")
    assert response.headers["Set-Cookie"] is None and response.headers["Location"] is None


@pytest.mark.parametrize(("method", "path"), EVERYTHING)
def test_everything_is_closed_without_the_cookie_and_the_room(studio: Running, method: str, path: str) -> None:
    other = "A" * len(studio.cookie)
    head = method == "HEAD"
    assert_closed(raw(studio, method, path or "/"), head=head)
    assert_closed(raw(studio, method, studio.root + path), head=head)
    assert_closed(raw(studio, method, studio.root + path, Cookie=f"{studio.cookie_name}={other}"), head=head)
    assert_closed(raw(studio, method, studio.root + path, Cookie=f"{studio.cookie_name}={studio.token}"), head=head)
    assert_closed(raw(studio, method, studio.root + path, Cookie=f"symveil-studio-1={studio.cookie}"), head=head)
    # the cookie alone, as a program at another port of 127.0.0.1 could have it if it were sent there
    assert_closed(raw(studio, method, path or "/", Cookie=studio.cookie_header), head=head)
    assert_closed(raw(studio, method, f"/{other}{path}", Cookie=studio.cookie_header), head=head)


def test_a_wrong_token_opens_nothing(studio: Running) -> None:
    for token in ("", "x", studio.token[:-1], f"{studio.token}x", studio.cookie, "%00", f"{studio.token}&token=x"):
        assert_closed(raw(studio, "GET", f"/?token={token}"))
    assert_closed(raw(studio, "POST", f"/?token={studio.token}"))
    assert_closed(raw(studio, "GET", "/", Cookie=f"token={studio.token}"))
    assert_closed(raw(studio, "GET", "/", Authorization=f"token {studio.token}"))


def test_the_token_is_exchanged_for_a_cookie_of_the_room(studio: Running) -> None:
    response, body = raw(studio, "GET", f"/?token={studio.token}")
    assert response.status == 200 and studio.token not in body.decode()
    kept = response.headers["Set-Cookie"]
    assert kept == f"{studio.cookie_header}; Path={studio.root}/; HttpOnly; SameSite=Strict"
    assert studio.token not in kept and str(studio.port) in studio.cookie_name
    assert response.headers["Referrer-Policy"] == "no-referrer" and response.headers["Cache-Control"] == "no-store"
    assert "script-src" not in response.headers["Content-Security-Policy"]  # and nothing by default
    # a link may be opened with the token too; where it leads lies in the room, whatever it says
    for path, target in (
        ("/release?epsilon=3.5&token={}&source=network", "/release?epsilon=3.5&source=network"),
        ("{root}/map?token={}", "/map"),
        ("//evil.example/?token={}", "/evil.example/"),
        ('/"><script>?token={}&a="><b', "/%22%3E%3Cscript%3E?a=%22%3E%3Cb"),
    ):
        asked = path.replace("{root}", studio.root).replace("{}", studio.token).replace('"', "%22")
        _, body = raw(studio, "GET", asked.replace("<", "%3C").replace(">", "%3E"))
        assert [unescape(each) for each in re.findall(r'url=([^"]*)"', body.decode())] == [studio.root + target]
        assert "<script" not in body.decode()


def test_a_socket_without_the_cookie_is_refused(studio: Running) -> None:
    page = {"Host": own(studio), "Origin": f"http://{own(studio)}"}
    assert " 101 " in upgrade(studio, page)
    for cookie in ("", f"{studio.cookie_name}={studio.token}", f"{studio.cookie_name}=", "a=b"):
        assert " 403 " in upgrade(studio, {**page, "Cookie": cookie})


def test_a_cookie_of_the_same_name_from_elsewhere_does_not_lock_out(studio: Running) -> None:
    planted = f"{studio.cookie_name}=planted"
    for cookies in (f"{planted}; {studio.cookie_header}", f"{studio.cookie_header}; {planted}"):
        response, _ = raw(studio, "GET", f"{studio.root}/release", Cookie=cookies)
        assert response.status == 200


def test_nothing_behind_the_gate_is_called_for_a_stranger() -> None:
    """Not even to say that something is not there."""
    reached: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        reached.append(scope["path"])

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    access, answers = Access(8321), list[Any]()

    async def send(message: Any) -> None:
        answers.append(message.get("status") or message.get("type"))

    async def ask(kind: str, path: str, query: bytes, *headers: tuple[bytes, bytes]) -> None:
        ours = [(b"host", b"127.0.0.1:8321"), (b"origin", b"http://127.0.0.1:8321"), *headers]
        scope = {"type": kind, "method": "GET", "path": path, "query_string": query, "headers": ours}
        await OnlyThisMachine(app, access=access)(scope, receive, send)

    async def run() -> None:
        for kind in ("http", "websocket"):
            for path in ("/", "/release", access.root, f"{access.root}/release"):
                await ask(kind, path, b"")
                await ask(kind, path, b"token=wrong", (b"cookie", b"symveil-studio-8321=wrong"))
        assert reached == [] and set(answers) == {403, "http.response.body", "websocket.close"}
        await ask("http", "/", f"token={access.token}".encode())  # the exchange is the gate's own work too
        assert reached == []
        await ask("http", f"{access.root}/release", b"", (b"cookie", access.cookie_header.encode()))
        assert reached == [f"{access.root}/release"]

    in_a_loop(run())


@given(path=st.text(max_size=60), header=st.text(max_size=80), token=st.text(max_size=60))
def test_nothing_else_is_admitted(path: str, header: str, token: str) -> None:
    access = Access(8321)
    right = f"{access.cookie_name}={access.cookie}"
    assert not access.opens(token) and access.opens(access.token)
    assert not access.admits(path, [right]) and not access.admits(f"{access.root}/{path}", [header])
    assert not access.admits(access.root + "x" + path, [right])
    assert access.admits(f"{access.root}/{path}", [header, right])


def test_no_message_shows_the_secrets() -> None:
    access = Access(8321)
    assert repr(access) == "Access(port=8321)"
    assert len({access.token, access.cookie, access.room, Access(8321).token}) == 4


# --- in a browser -----------------------------------------------------------------------------------


def test_the_printed_address_opens_the_page_and_leaves_no_token(browser: Browser, studio: Running) -> None:
    context = browser.new_context()
    page = context.new_page()
    requests = list[Request]()
    page.on("requestfinished", lambda request: requests.insert(0, request))
    page.goto("about:blank")
    page.goto(studio.printed)
    page.wait_for_url(f"{studio.address}release")
    page.wait_for_selector("#panel-release .cards", timeout=150_000)
    assert len(requests) > 10 and not any(request.all_headers().get("referer") for request in requests)
    assert page.evaluate("[document.referrer, document.cookie]") == ["", ""]
    # the token is not in the history: one step back is what was there before
    page.evaluate("history.back()")
    page.wait_for_url("about:blank")
    # another tab of the same browser is let in, another browser is not
    assert context.new_page().goto(f"{studio.address}compare").status == 200  # type: ignore[union-attr]
    stranger = browser.new_context().new_page()
    refused = stranger.goto(f"{studio.address}release")
    assert refused is not None and refused.status == 403 and stranger.inner_text("body").strip() == CLOSED.strip()
    stranger.context.close()
    context.close()


@contextmanager
def another_program() -> Iterator[tuple[str, list[str]]]:
    """What somebody else serves on this machine, and the cookies that it gets to see."""
    seen: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Cookie", ""))
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Set-Cookie", "theirs=1")
            self.end_headers()
            self.wfile.write(b"<!doctype html><link rel=icon href=data:,><p>hello")

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/", seen
    finally:
        server.shutdown()
        server.server_close()


def test_a_page_at_another_port_gets_neither_the_cookie_nor_an_answer(browser: Browser, studio: Running) -> None:
    """It is the same site for a browser, and gets the cookies of 127.0.0.1 that are for all paths."""
    with another_program() as (address, seen), watched(browser, studio) as tab:
        tab.page.goto(address)
        tab.page.goto(f"{address}release")
        assert seen[-1] == "theirs=1" and not any(studio.cookie in each for each in seen)
        answers = tab.page.evaluate(
            """async ([root, port]) => {
                const tried = [];
                const base = `http://127.0.0.1:${port}`;
                for (const path of ["/", "/release", "/upload", root + "/release", root + "/upload"]) {
                    for (const method of ["GET", "POST"]) {
                        try { tried.push((await fetch(base + path, {method, credentials: "include"})).status); }
                        catch { tried.push("refused"); }
                    }
                }
                for (const path of ["", root]) {
                    tried.push(await new Promise((done) => {
                        const socket = new WebSocket(`ws://127.0.0.1:${port}${path}/_nicegui_ws/socket.io/?EIO=4&transport=websocket`);
                        socket.onopen = () => done("open");
                        socket.onerror = () => done("refused");
                    }));
                }
                return tried;
            }""",
            [studio.root, studio.port],
        )
        assert set(answers) == {"refused"} and len(answers) == 12
