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
from symveil.mechanisms.choice import MechanismChoice, takers
from symveil.parameters import parameters_of

PAGE = Path(__file__).parent / "reference" / "commands.md"
_OPENING = """\
<!-- Written by docs/make_commands.py from what --help says; do not edit. -->

# Commands

The options and one example of every command. The linked pages say what it does; `symveil COMMAND --help` says it in
short. Every command exits with 0 when it is done or the property holds, 1 when the property does not hold or is
undecided, and 2 after bad input, with one line on standard error: what was expected, what the input has, and what to
do. Ctrl-C ends it with 130 and SIGTERM with 143, and no half-written file remains. An output replaces a file of its
name. Charts are .svg, or with the extra `plots` .png and .pdf.

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
EXPLAINED = {
    "privatize": ("files of sequences", "../files.md"),
    "release": ("mechanisms", "../mechanisms.md"),
    "explain": ("choose b, ε and a mechanism", "../how-to/choose.md"),
    "audit": ("verify", "../verify.md#mechanisms"),
    "verify": ("verify", "../verify.md"),
    "opacity": ("opacity", "../opacity.md"),
    "enforce": ("enforcing opacity", "../opacity.md#enforcing-opacity"),
    "learn": ("learned models", "../statistics.md#learned-models"),
    "alphabet": ("files of sequences", "../files.md"),
    "symbols": ("GPS to symbols", "../how-to/gps-to-symbols.md"),
    "roads": ("a road graph", "../how-to/gps-to-symbols.md#a-road-graph-becomes-a-model"),
    "ledger": ("the ledger", "../ledger.md"),
    "check": ("the manifest", "../manifest.md#check"),
    "estimate": ("answers", "../how-to/answers.md"),
    "compare": ("metrics", "../statistics.md#metrics"),
    "count": ("tables", "../statistics.md#tables"),
    "synthesize": ("synthetic words", "../statistics.md#synthetic-words"),
    "studio": ("the studio", "../studio.md"),
}
"""The page that explains a command: its longer help is not repeated here."""
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
Brackets name the mechanisms that have an option, where only some have it.
"""
EVERYWHERE = "`--json`"
_WIDTH = 110
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
        f"\n### {title}\n\n"
        + "".join(f"{_with_takers(row)}\n" for row in sorted(rows, key=lambda row: row.lstrip("*` -")))
        for title, rows in _grouped(shared).items()
    )
    sections = "\n".join(section for c in COMMANDS for section in _sections(c, context, shared))
    return f"{_OPENING}{overview}\n{_SHARED}{listed}\n{sections}"


def _grouped(rows: Iterable[str]) -> dict[str, list[str]]:
    """Rows by the group that their options are of."""
    groups = {title: list[str]() for title in _GROUPS}
    for row in rows:
        if _name(row) != EVERYWHERE:
            groups[_group(_name(row))].append(row)
    return groups


def _group(name: str) -> str:
    """The group of an option; `--person` and `--keep` are of single commands."""
    for title, kinds in _GROUPS.items():
        declared = {f"`{each.option}`" for kind in kinds for each in parameters_of(kind)}
        if name in declared - {"`--epsilon`", "`--person`", "`--keep`", "`--time`"}:
            return title
    return next(reversed(_GROUPS))


def _summary(command: click.Command, parent: click.Context, arguments: str) -> str:
    """What a command does and takes, its exit status, and the page that explains it; without one, all its help.

    A command of a group is explained by the group's page.
    """
    first, *others = (" ".join(part.split()) for part in re.split(r"\n\s*\n", command.help or ""))
    named = all(argument in first.split() for argument in arguments.rstrip(".").split())
    said = _text(first) if named else f"{_text(first)} Takes `{arguments}`."
    if command.name not in EXPLAINED:
        return " ".join([said, *map(_text, others if parent.parent is None else ())])
    title, page = EXPLAINED[command.name]
    statuses = [status for part in others for status in re.findall(r"Exit status 0: .*", part)]
    return " ".join([said, *map(_text, statuses), f"More: [{title}]({page})."])


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
    has_arguments = any(isinstance(parameter, click.Argument) for parameter in command.params)
    usage = " ".join(command.collect_usage_pieces(context)).removeprefix("[OPTIONS] ") if has_arguments else ""
    pieces += [_summary(command, parent, usage), ""]
    rows = [row for parameter in command.params if (row := _row(parameter, context))]
    if own := [row for row in rows if row.replace(_REQUIRED, "") not in shared]:
        pieces += [*own, ""]
    if taken := [row for row in rows if row.replace(_REQUIRED, "") in shared and _name(row) != EVERYWHERE]:
        pieces += [f"{_taken(taken, shared)}.", ""]
    if command.epilog:
        pieces += [
            "```sh",
            *_in_lines(command.epilog.removeprefix("Example: ") + _NOT_RUN.get(context.command_path, "")),
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
    return "Shared: " + ", ".join([*taken, *([named] if named else [])])


def _in_lines(example: str) -> Iterator[str]:
    """A command, continued before an option where a line is full."""
    line, *options = re.split(r" (?=--)", example)
    for option in options:
        if len(line) + len(option) > _WIDTH:
            yield f"{line} \\"
            line = f"    {option}"
        else:
            line += f" {option}"
    yield line


def _with_takers(row: str) -> str:
    """A row of the shared options, with the mechanisms that look at the option, where not all do."""
    only = {f"`{each.option}`": takers(each.name) for each in parameters_of(MechanismChoice)}.get(_name(row), ())
    unnamed = [name for name in only if name not in row]
    return f"{row} ({', '.join(only)})" if unnamed else row


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
    for once in ("; a file of that name is replaced", "; .png and .pdf with symveil[plots]", ": see above"):
        meaning = meaning.replace(once, "")  # the page says it once, or the page that it links to
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
