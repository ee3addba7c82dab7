"""Schemas and tables of the fields of descriptions, for documents and for the documentation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symveil.parameters.declaration import Parameter, parameters_of


def schema_of(kind: type, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """What a JSON schema says about the fields of a description in a document: one entry for each.

    Parameters
    ----------
    kind
        The description.
    without
        Fields that its document does not have.

    >>> from dataclasses import dataclass, field
    >>> from symveil.parameters.declaration import Whole, declared
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Walk:
    ...     steps: int = field(default=2, metadata=declared("How many steps.", label="Steps", domain=Whole()))
    >>> schema_of(Walk)
    {'steps': {'type': 'integer', 'minimum': 0, 'description': 'How many steps.'}}
    """
    return {each.name: each.schema() for each in parameters_of(kind) if each.name not in without}


def table_of(kind: type, *, taken_by: Callable[[str], tuple[str, ...]] | None = None) -> str:
    """A table of the fields of a description, in Markdown; what an option means, its command says.

    Parameters
    ----------
    kind
        The description.
    taken_by
        Which mechanisms look at a parameter; empty: all.

    >>> from dataclasses import dataclass, field
    >>> from symveil.parameters.declaration import Whole, declared
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Walk:
    ...     steps: int = field(default=2, metadata=declared("How many steps.", label="Steps", domain=Whole()))
    >>> print(table_of(Walk).splitlines()[-1])
    | `steps` | `--steps` | Steps | 2 |  |
    """
    heads = ["parameter", "option", "in a form", "default", "note"]
    rows = [heads, ["---"] * len(heads)]
    for each in parameters_of(kind):
        takers = () if taken_by is None else taken_by(each.name)
        only = f"Only {', '.join(takers)}." if takers else ""
        notes = [each.help if each.option is None else "", each.more, only]
        option = f"`{each.option}`" if each.option else ""
        rows.append([f"`{each.name}`", option, each.label, _default(each), " ".join(filter(None, notes))])
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in rows)


def _default(each: Parameter) -> str:
    if each.required:
        return "required"
    return each.shown_default
