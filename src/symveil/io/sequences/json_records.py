"""A line of a JSON Lines file as a record: its members by their keys, and a value as JSON again."""

from __future__ import annotations

import json

from symveil.errors import FileError, ModelError
from symveil.io.json_text import Members, Numeral, parse_json, read_members, refuse_deep_nesting


def json_record(text: str, place: str) -> dict[str, object]:
    """The members of the object that a line spells; messages show nothing of it.

    >>> json_record('{"who": "x", "where": ["a", "b"]}', "line 1")["where"]
    ['a', 'b']
    >>> json_record('["a"]', "line 2")
    Traceback (most recent call last):
    symveil.errors.FileError: line 2: expected a JSON object, found another value
    """
    refuse_deep_nesting(text, where=place)
    record = parse_json(text, where=place)
    if "\\ud" in text.lower():  # halves of characters, which make one only in pairs
        try:
            (raw_json(record) or "").encode()
        except UnicodeEncodeError:
            raise FileError(
                place, expected="text of whole characters", found="half of one (a lone \\ud800 to \\udfff)"
            ) from None
    if not isinstance(record, Members):
        raise FileError(place, expected="a JSON object", found="another value")
    try:
        return read_members(record, where=place, expected="an object")
    except ModelError:  # its message names the key, which is the file's business
        raise FileError(place, expected="each key once", found="one again") from None


def raw_json(value: object) -> str | None:
    """A parsed value as JSON again; null as nothing."""
    if value is None:
        return None
    if isinstance(value, Numeral):
        return value.text
    if isinstance(value, Members):
        pairs = (f"{json.dumps(key, ensure_ascii=False)}: {raw_json(item) or 'null'}" for key, item in value.pairs)
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(raw_json(item) or 'null' for item in value)}]"
    return json.dumps(value, ensure_ascii=False)
