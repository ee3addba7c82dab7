"""The one file in a tar archive, read as it comes: Storm packs its models that way (a `.drn.gz` has a tar inside).

Only what is needed is understood: headers of 512 bytes, a file of a known ending, everything else skipped.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import BinaryIO, cast

from symveil.errors import FileError

_BLOCK = 512
_MAGIC = slice(257, 262)
_REGULAR = (b"0", b"\0")
_PIECE = 64 * 1024


class _Member(io.RawIOBase):
    """The next bytes of a file, so many and no more."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._left = file, size

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any writable buffer
        """The next bytes."""
        found = self._file.read(min(len(buffer), self._left, _PIECE))
        if self._left and not found and len(buffer):
            raise EOFError
        self._left -= len(found)
        buffer[: len(found)] = found
        return len(found)


def unarchived(file: BinaryIO, path: Path, ending: str) -> BinaryIO:
    """The file in a tar archive whose name has this ending; anything else than an archive as it is.

    >>> unarchived(io.BufferedReader(io.BytesIO(b"@type: DTMC")), Path("x.drn"), ".drn").read()
    b'@type: DTMC'
    """
    begin = file.peek(_BLOCK) if isinstance(file, io.BufferedReader) else b""
    if begin[_MAGIC] != b"ustar":
        return file
    while True:
        header = file.read(_BLOCK)
        if len(header) < _BLOCK or not header.strip(b"\0"):
            raise FileError(str(path), expected=f"an archive with one {ending} file", found="an archive without one")
        digits = header[124:136].strip(b" \0")
        if not digits.isdigit() or set(digits) & set(b"89"):
            raise FileError(str(path), expected=f"an archive with one {ending} file", found="a damaged archive")
        size, name = int(digits, 8), header[:100].split(b"\0")[0].decode(errors="replace")
        if header[156:157] in _REGULAR and name.lower().endswith(ending):
            return cast("BinaryIO", io.BufferedReader(_Member(file, size)))
        left = -(-size // _BLOCK) * _BLOCK
        while left and (skipped := file.read(min(left, _PIECE))):
            left -= len(skipped)
