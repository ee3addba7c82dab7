"""A Markov chain from nodes and weighted edges, wherever they were read; apart from networkx, which is optional."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

from symveil.errors import ModelError
from symveil.models.markov_chain import ROUNDED_SUM, MarkovChain
from symveil.models.names import shown
from symveil.numbers.rationals import exact

ATTRIBUTES = ("probability", "weight")
"""What an edge may say of how likely it is."""


def graph_chain(
    nodes: Sequence[str],
    edges: Sequence[tuple[str, str, Mapping[str, object]]],
    *,
    directed: bool,
    initial: str | None = None,
    notes: list[str] | None = None,
) -> MarkovChain:
    """The chain on a graph that is given by its nodes and edges (from, to, attributes), as `from_networkx` says.

    >>> graph_chain(["a", "b"], [("a", "b", {}), ("b", "b", {})], directed=True)
    MarkovChain(2 states, 2 transitions)
    """
    attribute = _attribute(edges)
    values: dict[tuple[str, str], Fraction] = {}
    for source, target, data in edges:
        value = Fraction(1) if attribute is None else _value(data, attribute, source, target)
        for pair in dict.fromkeys([(source, target)] if directed else [(source, target), (target, source)]):
            values[pair] = value if attribute is None else values.get(pair, Fraction(0)) + value
    totals: dict[str, Fraction] = defaultdict(Fraction)
    for (source, _), value in values.items():
        totals[source] += value
    if attribute == "probability":  # decimals, as a rule: where they were rounded they are normalised, else kept
        totals = {source: total for source, total in totals.items() if abs(total - 1) <= ROUNDED_SUM}
        rounded = sum(total != 1 for total in totals.values())
        if rounded and notes is not None:
            notes.append(f"the probabilities of {rounded} nodes were normalised to sum to exactly 1")
    elif notes is not None:
        how = "weights were normalised" if attribute else "no probabilities: every move from a node is equally likely"
        notes.append(how)
    rows = [(source, target, value / totals.get(source, 1)) for (source, target), value in values.items()]
    return MarkovChain.from_transitions(rows, states=nodes, initial=initial)


def _attribute(edges: Sequence[tuple[str, str, Mapping[str, object]]]) -> str | None:
    """What edges say about how likely they are; all of them, or none."""
    for attribute in ATTRIBUTES:
        having = sum(attribute in data for _, _, data in edges)
        if having:
            count = len(edges)
            if having < count:
                raise ModelError(
                    "edges", expected=f"a {attribute} on every edge, or on none", found=f"{having} of {count}"
                )
            return attribute
    return None


def _value(data: Mapping[str, object], attribute: str, source: str, target: str) -> Fraction:
    where = f"edge from {shown(source)} to {shown(target)}"
    try:
        value = exact(data[attribute])  # type: ignore[arg-type]  # anything may be there
    except ValueError:
        raise ModelError(where, expected=f"a number as {attribute}", found=shown(data[attribute])) from None
    if value <= 0:
        raise ModelError(where, expected=f"a {attribute} above 0", found=shown(data[attribute]))
    return value
