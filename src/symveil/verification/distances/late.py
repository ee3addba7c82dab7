"""The compiled loops, loaded when a chain is large enough to need them: the compiler takes a second to load."""

from __future__ import annotations

import importlib
from typing import Any


def sweeps() -> Any:
    """The module of compiled loops."""
    return importlib.import_module("symveil.verification.distances.sweeps")
