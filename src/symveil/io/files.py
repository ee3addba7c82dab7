"""Writing text files so that nobody ever meets half of one."""

from __future__ import annotations

from pathlib import Path

from symveil.drawing.saving import save


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` in one step: whole or not at all."""
    save(path, text.encode())
