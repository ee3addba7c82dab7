"""What can be typed after an option, refused in the same words whatever the option is."""

from __future__ import annotations

import re
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


class _MechanismName(OneOf):
    """The name of a mechanism. The names are asked for when needed: mechanisms take half a second to load."""

    def __init__(self) -> None:
        self.case_sensitive = True

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]  # click has a variable
        """The names of all mechanisms, "auto" first."""
        from symveil.mechanisms.registry import names

        return names()


MECHANISM_NAME = _MechanismName()


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
