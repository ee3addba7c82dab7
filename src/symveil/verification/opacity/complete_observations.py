"""What complete runs show, with its probability, for very many observations: in floats, by arrays.

The same law as `RunObservations.walk`, which is exact and lists one observation after the other. All terms are
sums of products of positive numbers, so the relative error is some roundings for each event.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from symveil.models.word import Codes
from symveil.numerics.progress import Progress
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

    # `chance[i]` is the probability of the observation `codes[row[i]]` with the run at `node[i]`
    codes, row = np.zeros((1, 0), dtype=np.int32), np.zeros(1, dtype=np.int64)
    node, chance = np.array(list(law.start)), np.ones(1)
    tables: dict[int, ObservationTable] = {}
    while len(codes):
        length = codes.shape[1]
        weights = cut if length == longest else ends
        totals = [_sums(row, chance * weight, len(codes)) for weight in weights[node].T]
        is_complete = np.bincount(row, weights[node, 0] > 0, minlength=len(codes)) > 0
        if is_complete.any():
            tables[length] = ObservationTable(codes[is_complete], np.stack(totals, axis=1)[is_complete])
        if length == longest:
            break
        if progress:
            progress(len(codes), None)
        count = first[node + 1] - first[node]
        entry = np.repeat(np.arange(len(count)), count)
        move = np.arange(len(entry)) + np.repeat(first[node] - np.cumsum(count) + count, count)
        keys, index = np.unique((row[entry] * events + event[move]) * nodes + target[move], return_inverse=True)
        chance = _sums(index.reshape(-1), chance[entry] * move_chance[move], len(keys))
        longer, row = np.unique(keys // nodes, return_inverse=True)
        node, row = keys % nodes, row.reshape(-1)
        codes = np.column_stack([codes[longer // events], longer % events]).astype(np.int32)
    return tables


def _sums(index: NDArray[np.int64], values: Floats, size: int) -> Floats:
    return np.asarray(np.bincount(index, values, minlength=size), dtype=np.float64)
