"""Files: what is opened is a regular file or nothing; what is written is whole or not there.

A file whose name may come from a stranger is opened without waiting: a device may never end and a pipe may never begin.
Both are refused before a byte is read, with an `OSError` whose `strerror` says what it is (`open_regular`).

Outputs are written aside, and renamed at the end.

Finished content goes through `write_files`. A large file is written piece by piece into a `TemporaryOutput`, readable
for its owner only. The temporary file of a release has a name of its own, so that a run after a kill finds and replaces
it; a lock that the system drops with the process keeps two runs from writing the same one. What `write_files` writes is
named by its process, and locked: the next run that writes the same file removes what a killed one has left. Names can
be guessed: where others may write to the folder too, a link or a file that another user planted under that name is not
written to.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import itertools
import os
import re
import stat
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO, Self

from symveil.errors import FileError, NotRegularError, reason

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no such locks
    fcntl = None  # type: ignore[assignment]

_HAS_LOCKS = fcntl is not None
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_number = itertools.count()

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


def write_text(path: Path, text: str, *, owner_only: bool = False) -> None:
    """Write a text file in one step."""
    write_files({path: text.encode()}, owner_only=owner_only)


def write_files(contents: Mapping[Path, bytes], *, owner_only: bool = False) -> None:
    """Write finished files: all aside first, then renamed, so that where one cannot be written none is.

    With `owner_only` no other account can read them, from their creation on: they hold secrets.
    """
    temporaries: dict[Path, Path] = {}
    path = Path()
    made: list[Path] = []
    with contextlib.ExitStack() as files:  # open, and so locked, until they are in their places
        try:
            for path, content in contents.items():
                made += _make_folder(path.parent)
                _remove_left_behind(path)
                file = files.enter_context(_new_beside(path, temporaries, owner_only=owner_only))
                file.write(content)
                file.flush()
                if path.is_dir():
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if not _HAS_LOCKS:  # pragma: no cover - Windows does not rename open files
                files.close()
            for path, temporary in temporaries.items():
                temporary.replace(path)
        except OSError as error:
            _discard(temporaries.values(), made)
            raise _unwritable(path, error) from None
        except BaseException:
            _discard(temporaries.values(), made)
            raise


def check_writable(path: Path) -> None:
    """Refuse now a file that could not be written later: nothing stays behind."""
    temporaries: dict[Path, Path] = {}
    made: list[Path] = []
    try:
        made = _make_folder(path.parent)
        _new_beside(path, temporaries).close()
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        _discard(temporaries.values(), made)


def _new_beside(path: Path, temporaries: dict[Path, Path], *, owner_only: bool = False) -> BinaryIO:
    """A new file beside `path`, noted in `temporaries`; what has its name already, also a planted link, is left."""
    while True:
        temporaries[path] = path.with_name(f".{path.name}.{os.getpid()}-{next(_number)}.aside")
        with contextlib.suppress(FileExistsError):
            number = os.open(temporaries[path], _NEW, 0o600 if owner_only else 0o666)
            if _HAS_LOCKS:
                with contextlib.suppress(OSError):  # where there are no locks nothing is taken for left behind
                    fcntl.flock(number, fcntl.LOCK_EX)
            return os.fdopen(number, "wb")


def _remove_left_behind(path: Path) -> None:
    """Remove what killed runs have left beside `path`: files of this account that no process holds any more."""
    if not _HAS_LOCKS:  # pragma: no cover - without locks nobody knows
        return
    known = re.compile(re.escape(f".{path.name}.") + r"([0-9]{1,10})-[0-9]+\.aside")
    try:
        beside = [(left, known.fullmatch(left.name)) for left in path.parent.iterdir()]
    except OSError:  # a folder that may be written to and not be read
        return
    for left, match in beside:
        if match is None or _runs_elsewhere(int(match[1])):
            continue
        with contextlib.suppress(OSError):
            number = os.open(left, os.O_RDWR | os.O_NONBLOCK | _NO_LINKS)
            try:
                status = os.fstat(number)
                if stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and not _is_foreign(status):
                    fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    left.unlink()
            finally:
                os.close(number)


def _runs_elsewhere(process: int) -> bool:
    """Whether another process has this number; a run that was killed may have had that of this one."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OverflowError:  # no process has such a number
        return False
    except OSError:  # somebody else's
        return True
    return True


def _make_folder(folder: Path) -> list[Path]:
    """Make a folder and those above it; returns the new ones, outermost first."""
    missing = list(itertools.takewhile(lambda each: not each.exists(), (folder, *folder.parents)))[::-1]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _discard(temporaries: Iterable[Path], folders: list[Path]) -> None:
    """Leave nothing behind; what cannot be removed was not written, and the first error says more."""
    for temporary in temporaries:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            folder.rmdir()


