"""Compiled loops beside their interpreted twins: the same bits, in what they return and in what they write.

`agree(loop, arguments)` runs both on copies. `recorded(run)` has the calls of all compiled loops while `run` works.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from symveil.numbers.compiled import Twins

PACKAGE = Path(__file__).parents[2] / "src"
NAMES = sorted(
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    for path in PACKAGE.rglob("*_loops.py")
    if 'built_from("", __name__)' in path.read_text("utf-8")
)


@cache
def twins() -> dict[str, ModuleType]:
    """The interpreted twins; the compiled modules stay what `import` finds."""
    compiled = {name: importlib.import_module(name) for name in NAMES}
    environment = importlib.import_module("os").environ
    environment["SYMVEIL_INTERPRETED"] = "1"
    sys.meta_path.insert(0, Twins)
    try:
        for name in NAMES:
            del sys.modules[name]
        found = {name: importlib.import_module(name) for name in NAMES}
    finally:
        sys.meta_path.remove(Twins)
        del environment["SYMVEIL_INTERPRETED"]
        for name, module in compiled.items():
            sys.modules[name] = module
            package, _, last = name.rpartition(".")
            setattr(sys.modules[package], last, module)
    return found


def loops() -> dict[str, Callable[..., Any]]:
    """Every compiled loop that Python can call, by module and name."""
    return {
        f"{name}.{key}": value
        for name in NAMES
        for key, value in vars(importlib.import_module(name)).items()
        if type(value).__name__ in ("cython_function_or_method", "fused_cython_function") and value.__module__ == name
    }


def twin_of(loop: str) -> Callable[..., Any]:
    module, _, name = loop.rpartition(".")
    return getattr(twins()[module], name)


def copied(value: Any, interpreted: bool = False) -> Any:
    """A copy that shares nothing; of a record, its like among compiled loops or among twins."""
    if isinstance(value, np.ndarray):
        copy = value.copy()
        copy.flags.writeable = value.flags.writeable
        return copy
    if isinstance(value, tuple):
        return tuple(copied(each, interpreted) for each in value)
    if type(value).__module__ in NAMES:
        kind, fields = value.__reduce__()
        home = twins()[kind.__module__] if interpreted else sys.modules[kind.__module__]
        return getattr(home, kind.__name__)(*(copied(each, interpreted) for each in fields))
    return value


def bits(value: Any) -> Any:
    """What is to be the same: kinds and bits."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, tuple):
        return tuple(map(bits, value))
    if type(value).__name__ in ("memoryview", "_memoryviewslice"):
        return bits(np.asarray(value))
    for kind, others in ((float, np.floating), (bool, np.bool_), (int, np.integer), (type(None), str)):
        if isinstance(value, (kind, others)):
            return kind.__name__, np.float64(value).tobytes() if kind is float else value
    return type(value).__name__, bits(value.__reduce__()[1])  # a record


def outcome(loop: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    try:
        with np.errstate(all="ignore"):
            value = bits(loop(*arguments))
    except ArithmeticError as error:
        return type(error).__name__
    return value, bits(arguments)


def agree(loop: str, arguments: tuple[Any, ...]) -> Any:
    """Run both on copies of these arguments; returns what both came to."""
    compiled = outcome(loops()[loop], copied(arguments))
    interpreted = outcome(twin_of(loop), copied(arguments, interpreted=True))
    assert compiled == interpreted, loop
    return compiled


class Call(NamedTuple):
    """One call of a compiled loop, as it was made."""

    loop: str
    arguments: tuple[Any, ...]
    outcome: Any


@contextmanager
def recording(calls: list[Call], most: int = 1000) -> Iterator[None]:
    """Every call of a compiled loop goes into `calls`, at most so many of each loop."""
    seen: dict[str, int] = {}
    changed: list[tuple[ModuleType, str, Any]] = []

    def recorder(name: str, loop: Callable[..., Any]) -> Callable[..., Any]:
        def record(*arguments: Any, **named: Any) -> Any:
            assert not named, "compiled loops are called by position"
            seen[name] = seen.get(name, 0) + 1
            if seen[name] > most:
                return loop(*arguments)
            before = copied(arguments)
            value = loop(*arguments)
            calls.append(Call(name, before, (bits(value), bits(arguments))))
            return value

        return record

    for name, loop in loops().items():
        record = recorder(name, loop)
        for module in [each for key, each in sys.modules.items() if key.startswith("symveil")]:
            for key, value in list(vars(module).items()):
                if value is loop:
                    changed.append((module, key, value))
                    setattr(module, key, record)
    try:
        yield
    finally:
        for module, key, value in changed:
            setattr(module, key, value)


def agree_again(call: Call) -> None:
    """The twin comes to what the loop came to in a recorded call."""
    interpreted = outcome(twin_of(call.loop), copied(call.arguments, interpreted=True))
    assert interpreted == call.outcome, call.loop
