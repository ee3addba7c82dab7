"""Planting an error at the beginning of a function of symveil, whichever it is and whichever thread calls it."""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

import symveil

MARKER = "hunter2-the-secret-word"
PACKAGE = str(Path(symveil.__file__).parent)


class Panic(BaseException):
    """As libraries in Rust raise it: no `Exception`."""


def _statement() -> Exception:
    return sa.exc.StatementError(MARKER, f"SELECT {MARKER}", {"name": MARKER}, ValueError(MARKER))


def _driver() -> Exception:
    return sa.exc.OperationalError(f"SELECT {MARKER}", {"name": MARKER}, sqlite3.OperationalError(MARKER))


def _chained() -> Exception:
    error = RuntimeError(MARKER)
    error.__cause__ = KeyError(MARKER)
    return error


ERRORS: list[Callable[[], BaseException]] = [
    lambda: KeyError(MARKER),
    lambda: ValueError(MARKER),
    lambda: TypeError(MARKER),
    lambda: AssertionError(MARKER),
    lambda: OSError(5, MARKER),
    lambda: OSError(MARKER),
    lambda: pa.ArrowInvalid(MARKER),
    lambda: UnicodeDecodeError("utf-8", MARKER.encode(), 0, 1, "invalid start byte"),
    lambda: json.JSONDecodeError("Expecting value", MARKER, 3),
    lambda: MemoryError(MARKER),
    lambda: OverflowError(MARKER),
    lambda: ZeroDivisionError(MARKER),
    lambda: RecursionError(MARKER),
    lambda: SystemError(MARKER),
    lambda: np.linalg.LinAlgError(MARKER),
    lambda: Panic(MARKER),
    _statement,
    _driver,
    _chained,
]


@dataclass(frozen=True)
class Spot:
    """A function, by its code."""

    code: CodeType

    @property
    def name(self) -> str:
        return f"{Path(self.code.co_filename).relative_to(PACKAGE)}:{self.code.co_firstlineno} {self.code.co_name}"

    @property
    def tells_errors(self) -> bool:
        """Whether it is the one place where errors are told, which only `entry` stands behind."""
        return self.name.startswith("errors.py:") or self.code.co_name in ("main", "_fail")


def called(run: Callable[[], object]) -> list[Spot]:
    """The functions of symveil that a run calls, in any thread, in the order of the files."""
    seen: set[CodeType] = set()

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            seen.add(frame.f_code)

    with _tracing(look):
        run()
    spots = {Spot(code) for code in seen if code.co_name[0] != "<" or code.co_name == "<lambda>"}
    return sorted((spot for spot in spots if not spot.tells_errors), key=lambda spot: spot.name)


def planted(spot: Spot, error: BaseException, run: Callable[[], object]) -> bool:
    """Run, with an error at the first call of a function; whether it was called."""
    fired = threading.Event()

    def plant(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is spot.code and not fired.is_set():
            fired.set()
            raise error

    with _tracing(plant):
        run()
    return fired.is_set()


@contextmanager
def _tracing(function: Callable[[FrameType, str, Any], None]) -> Iterator[None]:
    before, before_in_threads = sys.gettrace(), threading.gettrace()
    sys.settrace(function)
    threading.settrace(function)
    try:
        yield
    finally:
        sys.settrace(before)
        threading.settrace(before_in_threads)  # type: ignore[arg-type]  # None is what was there
