"""The Markov chain of a system and its estimator, and where it notices a violation.

Both move on observable events, only the system on unobservable ones (docs/opacity.md). The chain is
built by arrays and cut down to the pairs from which a violation can still be reached; states with
the same future can be lumped into one. Nothing is rounded and nothing is cut off, so the
probability of ever reaching the violation is unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from symveil.errors import TooLargeError
from symveil.verification.opacity.estimators import NOWHERE, SINK, Estimator, ExplorationLimit
from symveil.verification.opacity.exploration import Numbers, can_reach_sink, explore
from symveil.verification.opacity.observation import Observed

# each takes some dozens of bytes
_MOST_PAIRS = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ViolationChain:
    """States 0 … N−1, all of which can reach the violation, and moves source → target (or SINK).

    A move has the probability `chances[chance]`: there are few different ones. `start` is NOWHERE
    where a violation is impossible, and SINK where it happens before anything is observed.
    """

    start: int
    size: int = 0
    source: Numbers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    target: Numbers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    chance: Numbers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    chances: tuple[Fraction, ...] = ()

    def moves(self) -> Iterator[tuple[int, int, Fraction]]:
        """Each move with its probability."""
        for source, target, chance in zip(
            self.source.tolist(), self.target.tolist(), self.chance.tolist(), strict=True
        ):
            yield source, target, self.chances[chance]

    def lumped(self, *, at_most: int | None = None) -> ViolationChain | None:
        """The same chain with states of the same future made one; None where more than `at_most` would be left.

        Partition refinement: two states are distinguished when one has a move, of some probability, into a
        class that the other has not. (Sums of several moves into one class are not compared: finer than
        need be, and right.)
        """
        if self.size * self.size * len(self.chances) >= 1 << 62:
            return None  # the keys below would not fit
        columns = self._columns()
        label = np.zeros(self.size, dtype=np.int64)
        count = 1
        while True:
            refined = label
            for chance, target in columns:
                successor = np.where(target >= 0, label[np.maximum(target, 0)] + 2, target + 2)
                key = (refined * (count + 2) + successor) * (len(self.chances) + 1) + chance
                distinct, refined = np.unique(key, return_inverse=True)
                refined = refined.reshape(-1)
            if at_most is not None and len(distinct) > at_most:
                return None
            if len(distinct) == count:
                break
            label, count = refined, len(distinct)
        member = np.full(count, NOWHERE)
        member[label[::-1]] = np.arange(self.size)[::-1]
        is_same = member[label[self.source]] == self.source
        target = self.target[is_same]
        return ViolationChain(
            start=int(label[self.start]),
            size=count,
            source=label[self.source[is_same]],
            target=np.where(target == SINK, SINK, label[np.maximum(target, 0)]),
            chance=self.chance[is_same],
            chances=self.chances,
        )

    def _columns(self) -> list[tuple[Numbers, Numbers]]:
        """The moves as columns (chance, target): the i-th move of every state, in the order of their chances."""
        order = np.lexsort((self.chance, self.source))
        source = self.source[order]
        first = np.searchsorted(source, np.arange(self.size))
        rank = np.arange(len(order)) - first[source]
        columns = []
        for number in range(int(rank.max(initial=-1)) + 1):
            of_rank = rank == number
            chance = np.full(self.size, len(self.chances))
            target = np.full(self.size, NOWHERE)
            chance[source[of_rank]] = self.chance[order][of_rank]
            target[source[of_rank]] = self.target[order][of_rank]
            columns.append((chance, target))
        return columns


def violation_chain(
    observed: Observed, machine: Estimator, limit: ExplorationLimit, *, within: int | None = None
) -> ViolationChain:
    """The chain of a stochastic system and an estimator; with `within`, right for the first so many events only."""
    explored = explore(observed, machine, limit, within=within)
    if not explored.states:
        return ViolationChain(start=SINK)
    if not (explored.table == SINK).any():
        return ViolationChain(start=NOWHERE)
    pairs = _Pairs(observed, explored.table)
    if pairs.start == NOWHERE:
        return ViolationChain(start=NOWHERE)
    if within is None:
        pairs.settle()
    return ViolationChain(start=SINK) if pairs.start == SINK else pairs.chain()


class _Pairs:
    """The reachable pairs (estimator state, system state) that can reach the sink, as successor columns."""

    def __init__(self, observed: Observed, table: Numbers) -> None:
        system = observed.stochastic
        self._size = len(system.states)
        self._table = _live_only(table)
        self._by_label = _successors_by_event(observed)
        initial = observed.number[system.initial]
        reached = self._reached(initial)
        columns = [_renumbered(after, reached) for after in self._after(reached)]
        can = can_reach_sink(columns, len(reached))
        remaining = np.flatnonzero(can)
        self.start = int(_renumbered(_renumbered(np.array([initial]), reached), remaining)[0])
        self._system_state: Numbers = reached[remaining] % self._size
        self._columns = [_renumbered(column[remaining], remaining) for column in columns]

    def settle(self) -> None:
        """Take pairs from which a violation is certain for the violation itself, so that 1 is exactly 1.

        Those are the pairs that no run can leave for one that cannot reach it: in a finite chain, whatever can
        always still be reached is reached with probability 1.
        """
        leaks = np.zeros(len(self._system_state), dtype=np.bool_)
        for column, (_, targets, _) in zip(self._columns, self._by_label, strict=True):
            leaks |= (targets[self._system_state] >= 0) & (column == NOWHERE)
        onward = [np.where(column == SINK, NOWHERE, column) for column in self._columns]
        unsure = can_reach_sink([*onward, np.where(leaks, SINK, NOWHERE)], len(leaks))
        if not unsure[self.start]:
            self.start = SINK
            return
        remaining = np.flatnonzero(unsure)
        ahead = [np.where((column >= 0) & ~unsure[np.maximum(column, 0)], SINK, column) for column in self._columns]
        self._columns = [_renumbered(column[remaining], remaining) for column in ahead]
        self.start = int(_renumbered(np.array([self.start]), remaining)[0])
        self._system_state = self._system_state[remaining]

    def chain(self) -> ViolationChain:
        """One move for each column and pair that has one."""
        sources, targets, chance = [], [], []
        number: dict[Fraction, int] = {}
        for column, (_, _, probability) in zip(self._columns, self._by_label, strict=True):
            source = np.flatnonzero(column != NOWHERE)
            number_of_state = np.full(self._size, NOWHERE)
            for state, value in probability.items():
                number_of_state[state] = number.setdefault(value, len(number))
            sources.append(source)
            targets.append(column[source])
            chance.append(number_of_state[self._system_state[source]])
        return ViolationChain(
            start=self.start,
            size=len(self._system_state),
            source=np.concatenate(sources),
            target=np.concatenate(targets),
            chance=np.concatenate(chance),
            chances=tuple(number),
        )

    def _after(self, keys: Numbers) -> list[Numbers]:
        """For each label of transitions where each pair goes: a key, NOWHERE or SINK."""
        state, estimate = keys % self._size, keys // self._size
        after = []
        for event, targets, _ in self._by_label:
            target = targets[state]
            following = estimate if event is None else self._table[estimate, event]
            moved = np.where(following < 0, following, following * self._size + target)
            after.append(np.where(target < 0, NOWHERE, moved))
        return after

    def _reached(self, initial: int) -> Numbers:
        visited = np.zeros(len(self._table) * self._size, dtype=np.bool_)
        visited[initial] = True
        border = np.array([initial], dtype=np.int64)
        count = 1
        while len(border):
            after = np.concatenate(self._after(border))
            after = after[after >= 0]
            border = np.unique(after[~visited[after]])
            visited[border] = True
            count += len(border)
            if count > _MOST_PAIRS:
                raise TooLargeError(
                    f"violation probability: expected at most {_MOST_PAIRS} pairs of a state and an estimate, found "
                    "more; try a smaller k or a bounded number of steps (within)"
                )
        return np.flatnonzero(visited)


def _renumbered(keys: Numbers, remaining: Numbers) -> Numbers:
    """The index of each key in the sorted `remaining`, NOWHERE where it is missing; negative keys stay."""
    index = np.minimum(np.searchsorted(remaining, keys), max(len(remaining) - 1, 0))
    known = (keys >= 0) & (remaining[index] == keys) if len(remaining) else np.zeros(len(keys), dtype=np.bool_)
    return np.where(known, index, np.where(keys < 0, keys, NOWHERE))


def _successors_by_event(observed: Observed) -> list[tuple[int | None, Numbers, dict[int, Fraction]]]:
    """For each event of the system: its column if it is observable, each state's successor, and the probabilities."""
    system, number = observed.stochastic, observed.number
    column = {observed.events[event]: index for index, event in enumerate(observed.occurring)}
    labels: dict[str, tuple[int | None, Numbers, dict[int, Fraction]]] = {}
    for source, event, target, probability in system.transitions:
        if event not in labels:
            labels[event] = (column.get(event), np.full(len(system.states), NOWHERE), {})
        labels[event][1][number[source]] = number[target]
        labels[event][2][number[source]] = probability
    return list(labels.values())


def _live_only(table: Numbers) -> Numbers:
    """The table without the ways to estimates after which no violation is possible any more."""
    live = can_reach_sink(list(table.T), len(table))
    return np.where((table >= 0) & ~live[np.maximum(table, 0)], NOWHERE, table)
