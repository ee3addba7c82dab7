"""The compiled loops, loaded when a chain is large enough to need them: the compiler takes a second to load."""

from __future__ import annotations

import importlib
from typing import Any

_HERE = "symveil.verification.distances"


def sweeps() -> Any:
    """The loops over all pairs."""
    return importlib.import_module(f"{_HERE}.sweeps")


def linear_loops() -> Any:
    """The solver of a policy's linear system."""
    return importlib.import_module("symveil.verification.linear_loops")


def kernel_loops() -> Any:
    """The loops of the kernel."""
    return importlib.import_module(f"{_HERE}.kernel_loops")


def search_loops() -> Any:
    """The loop of the rounded search."""
    return importlib.import_module(f"{_HERE}.search_loops")
