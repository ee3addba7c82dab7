"""Opening what somebody else named: a regular file, or an error that says what was found; never a wait."""

from __future__ import annotations

import os
import socket
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from symveil.storage.files import is_regular, open_regular

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files of these kinds")


def test_a_file_and_a_link_to_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for name in ("file", "link"):
        with open_regular(tmp_path / name) as file:
            assert file.read() == b"content"
        assert is_regular(tmp_path / name)
    with pytest.raises(OSError, match="a symbolic link"):
        open_regular(tmp_path / "link", follow=False)
    assert not is_regular(tmp_path / "link", follow=False)


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize(
    ("kind", "found"), [("pipe", "a pipe"), ("socket", "a socket"), ("zero", "a device"), ("folder", "Is a directory")]
)
def test_what_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, found: str, linked: bool) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket has to be short
    place = Path("/dev/zero") if kind == "zero" else Path(kind)
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "socket":
        with closing(socket.socket(socket.AF_UNIX)) as made:
            made.bind(kind)
    elif kind == "folder":
        place.mkdir()
    if linked:
        Path("link").symlink_to(place)
        place = Path("link")
    with pytest.raises(OSError, match=found):
        open_regular(place)
    assert not is_regular(place)


def test_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("nothing", "loop"):
        with pytest.raises(OSError, match=r"No such file|symbolic links"):
            open_regular(tmp_path / name)
        assert not is_regular(tmp_path / name)
    assert not is_regular(Path("a\0b"))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files cannot be listed")
def test_no_file_is_left_open(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(10):
        with pytest.raises(OSError, match="a pipe"):
            open_regular(tmp_path / "pipe")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no names for open files here")
def test_a_pipe_that_the_shell_handed_over_is_read(tmp_path: Path) -> None:
    """As in `symveil verify <(make a chain)`."""
    ours, theirs = os.pipe()

    def write() -> None:
        with os.fdopen(theirs, "wb") as file:
            file.write(b"content")

    writer = threading.Thread(target=write)
    writer.start()
    with open_regular(Path(f"/dev/fd/{ours}")) as file:
        assert file.read() == b"content"
    writer.join()
    (tmp_path / "link").symlink_to(f"/dev/fd/{ours}")
    with pytest.raises(OSError, match="a pipe"):  # a name that somebody else may have made
        open_regular(tmp_path / "link")
    os.close(ours)
