"""Only this machine, only this page: the gate in front of everything that the studio serves.

Binding to 127.0.0.1 keeps other machines out, not other web pages: a page from elsewhere can make
the browser ask 127.0.0.1, under a name of its own (DNS rebinding) or over a WebSocket, which the
same-origin policy does not cover. So every request must carry the studio's own Host, every
request that names an Origin must name the studio's, and a WebSocket must name one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST_UPLOAD = 16 * 1024 * 1024
"""Bytes of a request's body; a larger one is refused while it arrives, not after."""

_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' {sockets}; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class OnlyThisMachine:
    """ASGI middleware: refuses foreign hosts, foreign origins and large bodies; adds headers that keep data here."""

    def __init__(self, app: App, *, port: int, largest_body: int = LARGEST_UPLOAD) -> None:
        self._app, self._largest = app, largest_body
        hosts = [f"{name}:{port}" for name in ("127.0.0.1", "localhost")]
        if port == 80:
            hosts += ["127.0.0.1", "localhost"]
        self._hosts = {host.encode() for host in hosts}
        self._origins = {f"http://{host}".encode() for host in hosts}
        policy = _POLICY.format(sockets=" ".join(f"ws://{host}" for host in hosts))
        self._headers = [
            (b"content-security-policy", policy.encode()),
            (b"referrer-policy", b"no-referrer"),
            (b"x-content-type-options", b"nosniff"),
            (b"cross-origin-resource-policy", b"same-origin"),
            (b"cross-origin-opener-policy", b"same-origin"),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or say why not."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        reason = self._reason_to_refuse(scope)
        if reason is not None:
            await _refuse(scope, receive, send, *reason)
            return
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
            return
        await self._app(scope, self._limited(receive), self._with_headers(send))

    def _reason_to_refuse(self, scope: Scope) -> tuple[int, str] | None:
        headers = scope["headers"]
        hosts = [value.lower() for name, value in headers if name == b"host"]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return 421, "The studio answers only at the address it was opened at, on this machine."
        origins = [value.lower() for name, value in headers if name == b"origin"]
        if any(origin not in self._origins for origin in origins):
            return 403, "The studio answers only to its own page."
        if scope["type"] == "websocket" and not origins:
            return 403, "The studio answers only to its own page."
        lengths = [value for name, value in headers if name == b"content-length"]
        if any(not value.isdigit() or int(value) > self._largest for value in lengths):
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

    def _with_headers(self, send: Send) -> Send:
        async def decorated(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *self._headers]
            await send(message)

        return decorated


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, reason: str) -> None:
    if scope["type"] == "websocket":
        await receive()  # the connection request; closing before accepting answers 403
        await send({"type": "websocket.close", "code": 1008})
        return
    body = reason.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, (b"connection", b"close")]})
    await send({"type": "http.response.body", "body": body})
