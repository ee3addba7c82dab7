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


def list_of(kind: type, *, taken_by: Callable[[str], tuple[str, ...]] | None = None) -> str:
    """The fields of a description as a list, in Markdown; what an option means, its command and docstrings say.

    A line has the name, the option where it is not the name with dashes, the label in a form, the default, who looks at
    it, and the meaning of what has no option.

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
    >>> print(list_of(Walk), end="")
    * `steps`: *Steps*; 2.
    """
    lines = []
    for each in parameters_of(kind):
        takers = () if taken_by is None else taken_by(each.name)
        only = f"Only {', '.join(takers)}." if takers else ""
        facts = [f"*{each.label}*", _default(each)]
        if each.option != f"--{each.name.replace('_', '-')}":
            facts.insert(0, f"`{each.option}`" if each.option else "no option")
        notes = [f"{each.help} {each.more}".strip() if each.option is None else "", only]
        lines.append(" ".join(filter(None, [f"* `{each.name}`: {'; '.join(filter(None, facts))}.", *notes])))
    return "".join(f"{line}\n" for line in lines)


def _default(each: Parameter) -> str:
    if each.required:
        return "required"
    return each.shown_default
