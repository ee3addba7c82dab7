"""Automata of Supremica and Waters (`.wmod`): a module becomes a logical system for each automaton.

An event is observable unless it says Observable="false", and controllable if its kind is CONTROLLABLE; one of the kind
PROPOSITION marks states, and moves nothing.
What would have to be guessed is refused: several automata where one system is asked for, guards and actions, groups of
nodes, events with an index, and events that one automaton blocks and another has.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from symveil.errors import FileError
from symveil.io.models.places import placed
from symveil.io.reading import read_bytes
from symveil.models.stochastic_system import LogicalSystem

WMOD_SUFFIX = ".wmod"

_LARGEST_FILE = 64 * 1024 * 1024
_DEEPEST = 100
_REFUSED = {
    "GuardActionBlock": "edges without guards and actions",
    "GroupNode": "edges between single states, not groups of nodes",
    "IndexedIdentifier": "events without an index",
    "ForeachComponent": "automata that are written out",
    "ForeachEdge": "edges that are written out",
    "ForeachEvent": "events that are written out",
    "Instance": "automata of the module itself",
    "VariableComponent": "automata without variables",
}


@dataclass(slots=True)
class _Component:
    name: str
    states: dict[str, None] = field(default_factory=dict)
    initial: list[str] = field(default_factory=list)
    moves: dict[tuple[str, str, str], None] = field(default_factory=dict)
    blocked: set[str] = field(default_factory=set)


class _Module:
    """Collects a module from expat's calls."""

    def __init__(self, path: Path) -> None:
        self._path, self._tags = path, list[str]()
        self._edge = ("", "")
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
        if name in _REFUSED:
            raise self.bad(_REFUSED[name], f"a {name}")
        if name == "EventDecl" and attributes.get("Kind") != "PROPOSITION":
            self.events[self._named(attributes)] = attributes.get("Observable", "true") != "false"
            if attributes.get("Kind") == "CONTROLLABLE":
                self.controllable.append(attributes["Name"])
        elif name == "SimpleComponent":
            self.components.append(_Component(self._named(attributes)))
        elif name == "SimpleNode" and "NodeList" in self._tags:
            component, state = self._component(), self._named(attributes)
            if state in component.states:
                raise self.bad("each state once", repr(state[:40]))
            component.states[state] = None
            if attributes.get("Initial") == "true":
                component.initial.append(state)
        elif name == "Edge":
            self._edge = attributes.get("Source", ""), attributes.get("Target", "")
        elif name == "SimpleIdentifier" and self._tags[-2:-1] == ["LabelBlock"]:
            if "Edge" in self._tags:
                self._component().moves[self._edge[0], self._named(attributes), self._edge[1]] = None
            elif self._tags[-3:-2] == ["Graph"]:
                self._component().blocked.add(self._named(attributes))

    def _component(self) -> _Component:
        if not self.components:
            raise self.bad("states and edges inside an automaton", "some outside")
        return self.components[-1]

    def _named(self, attributes: dict[str, str]) -> str:
        if not attributes.get("Name"):
            raise self.bad("a Name", "none")
        return attributes["Name"]

    def _end(self, _tag: str) -> None:
        self._tags.pop()


def read_wmod(path: str | Path, *, notes: list[str] | None = None) -> LogicalSystem:
    """The logical system in a module of Supremica's that has one automaton."""
    del notes
    module = _read_module(Path(path))
    if len(module.components) != 1:
        names = ", ".join(repr(each.name[:40]) for each in module.components[:5]) or "none"
        raise FileError(
            str(path),
            expected="one automaton; symveil opacity takes several, as parts of a system",
            found=f"{len(module.components)} ({names})",
        )
    return _system(Path(path), module, module.components[0])


def read_wmod_parts(path: str | Path) -> list[LogicalSystem]:
    """All automata of a module of Supremica's, as parts that share events."""
    module = _read_module(Path(path))
    for component in module.components:
        for other in module.components:
            common = component.blocked & {event for _, event, _ in other.moves}
            if common:
                raise FileError(
                    str(path),
                    expected="automata that block no event of another one",
                    found=f"{min(common)[:40]!r}, blocked by {component.name[:40]!r}",
                )
    if not module.components:
        raise FileError(str(path), expected="an automaton", found="none")
    return [_system(Path(path), module, component) for component in module.components]


def _read_module(file: Path) -> _Module:
    content = read_bytes(file, what=".wmod file", at_most=_LARGEST_FILE)
    module = _Module(file)
    try:
        module.parser.Parse(content, True)
    except FileError:
        raise
    except expat.ExpatError as error:
        found = expat.ErrorString(error.code)
        raise FileError(f"{file}: line {error.lineno}", expected="XML", found=found) from None
    except (LookupError, ValueError):
        raise FileError(str(file), expected="XML in an encoding that expat reads", found="another") from None
    if not module.is_module:
        raise FileError(str(file), expected="a Module of Supremica's", found="another XML document")
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
