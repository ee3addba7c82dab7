"""Every setting of the yardstick by name: a function of no arguments that returns a JSON document.

Settings use public names only (`import symveil as sv`, the command line, `symveil.randomness` for seeded bits), so that
they outlive moves and renames inside the package. A refused setting answers with the class of the error.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import symveil as sv
from symveil.errors import SymveilError

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


@dataclass(frozen=True)
class Setting:
    """One answer of the package.

    Parameters
    ----------
    name
        Unique; it begins with the topic.
    answer
        Computes the answer anew: numbers, strings, lists and dictionaries.
    slow
        Seconds and more of processor time: compared by `make golden` and in the soak, not in every test run.
    here
        Whether its data is at hand; without it the setting is neither compared nor written.
    """

    name: str
    answer: Callable[[], object]
    slow: bool = False
    here: bool = True

    def document(self) -> object:
        """The answer, or the class of the error that refuses the setting."""
        with seeded(self.name):
            try:
                return self.answer()
            except SymveilError as error:
                return {"refused": type(error).__name__}


@contextmanager
def seeded(name: str) -> Iterator[None]:
    """The operating system's random bytes replaced by a stream that depends on `name` only."""
    numbers = itertools.count()

    def stream(size: int) -> bytes:
        return hashlib.shake_256(f"{name} {next(numbers)}".encode()).digest(size)

    with mock.patch.object(os, "urandom", stream):
        yield


def file_document(path: Path) -> dict[str, object]:
    """Size, digest and first characters of a file; dates and versions count as equal."""
    data = path.read_bytes()
    try:
        text = _steady(data.decode())
    except UnicodeDecodeError:
        return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    return {
        "characters": len(text),
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "begins": text[:300],
    }


def _steady(text: str) -> str:
    text = text.replace(sv.__version__, "VERSION")
    return re.sub(r"20\d\d-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?)?", "DATE", text)
