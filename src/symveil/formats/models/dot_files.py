"""DOT files, by a small parser of our own: one pass, in time that grows with the size of the file only.

The usual parser backtracks: 37 bytes of nested braces keep it busy for minutes, ten thousand edges for half of one.
What is read is what the DOT language means: edges and nodes of subgraphs belong to the graph, `edge [weight=2]` holds
for the edges after it, `a -> {b c}` is two edges, `a:port` is the node a. Of all attributes only an edge's
`probability`, `weight` and `label` matter here, and what makes a node invisible; `dot_models` says what they mean.

What a drawing in DOT means: a Markov chain, or a system whose edges have events.

Without labels a graph is a chain, as `from_networkx` has it. Where the edges of a digraph have labels these are events.
A node that is drawn invisibly is no state: it points to where runs begin. What can be read in two ways is refused:
labels on some edges only, labels that could be probabilities, several events on one edge, an invisible node that
something leads to.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from symveil.errors import FileError, ModelError
from symveil.formats.limits import LIMITS
from symveil.formats.models.networkx_graphs import ATTRIBUTES, graph_chain
from symveil.formats.reading import placed, read_text
from symveil.models.automaton import TransitionSystem
from symveil.models.markov_chain import ROUNDED_SUM, MarkovChain, read_probability
from symveil.models.names import shown
from symveil.models.stochastic_system import LogicalSystem, StochasticSystem

_BLANK = re.compile(r"(?:\s+|//[^\n]*+|\#[^\n]*+)++")
_TOKEN = re.compile(r"->|--|[{}\[\];,=:+]|(?P<name>-?[\w.]++)")
_QUOTED = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_ANGLE = re.compile("[<>]")
_ESCAPE = re.compile(r"\\(\r\n|.)", re.DOTALL)
_END = "the end of the file"


LABEL = "label"
_LOOKS = (LABEL, "style", "shape")
_OF_EDGES = (*ATTRIBUTES, LABEL)

Edge = tuple[str, str]
Values = dict[str, str]


@dataclass(slots=True)
class DotGraph:
    """A graph as it is written: nodes in order of their first mention, edges with what they say of their odds."""

    directed: bool
    strict: bool
    nodes: dict[str, None] = field(default_factory=dict)
    edges: list[tuple[str, str, Values]] = field(default_factory=list)
    others: bool = False
    """Whether another graph follows."""
    looks: dict[str, Values] = field(default_factory=dict)
    """The attributes of how a node looks: its label, style and shape."""

    def edge_list(self) -> list[tuple[str, str, Values]]:
        """The edges; of those that a strict graph repeats one, with everything that was said of it."""
        if not self.strict:
            return self.edges
        once: dict[Edge, tuple[str, str, Values]] = {}
        for one, other, values in self.edges:
            key = (one, other) if self.directed or one <= other else (other, one)
            first = once.setdefault(key, (one, other, {}))
            first[2].update(values)
        return list(once.values())


def parse_dot(text: str, *, where: str) -> DotGraph:
    """The first graph in a DOT text, which messages call `where`.

    >>> graph = parse_dot('digraph { edge [weight=2]; a -> {b c}; subgraph { b:n -> "a" [weight=1] } }', where="x.dot")
    >>> graph.edges
    [('a', 'b', {'weight': '2'}), ('a', 'c', {'weight': '2'}), ('b', 'a', {'weight': '1'})]
    >>> parse_dot("digraph { a -> }", where="x.dot")
    Traceback (most recent call last):
    symveil.errors.FileError: x.dot: line 1: expected a node or a subgraph, found '}'
    """
    return _Parser(text, where).graph()


class _Parser:
    """Reads token by token: `token` comes next; it is a name, a text in quotes, a mark, or empty at the end."""

    def __init__(self, text: str, where: str) -> None:
        self._text, self._where = text, where
        self._at = self._begin = 0  # where the next token ends, and where it begins
        self.token = ""
        self.is_name = self.is_quoted = False
        self._by_groups = 0
        self._graph = DotGraph(directed=True, strict=False)
        self._next()

    # --- tokens --------------------------------------------------------------------------------

    def _next(self) -> None:
        text, at = self._text, self._at
        while True:
            if blank := _BLANK.match(text, at):
                at = blank.end()
            if not text.startswith("/*", at):
                break
            end = text.find("*/", at + 2)
            if end < 0:
                raise self._error("the end of a comment", _END, at)
            at = end + 2
        self._begin = at
        self.is_name = self.is_quoted = False
        first = text[at : at + 1]
        if first == '"':
            quoted = _QUOTED.match(text, at)
            if quoted is None:
                raise self._error("the end of a text in quotes", _END, at)
            self.token, self._at, self.is_quoted = _ESCAPE.sub(_unescaped, quoted[0][1:-1]), quoted.end(), True
        elif first == "<":
            self._at = self._end_of_markup(at)
            self.token, self.is_name = text[at : self._at], True
        else:
            match = _TOKEN.match(text, at)
            if first and match is None:
                raise self._error("DOT", shown(first), at)
            self.token = match[0] if match else ""
            self._at, self.is_name = at + len(self.token), match is not None and match.lastgroup == "name"

    def _end_of_markup(self, at: int) -> int:
        depth = 0
        for angle in _ANGLE.finditer(self._text, at):
            depth += 1 if angle[0] == "<" else -1
            if depth == 0:
                return angle.end()
        raise self._error("a > for every <", _END, at)

    def _error(self, expected: str, found: str | None = None, at: int | None = None) -> FileError:
        token = shown(self.token) if self.token or self.is_quoted else _END
        line = self._text.count("\n", 0, self._begin if at is None else at) + 1
        return FileError(f"{self._where}: line {line}", expected=expected, found=found or token)

    def _is(self, mark: str) -> bool:
        return self.token == mark and not self.is_name and not self.is_quoted

    def _is_word(self, *words: str) -> bool:
        return self.is_name and self.token.lower() in words

    def _take(self, mark: str) -> bool:
        if self._is(mark):
            self._next()
            return True
        return False

    def _require(self, mark: str, expected: str) -> None:
        if not self._take(mark):
            raise self._error(expected)

    def _text_of(self, expected: str) -> str:
        """A name, or pieces in quotes with + between them."""
        if not (self.is_name or self.is_quoted):
            raise self._error(expected)
        pieces, quoted = [self.token], self.is_quoted
        self._next()
        while quoted and self._take("+"):
            if not self.is_quoted:
                raise self._error("a text in quotes after +")
            pieces.append(self.token)
            self._next()
        return "".join(pieces)

    # --- the grammar ---------------------------------------------------------------------------

    def graph(self) -> DotGraph:
        """The first graph."""
        graph = self._graph
        if self._is_word("strict"):
            graph.strict = True
            self._next()
        if not self._is_word("graph", "digraph"):
            raise self._error("a DOT graph, which begins with graph or digraph")
        graph.directed = self.token.lower() == "digraph"
        self._next()
        if not self._is("{"):
            self._text_of("the name of the graph, or {")
        self._statements({}, {}, depth=1)
        while self._take(";"):  # libFAUDES writes one, and Graphviz does not mind
            pass
        graph.others = self._is_word("strict", "graph", "digraph")
        if not graph.others and (self.token or self.is_quoted):
            raise self._error(f"{_END} after the graph")
        return graph

    def _statements(self, values: Values, looks: Values, *, depth: int) -> dict[str, None]:
        """What stands in braces; returns the nodes in it. `values` holds the attributes of all edges, `looks` those of
        nodes.
        """
        if depth > LIMITS.now.dot_nesting:
            raise self._error(f"subgraphs nested at most {LIMITS.now.dot_nesting} deep", "more")
        self._require("{", "{")
        nodes: dict[str, None] = {}
        while not self._take("}"):
            if not self.token and not self.is_quoted:
                raise self._error("}")
            if not self._take(";"):
                values, looks = self._statement(values, looks, nodes, depth)
        return nodes

    def _statement(self, values: Values, looks: Values, nodes: dict[str, None], depth: int) -> tuple[Values, Values]:
        kind = self.token.lower() if self._is_word("graph", "node", "edge") else ""
        is_node = not self._is("{") and not self._is_word("subgraph")
        groups = [self._group(values, looks, depth)]
        if kind and self._is("["):  # what holds for everything from here on
            if kind == "node":
                return values, {**looks, **self._attributes(_LOOKS)}
            attributes = self._attributes()
            return ({**values, **attributes} if kind == "edge" else values), looks
        if is_node and self._take("="):
            self._text_of("a value")
            return values, looks
        while self._is("->") or self._is("--"):
            if self._is("->") != self._graph.directed:
                raise self._error("-> in a digraph and -- in a graph")
            self._next()
            groups.append(self._group(values, looks, depth))
        for group in groups:
            nodes.update(group)
            for node in group:
                # what holds for all nodes holds for those that are first mentioned under it
                if node not in self._graph.nodes and looks:
                    self._graph.looks[node] = looks
            self._graph.nodes.update(group)
        attributes = self._attributes((*ATTRIBUTES, *_LOOKS))
        if len(groups) > 1:
            odds = {name: value for name, value in attributes.items() if name in _OF_EDGES}
            self._connect(groups, {**values, **odds} if odds else values)
        elif is_node and attributes:
            node = next(iter(groups[0]))
            self._graph.looks[node] = {**self._graph.looks.get(node, {}), **attributes}
        return values, looks

    def _group(self, values: Values, looks: Values, depth: int) -> dict[str, None]:
        """A node, or the nodes of a subgraph."""
        if self._is_word("subgraph"):
            self._next()
            if not self._is("{"):
                self._text_of("the name of a subgraph, or {")
        elif not self._is("{"):
            name = self._text_of("a node or a subgraph")
            while self._take(":"):
                self._text_of("the name of a port")
            return {name: None}
        return self._statements(values, looks, depth=depth + 1)

    def _attributes(self, wanted: tuple[str, ...] = _OF_EDGES) -> Values:
        """The attributes for odds and event, or the `wanted` ones, from any number of lists in brackets."""
        values: Values = {}
        while self._take("["):
            while not self._take("]"):
                name = self._text_of("an attribute, or ]")
                value = self._text_of("a value") if self._take("=") else "true"
                if name in wanted:
                    values[name] = value
                if not self._take(","):
                    self._take(";")
        return values

    def _connect(self, groups: list[dict[str, None]], values: Values) -> None:
        for ones, others in pairwise(groups):
            if len(ones) * len(others) > 1:
                self._by_groups += len(ones) * len(others)
                if self._by_groups > LIMITS.now.grouped_edges:
                    raise self._error(f"at most {LIMITS.now.grouped_edges} edges between groups of nodes", "more")
            self._graph.edges += [(one, other, values) for one in ones for other in others]


def _unescaped(escape: re.Match[str]) -> str:
    """The only escapes are those of a quote and of the end of a line, which then goes on."""
    return {'"': '"', "\n": "", "\r\n": ""}.get(escape[1], escape[0])


DOT_SUFFIXES = (".dot", ".gv")

_HIDDEN_SHAPES = ("point",)
_BARE_SHAPES = ("none", "plaintext", "plain")
_ALL_SEEN = "nothing says which events are observable: all of them are taken to be"

Edges = list[tuple[str, str, dict[str, str]]]
Drawn = MarkovChain | TransitionSystem | LogicalSystem | StochasticSystem


def read_dot_file(path: Path, *, notes: list[str] | None = None) -> Drawn:
    """The model in a DOT file; `notes` gets a sentence for what was assumed or left out."""
    graph = parse_dot(read_text(path, what="DOT file", at_most=LIMITS.now.file_bytes), where=str(path))
    sentences: list[str] = []
    if graph.others:
        sentences.append("there are several graphs: the first one was read")
    starts = _starts(path, graph) if graph.directed else set()
    if starts:
        sentences.append("invisible nodes are no states: they show where runs begin")
    nodes = [node for node in graph.nodes if node not in starts]
    if any(graph.looks.get(node, {}).get(LABEL, node) not in (node, "\\N") for node in nodes):
        sentences.append("states are called by the names of their nodes, not by the labels that are drawn")
    edges = [edge for edge in graph.edge_list() if edge[0] not in starts]
    initial = list(dict.fromkeys(target for source, target, _ in graph.edge_list() if source in starts))
    labelled = graph.directed and any(values.get(LABEL) for _, _, values in edges)
    odds = any(name in values for _, _, values in edges for name in ATTRIBUTES)
    with placed(path):
        if labelled and (initial or not odds):
            model = _system(nodes, edges, initial, odds=odds, notes=sentences)
        else:
            if labelled:
                sentences.append("the labels of edges were not read: nothing shows where runs begin")
            if len(initial) > 1:
                raise ModelError("initial", expected="one initial state of a Markov chain", found=f"{len(initial)}")
            first = initial[0] if initial else None
            model = graph_chain(nodes, edges, directed=graph.directed, initial=first, notes=sentences)
    if notes is not None:
        notes.extend(sentences)
    return model


def _starts(path: Path, graph: DotGraph) -> set[str]:
    """The nodes that are drawn only to point to where runs begin; one without edges is an ornament."""
    hidden = {node for node in graph.nodes if _is_hidden(node, graph.looks.get(node, {}))}
    for source, target, values in graph.edge_list():
        label = values.get(LABEL) or any(name in values for name in ATTRIBUTES)
        if target in hidden or (source in hidden and label):
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
