"""Rules of the house that no linter knows: files short enough to read at once, an example for every public name."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from pathlib import Path

import pytest

import symveil as sv
from symveil.mechanisms.mechanism import Mechanism

ROOT = Path(__file__).parents[2]
LONGEST = 500
EXCUSE = "longer than 500 lines because"
FOLDERS = ("src", "tests", "benchmarks", "docs", "examples")


def too_long(text: str) -> bool:
    """Whether a file's text has more lines than a reader keeps in mind, and its docstring does not say why."""
    return len(text.splitlines()) > LONGEST and EXCUSE not in " ".join(
        (ast.get_docstring(ast.parse(text)) or "").split()
    )


def test_no_file_is_long_without_a_reason() -> None:
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")]
    assert len(files) > 300
    assert [str(file.relative_to(ROOT)) for file in files if too_long(file.read_text(encoding="utf-8"))] == []


def test_what_counts_as_long_and_as_a_reason() -> None:
    body = "x = 1\n" * LONGEST
    assert not too_long(body)
    assert too_long(body + "x = 1\n")
    assert too_long(f'"""One idea."""\n# {EXCUSE} this is no docstring\n{body}')
    assert not too_long(
        f'"""One idea.\n\nThis file is longer than\n500 lines because its tables are printed.\n"""\n{body}'
    )


@pytest.mark.parametrize("name", sorted(set(sv.__all__) - {"__version__"}))
def test_every_public_name_has_an_example(name) -> None:
    """Examples of the package run as tests (`--doctest-modules`), so an example that is there is right."""
    shown = inspect.getdoc(getattr(sv, name)) or ""
    assert any(not example.options.get(doctest.SKIP) for example in doctest.DocTestParser().get_examples(shown))


def listed_parameters(docstring: str) -> set[str]:
    """The names in a numpydoc section: in lines of their own, with commas; and fields that may be given by name."""
    section = docstring.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    lines = [line for line in section.splitlines() if not line.startswith(" ")]
    lines += re.findall(r"by name: ([^.;]*)", section)
    return {name.strip().lstrip("*") for line in lines for name in line.split(",")}


def test_what_counts_as_listed() -> None:
    text = "Adds.\n\nParameters\n----------\none, other\n    Or by name: sign,\n    size.\n**named\n    More.\n\n>>> 1"
    assert listed_parameters(text) == {"one", "other", "sign", "size", "named"}
    assert listed_parameters("Adds one.\n\none\n    A number.") == set()


@pytest.mark.parametrize("name", sorted(set(sv.__all__) - {"__version__", "SymveilError"}))
def test_every_public_name_lists_its_parameters(name) -> None:
    missing = set(inspect.signature(getattr(sv, name)).parameters) - listed_parameters(
        inspect.getdoc(getattr(sv, name)) or ""
    )
    assert not missing, sorted(missing)
    assert (inspect.getdoc(getattr(sv, name)) or "").count("Parameters\n----------") <= 1, "two lists"


def test_progress_is_of_one_type() -> None:
    """Whatever is called `progress` is a `Progress`; only the door for those of earlier versions takes others."""
    found = {}
    for file in (ROOT / "src").rglob("*.py"):
        for each in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(each, ast.FunctionDef):
                for argument in (*each.args.posonlyargs, *each.args.args, *each.args.kwonlyargs):
                    if argument.arg == "progress" and argument.annotation is not None:
                        found[f"{file.name}: {each.name}"] = ast.unparse(argument.annotation)
    assert len(found) > 30
    del found["progress.py: accepted"]
    assert {name: kind for name, kind in found.items() if kind not in ("Progress", "Progress | None")} == {}


def kinds() -> set[str]:
    """The names of all languages and mechanisms."""
    names, waiting = (
        {"FreeLanguage", "RunLanguage", "AnyLength", "OpenWords", "OpenRuns", "ObservationLanguage"},
        [Mechanism],
    )
    while waiting:
        kind = waiting.pop()
        names.add(kind.__name__)
        waiting += kind.__subclasses__()
    return names


def test_languages_and_mechanisms_are_asked_and_not_sorted_by_type() -> None:
    """What differs between them is said by them; a few questions of type are left, where only one kind can answer."""
    found = []
    for file in (ROOT / "src").rglob("*.py"):
        for each in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(each, ast.Call) and ast.unparse(each.func) == "isinstance":
                asked = {name.id for name in ast.walk(each.args[1]) if isinstance(name, ast.Name)}
                found += [f"{file.name}:{each.lineno}"] if asked & kinds() else []
    assert 1 <= len(found) <= 20, found
