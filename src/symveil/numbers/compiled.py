"""What every compiled loop stands on: the types of its arrays, and the check that it was compiled from its source.

A file named `*_loops.py` is Python that Cython compiles when the package is installed (`compile_loops.py`). Its types
are annotations. The names below stand for arrays; `compiled.pxd` says what they are in C. The file itself stays its own
interpreted twin: with SYMVEIL_INTERPRETED set all loops run as Python, for tests and for coverage, slowly.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from types import ModuleType

    import numpy as np
    from numpy.typing import NDArray

    # read, and of any origin (a file that is mapped, another thread's): one dimension, then a Table
    Ints: TypeAlias = NDArray[np.int64]
    Floats: TypeAlias = NDArray[np.float64]
    Codes: TypeAlias = NDArray[np.int32]
    Bools: TypeAlias = NDArray[np.bool_]
    Bits: TypeAlias = NDArray[np.uint64]
    IntTable: TypeAlias = NDArray[np.int64]
    FloatTable: TypeAlias = NDArray[np.float64]
    CodeTable: TypeAlias = NDArray[np.int32]
    BoolTable: TypeAlias = NDArray[np.bool_]
    BitTable: TypeAlias = NDArray[np.uint64]
    ShortTable: TypeAlias = NDArray[np.int16]
    ShortBox: TypeAlias = NDArray[np.int16]  # three dimensions
    SingleTable: TypeAlias = NDArray[np.float32]
    # written by the loop
    NewInts: TypeAlias = NDArray[np.int64]
    NewFloats: TypeAlias = NDArray[np.float64]
    NewBools: TypeAlias = NDArray[np.bool_]
    NewSigns: TypeAlias = NDArray[np.int8]
    NewBits: TypeAlias = NDArray[np.uint64]
    NewIntTable: TypeAlias = NDArray[np.int64]
    IntBox: TypeAlias = NDArray[np.int64]
    FloatBox: TypeAlias = NDArray[np.float64]
    NewFloatBox: TypeAlias = NDArray[np.float64]
    AnyFloatTable: TypeAlias = NDArray[np.floating[Any]]
    NewAnyFloatTable: TypeAlias = NDArray[np.floating[Any]]
    NewFloatTable: TypeAlias = NDArray[np.float64]
    NewBoolTable: TypeAlias = NDArray[np.bool_]
    NewCodeTable: TypeAlias = NDArray[np.int32]
    NewBitTable: TypeAlias = NDArray[np.uint64]
    NewSingles: TypeAlias = NDArray[np.float32]
    NewSingleTable: TypeAlias = NDArray[np.float32]
else:
    Ints = Floats = Codes = Bools = Bits = IntTable = FloatTable = CodeTable = BoolTable = BitTable = object
    NewInts = NewFloats = NewBools = NewIntTable = NewFloatTable = NewBoolTable = NewCodeTable = object
    IntBox = AnyFloatTable = NewAnyFloatTable = FloatBox = NewFloatBox = NewSigns = NewBits = NewBitTable = object
    ShortTable = ShortBox = SingleTable = NewSingles = NewSingleTable = object

INFINITY = math.inf
floor, sqrt = math.floor, math.sqrt
INTERPRETED = "SYMVEIL_INTERPRETED"


def log(number: float) -> float:
    """C's logarithm, which has a value at 0."""
    return math.log(number) if number else -math.inf


def exp(number: float) -> float:
    """C's exponential, which is infinite where it is too large."""
    try:
        return math.exp(number)
    except OverflowError:
        return math.inf


def ceil(number: float) -> float:
    """C's: a float, of the infinite ones too."""
    return float(math.ceil(number)) if math.isfinite(number) else number


def wrapped(number: int) -> int:
    """An integer of 64 bits without a sign, which is what it is in C anyway."""
    return number & (2**64 - 1)


_INCLUDED = re.compile(r"^from (symveil[.\w]+) import [^#\n]*# compiled into this module.*\n", re.MULTILINE)

_UNTYPED = re.compile(r": (?:Any|int)\b(?=,)| -> (?:bool|int)(?=:)")  # declarations have the types of floats


def source_of(loop: Path) -> str:
    """The text of a loop. Where it says so, what it imports becomes part of it, to be compiled for other types."""
    package = next(parent for parent in loop.parents if parent.name == "symveil")

    def included(name: re.Match[str]) -> str:
        text = package.parent.joinpath(*name[1].split(".")).with_suffix(".py").read_text("utf-8")
        return _UNTYPED.sub("", text.partition("\nfrom typing import Any\n")[2])

    return _INCLUDED.sub(included, loop.read_text("utf-8"))


_DECLARED = re.compile(r"^from (symveil[.\w]+) cimport", re.MULTILINE)


def declarations_of(loop: Path) -> list[Path]:
    """The file of declarations beside a loop, and those that it takes from other loops."""
    package = next(parent for parent in loop.parents if parent.name == "symveil")
    files, waiting = [], [loop.with_suffix(".pxd")]
    while waiting:
        file = waiting.pop()
        if file not in files and file.exists():
            files.append(file)
            names = _DECLARED.findall(file.read_text("utf-8"))
            waiting += [package.parent.joinpath(*name.split(".")).with_suffix(".pxd") for name in names]
    return sorted(files)


def source_digest(loop: Path) -> str:
    """What a loop is compiled from: its text, and the declarations that it uses."""
    content = hashlib.sha256(source_of(loop).encode())
    for declarations in declarations_of(loop):
        content.update(declarations.read_bytes())
    return content.hexdigest()[:32]


def built_from(digest: str, name: str) -> None:
    """Refuse a loop that is not compiled, or was compiled from another source than the one beside it.

    The compiler puts the digest of the source in place of the empty one that stands there.
    """
    if os.environ.get(INTERPRETED):
        return
    source = Path(__file__).parents[1].joinpath(*name.split(".")[1:]).with_suffix(".py")
    wrong = "not compiled" if not digest else "compiled from another source"
    if not digest or (source.exists() and source_digest(source) != digest):
        raise ImportError(f"the loops of {name} are {wrong}: run `pip install -e .` or `python compile_loops.py`")


class Twins:
    """Finds the sources of compiled loops instead of what was compiled from them."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        """The source of a loop in the package's folder; nothing else."""
        if not name.startswith("symveil.") or not name.endswith("_loops") or not path:
            return None
        return spec_from_file_location(name, Path(path[0]) / f"{name.rpartition('.')[2]}.py")


def interpret() -> None:
    """From now on loops are imported as Python."""
    if Twins not in sys.meta_path:
        sys.meta_path.insert(0, Twins)
