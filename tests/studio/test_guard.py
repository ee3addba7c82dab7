"""Raw requests at the gate: other hosts, other origins and large bodies are refused, whatever else they say."""

from __future__ import annotations

import base64
import http.client
import os
import socket

import pytest

from .running import Running

pytestmark = pytest.mark.xdist_group("studio")  # one studio and one browser for all of them

SOCKET_PATH = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
POLLING_PATH = "/_nicegui_ws/socket.io/?EIO=4&transport=polling"


def ask(
    studio: Running, method: str, path: str, headers: dict[str, str], body: bytes = b""
) -> http.client.HTTPResponse:
    """The answer to a request of somebody who has opened the studio."""
    connection = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=20)
    connection.putrequest(method, studio.root + path, skip_host=True, skip_accept_encoding=True)
    for name, value in {"Cookie": studio.cookie_header, **headers}.items():
        connection.putheader(name, value)
    if body:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body or None)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response


def upgrade(studio: Running, headers: dict[str, str]) -> str:
    """The first line of the answer to a WebSocket handshake."""
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [f"GET {studio.root}{SOCKET_PATH} HTTP/1.1", "Upgrade: websocket", "Connection: Upgrade"]
    lines += [f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13"]
    lines += [f"{name}: {value}" for name, value in {"Cookie": studio.cookie_header, **headers}.items()]
    with socket.create_connection(("127.0.0.1", studio.port), timeout=20) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        return connection.recv(4096).decode(errors="replace").splitlines()[0]


def own(studio: Running) -> str:
    return f"127.0.0.1:{studio.port}"


def opening_lines(studio: Running, request: str) -> str:
    return f"{request.format(studio.root)} HTTP/1.1\r\nHost: {own(studio)}\r\nCookie: {studio.cookie_header}\r\n"


def test_its_own_address_is_answered(studio: Running) -> None:
    for host in (own(studio), f"localhost:{studio.port}", f"LOCALHOST:{studio.port}"):
        response = ask(studio, "GET", "/release", {"Host": host})
        assert response.status == 200
        policy = response.headers["Content-Security-Policy"]
        assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy
        assert response.headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "[::1]:{port}",
        "127.0.0.1:{port}.evil.example",
        "",
    ],
)
def test_other_hosts_are_refused_everywhere(studio: Running, host: str) -> None:
    headers = {"Host": host.format(port=studio.port)}
    for method, path in (("GET", "/release"), ("GET", "/assets/studio.js"), ("GET", POLLING_PATH), ("POST", "/upload")):
        assert ask(studio, method, path, headers).status in (400, 421)
    assert " 101 " not in upgrade(studio, {**headers, "Origin": f"http://{headers['Host']}"})


def test_two_hosts_are_refused(studio: Running) -> None:
    with socket.create_connection(("127.0.0.1", studio.port), timeout=20) as connection:
        connection.sendall((opening_lines(studio, "GET {}/release") + "Host: evil.example\r\n\r\n").encode())
        assert connection.recv(100).split()[1] in (b"400", b"421")


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "https://127.0.0.1:{port}",
        "http://127.0.0.1:1",
        "http://127.0.0.1:{port}.evil.example",
    ],
)
def test_other_origins_are_refused(studio: Running, origin: str) -> None:
    headers = {"Host": own(studio), "Origin": origin.format(port=studio.port)}
    assert " 101 " not in upgrade(studio, headers)
    for method, path in (("GET", POLLING_PATH), ("POST", "/upload"), ("GET", "/release")):
        assert ask(studio, method, path, headers).status == 403


def test_a_socket_needs_an_origin_and_its_own_is_taken(studio: Running) -> None:
    assert " 101 " not in upgrade(studio, {"Host": own(studio)})
    assert " 101 " in upgrade(studio, {"Host": own(studio), "Origin": f"http://{own(studio)}"})
    assert " 101 " in upgrade(studio, {"Host": f"localhost:{studio.port}", "Origin": f"http://localhost:{studio.port}"})


def test_it_listens_on_127_0_0_1_only(studio: Running) -> None:
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.2", studio.port), timeout=2).close()
    with pytest.raises(OSError):
        socket.create_connection(("::1", studio.port), timeout=2).close()


def test_a_large_file_is_refused_by_its_length(studio: Running) -> None:
    with socket.create_connection(("127.0.0.1", studio.port), timeout=20) as connection:
        connection.sendall((opening_lines(studio, "POST {}/upload") + "Content-Length: 999999999\r\n\r\n").encode())
        assert b" 413 " in connection.recv(100)


def test_a_large_file_is_cut_off_while_it_arrives(studio: Running) -> None:
    """Chunked, so that no header gives it away."""
    piece = b"x" * (1 << 20)
    with socket.create_connection(("127.0.0.1", studio.port), timeout=30) as connection:
        connection.sendall((opening_lines(studio, "POST {}/upload") + "Transfer-Encoding: chunked\r\n\r\n").encode())
        try:
            for _ in range(18):
                connection.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            connection.sendall(b"0\r\n\r\n")
        except OSError:
            pass  # it hung up while we were still talking
        answer = connection.recv(200)
        assert answer == b"" or b" 413 " in answer
    # and nothing of it is left, which would count
    assert all(any(place.iterdir()) for place in studio.log.parent.glob("symveil-studio-*/uploads/*"))


def test_a_small_file_is_taken_and_stays_under_its_plain_name(studio: Running) -> None:
    headers = {"Host": own(studio), "X-File-Name": "..%2F..%2Fsmall%20fil%C3%A9.json"}
    response = ask(studio, "POST", "/upload", headers, b"{}")
    assert response.status == 200
    assert [path.name for path in studio.log.parent.glob("symveil-studio-*/uploads/*/small*")] == ["small filé.json"]


def test_unknown_addresses_are_not_logged(studio: Running) -> None:
    assert ask(studio, "GET", "/hunter2?word=hunter3", {"Host": own(studio)}).status == 404
    assert "hunter" not in studio.log.read_text()
