"""JSON as it was written: numbers keep their spelling, repeated keys are noticed, nesting is bounded.

Whether a document is as a JSON schema says: the part of JSON Schema (2020-12) that our own schemas use.

Anything else in a schema is refused, so that no rule is passed over in silence. The library `jsonschema` is not used:
it and what it stands on are five packages more, and its errors would have to be put into our one line each again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, TypeVar

from symveil.errors import FileError, ModelError
from symveil.formats.limits import LIMITS
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


_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{\]}]', re.DOTALL)

# Probabilities repeat: one object for each spelling keeps large files small in memory.
_numeral = lru_cache(maxsize=4096)(Numeral)

_decoder = json.JSONDecoder(
    object_pairs_hook=Members, parse_float=_numeral, parse_int=_numeral, parse_constant=_no_number
)
_plain_decoder = json.JSONDecoder(parse_constant=_no_number)


def parse_json(text: str, *, where: str, is_line: bool = False) -> object:
    """The value of a JSON text: None, bool, str, list, `Numeral` or `Members`. Errors show no content.

    With `is_line` the text is one line, which `where` names.

    >>> parse_json('{"p": [0.10, 1e999999999]}', where="x.json")
    Members(pairs=[('p', [Numeral(text='0.10'), Numeral(text='1e999999999')])])
    """
    return _decoded(_decoder, text, where, is_line=is_line)


def plain_json(text: str, *, where: str) -> Any:
    """The value of a JSON text in Python's own types: what we wrote, or what is checked value by value afterwards.

    >>> plain_json('{"p": [0.10]}', where="x.json")
    {'p': [0.1]}
    """
    return _decoded(_plain_decoder, text, where, is_line=False)


def _decoded(decoder: json.JSONDecoder, text: str, where: str, *, is_line: bool) -> object:
    _refuse_deep_nesting(text, where=where)
    try:
        return decoder.decode(text)
    except json.JSONDecodeError as error:
        problem = f"{error.msg[0].lower()}{error.msg[1:].removesuffix(' at')}"
        actual = f"{problem} at {'' if is_line else f'line {error.lineno}, '}column {error.colno}"
    except _NoNumberError as error:
        actual = f"{error}, which is no JSON number"
    except ValueError:  # a whole number of thousands of digits
        actual = "an enormous number"
    raise FileError(where, expected="JSON", found=actual)


def _refuse_deep_nesting(text: str, *, where: str) -> None:
    """Refuse a text whose values are nested deeper than anybody writes by hand; what is no JSON passes.

    Values are walked through level by level afterwards, and Python's own limit depends on who is calling.

    >>> _refuse_deep_nesting("[" * 101, where="x.json")
    Traceback (most recent call last):
    symveil.errors.FileError: x.json: expected JSON nested at most 100 deep, found more
    """
    if text.count("[") + text.count("{") <= LIMITS.now.nesting:
        return
    depth = 0
    for piece in _STRING_OR_BRACKET.finditer(text):
        if piece[0] in "[{":
            depth += 1
            if depth > LIMITS.now.nesting:
                raise FileError(where, expected=f"JSON nested at most {LIMITS.now.nesting} deep", found="more")
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


Schema = dict[str, Any]

_SAYS_NOTHING = {"$schema", "$defs", "title", "description"}
_IS: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
    ),
}


@cache
def shipped_schema(name: str) -> Schema:
    """One of our schemas: "manifest" or "central".

    >>> shipped_schema("manifest")["properties"]["format"]["enum"]
    ['symveil-manifest/2', 'symveil-manifest/3']
    """
    text = files("symveil.formats").joinpath("schemas", f"{name}.schema.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def first_fault(document: object, schema: Schema) -> str | None:
    """Where a document is not as a schema says, and what is expected there; None where it is.

    >>> first_fault({"n": -1}, {"type": "object", "properties": {"n": {"minimum": 0}}})
    '$.n: expected at least 0'
    """
    return next(_faults(document, schema, "$", schema), None)


def _faults(value: Any, schema: Schema | bool, at: str, root: Schema) -> Iterator[str]:
    if isinstance(schema, bool):
        if not schema:
            yield f"{at}: expected nothing of that name"
        return
    for keyword, rule in schema.items():
        if keyword in _SAYS_NOTHING or keyword == "then":  # beside `if`
            continue
        if keyword not in _RULES:
            raise ValueError(f"a schema with the keyword {keyword}, which is not known here")
        yield from _RULES[keyword](value, rule, at, root, schema)


def _reference(value: Any, rule: str, at: str, root: Schema, _: Schema) -> Iterator[str]:
    yield from _faults(value, root["$defs"][rule.removeprefix("#/$defs/")], at, root)


def _type(value: Any, rule: str | list[str], at: str, _root: Schema, _: Schema) -> Iterator[str]:
    kinds = [rule] if isinstance(rule, str) else rule
    if not any(_IS[kind](value) for kind in kinds):
        yield f"{at}: expected {' or '.join(kinds)}"


def _one_of(value: Any, rule: list[Any], at: str, _root: Schema, _: Schema) -> Iterator[str]:
    if json.dumps(value, sort_keys=True) not in {json.dumps(each, sort_keys=True) for each in rule}:
        yield f"{at}: expected {' or '.join(json.dumps(each) for each in rule)}"


def _pattern(value: Any, rule: str, at: str, _root: Schema, _: Schema) -> Iterator[str]:
    if isinstance(value, str) and re.search(rule, value) is None:
        yield f"{at}: expected another form of text"


def _bound(holds: Callable[[Any, Any], bool], words: str) -> Callable[..., Iterator[str]]:
    def check(value: Any, rule: Any, at: str, _root: Schema, _: Schema) -> Iterator[str]:
        if _IS["number"](value) and not holds(value, rule):
            yield f"{at}: expected {words} {rule}"

    return check


def _count(holds: Callable[[int, int], bool], words: str) -> Callable[..., Iterator[str]]:
    def check(value: Any, rule: int, at: str, _root: Schema, _: Schema) -> Iterator[str]:
        if isinstance(value, list) and not holds(len(value), rule):
            yield f"{at}: expected {words} {rule} items"

    return check


def _required(value: Any, rule: list[str], at: str, _root: Schema, _: Schema) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (f"{at}.{name}: expected it to be there" for name in rule if name not in value)


def _properties(value: Any, rule: Schema, at: str, root: Schema, _: Schema) -> Iterator[str]:
    if isinstance(value, dict):
        for name, each in rule.items():
            if name in value:
                yield from _faults(value[name], each, f"{at}.{name}", root)


def _others(value: Any, rule: Schema | bool, at: str, root: Schema, schema: Schema) -> Iterator[str]:
    if isinstance(value, dict):
        known = schema.get("properties", {})
        for name, inner in value.items():
            if name not in known:
                yield from _faults(inner, rule, f"{at}.{name[:60]}", root)


def _items(value: Any, rule: Schema, at: str, root: Schema, _: Schema) -> Iterator[str]:
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _faults(each, rule, f"{at}[{index}]", root)


def _all_of(value: Any, rule: list[Schema], at: str, root: Schema, _: Schema) -> Iterator[str]:
    for each in rule:
        yield from _faults(value, each, at, root)


def _any_of(value: Any, rule: list[Schema], at: str, root: Schema, _: Schema) -> Iterator[str]:
    if all(next(_faults(value, each, at, root), None) is not None for each in rule):
        yield f"{at}: expected one of {len(rule)} forms"


def _if(value: Any, rule: Schema, at: str, root: Schema, schema: Schema) -> Iterator[str]:
    if next(_faults(value, rule, at, root), None) is None:
        yield from _faults(value, schema.get("then", True), at, root)


_RULES: dict[str, Callable[..., Iterator[str]]] = {
    "$ref": _reference,
    "type": _type,
    "enum": _one_of,
    "const": lambda value, rule, *rest: _one_of(value, [rule], *rest),
    "pattern": _pattern,
    "minimum": _bound(lambda value, rule: value >= rule, "at least"),
    "exclusiveMinimum": _bound(lambda value, rule: value > rule, "more than"),
    "exclusiveMaximum": _bound(lambda value, rule: value < rule, "less than"),
    "minItems": _count(lambda count, rule: count >= rule, "at least"),
    "maxItems": _count(lambda count, rule: count <= rule, "at most"),
    "required": _required,
    "properties": _properties,
    "additionalProperties": _others,
    "items": _items,
    "allOf": _all_of,
    "anyOf": _any_of,
    "if": _if,
}
