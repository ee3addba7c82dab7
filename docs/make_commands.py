"""Write the command reference from what `--help` says: `python docs/make_commands.py`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from symveil.cli.main import COMMANDS, cli
from symveil.formats.cost_files import CostFiles
from symveil.formats.sequences.columns import ColumnOptions
from symveil.mechanisms.choice import MechanismChoice
from symveil.parameters import parameters_of

PAGE = Path(__file__).parent / "reference" / "commands.md"
_OPENING = """\
<!-- Written by docs/make_commands.py from what --help says; do not edit. -->

# Commands

`symveil COMMAND --help` prints the same text, some with a second example. Every command exits with 0 when it is done or
the property holds, 1 when the property does not hold or is undecided, and 2 after bad input, with one line on standard
error: what was expected, what the input has, and what to do. Ctrl-C ends it with 130 and SIGTERM with 143, and no
half-written file remains. An output replaces a file of its name.

"""
TASKS = {
    "Each sequence by itself": ("privatize", "release", "explain", "audit", "estimate"),
    "Whole files": ("count", "learn", "synthesize"),
    "Prepare": ("symbols", "roads", "alphabet"),
    "Systems and mechanisms": ("opacity", "enforce", "verify"),
    "Budgets, and what others made": ("ledger", "check", "compare"),
    "Look around": ("demo", "studio", "reproduce"),
}
"""Every command, by what it is for."""
_GROUPS = {
    "Options of a mechanism": (MechanismChoice, CostFiles),
    "Options of columns": (ColumnOptions,),
    "Other shared options": (),
}
"""Shared options by the classes that declare them."""
_SHARED = """\
## Shared options

Options that mean the same in several commands. A command names a group that it takes as a whole, and each option of a
group that it takes in part. An option that means something else in a command is listed there. All take `--json`.
"""
EVERYWHERE = "`--json`"
# every other example is run by a test
_NOT_RUN = {
    "symveil studio": "  # not run: serves a page until it is closed",
    "symveil ledger abandon": "  # not run: needs a release that was killed",
}


def reference() -> str:
    """The whole page."""
    context = click.Context(cli, info_name="symveil")
    shared = _shared([row for c in COMMANDS for row in _rows(c, context)])
    overview = "".join(
        f"* {task}: {', '.join(f'[{name}](#symveil-{name})' for name in names)}.\n" for task, names in TASKS.items()
    )
    listed = "".join(
        f"\n### {title}\n\n" + "".join(f"{row}\n" for row in sorted(rows, key=lambda row: row.lstrip("*` -")))
        for title, rows in _grouped(shared).items()
    )
    sections = "\n".join(section for c in COMMANDS for section in _sections(c, context, shared))
    return f"{_OPENING}{overview}\n{_SHARED}{listed}\n{sections}"


def _grouped(rows: Iterable[str]) -> dict[str, list[str]]:
    """Rows by the group that their options are of."""
    groups = {title: list[str]() for title in _GROUPS}
    for row in rows:
        groups[_group(_name(row))].append(row)
    return groups


def _group(name: str) -> str:
    """The group of an option; `--person` and `--keep` are of single commands."""
    for title, kinds in _GROUPS.items():
        declared = {f"`{each.option}`" for kind in kinds for each in parameters_of(kind)}
        if name in declared - {"`--epsilon`", "`--person`", "`--keep`", "`--time`"}:
            return title
    return next(reversed(_GROUPS))


def _paragraphs(command: click.Command) -> list[str]:
    """The paragraphs of a help text, without the second example, which the guides have."""
    parts = [" ".join(part.split()) for part in re.split(r"\n\s*\n", command.help or "")]
    return [
        re.sub(r"(?<=\w): symveil \w+ log\.csv --.*", ".", part.partition(" For example: symveil ")[0])
        for part in parts
    ]


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
    if any(isinstance(parameter, click.Argument) for parameter in command.params):
        usage = " ".join(command.collect_usage_pieces(context))
        pieces += ["```text", f"{context.command_path} {usage}", "```", ""]
    rows = [row for parameter in command.params if (row := _row(parameter, context))]
    if own := [row for row in rows if row.replace(_REQUIRED, "") not in shared]:
        pieces += [*own, ""]
    if taken := [row for row in rows if row.replace(_REQUIRED, "") in shared and _name(row) != EVERYWHERE]:
        pieces += [f"{_taken(taken, shared)}.", ""]
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


def _taken(rows: list[str], shared: set[str]) -> str:
    """Which shared options a command takes: whole groups by their titles, others by their names."""
    groups, wholes = _grouped(rows), _grouped(shared)
    taken = [
        f"[{title.lower()}](#{title.lower().replace(' ', '-')})"
        for title in groups
        if _GROUPS[title] and len(groups[title]) == len(wholes[title])
    ]
    in_part = [title for title in groups if not _GROUPS[title] or len(groups[title]) < len(wholes[title])]
    single = [row for title in in_part for row in groups[title]]
    named = ", ".join(_name(row) + " (required)" * (_REQUIRED in row) for row in single)
    parts = ["Also takes " + " and ".join(taken)] if taken else []
    parts += [f"[Shared options](#shared-options): {named}"] if named else []
    return ". ".join(parts)


def _name(row: str) -> str:
    """The names of a row's option, without its value."""
    cell = row.removeprefix("* `").partition("`")[0]
    return ", ".join(f"`{name.split()[0]}`" for name in cell.split(", "))


def _row(parameter: click.Parameter, context: click.Context) -> str | None:
    """An option's row; arguments are named by the usage and explained by the text above."""
    record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
    if record is None:
        return None
    names, meaning = record
    meaning = meaning.replace("; a file of that name is replaced", "")  # the page says it once
    if isinstance(parameter.type, click.Choice):  # a long list of choices breaks in a text, not in a name
        names = names.partition(" [")[0]
        *others, last = (f"`{choice}`" for choice in parameter.type.choices)
        meaning = f"{', '.join(others)} or {last}. {_text(meaning)}"
    else:
        meaning = _text(meaning)
    return f"* `{names}`: {' '.join(meaning.split())}"


def _text(text: str) -> str:
    """Prose as Markdown: options and file endings as code, and nothing taken for markup."""
    escaped = re.sub(r"([<>*_\[\]])", r"\\\1", text)
    return re.sub(r"(?<![\w`-])(--[a-z][a-z-]*)", r"`\1`", escaped)


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
