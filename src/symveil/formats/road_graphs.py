"""Road networks as models: links are the states, and one follows another where it begins where the other ends.

Graphs are those of OSMnx, as it keeps them in GraphML or in memory: nodes with `x` and `y` in degrees, directed edges
that may have a `geometry` (a LINESTRING), or any directed networkx graph with such nodes; or tables of edges in CSV.
"""

from __future__ import annotations

import csv
import io
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ModelError, ParameterError
from symveil.formats.models.model_json import model_text
from symveil.formats.models.networkx_graphs import read_graphml
from symveil.formats.reading import suffix
from symveil.formats.shapes import read_edges, wkt_line
from symveil.models.markov_chain import MarkovChain
from symveil.storage.files import write_text

Line = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RoadModel:
    """A chain on links, every next link equally likely, and the line of each link.

    `lines` are rows of longitude and latitude for each link; `notes` say what was decided.
    """

    chain: MarkovChain
    lines: dict[str, Line] = field(repr=False)
    notes: tuple[str, ...] = ()

    def places_text(self) -> str:
        """The places as CSV: for `--places`, `sv.read_coordinates` and `symveil symbols --links`."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["link_id", "u_lon", "u_lat", "v_lon", "v_lat", "wkt"])
        for name, line in self.lines.items():
            ends = [repr(float(cell)) for cell in (*line[0], *line[-1])]
            points = ", ".join(f"{float(x)!r} {float(y)!r}" for x, y in line)
            writer.writerow([name, *ends, f"LINESTRING ({points})"])
        return text.getvalue()

    def save(self, model: str | Path, places: str | Path) -> None:
        """Write the model as JSON and the places as CSV.

        Files of these names are replaced.
        """
        write_text(Path(model), model_text(self.chain))
        write_text(Path(places), self.places_text())


def road_model(
    network: Any,
    *,
    link: str | None = None,
    source: str | None = None,
    target: str | None = None,
    delimiter: str | None = None,
) -> RoadModel:
    """The links of a road network as a Markov chain with places.

    A link is an edge, called `u-v`, or `u-v-key` where several lead from u to v. After a link comes any that begins
    where it ends, each equally likely, but not straight back, unless there is no other. A link after which there is
    none is a dead end.

    Parameters
    ----------
    network
        A GraphML file as OSMnx writes it, or a directed networkx graph whose nodes have `x` and `y` in degrees; edges
        may have a `geometry`, as WKT or with `coords`. Or a CSV file with a directed edge in each row, which lies where
        `wkt` says, or u_lon, u_lat, v_lon, v_lat; without these columns there are no lines.
    link, source, target
        Of a CSV file: the columns of a link's name, of the node where it begins and of that where it ends. By default
        link_id (or symbol, state, id, name); u, from or source; v, to or target.
    delimiter
        Of a CSV file: what stands between cells; a comma by default.

    >>> import networkx as nx
    >>> town = nx.MultiDiGraph()
    >>> town.add_node(1, x=8.50, y=47.30); town.add_node(2, x=8.51, y=47.30); town.add_node(3, x=8.51, y=47.31)
    >>> _ = [town.add_edge(one, other) for one, other in [(1, 2), (2, 1), (2, 3), (3, 2)]]
    >>> roads = road_model(town)
    >>> roads.chain
    MarkovChain(4 states, 4 transitions)
    >>> roads.lines["2-3"].tolist()
    [[8.51, 47.3], [8.51, 47.31]]
    """
    columns = {"link": link, "source": source, "target": target, "delimiter": delimiter}
    if isinstance(network, str | Path) and suffix(Path(network)) in (".csv", ".tsv"):
        return _model(*read_edges(Path(network), **columns), notes=())
    for name, value in columns.items():
        if value is not None:
            raise ParameterError(name, expected="a CSV file with it", found="another network")
    graph = read_graphml(Path(network)) if isinstance(network, str | Path) else network
    networkx = sys.modules.get("networkx")
    if networkx is None or not isinstance(graph, networkx.Graph):
        raise ParameterError(
            "network", expected="a GraphML file or a networkx graph", found=f"a {type(graph).__name__}"
        )
    if not graph.is_directed():
        raise ParameterError(
            "graph", expected="a directed graph: each way of a road is a link", found="an undirected one"
        )
    positions = {node: _coordinates(node, data) for node, data in graph.nodes(data=True)}
    several = graph.is_multigraph()
    edges = graph.edges(keys=True, data=True) if several else ((u, v, 0, data) for u, v, data in graph.edges(data=True))
    lines: dict[str, Line] = {}
    results: list[tuple[str, object, object]] = []
    for u, v, key, data in edges:
        plain = f"{u}-{v}"
        name = plain if key == 0 and plain not in lines else f"{plain}-{key}"
        if name in lines:
            raise ModelError("edges", expected="links with names of their own", found=repr(name[:60]))
        lines[name] = _line(name, data, positions[u], positions[v])
        results.append((name, u, v))
    if not lines:
        raise ModelError("edges", expected="at least one link", found="none")
    return _model(results, lines, notes=("links are numbered by the nodes of the graph: u-v",))


def _model(edges: Sequence[tuple[str, object, object]], lines: dict[str, Line], *, notes: tuple[str, ...]) -> RoadModel:
    """The chain on edges with names, and where they lie."""
    leaving: dict[object, list[tuple[str, object]]] = defaultdict(list)
    for name, u, v in edges:
        leaving[u].append((name, v))
    rows = []
    for name, u, v in edges:
        after = leaving[v]
        onwards = [link for link, target in after if target != u] or [link for link, _ in after]
        rows += [(name, link, Fraction(1, len(onwards))) for link in onwards]
    likely = (
        "after a link each one that begins where it ends is equally likely, straight back only where there is no other"
    )
    states = [name for name, _, _ in edges]
    return RoadModel(MarkovChain.from_transitions(rows, states=states), lines, (likely, *notes))


def _coordinates(node: object, data: dict[str, Any]) -> tuple[float, float]:
    try:
        x, y = float(data["x"]), float(data["y"])
    except (LookupError, TypeError, ValueError):
        x = y = float("nan")
    if not (abs(x) <= 360 and abs(y) <= 90):
        raise ModelError(f"node {str(node)[:40]!r}", expected="x and y in degrees, as OSMnx has them", found="others")
    return x, y


def _line(name: str, data: dict[str, Any], one: tuple[float, float], other: tuple[float, float]) -> Line:
    shape = data.get("geometry")
    if shape is None:
        return np.array([one, other], dtype=np.float64)
    where = f"edge {name[:60]!r}"
    if isinstance(shape, str):
        return wkt_line(shape, where=where)
    try:  # a LineString of shapely's
        return np.array([[float(point[0]), float(point[1])] for point in shape.coords], dtype=np.float64)
    except (AttributeError, TypeError, ValueError, IndexError):
        raise ModelError(where, expected="a geometry as WKT, or a LineString", found="another") from None
