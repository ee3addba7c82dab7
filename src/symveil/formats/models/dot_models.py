"""What a drawing in DOT means: a Markov chain, or a system whose edges have events.

Without labels a graph is a chain, as `from_networkx` has it. Where the edges of a digraph have labels these are events.
A node that is drawn invisibly is no state: it points to where runs begin. What can be read in two ways is refused:
labels on some edges only, labels that could be probabilities, several events on one edge, an invisible node that
something leads to.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from symveil.errors import FileError, ModelError
from symveil.formats.models.dot_files import LABEL, DotGraph, parse_dot
from symveil.formats.models.networkx_graphs import ATTRIBUTES, graph_chain
from symveil.formats.models.places import placed
from symveil.formats.reading import read_text
from symveil.models.automaton import TransitionSystem
from symveil.models.markov_chain import MarkovChain
from symveil.models.names import shown
from symveil.models.probabilities import ROUNDED_SUM, read_probability
from symveil.models.stochastic_system import LogicalSystem, StochasticSystem

DOT_SUFFIXES = (".dot", ".gv")

_LARGEST_FILE = 64 * 1024 * 1024
_HIDDEN_SHAPES = ("point",)
_BARE_SHAPES = ("none", "plaintext", "plain")
_ALL_SEEN = "nothing says which events are observable: all of them are taken to be"

Edges = list[tuple[str, str, dict[str, str]]]
Drawn = MarkovChain | TransitionSystem | LogicalSystem | StochasticSystem


def read_dot_file(path: Path, *, notes: list[str] | None = None) -> Drawn:
    """The model in a DOT file; `notes` gets a sentence for what was assumed or left out."""
    graph = parse_dot(read_text(path, what="DOT file", at_most=_LARGEST_FILE), where=str(path))
    said: list[str] = []
    if graph.others:
        said.append("there are several graphs: the first one was read")
    starts = _starts(path, graph) if graph.directed else set()
    if starts:
        said.append("invisible nodes are no states: they show where runs begin")
    nodes = [node for node in graph.nodes if node not in starts]
    if any(graph.looks.get(node, {}).get(LABEL, node) not in (node, "\\N") for node in nodes):
        said.append("states are called by the names of their nodes, not by the labels that are drawn")
    edges = [edge for edge in graph.edge_list() if edge[0] not in starts]
    initial = list(dict.fromkeys(target for source, target, _ in graph.edge_list() if source in starts))
    labelled = graph.directed and any(values.get(LABEL) for _, _, values in edges)
    odds = any(name in values for _, _, values in edges for name in ATTRIBUTES)
    with placed(lambda where: f"{path}: {where}"):
        if labelled and (initial or not odds):
            model = _system(nodes, edges, initial, odds=odds, notes=said)
        else:
            if labelled:
                said.append("the labels of edges were not read: nothing shows where runs begin")
            if len(initial) > 1:
                raise ModelError("initial", expected="one initial state of a Markov chain", found=f"{len(initial)}")
            first = initial[0] if initial else None
            model = graph_chain(nodes, edges, directed=graph.directed, initial=first, notes=said)
    if notes is not None:
        notes.extend(said)
    return model


def _starts(path: Path, graph: DotGraph) -> set[str]:
    """The nodes that are drawn only to point to where runs begin; one without edges is an ornament."""
    hidden = {node for node in graph.nodes if _is_hidden(node, graph.looks.get(node, {}))}
    for source, target, values in graph.edge_list():
        said = values.get(LABEL) or any(name in values for name in ATTRIBUTES)
        if target in hidden or (source in hidden and said):
            raise FileError(
                str(path),
                expected="an invisible node to show where runs begin, by an edge without a label",
                found="one that is part of runs; draw it, or leave it out",
            )
    return hidden


def _is_hidden(node: str, looks: dict[str, str]) -> bool:
    style, shape = looks.get("style", ""), looks.get("shape", "").lower()
    if "invis" in [part.strip().lower() for part in style.split(",")] or shape in _HIDDEN_SHAPES:
        return True
    return shape in _BARE_SHAPES and not looks.get(LABEL, node).strip()


def _system(nodes: list[str], edges: Edges, initial: list[str], *, odds: bool, notes: list[str]) -> Drawn:
    """A system whose events are the labels."""
    without = sum(not values.get(LABEL) for _, _, values in edges)
    if without:
        raise ModelError(
            "edges", expected="a label on every edge, its event, or on none", found=f"none on {without} of {len(edges)}"
        )
    for source, target, values in edges:
        label = values[LABEL]
        where = f"edge from {shown(source)} to {shown(target)}"
        if label.startswith("<") and label.endswith(">"):  # colours and fonts are no part of an event's name
            raise ModelError(where, expected="a label in plain text, its event", found="one with markup")
        if "," in label or "\\n" in label or "\n" in label:
            raise ModelError(where, expected="one event; draw an edge for each", found=f"the label {shown(label)}")
    if not odds and _could_be_probabilities(edges):
        raise ModelError(
            "edges",
            expected="labels that are events, or probabilities as probability=…",
            found="labels that could be either: numbers that sum to 1 in every state",
        )
    if not initial:
        raise ModelError(
            "initial", expected="an edge from an invisible node (style=invis) to where runs begin", found="none"
        )
    moves = list(dict.fromkeys((source, values[LABEL], target) for source, target, values in edges))
    events = list(dict.fromkeys(event for _, event, _ in moves))
    if odds:
        notes.append(_ALL_SEEN)
        return _stochastic(nodes, edges, initial, events, notes)
    if len(initial) > 1:
        notes.append(_ALL_SEEN)
        return LogicalSystem.from_transitions(moves, initial=initial, observable=events, states=nodes)
    return TransitionSystem.from_transitions(moves, initial=initial[0], states=nodes)


def _stochastic(
    nodes: list[str], edges: Edges, initial: list[str], events: list[str], notes: list[str]
) -> StochasticSystem:
    if len(initial) > 1:
        raise ModelError("initial", expected="one initial state where there are probabilities", found=f"{len(initial)}")
    rows = []
    for source, target, values in edges:
        if "probability" not in values:
            where = f"edge from {shown(source)} to {shown(target)}"
            raise ModelError(where, expected="a probability beside the label", found="none")
        rows.append((source, values[LABEL], target, values["probability"]))
    return StochasticSystem.from_transitions(rows, initial=initial[0], observable=events, states=nodes, notes=notes)


def _could_be_probabilities(edges: Edges) -> bool:
    totals: dict[str, Fraction] = {}
    for source, _, values in edges:
        try:
            chance, _ = read_probability(values[LABEL].strip(), where="label")
        except ModelError:
            return False
        if not 0 < chance <= 1:
            return False
        totals[source] = totals.get(source, Fraction(0)) + chance
    return all(abs(total - 1) <= ROUNDED_SUM for total in totals.values())
