"""Automata of Supremica and Waters (`.wmod`): a module becomes a logical system for each automaton.

An event is observable unless it says Observable="false", and controllable if its kind is CONTROLLABLE; one of the kind
PROPOSITION marks states, and moves nothing. An automaton of the kind PROPERTY is a question about the others and not
part of the system: it is left out, unless there is nothing else.
A foreach over automata, edges or events of an edge is expanded, and so is an event with ranges: `take[1][left]`.
What would have to be guessed is refused: several automata where one system is asked for, guards and actions, groups of
nodes, an event with ranges and without an index, and events that one automaton blocks and another has.

An expression is an integer, a member of an enumeration, a range (`1 .. N`, or an enumeration) or a truth value.
All work that a foreach or an index repeats is counted, so that a short file cannot ask for a large model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from symveil.errors import FileError
from symveil.formats.limits import LIMITS
from symveil.formats.reading import placed, read_bytes
from symveil.formats.xml_text import XmlReader
from symveil.models.stochastic_system import LogicalSystem

_LARGEST_INTEGER = 2**31 - 1
_INTEGER = re.compile(r"-?[0-9]{1,10}")
_WRAPPERS = {"ComponentList", "EdgeList", "EventList", "LabelBlock"}
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left // right,
    "%": lambda left, right: left % right,
}
_ORDER: dict[str, Callable[[int, int], bool]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}

Index: TypeAlias = int | str
Value: TypeAlias = int | str | range | tuple[str, ...]  # a truth value is a bool, which is an int


@dataclass(slots=True)
class Element:
    """An element of the file, with the line on which it begins."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)


