"""The syntax of a function, from its file."""

from __future__ import annotations

import ast
import types
from functools import cache
from pathlib import Path

from symveil.languages.loops.values import NotTranslated

_LARGE = 25  # statements, from which a function is compiled once and called, and not copied into each that uses it


@cache
def _functions_in(path: str) -> dict[tuple[str, int], ast.FunctionDef]:
    """The functions of a file, by name and first line."""
    try:
        tree = ast.parse(Path(path).read_text("utf-8"))
    except (OSError, ValueError, SyntaxError):
        raise NotTranslated("a function without its source") from None
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            found[node.name, min([node.lineno, *(part.lineno for part in node.decorator_list)])] = node
    return found


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
