"""Options made from the fields of descriptions: a field is declared once, and its option is what the field says.

Descriptions of mechanisms take half a second to load, so options may be made late: when a command is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import click

from symveil.cli.values import DELIMITER, PATH, WHOLE_NUMBER, OneOf, as_typed, option_name
from symveil.formats.sequences.columns import ColumnOptions
from symveil.parameters import File, Flag, Parameter, Several, Whole, parameters_of
from symveil.parameters import OneOf as OneWord
from symveil.tasks.parameters import RunOptions

WIDE_FORM = ("sequence", "separator", "identifier", "delimiter")
"""How a file with one sequence in a row is read."""
EVENTS = ("case", "order", "date_format", "symbol")
"""How a file with one event in a row is read."""
SIZES = ("longest", "gzip_ratio")
"""What is too large to be meant."""
ENGINE = ("engine", "master")
"""Where the work is done."""

Option = Callable[[Callable[..., Any]], Callable[..., Any]]


class _Word(click.ParamType):  # type: ignore[type-arg]  # generic in some versions of click only
    """A whole number or one of a few words."""

    name = "text"

    def __init__(self, domain: Whole) -> None:
        self._domain = domain

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, or the word."""
        del ctx
        return value if isinstance(value, int) else self._domain.read(option_name(param), value)


def option_of(parameter: Parameter, *, required: bool | None = None, kind: Any = None) -> click.Option:
    """The option that a field stands for.

    Parameters
    ----------
    parameter
        A field with an option.
    required
        Whether it must be typed; by default where the field has no default.
    kind
        Another type of click than that of the field's domain.

    >>> from symveil.tasks.parameters import RunOptions
    >>> again, engine = (option_of(each) for each in parameters_of(RunOptions, "again", "engine"))
    >>> again.opts, again.is_flag, engine.type.choices, engine.default
    (['--again'], True, ('local', 'spark'), 'local')
    """
    domain = parameter.domain
    settings: dict[str, Any] = {
        "help": as_typed(parameter.help),
        "required": parameter.required if required is None else required,
    }
    match domain:
        case Flag():
            settings["is_flag"] = True
        case OneWord(others=False):
            settings["type"] = kind or OneOf(tuple(domain.labels))
        case Whole():
            settings |= {
                "type": kind or (_Word(domain) if domain.words else WHOLE_NUMBER),
                "metavar": domain.placeholder,
            }
        case File():
            settings |= {"type": PATH, "metavar": domain.placeholder}
        case Several():
            settings |= {"multiple": True, "metavar": domain.placeholder}
        case _:
            settings |= {"type": kind, "metavar": domain.placeholder}
    if parameter.shown_default:
        default = parameter.default if isinstance(parameter.default, int) else parameter.shown_default
        settings |= {"default": default, "show_default": True}
    assert parameter.option is not None  # noqa: S101 - asked for by name
    return click.Option([parameter.option, parameter.name], **settings)


@dataclass(frozen=True)
class LateOptions:
    """Options that are made when their command is looked at."""

    make: Callable[[], list[click.Option]]


def options_of(
    kind: Callable[[], type] | type,
    *names: str,
    without: tuple[str, ...] = (),
    required: Mapping[str, bool] | None = None,
    kinds: Mapping[str, Any] | None = None,
) -> Option:
    """A decorator that gives a command the options of a description's fields, all of them or those of these names.

    Parameters
    ----------
    kind
        The description, or what imports it when the options are needed.
    names, without
        Which fields; by default all that have an option.
    required, kinds
        Of single fields: what differs from what the field says, as in `option_of`.
    """

    def make() -> list[click.Option]:
        described = kind if isinstance(kind, type) else kind()
        return [
            option_of(each, required=(required or {}).get(each.name), kind=(kinds or {}).get(each.name))
            for each in parameters_of(described, *names)
            if each.option is not None and each.name not in without
        ]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        # what click's own decorators do, which make their options at once
        memo = vars(command).setdefault("__click_params__", [])
        memo += reversed(make()) if isinstance(kind, type) else [LateOptions(make)]
        return command

    return decorate


def named_options(*names: str, required: tuple[str, ...] = ()) -> Option:
    """The options of a file's parameters of these names: of a run, of columns, or of what is counted or learned.

    Parameters
    ----------
    names
        In the order of the help.
    required
        Those of them that must be typed.
    """

    def make() -> list[click.Option]:
        declared = {each.name: each for kind in (RunOptions, ColumnOptions) for each in parameters_of(kind)}
        if not declared.keys() >= set(names):
            from symveil.tasks.count import CountOptions  # heavy
            from symveil.tasks.learn_privately import LearnOptions

            declared |= {each.name: each for kind in (CountOptions, LearnOptions) for each in parameters_of(kind)}
        kinds = {"delimiter": DELIMITER}
        return [option_of(declared[name], required=name in required, kind=kinds.get(name)) for name in names]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        vars(command).setdefault("__click_params__", []).append(LateOptions(make))
        return command

    return decorate


class Lately:
    """A part of a command: its parameters, of which some are made when they are first looked at."""

    _given: list[Any]

    @property
    def params(self) -> list[click.Parameter]:
        """All parameters."""
        if any(isinstance(each, LateOptions) for each in self._given):
            made = [each.make() if isinstance(each, LateOptions) else [each] for each in self._given]
            self._given = [option for options in made for option in options]
        return self._given

    @params.setter
    def params(self, given: list[Any]) -> None:
        self._given = given
