"""Automata of Supremica and Waters (`.wmod`): a module becomes a logical system for each automaton.

An event is observable unless it says Observable="false", and controllable if its kind is CONTROLLABLE; one of the kind
PROPOSITION marks states, and moves nothing. An automaton of the kind PROPERTY is a question about the others and not
part of the system: it is left out, unless there is nothing else.
A foreach over automata, edges or events of an edge is expanded, and so is an event with ranges: `take[1][left]`.
What would have to be guessed is refused: several automata where one system is asked for, guards and actions, groups of
nodes, an event with ranges and without an index, and events that one automaton blocks and another has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from xml.parsers import expat

from symveil.errors import FileError
from symveil.formats.models.wmod_expressions import Element, Expressions, Index
from symveil.formats.reading import placed, read_bytes
from symveil.models.stochastic_system import LogicalSystem

WMOD_SUFFIX = ".wmod"

_LARGEST_FILE = 64 * 1024 * 1024
_DEEPEST = 100
_MOST_AUTOMATA = 1_000
_REFUSED = {
    "GuardActionBlock": "edges without guards and actions",
    "GroupNode": "edges between single states, not groups of nodes",
    "ForeachNode": "states that are written out",
    "Instance": "automata of the module itself",
    "VariableComponent": "automata without variables",
    "Conditional": "what is written without conditions, or a foreach with a guard",
}
_UNITS = {"ConstantAlias", "EventDecl", "SimpleComponent", "ForeachComponent", "Foreach"}


@dataclass(slots=True)
class _Component:
    name: str
    states: dict[str, None] = field(default_factory=dict)
    initial: list[str] = field(default_factory=list)
    moves: dict[tuple[str, str, str], None] = field(default_factory=dict)
    blocked: set[str] = field(default_factory=set)
    is_property: bool = False


class _Module:
    """Collects a module from expat's calls: each constant, event and automaton when its element ends."""

    def __init__(self, path: Path) -> None:
        self._path, self._tags = path, list[str]()
        self._open: list[Element] = []
        self._expressions = Expressions(path)
        self._parts = self._expressions.parts
        self._with_ranges: set[str] = set()
        self._expanded: set[str] = set()
        self.events: dict[str, bool] = {}
        self.controllable: list[str] = []
        self.components: list[_Component] = []
        self.is_module = False
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler, self.parser.EndElementHandler = self._start, self._end
        self.parser.StartDoctypeDeclHandler = self._refuse_declarations
        self.parser.EntityDeclHandler = self._refuse_declarations

    def bad(self, expected: str, found: str) -> FileError:
        return FileError(f"{self._path}: line {self.parser.CurrentLineNumber}", expected=expected, found=found)

    def _refuse_declarations(self, *_: object) -> None:
        raise self.bad("XML without a document type and without entities", "one, which could be a bomb")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        self._tags.append(name)
        if len(self._tags) > _DEEPEST:
            raise self.bad(f"elements nested at most {_DEEPEST} deep", "more")
        self.is_module |= self._tags == ["Module"]
        refused = "Conditional" if name.startswith("Conditional") else name
        if refused in _REFUSED:
            raise self.bad(_REFUSED[refused], f"a {name[:40]}")
        if self._open:
            element = Element(name, attributes, self.parser.CurrentLineNumber)
            self._open[-1].children.append(element)
            self._open.append(element)
        elif name in _UNITS and "EventAliasList" not in self._tags:
            self._open.append(Element(name, attributes, self.parser.CurrentLineNumber))
        elif name in ("SimpleNode", "Edge"):
            raise self.bad("states and edges inside an automaton", "some outside")
        elif name in ("ForeachEvent", "ForeachEdge") and "EventAliasList" not in self._tags:
            raise self.bad(f"a {name} inside an automaton", "one outside")

    def _end(self, _tag: str) -> None:
        self._tags.pop()
        if not self._open:
            return
        element = self._open.pop()
        if self._open:
            return
        if element.tag == "ConstantAlias":
            self._expressions.define(element)
        elif element.tag == "EventDecl":
            self._declare(element)
        else:
            self._add([element], {})

    def _declare(self, declaration: Element) -> None:
        name, attributes = self._named(declaration), declaration.attributes
        ranges = [
            each for part in self._parts(declaration, {}) if part.tag == "RangeList" for each in self._parts(part, {})
        ]
        names = [name]
        for expression in ranges:
            values, longer = self._expressions.range_of(expression, {}), list[str]()
            for prefix in names:
                for value in values:
                    self._expressions.step(expression)
                    longer.append(self._expressions.with_index(expression, prefix, value))
            names = longer
        if ranges:
            self._with_ranges.add(name)
            if not self.events.keys().isdisjoint(names):
                raise self._expressions.bad(declaration, "each event once", f"another one for {name[:40]!r}")
        if attributes.get("Kind") != "PROPOSITION":
            self.events.update(dict.fromkeys(names, attributes.get("Observable", "true") != "false"))
            if attributes.get("Kind") == "CONTROLLABLE":
                self.controllable += names

    def _add(self, elements: list[Element], variables: Mapping[str, Index]) -> None:
        """Adds automata, and those that a foreach repeats."""
        for element in elements:
            if element.tag in ("ForeachComponent", "Foreach"):
                for inner, body in self._expressions.instances(element, variables):
                    self._add(body, inner)
            elif element.tag == "SimpleComponent":
                self._add_component(element, variables)
            else:
                raise self._expressions.bad(element, "automata in a foreach over automata", f"a {element.tag[:40]}")

    def _add_component(self, element: Element, variables: Mapping[str, Index]) -> None:
        identifiers = [each for each in self._parts(element, variables) if each.tag == "IndexedIdentifier"]
        indexed = self._expressions.indexed(identifiers[0], variables) if identifiers else ""
        component = _Component(indexed or self._named(element))
        if variables or self._with_ranges:
            self._expressions.step(element, len(self.events))  # each system lists all events of the module
        component.is_property = element.attributes.get("Kind", "").upper() == "PROPERTY"
        if variables:
            if component.name in self._expanded:
                raise self._expressions.bad(
                    element, "an automaton with an index of its own for each value", f"{component.name[:40]!r} twice"
                )
            self._expanded.add(component.name)
            if len(self._expanded) > _MOST_AUTOMATA:
                raise self._expressions.bad(element, f"at most {_MOST_AUTOMATA} automata from foreach", "more")
        self.components.append(component)
        graphs = [each for each in self._parts(element, variables) if each.tag == "Graph"]
        for part in chain.from_iterable(self._parts(graph, variables) for graph in graphs):
            if part.tag == "NodeList":
                self._add_states(component, part, variables)
            elif part.tag == "EdgeList":
                self._add_edges(component, self._parts(part, variables), variables)
            elif part.tag == "LabelBlock":
                component.blocked.update(self._labels(self._parts(part, variables), variables))

    def _add_states(self, component: _Component, nodes: Element, variables: Mapping[str, Index]) -> None:
        for node in self._parts(nodes, variables):
            if node.tag != "SimpleNode":
                raise self._expressions.bad(node, "states that are written out", f"a {node.tag[:40]}")
            state = self._named(node)
            if state in component.states:
                raise self._expressions.bad(node, "each state once", repr(state[:40]))
            component.states[state] = None
            if node.attributes.get("Initial") == "true":
                component.initial.append(state)

    def _add_edges(self, component: _Component, edges: list[Element], variables: Mapping[str, Index]) -> None:
        for edge in edges:
            if edge.tag in ("ForeachEdge", "Foreach"):
                for inner, body in self._expressions.instances(edge, variables):
                    self._add_edges(component, body, inner)
            elif edge.tag == "Edge":
                source, target = edge.attributes.get("Source", ""), edge.attributes.get("Target", "")
                for block in self._parts(edge, variables):
                    if block.tag == "LabelBlock":
                        for event in self._labels(self._parts(block, variables), variables):
                            component.moves[source, event, target] = None
            else:
                raise self._expressions.bad(edge, "edges", f"a {edge.tag[:40]}")

    def _labels(self, labels: list[Element], variables: Mapping[str, Index]) -> Iterator[str]:
        """The events of an edge, or those that an automaton blocks."""
        for label in labels:
            if label.tag in ("ForeachEvent", "Foreach"):
                for inner, body in self._expressions.instances(label, variables):
                    yield from self._labels(body, inner)
            elif label.tag == "IndexedIdentifier":
                event = self._expressions.indexed(label, variables)
                if event not in self.events:
                    raise self._expressions.bad(label, "events that the module declares", repr(event[:40]))
                yield event
            elif label.tag == "SimpleIdentifier":
                event = self._named(label)
                if event in self._with_ranges:
                    raise self._expressions.bad(label, f"an index for each range of {event[:40]!r}", "none")
                if event in variables:
                    raise self._expressions.bad(label, "an event", f"{event[:40]!r}, the variable of a foreach")
                yield event
            else:
                raise self._expressions.bad(label, "events of an edge", f"a {label.tag[:40]}")

    def _named(self, element: Element) -> str:
        if not element.attributes.get("Name"):
            raise self._expressions.bad(element, "a Name", "none")
        return element.attributes["Name"]


