"""Graphs as Markov chains: those of networkx, and those that a file of ours gives as nodes and edges.

GraphML files by way of networkx: imported when a file asks for it, because networkx is optional.
"""

from __future__ import annotations

import io
import sys
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from symveil.errors import FileError, ModelError, ParameterError
from symveil.formats.limits import LIMITS
from symveil.formats.reading import placed, read_bytes, without_extra
from symveil.formats.xml_text import XmlReader
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


def from_networkx(graph: Any, *, initial: str | None = None, notes: list[str] | None = None) -> MarkovChain:
    """The Markov chain on a graph's nodes; a node's name is its `str`.

    Where edges have a `probability`, those of a node sum to 1; where they have a `weight`, weights
    are normalised; else every move is equally likely. An undirected edge goes both ways; parallel
    edges are one, with the sum of their probabilities or weights.

    Parameters
    ----------
    graph
        A networkx graph.
    initial
        The state to start in, if there is one.
    notes
        Gets a sentence for everything that was assumed.

    >>> import networkx as nx
    >>> from_networkx(nx.DiGraph([("a", "b"), ("b", "a"), ("b", "b")]))
    MarkovChain(2 states, 3 transitions)
    """
    # anyone who has a graph has networkx, and this module asks for it only where there is one
    networkx = sys.modules.get("networkx")
    if networkx is None or not isinstance(graph, networkx.Graph):
        how = "" if networkx is not None else ", which the extra symveil[formats] brings"
        raise ParameterError("graph", expected=f"a networkx graph{how}", found=f"a {type(graph).__name__}")
    name = _names(graph)
    edges = [(name[one], name[other], data) for one, other, data in graph.edges(data=True)]
    return graph_chain(list(name.values()), edges, directed=graph.is_directed(), initial=initial, notes=notes)


def _names(graph: Any) -> dict[object, str]:
    """The name of each node; two nodes may not share one."""
    names: dict[object, str] = {}
    taken: set[str] = set()
    for node in graph.nodes:
        name = str(node)
        if name in taken:
            raise ModelError("nodes", expected="nodes with distinct names", found=f"{shown(name)} twice")
        taken.add(name)
        names[node] = name
    return names


def read_graph_file(path: Path, *, notes: list[str] | None = None) -> MarkovChain:
    """The chain in a GraphML file."""
    graph = read_graphml(path)
    with placed(path):
        return from_networkx(graph, notes=notes)


def read_graphml(path: Path) -> Any:
    """The networkx graph in a GraphML file."""
    try:
        import networkx as nx  # noqa: PLC0415 - optional, and heavy
    except ModuleNotFoundError as error:
        raise without_extra(path, error, "formats") from None
    content = read_bytes(path, what="GraphML file", at_most=LIMITS.now.file_bytes)
    XmlReader(path, what="GraphML", plain_doctype=True).read([content])  # before the library sees it
    try:
        # its warnings are about parts of GraphML that it does not know, and that no chain needs
        with warnings.catch_warnings(action="ignore"):
            return nx.read_graphml(io.BytesIO(content))
    except Exception as error:  # whatever its parser stumbles over, the file is to blame
        raise FileError(str(path), expected="GraphML", found=_first_line(error)) from None


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
