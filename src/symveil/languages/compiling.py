"""Compiled loops: Python that numba turns into machine code, cached where the installation allows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """`function`, compiled on its first call; kept on disk unless the installation is read-only.

    numba keeps it until its own file changes. If it uses anything of another file, its file carries a
    digest of that one, `COMPILED_FROM` (tests/contracts/test_kept_loops.py says which and checks it).
    """
    try:
        return cast(Function, numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:  # numba found no place to keep it
        return cast(Function, numba.njit(nogil=True)(function))
