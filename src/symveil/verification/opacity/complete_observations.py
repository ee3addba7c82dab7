"""What complete runs show, with its probability, for very many observations: in floats, by arrays.

The same law as `RunObservations.walk`, which is exact and lists one observation after the other. All terms are
sums of products of positive numbers, so the relative error is some roundings for each event.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from symveil.models.word import Codes
from symveil.numbers.progress import Progress
from symveil.verification.opacity.observation_law import ObservationLaw, mass

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
    first = np.searchsorted(source, np.arange(len(instants) + 1))
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
        moves_on = first[node + 1] - first[node]
        entry = np.repeat(np.arange(len(moves_on)), moves_on)
        move = np.arange(len(entry)) + np.repeat(first[node] - np.cumsum(moves_on) + moves_on, moves_on)
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
    """One more event, after which nobody asks where the run is: there are as many times more of these as events."""
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
