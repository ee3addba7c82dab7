"""Where a user's computed things are kept between runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path | None:
    """The user's cache of symveil, or None; `SYMVEIL_CACHE` names another one, and an empty one is none."""
    chosen = os.environ.get("SYMVEIL_CACHE")
    if chosen is not None:
        return Path(chosen) if chosen else None
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "symveil" / "Cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "symveil"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "symveil"
