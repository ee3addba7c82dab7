"""Functions of least cost in the worst case: least in total where that has a bound, otherwise on average per event.

The game is solved with a discount so near to 1 that its optimal strategies are optimal in both senses
(docs/theory/chains-and-opacity.md), in exact rationals, by strategy iteration.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from flint import fmpq

from symveil.enforcement.edit_game import EditCosts, EditFunction, EditGame, Reply, Solved, built, replies
from symveil.enforcement.limits import LIMITS
from symveil.errors import TooLargeError
from symveil.graphs.walk import Walk, strong_components

Position = tuple[int, int]


@dataclass(frozen=True, slots=True)
class WorstCost:
    """What a function costs in the worst case: per event in the long run, and in total, None where it has no bound."""

    per_event: Fraction
    total: Fraction | None


@dataclass(frozen=True, slots=True)
class _Play:
    """All replies of all positions: `options[p][e]` are (cost, next position), with the replies themselves."""

    order: list[Position]
    events: list[list[int]]
    options: list[list[list[tuple[int, int]]]]
    replies: list[list[list[Reply]]]
    scale: int


def cheapest_function(game: EditGame, solved: Solved, costs: EditCosts) -> EditFunction:
    """A function that is cheapest in the worst case among those that stay in the winning positions."""
    play = _play(game, solved, costs)
    chosen = _optimal(play)
    number = {position: index for index, position in enumerate(play.order)}

    def reply(x: int, y: int, event: int) -> Reply:
        at = number[x, y]
        column = play.events[at].index(event)
        return play.replies[at][column][chosen[at][column]]

    return built(game, reply)


def _play(game: EditGame, solved: Solved, costs: EditCosts) -> _Play:
    scale = lcm(*(cost.denominator for cost in (*costs.insert, *costs.erase)))
    walk: Walk[Position, None] = Walk([(0, 0)])
    play = _Play(walk.nodes, [], [], [], scale)
    count = 0
    for number, (x, y) in walk:
        play.events.append(list(game.true_moves[x]))
        play.options.append([])
        play.replies.append([])
        for event, after in game.true_moves[x].items():
            results = list(replies(game, solved, costs, x, y, event).values())
            count += len(results)
            play.options[-1].append(
                [(int(each.cost * scale), walk.meet((after, each.after), number, None)) for each in results]
            )
            play.replies[-1].append(results)
        if len(walk) > LIMITS.now.positions or count > LIMITS.now.replies:
            raise TooLargeError(
                f"synthesis: expected at most {LIMITS.now.positions} positions and {LIMITS.now.replies} answers to "
                "find the cheapest, found more; leave the costs out, or name fewer insertable events"
            )
    return play


def _optimal(play: _Play) -> list[list[int]]:
    """For each position and event the number of the reply: strategy iteration against the best the system can do."""
    largest = max((cost for rows in play.options for row in rows for cost, _ in row), default=0)
    size = len(play.order)
    gamma = fmpq(1) - fmpq(1, 8 * size**3 * max(largest, 1))
    chosen = [
        [min(range(len(row)), key=lambda each, row=row: row[each][0]) for row in rows]  # type: ignore[misc]
        for rows in play.options
    ]
    worst = [0] * size  # the event that the system chooses
    while True:  # each round is better somewhere, and there are finitely many choices
        values = _worst_values(play, chosen, worst, gamma)
        is_better = False
        for at, rows in enumerate(play.options):
            for column, row in enumerate(rows):
                cost, after = row[chosen[at][column]]
                best, best_value = chosen[at][column], cost + gamma * values[after]
                for each, (other_cost, other_after) in enumerate(row):
                    value = other_cost + gamma * values[other_after]
                    if value < best_value:
                        best, best_value, is_better = each, value, True
                chosen[at][column] = best
        if not is_better:
            return chosen


def _worst_values(play: _Play, chosen: list[list[int]], worst: list[int], gamma: fmpq) -> list[fmpq]:
    """The discounted costs against the best that the system can do; `worst` becomes how it does that."""
    while True:
        values = _values(play, chosen, worst, gamma)
        is_worse = False
        for at, rows in enumerate(play.options):
            if not rows:
                continue
            totals = []
            for column, row in enumerate(rows):
                cost, after = row[chosen[at][column]]
                totals.append(cost + gamma * values[after])
            largest = max(totals)
            if largest > totals[worst[at]]:
                worst[at], is_worse = totals.index(largest), True
        if not is_worse:
            return values


def _values(play: _Play, chosen: list[list[int]], worst: list[int], gamma: fmpq) -> list[fmpq]:
    """The discounted costs where both sides have chosen: every position has one successor at most."""
    following = {at: rows[worst[at]][chosen[at][worst[at]]] for at, rows in enumerate(play.options) if rows}
    values = {at: fmpq(0) for at in range(len(play.order)) if at not in following}
    for start in following:
        path: dict[int, int] = {}
        at = start
        while at not in values and at not in path:
            path[at] = len(path)
            at = following[at][1]
        if at not in values:  # a cycle: v = (Σ γⁱ cᵢ) / (1 − γⁿ)
            total, factor = fmpq(0), fmpq(1)
            for each in list(path)[path[at] :]:
                total += factor * following[each][0]
                factor *= gamma
            values[at] = total / (1 - factor)
        for each in reversed(path):
            if each not in values:
                cost, after = following[each]
                values[each] = cost + gamma * values[after]
    return [values[at] for at in range(len(play.order))]


# --- what a machine costs, whoever made it --------------------------------------------------------


def worst_cost(function: EditFunction, insert: dict[str, Fraction], erase: dict[str, Fraction]) -> WorstCost:
    """What a function costs in the worst case, from the machine alone."""
    rows: list[list[tuple[Fraction, int]]] = []
    for answers in function.answers:
        rows.append([])
        for event, (shown, after) in answers.items():
            is_same = shown[-1:] == (event,)
            inserted = shown[:-1] if is_same else shown
            cost = sum((insert[each] for each in inserted), Fraction(0 if is_same else erase[event]))
            rows[-1].append((cost, after))
    parts = strong_components([[after for _, after in row] for row in rows])
    part_of = {state: part for part, states in enumerate(parts) for state in states}
    mean = max((_largest_mean(rows, states, part_of) for states in parts), default=Fraction(0))
    return WorstCost(per_event=mean, total=_largest_total(rows, parts, part_of) if mean == 0 else None)


def _largest_mean(rows: list[list[tuple[Fraction, int]]], states: list[int], part_of: dict[int, int]) -> Fraction:
    """The largest mean of a cycle inside a strong component (Karp); 0 where there is none."""
    inside = {at: [(cost, to) for cost, to in rows[at] if part_of[to] == part_of[at]] for at in states}
    size = len(states)
    best: list[dict[int, Fraction]] = [{states[0]: Fraction(0)}]
    for _ in range(size):
        longer: dict[int, Fraction] = {}
        for at, value in best[-1].items():
            for cost, to in inside[at]:
                longer[to] = max(longer.get(to, value + cost), value + cost)
        best.append(longer)
    means = [
        min((value - best[length][at]) / (size - length) for length in range(size) if at in best[length])
        for at, value in best[size].items()
    ]
    return max(means, default=Fraction(0))


def _largest_total(rows: list[list[tuple[Fraction, int]]], parts: list[list[int]], part_of: dict[int, int]) -> Fraction:
    """The largest total from state 0, where every cycle is free: only what leads out of a component costs anything."""
    totals: list[Fraction] = []
    for number, states in enumerate(parts):  # what a component leads to stands before it
        leaving = (cost + totals[part_of[to]] for at in states for cost, to in rows[at] if part_of[to] != number)
        totals.append(max(leaving, default=Fraction(0)))
    return totals[part_of[0]]
