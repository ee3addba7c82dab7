"""A message names only options that the command has which prints it."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import symveil
from symveil.cli.field_options import advice_for, as_typed, named_as_typed
from symveil.cli.main import _options_of, cli
from symveil.errors import ParameterError

ROOT = Path(symveil.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
STYLES = re.compile(r"[{;]\s*--|style=|var\(--|^--[a-z-]+(/--[a-z-]+)?$")  # and the names of options themselves
EVERYWHERE = {"--help", "--version"}
WORDS_OF_PYTHON = {"in", "and", "or"}  # of messages to those who write loops
MODULES = tuple(sorted(ROOT.rglob("*.py")))


def leaves(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from leaves(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(leaves(cli))


@functools.cache
def strings(path: Path) -> tuple[tuple[int, str], ...]:
    """The strings of a module, but for its docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in silent]
    return tuple((node.lineno, node.value) for node in constants if isinstance(node.value, str))


def texts(path: Path) -> tuple[tuple[int, str], ...]:
    """The strings of a module that name options to somebody: not style sheets."""
    return tuple((line, text) for line, text in strings(path) if OPTION.search(text) and not STYLES.search(text))


def named(text: str) -> set[str]:
    """The options of a text that are not those of a command it names itself."""
    return set(OPTION.findall(re.split(r"\bsymveil [a-z]", text)[0])) - EVERYWHERE


def commands_of(path: Path) -> list[tuple[str, ...]]:
    """The commands that a module of the command line defines."""
    module = f"symveil.cli.{path.stem}"
    return [name for name, command in COMMANDS.items() if getattr(command.callback, "__module__", "") == module]


@pytest.mark.parametrize("path", sorted((ROOT / "cli").glob("*.py")), ids=lambda path: path.stem)
def test_a_command_names_its_own_options(path: Path) -> None:
    known = [_options_of(list(name)) for name in commands_of(path)]
    if not known:
        return
    for line, text in texts(path):
        for option in named(text):
            assert any(option in options for options in known), f"{path.name}:{line}: {option} in {text!r}"


def test_every_option_that_is_named_anywhere_exists() -> None:
    every = set().union(*(_options_of(list(name)) for name in COMMANDS))
    wrong = {
        f"{path.relative_to(ROOT)}:{line}: {option}"
        for path in MODULES
        for line, text in texts(path)
        for option in named(text) - every
    }
    assert wrong == set()


PARAMETER = re.compile(r"`([a-z_]+)(?:=[^`]*)?`")


def test_the_library_names_parameters_and_the_command_line_options() -> None:
    """Outside of the command line a message names an option only inside a command that it spells out."""
    own = [path for path in MODULES if not {"cli", "studio"} & set(path.relative_to(ROOT).parts)]
    wrong = {f"{path.relative_to(ROOT)}:{line}: {text}" for path in own for line, text in texts(path) if named(text)}
    assert wrong == set()


def test_every_parameter_that_a_message_names_is_an_option_somewhere() -> None:
    every = {parameter.name for command in COMMANDS.values() for parameter in command.params}
    wrong = {
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in MODULES
        for line, text in strings(path)
        for name in PARAMETER.findall(text)
        if name not in every | WORDS_OF_PYTHON
    }
    assert wrong == set()


def test_a_message_is_typed_as_the_command_calls_its_options() -> None:
    privatize = COMMANDS["privatize",]
    assert as_typed("name `identifier` or `delimiter=';'`", privatize) == 'name --id or --delimiter ";"'
    assert as_typed("`delimiter='\\t'`", privatize) == "--delimiter tab"
    assert as_typed("take `model`", COMMANDS["learn",]) == "take --from-graph"
    error = ParameterError("identifier", expected="a column", found="none")
    assert named_as_typed(error, privatize) == "id: expected a column, found none"


def test_options_of_a_command_are_found_by_what_was_typed() -> None:
    assert "--pair" in _options_of(["verify", "chain.json", "--alpha", "2"])
    assert "--everyone" in _options_of(["ledger", "grant"])
    assert "--everyone" not in _options_of(["ledger", "status"])
    assert _options_of(["nothing"]) == {"--version"}


@pytest.mark.parametrize("name", COMMANDS, ids=" ".join)
def test_advice_about_other_commands_is_left_out(name: tuple[str, ...]) -> None:
    """Every piece of advice in the package, as each command would print it."""
    options = _options_of(list(name))
    for path in MODULES:
        for _, text in texts(path):
            said = advice_for(f"x: expected a, found b; {text.lstrip('; ')}", options)
            for clause in said.split("; ")[1:]:
                assert named(clause) <= options
