"""The compiled loops, loaded when a chain is large enough to need them: the compiler takes a second to load."""

from __future__ import annotations

from typing import Any


def sweeps() -> Any:
    """The loops over all pairs."""
    from symveil.verification.distances import sweeps as loops  # noqa: PLC0415

    return loops


def kernel_loops() -> Any:
    """The loops of the kernel."""
    from symveil.verification.distances import kernel_loops as loops  # noqa: PLC0415

    return loops


def search_loops() -> Any:
    """The loop of the rounded search."""
    from symveil.verification.distances import search_loops as loops  # noqa: PLC0415

    return loops
