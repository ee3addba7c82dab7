"""Words that explain nothing, as names and in sentences, with the exceptions that are allowed and the reason of each.

`names_in(source)`, `sentences_in(source)` (docstrings) and `strings_in(source)` (every text: messages and help too) say
where Python code has such words; `words_in(text)` is for any prose (a page of the docs, a docstring, a message). Import
them from here: there is one list.

>>> [str(each) for each in names_in("def nobody(told):\\n    place = told\\n")]
["1: the name 'nobody' (name the actor)", "1: the name 'told' (document, manifest or report)",
 "2: the name 'place' (path, row, index, position or location)"]
>>> [str(each) for each in words_in("It is told whoever listens.")]
["1: 'told' (reported, shown or given)", "1: 'whoever' (name the actor)"]
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

NAMES: Mapping[str, str] = {
    "told": "document, manifest or report",
    "found": "result, match or the thing itself",
    "place": "path, row, index, position or location",
    "heard": "progress callback",
    "kept": "cached, stored or remaining",
    "asked": "requested or options",
    "said": "text, notes or document",
    "nobody": "name the actor",
    "whoever": "name the actor",
    "hope": "prospect or candidate",
    "aside": "temporary",
}
"""A word of a name (between underscores, plural or not), and what to write instead."""

SENTENCES: Mapping[str, str] = {
    "told": "reported, shown or given",
    "whoever": "name the actor",
    "nobody": "name the actor",
    "somebody": "name the actor",
    "is said": "name the actor and the thing",
    "worked out": "computed",
    "for want of": "without",
    "the house": "the code",
    "gone on with": "resumed",
    "who sees it": "name the actor: the attacker, the analyst",
    "likes": "prefers, or say the number",
}
"""A word of a sentence, and what to write instead."""

ALLOWED_NAMES: Mapping[str, str] = {
    "places": "the option --places and the parameter of the public functions: coordinates of symbols (contract)",
    "places_out": "the option --places-out (contract)",
    "places_text": "the file of --places (contract)",
    "read_places": "a public name: it reads the file of --places (contract)",
    "from_places": "a public constructor: costs from the coordinates of --places (contract)",
    "worst_found": "a key of JSON documents, and the field that has it (contract)",
    "kept_columns": "the columns of --keep, under the key `kept` of manifests (contract)",
    "FileNotFoundError": "Python's",
    "ModuleNotFoundError": "Python's",
}
"""A name that stays, and why."""

ALLOWED_IN: Mapping[tuple[str, str], str] = {
    ("examples/millford.py", "place"): "a town has places: houses, shops and offices on a map",
    ("models/channel.py", "asked"): "a parameter of a public method, `pairs(asked)` (contract)",
    ("models/labelled_chain.py", "asked"): "the same parameter",
    ("verification/privacy_verdict.py", "asked"): "a field of a public result, `PrivacyVerdict.asked` (contract)",
    ("verification/opacity/estimators.py", "asked"): "a field that public questions have (contract)",
    ("verification/audit.py", "kept"): "a field of a public result, `LossAtDistance.kept` (contract)",
}
"""A file below `src/symveil` in which a word may stand, and why."""

PARAMETER_OF_ERRORS = "found"
"""Allowed as a parameter: errors say 'expected …, found …', and take both by name in 860 calls."""

_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SENTENCES = re.compile(rf"\b({'|'.join(SENTENCES)})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class BadWord:
    """A word that explains nothing: its line, where it stands, the word, and what to write instead."""

    line: int
    where: str
    word: str
    instead: str

    def __str__(self) -> str:
        return f"{self.line}: {self.where}{self.word!r} ({self.instead})"


def bad_part(name: str) -> str | None:
    """The part of a name that explains nothing; None where all of them do, or the name is allowed.

    >>> bad_part("kept_rate"), bad_part("FoundPair"), bad_part("finder"), bad_part("placed"), bad_part("row_places")
    ('kept', 'found', None, None, 'place')
    """
    if name in ALLOWED_NAMES:
        return None
    parts = (part.lower() for part in _PARTS.findall(name))
    return next((word for part in parts for word in NAMES if part in (word, f"{word}s")), None)


def _bound(node: ast.AST) -> Iterator[str]:
    """The names that a node gives to something."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.attr


def names_in(source: str, *, file: str = "") -> list[BadWord]:
    """Definitions, parameters, variables and attributes of Python code whose names explain nothing.

    Parameters
    ----------
    source
        The code.
    file
        Its path below `src/symveil`: a few files may use some of the words.
    """
    bad = []
    for node in ast.walk(ast.parse(source)):
        for name in _bound(node):
            part = bad_part(name)
            if isinstance(node, ast.arg) and name == PARAMETER_OF_ERRORS:
                continue
            if part is not None and (file, part) not in ALLOWED_IN:
                bad.append(BadWord(getattr(node, "lineno", 0), "the name ", name, NAMES[part]))
    return sorted(bad, key=lambda each: each.line)


def words_in(text: str, *, first_line: int = 1) -> list[BadWord]:
    """The words of a text that are a riddle to its readers.

    Parameters
    ----------
    text
        Prose: a page, a docstring, a message.
    first_line
        The line of a file on which it begins.
    """
    return [
        BadWord(first_line + number, "", match[0], SENTENCES[match[0].lower()])
        for number, line in enumerate(text.splitlines())
        for match in _SENTENCES.finditer(line)
    ]


def sentences_in(source: str) -> list[BadWord]:
    """The riddles in the docstrings of Python code."""
    bad = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                bad += words_in(first.value.value, first_line=first.lineno)
    return sorted(bad, key=lambda each: each.line)


def strings_in(source: str) -> list[BadWord]:
    """The riddles in every text of Python code: messages, help, labels, docstrings of values and of functions.

    A string without a blank is a name or a key, not a text. A text in pieces is looked at in pieces.
    """
    bad = [
        each
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
        for each in words_in(node.value, first_line=node.lineno)
    ]
    return sorted(bad, key=lambda each: each.line)
