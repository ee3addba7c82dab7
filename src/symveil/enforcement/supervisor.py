"""The least restrictive supervisor that makes a system opaque by disabling events.

It sees what the observer sees and disables controllable events, all of which are observable. Then the runs that show an
observation are the same with and without it, so are the estimates, and what remains to be done is to keep the
observations away from violations against what cannot be disabled (docs/theory/chains-and-opacity.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from symveil.enforcement.edit_game import Events
from symveil.errors import WordError
from symveil.graphs.walk import Walk
from symveil.pictures.diagram import Diagram, Edge, Node
from symveil.pictures.layers import state_diagram
from symveil.pictures.svg import Drawable
from symveil.pictures.text import symbol_label
from symveil.verification.opacity.estimators import NOWHERE, SINK, ExplorationLimit, Question, estimator
from symveil.verification.opacity.exploration import explore
from symveil.verification.opacity.observation import Observed


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
                raise WordError(
                    f"observation: expected one that the supervised system can produce, found an impossible event at "
                    f"position {position} of {len(observation)}",
                    position=position,
                )
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
            title=f"Supervisor of {len(self.enabled)} state{'' if len(self.enabled) == 1 else 's'}",
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
    moves = [
        {event: after for event, after in zip(explored.events, row, strict=True) if after != NOWHERE}
        for row in explored.table.tolist()
    ]
    lost = _lost(moves, controllable)
    if 0 in lost:
        return _uncontrollable_violation(moves, controllable)
    walk: Walk[int, None] = Walk([0])
    enabled: list[dict[str, int]] = []
    disabled: list[tuple[str, ...]] = []
    for position, state in walk:
        row: dict[str, int] = {}
        for event, after in moves[state].items():
            if after != SINK and after not in lost:
                row[observed.events[event]] = walk.meet(after, position, None)
        enabled.append(row)
        disabled.append(tuple(observed.events[event] for event in moves[state] if observed.events[event] not in row))
    return Supervisor(enabled=tuple(enabled), disabled=tuple(disabled))


def _lost(moves: list[dict[int, int]], controllable: frozenset[int]) -> set[int]:
    """The states from which uncontrollable events lead to a violation."""
    before: dict[int, list[int]] = {}
    for state, row in enumerate(moves):
        for event, after in row.items():
            if event not in controllable:
                before.setdefault(after, []).append(state)
    lost: set[int] = set()
    border = [SINK]
    while border:
        for state in before.get(border.pop(), ()):
            if state not in lost:
                lost.add(state)
                border.append(state)
    return lost


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
