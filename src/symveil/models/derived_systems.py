"""Systems made of systems: with epochs as states, with other initial states, without probabilities.

A system as what happens between two observations: one state for each epoch and its kind, every event observable.

An epoch begins with an observable event, or with the run, and goes on until just before the next observable event. Two
readings of a *secret epoch* are in use: one with a secret state in it (type 1), and one of secret states only (type 2).
Opacity of the system for either reading is opacity of the system made here, whose secret states are the secret epochs:
docs/opacity.md, *Notions of other tools*.

Systems that start in other states than their file says: in several, or by a distribution.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from symveil.errors import ModelError, ParameterError, TooLargeError
from symveil.graphs.walk import Walk
from symveil.models.limits import LIMITS
from symveil.models.markov_chain import ROUNDED_SUM, read_probability
from symveil.models.names import shown, unlike
from symveil.models.stochastic_system import LogicalSystem, PartiallyObserved, StochasticSystem

SecretEpoch = Literal[1, 2]


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

    def epochs(first: str) -> list[tuple[str, bool]]:
        """How an epoch that begins in a state can have gone on."""
        walk: Walk[tuple[str, bool], None] = Walk([(first, kind(first, None))])
        for number, (state, before) in walk:
            for target in silent[state]:
                walk.meet((target, kind(target, before)), number, None)
        return sorted(walk.nodes)

    def name(epoch: tuple[str, bool]) -> str:
        return f"{epoch[0]} in a secret epoch" if epoch[1] else f"{epoch[0]} in another epoch"

    of: dict[str, list[tuple[str, bool]]] = {}
    initial = dict.fromkeys(epoch for state in system.initial_states for epoch in epochs(state))
    reached, border = dict(initial), list(initial)
    moves: dict[tuple[str, str, str], None] = {}
    while border:
        epoch = border.pop()
        for event, target in seen[epoch[0]]:
            if target not in of:
                of[target] = epochs(target)
            for after in of[target]:
                moves[name(epoch), event, name(after)] = None
                if after not in reached:
                    reached[after] = None
                    border.append(after)
        if len(moves) > LIMITS.now.moves:
            raise TooLargeError(f"system: expected at most {LIMITS.now.moves} moves between epochs, found more")
    return LogicalSystem.from_transitions(
        list(moves),
        initial=[name(epoch) for epoch in initial],
        observable=system.observable,
        secret=[name(epoch) for epoch in reached if epoch[1]],
        states=[name(epoch) for epoch in reached],
    )


_START = "⊢"


def read_initial(texts: Sequence[str], states: Sequence[str]) -> dict[str, Fraction | None]:
    """States as they are typed: names, or `name=probability` for all of them, which then sum to 1.

    >>> read_initial(["idle=1/4", "busy=0.75"], ["idle", "busy"])
    {'idle': Fraction(1, 4), 'busy': Fraction(3, 4)}
    """
    known = set(states)
    results: dict[str, Fraction | None] = {}
    for text in texts:
        name, between, chance = (text, "", "") if text in known else text.rpartition("=")
        if name not in known:
            raise ParameterError("initial", expected="a state of the system, or STATE=PROBABILITY", found=repr(text))
        if name in results:
            raise ParameterError("initial", expected="each state once", found=repr(name))
        results[name] = _chance(chance) if between else None
    given = [chance for chance in results.values() if chance is not None]
    if given and len(given) < len(results):
        raise ParameterError("initial", expected="a probability for every state, or for none", found="both")
    total = sum(given, Fraction(0))
    if given and abs(total - 1) > ROUNDED_SUM:
        raise ParameterError("initial", expected="probabilities that sum to 1", found=str(float(total)))
    return {name: chance and chance / total for name, chance in results.items()}


def _chance(text: str) -> Fraction:
    try:
        chance, _ = read_probability(text, where="initial")
    except ModelError:
        chance = Fraction(0)
    if not 0 < chance <= 1:
        raise ParameterError("initial", expected="a probability above 0 and at most 1", found=shown(text))
    return chance


def starting_in(
    system: PartiallyObserved,
    initial: Mapping[str, Fraction | None],
    *,
    whole_runs: bool = False,
    notes: list[str] | None = None,
) -> PartiallyObserved:
    """The system as it starts in these states.

    A stochastic system with probabilities for several states gets one state more, from which an unobservable move leads
    to each of them. That state is secret, so that where all states possible at an instant are to be secret it changes
    nothing: every run has been in it. Where runs without any secret are asked for (`whole_runs`) it is secret only if
    all initial states are. Without probabilities nothing can be said of how probable a violation is: the system
    becomes a logical one.

    Parameters
    ----------
    system
        Any partially observed system.
    initial
        The states, and how probable it is to start in each; None: not said.
    whole_runs
        Whether opacity is to be asked of runs or epochs that have no secret at all (strong, joint-1, separate-1).
    notes
        Gets a sentence about what was done.

    >>> coin = StochasticSystem.from_transitions([("a", "x", "a", 1), ("b", "y", "b", 1)], initial="a",
    ...                                          observable=["x", "y"], secret=["b"])
    >>> starting_in(coin, {"a": Fraction(1, 3), "b": Fraction(2, 3)})
    StochasticSystem(3 states, 4 transitions, 2 observable events, 2 secret states)
    >>> starting_in(coin, {"a": None, "b": None})
    LogicalSystem(2 states, 2 transitions, 2 observable events, 1 secret state)
    """
    names = tuple(initial)
    if isinstance(system, LogicalSystem):
        if notes is not None and any(initial.values()):
            notes.append("the system has no probabilities: those of its initial states were left out")
        return replace(system, initial=names)
    if len(names) == 1:
        return replace(system, initial=names[0])
    if not all(initial.values()):
        if notes is not None:
            notes.append("several initial states without probabilities: no probability of a violation is computed")
        return as_logical(system, initial=names)
    start = unlike(_START, set(system.states))
    taken = {event for _, event, _, _ in system.transitions} | set(system.observable)
    moves: list[tuple[str, str, str, Fraction]] = []
    for name, chance in initial.items():
        event = unlike(f"{_START}{len(moves) + 1}", taken)
        taken.add(event)
        moves.append((start, event, name, chance or Fraction(0)))
    is_secret = not whole_runs or set(names) <= set(system.secret)
    return replace(
        system,
        states=(start, *system.states),
        transitions=(*moves, *system.transitions),
        initial=start,
        secret=(*system.secret, *([start] if is_secret else [])),
    )


def as_logical(system: StochasticSystem, *, initial: Sequence[str] | None = None) -> LogicalSystem:
    """The same system without its probabilities."""
    return LogicalSystem(
        states=system.states,
        transitions=tuple(system.moves),
        initial=tuple(initial) if initial is not None else (system.initial,),
        observable=system.observable,
        secret=system.secret,
        controllable=system.controllable,
    )
