"""Saving a file so that nobody ever meets half of one: pictures here, everything else through `io`."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from symveil.errors import FileError

_number = itertools.count()


def save(path: Path, content: bytes) -> None:
    """Write finished content in one step: aside, then renamed; on failure nothing is left behind."""
    aside = path.with_name(f".{path.name}.{os.getpid()}-{next(_number)}.aside")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with aside.open("wb") as file:
            file.write(content)
        aside.replace(path)
    except OSError as error:
        _discard(aside)
        raise FileError(str(path), expected="a place to write to", found=error.strerror or "none") from None
    except BaseException:
        _discard(aside)
        raise


def _discard(aside: Path) -> None:
    try:
        aside.unlink(missing_ok=True)
    except OSError:
        # Its folder is not one: then nothing was written there, and the first error says more.
        return
