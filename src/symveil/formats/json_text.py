"""JSON as it was written: numbers keep their spelling, repeated keys are noticed, nesting is bounded."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from symveil.errors import FileError, ModelError
from symveil.models.names import shown

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Numeral:
    """A JSON number as it is spelled: nothing is rounded, and nothing huge is computed."""

    text: str


@dataclass(frozen=True, slots=True)
class Members:
    """A JSON object as its keys and values in order, repeated keys included."""

    pairs: list[tuple[str, object]]


class _NoNumberError(Exception):
    """`NaN` and its like, which Python's parser takes and JSON does not have."""


def _no_number(text: str) -> object:
    raise _NoNumberError(text)


_DEEPEST = 100
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{\]}]', re.DOTALL)

# Probabilities repeat: one object for each spelling keeps large files small in memory.
_numeral = lru_cache(maxsize=4096)(Numeral)

_decoder = json.JSONDecoder(
    object_pairs_hook=Members, parse_float=_numeral, parse_int=_numeral, parse_constant=_no_number
)


def parse_json(text: str, *, where: str) -> object:
    """The value of a JSON text: None, bool, str, list, `Numeral` or `Members`. Errors show no content.

    >>> parse_json('{"p": [0.10, 1e999999999]}', where="x.json")
    Members(pairs=[('p', [Numeral(text='0.10'), Numeral(text='1e999999999')])])
    """
    try:
        return _decoder.decode(text)
    except json.JSONDecodeError as error:
        actual = f"{error.msg[0].lower()}{error.msg[1:]} at line {error.lineno}, column {error.colno}"
    except _NoNumberError as error:
        actual = f"{error}, which is no JSON number"
    except RecursionError:
        actual = "values nested too deeply"
    raise FileError(where, expected="JSON", found=actual)


def refuse_deep_nesting(text: str, *, where: str) -> None:
    """Refuse a text whose values are nested deeper than anybody writes by hand; what is no JSON passes.

    For texts whose values are walked through level by level afterwards: Python's own limit comes later and depends
    on who is calling.

    >>> refuse_deep_nesting("[" * 101, where="x.json")
    Traceback (most recent call last):
    symveil.errors.FileError: x.json: expected JSON nested at most 100 deep, found more
    """
    if text.count("[") + text.count("{") <= _DEEPEST:
        return
    depth = 0
    for piece in _STRING_OR_BRACKET.finditer(text):
        if piece[0] in "[{":
            depth += 1
            if depth > _DEEPEST:
                raise FileError(where, expected=f"JSON nested at most {_DEEPEST} deep", found="more")
        elif piece[0] in "]}":
            depth -= 1


def described(value: object) -> str:
    """A JSON value for a message, in JSON's words: short, and on one line.

    >>> described(None), described(["a"]), described(Numeral("0.5")), described("a")
    ('null', 'an array of 1', '0.5', "'a'")
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"an array of {len(value)}"
    if isinstance(value, Members):
        return "an object"
    if isinstance(value, Numeral):
        return value.text if len(value.text) <= 40 else f"{value.text[:40]}…"
    return shown(value)


def require(value: object, kind: type[Value], *, where: str, expected: str) -> Value:
    """`value`, if it is of that JSON type; refused at its place otherwise."""
    if not isinstance(value, kind):
        raise ModelError(where, expected=expected, found=described(value))
    return value


def read_members(value: object, *, where: str, expected: str) -> dict[str, object]:
    """The members of a JSON object by their keys; a repeated key is refused."""
    members: dict[str, object] = {}
    for key, member in require(value, Members, where=where, expected=expected).pairs:
        if key in members:
            raise ModelError(member_path(where, key), expected="each key once", found="it again")
        members[key] = member
    return members


def require_keys(
    members: dict[str, object], *, required: Collection[str], optional: Collection[str], where: str
) -> None:
    """Refuse missing and unknown keys."""
    for key in required:
        if key not in members:
            raise ModelError(where, expected=f"the key {key!r}", found="none")
    for key in members:
        if key not in required and key not in optional:
            known = ", ".join((*required, *optional))
            raise ModelError(member_path(where, key), expected=f"one of the keys {known}", found="another one")


def member_path(where: str, key: str) -> str:
    """The JSON path of a member.

    >>> member_path("$", "initial"), member_path("$", "two words")
    ('$.initial', "$['two words']")
    """
    return f"{where}.{key}" if key.isidentifier() and len(key) <= 40 else f"{where}[{shown(key)}]"