class Expressions:
    """Evaluates expressions of one module, and counts the steps of everything that is expanded."""

    def __init__(self, path: Path) -> None:
        self._path, self._steps = path, 0
        self._constants: dict[str, Value] = {}
        self._members: set[str] = set()

    def bad(self, element: Element, expected: str, found: str) -> FileError:
        """The error of an element, at its line."""
        return FileError(f"{self._path}: line {element.line}", expected=expected, found=found)

    def step(self, element: Element, steps: int = 1) -> None:
        """Counts work that was expanded, before it is done."""
        self._steps += steps
        if self._steps > LIMITS.now.wmod_steps:
            raise self.bad(
                element, f"foreach, ranges and indices that expand in at most {LIMITS.now.wmod_steps} steps", "more"
            )

    def parts(self, element: Element, variables: Mapping[str, Index]) -> list[Element]:
        """The children that mean something: neither comments nor where something is drawn. They count in a foreach."""
        if variables:
            self.step(element, len(element.children))
        return [each for each in element.children if each.tag != "Comment" and not each.tag.endswith("Geometry")]

    def define(self, alias: Element) -> None:
        """A constant of the module; its expression may have those before it."""
        name = alias.attributes.get("Name", "")
        if not name or name in self._constants or name in self._members:
            raise self.bad(alias, "a Name of its own for each ConstantAlias", repr(name[:40]))
        inside = self.parts(alias, {})
        if len(inside) == 1 and inside[0].tag == "ConstantAliasExpression":
            inside = self.parts(inside[0], {})
        self._constants[name] = self._value(self._only(inside, alias), {})

    def range_of(self, expression: Element, variables: Mapping[str, Index]) -> range | tuple[str, ...]:
        """The values of a range or an enumeration, in its order."""
        value = self._value(expression, variables)
        if isinstance(value, range | tuple):
            return value
        raise self.bad(expression, "a range, such as 1 .. 3 or an enumeration", _kind(value))

    def indexed(self, identifier: Element, variables: Mapping[str, Index]) -> str:
        """The name of an IndexedIdentifier, with the values of its indices: `take[1][left]`."""
        name, indices = identifier.attributes.get("Name", ""), self.parts(identifier, variables)
        if not name or not indices:
            raise self.bad(identifier, "a Name and at least one index in an IndexedIdentifier", "less")
        for expression in indices:
            value = self._value(expression, variables)
            if isinstance(value, bool | range | tuple):
                raise self.bad(expression, "an integer or a member of an enumeration as an index", _kind(value))
            name = self.with_index(identifier, name, value)
        return name

    def with_index(self, element: Element, name: str, value: Index) -> str:
        """A name with one index more."""
        name = f"{name}[{value}]"
        if len(name) > LIMITS.now.wmod_name:
            raise self.bad(
                element, f"a name with its indices of at most {LIMITS.now.wmod_name} characters", "a longer one"
            )
        return name

    def instances(
        self, foreach: Element, variables: Mapping[str, Index]
    ) -> Iterator[tuple[dict[str, Index], list[Element]]]:
        """What a foreach repeats, for each value of its variable for which its guard is true."""
        name, inside = foreach.attributes.get("Name", ""), self.parts(foreach, variables)
        if not inside:
            raise self.bad(foreach, f"a range in a {foreach.tag}", "none")
        values = self.range_of(inside[0], variables)
        if not name or name in variables or name in self._constants or name in self._members:
            raise self.bad(foreach, f"a variable with a name of its own in a {foreach.tag}", repr(name[:40]))
        guard, body = None, inside[1:]
        if body and body[0].tag == "Guard":
            guard, body = self._only(self.parts(body[0], variables), body[0]), body[1:]
        if len(body) == 1 and body[0].tag in _WRAPPERS:
            body = self.parts(body[0], variables)
        for value in values:
            self.step(foreach, 1 + len(body))
            inner = {**variables, name: value}
            if guard is None or self._truth(guard, inner):
                yield inner, body

    def _only(self, elements: list[Element], parent: Element) -> Element:
        if len(elements) != 1:
            raise self.bad(parent, f"one expression in a {parent.tag}", f"{len(elements)}")
        return elements[0]

    def _value(self, expression: Element, variables: Mapping[str, Index]) -> Value:
        # the depth is that of the elements of the file, which is bounded where they are read
        self.step(expression)
        if expression.tag == "IntConstant":
            text = expression.attributes.get("Value", "")
            if not _INTEGER.fullmatch(text):
                raise self.bad(expression, "an integer in an IntConstant", repr(text[:40]))
            return self._integer(expression, int(text))
        if expression.tag == "SimpleIdentifier":
            return self._named(expression, variables)
        if expression.tag == "EnumSetExpression":
            return self._enumeration(expression)
        operator = expression.attributes.get("Operator", "")
        if expression.tag == "UnaryExpression" and operator in ("-", "!"):
            operand = self._only(self.parts(expression, variables), expression)
            if operator == "!":
                return not self._truth(operand, variables)
            return self._integer(expression, -self._number(operand, variables))
        if expression.tag == "BinaryExpression":
            return self._binary(expression, operator, variables)
        actual = f"a {expression.tag[:40]}" + (f" with the operator {operator[:10]!r}" if operator else "")
        raise self.bad(expression, "an expression of constants, variables of foreach and + - * / % .. == < & |", actual)

    def _binary(self, expression: Element, operator: str, variables: Mapping[str, Index]) -> Value:
        operands = self.parts(expression, variables)
        if len(operands) != 2:
            raise self.bad(expression, "two operands in a BinaryExpression", f"{len(operands)}")
        if operator in ("&", "|"):
            left_true, right_true = (self._truth(operand, variables) for operand in operands)
            return left_true and right_true if operator == "&" else left_true or right_true
        if operator in ("==", "!="):
            one, other = (self._value(operand, variables) for operand in operands)
            if type(one) is not type(other) or isinstance(one, range | tuple):
                raise self.bad(expression, f"two values of one kind beside {operator}", f"{_kind(one)}, {_kind(other)}")
            return (one == other) == (operator == "==")
        if operator not in _ARITHMETIC and operator not in _ORDER and operator != "..":
            raise self.bad(expression, "one of the operators + - * / % .. == != < <= > >= & |", repr(operator[:10]))
        left, right = (self._number(operand, variables) for operand in operands)
        if operator == "..":
            return range(left, right + 1)
        if operator in _ORDER:
            return _ORDER[operator](left, right)
        if operator in "/%" and (left < 0 or right < 1):
            raise self.bad(expression, f"a {operator} of an integer from 0 by one from 1", f"{left} by {right}")
        return self._integer(expression, _ARITHMETIC[operator](left, right))

    def _named(self, identifier: Element, variables: Mapping[str, Index]) -> Value:
        name = identifier.attributes.get("Name", "")
        if name in variables:
            return variables[name]
        if name in self._constants:
            return self._constants[name]
        if name in self._members:
            return name
        expected = "a constant, a variable of a foreach or a member of an enumeration that was declared before"
        raise self.bad(identifier, expected, repr(name[:40]))

    def _enumeration(self, expression: Element) -> tuple[str, ...]:
        names: dict[str, None] = {}
        self.step(expression, len(expression.children))
        for member in self.parts(expression, {}):
            name = member.attributes.get("Name", "")
            if member.tag != "SimpleIdentifier" or not name or name in names or name in self._constants:
                raise self.bad(member, "an enumeration of different names, each a SimpleIdentifier", repr(name[:40]))
            names[name] = None
        self._members.update(names)
        return tuple(names)

    def _number(self, expression: Element, variables: Mapping[str, Index]) -> int:
        value = self._value(expression, variables)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise self.bad(expression, "an integer", _kind(value))

    def _truth(self, expression: Element, variables: Mapping[str, Index]) -> bool:
        value = self._value(expression, variables)
        if isinstance(value, bool):
            return value
        raise self.bad(expression, "a comparison, which is true or false", _kind(value))

    def _integer(self, expression: Element, value: int) -> int:
        if abs(value) > _LARGEST_INTEGER:
            raise self.bad(expression, f"integers up to {_LARGEST_INTEGER}", "a larger one")
        return value


