"""What a loop computes with: numbers, arrays, tuples; and what their types are.

The syntax of a function, from its file.
"""

from __future__ import annotations

import ast
import types
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

# Numbers: what they are called, and LLVM's type for them in registers. Booleans are one bit there, a byte in arrays.
INT, UINT, FLOAT, BOOL = "int", "uint", "float", "bool"
REGISTER = {INT: "i64", UINT: "i64", FLOAT: "double", BOOL: "i1"}

# numpy's name of an element → LLVM's type in memory, bytes, and the number it becomes when loaded
ELEMENTS = {
    "i1": ("i8", 1, INT),
    "i2": ("i16", 2, INT),
    "i4": ("i32", 4, INT),
    "i8": ("i64", 8, INT),
    "u1": ("i8", 1, INT),
    "u2": ("i16", 2, INT),
    "u8": ("i64", 8, UINT),
    "f4": ("float", 4, FLOAT),
    "f8": ("double", 8, FLOAT),
    "b1": ("i8", 1, BOOL),
}
ELEMENT_OF = {INT: "i8", UINT: "u8", FLOAT: "f8", BOOL: "b1"}


class NotTranslated(Exception):  # noqa: N818 - no error: another compiler takes the loop
    """This loop uses more of Python than is translated here."""


@dataclass(frozen=True)
class ArrayType:
    """An array's elements, how many indices it takes, whether its rows follow each other without gaps, and may change.

    The text of a function is the same for arrays that may be written and for others: those it writes are refused.
    """

    element: str
    dimensions: int
    is_dense: bool
    is_writable: bool = True

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return ELEMENTS[self.element][1]


@dataclass(frozen=True)
class TupleType:
    """Several values."""

    parts: tuple[Type, ...]


Type = str | ArrayType | TupleType
NOTHING = TupleType(())


@dataclass(frozen=True)
class Number:
    """A number in a register, or written out.

    A float from an array of 32 bits is as good as any other beside those of 64 bits, but two of them would be added
    in 32 bits: that, and names for them, are not translated.
    """

    kind: str
    text: str
    is_narrow: bool = False

    @property
    def type(self) -> str:
        """Its kind."""
        return self.kind


@dataclass(frozen=True)
class Array:
    """Where an array begins, its shape and strides in bytes, and the counted block of memory it lies in, or null."""

    type: ArrayType
    data: str
    shape: tuple[str, ...]
    strides: tuple[str, ...]
    owner: str = "null"


@dataclass(frozen=True)
class Several:
    """A tuple."""

    parts: tuple[Value, ...] = field(default=())

    @property
    def type(self) -> TupleType:
        """The types of its parts."""
        return TupleType(tuple(part.type for part in self.parts))


Value = Number | Array | Several


def unified(one: Type, other: Type) -> Type:
    """The type of a name that is given values of both types."""
    if one == other:
        return one
    if isinstance(one, str) and isinstance(other, str):
        if {one, other} == {INT, FLOAT}:
            return FLOAT
    elif isinstance(one, ArrayType) and isinstance(other, ArrayType):
        if (one.element, one.dimensions) == (other.element, other.dimensions):
            is_dense, is_writable = one.is_dense and other.is_dense, one.is_writable and other.is_writable
            return ArrayType(one.element, one.dimensions, is_dense, is_writable)
    elif isinstance(one, TupleType) and isinstance(other, TupleType) and len(one.parts) == len(other.parts):
        return TupleType(tuple(unified(a, b) for a, b in zip(one.parts, other.parts, strict=True)))
    raise NotTranslated(f"a name with values of types {one} and {other}")


def words_of(kind: Type) -> list[str]:
    """What a value is made of when it is handed over: LLVM's types, all of 8 bytes."""
    if isinstance(kind, str):
        return ["double" if kind == FLOAT else "i64"]
    if isinstance(kind, ArrayType):
        return ["ptr", "ptr", *["i64"] * (kind.dimensions * (1 if kind.is_dense else 2))]
    return [word for part in kind.parts for word in words_of(part)]


_LARGE = 25  # statements, from which a function is compiled once and called, and not copied into each that uses it


@cache
def _functions_in(path: str) -> dict[tuple[str, int], ast.FunctionDef]:
    """The functions of a file, by name and first line."""
    try:
        tree = ast.parse(Path(path).read_text("utf-8"))
    except (OSError, ValueError, SyntaxError):
        raise NotTranslated("a function without its source") from None
    results = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            results[node.name, min([node.lineno, *(part.lineno for part in node.decorator_list)])] = node
    return results


def source_of(function: types.FunctionType) -> ast.FunctionDef:
    """The syntax of a function."""
    code = function.__code__
    node = _functions_in(code.co_filename).get((function.__name__, code.co_firstlineno))
    if node is None or function.__closure__:
        raise NotTranslated("what is no plain function")
    return node


def is_large(function: types.FunctionType) -> bool:
    """Whether it is compiled once for all that call it."""
    return sum(isinstance(part, ast.stmt) for part in ast.walk(source_of(function))) >= _LARGE
