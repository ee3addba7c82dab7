"""What is asked about a chain or a channel as it is typed: pairs of states, labels, which inputs are related."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

from symveil.errors import InputError, ModelError, ParameterError
from symveil.formats.models.transition_tables import read_channel
from symveil.models.channel import Channel
from symveil.models.labelled_chain import LabelledChain


def read_labels(typed: tuple[str, ...]) -> dict[str, list[str]]:
    """The states of each label, from texts such as `done=4,5`."""
    named: dict[str, list[str]] = {}
    for text in typed:
        name, mark, states = text.rpartition("=")
        if not (name and mark and states):
            raise InputError(f"label: expected a label and numbers of states such as done=4,5, found {text[:40]!r}")
        named.setdefault(name, []).extend(state.strip() for state in states.split(","))
    return named


def read_pair(text: str) -> tuple[str, str]:
    r"""The two states of `S,T`; `\,` is a comma in a name and `\\` a backslash.

    >>> read_pair(r"a\,b,c")
    ('a,b', 'c')
    """
    parts = re.findall(r"((?:\\.|[^\\,])*)(?:,|$)", text)
    if not parts[-1]:
        parts = parts[:-1] if not text.endswith(",") else parts[: text.count(",") + 1]
    if len(parts) != 2:
        raise ParameterError(
            "pair", expected=r"two states S,T (a comma in a name is typed \,)", found=f"{len(parts)} of them"
        )
    first, second = (re.sub(r"\\(.)", r"\1", part) for part in parts)
    return first, second


def read_related_channel(file: Path, related: str | None, apart: str | None, notes: list[str]) -> Channel:
    """A channel, of which `related` says which inputs are related: all, numbers so far apart, or a table of pairs."""
    meant: str | Fraction | Path | None = related
    if related is not None and related != "all":
        meant = (
            Fraction(related)
            if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?(/[1-9][0-9]{0,8})?", related)
            else Path(related)
        )
    if apart is not None and not isinstance(meant, Path):
        raise InputError("apart: expected `related` with a table of pairs, found none")
    return read_channel(file, related=meant, apart="1" if apart is None else apart, notes=notes)


def require_inputs(model: Channel, pairs: list[tuple[str, str]] | None) -> None:
    """Refuse pairs that are no inputs of a channel, and a channel without any."""
    for pair in pairs or ():
        for state in pair:
            if state not in model.number:
                raise ParameterError("pair", expected="inputs of the channel", found=repr(state))
    if pairs is None and not model.related:
        raise InputError("related: expected at least one pair of related inputs, found none; say `related='all'`")


def named_pairs(
    model: LabelledChain, pairs: list[tuple[str, str]] | None, notes: list[str]
) -> list[tuple[str, str]] | None:
    """The pairs by the names of their states, which may be typed as values of variables."""
    if pairs is None and not model.related:
        raise InputError("pair: expected `pair` S,T, or related states in the chain, found none")
    try:
        return pairs and [(model.state(one, notes=notes), model.state(other, notes=notes)) for one, other in pairs]
    except ModelError as error:
        raise InputError(f"pair: {str(error).removeprefix('state: ')}") from None
