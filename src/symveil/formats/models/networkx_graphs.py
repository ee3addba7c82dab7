"""Graphs as Markov chains: those of networkx, and those that a file of ours gives as nodes and edges.

GraphML files by way of networkx: imported when a file asks for it, because networkx is optional.
"""

from __future__ import annotations

import io
import sys
import warnings
from pathlib import Path
from typing import Any
from xml.parsers import expat

from symveil.errors import FileError, ModelError, ParameterError
from symveil.formats.models.weighted_graphs import graph_chain
from symveil.formats.reading import placed, read_bytes
from symveil.models.markov_chain import MarkovChain
from symveil.models.names import shown


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


_LARGEST_FILE = 64 * 1024 * 1024
_DEEPEST = 100


def read_graph_file(path: Path, *, notes: list[str] | None = None) -> MarkovChain:
    """The chain in a GraphML file."""
    graph = read_graphml(path)
    with placed(lambda where: f"{path}: {where}"):
        return from_networkx(graph, notes=notes)


def read_graphml(path: Path) -> Any:
    """The networkx graph in a GraphML file."""
    import networkx as nx  # noqa: PLC0415 - optional, and heavy

    content = read_bytes(path, what="GraphML file", at_most=_LARGEST_FILE)
    _refuse_bombs(content, path)
    try:
        # its warnings are about parts of GraphML that it does not know, and that no chain needs
        with warnings.catch_warnings(action="ignore"):
            return nx.read_graphml(io.BytesIO(content))
    except Exception as error:  # whatever its parser stumbles over, the file is to blame
        raise FileError(str(path), expected="GraphML", found=_first_line(error)) from None


def _refuse_bombs(content: bytes, path: Path) -> None:
    """Before the library sees it: no declarations of its own, with which bombs are built, and no endless nesting."""
    parser = expat.ParserCreate()
    depth = 0

    def refuse(expected: str, found: str) -> None:
        raise FileError(f"{path}: line {parser.CurrentLineNumber}", expected=expected, found=found)

    def start(_name: str, _attributes: list[str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            refuse(f"elements nested at most {_DEEPEST} deep", "more")

    def end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    def doctype(_name: str, _system: str | None, _public: str | None, has_declarations: int) -> None:
        if has_declarations:
            refuse("GraphML without declarations of its own", "some, which could be a bomb")

    parser.ordered_attributes = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(content, True)
    except FileError:
        raise
    except expat.ExpatError as error:
        problem = expat.ErrorString(error.code)
        raise FileError(f"{path}: line {error.lineno}", expected="GraphML", found=problem) from None
    except (LookupError, ValueError):  # what the first line declares is no encoding, or none that expat takes
        raise FileError(str(path), expected="GraphML in UTF-8", found="another encoding") from None


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