class TemporaryOutput(io.RawIOBase):
    """A file being written beside its place; `publish` puts it there, leaving without it deletes it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with TemporaryOutput(Path(folder, "out.csv"), "release-1") as file:
    ...         _ = file.write(b"done")
    ...         digest = file.finish()
    ...         file.publish()
    ...     Path(folder, "out.csv").read_bytes(), digest == digest_of(Path(folder, "out.csv"))
    (b'done', True)
    """

    def __init__(self, path: Path, tag: str) -> None:
        self.path = path
        self.temporary = temporary_path(path, tag)
        self._digest = hashlib.sha256()
        self._published = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._number = self._locked()
        except OSError as error:
            if self.temporary.is_symlink():
                raise _planted(self.temporary, "a symbolic link") from None
            raise _unwritable(path, error) from None

    def _locked(self) -> int:
        while True:
            if not _NO_LINKS and self.temporary.is_symlink():  # pragma: no cover - Windows has no such flag
                raise _planted(self.temporary, "a symbolic link")
            number = os.open(self.temporary, os.O_RDWR | os.O_CREAT | _NO_LINKS, 0o600)
            ours = False
            try:
                _refuse_foreign(self.temporary, os.fstat(number))
                if fcntl is not None:
                    fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # between opening and locking another process may have renamed or deleted it
                if os.fstat(number).st_ino == os.lstat(self.temporary).st_ino:
                    ours = True
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
                if ours:  # interrupted, or without the rights: nothing stays behind
                    self.temporary.unlink(missing_ok=True)
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
            raise _unwritable(self.path, error) from None
        return size

    def finish(self) -> str:
        """The content is on the disk; its SHA-256."""
        try:
            os.fsync(self._number)
        except OSError as error:
            raise _unwritable(self.path, error) from None
        return self._digest.hexdigest()

    def publish(self, *, for_everybody: bool = True) -> None:
        """Put the file in its place, with the rights that any new file gets unless it is the owner's only."""
        try:
            if for_everybody:
                mask = os.umask(0)
                os.umask(mask)
                os.fchmod(self._number, 0o666 & ~mask)
            self.temporary.replace(self.path)
            sync_folder(self.path.parent)
        except OSError as error:
            raise _unwritable(self.path, error) from None
        self._published = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._published:
            self.temporary.unlink(missing_ok=True)
        os.close(self._number)
        self.close()


def temporary_path(path: Path, tag: str) -> Path:
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


def released_files(folder: Path) -> list[Path]:
    """The files of a release, in order: what is hidden is the cluster's own, what is no regular file is refused.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     for name in ("part-1.parquet", "part-0.parquet", "_SUCCESS", ".part-0.parquet.crc"):
    ...         _ = Path(place, name).write_bytes(b"")
    ...     [file.name for file in released_files(Path(place))]
    ['part-0.parquet', 'part-1.parquet']
    """
    files = [file for file in sorted(folder.rglob("*")) if not file.name.startswith((".", "_"))]
    for file in files:
        if not is_regular(file, follow=False) and (file.is_symlink() or not file.is_dir()):
            raise FileError(str(file), expected="regular files in the folder of a release", found="a link or a device")
    return [file for file in files if not file.is_dir()]


def digest_of_folder(folder: Path) -> str | None:
    """The SHA-256 over the names and SHA-256s of its visible files; None where there is no such folder."""
    if not folder.is_dir():
        return None
    whole = hashlib.sha256()
    for file in released_files(folder):
        whole.update(f"{file.relative_to(folder).as_posix()}\0{digest_of(file)}\n".encode())
    return whole.hexdigest()


def make_own_folder(folder: Path) -> None:
    """Make a folder for its owner only, or take the one that an earlier run left; not one that a link leads to."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or _is_foreign(status):
        raise _planted(folder, "a symbolic link" if stat.S_ISLNK(status.st_mode) else "another account's folder")
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


def _refuse_foreign(temporary: Path, status: os.stat_result) -> None:
    """Refuse what is not a file of one's own: who made it could read it, and a second name of it may be any file."""
    if not stat.S_ISREG(status.st_mode):
        raise _planted(temporary, "something else")
    if status.st_nlink > 1:
        raise _planted(temporary, "a file that has another name too")
    if _is_foreign(status):
        raise _planted(temporary, "another account's file")


def _is_foreign(status: os.stat_result) -> bool:
    return hasattr(os, "geteuid") and status.st_uid != os.geteuid()


def _planted(temporary: Path, found: str) -> FileError:
    return FileError(
        str(temporary),
        expected="a name that is free, or a file of an earlier run, to write to before the output is put in its place",
        found=f"{found}; remove it, or write to another folder",
    )


def _unwritable(path: Path, error: OSError) -> FileError:
    return FileError(str(path), expected="a place to write to", found=reason(error, otherwise="none"))
