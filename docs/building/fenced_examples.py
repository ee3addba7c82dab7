"""Examples in docstrings, for the reference: a doctest becomes a block of code.

Docstrings are plain Markdown except for their examples, which doctest finds by `>>>`: Markdown would
take that for a quotation in a quotation.
"""

from __future__ import annotations

import inspect
from typing import Any

import griffe


def fenced(text: str) -> str:
    """The text with a fence around each example.

    >>> fenced("Adds.\\n\\n>>> 1 + 1\\n2\\n\\nThat is all.")
    'Adds.\\n\\n```pycon\\n>>> 1 + 1\\n2\\n```\\n\\nThat is all.'
    """
    lines: list[str] = []
    inside = False
    for line in inspect.cleandoc(text).splitlines():
        if not inside and line.startswith(">>> "):
            if lines and lines[-1]:
                lines.append("")
            lines.append("```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    if inside:
        lines.append("```")
    return "\n".join(lines)


class FencedExamples(griffe.Extension):
    """What mkdocstrings loads."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:  # noqa: ARG002
        """Called for everything that has been read."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
