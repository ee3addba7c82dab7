"""A system behind a filter, as a system of its own: what the checkers of opacity are asked about afterwards.

Nothing here knows how the filter was found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

from symveil.enforcement.edit_function import EditFunction
from symveil.errors import InternalError
from symveil.languages.observation import Observed, Observer
from symveil.models.names import unlike
from symveil.models.stochastic_system import LogicalSystem, PartiallyObserved, StochasticSystem

Key = TypeVar("Key")


def filtered_system(system: PartiallyObserved, function: EditFunction) -> PartiallyObserved:
    """The system as it looks from behind the filter to somebody who knows it.

    A state is a state of the system and one of the filter. When an observable event happens, the run first goes,
    unobserved, to a state of its own, which is secret as the state was that it comes from and belongs to the same
    instant; from there the shown events lead on, and from the first one on the run is where the event has led to. Where
    nothing is shown, the unobserved move leads there at once.
    """
    observable, secret = set(system.observable), set(system.secret)
    silent = {event: unlike(f"{event}·", observable | {move[1] for move in system.moves}) for event in observable}
    out: dict[str, list[tuple[str, str, Fraction | None]]] = {state: [] for state in system.states}
    if isinstance(system, StochasticSystem):
        for source, event, target, probability in system.transitions:
            out[source].append((event, target, probability))
    else:
        for source, event, target in system.transitions:
            out[source].append((event, target, None))
    names = _Names[tuple[str, int, str, int]](_spelled)
    rows: list[tuple[str, str, str, Fraction | None]] = []
    starts = [(state, 0) for state in system.initial_states]
    border, known = list(starts), set(starts)
    secrets = [names[*start, "", 0] for start in starts if start[0] in secret]

    def entered(place: tuple[str, int]) -> str:
        name = names[*place, "", 0]
        if place not in known:
            known.add(place)
            border.append(place)
            if place[0] in secret:
                secrets.append(name)
        return name

    while border:
        state, number = border.pop()
        here = names[state, number, "", 0]
        for event, target, chance in out[state]:
            if event not in observable:
                rows.append((here, event, entered((target, number)), chance))
                continue
            if event not in function.answers[number]:
                raise InternalError("synthesis: the function has no answer for an event; please report this")
            shown, after = function.answers[number][event]
            end = entered((target, after))
            if not shown:
                rows.append((here, silent[event], end, chance))
                continue
            # nondeterministic systems have several targets of one event, each with a way of its own
            stop = names[state, number, f"{event}→{target}", 0]
            rows.append((here, silent[event], stop, chance))
            secrets += [stop] if state in secret else []
            for step, each in enumerate(shown[:-1], start=1):
                following = names[state, number, f"{event}→{target}", step]
                rows.append((stop, each, following, None if chance is None else Fraction(1)))
                secrets += [following] if target in secret else []
                stop = following
            rows.append((stop, shown[-1], end, None if chance is None else Fraction(1)))
    initial = [names[*start, "", 0] for start in starts]
    if isinstance(system, StochasticSystem):
        return StochasticSystem(
            states=tuple(names.given),
            transitions=tuple((*row[:3], row[3] or Fraction(1)) for row in rows),
            initial=initial[0],
            observable=system.observable,
            secret=tuple(secrets),
        )
    return LogicalSystem(
        states=tuple(names.given),
        transitions=tuple(dict.fromkeys(row[:3] for row in rows)),
        initial=tuple(initial),
        observable=system.observable,
        secret=tuple(secrets),
    )


def _spelled(place: tuple[str, int, str, int]) -> str:
    state, number, between, step = place
    return f"{state}·{number}" + (f"·{between}·{step}" if between else "")


Machine = Sequence[Mapping[str, int]]
"""A deterministic machine over observable events: for each state where they lead; state 0 is the first."""


def strings_of(shown: Observer) -> Machine:
    """The strings of an observer."""
    moves: list[dict[str, int]] = [{} for _ in shown.sets]
    for number, event_number, after in shown.transitions:
        moves[number][shown.system.observable[event_number]] = after
    return moves


def part_shown_as(system: PartiallyObserved, moves: Machine) -> LogicalSystem:
    """The runs of a system whose observation is among the strings of a machine.

    The machine is deterministic, so after one of its strings the estimates, delayed ones too, are those of the system
    itself. A string that the system cannot produce is refused: that would be a mistake of ours.
    """
    _require_possible(system, moves)
    out: dict[str, list[tuple[str, str]]] = {state: [] for state in system.states}
    for state, event, to in system.moves:
        out[state].append((event, to))
    observable, secret = set(system.observable), set(system.secret)
    names = _Names[tuple[str, int]](lambda key: f"{key[0]}·{key[1]}")
    starts = [(state, 0) for state in system.initial_states]
    border, known = list(starts), set(starts)
    rows: list[tuple[str, str, str]] = []
    while border:
        place = border.pop()
        for event, to in out[place[0]]:
            if event in observable and event not in moves[place[1]]:
                continue
            following = (to, moves[place[1]][event] if event in observable else place[1])
            rows.append((names[place], event, names[following]))
            if following not in known:
                known.add(following)
                border.append(following)
    return LogicalSystem.from_transitions(
        list(dict.fromkeys(rows)),
        initial=[names[start] for start in starts],
        observable=system.observable,
        secret=[names[place] for place in known if place[0] in secret],
        states=list(names.given),
    )


def _require_possible(system: PartiallyObserved, moves: Machine) -> None:
    """Refuse strings that the system cannot produce."""
    observed = Observed(system)
    start = (observed.start, 0)
    border, known = [start], {start}
    while border:
        estimate, number = border.pop()
        for event, target in moves[number].items():
            after = observed.steps[observed.event_number[event]](estimate)
            if not after:
                raise InternalError("synthesis: something is shown that the system cannot produce; please report this")
            if (after, target) not in known:
                known.add((after, target))
                border.append((after, target))


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
