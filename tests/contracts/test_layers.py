"""Every layer's folder opens with what lives there, what may not, and where it stands."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "symveil"
FOLDERS = sorted(file.parent for file in PACKAGE.rglob("__init__.py") if file.parent != PACKAGE)
LAYERS = [
    name.strip()
    for line in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]["layers"]
    for name in line.split("|")
]
NO_IDEA = {"utils", "util", "helpers", "helper", "common", "misc", "shared", "tools"}


def docstring(folder: Path) -> str:
    return ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""


def paragraphs(text: str) -> dict[str, str]:
    """What follows `Lives here:`, `May not live here:` and `Stands`, each up to the next of them."""
    found: dict[str, str] = {}
    current = ""
    for line in text.splitlines():
        for opening in ("Lives here:", "May not live here:", "Stands "):
            if line.startswith(opening):
                current = opening
        if current:
            found[current] = f"{found.get(current, '')} {line}".strip()
    return found


def test_there_are_layers() -> None:
    assert len(FOLDERS) > 20
    assert {folder.name for folder in FOLDERS if folder.parent == PACKAGE} | {"errors", "parameters"} == set(LAYERS)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(PACKAGE)))
def test_a_folder_says_what_lives_there_and_what_may_not(folder: Path) -> None:
    text = docstring(folder)
    assert text and not text.startswith(("Lives", "May")), "the first line is the idea"
    said = paragraphs(text)
    for opening in ("Lives here:", "May not live here:"):
        assert len(said.get(opening, "").removeprefix(opening)) > 20, f"{opening} is missing or says nothing"
    if folder.parent == PACKAGE:
        assert said.get("Stands ", "").endswith("."), "where it stands among the layers"


def test_what_a_docstring_without_a_boundary_is() -> None:
    """The check can fail: it is shown a docstring of each kind."""
    assert paragraphs("Files.\n\nLives here: formats.\nMay not live here: meaning.\nStands on io.") == {
        "Lives here:": "Lives here: formats.",
        "May not live here:": "May not live here: meaning.",
        "Stands ": "Stands on io.",
    }
    assert "May not live here:" not in paragraphs("Files.\n\nLives here: formats. Nothing else may.")


@pytest.mark.parametrize("layer", LAYERS)
def test_the_architecture_page_names_every_layer(layer: str) -> None:
    assert f"| `{layer}` |" in (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_no_file_is_named_after_nothing() -> None:
    """A name says what is inside; these say only that somebody did not know."""
    files = [
        file for folder in ("src", "tests", "benchmarks", "docs", "examples") for file in (ROOT / folder).rglob("*")
    ]
    assert [str(file) for file in files if file.stem.lower() in NO_IDEA] == []


# --- no cycle inside a room ------------------------------------------------------------------------


def imported(tree: ast.AST, known: Mapping[str, object]) -> Iterator[str]:
    """The modules of the package that are imported anywhere in a module: inside functions and for types alone too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name for each in node.names if (name := each.name.removeprefix("symveil.")) in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            source = node.module.removeprefix("symveil.")
            for each in node.names:
                yield from (name for name in (f"{source}.{each.name}", source) if name in known)


def cycles(graph: Mapping[str, set[str]]) -> set[frozenset[str]]:
    """The modules that reach each other."""
    reached = {name: set(targets) for name, targets in graph.items()}
    for middle in graph:
        for targets in reached.values():
            if middle in targets:
                targets.update(reached[middle])
    together = {frozenset(other for other in seen if name in reached[other]) for name, seen in reached.items()}
    return {group for group in together if len(group) > 1}


def import_graph() -> dict[str, set[str]]:
    files = {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
        for path in PACKAGE.rglob("*.py")
        if path.parent != PACKAGE
    }
    return {
        name: {target for target in imported(ast.parse(path.read_text(encoding="utf-8")), files) if target != name}
        for name, path in files.items()
    }


def test_no_cycle_inside_a_room() -> None:
    graph = import_graph()
    assert len(graph) > 300 and sum(map(len, graph.values())) > 1000
    assert cycles(graph) == set()


def test_what_a_cycle_is() -> None:
    """Two that import each other, through a third, inside a function or for a type; a chain is none."""
    known = dict.fromkeys(("a.x", "a.y", "a.z"))
    late = ast.parse("def f():\n    from symveil.a.y import g\n")
    typed = ast.parse("if TYPE_CHECKING:\n    import symveil.a.x\n")
    assert set(imported(late, known)) == {"a.y"} and set(imported(typed, known)) == {"a.x"}
    assert set(imported(ast.parse("from symveil.a import z"), known)) == {"a.z"}
    assert cycles({"a.x": {"a.y"}, "a.y": {"a.z"}, "a.z": set()}) == set()
    assert cycles({"a.x": {"a.y"}, "a.y": {"a.z"}, "a.z": {"a.x"}}) == {frozenset(known)}
