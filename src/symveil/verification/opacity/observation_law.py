"""The probabilities of observations: which events a run of a stochastic system shows, and whether it met a secret.

A `Spread` says where the run may be right after the last observation, and with which probability,
separately for runs that have met a secret state and for those that have not. One more observation
comes after any number of unobservable moves; how often each state is passed meanwhile is a linear
system, solved exactly along the strongly connected parts of the unobservable moves.

What complete runs show, with its probability, for very many observations: in floats, by arrays.

The same law as `RunObservations.walk`, which is exact and lists one observation after the other. All terms are
sums of products of positive numbers, so the relative error is some roundings for each event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from symveil.graphs.csr import Csr
from symveil.graphs.walk import strong_components
from symveil.models.alphabet import Codes
from symveil.numbers.conversions import fraction, rational
from symveil.numbers.once import computed_once
from symveil.numbers.progress import Progress
from symveil.verification.linear_systems import identity_less
from symveil.verification.opacity.observation import Observed

Node = int
"""2·(number of a state) + (1 if a secret state has been met)."""

Spread = Mapping[Node, fmpq]
"""The probability of each node, jointly with the observation so far."""

_ZERO = fmpq(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """An observation so far, and what may come next; all probabilities are joint with what was observed.

    `secret`: a secret state is met before another event is observed. `ends`: nothing more is ever
    observed; `ends_secret`: and a secret state was met.
    """

    following: Mapping[int, Spread]
    probability: Fraction
    secret: Fraction
    ends: Fraction
    ends_secret: Fraction


class ObservationLaw:
    """The law of the observations of one system."""

    def __init__(self, observed: Observed) -> None:
        system, number = observed.stochastic, observed.number
        is_secret = [bool(observed.secret >> state & 1) for state in range(len(system.states))]
        self.nodes = range(2 * len(is_secret))
        self._shown: list[list[tuple[int, Node, fmpq]]] = [[] for _ in self.nodes]
        self._silent: list[list[tuple[Node, fmpq]]] = [[] for _ in self.nodes]
        for source, event, target, probability in system.transitions:
            chance = rational(probability)
            for met in (False, True):
                node, after = 2 * number[source] + met, 2 * number[target] + (met or is_secret[number[target]])
                if event in observed.event_number:
                    self._shown[node].append((observed.event_number[event], after, chance))
                else:
                    self._silent[node].append((after, chance))
        initial = number[system.initial]
        self.start: Spread = {2 * initial + is_secret[initial]: fmpq(1)}

    def instant(self, spread: Spread) -> Instant:
        """What may happen between the last observation and the next one."""
        visits, resting = self._flow(spread)
        following: dict[int, dict[Node, fmpq]] = {}
        secret = sum((chance for node, chance in spread.items() if node & 1), start=_ZERO)
        for node, passed in visits.items():
            for event, target, chance in self._shown[node]:
                after = following.setdefault(event, {})
                after[target] = after.get(target, _ZERO) + passed * chance
            if not node & 1:
                for target, chance in self._silent[node]:
                    if target & 1:
                        secret += passed * chance
        return Instant(
            following=dict(sorted(following.items())),
            probability=mass(spread),
            secret=fraction(secret),
            ends=mass(resting),
            ends_secret=mass({node: chance for node, chance in resting.items() if node & 1}),
        )

    # --- unobservable moves --------------------------------------------------------------------

    def _flow(self, spread: Spread) -> tuple[dict[Node, fmpq], dict[Node, fmpq]]:
        """How often each node is passed, on average, before the next observation; and where runs end instead.

        A run ends in a state without transitions, or where it moves unobservably for ever.
        """
        visits: dict[Node, fmpq] = {}
        resting: dict[Node, fmpq] = {}
        entering: dict[Node, fmpq] = {}
        waiting: list[int] = []

        def enter(node: Node, chance: fmpq) -> None:
            if self._silent[node]:
                entering[node] = entering.get(node, _ZERO) + chance
                heappush(waiting, self._part_of[node])
                return
            visits[node] = visits.get(node, _ZERO) + chance
            if not self._shown[node]:
                resting[node] = visits[node]

        for node, chance in spread.items():
            enter(node, chance)
        while waiting:
            number = heappop(waiting)
            while waiting and waiting[0] == number:
                heappop(waiting)
            nodes, inverse = self._parts[number]
            inflow = [entering.get(node, _ZERO) for node in nodes]
            if inverse is None:
                resting.update(zip(nodes, inflow, strict=True))
                continue
            passed = fmpq_mat(1, len(inflow), inflow) * inverse
            for position, node in enumerate(nodes):
                visits[node] = passed[0, position]
                for target, chance in self._silent[node]:
                    if self._part_of[target] != number:
                        enter(target, visits[node] * chance)
        return visits, resting

    @computed_once
    def _parts(self) -> list[tuple[list[Node], fmpq_mat | None]]:
        """The strongly connected parts of the unobservable moves, each before those it leads to.

        With each part the matrix (I − A)⁻¹ of the moves inside it; None where it is never left.
        """
        components = strong_components([[target for target, _ in moves] for moves in self._silent])
        return [(nodes, self._inverse(nodes)) for nodes in reversed(components)]

    @computed_once
    def _part_of(self) -> dict[Node, int]:
        return {node: number for number, (nodes, _) in enumerate(self._parts) for node in nodes}

    def _inverse(self, nodes: list[Node]) -> fmpq_mat | None:
        index = {node: position for position, node in enumerate(nodes)}
        moves = [(node, target, chance) for node in nodes for target, chance in self._silent[node]]
        inside = [(index[node], index[target], chance) for node, target, chance in moves if target in index]
        is_left = len(inside) < len(moves) or any(self._shown[node] or not self._silent[node] for node in nodes)
        return identity_less(len(nodes), inside).inv() if is_left else None


def mass(spread: Spread) -> Fraction:
    """Pr(observation so far)."""
    return fraction(sum(spread.values(), start=_ZERO))


Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ObservationTable:
    """Observations of one length; `chances` are the probability of each, alone and with a secret state met."""

    codes: Codes
    chances: Floats


def complete_observations(
    law: ObservationLaw, *, longest: int | None, progress: Progress | None = None
) -> dict[int, ObservationTable]:
    """The whole observations of runs, or their first `longest` events, by their length."""
    instants = [law.instant({node: fmpq(1)}) for node in law.nodes]
    moves = [
        (node, event, target, float(mass({target: chance})))
        for node, instant in enumerate(instants)
        for event, spread in instant.following.items()
        for target, chance in spread.items()
    ]
    source, event, target = (np.array([move[column] for move in moves], dtype=np.int64) for column in range(3))
    move_chance = np.array([move[3] for move in moves])
    leaving = Csr(first=np.searchsorted(source, np.arange(len(instants) + 1)), target=target)
    cut = np.array([(1.0, float(instant.secret)) for instant in instants])
    ends = np.array([(float(instant.ends), float(instant.ends_secret)) for instant in instants])
    events, nodes = int(event.max(initial=0)) + 1, len(instants)
    # after one more event: `last[event][node]` is what `cut` is after the move
    last = np.zeros((events, nodes, 2))
    np.add.at(last, (event, source), move_chance[:, None] * cut[target])

    # `chance[i]` is the probability of the observation `codes[row[i]]` with the run at `node[i]`
    codes, row = np.zeros((1, 0), dtype=np.int32), np.zeros(1, dtype=np.int64)
    node, chance = np.array(list(law.start)), np.ones(1)
    tables: dict[int, ObservationTable] = {}
    for length in count():
        totals = [_sums(row, chance * weight, len(codes)) for weight in ends[node].T]
        is_complete = np.bincount(row, ends[node, 0] > 0, minlength=len(codes)) > 0
        if is_complete.any():
            tables[length] = ObservationTable(codes[is_complete], np.stack(totals, axis=1)[is_complete])
        if progress:
            progress(len(codes), None)
        if longest is not None and length + 1 == longest:
            at_horizon = _cut(codes, row, node, chance, last)
            if len(at_horizon.codes):
                tables[longest] = at_horizon
            return tables
        entry, move = leaving.expand(node)
        keys, index = np.unique((row[entry] * events + event[move]) * nodes + target[move], return_inverse=True)
        chance = _sums(index.reshape(-1), chance[entry] * move_chance[move], len(keys))
        longer, row = np.unique(keys // nodes, return_inverse=True)
        node, row = keys % nodes, row.reshape(-1)
        codes = np.column_stack([codes[longer // events], longer % events]).astype(np.int32)
        if not len(codes):
            return tables
    raise AssertionError("count() does not end")


def _cut(
    codes: Codes, row: NDArray[np.int64], node: NDArray[np.int64], chance: Floats, last: Floats
) -> ObservationTable:
    """One more event, after which the run's state does not matter: there are as many times more of these as events."""
    chances = np.zeros((len(codes), len(last), 2))
    possible = np.zeros((len(codes), len(last)), dtype=np.bool_)
    for event, after in enumerate(last):
        leads = after[node, 0] > 0
        possible[row[leads], event] = True
        for kind in range(2):
            chances[:, event, kind] = _sums(row, chance * after[node, kind], len(codes))
    rows, events = np.nonzero(possible)  # in the order of the events
    return ObservationTable(np.column_stack([codes[rows], events]).astype(np.int32), chances[rows, events])


def _sums(index: NDArray[np.int64], values: Floats, size: int) -> Floats:
    return np.asarray(np.bincount(index, values, minlength=size), dtype=np.float64)
