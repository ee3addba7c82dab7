"""A large file written so that nobody ever meets half of it: aside, readable for its owner only, renamed at the end.

The aside of a release has a name of its own, so that a run after a kill finds and replaces it; a lock
that the system drops with the process keeps two runs from writing the same one. Names can be guessed: where
others may write to the folder too, a link or a file that somebody planted under that name is not written to.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
from pathlib import Path
from typing import Self

from symveil.drawing.opening import open_regular
from symveil.errors import FileError, reason

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no such locks
    fcntl = None  # type: ignore[assignment]

_CHUNK = 1 << 20


class AsideFile(io.RawIOBase):
    """A file being written beside its place; `publish` puts it there, leaving without it deletes it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with AsideFile(Path(folder, "out.csv"), "release-1") as file:
    ...         _ = file.write(b"done")
    ...         digest = file.finish()
    ...         file.publish()
    ...     Path(folder, "out.csv").read_bytes(), digest == digest_of(Path(folder, "out.csv"))
    (b'done', True)
    """

    def __init__(self, path: Path, tag: str) -> None:
        self.path = path
        self.aside = aside_of(path, tag)
        self._digest = hashlib.sha256()
        self._published = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._number = self._locked()
        except OSError as error:
            if self.aside.is_symlink():
                raise _planted(self.aside, "a symbolic link") from None
            raise _no_place(path, error) from None

    def _locked(self) -> int:
        while True:
            if not _NO_LINKS and self.aside.is_symlink():  # pragma: no cover - Windows has no such flag
                raise _planted(self.aside, "a symbolic link")
            number = os.open(self.aside, os.O_RDWR | os.O_CREAT | _NO_LINKS, 0o600)
            try:
                _refuse_foreign(self.aside, os.fstat(number))
                if fcntl is not None:
                    fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # between opening and locking another process may have renamed or deleted it
                if os.fstat(number).st_ino == os.lstat(self.aside).st_ino:
                    os.fchmod(number, 0o600)
                    os.ftruncate(number, 0)
                    return number
            except BlockingIOError:
                os.close(number)
                raise FileError(
                    str(self.path), expected="one process that writes this release", found="another one at it"
                ) from None
            except FileNotFoundError:
                pass
            except BaseException:
                os.close(number)
                raise
            os.close(number)

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: bytes | memoryview) -> int:  # type: ignore[override]  # any buffer
        """Append some bytes; after the end they go nowhere.

        A writer that was given up writes its last bytes when Python collects it. By then the number of
        this file may be another file's.
        """
        rest = memoryview(data).cast("B")
        if self.closed:
            return len(rest)
        self._digest.update(rest)
        size = len(rest)
        try:
            while rest:
                rest = rest[os.write(self._number, rest) :]
        except OSError as error:
            raise _no_place(self.path, error) from None
        return size

    def finish(self) -> str:
        """The content is on the disk; its SHA-256."""
        try:
            os.fsync(self._number)
        except OSError as error:
            raise _no_place(self.path, error) from None
        return self._digest.hexdigest()

    def publish(self, *, for_everybody: bool = True) -> None:
        """Put the file in its place, with the rights that any new file gets unless it is the owner's only."""
        try:
            if for_everybody:
                mask = os.umask(0)
                os.umask(mask)
                os.fchmod(self._number, 0o666 & ~mask)
            self.aside.replace(self.path)
            sync_folder(self.path.parent)
        except OSError as error:
            raise _no_place(self.path, error) from None
        self._published = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._published:
            self.aside.unlink(missing_ok=True)
        os.close(self._number)
        self.close()


def aside_of(path: Path, tag: str) -> Path:
    """Where a file is written before it is put in its place."""
    return path.with_name(f".{path.name}.{tag}.aside")


def digest_of(path: Path) -> str | None:
    """The SHA-256 of a regular file; None where there is none."""
    try:
        with open_regular(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(str(path), expected="a readable file", found=reason(error, otherwise="none")) from None


def make_own_folder(folder: Path) -> None:
    """Make a folder for its owner only, or take the one that an earlier run left; not one that a link leads to."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or _is_foreign(found):
        raise _planted(folder, "a symbolic link" if stat.S_ISLNK(found.st_mode) else "somebody else's folder")
    folder.chmod(0o700)


def sync_folder(folder: Path) -> None:
    """Make a rename survive a power cut, where the system can."""
    try:
        number = os.open(folder, os.O_RDONLY)
    except OSError:  # pragma: no cover - Windows does not open folders
        return
    try:
        os.fsync(number)
    finally:
        os.close(number)


_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)


def _refuse_foreign(aside: Path, found: os.stat_result) -> None:
    """Refuse what is not a file of one's own: who made it could read it, and a second name of it may be any file."""
    if not stat.S_ISREG(found.st_mode):
        raise _planted(aside, "something else")
    if found.st_nlink > 1:
        raise _planted(aside, "a file that has another name too")
    if _is_foreign(found):
        raise _planted(aside, "somebody else's")


def _is_foreign(found: os.stat_result) -> bool:
    return hasattr(os, "geteuid") and found.st_uid != os.geteuid()


def _planted(aside: Path, found: str) -> FileError:
    return FileError(
        str(aside),
        expected="a name that is free, or a file of an earlier run, to write to before the output is put in its place",
        found=f"{found}; remove it, or write to another folder",
    )


def _no_place(path: Path, error: OSError) -> FileError:
    return FileError(str(path), expected="a place to write to", found=reason(error, otherwise="none"))
