"""Whether a document is as a JSON schema says: the part of JSON Schema (2020-12) that our own schemas use.

Anything else in a schema is refused, so that no rule is passed over in silence. The library `jsonschema` is not used:
it and what it stands on are five packages more, and its errors would have to be put into our one line each again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any

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

    Parameters
    ----------
    document
        As JSON is read.
    schema
        As JSON is read.

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
                yield from _faults(inner, rule, f"{at}.{name[:_LONGEST_SHOWN]}", root)


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


_LONGEST_SHOWN = 60
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
