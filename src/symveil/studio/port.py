"""The port that the studio listens on: its own, or none.

Anybody on the machine may listen on a port first, and show a page there that looks like the studio. So a port that is
taken is refused, with a warning; and the socket listens before the address is told and is handed to the server as
it is, so that nobody can come between.

SO_REUSEADDR on Unix lets a studio start again within a minute after one has ended; otherwise its old connections would
block the port. It does not share the port with anybody: where somebody listens, neither our bind nor a later one of
theirs succeeds, and of two sockets that are only bound the first one that listens keeps the other from it. On Windows
the same option would share it; there is another one that forbids it.
"""

from __future__ import annotations

import errno
import socket
import sys

from symveil.errors import ParameterError
from symveil.studio.access import HOST

USUAL_PORT = 8321


def listening_socket(port: int | None) -> socket.socket:
    """A socket that listens on 127.0.0.1; refused where another program does.

    Parameters
    ----------
    port
        A number, 0 for a free one, None for the usual one.

    Examples
    --------
    >>> with listening_socket(0) as ours:
    ...     ours.getsockname()[0]
    '127.0.0.1'
    """
    wanted = USUAL_PORT if port is None else port
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if sys.platform == "win32":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, wanted))
        listening.listen()
    except OverflowError:
        listening.close()
        raise ParameterError("port", expected="a whole number from 0 to 65535", found=port) from None
    except OSError as error:
        listening.close()
        raise ParameterError("port", expected="one that nobody uses", found=_why_not(wanted, error)) from None
    return listening


def _why_not(port: int, error: OSError) -> str:
    if error.errno != errno.EADDRINUSE:
        return f"port {port}: {error.strerror}; use --port 0 for a free one"
    return (
        f"another program at port {port}: a page at http://{HOST}:{port}/ is not this studio's, do not trust it; "
        "use --port 0 for a free one"
    )