def _kind(value: Value) -> str:
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, int):
        return "an integer"
    return "a member of an enumeration" if isinstance(value, str) else "a range"


WMOD_SUFFIX = ".wmod"

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


class _Module(XmlReader):
    """Collects a module: each constant, event and automaton when its element ends."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._open: list[Element] = []
        self._expressions = Expressions(path)
        self._parts = self._expressions.parts
        self._with_ranges: set[str] = set()
        self._expanded: set[str] = set()
        self.events: dict[str, bool] = {}
        self.controllable: list[str] = []
        self.components: list[_Component] = []
        self.is_module = False

    def started(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins: a unit of the module, a part of one, or what is not read."""
        self.is_module |= self.path == ["Module"]
        refused = "Conditional" if name.startswith("Conditional") else name
        if refused in _REFUSED:
            raise self.refusal(_REFUSED[refused], f"a {name[:40]}")
        if self._open:
            element = Element(name, attributes, self.line)
            self._open[-1].children.append(element)
            self._open.append(element)
        elif name in _UNITS and "EventAliasList" not in self.path:
            self._open.append(Element(name, attributes, self.line))
        elif name in ("SimpleNode", "Edge"):
            raise self.refusal("states and edges inside an automaton", "some outside")
        elif name in ("ForeachEvent", "ForeachEdge") and "EventAliasList" not in self.path:
            raise self.refusal(f"a {name} inside an automaton", "one outside")

    def ended(self) -> None:
        """A unit is complete where its own element ends."""
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
        lists = (part for part in self._parts(declaration, {}) if part.tag == "RangeList")
        ranges = [each for part in lists for each in self._parts(part, {})]
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
                expected = "an automaton with an index of its own for each value"
                raise self._expressions.bad(element, expected, f"{component.name[:40]!r} twice")
            self._expanded.add(component.name)
            if len(self._expanded) > LIMITS.now.wmod_automata:
                raise self._expressions.bad(
                    element, f"at most {LIMITS.now.wmod_automata} automata from foreach", "more"
                )
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
            actual = f"{min(common)[:40]!r}, blocked by {component.name[:40]!r}"
            raise FileError(str(path), expected="automata that block no event of another one", found=actual)
    if not module.components:
        raise FileError(str(path), expected="an automaton", found="none")
    return [_system(Path(path), module, component) for component in module.components]


def _read_module(file: Path, notes: list[str] | None) -> _Module:
    module = _Module(file)
    module.read([read_bytes(file, what=".wmod file", at_most=LIMITS.now.file_bytes)])
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
    with placed(file):
        return LogicalSystem.from_transitions(
            list(component.moves),
            initial=component.initial,
            observable=[event for event, seen in module.events.items() if seen],
            states=list(component.states),
            controllable=list(dict.fromkeys(module.controllable)),
        )
