"""All states of an estimator, and where each event leads from each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from symveil.verification.opacity.estimators import IMPOSSIBLE, VIOLATION, Estimator, State
from symveil.verification.opacity.many_estimates import ManyEstimates, PackedStates, Rows
from symveil.verification.opacity.observation import ExplorationLimit, Observed

Numbers = NDArray[np.int64]

NOWHERE: Final = -1
SINK: Final = -2

# following a system beside its estimator takes one byte for each pair of their states
_MOST_PAIRS = 2 * 10**9
# so many entries of a row take as much memory as an estimate
_EVENTS_LIKE_A_SET = 10
# layers of fewer states are quicker one by one; larger ones in arrays, so many states at a time
_MANY_STATES, _STATES_AT_ONCE = 200, 50_000


@dataclass(frozen=True, slots=True, eq=False)
class Explored:
    """The estimator's states, the first one first, and table[state, column]: the next one, NOWHERE or SINK.

    A column stands for the event `events[column]`: those that occur. SINK is a violation. There are
    no states where the observer is sure before observing anything.
    """

    events: tuple[int, ...]
    states: Sequence[State] = field(repr=False)
    table: Numbers = field(repr=False)


def explore(observed: Observed, machine: Estimator, limit: ExplorationLimit, *, within: int | None = None) -> Explored:
    """Every state that some observation without a violation leads to, or one of at most `within` events."""
    begin = machine.start()
    if begin is VIOLATION:
        return Explored(observed.occurring, (), np.empty((0, len(observed.occurring)), dtype=np.int64))
    number = {begin: 0}
    layer = [begin]
    rows: list[list[int]] = []
    sets, length = machine.sets(begin), 0
    while layer:
        many = ManyEstimates.of(machine) if len(layer) >= _MANY_STATES else None
        if many:
            search = _ManySearch(observed, many, limit, number, rows, sets)
            return search.explored(many.rows(layer), length=length, within=within)
        following = []
        limit.report(len(number), length=length, within=within)
        for state in layer:
            row = [NOWHERE] * len(observed.occurring)
            for column, event in enumerate(observed.occurring if within is None or length < within else ()):
                after = machine.step(state, event)
                if after is VIOLATION:
                    row[column] = SINK
                elif after is not IMPOSSIBLE:
                    if after not in number:
                        number[after] = len(number)
                        sets += machine.sets(after)
                        following.append(after)
                    row[column] = number[after]
            rows.append(row)
            _require_few(observed, limit, states=len(number), sets=sets, length=length)
        layer = following
        length += 1
    return Explored(observed.occurring, tuple(number), np.array(rows, dtype=np.int64).reshape(len(number), -1))


def _require_few(observed: Observed, limit: ExplorationLimit, *, states: int, sets: int, length: int) -> None:
    if (
        max(sets, states * len(observed.occurring) // _EVENTS_LIKE_A_SET) > limit.estimates
        or states * len(observed.system.states) > _MOST_PAIRS
    ):
        allowed = min(limit.estimates, _MOST_PAIRS // len(observed.system.states))
        raise replace(limit, estimates=allowed).exceeded(longest=length)


class _ManySearch:
    """The same search from a layer of many states on, in arrays; states get the same numbers."""

    def __init__(
        self,
        observed: Observed,
        many: ManyEstimates,
        limit: ExplorationLimit,
        number: dict[State, int],
        rows: list[list[int]],
        sets: int,
    ) -> None:
        self._observed, self._many, self._limit, self._sets = observed, many, limit, sets
        self._number = {key: place for place, key in enumerate(many.keys(many.rows(list(number))))}
        self._tables: list[Numbers] = [np.array(rows, dtype=np.int64).reshape(len(rows), len(observed.occurring))]

    def explored(self, layer: Rows, *, length: int, within: int | None) -> Explored:
        """Go on from `layer`, the states that observations of `length` events first lead to."""
        events = self._observed.occurring
        while len(layer):
            if length == within:
                self._tables.append(np.full((len(layer), len(events)), NOWHERE))
                break
            parts = range(0, len(layer), _STATES_AT_ONCE)
            layer = np.concatenate(
                [self._step(layer[begin : begin + _STATES_AT_ONCE], length, within) for begin in parts]
            )
            length += 1
        states = PackedStates(list(self._number), self._many.state)
        return Explored(events, states, np.concatenate(self._tables))

    def _step(self, rows: Rows, length: int, within: int | None) -> Rows:
        """The states that these lead to and that are new."""
        number, many = self._number, self._many
        after, possible, violates = many.steps(rows, self._observed.occurring)
        after, alive = after.reshape(-1, *rows.shape[1:]), (possible & ~violates).reshape(-1)
        table: Numbers = np.where(violates, SINK, NOWHERE).reshape(-1)
        targets, fresh = [], []
        for place, key in enumerate(many.keys(after[alive])):
            target = number.get(key)
            if target is None:
                target = number[key] = len(number)
                fresh.append(place)
            targets.append(target)
        table[alive] = targets
        self._tables.append(table.reshape(possible.shape))
        new = after[alive][fresh]
        self._sets += int(np.count_nonzero(new.any(axis=2)))
        self._limit.report(len(number), length=length, within=within)
        _require_few(self._observed, self._limit, states=len(number), sets=self._sets, length=length)
        return new


def can_reach_sink(columns: list[Numbers], size: int) -> NDArray[np.bool_]:
    """Which of 0 … size−1 can reach SINK along the columns."""
    if not columns:
        return np.zeros(size, dtype=np.bool_)
    sources = np.concatenate([np.flatnonzero(column >= 0) for column in columns])
    targets = np.concatenate([column[column >= 0] for column in columns])
    order = np.argsort(targets, kind="stable")
    sources = sources[order]
    first = np.searchsorted(targets[order], np.arange(size + 1))
    can = np.zeros(size, dtype=np.bool_)
    for column in columns:
        can |= column == SINK
    border = np.flatnonzero(can)
    while len(border):
        counts = first[border + 1] - first[border]
        before = sources[np.repeat(first[border] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())]
        border = np.unique(before[~can[before]])
        can[border] = True
    return can
