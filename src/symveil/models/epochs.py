"""A system as what happens between two observations: one state for each epoch and its kind, every event observable.

An epoch begins with an observable event, or with the run, and goes on until just before the next observable event. Two
readings of a *secret epoch* are in use: one with a secret state in it (type 1), and one of secret states only (type 2).
Opacity of the system for either reading is opacity of the system made here, whose secret states are the secret epochs:
docs/opacity.md, *Notions of other tools*.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Literal

from symveil.errors import TooLargeError
from symveil.models.stochastic_system import LogicalSystem, PartiallyObserved

SecretEpoch = Literal[1, 2]
_MOST_MOVES = 5_000_000


def epoch_system(system: PartiallyObserved, secret_epoch: SecretEpoch) -> LogicalSystem:
    """The system of epochs: (last state so far, whether the epoch is secret), and moves by observable events.

    Parameters
    ----------
    system
        Any partially observed system.
    secret_epoch
        1: an epoch is secret if it has a secret state; 2: if it has no other state.

    >>> plant = LogicalSystem.from_transitions([("0", "a", "1"), ("1", "u", "2")], initial=["0"], observable=["a"],
    ...                                        secret=["2"])
    >>> epoch_system(plant, 1).secret, epoch_system(plant, 2).secret
    (('2 in a secret epoch',), ())
    """
    secret, observable = set(system.secret), set(system.observable)
    silent: dict[str, list[str]] = defaultdict(list)
    seen: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for source, event, target in system.moves:
        (seen[source].append((event, target))) if event in observable else silent[source].append(target)

    def kind(state: str, before: bool | None) -> bool:
        """Whether the epoch is secret, once it has this state too."""
        own = state in secret
        if before is None:
            return own
        return (before or own) if secret_epoch == 1 else (before and own)

    def epochs(first: str) -> set[tuple[str, bool]]:
        """How an epoch that begins in a state can have gone on."""
        begun = (first, kind(first, None))
        found, border = {begun}, [begun]
        while border:
            state, before = border.pop()
            for target in silent[state]:
                after = (target, kind(target, before))
                if after not in found:
                    found.add(after)
                    border.append(after)
        return found

    def name(epoch: tuple[str, bool]) -> str:
        return f"{epoch[0]} in a secret epoch" if epoch[1] else f"{epoch[0]} in another epoch"

    of: dict[str, list[tuple[str, bool]]] = {}
    initial = dict.fromkeys(epoch for state in system.initial_states for epoch in sorted(epochs(state)))
    reached, border = dict(initial), list(initial)
    moves: dict[tuple[str, str, str], None] = {}
    while border:
        epoch = border.pop()
        for event, target in seen[epoch[0]]:
            if target not in of:
                of[target] = sorted(epochs(target))
            for after in of[target]:
                moves[name(epoch), event, name(after)] = None
                if after not in reached:
                    reached[after] = None
                    border.append(after)
        if len(moves) > _MOST_MOVES:
            raise TooLargeError(f"system: expected at most {_MOST_MOVES} moves between epochs, found more")
    return LogicalSystem.from_transitions(
        list(moves),
        initial=[name(epoch) for epoch in initial],
        observable=system.observable,
        secret=[name(epoch) for epoch in reached if epoch[1]],
        states=[name(epoch) for epoch in reached],
    )
