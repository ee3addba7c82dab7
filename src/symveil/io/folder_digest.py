"""The digest of a folder that a cluster wrote: of its files' names and bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path

from symveil.io.aside import digest_of


def digest_of_folder(folder: Path) -> str | None:
    """The SHA-256 over the names and SHA-256s of its visible files; None where there is no such folder."""
    if not folder.is_dir():
        return None
    whole = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not file.name.startswith((".", "_")):
            whole.update(f"{file.relative_to(folder).as_posix()}\0{digest_of(file)}\n".encode())
    return whole.hexdigest()
