"""Parameters declared once, as fields of frozen dataclasses, and what is made of them.

A description is a frozen dataclass such as `MechanismChoice`. Its fields say their help, their label and what may be
given for them; they are the one source of the options of commands, the fields of forms, the schema of documents, the
tables of the documentation and the parameters of functions. A room declares its own parameters with this module."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, TypeVar

from symveil.errors import ParameterError

_KEY = "parameter"
_WIDTH = 112


# --- numbers as they are typed, after an option or in a form --------------------------------------


def read_whole(name: str, text: str, *, expected: str = "a whole number") -> int:
    """A whole number.

    >>> read_whole("count", " 12 ")
    12
    """
    try:
        return int(text)
    except ValueError:
        raise ParameterError(name, expected=expected, found=repr(text)) from None


_RANGE = re.compile(r"(\d{1,7})(?:\.\.(\d{1,7}))?")


def read_range(name: str, text: str | None, *, expected: str) -> tuple[int, int]:
    """A number N, or two as N..M.

    >>> read_range("lengths", "2..5", expected="two lengths"), read_range("lengths", "7", expected="two lengths")
    ((2, 5), (7, 7))
    """
    match = _RANGE.fullmatch(text or "")
    if match is None:
        raise ParameterError(name, expected=expected, found="none" if text is None else repr(text))
    return int(match[1]), int(match[2] or match[1])


def read_confidence(text: str) -> float:
    """How often an interval covers."""
    try:
        return float(text)
    except ValueError:
        raise ParameterError("confidence", expected="a number between 0 and 1 such as 0.95", found=text) from None


# --- what is declared -----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Domain:
    """Any text; the other kinds are subclasses.

    >>> Domain(placeholder="COL").schema(), Domain().read("person", "rider")
    ({'type': 'string'}, 'rider')
    """

    placeholder: str = "TEXT"
    """What stands for a value in usages."""
    kind: ClassVar[str] = "string"

    def schema(self) -> dict[str, Any]:
        """What JSON documents have for a value: a part of a JSON schema."""
        return {"type": self.kind}

    def read(self, name: str, text: str) -> Any:
        """The value that a text means; the description itself refuses what is outside of the domain."""
        del name
        return text


@dataclass(frozen=True, kw_only=True, slots=True)
class Exact(Domain):
    """A number that is kept as it was typed: a decimal or a fraction.

    >>> Exact(placeholder="E").schema()
    {'type': ['string', 'number']}
    """

    def schema(self) -> dict[str, Any]:
        """Text, in which every fraction can be written, or a number."""
        return {"type": ["string", "number"]}


@dataclass(frozen=True, kw_only=True, slots=True)
class Whole(Domain):
    """A whole number, or one of a few words.

    >>> Whole(least=1, words=("all",)).schema()
    {'anyOf': [{'type': 'integer', 'minimum': 1}, {'enum': ['all']}]}
    >>> Whole(least=1, words=("all",)).read("adjacency", "all"), Whole().read("cutoff", "3")
    ('all', 3)
    """

    placeholder: str = "N"
    least: int = 0
    words: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        """An integer, or a word."""
        number = {"type": "integer", "minimum": self.least}
        return {"anyOf": [number, {"enum": list(self.words)}]} if self.words else number

    def read(self, name: str, text: str) -> int | str:
        """The number, or the word."""
        also = "".join(f', {self.least} or more, or "{word}"' for word in self.words)
        return text if text in self.words else read_whole(name, text, expected=f"a whole number{also}")


@dataclass(frozen=True, kw_only=True, slots=True)
class OneOf(Domain):
    """One of a few words, each with the label that a form shows; where `others` says so, other texts too.

    >>> OneOf(labels={"tight": "spends all of ε", "classic": "the papers' rate"}).schema()
    {'enum': ['tight', 'classic']}
    """

    labels: Mapping[str, str]
    others: bool = False

    def schema(self) -> dict[str, Any]:
        """The words, or text."""
        return {"type": "string"} if self.others else {"enum": list(self.labels)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Flag(Domain):
    """Yes or no.

    >>> Flag().read("balanced", "yes"), Flag().read("balanced", "no")
    (True, False)
    """

    kind: ClassVar[str] = "boolean"

    def read(self, name: str, text: str) -> bool:
        """Whether it is set: a form says yes or no."""
        if text not in ("yes", "no"):
            raise ParameterError(name, expected="yes or no", found=repr(text))
        return text == "yes"


@dataclass(frozen=True, kw_only=True, slots=True)
class File(Domain):
    """A file to read or to write."""

    placeholder: str = "FILE"


@dataclass(frozen=True, kw_only=True, slots=True)
class Table(Domain):
    """An object of Python that is an object in JSON."""

    kind: ClassVar[str] = "object"


@dataclass(frozen=True, kw_only=True, slots=True)
class Several(Domain):
    """Texts; an option that may be repeated."""

    def schema(self) -> dict[str, Any]:
        """A list of texts."""
        return {"type": "array", "items": {"type": "string"}}


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """A field of a description, with everything that is made of it."""

    name: str
    help: str
    """One or two sentences: for options, forms, schemas and docstrings. Parameters stand between backticks."""
    more: str
    """What only those who write programs want to know besides."""
    label: str
    """A few words for a form."""
    domain: Domain
    option: str | None
    """The option of the command line; None where it has none of its own."""
    default: Any
    """The default; `MISSING` where there is none."""

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is MISSING

    @property
    def shown_default(self) -> str:
        """The default as it is typed; empty where there is none, or none that can be typed."""
        if self.default in (None, MISSING, ()) or isinstance(self.default, bool):
            return ""
        return str(self.default)

    def schema(self) -> dict[str, Any]:
        """The part of a JSON schema that is about this field."""
        own = self.domain.schema()
        if self.default is None:
            own = {"anyOf": [own, {"type": "null"}]}
        return own | {"description": self.help.replace("`", "")}

    def read(self, text: str) -> Any:
        """The value of a text; the default where a form was left empty."""
        return self.domain.read(self.name, text) if text or self.required else self.default


def declared(
    help: str, *, label: str, domain: Domain, more: str = "", option: str | None = ""
) -> dict[str, Mapping[str, Any]]:
    """The metadata of a field: `field(default=…, metadata=declared(…))`.

    Parameters
    ----------
    help, label, domain, more
        As in `Parameter`.
    option
        The option of the command line; by default named as the field is; None: there is none.

    >>> from dataclasses import field
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Walk:
    ...     steps: int = field(default=2, metadata=declared("How many steps.", label="Steps", domain=Whole()))
    >>> [(each.name, each.option, each.default) for each in parameters_of(Walk)]
    [('steps', '--steps', 2)]
    """
    return {_KEY: {"help": help, "label": label, "domain": domain, "more": more, "option": option}}


def parameters_of(kind: type, *names: str) -> tuple[Parameter, ...]:
    """The parameters that the fields of a description declare, in their order; or those of these names, in theirs."""
    every = {each.name: _parameter(each) for each in fields(kind) if _KEY in each.metadata}
    return tuple(every[name] for name in names) if names else tuple(every.values())


def _parameter(each: Field[Any]) -> Parameter:
    declared_as = dict(each.metadata[_KEY])
    if declared_as["option"] == "":
        declared_as["option"] = f"--{each.name.replace('_', '-')}"
    return Parameter(name=each.name, default=each.default, **declared_as)


Kind = TypeVar("Kind", bound=type)


def listing_fields(kind: Kind) -> Kind:
    """The class, its docstring with a section that lists the fields: what each declares stands nowhere else.

    >>> from dataclasses import field
    >>> @listing_fields
    ... @dataclass(frozen=True, kw_only=True)
    ... class Walk:
    ...     '''A walk.'''
    ...     steps: int = field(default=2, metadata=declared("How many steps.", label="Steps", domain=Whole()))
    >>> print(Walk.__doc__)
    A walk.
    <BLANKLINE>
    Parameters
    ----------
    steps
        How many steps.
    """
    summary, blank, rest = textwrap.dedent(_unindented(kind.__doc__ or "")).partition("\n\n>>>")
    lines = ["Parameters", "----------"]
    for each in parameters_of(kind):
        text = f"{each.help} {each.more}".strip()
        indent = " " * 4
        lines += [each.name, textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=indent)]
    kind.__doc__ = "\n".join([summary.rstrip(), "", *lines]) + blank + rest
    return kind


def _unindented(text: str) -> str:
    """A docstring whose first line stands at the margin, as the others do."""
    first, line_end, others = text.partition("\n")
    return first + line_end + textwrap.dedent(others)


def plain_default(value: object) -> object:
    """A default as a signature shows it: a whole fraction as an integer."""
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value


# --- functions that take a description as an object, or its fields by name ----------------------

Described = TypeVar("Described")
Function = TypeVar("Function", bound=Callable[..., Any])


def described(kind: type[Described], given: Described | None, named: dict[str, Any], *, name: str) -> Described:
    """The object that was given as the parameter `name`, or the one that the named fields make.

    `named` has parameters of this description and of others; those of this one are taken out of it.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Walk:
    ...     steps: int = 2
    >>> described(Walk, None, {"steps": 3}, name="walk"), described(Walk, Walk(), {}, name="walk")
    (Walk(steps=3), Walk(steps=2))
    """
    known = {each.name for each in fields(kind)}  # type: ignore[arg-type]  # a dataclass
    own = {key: named.pop(key) for key in list(named) if key in known}
    if given is None:
        return kind(**own)
    if not isinstance(given, kind):
        raise ParameterError(name, expected=f"a {kind.__name__}", found=f"a {type(given).__name__}")
    if own:
        raise ParameterError(next(iter(own)), expected=f"it inside {name}, which was given", found="both")
    return given


def check_names(function: str, types: type, named: Mapping[str, Any], *, without: Iterable[str] = ()) -> None:
    """Refuse names that a function does not take, as Python does."""
    taken = set(types.__annotations__) - set(without)
    unknown = next((name for name in named if name not in taken), None)
    if unknown is not None:
        raise TypeError(f"{function}() got an unexpected keyword argument {unknown!r}")


def shows_fields(
    *kinds: type, types: type, first: tuple[str, ...], last: tuple[str, ...] = (), without: tuple[str, ...] = ()
) -> Callable[[Function], Function]:
    """Let a function's signature list the fields of descriptions that it takes by name, some first and some last.

    Their types are those of `types`, the dictionary that the function takes them as; it takes none of `without`.
    """

    def decorate(function: Function) -> Function:
        plain = inspect.signature(function)
        own = {name: each for name, each in plain.parameters.items() if each.kind is not each.VAR_KEYWORD}
        taken = {
            each.name: inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if each.default is MISSING else plain_default(each.default),
                annotation=types.__annotations__[each.name].__forward_arg__,
            )
            for kind in kinds
            for each in fields(kind)
            if each.name in types.__annotations__ and each.name not in without
        }
        positional = [each for each in own.values() if each.kind is not each.KEYWORD_ONLY]
        by_name = {name: each for name, each in own.items() if each.kind is each.KEYWORD_ONLY}
        everything = taken | by_name
        ends = [[everything.pop(name) for name in names] for names in (first, last)]
        ordered = [*ends[0], *everything.values(), *ends[1]]
        function.__signature__ = plain.replace(parameters=[*positional, *ordered])  # type: ignore[attr-defined]
        return function

    return decorate


# --- schemas, for documents ---------------------------------------------------------------------


def schema_of(kind: type, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """What a JSON schema says about the fields of a description in a document: one entry for each.

    Parameters
    ----------
    kind
        The description.
    without
        Fields that its document does not have.

    >>> from dataclasses import dataclass, field
    >>> from symveil.parameters import Whole, declared
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Walk:
    ...     steps: int = field(default=2, metadata=declared("How many steps.", label="Steps", domain=Whole()))
    >>> schema_of(Walk)
    {'steps': {'type': 'integer', 'minimum': 0, 'description': 'How many steps.'}}
    """
    return {each.name: each.schema() for each in parameters_of(kind) if each.name not in without}
