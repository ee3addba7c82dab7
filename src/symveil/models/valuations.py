"""States that are named by their variables, as the tools for probabilistic programs name them: `pay=1&coin=0`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from symveil.errors import ModelError
from symveil.models.names import shown

AND = "&"
_PART = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*([^\s&=]+)\s*")


def spelled_valuation(variables: Sequence[str], values: Sequence[str]) -> str:
    """The name of a state, from its variables and their values.

    >>> spelled_valuation(("pay", "coin"), ("1", "0"))
    'pay=1&coin=0'
    """
    return AND.join(f"{variable}={value}" for variable, value in zip(variables, values, strict=True))


def read_valuation(text: str) -> dict[str, str] | None:
    """The variables and values that a text spells; None: it is no valuation.

    >>> read_valuation("pay=1 & coin=0"), read_valuation("idle")
    ({'pay': '1', 'coin': '0'}, None)
    """
    values: dict[str, str] = {}
    for part in text.split(AND):
        found = _PART.fullmatch(part)
        if found is None or found[1] in values:
            return None
        values[found[1]] = found[2]
    return values


def state_of(
    text: str, states: Iterable[str], moves: Iterable[tuple[str, str]], *, notes: list[str] | None = None
) -> str:
    """The one state that a text means: its name, or some of its variables where the states are named by those.

    Where several states have these values it is the only one of them in which runs come to have them: nothing leads
    to it, or something from outside of them does, while into the others only they themselves lead. If that is not one
    state either, the text means none.

    Parameters
    ----------
    text
        The name of a state, or some of its values: `pay=1`, `pay=1&coin=0`.
    states
        All states.
    moves
        (state, state) for each transition.
    notes
        Gets a sentence where a choice had to be made.

    >>> state_of("pay=1", ["pay=1&s=0", "pay=2&s=0", "pay=1&s=1"], [("pay=1&s=0", "pay=1&s=1")])
    'pay=1&s=0'
    """
    known = list(states)
    if text in known:
        return text
    asked = read_valuation(text)
    valued = {state: read_valuation(state) for state in known} if asked else {}
    having = [state for state, values in valued.items() if values is not None and _agrees(values, asked or {})]
    if len(having) > 1:
        inside = set(having)
        entered: set[str] = set()
        outside: set[str] = set()
        for source, target in moves:
            if target in inside and source != target:
                (entered if source in inside else outside).add(target)
        first = [state for state in having if state in outside or state not in entered]
        if len(first) == 1:
            if notes is not None:
                notes.append(f"{text} holds in {len(having)} states; taken is {first[0]}, in which runs come to it")
            return first[0]
        raise ModelError(
            "state", expected=f"a state, or values that one state has, or that runs come to in one ({shown(text)})",
            found=f"{len(having)} states with them; name more variables, such as {shown((first or having)[0])}",
        )  # fmt: skip
    if not having:
        or_values = ", or values of their variables" if asked and any(valued.values()) else ""
        raise ModelError("state", expected=f"states of the chain{or_values}", found=shown(text))
    return having[0]


def _agrees(values: Mapping[str, str], asked: Mapping[str, str]) -> bool:
    return all(values.get(variable) == value for variable, value in asked.items())
