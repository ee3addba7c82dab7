"""DOT files, by a small parser of our own: one pass, in time that grows with the size of the file only.

The usual parser backtracks: 37 bytes of nested braces keep it busy for minutes, ten thousand edges for half of one.
What is read is what the DOT language means: edges and nodes of subgraphs belong to the graph, `edge [weight=2]` holds
for the edges after it, `a -> {b c}` is two edges, `a:port` is the node a. Of all attributes only an edge's
`probability`, `weight` and `label` matter here, and what makes a node invisible; `dot_models` says what they mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

from symveil.errors import FileError
from symveil.formats.models.networkx_graphs import ATTRIBUTES
from symveil.models.names import shown

_DEEPEST = 50
_MOST_BY_GROUPS = 1_000_000  # edges: two braces with a thousand nodes each are a million of them

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
    """What is said of how a node looks: its label, style and shape."""

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
        if found is None:
            found = shown(self.token) if self.token or self.is_quoted else _END
        line = self._text.count("\n", 0, self._begin if at is None else at) + 1
        return FileError(f"{self._where}: line {line}", expected=expected, found=found)

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
        """What stands in braces; returns the nodes in it. `values` is what is said of all edges, `looks` of nodes."""
        if depth > _DEEPEST:
            raise self._error(f"subgraphs nested at most {_DEEPEST} deep", "more")
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
            said = self._attributes()
            return ({**values, **said} if kind == "edge" else values), looks
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
        said = self._attributes((*ATTRIBUTES, *_LOOKS))
        if len(groups) > 1:
            odds = {name: value for name, value in said.items() if name in _OF_EDGES}
            self._connect(groups, {**values, **odds} if odds else values)
        elif is_node and said:
            node = next(iter(groups[0]))
            self._graph.looks[node] = {**self._graph.looks.get(node, {}), **said}
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
        """What is said of the odds and the event, or of what is `wanted`, in any number of lists in brackets."""
        said: Values = {}
        while self._take("["):
            while not self._take("]"):
                name = self._text_of("an attribute, or ]")
                value = self._text_of("a value") if self._take("=") else "true"
                if name in wanted:
                    said[name] = value
                if not self._take(","):
                    self._take(";")
        return said

    def _connect(self, groups: list[dict[str, None]], values: Values) -> None:
        for ones, others in pairwise(groups):
            if len(ones) * len(others) > 1:
                self._by_groups += len(ones) * len(others)
                if self._by_groups > _MOST_BY_GROUPS:
                    raise self._error(f"at most {_MOST_BY_GROUPS} edges between groups of nodes", "more")
            self._graph.edges += [(one, other, values) for one in ones for other in others]


def _unescaped(escape: re.Match[str]) -> str:
    """The only escapes are those of a quote and of the end of a line, which then goes on."""
    return {'"': '"', "\n": "", "\r\n": ""}.get(escape[1], escape[0])
