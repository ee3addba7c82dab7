"""Write the command reference from what `--help` says: `python docs/make_commands.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from symveil.cli.main import COMMANDS, cli

PAGE = Path(__file__).parent / "reference" / "commands.md"
_OPENING = """\
<!-- Written by docs/make_commands.py from what --help says; do not edit. -->

# Commands

`symveil COMMAND --help` says what stands here. Every command exits with 0 when it is done or the property holds, 1 when
the property does not hold or is undecided, and 2 after bad input, with one line on standard error that says what was
expected, what was found and what to do. Ctrl-C ends it with 130 and SIGTERM with 143, and nothing is left half-written.

| command | what it does |
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
    sections = "\n".join(section for c in COMMANDS for section in _sections(c, click.Context(cli, info_name="symveil")))
    return f"{_OPENING}{overview}\n{sections}"


def _summary(command: click.Command) -> str:
    return " ".join(_paragraphs(command)[0].split())


def _paragraphs(command: click.Command) -> list[str]:
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", command.help or "")]


def _sections(command: click.Command, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=command.name, parent=parent)
    pieces = [f"## {context.command_path}" if parent.parent is None else f"### {context.command_path}", ""]
    pieces += [line for paragraph in _paragraphs(command) for line in (_text(paragraph), "")]
    pieces += ["```text", f"{context.command_path} {' '.join(command.collect_usage_pieces(context))}", "```", ""]
    rows = [row for parameter in command.params if (row := _row(parameter, context))]
    if rows:
        pieces += ["| option | meaning |", "|---|---|", *rows, ""]
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
            yield from _sections(command.commands[name], context)


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
