"""Writing text files so that nobody ever meets half of one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from symveil.drawing.saving import save, save_all


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` in one step: whole or not at all."""
    save(path, text.encode())


def write_texts(texts: Mapping[Path, str]) -> None:
    """Write several files, or, where one of them cannot be written, none."""
    save_all({path: text.encode() for path, text in texts.items()})


def write_files(contents: Mapping[Path, bytes]) -> None:
    """The same for files that are not text."""
    save_all(contents)
