"""The port is the studio's alone: anyone who holds it first is not shared with, and nobody can share it afterwards."""

from __future__ import annotations

import itertools
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from symveil.errors import ParameterError
from symveil.studio.serve import listening_socket

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have other rules")

ADDRESSES = ["127.0.0.1", "0.0.0.0", "::", "::ffff:127.0.0.1"]  # noqa: S104 - what others may do
WAYS = [
    (address, options)
    for address in ADDRESSES
    for count in range(3)
    for options in itertools.combinations(("SO_REUSEADDR", "SO_REUSEPORT"), count)
]


@contextmanager
def theirs(address: str, options: tuple[str, ...]) -> Iterator[socket.socket]:
    """A socket of another program, which tries everything to be let in."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    if family == socket.AF_INET6 and not socket.has_dualstack_ipv6():
        pytest.skip("no IPv6 here")
    with socket.socket(family) as other:
        for option in options:
            other.setsockopt(socket.SOL_SOCKET, getattr(socket, option), 1)
        if family == socket.AF_INET6:
            other.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        yield other


@pytest.mark.parametrize(("address", "options"), WAYS)
def test_nobody_can_share_it_afterwards(address: str, options: tuple[str, ...]) -> None:
    with listening_socket(0) as ours, theirs(address, options) as other, pytest.raises(OSError):
        other.bind((address, ours.getsockname()[1]))
        other.listen()


@pytest.mark.parametrize(("address", "options"), WAYS)
def test_who_listens_first_is_not_shared_with(address: str, options: tuple[str, ...]) -> None:
    with theirs(address, options) as other:
        other.bind((address, 0))
        other.listen()
        with pytest.raises(ParameterError, match="another program at port"):
            listening_socket(other.getsockname()[1])


@pytest.mark.parametrize(("address", "options"), WAYS)
def test_who_is_only_bound_first_never_listens_beside(address: str, options: tuple[str, ...]) -> None:
    with theirs(address, options) as other:
        other.bind((address, 0))
        try:
            ours = listening_socket(other.getsockname()[1])
        except ParameterError:
            return
        with ours, pytest.raises(OSError):
            other.listen()


def test_it_listens_at_once_and_on_one_address() -> None:
    with listening_socket(0) as ours:
        assert ours.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1
        assert ours.getsockname()[0] == "127.0.0.1"


def test_it_can_be_used_again_right_after_a_studio_has_ended() -> None:
    """A connection that the server closed first blocks a port for a minute."""
    with listening_socket(0) as ours:
        port = ours.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            served, _ = ours.accept()
            served.close()
            assert client.recv(1) == b""
    listening_socket(port).close()


def test_a_taken_port_says_what_to_do() -> None:
    with listening_socket(0) as ours, pytest.raises(ParameterError) as refused:
        listening_socket(ours.getsockname()[1])
    message = str(refused.value)
    assert message.count("\n") == 0 and "is not this studio's" in message and "--port 0" in message
