"""Options made from the fields of descriptions, and how what is typed after an option is read or refused.

A field is declared once, and its option is what the field says. Descriptions of mechanisms take half a second to load,
so options may be made late: when a command is looked at.

Everything fails in one form: what was expected, what was found. A usage message never repeats a piece of what was typed
where it could be a piece of a secret word."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symveil.errors import ParameterError

if TYPE_CHECKING:
    from symveil.parameters import Parameter, Whole

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
        from symveil.parameters import read_whole

        del ctx
        return read_whole(option_name(param), value)


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


def read_pairs(name: str, texts: tuple[str, ...], *, expected: str) -> dict[str, str]:
    """What stands before and behind the first = of each text; no name twice."""
    named: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key and equals and value) or key in named:
            raise ParameterError(name, expected=expected, found=repr(text))
        named[key] = value
    return named


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

    The command knows which option a parameter is.

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

    It must be typed where the field has no default, unless `required` says otherwise; `kind` is another type of click
    than that of the field's domain.

    >>> from symveil.parameters import parameters_of
    >>> from symveil.tasks.parameters import RunOptions
    >>> again, engine = (option_of(each) for each in parameters_of(RunOptions, "again", "engine"))
    >>> again.opts, again.is_flag, engine.type.choices, engine.default
    (['--again'], True, ('local', 'spark'), 'local')
    """
    from symveil.parameters import File, Flag, Several, Whole
    from symveil.parameters import OneOf as OneWord

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

    `kind` may be what imports the description when the options are needed. `required` and `kinds` say what differs from
    single fields, as in `option_of`.
    """

    def make() -> list[click.Option]:
        from symveil.parameters import parameters_of

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

    Names are in the order of the help.
    """

    def make() -> list[click.Option]:
        from symveil.formats.sequences.columns import ColumnOptions
        from symveil.parameters import parameters_of
        from symveil.tasks.parameters import RunOptions

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
