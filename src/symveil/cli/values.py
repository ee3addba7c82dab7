"""What can be typed after an option, refused in the same words whatever the option is.

What is typed wrongly, said in the one form in which everything here fails: what was expected, what was found.

A usage message never repeats a piece of what was typed where it could be a piece of a secret word.
"""

from __future__ import annotations

import re
from collections.abc import Container
from pathlib import Path
from typing import Any

import click

from symveil.errors import ParameterError

PATH = click.Path(path_type=Path)
"""A file or a folder. Whether it can be read or written is for its reader or writer to say."""


class OneOf(click.Choice):  # type: ignore[type-arg]  # generic in some versions of click only
    """One of a few words."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The word, if it is one of them."""
        del ctx
        if value not in self.choices:
            raise ParameterError(option_name(param), expected=f"one of {', '.join(self.choices)}", found=repr(value))
        return value


class _WholeNumber(click.ParamType):  # type: ignore[type-arg]  # as above
    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        del ctx
        try:
            return int(value)
        except ValueError:
            raise ParameterError(option_name(param), expected="a whole number", found=repr(value)) from None


WHOLE_NUMBER = _WholeNumber()


class _Step(_WholeNumber):
    """A whole number; or, with a unit of time, text for those commands that write times."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if re.fullmatch(r"\d+(ms|s|m|h|d)", str(value)) else super().convert(value, param, ctx)


STEP = _Step()


class _Delimiter(click.ParamType):  # type: ignore[type-arg]  # as above
    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        del param, ctx
        return "\t" if value in ("tab", "\\t") else str(value)


DELIMITER = _Delimiter()
"""What separates cells: a tab may be typed by its name."""


def option_name(parameter: click.Parameter | None) -> str:
    """What an error calls an option or an argument: as it is typed, without dashes.

    >>> option_name(click.Option(["--at-distance"])), option_name(click.Argument(["source"], metavar="IN"))
    ('at-distance', 'IN')
    """
    if parameter is None:
        return "option"
    if isinstance(parameter, click.Option):
        return parameter.opts[0].lstrip("-")
    return parameter.make_metavar(click.Context(click.Command(None))).strip("[]")


def read_confidence(text: str) -> float:
    """`--confidence` as it was typed."""
    try:
        return float(text)
    except ValueError:
        raise ParameterError("confidence", expected="a number between 0 and 1 such as 0.95", found=text) from None


_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_PARAMETER = re.compile(r"`(?P<name>[a-z_]+)(?:=(?P<value>[^`]*))?`")
_PLAIN = re.compile(r"[\w.:%+-]+")
_EVERYWHERE = ("--help", "--version")
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


def named_as_typed(error: ParameterError, command: click.Command | None = None) -> str:
    """A parameter's error with the parameter named as its option is typed.

    >>> named_as_typed(ParameterError("max_length", expected="a whole number", found="x"))
    'max-length: expected a whole number, found x'
    """
    return f"{_option_of(error.name, command).lstrip('-')}{str(error).removeprefix(error.name)}"


def as_typed(message: str, command: click.Command | None = None) -> str:
    """A message of the library with Python's parameters, which stand between backticks, as options are typed.

    Parameters
    ----------
    message
        An error, a warning or a note.
    command
        The command that says it: it knows which option a parameter is.

    >>> as_typed("name `person`, or say `on_unknown='drop-sequence'` or `again=True`")
    'name --person, or say --on-unknown drop-sequence or --again'
    >>> as_typed('they need `separator=""`; see `symveil opacity`')
    'they need --separator ""; see `symveil opacity`'
    """

    def typed(match: re.Match[str]) -> str:
        option, value = _option_of(match["name"], command), match["value"]
        if value in (None, "True"):
            return option
        text = "tab" if value[1:-1] == "\\t" else value[1:-1] if value[:1] in "\"'" else value
        return f"{option} {text}" if _PLAIN.fullmatch(text) else f'{option} "{text}"'

    return _PARAMETER.sub(typed, message)


def _option_of(name: str, command: click.Command | None) -> str:
    """The option that a parameter of Python is on the command line."""
    own = [] if command is None else [each for each in command.params if each.name == name]
    return next((each.opts[0] for each in own if isinstance(each, click.Option)), f"--{name.replace('_', '-')}")


def advice_for(message: str, options: Container[str]) -> str:
    """The message without advice to use options that the command does not have.

    Advice stands behind semicolons, and alternatives behind ", or". What names a command (`symveil ledger grant
    --epsilon`) is about that one.

    >>> advice_for("file: expected fewer, found more; split it, or raise --longest", {"--out"})
    'file: expected fewer, found more; split it'
    >>> advice_for("file: expected fewer, found more; raise --longest", {"--longest"})
    'file: expected fewer, found more; raise --longest'
    """
    problem, *advice = message.split("; ")
    applicable = [[way for way in clause.split(", or ") if _applies(way, options)] for clause in advice]
    return "; ".join([problem, *(", or ".join(ways) for ways in applicable if ways)])


def _applies(text: str, options: Container[str]) -> bool:
    own = re.split(r"\bsymveil [a-z]", text)[0]
    return all(option in options or option in _EVERYWHERE for option in _OPTION.findall(own))


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
