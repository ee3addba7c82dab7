"""What is typed wrongly, said in the one form in which everything here fails: what was expected, what was found.

A usage message never repeats a piece of what was typed where it could be a piece of a secret word.
"""

from __future__ import annotations

import click

from symveil.cli.values import option_name
from symveil.errors import ParameterError

_HINT = "quote a word that has blanks, and put -- before a word that starts with a dash"


def usage_message(error: click.ClickException) -> str:
    """The one line for a complaint of the command line's parser."""
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return _missing(error.param)
    if isinstance(error, click.NoSuchOption):
        return _no_such_option(error)
    if isinstance(error, click.BadOptionUsage):
        return _with_or_without_value(error)
    if "unexpected extra argument" in error.format_message():
        return f"arguments: expected no more than the command takes, found more; {_HINT}"
    return error.format_message()


def named_as_typed(error: ParameterError) -> str:
    """A parameter's error with the parameter named as its option is typed.

    >>> named_as_typed(ParameterError("max_length", expected="a whole number", found="x"))
    'max-length: expected a whole number, found x'
    """
    return f"{error.name.replace('_', '-')}{str(error).removeprefix(error.name)}"


def _missing(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Option):
        return f"{option_name(parameter)}: expected {parameter.opts[0]} {parameter.metavar}, found none"
    return f"arguments: expected {option_name(parameter)} after the command, found none"


def _no_such_option(error: click.NoSuchOption) -> str:
    if not error.option_name.startswith("--"):
        return f"word: expected options that start with --, found another argument that starts with a dash; {_HINT}"
    path = "symveil" if error.ctx is None else error.ctx.command_path
    near = f"; perhaps {' or '.join(sorted(error.possibilities))} is meant" if error.possibilities else ""
    return f"options: expected one that {path} --help names, found {error.option_name}{near}"


def _with_or_without_value(error: click.BadOptionUsage) -> str:
    typed = error.option_name
    known = [] if error.ctx is None else [p for p in error.ctx.command.params if typed in (*p.opts, *p.secondary_opts)]
    if any(isinstance(parameter, click.Option) and parameter.is_flag for parameter in known):
        return f"{typed.lstrip('-')}: expected {typed} without a value, found one"
    return f"{typed.lstrip('-')}: expected a value after {typed}, found none"
