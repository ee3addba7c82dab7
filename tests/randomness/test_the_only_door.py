"""No layer but `randomness` draws a bit, and none uses a generator that is not cryptographic."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import symveil

SOURCE = Path(symveil.__file__).parent
NOT_PRIVATE = {"random", "numpy.random"}
ONLY_IN_RANDOMNESS = {
    "os.urandom",
    "os.getrandom",
    "secrets",
    "cryptography.hazmat.primitives.ciphers",
}
LOOKED_AT = {
    "randomness/bits.py": {"random", "random.getstate", "numpy.random", "numpy.random.get_state"},
}
"""One file compares the states of the shared generators, to notice programs that draw from them. It draws nothing."""


def dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def names_used(tree: ast.AST) -> set[str]:
    """Every module imported and every dotted name, with `np` read as numpy."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Attribute):
            name = dotted(node)
            names.add(f"numpy{name[2:]}" if name.startswith("np.") else name)
    return names


def offenders(path: Path, forbidden: set[str]) -> set[str]:
    used = names_used(ast.parse(path.read_text(encoding="utf-8")))
    return {name for name in used for bad in forbidden if name == bad or name.startswith(f"{bad}.")}


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_noise_has_one_source(path):
    assert not offenders(path, NOT_PRIVATE) - LOOKED_AT.get(path.relative_to(SOURCE).as_posix(), set())
    if (SOURCE / "randomness") not in path.parents:
        assert not offenders(path, ONLY_IN_RANDOMNESS)


@pytest.mark.parametrize(
    "code",
    [
        "import random",
        "from random import choice",
        "import numpy as np\nnp.random.default_rng()",
        "import numpy\nnumpy.random.rand()",
        "from numpy.random import default_rng",
        "from numpy import random",
        "import os\nos.urandom(3)",
        "from os import urandom",
        "import secrets\nsecrets.randbelow(3)",
        "from secrets import choice",
        "import secrets\nsecrets.token_urlsafe()",
    ],
)
def test_the_search_finds_what_it_is_for(tmp_path, code):
    (tmp_path / "module.py").write_text(code)
    assert offenders(tmp_path / "module.py", NOT_PRIVATE | ONLY_IN_RANDOMNESS)
