"""Partially observed discrete-event systems with secret states (Z25 §2.1, §3.1).

An outsider sees the observable events of a run and nothing else. A *stochastic* system is
deterministic and gives each event a probability; a *logical* one only says what is possible, may
be nondeterministic and may start in several states. Opacity asks what the outsider can infer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self, cast

from symveil.errors import ModelError
from symveil.models.automaton import model_diagram
from symveil.models.markov_chain import (
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
