"""The game of an output filter against a system: which observations can be answered safely, for ever.

A position is (x, y): x is what the observer of the *true* observation would know, y what an observer of the *shown* one
knows, which has given nothing away. The system chooses the next event that is possible in x; the filter answers by
showing any string of insertable events before it, and the event itself, or not where it may be erased. What is shown
must stay among the safe observations of the system. The filter wins where it can answer for ever: a greatest fixed
point, which is the all-insertion structure of Wu and Lafortune (docs/theory/chains-and-opacity.md).

For each x the winning y are one set, a bit mask, so a round costs some set operations for each move of the observer.

An output filter as a finite machine: which events are shown when one happens.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq

from symveil.enforcement.limits import LIMITS
from symveil.graphs.csr import offsets
from symveil.graphs.refinement import Weighted, coarsest_stable
from symveil.graphs.state_sets import Image, StateSet, members, set_of
from symveil.graphs.walk import Walk
from symveil.models.names import counted
from symveil.numbers.once import computed_once
from symveil.pictures.diagram import Diagram, Edge, Node
from symveil.pictures.layers import state_diagram
from symveil.pictures.svg import Drawable
from symveil.pictures.text import symbol_label
from symveil.verification.opacity.estimators import Question, estimator
from symveil.verification.opacity.exploration import NOWHERE, ExplorationLimit, Explored, Numbers, explore
from symveil.verification.opacity.observation import Observed, impossible_event

Events = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Edits:
    """Which events, by their numbers, may be shown although they did not happen, and hidden although they did."""

    insertable: frozenset[int]
    erasable: frozenset[int]


@dataclass(frozen=True, slots=True)
class Solved:
    """`winning[x]`: the y from which everything that the system can do in x can be answered, for ever."""

    winning: tuple[StateSet, ...]
    allowed: StateSet
    """The y that may be shown at all."""
    leaves_truth: bool = False
    """Whether what was shown as it is, and may be further, must be: then an informed observer learns nothing."""


@dataclass(slots=True)
class _Lost:
    """How the system wins from (x, y): by this event, after which every answer is lost in an earlier round."""

    event: int
    shown: StateSet = field(repr=False)


class EditGame:
    """One system, one question, one set of edits."""

    def __init__(self, observed: Observed, question: Question, edits: Edits, limit: ExplorationLimit) -> None:
        self.observed, self.edits = observed, edits
        true = explore(observed, estimator(observed, None), limit)
        shown = explore(observed, estimator(observed, question), limit)
        self.is_safe_at_first = len(shown.states) > 0
        """Whether nothing is given away before anything was observed: no filter can change that."""
        # Only what can still happen, or be shown, matters of a position: states with the same future are one.
        true_class = _classes(true.table, np.zeros(len(true.table), dtype=np.int64))
        number = {state[0]: index for index, state in enumerate(true.states)}
        same = np.array([true_class[number[state[0]]] for state in shown.states], dtype=np.int64)
        shown_class = _classes(shown.table, same)
        self.events = shown.events
        self.true_moves, self.shown_moves = _moves(true, true_class), _moves(shown, shown_class)
        self.diagonal: tuple[int, ...] = tuple(same[_first_of(shown_class)].tolist())
        """For each y the x of the same observation: shown as it is."""

    # --- what one answer can do ----------------------------------------------------------------

    @computed_once
    def _before_insertion(self) -> Image:
        return self._before(self.edits.insertable)

    @computed_once
    def _before_event(self) -> dict[int, Image]:
        return {event: self._before({event}) for event in self.events}

    def _before(self, events: Iterable[int]) -> Image:
        """From which y one of the events leads into a set."""
        wanted = set(events)
        before: list[StateSet] = [0] * len(self.shown_moves)
        for source, moves in enumerate(self.shown_moves):
            for event, target in moves.items():
                if event in wanted:
                    before[target] |= 1 << source
        return Image(before)

    def answerable(self, event: int, after: StateSet, allowed: StateSet) -> StateSet:
        """The y from which `event` can be answered so that what is shown is in `after`, and in `allowed` on the way."""
        result = self._before_event[event](after) & allowed
        if event in self.edits.erasable:
            result |= after & allowed
        border = result
        while border:
            border = self._before_insertion(border) & allowed & ~result
            result |= border
        return result

    def answers(self, event: int, shown: StateSet) -> StateSet:
        """All that an answer to `event` can lead to, from any of these y."""
        before, border = shown, list(members(shown))
        while border:
            for inserted, target in self.shown_moves[border.pop()].items():
                if inserted in self.edits.insertable and not before >> target & 1:
                    before |= 1 << target
                    border.append(target)
        after = set_of(self.shown_moves[each][event] for each in members(before) if event in self.shown_moves[each])
        return after | before if event in self.edits.erasable else after

    # --- the fixed points ----------------------------------------------------------------------

    @computed_once
    def _unaware(self) -> tuple[Solved, list[dict[int, list[_Lost]]]]:
        """The winning positions, and for each round the x that lost some y in it, and how."""
        everything = (1 << len(self.shown_moves)) - 1
        winning = [everything] * len(self.true_moves)
        before = _sources(self.true_moves)
        rounds: list[dict[int, list[_Lost]]] = []
        changed = set(range(len(winning)))
        while changed:
            lost: dict[int, list[_Lost]] = {}
            for x in sorted(changed):
                left = winning[x]
                for event, after in self.true_moves[x].items():
                    gone = left & ~self.answerable(event, winning[after], everything)
                    if gone:
                        lost.setdefault(x, []).append(_Lost(event, gone))
                        left &= ~gone
            for x, ways in lost.items():
                for way in ways:
                    winning[x] &= ~way.shown
            rounds.append(lost)
            changed = {source for x in lost for source in before[x]}
        return Solved(tuple(winning), everything), rounds

    def unaware(self) -> Solved | None:
        """What wins against an observer who does not know of the filter; None where nothing does."""
        solved, _ = self._unaware
        return solved if self.is_safe_at_first and solved.winning[0] & 1 else None

    def informed(self) -> Solved | None:
        """What wins although the observer knows the filter, by showing only what would be shown as it is.

        Every y that may be shown must itself win when it is the truth and is left as it is: then its observer must
        think that nothing was changed. The greatest set of such y, together with its game. None where the start is not
        among them.
        """
        solved = self.unaware()
        if solved is None:
            return None
        winning, allowed = list(solved.winning), solved.allowed
        while True:
            remaining = set_of(y for y in members(allowed) if winning[self.diagonal[y]] >> y & 1)
            if not remaining & 1:
                return None
            following = [shown & remaining for shown in winning]
            for x, moves in enumerate(self.true_moves):
                for event, after in moves.items():
                    following[x] &= self.answerable(event, winning[after] & remaining, remaining)
            if remaining == allowed and following == winning:
                return Solved(tuple(winning), allowed, leaves_truth=True)
            winning, allowed = following, remaining

    # --- why there is no filter ----------------------------------------------------------------

    def refutation(self) -> tuple[Events, ...] | None:
        """Observations of which every filter answers at least one unsafely; None where they are very many.

        None of them can be spared, unless they are many.
        """
        if not self.is_safe_at_first:
            return ((),)
        _, rounds = self._unaware
        how: dict[int, list[_Lost]] = {}
        for lost in rounds:
            for x, ways in lost.items():
                how.setdefault(x, []).extend(ways)
        unanswered: list[Events] = []
        border: list[tuple[Events, int, StateSet]] = [((), 0, 1)]
        while border:
            observation, x, shown = border.pop()
            met: dict[int, StateSet] = {}
            for way in how[x]:
                if way.shown & shown:
                    met[way.event] = met.get(way.event, 0) | way.shown & shown
            for event, positions in met.items():
                longer, after = (*observation, event), self.answers(event, positions)
                if after:
                    border.append((longer, self.true_moves[x][event], after))
                else:
                    unanswered.append(longer)
            if len(unanswered) + len(border) > LIMITS.now.refuting:
                return None
        in_order = sorted(unanswered, key=lambda events: (len(events), events))
        for each in reversed(in_order) if len(in_order) <= LIMITS.now.spared else ():
            others = [other for other in in_order if other != each]
            if self.is_refuted_by(others):
                in_order = others
        return tuple(in_order)

    def is_refuted_by(self, observations: Iterable[Events]) -> bool:
        """Whether no filter answers all of these observations safely: by their prefixes only, not by rounds."""
        return not (self.is_safe_at_first and self._answers_all(set(observations)) & 1)

    def _answers_all(self, observations: set[Events]) -> StateSet:
        """The y from which all of them can be answered."""
        everything = (1 << len(self.shown_moves)) - 1
        able = everything
        for event in {observation[0] for observation in observations if observation}:
            rest = {observation[1:] for observation in observations if observation[:1] == (event,)}
            able &= self.answerable(event, self._answers_all(rest), everything)
        return able


def _moves(explored: Explored, classes: Numbers) -> list[dict[int, int]]:
    """For each class of states where the events lead that lead to a state, not to a violation."""
    table = explored.table[_first_of(classes)]
    return explored.moves(np.where(table >= 0, classes[np.maximum(table, 0)], NOWHERE))


def _first_of(classes: Numbers) -> Numbers:
    """The first state of each class."""
    return np.unique(classes, return_index=True)[1]


def _classes(table: Numbers, given: Numbers) -> Numbers:
    """The coarsest classes, in the order of their first states, that refine the given ones and have one future each.

    Each event has a weight of its own, which no sum of others is; where it leads nowhere, it leads to one state more.
    """
    states, events = table.shape
    if not table.size:
        return given
    graph = Weighted(
        first=offsets(np.append(np.full(states, events), 1)),
        target=np.append(np.where(table >= 0, table, states), states),
        code=np.append(np.tile(np.arange(events), states), 0),
        distinct=tuple(fmpq(1, 2 << event) for event in range(events)),
    )
    classes = coarsest_stable(graph, np.append(given, given.max() + 1))
    assert classes is not None  # noqa: S101 - any number of classes is welcome
    return classes[:-1]


def _sources(moves: list[dict[int, int]]) -> list[set[int]]:
    sources: list[set[int]] = [set() for _ in moves]
    for source, following in enumerate(moves):
        for target in following.values():
            sources[target].add(source)
    return sources


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
                raise impossible_event(position, len(observation))
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
            title=f"Function of {counted(len(self.answers), 'state')}",
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
    nearest: dict[int, tuple[tuple[Fraction, int, bool, Events], int]] = {}
    reached: set[int] = set()
    border: list[tuple[Fraction, int, Events, int]] = [(Fraction(0), 0, (), y)]
    while border:
        cost, length, inserted, at = heapq.heappop(border)
        if at in reached:
            continue
        if only_cheapest and nearest and cost > min(ranked[0] for ranked, _ in nearest.values()):
            break
        reached.add(at)
        moves = game.shown_moves[at]
        options = []
        if event in moves:
            options.append(((cost, length, False, (*inserted, event)), moves[event]))
        if event in game.edits.erasable:
            options.append(((cost + costs.erase[event], length, True, inserted), at))
        for ranked, after in options:
            if wins >> after & 1 and (after not in nearest or ranked < nearest[after][0]):
                nearest[after] = ranked, after
        for each, after in moves.items():
            if each in game.edits.insertable and solved.allowed >> after & 1 and after not in reached:
                heapq.heappush(border, (cost + costs.insert[each], length + 1, (*inserted, each), after))
    return {after: Reply(ranked[3], after, ranked[0]) for after, (ranked, _) in nearest.items()}


def nearest_reply(candidates: dict[int, Reply]) -> Reply:
    """The cheapest one; of equally cheap ones the shortest."""
    return min(candidates.values(), key=lambda reply: (reply.cost, len(reply.shown), reply.shown))


def greedy_function(game: EditGame, solved: Solved, costs: EditCosts) -> EditFunction:
    """The function that answers each event as cheaply as it can without losing: unchanged where nothing forbids it."""
    return built(game, lambda x, y, event: nearest_reply(replies(game, solved, costs, x, y, event, only_cheapest=True)))


def built(game: EditGame, reply: Callable[[int, int, int], Reply]) -> EditFunction:
    """The machine of a positional strategy, of the positions that it can reach."""
    walk: Walk[tuple[int, int], None] = Walk([(0, 0)])
    answers: list[dict[str, Answer]] = []
    events = game.observed.events
    for number, (x, y) in walk:
        row: dict[str, Answer] = {}
        for event, after in game.true_moves[x].items():
            chosen = reply(x, y, event)
            row[events[event]] = game.observed.spelled(chosen.shown), walk.meet((after, chosen.after), number, None)
        answers.append(row)
    return EditFunction(answers=tuple(answers))
