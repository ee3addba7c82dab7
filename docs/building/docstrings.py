"""Docstrings as Markdown, for the reference: an example becomes a block of code, a list of parameters a list.

Docstrings are plain Markdown except for their examples, which doctest finds by `>>>`: Markdown would
take that for a quotation in a quotation; and for numpydoc's sections, whose underline would be a heading.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import Any

import griffe


def markdown(text: str) -> str:
    r"""The text with a fence around each example, and numpydoc's sections as bold names and lists.

    >>> markdown("Adds.\n\n>>> 1 + 1\n2\n\nThat is all.")
    'Adds.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nThat is all.'
    >>> print(markdown("Parameters\n----------\none, other\n    Numbers,\n    exact.\nsign\n    Its sign.\n\nEnd."))
    **Parameters**
    <BLANKLINE>
    * `one, other`: Numbers,
      exact.
    * `sign`: Its sign.
    <BLANKLINE>
    End.
    """
    return "\n".join(_fenced(_listed(inspect.cleandoc(text).splitlines())))


def _listed(lines: list[str]) -> Iterator[str]:
    """Sections as lists: a name in a line of its own, and what it means indented below it."""
    inside, name = False, ""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if following and set(following) == {"-"} and line.isidentifier():
            yield from (f"**{line}**", "")
            inside = line == "Parameters"
        elif set(line) == {"-"}:
            continue
        elif not inside or not line:
            inside = inside and bool(line)
            yield line
        elif not line.startswith(" "):
            name = line
        else:
            yield f"* `{name}`: {line.strip()}" if name else f"  {line.strip()}"
            name = ""


def _fenced(lines: Iterable[str]) -> Iterator[str]:
    inside, last = False, ""
    for line in lines:
        if not inside and line.startswith(">>> "):
            yield from ("", "```pycon") if last else ("```pycon",)
            inside = True
        elif inside and not line.strip():
            yield "```"
            inside = False
        yield line
        last = line
    if inside:
        yield "```"


class Docstrings(griffe.Extension):
    """What mkdocstrings loads."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:  # noqa: ARG002
        """Called for everything that has been read."""
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)
