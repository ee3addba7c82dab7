"""The digest of a folder that a cluster wrote: of its files' names and bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path

from symveil.drawing.opening import is_regular
from symveil.errors import FileError
from symveil.io.aside import digest_of


def released_files(folder: Path) -> list[Path]:
    """The files of a release, in order: what is hidden is the cluster's own, what is no regular file is refused.

    Parameters
    ----------
    folder
        The folder of a release.

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
