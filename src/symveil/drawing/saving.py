"""Saving a file so that nobody ever meets half of one: pictures here, everything else through `io`."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO

from symveil.errors import FileError, reason

_number = itertools.count()


def save(path: Path, content: bytes) -> None:
    """Write finished content in one step: aside, then renamed; on failure nothing is left behind."""
    save_all({path: content})


def save_all(contents: Mapping[Path, bytes]) -> None:
    """Write several finished files: all aside first, then renamed, so that where one cannot be written none is."""
    asides: dict[Path, Path] = {}
    path = Path()
    made: list[Path] = []
    try:
        for path, content in contents.items():
            made += _make_folder(path.parent)
            with _new_beside(path, asides) as file:
                file.write(content)
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        for path, aside in asides.items():
            aside.replace(path)
    except OSError as error:
        _discard(asides.values(), made)
        raise FileError(str(path), expected="a place to write to", found=reason(error, otherwise="none")) from None
    except BaseException:
        _discard(asides.values(), made)
        raise


def _new_beside(path: Path, asides: dict[Path, Path]) -> BinaryIO:
    """A new file beside `path`, noted in `asides`: what is there, also a link that was planted, is not written to."""
    while True:
        asides[path] = path.with_name(f".{path.name}.{os.getpid()}-{next(_number)}.aside")
        with contextlib.suppress(FileExistsError):
            return asides[path].open("xb")


def _make_folder(folder: Path) -> list[Path]:
    """Make a folder and those above it; returns the new ones, outermost first."""
    missing = list(itertools.takewhile(lambda each: not each.exists(), (folder, *folder.parents)))[::-1]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _discard(asides: Iterable[Path], folders: list[Path]) -> None:
    """Leave nothing behind; what cannot be removed was not written, and the first error says more."""
    for aside in asides:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            folder.rmdir()
