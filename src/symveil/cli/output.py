"""Rendering: JSON documents and tables, the same way in every command.

What every command is made of: a name, an example that its help shows, and commands of its own in their order.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symveil.cli.field_options import Lately, as_typed
from symveil.cli.progress import rest
from symveil.errors import InputError, ParameterError, SymveilWarning, either

if TYPE_CHECKING:
    from symveil.reports.report import Report


def print_notes(notes: Iterable[str], *, warnings: Iterable[str] = ()) -> None:
    """Say them on standard error, last, once everything has gone well: an error is the only line there."""
    from symveil.reports.terminal import writable

    rest()
    warned = list(warnings)
    context = click.get_current_context(silent=True)
    command = None if context is None else context.command
    for kind, texts in (("warning", warned), ("note", [note for note in notes if note not in warned])):
        for text in texts:
            click.echo(f"symveil: {kind}: {writable(as_typed(text, command), sys.stderr)}", err=True)


def print_json(document: dict[str, object]) -> None:
    """One JSON document on standard output, and nothing else there."""
    import json

    from symveil.reports.terminal import CONTROLS, encodable

    text = CONTROLS.sub(
        lambda match: f"\\u{ord(match[0]):04x}", json.dumps(document, ensure_ascii=False, allow_nan=False)
    )
    # a question mark in the place of what a code page does not have would be another document
    click.echo(text if encodable(text, sys.stdout) else json.dumps(document, allow_nan=False))


def print_report(report: Report) -> None:
    """A report on standard output."""
    import shutil

    from symveil.reports.terminal import report_text

    rest()
    stream = sys.stdout
    looking = stream.isatty()
    width = shutil.get_terminal_size().columns if looking else 160
    click.echo(report_text(report, stream, width=width, looking=looking), nl=False)


def print_result(
    document: Callable[[], dict[str, Any]], report: Report, *, as_json: bool, notes: Iterable[str] = ()
) -> None:
    """A result as its JSON document or as its report; then these notes, and the notes and warnings of the report."""
    if as_json:
        print_json(document())
    else:
        print_report(report)
    print_notes([*notes, *report.notes], warnings=report.warnings)


def print_line(text: str) -> None:
    """One line on standard output."""
    from symveil.reports.terminal import writable

    click.echo(writable(text, sys.stdout))


def require_suffix(option: str, path: Path | None, suffixes: tuple[str, ...]) -> None:
    """Refuse a file name before anything is computed or written."""
    if path is not None and path.suffix.lower() not in suffixes:
        raise ParameterError(option, expected=f"a file name ending in {either(suffixes)}", found=repr(path.name))


def require_different(**paths: Path | None) -> None:
    """Refuse two options that name the same file to write."""
    seen: dict[Path, str] = {}
    for name, path in paths.items():
        if path is not None:
            option = name.replace("_", "-")
            if path.resolve() in seen:
                other = seen[path.resolve()]
                raise ParameterError(option, expected=f"another file than --{other}", found=repr(path.name))
            seen[path.resolve()] = option


def require_not_read(*read: Path | None, **written: Path | None) -> None:
    """Refuse to write over what is read: a private file that was paid for cannot be drawn again."""
    resolved = [path.resolve() for path in read if path is not None]
    for option, path in written.items():
        if path is None:
            continue
        same = any(path.resolve() == each or (each.is_dir() and each in path.resolve().parents) for each in resolved)
        linked = path.exists() and any(each.exists() and path.samefile(each) for each in resolved)
        if same or linked:
            raise ParameterError(option, expected="another file than those that are read", found=repr(path.name))


_HELP = {"help_option_names": ["--help", "-h"]}


class Command(Lately, click.Command):
    """A command whose example stands in its help as it is typed: on one line, to be copied."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read what was typed; an error says of which command, which click's parser does not know."""
        try:
            self._refuse_misread(ctx, args)
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def _refuse_misread(self, ctx: click.Context, args: list[str]) -> None:
        """Refuse an option with one value that is given twice: click would take the last one without a word.

        And one whose value is the next option, because its own is missing.
        """
        values, _, given = self.make_parser(ctx).parse_args(list(args))
        names = {name for each in self.params for name in each.opts if name.startswith("--")}
        for option in (each for each in given if isinstance(each, click.Option)):
            value = str(values.get(str(option.name))).partition("=")[0]
            if value in names:
                wanted = f"a value ({option.metavar})" if option.metavar else "a value"
                raise ParameterError(str(option.name), expected=wanted, found=f"the option {value}")
        for option in (each for each in given if isinstance(each, click.Option)):
            times = given.count(option)
            if times > 1 and not (option.multiple or option.is_flag or option.count):
                raise ParameterError(str(option.name), expected=f"{option.opts[0]} once", found=f"{times} times")

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; a long search behind a mechanism (a certificate) and a long file show how far they are."""
        from symveil.cli.progress import progress_bar
        from symveil.numbers.progress import collected, collected_notes

        with collected() as confided, collected_notes() as notes, warnings.catch_warnings(), progress_bar(""):
            warnings.simplefilter("ignore", SymveilWarning)  # commands print what results have to say, last
            result = super().invoke(ctx)
        print_notes(notes)
        if sys.stderr.isatty():  # for the holder alone: a log may be read by others
            print_notes([], warnings=confided)
        return result

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example, which click would wrap."""
        del ctx
        _write_example(self.epilog, formatter)


class Group(click.Group):
    """Commands in the order in which they were added, which is the order in which one meets them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names; click would sort them."""
        del ctx
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant, refused in the way in which everything is refused."""
        if args and args[0] not in self.commands:
            raise self._expected(ctx, found=repr(args[0]))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that is meant; without one, show which there are."""
        result = super().invoke(ctx)
        if ctx.invoked_subcommand is None:
            click.echo(ctx.get_help())
        return result

    def _expected(self, ctx: click.Context, *, found: str) -> InputError:
        import difflib

        names = self.list_commands(ctx)
        near = difflib.get_close_matches(found.strip("'").lower(), names, n=1, cutoff=0.7)
        advice = f"perhaps {near[0]} is meant" if near else f"see {ctx.command_path} --help"
        return InputError(f"command: expected one of {', '.join(names)}, found {found}; {advice}")

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example, which click would wrap."""
        del ctx
        _write_example(self.epilog, formatter)


def _write_example(example: str | None, formatter: click.HelpFormatter) -> None:
    formatter.write_paragraph()
    formatter.write(f"  {example}\n")


def command(name: str, *, example: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a function a command whose help shows its usage and an example."""
    return click.command(name, cls=Command, epilog=f"Example: {example}", context_settings=_HELP)


def group(name: str | None = None, *, example: str) -> Callable[[Callable[..., Any]], Group]:
    """Make a function a command that has commands."""
    return click.group(
        name, cls=Group, invoke_without_command=True, epilog=f"Example: {example}", context_settings=_HELP
    )
