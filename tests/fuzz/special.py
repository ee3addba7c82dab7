"""Inputs that are no files: an input that begins with `MARK` stands for a pipe, a device, a folder and the like."""

from __future__ import annotations

import os
import shutil
import socket
from contextlib import closing
from pathlib import Path

MARK = b"\x00special file: "
KINDS = ("pipe", "device", "endless device", "folder", "loop", "nowhere", "socket", "sparse")
SPECIAL = tuple(MARK + kind.encode() for kind in KINDS)


def remove(file: Path) -> None:
    """Whatever it is."""
    if file.is_dir() and not file.is_symlink():
        shutil.rmtree(file)
    else:
        file.unlink(missing_ok=True)


def put(file: Path, content: bytes) -> None:
    """Make a file with this content, or what an input of `SPECIAL` stands for; what was there before is gone."""
    remove(file)
    if not content.startswith(MARK):
        file.write_bytes(content)
        return
    kind = content.removeprefix(MARK).decode(errors="replace")
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind == "socket":
        here = Path.cwd()
        os.chdir(file.parent)  # the name of a socket has to be short
        try:
            with closing(socket.socket(socket.AF_UNIX)) as made:
                made.bind(file.name)
        finally:
            os.chdir(here)
    elif kind == "sparse":
        with file.open("wb") as sparse:
            sparse.truncate(1 << 40)
    else:
        targets = {"device": "/dev/null", "endless device": "/dev/zero", "loop": file.name}
        file.symlink_to(targets.get(kind, "there is nothing here"))
