"""Exact lumping: states that no observer can tell apart, because they move alike between classes of such states."""

from __future__ import annotations

import numpy as np

from symveil.models.labelled_chain import LabelledChain
from symveil.verification.distances.tables import ChainTable, Integers


def bisimulation(table: ChainTable) -> Integers:
    """The class of each state in the coarsest partition that is stable, with labels kept apart.

    Classes are split by the exact probability of moving into each class, until none splits.
    """
    classes = table.label.copy()
    count = len(np.unique(classes))
    while True:
        signatures: dict[object, int] = {}
        finer = np.empty_like(classes)
        for state in range(table.size):
            into: dict[int, object] = {}
            for target, chance in table.row(state):
                code = int(classes[target])
                into[code] = into[code] + chance if code in into else chance  # type: ignore[operator]
            key = (int(classes[state]), frozenset((code, str(chance)) for code, chance in into.items()))
            finer[state] = signatures.setdefault(key, len(signatures))
        if len(signatures) == count:
            return classes
        classes, count = finer, len(signatures)


def lumped(chain: LabelledChain) -> tuple[LabelledChain, dict[str, str]]:
    """The quotient by bisimilarity, and where each state went. δ is the same in it; ld need not be (docs).

    A class is named after its first state.

    >>> chain = LabelledChain.from_transitions(
    ...     [("a", "c", "1/2"), ("a", "d", "1/2"), ("b", "c", 1), ("c", "c", 1), ("d", "d", 1)],
    ...     labels={"a": "x", "b": "x", "c": "y", "d": "y"})
    >>> lumped(chain)
    (LabelledChain(2 states, 2 transitions, 2 labels), {'a': 'a', 'c': 'c', 'd': 'c', 'b': 'a'})
    """
    table = ChainTable.of(chain)
    classes = bisimulation(table).tolist()
    name_of: dict[int, str] = {}
    for state, code in zip(chain.states, classes, strict=True):
        name_of.setdefault(code, state)
    home = {state: name_of[code] for state, code in zip(chain.states, classes, strict=True)}
    rows: dict[tuple[str, str], object] = {}
    for source, target, chance in chain.transitions:
        if home[source] == source:
            key = (source, home[target])
            rows[key] = rows[key] + chance if key in rows else chance  # type: ignore[operator]
    states = tuple(name_of.values())
    quotient = LabelledChain.from_transitions(
        [(source, target, chance) for (source, target), chance in rows.items()],  # type: ignore[misc]
        labels={state: chain.label(state) for state in states},
        related=tuple(dict.fromkeys((home[s], home[t]) for s, t in chain.related if home[s] != home[t])),
        states=states,
    )
    return quotient, home