def read_wmod(path: str | Path, *, notes: list[str] | None = None) -> LogicalSystem:
    """The logical system in a module of Supremica's that has one automaton."""
    module = _read_module(Path(path), notes)
    if len(module.components) != 1:
        names = ", ".join(repr(each.name[:40]) for each in module.components[:5]) or "none"
        raise FileError(
            str(path),
            expected="one automaton; symveil opacity takes several, as parts of a system",
            found=f"{len(module.components)} ({names})",
        )
    return _system(Path(path), module, module.components[0])


def read_wmod_parts(path: str | Path, *, notes: list[str] | None = None) -> list[LogicalSystem]:
    """All automata of a module of Supremica's, as parts that share events."""
    module = _read_module(Path(path), notes)
    moved = {event for component in module.components for _, event, _ in component.moves}
    for component in module.components:
        common = component.blocked & moved
        if common:
            raise FileError(
                str(path),
                expected="automata that block no event of another one",
                found=f"{min(common)[:40]!r}, blocked by {component.name[:40]!r}",
            )
    if not module.components:
        raise FileError(str(path), expected="an automaton", found="none")
    return [_system(Path(path), module, component) for component in module.components]


def _read_module(file: Path, notes: list[str] | None) -> _Module:
    content = read_bytes(file, what=".wmod file", at_most=_LARGEST_FILE)
    module = _Module(file)
    try:
        module.parser.Parse(content, True)
    except FileError:
        raise
    except expat.ExpatError as error:
        actual = expat.ErrorString(error.code)
        raise FileError(f"{file}: line {error.lineno}", expected="XML", found=actual) from None
    except (LookupError, ValueError):
        raise FileError(str(file), expected="XML in an encoding that expat reads", found="another") from None
    if not module.is_module:
        raise FileError(str(file), expected="a Module of Supremica's", found="another XML document")
    moving = [component for component in module.components if not component.is_property]
    if moving and len(moving) < len(module.components):
        if notes is not None:
            notes.append(f"{len(module.components) - len(moving)} properties were left out: they ask, and move nothing")
        module.components = moving
    return module


def _system(file: Path, module: _Module, component: _Component) -> LogicalSystem:
    if not component.initial:
        raise FileError(str(file), expected='a state with Initial="true"', found="none")
    for source, event, target in component.moves:
        if event not in module.events:
            raise FileError(str(file), expected="events that the module declares", found=repr(event[:40]))
        for state in (source, target):
            if state not in component.states:
                raise FileError(str(file), expected="edges between states of the automaton", found=repr(state[:40]))
    with placed(lambda where: f"{file}: {where}"):
        return LogicalSystem.from_transitions(
            list(component.moves),
            initial=component.initial,
            observable=[event for event, seen in module.events.items() if seen],
            states=list(component.states),
            controllable=list(dict.fromkeys(module.controllable)),
        )
