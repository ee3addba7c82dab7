"""The folder of one studio: dropped files lie there while it runs. It goes with the studio.

A killed process cannot clean up; the next studio of the same account does. A lock, which the system drops with
the process that holds it, tells the folder of a studio that runs from the folder of one that is dead.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

if sys.platform != "win32":  # Windows has no such locks: the folder of a killed studio stays there
    import fcntl

_PREFIX = "symveil-studio-"
_LOCK = "symveil-studio.lock"


@contextlib.contextmanager
def session_folder() -> Iterator[Path]:
    """A new folder that only this account can look into, removed at the end; and those of dead studios are removed.

    Examples
    --------
    >>> with session_folder() as folder:
    ...     folder.is_dir()
    True
    >>> folder.exists()
    False
    """
    _remove_those_of_dead_studios(Path(tempfile.gettempdir()))
    folder, lock = _new_folder()
    try:
        yield folder
    finally:
        if sys.platform == "win32":  # which does not remove what is open
            os.close(lock)
        try:
            with contextlib.suppress(OSError):
                _remove(folder)
        finally:
            if sys.platform != "win32":  # while the folder is there, its lock is held
                os.close(lock)


def _new_folder() -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        try:
            number = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except FileNotFoundError:
            continue
        if _locked(number) and (folder / _LOCK).exists():
            return folder, number
        os.close(number)  # between creating and locking it another studio took it for a dead one's


def _remove_those_of_dead_studios(temporary: Path) -> None:
    if sys.platform == "win32":
        return
    for folder in temporary.glob(f"{_PREFIX}*"):
        # in a place that everybody writes to: folders of this account only, and what they link to is not followed
        with contextlib.suppress(OSError):
            status = folder.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
                continue
            number = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                if _locked(number):
                    _remove(folder)
            finally:
                os.close(number)


def _remove(folder: Path) -> None:
    """The lock last: what is left when this is interrupted is removed by the next studio."""
    for each in folder.iterdir():
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each)
        elif each.name != _LOCK:
            each.unlink()
    shutil.rmtree(folder)


def _locked(number: int) -> bool:
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
