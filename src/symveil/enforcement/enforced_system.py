"""A system behind a filter or under a supervisor, as a system of its own: what the checkers of opacity are asked about.

Nothing here knows how the filter was found.

The least restrictive supervisor makes a system opaque by disabling events. It sees what the observer sees and disables
controllable events, all of which are observable. Then the runs that show an observation are the same with and without
it, so are the estimates, and what remains to be done is to keep the observations away from violations against what
cannot be disabled (docs/theory/chains-and-opacity.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeVar

from symveil.enforcement.edit_game import EditFunction, Events
from symveil.errors import InternalError
from symveil.graphs.state_sets import StateSet
from symveil.graphs.walk import Walk
from symveil.models.names import counted, unlike
from symveil.models.stochastic_system import LogicalSystem, PartiallyObserved, StochasticSystem
from symveil.pictures.diagram import Diagram, Edge, Node
from symveil.pictures.layers import state_diagram
from symveil.pictures.svg import Drawable
from symveil.pictures.text import symbol_label
from symveil.verification.opacity.estimators import Question, estimator
from symveil.verification.opacity.exploration import SINK, ExplorationLimit, can_reach_sink, explore
from symveil.verification.opacity.observation import Observed, impossible_event, observer

Key = TypeVar("Key")


def filtered_system(system: PartiallyObserved, function: EditFunction) -> PartiallyObserved:
    """The system as an observer sees it who is behind the filter and knows it.

    A state is a state of the system and one of the filter, and what is still to be shown. When an observable event
    happens, its answer is shown event by event; from the first one on the run is where the event has led to. Where
    nothing is shown, an unobserved move leads there at once. Where two answers of one state begin alike, a system with
    probabilities first goes, unobserved, to a state for each, which is secret as the state was that it comes from and
    belongs to the same instant: every transition keeps an event of its own.
    """
    observable, secret = set(system.observable), set(system.secret)
    silent = {event: unlike(f"{event}·", observable | {move[1] for move in system.moves}) for event in observable}
    names = _Names[_Node](_spelled)
    rows: list[tuple[str, str, str, Fraction]] = []
    border: list[_Node] = [(state, 0, ()) for state in system.initial_states]
    initial = [names[position] for position in border]
    hidden = [names[position] for position in border if position[0] in secret]
    out = _moves_of(system)

    def entered(position: _Node) -> str:
        if position not in names:
            border.append(position)
            if position[0] in secret:
                hidden.append(names[position])
        return names[position]

    while border:
        position = state, number, rest = border.pop()
        if rest:
            rows.append((names[position], rest[0] or "", entered((state, number, rest[1:])), Fraction(1)))
            continue
        beginnings = Counter(
            function.answers[number].get(event, ((), 0))[0][:1] for event, _, _ in out[state] if event in observable
        )
        for event, target, chance in out[state]:
            if event not in observable:
                rows.append((names[position], event, entered((target, number, ())), chance))
                continue
            if event not in function.answers[number]:
                raise InternalError("synthesis: the function has no answer for an event; please report this")
            shown, after = function.answers[number][event]
            if not shown:
                rows.append((names[position], silent[event], entered((target, after, ())), chance))
                continue
            following = entered((target, after, shown[1:]))
            if isinstance(system, LogicalSystem) or beginnings[shown[:1]] == 1:
                rows.append((names[position], shown[0], following, chance))
                continue
            stop = names[state, number, (event, None)]
            rows += [(names[position], silent[event], stop, chance), (stop, shown[0], following, Fraction(1))]
            hidden += [stop] if state in secret else []
    if isinstance(system, StochasticSystem):
        return StochasticSystem(
            states=tuple(names.given),
            transitions=tuple(rows),
            initial=initial[0],
            observable=system.observable,
            secret=tuple(hidden),
        )
    return LogicalSystem(
        states=tuple(names.given),
        transitions=tuple(dict.fromkeys(row[:3] for row in rows)),
        initial=tuple(initial),
        observable=system.observable,
        secret=tuple(hidden),
    )


_Node = tuple[str, int, tuple[str | None, ...]]
"""A state, one of the filter, and what is still to be shown; or an event and None: it is being answered."""


def _spelled(position: _Node) -> str:
    state, number, rest = position
    return "·".join([state, str(number), *("" if each is None else each for each in rest)])


def _moves_of(system: PartiallyObserved) -> dict[str, list[tuple[str, str, Fraction]]]:
    """The moves of each state; those of a logical system with the probability 1, which has no meaning there."""
    out: dict[str, list[tuple[str, str, Fraction]]] = {state: [] for state in system.states}
    if isinstance(system, StochasticSystem):
        for source, event, target, probability in system.transitions:
            out[source].append((event, target, probability))
    else:
        for source, event, target in system.transitions:
            out[source].append((event, target, Fraction(1)))
    return out


Machine = Sequence[Mapping[str, int]]
"""A deterministic machine over observable events: for each state where they lead; state 0 is the first."""


def strings_shown(function: EditFunction, observable: Sequence[str]) -> Machine:
    """All that a filter can show, and what that begins with, as a deterministic machine."""
    names = _Names[tuple[int, tuple[str, ...]]](lambda state: "·".join([str(state[0]), *state[1]]))
    silent = unlike("nothing", observable)
    rows: dict[tuple[str, str, str], None] = {}
    for number, answers in enumerate(function.answers):
        for shown, after in answers.values():
            here = names[number, ()]
            for position, event in enumerate(shown, start=1):
                following = names[after, shown[position:]]
                rows[here, event, following] = None
                here = following
            if not shown:
                rows[here, silent, names[after, ()]] = None
    start = names[0, ()]
    machine = observer(
        LogicalSystem.from_transitions(list(rows), initial=start, observable=observable, states=list(names.given))
    )
    moves: list[dict[str, int]] = [{} for _ in machine.sets]
    for source, event_number, target in machine.transitions:
        moves[source][observable[event_number]] = target
    return moves


def part_shown_as(system: PartiallyObserved, moves: Machine) -> LogicalSystem:
    """The runs of a system whose observation is among the strings of a machine.

    The machine is deterministic, so after one of its strings the estimates, delayed ones too, are those of the system
    itself. A string that the system cannot produce is refused: that would be a mistake of ours.
    """
    _require_possible(system, moves)
    out = _moves_of(system)
    observable, secret = set(system.observable), set(system.secret)
    names = _Names[tuple[str, int]](lambda key: f"{key[0]}·{key[1]}")
    starts = [(state, 0) for state in system.initial_states]
    border, known = list(starts), set(starts)
    rows: list[tuple[str, str, str]] = []
    while border:
        position = border.pop()
        for event, to, _ in out[position[0]]:
            if event in observable and event not in moves[position[1]]:
                continue
            following = (to, moves[position[1]][event] if event in observable else position[1])
            rows.append((names[position], event, names[following]))
            if following not in known:
                known.add(following)
                border.append(following)
    return LogicalSystem.from_transitions(
        list(dict.fromkeys(rows)),
        initial=[names[start] for start in starts],
        observable=system.observable,
        secret=[names[position] for position in known if position[0] in secret],
        states=list(names.given),
    )


def _require_possible(system: PartiallyObserved, moves: Machine) -> None:
    """Refuse strings that the system cannot produce."""
    observed = Observed(system)
    walk: Walk[tuple[StateSet, int], None] = Walk([(observed.start, 0)])
    for position, (estimate, state) in walk:
        for event, target in moves[state].items():
            after = observed.steps[observed.event_number[event]](estimate)
            if not after:
                raise InternalError("synthesis: something is shown that the system cannot produce; please report this")
            walk.meet((after, target), position, None)


class _Names(dict[Key, str]):
    """A name for each key, made once and unlike all others."""

    def __init__(self, spell: Callable[[Key], str]) -> None:
        super().__init__()
        self._spell = spell
        self.given: dict[str, None] = {}

    def __missing__(self, key: Key) -> str:
        name = self[key] = unlike(self._spell(key), self.given)
        self.given[name] = None
        return name


@dataclass(frozen=True, kw_only=True)
class Supervisor(Drawable):
    """A deterministic machine that reads what is observed and says which events are disabled.

    Construct with `synthesize_opacity`. State 0 is the first one; `enabled[state]` has the next state for each
    event that can happen and may, `disabled[state]` the events that could happen and may not.

    >>> supervisor = Supervisor(enabled=({"a": 1}, {}), disabled=(("b",), ()))
    >>> supervisor.disabled_after([]), supervisor.disabled_after("a")
    (('b',), ())
    """

    enabled: tuple[dict[str, int], ...] = field(repr=False)
    disabled: tuple[tuple[str, ...], ...] = field(repr=False)

    def disabled_after(self, observation: Sequence[str]) -> tuple[str, ...]:
        """The events that are disabled after an observation.

        Parameters
        ----------
        observation
            The events that were observed, in order.
        """
        state = 0
        for position, event in enumerate(observation, start=1):
            if not isinstance(event, str) or event not in self.enabled[state]:
                raise impossible_event(position, len(observation), system="the supervised system")
            state = self.enabled[state][event]
        return self.disabled[state]

    def document(self) -> dict[str, Any]:
        """The machine as JSON: rows of state, event, next state; rows of state, disabled event."""
        return {
            "states": len(self.enabled),
            "initial": 0,
            "enabled": [
                [state, event, after] for state, row in enumerate(self.enabled) for event, after in row.items()
            ],
            "disabled": [[state, event] for state, events in enumerate(self.disabled) for event in events],
        }

    def to_diagram(self) -> Diagram:
        """The machine; under a state the events that it disables."""
        return state_diagram(
            title=f"Supervisor of {counted(len(self.enabled), 'state')}",
            nodes=[
                Node(
                    key=state,
                    label=(str(state), *([f"not {', '.join(map(symbol_label, events))}"] if events else [])),
                    initial=state == 0,
                    marked=bool(events),
                )
                for state, events in enumerate(self.disabled)
            ],
            edges=[
                Edge(source=state, target=after, label=symbol_label(event))
                for state, row in enumerate(self.enabled)
                for event, after in row.items()
            ],
            advice="write it as JSON",
            marked_meaning="something is disabled",
        )

    def __repr__(self) -> str:
        states = sum(map(bool, self.disabled))
        return f"Supervisor({len(self.enabled)} states, {states} of them disable something)"


def supremal_supervisor(
    observed: Observed, question: Question, controllable: frozenset[int], limit: ExplorationLimit
) -> Supervisor | Events:
    """The least restrictive supervisor; or an observation that nothing can prevent and that gives a secret away."""
    explored = explore(observed, estimator(observed, question), limit)
    if not explored.states:
        return ()
    moves = explored.moves()
    uncontrollable = [
        column for event, column in zip(explored.events, explored.table.T, strict=True) if event not in controllable
    ]
    lost = can_reach_sink(uncontrollable, len(moves))
    if lost[0]:
        return _uncontrollable_violation(moves, controllable)
    walk: Walk[int, None] = Walk([0])
    enabled: list[dict[str, int]] = []
    disabled: list[tuple[str, ...]] = []
    for position, state in walk:
        row: dict[str, int] = {}
        for event, after in moves[state].items():
            if after != SINK and not lost[after]:
                row[observed.events[event]] = walk.meet(after, position, None)
        enabled.append(row)
        disabled.append(tuple(observed.events[event] for event in moves[state] if observed.events[event] not in row))
    return Supervisor(enabled=tuple(enabled), disabled=tuple(disabled))


def _uncontrollable_violation(moves: list[dict[int, int]], controllable: frozenset[int]) -> Events:
    """A shortest observation of uncontrollable events that violates opacity; there is one."""
    walk: Walk[int, int] = Walk([0])
    for position, state in walk:
        if state == SINK:
            return walk.way_to(position)
        for event, after in moves[state].items():
            if event not in controllable:
                walk.meet(after, position, event)
    raise AssertionError("the start is lost")
