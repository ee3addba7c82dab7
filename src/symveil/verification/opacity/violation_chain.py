"""The Markov chain of a system and its estimator, and where it notices a violation.

Both move on observable events, only the system on unobservable ones (mathematics §9). The chain is
built by arrays, cut down to the pairs from which a violation can still be reached, and lumped:
pairs with the same future (same system state, successors with the same future) become one. Nothing
is rounded and nothing is cut off, so the probability of ever reaching the violation is unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from symveil.languages.observation import Observed, Progress
from symveil.models.stochastic_system import StochasticSystem
from symveil.verification.opacity.estimators import Estimator
from symveil.verification.opacity.exploration import NOWHERE, SINK, Numbers, can_reach_sink, explore


@dataclass(frozen=True, slots=True, kw_only=True)
class ViolationChain:
    """States 0 … N−1, all of which can reach the violation; `moves` are (source, target or SINK, probability).

    `start` is NOWHERE where a violation is impossible, and SINK where it happens before anything is
    observed.
    """

    start: int
    size: int
    source: Numbers
    target: Numbers
    probability: tuple[Fraction, ...]

    @classmethod
    def trivial(cls, start: int) -> ViolationChain:
        """The chain that is violated at once (SINK) or never (NOWHERE)."""
        none = np.empty(0, dtype=np.int64)
        return cls(start=start, size=0, source=none, target=none, probability=())


def violation_chain(
    system: StochasticSystem,
    machine: Estimator,
    seen: Observed,
    *,
    within: int | None = None,
    most_states: int | None = None,
    progress: Progress | None = None,
) -> ViolationChain:
    """The chain of a stochastic system and an estimator; with `within`, right for the first so many events only."""
    explored = explore(seen, machine, within=within, most_states=most_states, progress=progress)
    if not explored.states:
        return ViolationChain.trivial(SINK)
    if not (explored.table == SINK).any():
        return ViolationChain.trivial(NOWHERE)
    return _lumped(_Pairs(system, seen, explored.table))


class _Pairs:
    """The reachable pairs (estimator state, system state) that can reach the sink, as successor columns."""

    def __init__(self, system: StochasticSystem, seen: Observed, table: Numbers) -> None:
        self._size = len(system.states)
        self._table = _live_only(table)
        self._by_label = _successors_by_event(system, seen)
        reached = self._reached(seen.number[system.initial])
        number = np.full(len(table) * self._size, NOWHERE)
        number[reached] = np.arange(len(reached))
        columns = [np.where(after >= 0, number[np.maximum(after, 0)], after) for after in self._after(reached)]
        can = can_reach_sink(columns, len(reached))
        kept = np.flatnonzero(can)
        renumbered = np.full(len(reached), NOWHERE)
        renumbered[kept] = np.arange(len(kept))
        self.start = int(renumbered[number[seen.number[system.initial]]])
        self.system_state: Numbers = reached[kept] % self._size
        self.columns = [
            np.where(column[kept] >= 0, renumbered[np.maximum(column[kept], 0)], column[kept]) for column in columns
        ]
        self.probability = [chances for _, _, chances in self._by_label]

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
        while len(border):
            after = np.unique(np.concatenate(self._after(border)))
            after = after[after >= 0]
            border = after[~visited[after]]
            visited[border] = True
        return np.flatnonzero(visited)


def _successors_by_event(
    system: StochasticSystem, seen: Observed
) -> list[tuple[int | None, Numbers, dict[int, Fraction]]]:
    """For each event of the system: its number if it is observable, each state's successor, and the probabilities."""
    observable = {event: index for index, event in enumerate(seen.events)}
    labels: dict[str, tuple[int | None, Numbers, dict[int, Fraction]]] = {}
    for source, event, target, probability in system.transitions:
        if event not in labels:
            labels[event] = (observable.get(event), np.full(len(system.states), NOWHERE), {})
        labels[event][1][seen.number[source]] = seen.number[target]
        labels[event][2][seen.number[source]] = probability
    return list(labels.values())


def _live_only(table: Numbers) -> Numbers:
    """The table without the ways to estimates after which no violation is possible any more."""
    live = can_reach_sink(list(table.T), len(table))
    return np.where((table >= 0) & ~live[np.maximum(table, 0)], NOWHERE, table)


def _lumped(pairs: _Pairs) -> ViolationChain:
    """Partition refinement: pairs of one system state whose successors are in the same classes are one class."""
    if pairs.start == NOWHERE:
        return ViolationChain.trivial(NOWHERE)
    size = len(pairs.system_state)
    label, count = _relabelled(pairs.system_state)
    while True:
        refined = label
        for column in pairs.columns:
            # NOWHERE and SINK are classes of their own
            successor = np.where(column >= 0, label[np.maximum(column, 0)] + 2, column + 2)
            refined, refined_count = _relabelled(refined * (size + 3) + successor)
        if refined_count == count:
            break
        label, count = refined, refined_count
    members = np.full(count, NOWHERE)
    members[label[::-1]] = np.arange(size)[::-1]
    sources, targets, probabilities = [], [], []
    for column, chances in zip(pairs.columns, pairs.probability, strict=True):
        for number, member in enumerate(members.tolist()):
            after = int(column[member])
            if after != NOWHERE:
                sources.append(number)
                targets.append(SINK if after == SINK else int(label[after]))
                probabilities.append(chances[int(pairs.system_state[member])])
    return ViolationChain(
        start=int(label[pairs.start]),
        size=count,
        source=np.array(sources, dtype=np.int64),
        target=np.array(targets, dtype=np.int64),
        probability=tuple(probabilities),
    )


def _relabelled(labels: Numbers) -> tuple[Numbers, int]:
    distinct, label = np.unique(labels, return_inverse=True)
    return label.reshape(-1), len(distinct)
