"""Partially observed discrete-event systems with secret states (Z25 §2.1, §3.1).

An outsider sees the observable events of a run and nothing else. A *stochastic* system is
deterministic and gives each event a probability; a *logical* one only says what is possible, may
be nondeterministic and may start in several states. Opacity asks what the outsider can infer.

Systems made of systems. `epoch_system` has one state for each epoch and its kind, and every event is observable: an
epoch begins with an observable event, or with the run, and goes on until just before the next observable event. Two
readings of a *secret epoch* are in use: one with a secret state in it (type 1), and one of secret states only (type 2).
Opacity of the system for either reading is opacity of the system made here, whose secret states are the secret epochs
(docs/opacity.md, *Notions of other tools*). `starting_in` starts in other states than the file says: in several, or by
a distribution. `as_logical` leaves the probabilities out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal, Self, cast

from symveil.errors import ModelError, ParameterError, TooLargeError
from symveil.graphs.walk import Walk
from symveil.models.automaton import model_diagram
from symveil.models.limits import LIMITS
from symveil.models.markov_chain import (
    ROUNDED_SUM,
    read_probability,
    read_transitions,
    require_probability,
    require_sums,
)
from symveil.models.names import (
    counted,
    mentioned_names,
    ordered_names,
    require_known,
    require_name,
    require_names,
    require_rows,
    require_some,
    shown,
    unlike,
)
from symveil.numbers.rationals import Number
from symveil.pictures.diagram import Diagram, Edge
from symveil.pictures.svg import Drawable
from symveil.pictures.text import probability_label, symbol_label

Move = tuple[str, str, str]
"""(state, event, state)."""

_COLUMNS = "four values: state, event, state, probability"
_LOGICAL_COLUMNS = "three values: state, event, state"


@dataclass(frozen=True, slots=True, kw_only=True)
class StochasticSystem(Drawable):
    """A probabilistic automaton (G, p) with observable events and secret states.

    From a state an event leads to one state. A state without transitions ends the run.

    Parameters
    ----------
    states
        The names of the states.
    transitions
        (state, event, state, probability) each; the probabilities of a state add up to 1.
    initial
        The state in which a run begins.
    observable
        The events that an observer sees.
    secret
        The states that are not to be given away.
    controllable
        The events that a supervisor can disable; None where they are not given.

    >>> StochasticSystem.from_transitions(
    ...     [("0", "a", "1", "1/2"), ("0", "u", "2", "1/2"), ("2", "a", "1", 1)],
    ...     initial="0", observable=["a"], secret=["2"],
    ... )
    StochasticSystem(3 states, 3 transitions, 1 observable event, 1 secret state)
    """

    kind: ClassVar[str] = "stochastic-system"

    states: tuple[str, ...]
    transitions: tuple[tuple[str, str, str, Fraction], ...]
    initial: str
    observable: tuple[str, ...]
    secret: tuple[str, ...] = ()
    controllable: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        rows = require_rows(self.transitions, columns=_COLUMNS, width=4)
        object.__setattr__(self, "transitions", tuple(rows))
        known = _validate(self)
        seen: set[tuple[str, str]] = set()
        for index, (source, event, target, probability) in enumerate(self.transitions):
            where = f"transitions[{index}]"
            _require_move((source, event, target), known, where=where)
            require_probability(probability, where=f"{where}[3]")
            if (source, event) in seen:
                raise ModelError(
                    where,
                    expected=f"one transition from {shown(source)} by event {shown(event)}; a system with several is "
                    "read without probabilities, for verification only",
                    found="a second",
                )
            seen.add((source, event))
        require_sums((source, probability) for source, _, _, probability in self.transitions)
        require_known(self.initial, known, where="initial", kind="state")

    @classmethod
    def from_transitions(
        cls,
        transitions: Iterable[tuple[str, str, str, Number]],
        *,
        initial: str,
        observable: Sequence[str],
        secret: Sequence[str] = (),
        states: Sequence[str] | None = None,
        controllable: Sequence[str] | None = None,
        notes: list[str] | None = None,
    ) -> Self:
        """A system from rows (state, event, state, probability).

        Where a state's probabilities were spelled as decimals and sum to 1 within 1e-9, they are
        normalised, and `notes` gets a line that says so.
        """
        names, rows = read_transitions(transitions, columns=_COLUMNS, ends=(0, 2), states=states, notes=notes)
        return cls(
            states=names,
            transitions=tuple(rows),
            initial=initial,
            observable=observable,  # type: ignore[arg-type]  # any sequence becomes a tuple
            secret=secret,  # type: ignore[arg-type]
            controllable=controllable,  # type: ignore[arg-type]
        )

    @property
    def initial_states(self) -> tuple[str, ...]:
        """Where a run may start: here, in one state."""
        return (self.initial,)

    @property
    def moves(self) -> Iterator[Move]:
        """The transitions without their probabilities."""
        return (row[:3] for row in self.transitions)

    def with_secret(self, secret: Sequence[str]) -> Self:
        """The same system with other secret states."""
        return replace(self, secret=secret)  # type: ignore[arg-type]

    def to_diagram(self) -> Diagram:
        """The system as in Z25 Fig. 3a: secret states marked, probabilities in red, unobservable events dashed."""
        return _diagram(self)

    def __repr__(self) -> str:
        return f"StochasticSystem({_counted(self)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogicalSystem(Drawable):
    """A finite automaton with observable events and secret states: for verification only.

    Several transitions may share a state and an event, and several states may be initial.

    Parameters
    ----------
    states
        The names of the states.
    transitions
        (state, event, state) each.
    initial
        The states in which a run may begin.
    observable
        The events that an observer sees.
    secret
        The states that are not to be given away.
    controllable
        The events that a supervisor can disable; None where they are not given.

    >>> LogicalSystem.from_transitions(
    ...     [("0", "a", "1"), ("0", "a", "2")], initial=["0"], observable=["a"], secret=["2"]
    ... )
    LogicalSystem(3 states, 2 transitions, 1 observable event, 1 secret state)
    """

    kind: ClassVar[str] = "stochastic-system"

    states: tuple[str, ...]
    transitions: tuple[Move, ...]
    initial: tuple[str, ...]
    observable: tuple[str, ...]
    secret: tuple[str, ...] = ()
    controllable: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "transitions", tuple(require_rows(self.transitions, columns=_LOGICAL_COLUMNS)))
        known = _validate(self)
        seen: set[Move] = set()
        for index, move in enumerate(self.transitions):
            where = f"transitions[{index}]"
            _require_move(move, known, where=where)
            if move in seen:
                raise ModelError(where, expected="each transition once", found=f"{shown(move)} again")
            seen.add(move)
        object.__setattr__(self, "initial", require_some(self.initial, known, where="initial", kind="state"))

    @classmethod
    def from_transitions(
        cls,
        transitions: Iterable[Move],
        *,
        initial: str | Sequence[str],
        observable: Sequence[str],
        secret: Sequence[str] = (),
        states: Sequence[str] | None = None,
        controllable: Sequence[str] | None = None,
    ) -> Self:
        """A system from rows (state, event, state)."""
        rows = cast("list[Move]", require_rows(transitions, columns=_LOGICAL_COLUMNS))
        return cls(
            states=ordered_names(states, mentioned_names(rows, 0, 2), kind="state"),
            transitions=tuple(rows),
            initial=(initial,) if isinstance(initial, str) else initial,  # type: ignore[arg-type]
            observable=observable,  # type: ignore[arg-type]  # any sequence becomes a tuple
            secret=secret,  # type: ignore[arg-type]
            controllable=controllable,  # type: ignore[arg-type]
        )

    @property
    def initial_states(self) -> tuple[str, ...]:
        """Where a run may start."""
        return self.initial

    @property
    def moves(self) -> Iterator[Move]:
        """The transitions."""
        return iter(self.transitions)

    def with_secret(self, secret: Sequence[str]) -> Self:
        """The same system with other secret states."""
        return replace(self, secret=secret)  # type: ignore[arg-type]

    def to_diagram(self) -> Diagram:
        """The system with its secret states marked and its unobservable events dashed."""
        return _diagram(self)

    def __repr__(self) -> str:
        return f"LogicalSystem({_counted(self)})"


PartiallyObserved = StochasticSystem | LogicalSystem


def _diagram(system: PartiallyObserved) -> Diagram:
    observable = set(system.observable)
    return model_diagram(
        f"System of {counted(len(system.states), 'state')}, {len(system.secret) or 'none'} of them secret",
        system.states,
        [
            Edge(
                source=source,
                target=target,
                label=symbol_label(event),
                annotation=probability_label(chance[0]) if chance else "",
                dashed=event not in observable,
            )
            for source, event, target, *chance in system.transitions
        ],
        initial=system.initial_states,
        marked=system.secret,
        annotation_meaning="probability of an event",
        marked_meaning="secret state",
        dashed_meaning="unobservable event",
    )


def _validate(system: PartiallyObserved) -> dict[str, None]:
    """What both kinds promise about their names; returns the states."""
    known = require_names(system.states, where="states", kind="state")
    if not known:
        raise ModelError("states", expected="at least one state", found="none")
    observable = require_names(system.observable, where="observable", kind="event")
    if not observable:
        raise ModelError(
            "observable",
            expected="at least one observable event: an observer who sees nothing learns nothing",
            found="none",
        )
    secret = require_names(system.secret, where="secret", kind="state")
    for position, state in enumerate(secret):
        require_known(state, known, where=f"secret[{position}]", kind="state")
    # Lists would make a frozen system changeable and unequal to its copy.
    object.__setattr__(system, "states", tuple(known))
    object.__setattr__(system, "observable", tuple(observable))
    object.__setattr__(system, "secret", tuple(secret))
    if system.controllable is not None:
        controllable = require_names(system.controllable, where="controllable", kind="event")
        object.__setattr__(system, "controllable", tuple(controllable))
    return known


def _require_move(move: Move, known: dict[str, None], *, where: str) -> None:
    source, event, target = move
    require_known(source, known, where=f"{where}[0]", kind="state")
    require_name(event, where=f"{where}[1]", kind="event")
    require_known(target, known, where=f"{where}[2]", kind="state")


def _counted(system: PartiallyObserved) -> str:
    counts = map(len, (system.states, system.transitions, system.observable, system.secret))
    return ", ".join(map(counted, counts, ("state", "transition", "observable event", "secret state")))


SecretEpoch = Literal[1, 2]


def epoch_system(system: PartiallyObserved, secret_epoch: SecretEpoch) -> LogicalSystem:
    """The system of epochs: (last state so far, whether the epoch is secret), and moves by observable events.

    With `secret_epoch` 1 an epoch is secret if it has a secret state, with 2 if it has no other state.

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
    A state of `initial` with None has no probability. `notes` gets a sentence about what was done.

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
