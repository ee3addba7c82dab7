"""Opening a file whose name may come from a stranger: a regular file or nothing, and without waiting.

A device may never end and a pipe may never begin. Both are refused before a byte is read, with an `OSError` that
says in its `strerror` what was found, as the system's own errors do.

Where a user's computed things are kept between runs.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from pathlib import Path

from symveil.errors import NotRegularError

_OWN_PIPES = (Path("/dev/fd"), Path("/proc/self/fd"))
_STANDARD_INPUT = Path("/dev/stdin")

_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_regular(path: Path, *, follow: bool = True) -> io.BufferedReader:
    """The bytes of a regular file, also (`follow`) of one that a link leads to; anything else is an `OSError`.

    A pipe that the shell made and handed to this process (`/dev/stdin`, `/dev/fd/63`) is taken as well: only the
    person at the keyboard can have meant it.

    >>> open_regular(Path("/dev/zero"))
    Traceback (most recent call last):
    symveil.errors.NotRegularError: [Errno 22] a device, where only a regular file is read
    """
    own = follow and (path == _STANDARD_INPUT or path.parent in _OWN_PIPES)
    # looked at before it is opened, since opening a device may set it going; and again, since it may be another by then
    _require_regular(path.stat(follow_symlinks=follow).st_mode, own=own)
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    if not own:
        flags |= getattr(os, "O_NONBLOCK", 0)
    if not follow:
        flags |= getattr(os, "O_NOFOLLOW", 0)
    number = os.open(path, flags)
    try:
        _require_regular(os.fstat(number).st_mode, own=own)
        return os.fdopen(number, "rb")
    except BaseException:
        os.close(number)
        raise


def is_regular(path: Path, *, follow: bool = True) -> bool:
    """Whether there is a regular file of this name; `follow`: the file that a symbolic link leads to will do.

    >>> is_regular(Path("/dev/zero")), is_regular(Path("/no/such/file"))
    (False, False)
    """
    try:
        return stat.S_ISREG(path.stat(follow_symlinks=follow).st_mode)
    except (OSError, ValueError):
        return False


def _require_regular(mode: int, *, own: bool) -> None:
    if stat.S_ISREG(mode) or (own and stat.S_ISFIFO(mode)):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    kind = next((name for test, name in _KINDS if test(mode)), "something else")
    raise NotRegularError(errno.EINVAL, f"{kind}, where only a regular file is read")


def cache_folder() -> Path | None:
    """The user's cache of symveil, or None; `SYMVEIL_CACHE` names another one, and an empty one is none."""
    chosen = os.environ.get("SYMVEIL_CACHE")
    if chosen is not None:
        return Path(chosen) if chosen else None
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "symveil" / "Cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "symveil"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "symveil"
