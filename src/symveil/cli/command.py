"""What every command is made of: a name, an example that its help shows, and commands of its own in their order."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Callable
from typing import Any

import click

from symveil.errors import InputError, ParameterError, SymveilWarning

_HELP = {"help_option_names": ["--help", "-h"]}


class Command(click.Command):
    """A command whose example stands in its help as it is typed: on one line, to be copied."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read what was typed; an error says of which command, which click's parser does not know."""
        try:
            self._refuse_repeated(ctx, args)
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def _refuse_repeated(self, ctx: click.Context, args: list[str]) -> None:
        """Refuse an option with one value that is given twice: click would take the last one without a word."""
        given = self.make_parser(ctx).parse_args(list(args))[2]
        for option in (each for each in given if isinstance(each, click.Option)):
            times = given.count(option)
            if times > 1 and not (option.multiple or option.is_flag or option.count):
                raise ParameterError(str(option.name), expected=f"{option.opts[0]} once", found=f"{times} times")

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; a long search behind a mechanism (a certificate) and a long file show how far they are."""
        from symveil.cli.output import print_notes
        from symveil.cli.progress import progress_bar
        from symveil.numbers.holder import collected, collected_notes

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
    """Make a function a command; nobody should have to guess how it is used."""
    return click.command(name, cls=Command, epilog=f"Example: {example}", context_settings=_HELP)


def group(name: str | None = None, *, example: str) -> Callable[[Callable[..., Any]], Group]:
    """Make a function a command that has commands."""
    return click.group(
        name, cls=Group, invoke_without_command=True, epilog=f"Example: {example}", context_settings=_HELP
    )
