"""All states of an estimator, and where each event leads from each of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from symveil.languages.observation import ExplorationLimit, Observed
from symveil.verification.opacity.estimators import IMPOSSIBLE, VIOLATION, Estimator, State

Numbers = NDArray[np.int64]

NOWHERE: Final = -1
SINK: Final = -2

# following a system beside its estimator takes one byte for each pair of their states
_MOST_PAIRS = 2 * 10**9
# so many entries of a row take as much memory as an estimate
_EVENTS_LIKE_A_SET = 10


@dataclass(frozen=True, slots=True, eq=False)
class Explored:
    """The estimator's states, the first one first, and table[state, column]: the next one, NOWHERE or SINK.

    A column stands for the event `events[column]`: those that occur. SINK is a violation. There are
    no states where the observer is sure before observing anything.
    """

    events: tuple[int, ...]
    states: tuple[State, ...] = field(repr=False)
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
        following = []
        limit.report(len(number))
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
            if (
                max(sets, len(number) * len(observed.occurring) // _EVENTS_LIKE_A_SET) > limit.estimates
                or len(number) * len(observed.system.states) > _MOST_PAIRS
            ):
                allowed = min(limit.estimates, _MOST_PAIRS // len(observed.system.states))
                raise replace(limit, estimates=allowed).exceeded(longest=length)
        layer = following
        length += 1
    return Explored(observed.occurring, tuple(number), np.array(rows, dtype=np.int64).reshape(len(number), -1))


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
