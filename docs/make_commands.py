"""Write the command reference from what `--help` says: `python docs/make_commands.py`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from symveil.cli.main import COMMANDS, cli

PAGE = Path(__file__).parent / "reference" / "commands.md"
_OPENING = """\
<!-- Written by docs/make_commands.py from what --help says; do not edit. -->

# Commands

`symveil COMMAND --help` prints the same text. Every command exits with 0 when it is done or the property holds, 1 when
the property does not hold or is undecided, and 2 after bad input, with one line on standard error: what was expected,
what the input has, and what to do. Ctrl-C ends it with 130 and SIGTERM with 143, and no half-written file remains.

| command | what it does |
|---|---|
"""
_SHARED = """\
## Shared options

Options that mean the same in several commands. Each command lists those that it takes; where an option means something
else, the command has a row of its own for it.

| option | meaning |
|---|---|
"""
# every other example is run by a test
_NOT_RUN = {
    "symveil studio": "  # not run: serves a page until it is closed",
    "symveil ledger abandon": "  # not run: needs a release that was killed",
}


def reference() -> str:
    """The whole page."""
    overview = "".join(f"| [{c.name}](#symveil-{c.name}) | {_summary(c)} |\n" for c in COMMANDS)
    context = click.Context(cli, info_name="symveil")
    shared = _shared([row for c in COMMANDS for row in _rows(c, context)])
    listed = "".join(f"{row}\n" for row in sorted(shared, key=lambda row: row.lstrip("|` -")))
    sections = "\n".join(section for c in COMMANDS for section in _sections(c, context, shared))
    return f"{_OPENING}{overview}\n{_SHARED}{listed}\n{sections}"


def _summary(command: click.Command) -> str:
    return " ".join(_paragraphs(command)[0].split())


def _paragraphs(command: click.Command) -> list[str]:
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", command.help or "")]


_REQUIRED = " \\[required\\]"


def _shared(rows: list[str]) -> set[str]:
    """Of each option that means the same in three commands, or in most of those that have it, its usual meaning."""
    commands = Counter(map(_name, rows))
    usual = dict[str, str]()
    for row, count in Counter(row.replace(_REQUIRED, "") for row in rows).most_common():
        if count > min(2, max(1, commands[_name(row)] / 2)):
            usual.setdefault(_name(row), row)
    return set(usual.values())


def _rows(command: click.Command, parent: click.Context) -> list[str]:
    """The rows of a command's options, and of those of its subcommands."""
    context = click.Context(command, info_name=command.name, parent=parent)
    rows = [row for parameter in command.params if (row := _row(parameter, context))]
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    return rows + [row for each in inner for row in _rows(each, context)]


def _sections(command: click.Command, parent: click.Context, shared: set[str]) -> Iterator[str]:
    context = click.Context(command, info_name=command.name, parent=parent)
    pieces = [f"## {context.command_path}" if parent.parent is None else f"### {context.command_path}", ""]
    pieces += [line for paragraph in _paragraphs(command) for line in (_text(paragraph), "")]
    pieces += ["```text", f"{context.command_path} {' '.join(command.collect_usage_pieces(context))}", "```", ""]
    rows = [row for parameter in command.params if (row := _row(parameter, context))]
    if own := [row for row in rows if row.replace(_REQUIRED, "") not in shared]:
        pieces += ["| option | meaning |", "|---|---|", *own, ""]
    if names := [
        _name(row) + " (required)" * (_REQUIRED in row) for row in rows if row.replace(_REQUIRED, "") in shared
    ]:
        pieces += [f"[Shared options](#shared-options): {', '.join(names)}.", ""]
    if command.epilog:
        pieces += [
            "```sh",
            command.epilog.removeprefix("Example: ") + _NOT_RUN.get(context.command_path, ""),
            "```",
            "",
        ]
    yield "\n".join(pieces)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from _sections(command.commands[name], context, shared)


def _name(row: str) -> str:
    """The names of a row's option, without its value."""
    cell = row.removeprefix("| `").partition("`")[0]
    return ", ".join(f"`{name.split()[0]}`" for name in cell.split(", "))


def _row(parameter: click.Parameter, context: click.Context) -> str | None:
    """An option's row; arguments are named by the usage and explained by the text above."""
    record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
    if record is None:
        return None
    names, meaning = record
    if isinstance(parameter.type, click.Choice):  # a long list of choices breaks in a text, not in a name
        names = names.partition(" [")[0]
        *others, last = (f"`{choice}`" for choice in parameter.type.choices)
        meaning = f"{', '.join(others)} or {last}. {_text(meaning)}"
    else:
        meaning = _text(meaning)
    cells = (f"`{names}`", " ".join(meaning.split()))
    return "".join(f"| {cell.replace('|', chr(92) + '|')} " for cell in cells) + "|"


def _text(text: str) -> str:
    """Prose as Markdown: options and file endings as code, and nothing taken for markup."""
    escaped = re.sub(r"([<>*_\[\]])", r"\\\1", text)
    return re.sub(r"(?<![\w`-])(--[a-z][a-z-]*)", r"`\1`", escaped)


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
