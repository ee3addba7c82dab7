"""Functions that take a description as an object, or its fields by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from symveil.errors import ParameterError
from symveil.parameters.declaration import plain_default

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
