"""An output filter as a finite machine: which events are shown when one happens."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from symveil.enforcement.edit_game import EditGame, Events, Solved
from symveil.errors import WordError
from symveil.numbers.once import computed_once
from symveil.pictures.diagram import Diagram, Edge, Node
from symveil.pictures.drawable import Drawable
from symveil.pictures.labels import symbol_label
from symveil.pictures.state_diagram import state_diagram

Answer = tuple[tuple[str, ...], int]
"""What is shown, and the next state."""


@dataclass(frozen=True, kw_only=True)
class EditFunction(Drawable):
    """A deterministic machine that reads one event after the other and shows some events for each.

    Construct with `synthesize_opacity`. State 0 is the first one; `answers[state]` has, for each event that can
    happen there, what is shown and the next state.

    >>> function = EditFunction(answers=({"a": (("b", "a"), 0), "b": ((), 0)},))
    >>> function.apply("aab")
    'baba'
    """

    answers: tuple[dict[str, Answer], ...] = field(repr=False)

    def apply(self, observation: Sequence[str]) -> tuple[str, ...] | str:
        """What is shown for an observation: a tuple of events, or a str where a str came in.

        Parameters
        ----------
        observation
            The events that happened, in order.
        """
        state = 0
        shown: list[str] = []
        for position, event in enumerate(observation, start=1):
            if not isinstance(event, str) or event not in self.answers[state]:
                raise WordError(
                    f"observation: expected one that the system can produce, found an impossible event at position "
                    f"{position} of {len(observation)}",
                    position=position,
                )
            answer, state = self.answers[state][event]
            shown += answer
        return "".join(shown) if isinstance(observation, str) else tuple(shown)

    @computed_once
    def changes(self) -> int:
        """How many of its answers are not the event alone."""
        return sum(shown != (event,) for row in self.answers for event, (shown, _) in row.items())

    def document(self) -> dict[str, Any]:
        """The machine as JSON: rows of state, event, what is shown, next state."""
        return {
            "states": len(self.answers),
            "initial": 0,
            "answers": [
                [state, event, list(shown), after]
                for state, row in enumerate(self.answers)
                for event, (shown, after) in row.items()
            ],
        }

    def to_diagram(self) -> Diagram:
        """The machine: an arrow says what happens, and what is shown; answers that change something are in red."""
        return state_diagram(
            title=f"Function of {len(self.answers)} state{'' if len(self.answers) == 1 else 's'}",
            nodes=[Node(key=state, label=(str(state),), initial=state == 0) for state in range(len(self.answers))],
            edges=[
                Edge(
                    source=state,
                    target=after,
                    label=symbol_label(event) if shown == (event,) else "",
                    annotation="" if shown == (event,) else f"{symbol_label(event)} → {_shown(shown)}",
                )
                for state, row in enumerate(self.answers)
                for event, (shown, after) in row.items()
            ],
            advice="write it as JSON",
            label_meaning="event, shown as it is",
            annotation_meaning="event, and what is shown for it",
        )

    def __repr__(self) -> str:
        count = sum(map(len, self.answers))
        return f"EditFunction({len(self.answers)} states, {self.changes} of {count} answers change something)"


def _shown(events: tuple[str, ...]) -> str:
    return " ".join(map(symbol_label, events)) or "nothing"


@dataclass(frozen=True, slots=True)
class EditCosts:
    """What showing an event that did not happen costs, and hiding one that did, by the event's number."""

    insert: tuple[Fraction, ...]
    erase: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer: what is shown, where that leads, and what it costs."""

    shown: Events
    after: int
    cost: Fraction


def replies(
    game: EditGame, solved: Solved, costs: EditCosts, x: int, y: int, event: int, *, only_cheapest: bool = False
) -> dict[int, Reply]:
    """The cheapest answer to `event` for each y that an answer from the winning position (x, y) can lead to and wins.

    Equally cheap ones: the one with fewer insertions, that shows the event, whose events come first. With
    `only_cheapest` the search ends when no cheaper answer can come, and dearer ones may be missing.
    """
    unchanged = game.shown_moves[y].get(event)
    if solved.leaves_truth and game.diagonal[y] == x and unchanged is not None and solved.allowed >> unchanged & 1:
        return {unchanged: Reply((event,), unchanged, Fraction(0))}
    wins = solved.winning[game.true_moves[x][event]] & solved.allowed
    found: dict[int, tuple[tuple[Fraction, int, bool, Events], int]] = {}
    reached: set[int] = set()
    border: list[tuple[Fraction, int, Events, int]] = [(Fraction(0), 0, (), y)]
    while border:
        cost, length, inserted, at = heapq.heappop(border)
        if at in reached:
            continue
        if only_cheapest and found and cost > min(ranked[0] for ranked, _ in found.values()):
            break
        reached.add(at)
        moves = game.shown_moves[at]
        options = []
        if event in moves:
            options.append(((cost, length, False, (*inserted, event)), moves[event]))
        if event in game.edits.erasable:
            options.append(((cost + costs.erase[event], length, True, inserted), at))
        for ranked, after in options:
            if wins >> after & 1 and (after not in found or ranked < found[after][0]):
                found[after] = ranked, after
        for each, after in moves.items():
            if each in game.edits.insertable and solved.allowed >> after & 1 and after not in reached:
                heapq.heappush(border, (cost + costs.insert[each], length + 1, (*inserted, each), after))
    return {after: Reply(ranked[3], after, ranked[0]) for after, (ranked, _) in found.items()}


def nearest_reply(found: dict[int, Reply]) -> Reply:
    """The cheapest one; of equally cheap ones the shortest."""
    return min(found.values(), key=lambda reply: (reply.cost, len(reply.shown), reply.shown))


def greedy_function(game: EditGame, solved: Solved, costs: EditCosts) -> EditFunction:
    """The function that answers each event as cheaply as it can without losing: unchanged where nothing forbids it."""
    return built(game, lambda x, y, event: nearest_reply(replies(game, solved, costs, x, y, event, only_cheapest=True)))


def built(game: EditGame, reply: Callable[[int, int, int], Reply]) -> EditFunction:
    """The machine of a positional strategy, of the positions that it can reach."""
    number = {(0, 0): 0}
    order = [(0, 0)]
    answers: list[dict[str, Answer]] = []
    events = game.observed.events
    for x, y in order:  # it grows while it is read
        row: dict[str, Answer] = {}
        for event, after in game.true_moves[x].items():
            chosen = reply(x, y, event)
            place = (after, chosen.after)
            if place not in number:
                number[place] = len(number)
                order.append(place)
            row[events[event]] = game.observed.spelled(chosen.shown), number[place]
        answers.append(row)
    return EditFunction(answers=tuple(answers))
