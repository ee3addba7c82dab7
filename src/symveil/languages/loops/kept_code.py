"""Machine code on disk: beside its source, in the user's cache where that folder cannot be written to, or nowhere.

`NUMBA_CACHE_DIR` names another folder, for numba's and ours.

A file's name holds a digest of everything the code depends on, so nothing that is kept can be out of date. Its first
bytes are a digest of the name and of the rest: what was cut short, or is another function's, is compiled anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from symveil.storage.opening import cache_folder

_ENDING = ".loop"
_DIGEST = 32


def folder_for(source: str) -> Path | None:
    """Where the code of this source file is kept; None if nothing can be."""
    chosen, path = os.environ.get("NUMBA_CACHE_DIR"), Path(source)
    own = f"{path.parent.name}.{path.stem}"
    if chosen:
        return _made(Path(chosen) / own)
    beside, cache = _made(path.parent / "__pycache__"), cache_folder()
    if beside is not None or cache is None:
        return beside
    return _made(cache / "loops" / own)


def _made(folder: Path) -> Path | None:
    """A folder that can be written to."""
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def read(folder: Path | None, name: str) -> bytes | None:
    """The code that is kept under this name."""
    if folder is None:
        return None
    try:
        data = (folder / (name + _ENDING)).read_bytes()
    except OSError:
        return None
    code = data[_DIGEST:]
    return code if _digest(name, code) == data[:_DIGEST] else None


def _digest(name: str, code: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + code).digest()


def write(folder: Path | None, name: str, code: bytes) -> None:
    """Keep code, if that is possible, and no longer what an earlier text of the same function became.

    The name is the function's, a digest of the kinds of its arguments, and one of all the rest.
    """
    if folder is None:
        return
    new = folder / f"{name}.{os.getpid()}.new"
    with contextlib.suppress(OSError):
        try:
            new.write_bytes(_digest(name, code) + code)
            new.replace(folder / (name + _ENDING))
        except OSError:
            new.unlink(missing_ok=True)
            raise
        for file in folder.glob(name.rpartition(".")[0] + ".*" + _ENDING):
            if file.name != name + _ENDING:
                file.unlink(missing_ok=True)
