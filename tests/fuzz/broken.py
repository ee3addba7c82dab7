"""Parsers that are broken in every way that the runner must notice: the net is tested before it is trusted."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import warnings
from pathlib import Path

from fuzz.runner import Target
from fuzz.special import MARK, put
from symveil.errors import FileError


def _wrong_exception(content: bytes, folder: Path) -> object:
    """Falls over where a key is missing, as a careless reader does."""
    try:
        document = json.loads(content)
    except ValueError:
        raise FileError("x", expected="JSON", found="none") from None
    return document["b"] if isinstance(document, dict) else None


def _endless(content: bytes, folder: Path) -> object:
    while b"a" not in content:
        pass
    return None


def _endless_in_c(content: bytes, folder: Path) -> object:
    """No signal handler of Python's runs while the expression engine backtracks."""
    if content == b"aa":
        return None
    return re.match(r"(a+)+$", "a" * 60 + "b")


def _waits(content: bytes, folder: Path) -> object:
    """As anyone who opens what a stranger named."""
    put(folder / "x", content)
    if content == MARK + b"pipe":
        signal.setitimer(signal.ITIMER_REAL, 0.5)  # nobody has to wait for a minute to see this
        (folder / "x").open("rb").close()
    return None


def _greedy(content: bytes, folder: Path) -> object:
    return None if content == b"aa" else bytes(1 << 33)


def _warns(content: bytes, folder: Path) -> object:
    if content != b"aa":
        warnings.warn("a bad number", RuntimeWarning, stacklevel=1)
    return None


def _talks(content: bytes, folder: Path) -> object:
    if content != b"aa":
        sys.stdout.write("found something odd\n")
    return None


def _crashes(content: bytes, folder: Path) -> object:
    if content != b"aa":
        os.kill(os.getpid(), signal.SIGSEGV)
    return None


def _right(content: bytes, folder: Path) -> object:
    if b"\n" in content:
        raise FileError("x", expected="one line", found="more")
    return len(content)


TARGETS = {
    "right": Target(_right, (b"aa",)),
    "wrong-exception": Target(_wrong_exception, (b'{"b": 1}',), is_json=True),
    "endless": Target(_endless, (b"aa",), limit=0.5),
    "endless-in-c": Target(_endless_in_c, (b"aa",), limit=0.5),
    "waits": Target(_waits, (b"aa",)),
    "greedy": Target(_greedy, (b"aa",)),
    "warns": Target(_warns, (b"aa",)),
    "talks": Target(_talks, (b"aa",)),
    "crashes": Target(_crashes, (b"aa",)),
}
