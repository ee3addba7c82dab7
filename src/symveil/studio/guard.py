"""Only this machine, only this page, only who opened it: the gate in front of everything that the studio serves.

Binding to 127.0.0.1 keeps other machines out, not other web pages: a page from elsewhere can make
the browser ask 127.0.0.1, under a name of its own (DNS rebinding) or over a WebSocket, which the
same-origin policy does not cover. So every request must carry the studio's own Host, every
request that names an Origin must name the studio's, and a WebSocket must name one.

Nor does it keep out other accounts of the machine. So a request must come with the cookie that the
printed address is exchanged for (`access`); without it nothing behind the gate runs.

Who may use a studio: anyone who opened it by the address that it printed, which carries a token.

Everybody with an account on the machine can reach 127.0.0.1. So each start draws a token; opening the
address with it gives the browser a cookie, and a request without that cookie is refused.

A browser sends the cookies of 127.0.0.1 to every port of it, also to one where another account's
program listens, and that program could hand the cookie on. It does so only under the cookie's path,
though. So all pages lie in a folder with a random name, the *room*, and the cookie is for that folder:
who does not know the room's name never gets to see the cookie.
"""

from __future__ import annotations

import hmac
import html
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from symveil.randomness import new_token

HOST = "127.0.0.1"
"""Never `localhost`: that may lead to ::1, where another program may listen."""


@dataclass(frozen=True, slots=True)
class Access:
    """The secrets of one start: the token of the address, the cookie it is exchanged for, the name of the room."""

    port: int
    token: str = field(default_factory=new_token, repr=False)
    cookie: str = field(default_factory=new_token, repr=False)
    room: str = field(default_factory=new_token, repr=False)

    @property
    def address(self) -> str:
        """What one opens: anyone who knows it may use the studio."""
        return f"http://{HOST}:{self.port}/?token={self.token}"

    @property
    def root(self) -> str:
        """The path under which everything lies."""
        return f"/{self.room}"

    @property
    def cookie_name(self) -> str:
        """With the port, so that several studios can be open in one browser."""
        return f"symveil-studio-{self.port}"

    @property
    def cookie_header(self) -> str:
        """The cookie as a browser is to store it: for this room, out of reach of scripts and of other sites."""
        return f"{self.cookie_name}={self.cookie}; Path={self.root}/; HttpOnly; SameSite=Strict"

    def opens(self, token: str) -> bool:
        """Whether this is the token."""
        return _same(token, self.token)

    def admits(self, path: str, cookies: list[str]) -> bool:
        """Whether a request for this path with these cookie headers comes from who has opened the studio.

        >>> access = Access(8321)
        >>> inside = f"/{access.room}/release"
        >>> access.admits(inside, [f"theme=dark; symveil-studio-8321={access.cookie}"])
        True
        >>> access.admits(inside, []), access.admits("/release", [f"symveil-studio-8321={access.cookie}"])
        (False, False)
        """
        _, room, *below = path.split("/", 2) if path.startswith("/") else ("", "", "")
        # another program at 127.0.0.1 may have set a cookie of this name too: one of them must be right
        right_cookie = False
        for header in cookies:
            for pair in header.split(";"):
                name, _, value = pair.strip().partition("=")
                if name == self.cookie_name:
                    right_cookie |= _same(value, self.cookie)
        return bool(below) and _same(room, self.room) and right_cookie


def _same(given: str, secret: str) -> bool:
    """Compare in a time that does not tell how much of it was right."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), secret.encode())


Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

LARGEST_UPLOAD = 16 * 1024 * 1024
"""Bytes of a request's body; a larger one is refused while it arrives, not after."""

CLOSED = "The studio answers only to who opened it by the address that `symveil studio` printed when it started.\n"

_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' {socket}; object-src 'none'; "
    "worker-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_NOTHING = "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_ALWAYS: Headers = [
    (b"cache-control", b"no-store"),  # neither the browser's cache nor its memory of pages left keeps what is secret
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]
# There is no proxy that could have added the first; compressing costs time and saves none within a machine.
_NOT_PASSED_ON = (b"x-forwarded-prefix", b"accept-encoding")

# Not a redirect: a browser does not send a SameSite=Strict cookie on one that another site or a file led to. A page
# of the studio's own that goes on does; and so early that it takes no place in the browser's history.
_GO_ON = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>symveil studio</title>'
    '<link rel="icon" href="data:,"><meta http-equiv="refresh" content="0;url={target}">'
    '<p><a href="{target}">Open the studio</a></p></html>\n'
)


