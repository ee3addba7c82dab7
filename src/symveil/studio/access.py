"""Who may use a studio: anyone who opened it by the address that it printed, which carries a token.

Everybody with an account on the machine can reach 127.0.0.1. So each start draws a token; opening the
address with it gives the browser a cookie, and a request without that cookie is refused.

A browser sends the cookies of 127.0.0.1 to every port of it, also to one where another account's
program listens, and that program could hand the cookie on. It does so only under the cookie's path,
though. So all pages lie in a folder with a random name, the *room*, and the cookie is for that folder:
who does not know the room's name never gets to see the cookie.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field

from symveil.randomness import new_token

HOST = "127.0.0.1"
"""Never `localhost`: that may lead to ::1, where somebody else may listen."""


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
        """The cookie as a browser is told to keep it: for this room, out of reach of scripts and of other sites."""
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
