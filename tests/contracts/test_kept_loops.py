"""Compiled loops that numba keeps on disk must not outlive what they were compiled from.

numba looks at the file of a function only. A file whose loops use anything of another file (a function,
a constant) therefore carries a digest of the files it uses, `COMPILED_FROM`: change one of them, and this
test asks for a new digest, which changes the file, which makes numba compile again. What a loop uses is
read from the syntax, so that a new file of loops is covered by being there.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

import symveil

ROOT = Path(symveil.__file__).parent
DECORATOR = "compiled"
KEPT_IN = "symveil.languages.compiling"


def names_in(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def is_compiled(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and any(DECORATOR in names_in(each) for each in node.decorator_list)


def source_of(module: str) -> Path | None:
    """The file of a module of symveil."""
    path = ROOT.joinpath(*module.split(".")[1:])
    return next((each for each in (path.with_suffix(".py"), path / "__init__.py") if each.is_file()), None)


def imported(tree: ast.Module) -> dict[str, Path]:
    """Each name that a file imports from symveil, and the file it comes from."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "symveil" and node.level == 0:
            for name in node.names:
                # `from package import module`, or `from module import name`
                path = source_of(f"{node.module}.{name.name}") or source_of(str(node.module))
                if path is not None and node.module != KEPT_IN:
                    found[name.asname or name.name] = path
    return found


def used_files(text: str) -> list[Path]:
    """The other files of symveil that the compiled loops of this file use, directly or not.

    A used file with loops of its own answers for what it uses itself: its text changes with its digest.
    """
    found: set[Path] = set()
    waiting = directly_used(text, is_compiled)
    while waiting:
        path = waiting.pop()
        found.add(path)
        inside = path.read_text("utf-8")
        if told(inside) is None:
            waiting |= directly_used(inside, lambda node: isinstance(node, ast.FunctionDef)) - found
    return sorted(found)


def directly_used(text: str, is_counted: Callable[[ast.stmt], bool]) -> set[Path]:
    """The files that some functions of a file use, by way of its own names too."""
    tree = ast.parse(text)
    own = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assigned = {
        name: node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for name in names_in(node)
    }
    waiting: list[ast.AST] = [part for node in tree.body if is_counted(node) for part in node.body]  # type: ignore[attr-defined]
    names: set[str] = set()
    while waiting:
        fresh = names_in(waiting.pop()) - names
        names |= fresh
        waiting += [place[name] for name in fresh for place in (own, assigned) if name in place]
    origin = imported(tree)
    return {origin[name] for name in names if name in origin}


def digest_of(files: list[Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


def told(text: str) -> str | None:
    """The digest that a file carries."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and "COMPILED_FROM" in names_in(node):
            return str(ast.literal_eval(node.value))
    return None


FILES = [path for path in sorted(ROOT.rglob("*.py")) if any(map(is_compiled, ast.parse(path.read_text("utf-8")).body))]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_change_of_what_is_used_changes_the_file_that_is_compiled(path: Path) -> None:
    text = path.read_text("utf-8")
    files = used_files(text)
    expected = digest_of(files) if files else None
    assert told(text) == expected, f"set COMPILED_FROM to {expected!r} in {path.name}: it uses {files}"


def test_numba_is_asked_in_one_place_only() -> None:
    """Another door to numba's disk would not be covered."""
    others = [
        path
        for path in ROOT.rglob("*.py")
        if source_of(KEPT_IN) != path and any(word in path.read_text("utf-8") for word in ("njit", "numba.jit"))
    ]
    assert others == []


class TestWhatIsUsed:
    """The check itself: it finds uses of every kind, and only uses."""

    HEAD = (
        "from symveil.languages.compiling import compiled\n"
        "from symveil.verification.distances import flows, simplex\n"
        "from symveil.verification.distances.tables import UNIT\n"
    )

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            ("@compiled\ndef loop(x):\n    return x\n", []),
            ("@compiled\ndef loop(x):\n    return x * UNIT\n", ["tables.py"]),
            ("solve = jitable(simplex.solve)\n@compiled\ndef loop(x):\n    return solve(x)\n", ["simplex.py"]),
            (
                "def own(x):\n    return simplex.lift(x)\n@compiled\ndef loop(x):\n    return own(x)\n",
                ["simplex.py"],
            ),
            ("@compiled\ndef loop(x):\n    return x\ndef other(x):\n    return simplex.solve(x)\n", []),
            ("def other(x: flows.T) -> None: ...\n@compiled\ndef loop(x: flows.T):\n    return x\n", []),
        ],
    )
    def test_uses(self, body: str, expected: list[str]) -> None:
        assert [path.name for path in used_files(self.HEAD + body)] == expected
