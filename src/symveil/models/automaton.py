"""Automata and transition systems: words are sequences of symbols (actions) along their edges.

The diagram of a model: a node per state, an arrow per pair of states, probabilities in red, secrets marked. As in the
figures of Z25, what an outsider cannot see is dashed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, cast

from symveil.errors import ModelError
from symveil.models.names import (
    counted,
    mentioned_names,
    ordered_names,
    require_known,
    require_name,
    require_names,
    require_rows,
    require_some,
    shown,
)
from symveil.pictures.diagram import Diagram, Edge, Node
from symveil.pictures.layers import state_diagram
from symveil.pictures.svg import Drawable
from symveil.pictures.text import symbol_label


def model_diagram(
    title: str,
    states: Sequence[str],
    edges: Iterable[Edge],
    *,
    initial: Collection[str] = (),
    accepting: Collection[str] = (),
    marked: Collection[str] = (),
    labels: Sequence[str] | None = None,
    **meanings: str,
) -> Diagram:
    """A model's states and the arrows between them; `meanings` are the lines of the legend.

    >>> arrows = [Edge(source="p", target="q", label="a")]
    >>> [(node.label, node.accepting) for node in model_diagram("two", ["p", "q"], arrows, accepting=["q"]).nodes]
    [(('p',), False), (('q',), True)]
    """
    names = [(symbol_label(state),) for state in states] if labels is None else list(zip(states, labels, strict=True))
    first, ends, secret = frozenset(initial), frozenset(accepting), frozenset(marked)
    return state_diagram(
        title=title,
        nodes=[
            Node(key=state, label=name, initial=state in first, accepting=state in ends, marked=state in secret)
            for state, name in zip(states, names, strict=True)
        ],
        edges=edges,
        advice="draw a smaller model, or a part of this one",
        **meanings,
    )


Transition = tuple[str, str | None, str]
"""(state, symbol, state); the symbol None is a silent move."""

_COLUMNS = "three values: state, symbol, state"


@dataclass(frozen=True, slots=True, kw_only=True)
class Automaton(Drawable):
    """A finite automaton, deterministic or not, with silent moves (symbol None) if need be.

    Parameters
    ----------
    states
        The names of the states.
    transitions
        (state, symbol, state) each; symbol None is a silent move.
    initial
        The state in which a word begins.
    accepting
        The states in which a word may end.

    >>> Automaton.from_transitions([("p", "a", "q"), ("q", None, "p")], initial="p", accepting=["q"])
    Automaton(2 states, 2 transitions, initial 'p', 1 accepting)
    """

    kind: ClassVar[str] = "automaton"

    states: tuple[str, ...]
    transitions: tuple[Transition, ...]
    initial: str
    accepting: tuple[str, ...]

    def __post_init__(self) -> None:
        known = _validate(self, silent_allowed=True)
        object.__setattr__(self, "accepting", require_some(self.accepting, known, where="accepting", kind="state"))

    @classmethod
    def from_transitions(
        cls,
        transitions: Iterable[Transition],
        *,
        initial: str,
        accepting: Sequence[str],
        states: Sequence[str] | None = None,
    ) -> Self:
        """An automaton from rows (state, symbol or None, state)."""
        rows = cast("list[Transition]", require_rows(transitions, columns=_COLUMNS))
        names = ordered_names(states, mentioned_names(rows, 0, 2), kind="state")
        return cls(states=names, transitions=tuple(rows), initial=initial, accepting=accepting)  # type: ignore[arg-type]

    def to_diagram(self) -> Diagram:
        """The automaton: accepting states with a double outline, silent moves dashed.

        >>> automaton = Automaton.from_transitions([("p", "a", "q"), ("q", None, "p")], initial="p", accepting=["q"])
        >>> [(edge.label, edge.dashed) for edge in automaton.to_diagram().edges]
        [('a', False), ('ε', True)]
        """
        return _diagram("Automaton", self, accepting=self.accepting)

    def __repr__(self) -> str:
        return (
            f"Automaton({len(self.states)} states, {len(self.transitions)} transitions, initial {self.initial!r}, "
            f"{len(self.accepting)} accepting)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionSystem(Drawable):
    """A transition system (J19 Definition 4): every run that its transitions allow is a word of actions.

    Parameters
    ----------
    states
        The names of the states.
    transitions
        (state, action, state) each.
    initial
        The state in which a run begins.

    >>> TransitionSystem.from_transitions([("s0", "go", "s1"), ("s1", "back", "s0")], initial="s0")
    TransitionSystem(2 states, 2 transitions, initial 's0')
    """

    kind: ClassVar[str] = "transition-system"

    states: tuple[str, ...]
    transitions: tuple[tuple[str, str, str], ...]
    initial: str

    def __post_init__(self) -> None:
        _validate(self, silent_allowed=False)

    @classmethod
    def from_transitions(
        cls, transitions: Iterable[tuple[str, str, str]], *, initial: str, states: Sequence[str] | None = None
    ) -> Self:
        """A transition system from rows (state, action, state)."""
        rows = cast("list[tuple[str, str, str]]", require_rows(transitions, columns=_COLUMNS))
        names = ordered_names(states, mentioned_names(rows, 0, 2), kind="state")
        return cls(states=names, transitions=tuple(rows), initial=initial)

    def to_diagram(self) -> Diagram:
        """The states and the actions between them."""
        return _diagram("Transition system", self)

    def __repr__(self) -> str:
        return (
            f"TransitionSystem({len(self.states)} states, {len(self.transitions)} transitions, "
            f"initial {self.initial!r})"
        )


def _diagram(noun: str, model: Automaton | TransitionSystem, *, accepting: Sequence[str] = ()) -> Diagram:
    return model_diagram(
        f"{noun} of {counted(len(model.states), 'state')}",
        model.states,
        [
            Edge(
                source=source,
                target=target,
                label="ε" if symbol is None else symbol_label(symbol),
                dashed=symbol is None,
            )
            for source, symbol, target in model.transitions
        ],
        initial=(model.initial,),
        accepting=accepting,
        dashed_meaning="silent move",
    )


def _validate(model: Automaton | TransitionSystem, *, silent_allowed: bool) -> dict[str, None]:
    """What both kinds promise; returns the states."""
    known = require_names(model.states, where="states", kind="state")
    if not known:
        raise ModelError("states", expected="at least one state", found="none")
    # Lists would make a frozen model changeable and unequal to its copy.
    object.__setattr__(model, "states", tuple(known))
    object.__setattr__(model, "transitions", tuple(require_rows(model.transitions, columns=_COLUMNS)))
    seen: set[Transition] = set()
    for index, row in enumerate(model.transitions):
        where = f"transitions[{index}]"
        source, symbol, target = row
        require_known(source, known, where=f"{where}[0]", kind="state")
        require_known(target, known, where=f"{where}[2]", kind="state")
        if symbol is not None or not silent_allowed:
            require_name(symbol, where=f"{where}[1]", kind="symbol")
        if row in seen:
            raise ModelError(where, expected="each transition once", found=f"{shown(row)} again")
        seen.add(row)
    require_known(model.initial, known, where="initial", kind="state")
    return known
