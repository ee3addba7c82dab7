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
from symveil.cli.main import _options_of, cli
from symveil.cli.usage import advice_for

ROOT = Path(symveil.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
STYLES = re.compile(r"[{;]\s*--|style=|var\(--|^--[a-z-]+(/--[a-z-]+)?$")  # and the names of options themselves
EVERYWHERE = {"--help", "--version"}
MODULES = tuple(sorted(ROOT.rglob("*.py")))


def leaves(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from leaves(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(leaves(cli))


@functools.cache
def texts(path: Path) -> tuple[tuple[int, str], ...]:
    """The strings of a module that name options to somebody: not its docstrings, not style sheets."""
    tree = ast.parse(path.read_text("utf-8"))
    silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    strings = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in silent]
    return tuple(
        (node.lineno, node.value)
        for node in strings
        if isinstance(node.value, str) and OPTION.search(node.value) and not STYLES.search(node.value)
    )


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
