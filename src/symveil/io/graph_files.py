"""GraphML and DOT files by way of networkx and pydot: only through `late_readers`, because they are optional."""

from __future__ import annotations

import contextlib
import io
import warnings
from pathlib import Path
from typing import Any

import networkx as nx

from symveil.errors import FileError
from symveil.io.networkx_graphs import from_networkx
from symveil.io.places import placed
from symveil.io.reading import read_bytes, read_text, suffix
from symveil.models.markov_chain import MarkovChain

_LARGEST_FILE = 64 * 1024 * 1024


def read_graph_file(path: Path, *, notes: list[str] | None = None) -> MarkovChain:
    """The chain in a GraphML or DOT file."""
    graph = _read_graphml(path) if suffix(path) == ".graphml" else _read_dot(path)
    with placed(lambda where: f"{path}: {where}"):
        return from_networkx(graph, notes=notes)


def _read_graphml(path: Path) -> Any:
    content = read_bytes(path, what="GraphML file", at_most=_LARGEST_FILE)
    try:
        return nx.read_graphml(io.BytesIO(content))
    except Exception as error:  # whatever its parser stumbles over, the file is to blame
        raise FileError(str(path), expected="GraphML", found=_first_line(error)) from None


def _read_dot(path: Path) -> Any:
    text = read_text(path, what="DOT file", at_most=_LARGEST_FILE)
    try:
        # pydot prints what it cannot parse, and standard output belongs to the command's result;
        # its deprecation warnings are about its own parser and nothing that a user can change
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(action="ignore"):
            graph = nx.nx_pydot.read_dot(io.StringIO(text))
    except ModuleNotFoundError:
        raise FileError(
            str(path), expected="pydot to be installed (pip install symveil[formats])", found="none"
        ) from None
    except Exception as error:  # as above; a text that is no DOT ends in a TypeError here
        found = "another text" if isinstance(error, TypeError) else _first_line(error)
        raise FileError(str(path), expected="a DOT graph", found=found) from None
    graph.remove_nodes_from([node for node in graph if node == "\\n"])  # pydot's idea of a blank line
    for _, _, data in graph.edges(data=True):
        data.update({key: value.strip('"') for key, value in data.items() if isinstance(value, str)})
    return graph


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