class OnlyThisMachine:
    """ASGI middleware: refuses foreign hosts and origins, strangers and large bodies; adds headers that keep data here.

    The app behind the gate is not called for a request that is refused, nor for one that carries more than
    `largest_body` bytes.
    """

    def __init__(self, app: App, *, access: Access, largest_body: int = LARGEST_UPLOAD) -> None:
        self._app, self._access, self._largest = app, access, largest_body
        hosts = [f"{name}:{access.port}" for name in ("127.0.0.1", "localhost")]
        if access.port == 80:
            hosts += ["127.0.0.1", "localhost"]
        self._origins = {f"http://{host}".encode() for host in hosts}
        # the page's own socket only: a page at 127.0.0.1 has nothing to do at localhost, where another may listen
        self._policies = {host.encode(): _POLICY.format(socket=f"ws://{host}").encode() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or say why not."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        reason = self._foreign(scope)
        if reason is None and self._opens(scope):
            await _send(
                send, 200, "text/html", self._go_on(scope), (b"set-cookie", self._access.cookie_header.encode())
            )
            return
        reason = reason or self._stranger(scope) or self._too_large(scope)
        if reason is not None:
            await _refuse(scope, receive, send, *reason)
            return
        headers = [(name, value) for name, value in scope["headers"] if name not in _NOT_PASSED_ON]
        scope = {**scope, "root_path": self._access.root, "headers": headers}
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
            return
        policy = self._policies[_values(scope, b"host")[0].lower()]
        await self._app(scope, self._limited(receive), _with_headers(send, policy))

    def _foreign(self, scope: Scope) -> tuple[int, str] | None:
        hosts = [value.lower() for value in _values(scope, b"host")]
        if len(hosts) != 1 or hosts[0] not in self._policies:
            return 421, "The studio answers only at the address it was opened at, on this machine.\n"
        origins = [value.lower() for value in _values(scope, b"origin")]
        if any(origin not in self._origins for origin in origins):
            return 403, "The studio answers only to its own page.\n"
        if scope["type"] == "websocket" and not origins:
            return 403, "The studio answers only to its own page.\n"
        return None

    def _opens(self, scope: Scope) -> bool:
        """Whether this is the printed address; also with another path, so that a link can be opened with the token."""
        if scope["type"] != "http" or scope["method"] != "GET":
            return False
        given = [value for name, value in _query(scope) if name == "token"]
        return len(given) == 1 and self._access.opens(given[0])

    def _go_on(self, scope: Scope) -> str:
        """A page that goes on to the same address in the room, without the token."""
        path = str(scope["path"]).removeprefix(self._access.root).lstrip("/")
        query = urlencode([(name, value) for name, value in _query(scope) if name != "token"])
        target = f"{self._access.root}/{quote(path)}{'?' if query else ''}{query}"
        return _GO_ON.format(target=html.escape(target, quote=True))

    def _stranger(self, scope: Scope) -> tuple[int, str] | None:
        cookies = [value.decode("latin-1") for value in _values(scope, b"cookie")]
        return None if self._access.admits(scope["path"], cookies) else (403, CLOSED)

    def _too_large(self, scope: Scope) -> tuple[int, str] | None:
        lengths = _values(scope, b"content-length")
        if any(not value.isdigit() or len(value) > 18 or int(value) > self._largest for value in lengths):
            return 413, f"The file is too large: at most {self._largest // 1024 // 1024} MiB."
        return None

    def _limited(self, receive: Receive) -> Receive:
        """A body that ends early where it grows too large, whatever its header said."""
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            return {"type": "http.disconnect"} if received > self._largest else message

        return counted


def _with_headers(send: Send, policy: bytes) -> Send:
    """Answers with our headers instead of theirs of the same names, and without marks to recognise content by."""
    ours: Headers = [(b"content-security-policy", policy), *_ALWAYS]
    replaced = {b"etag", b"last-modified", b"expires", *(name for name, _ in ours)}

    async def decorated(message: Message) -> None:
        if message["type"] == "http.response.start":
            remaining = [(name, value) for name, value in message.get("headers", []) if name.lower() not in replaced]
            message["headers"] = [*remaining, *ours]
        await send(message)

    return decorated


def _values(scope: Scope, name: bytes) -> list[bytes]:
    return [value for key, value in scope["headers"] if key == name]


def _query(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, reason: str) -> None:
    if scope["type"] == "websocket":
        await receive()  # the connection request; closing before accepting answers 403
        await send({"type": "websocket.close", "code": 1008})
        return
    await _send(send, status, "text/plain", reason, (b"connection", b"close"))


async def _send(send: Send, status: int, kind: str, text: str, *more: tuple[bytes, bytes]) -> None:
    body = text.encode()
    headers: Headers = [
        (b"content-type", f"{kind}; charset=utf-8".encode()),
        (b"content-length", str(len(body)).encode()),
        (b"content-security-policy", _NOTHING.encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *_ALWAYS, *more]})
    await send({"type": "http.response.body", "body": body})
