"""What an observer of a system sees and can conclude: estimates of the state, as sets of states.

After an observation the observer knows the set of states that some run with that observation may
be in, unobservable moves included (Z25 Definition 1). Looking back, the delayed estimate Q̂(β|ω)
holds the states possible between the last event of β and the next observation, given that all of ω
was observed (Z25 §3.1).

The observer of a system as a picture: what an outsider thinks possible, and where a secret is given away.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from symveil.errors import ModelError, ParameterError, WordError
from symveil.graphs.state_sets import Image, StateSet, closure, members, set_of
from symveil.graphs.walk import Walk
from symveil.models.names import counted
from symveil.models.stochastic_system import PartiallyObserved, StochasticSystem
from symveil.numbers.once import computed_once
from symveil.numbers.progress import Progress
from symveil.pictures.diagram import Diagram, Edge, Node
from symveil.pictures.layers import state_diagram
from symveil.pictures.svg import Drawable
from symveil.pictures.text import set_label, symbol_label
from symveil.verification.limits import LIMITS
from symveil.verification.opacity.estimators import Observing, estimator
from symveil.verification.opacity.exploration import Exploration, ExplorationLimit


def observer_diagram(observer: Observer) -> Diagram:
    """The observer as in Z25 Fig. 3b, an estimate marked when all its states are secret.

    >>> from symveil.verification.opacity.observation import observer
    >>> from symveil.models.stochastic_system import LogicalSystem
    >>> system = LogicalSystem.from_transitions(
    ...     [("0", "u", "1"), ("0", "a", "2"), ("1", "a", "3"), ("3", "b", "3")],
    ...     initial="0", observable=["a", "b"], secret=["3"],
    ... )
    >>> diagram = observer_diagram(observer(system))
    >>> [(node.label, node.marked) for node in diagram.nodes]
    [(('{0, 1}',), False), (('{2, 3}',), False), (('{3}',), True)]
    """
    secret = set(observer.system.secret)
    events = observer.system.observable
    return state_diagram(
        title=f"Observer of {counted(len(observer.sets), 'state')}",
        nodes=[
            Node(
                key=number,
                label=estimate_label(estimate),
                initial=number == 0,
                marked=bool(estimate) and secret.issuperset(estimate),
            )
            for number, estimate in enumerate(observer.estimates)
        ],
        edges=[
            Edge(source=source, target=target, label=symbol_label(events[event]))
            for source, event, target in observer.transitions
        ],
        advice="draw the observer of a smaller system, or the system itself",
        label_meaning="{…}: the states possible after an observation",
        marked_meaning="all of them secret",
    )


def estimate_label(estimate: Sequence[str]) -> tuple[str, ...]:
    """A set of states as the lines of a label.

    >>> estimate_label(("5", "6"))
    ('{5, 6}',)
    """
    return tuple(set_label(list(map(symbol_label, estimate))).splitlines())


def impossible_event(position: int, length: int, *, system: str = "the system") -> WordError:
    """The error for an observation of this length that cannot be produced, from this event on.

    >>> str(impossible_event(2, 3))
    'observation: expected one that the system can produce, found an impossible event at position 2 of 3'
    """
    return WordError(
        f"observation: expected one that {system} can produce, found an impossible event at position {position} of "
        f"{length}",
        position=position,
    )


@contextmanager
def in_row(row: int) -> Iterator[None]:
    """What is wrong with an observation is wrong with the one in this row of a log, counted from 1."""
    try:
        yield
    except WordError as error:
        message = str(error).replace("observation", f"observation {row}", 1)
        raise WordError(message, position=error.position) from None


# An estimate of n states takes about n/8 bytes and its entry in a dictionary.
_BYTES_OF_AN_ENTRY = 240
_TRANSITIONS_LIKE_A_SET = 3


@dataclass(frozen=True, eq=False)
class Observed(Observing):
    """A system as its observer computes with it: states and observable events are numbers.

    One object serves all questions about a system. Each part is computed when it is first needed and kept. Parts
    never change, so threads may share an object: at worst two of them compute the same part at the same time.

    >>> from symveil.models.stochastic_system import LogicalSystem
    >>> system = LogicalSystem.from_transitions(
    ...     [("0", "u", "1"), ("0", "a", "2"), ("1", "a", "3")], initial="0", observable=["a"], secret=["3"]
    ... )
    >>> observed = Observed(system)
    >>> observed.names(observed.start), observed.names(observed.steps[0](observed.start))
    (('0', '1'), ('2', '3'))
    """

    system: PartiallyObserved

    def __post_init__(self) -> None:
        if not hasattr(self.system, "observable"):
            kind = type(self.system).__name__
            raise ModelError(
                "system",
                expected="a StochasticSystem or a LogicalSystem, such as load_model(file)",
                found=f"an object of type {kind}",
            )

    @property
    def stochastic(self) -> StochasticSystem:
        """The system, where it has probabilities; a logical one is refused."""
        if not isinstance(self.system, StochasticSystem):
            raise ModelError(
                "system",
                expected="probabilities on every transition",
                found="a logical system, which can only be verified",
            )
        return self.system

    @property
    def size(self) -> int:
        """How many states the system has."""
        return len(self.system.states)

    @computed_once
    def number(self) -> dict[str, int]:
        """The number of each state."""
        return {state: index for index, state in enumerate(self.system.states)}

    @property
    def events(self) -> tuple[str, ...]:
        """The observable events; an observation is a sequence of their numbers."""
        return self.system.observable

    @computed_once
    def event_number(self) -> dict[str, int]:
        """The number of each observable event."""
        return {event: index for index, event in enumerate(self.events)}

    @computed_once
    def secret(self) -> StateSet:
        """Q_s."""
        return set_of(self.number[state] for state in self.system.secret)

    @computed_once
    def start(self) -> StateSet:
        """The states possible before anything was observed."""
        return self.reach(self.initial)

    @computed_once
    def initial(self) -> StateSet:
        """Where a run may start."""
        return set_of(self.number[state] for state in self.system.initial_states)

    @computed_once
    def reach(self) -> Image:
        """The unobservable reach: the states themselves and all that unobservable moves lead to."""
        return Image(closure(self._silent))

    @computed_once
    def steps(self) -> tuple[Image, ...]:
        """For each event the estimate after it, unobservable moves after it included."""
        return tuple(Image([self.reach(target) for target in targets]) for targets in self._targets)

    @computed_once
    def clean_reach(self) -> Image:
        """The unobservable reach of the non-secret states of a set through non-secret states only."""
        return Image(closure(self._silent, within=~self.secret))

    @computed_once
    def clean_steps(self) -> tuple[Image, ...]:
        """For each event the states in which the whole instant after it may have been without a secret."""
        return tuple(Image([self.clean_reach(target) for target in targets]) for targets in self._targets)

    @computed_once
    def occurring(self) -> tuple[int, ...]:
        """The events that some transition has."""
        return tuple(event for event, targets in enumerate(self._targets) if any(targets))

    @computed_once
    def successors(self) -> list[list[int]]:
        """Where all moves of each state lead, observable or not."""
        successors: list[list[int]] = [[] for _ in self.system.states]
        for source, _, target in self.system.moves:
            successors[self.number[source]].append(self.number[target])
        return successors

    @computed_once
    def reachable(self) -> set[int]:
        """The states that some run meets."""
        walk: Walk[int, None] = Walk(members(self.initial))
        for number, state in walk:
            for successor in self.successors[state]:
                walk.meet(successor, number, None)
        return set(walk.nodes)

    @property
    def _silent(self) -> list[StateSet]:
        return self._moves_of[None]

    @property
    def _targets(self) -> list[list[StateSet]]:
        return [self._moves_of[event] for event in self.events]

    @computed_once
    def _moves_of(self) -> dict[str | None, list[StateSet]]:
        """For each observable event, and for all unobservable ones together, each state's successors."""
        size = len(self.system.states)
        moves: dict[str | None, list[StateSet]] = {event: [0] * size for event in (None, *self.events)}
        for source, event, target in self.system.moves:
            moves[event if event in moves else None][self.number[source]] |= 1 << self.number[target]
        return moves

    def names(self, states: StateSet) -> tuple[str, ...]:
        """The names of a set of states, in the order of the system."""
        return tuple(self.system.states[state] for state in members(states))

    def read(self, observation: Sequence[str]) -> tuple[int, ...]:
        """An observation as numbers; refuses what is not an observable event, by its position."""
        if isinstance(observation, str) and any(len(event) != 1 for event in self.events):
            raise WordError("observation: expected a list of events, found a string; some events have several letters")
        numbers = []
        for position, event in enumerate(observation, start=1):
            if not isinstance(event, str) or event not in self.event_number:
                raise WordError(
                    f"observation: expected observable events of the system, found another at position {position}",
                    position=position,
                )
            numbers.append(self.event_number[event])
        return tuple(numbers)

    def delayed_estimate(self, observation: Sequence[str], *, after: int | None = None) -> tuple[str, ...]:
        """The delayed estimate by names (see the function `delayed_estimate`)."""
        events = self.read(observation)
        instant = len(events) if after is None else after
        if isinstance(instant, bool) or not isinstance(instant, int) or not 0 <= instant <= len(events):
            raise ParameterError("after", expected=f"a whole number from 0 to {len(events)}", found=after)
        return self.names(self.delayed(events, instant))

    def limit(self, most_states: int | None = None, progress: Progress | None = None) -> ExplorationLimit:
        """How many estimates may be explored: `most_states`, or as many as fit into 2 GB."""
        if most_states is None:
            most_states = LIMITS.now.observer_bytes // (len(self.system.states) // 8 + _BYTES_OF_AN_ENTRY)
        if isinstance(most_states, bool) or not isinstance(most_states, int) or most_states < 1:
            raise ParameterError("most_states", expected="a whole number, 1 or more", found=most_states)
        return ExplorationLimit(most_states, progress)


@dataclass(frozen=True, kw_only=True)
class Observer(Drawable):
    """The observer of a system (Z25 Definition 1): each state is the set of states possible after an observation.

    Construct with `observer`. State 0 is where observing starts; a transition is (state, number of
    the event, state).
    """

    system: PartiallyObserved
    sets: tuple[StateSet, ...] = field(repr=False)
    transitions: tuple[tuple[int, int, int], ...] = field(repr=False)

    @computed_once
    def estimates(self) -> tuple[tuple[str, ...], ...]:
        """The sets by the names of their states."""
        names = self.system.states
        return tuple(tuple(names[state] for state in members(states)) for states in self.sets)

    def to_diagram(self) -> Diagram:
        """The observer as in Z25 Fig. 3b: estimates in braces, marked where all their states are secret."""
        return observer_diagram(self)

    def __repr__(self) -> str:
        return f"Observer({len(self.sets)} states, {len(self.transitions)} transitions)"


def observer(system: PartiallyObserved, *, most_states: int | None = None) -> Observer:
    """The observer of a system, by the subset construction over its reachable estimates.

    Parameters
    ----------
    system
        A partially observed system.
    most_states
        Refuse an observer with more states; by default a limit that fits into memory.

    >>> from symveil.models.stochastic_system import LogicalSystem
    >>> system = LogicalSystem.from_transitions(
    ...     [("0", "u", "1"), ("0", "a", "2"), ("1", "a", "3")], initial="0", observable=["a"], secret=["3"]
    ... )
    >>> observer(system).estimates
    (('0', '1'), ('2', '3'))
    """
    observed = Observed(system)
    search = Exploration(observed, estimator(observed, None), observed.limit(most_states))
    transitions: list[tuple[int, int, int]] = []
    for source, row in enumerate(search.rows()):
        transitions += [(source, event, after) for event, after in zip(search.events, row, strict=True) if after >= 0]
        search.limit.require(len(transitions) // _TRANSITIONS_LIKE_A_SET, longest=search.length)
    return Observer(system=system, sets=tuple(state[0] for state in search.walk.nodes), transitions=tuple(transitions))


def delayed_estimate(
    system: PartiallyObserved, observation: Sequence[str], *, after: int | None = None
) -> tuple[str, ...]:
    """Q̂(β|ω): the states possible after the first `after` events, given the whole observation.

    Without `after` it is the current estimate, where nothing more is known than the observation.

    Parameters
    ----------
    system
        A partially observed system.
    observation
        The observable events, in order.
    after
        The instant that is asked about: after so many events. By default now.

    >>> from symveil.models.stochastic_system import LogicalSystem
    >>> system = LogicalSystem.from_transitions(
    ...     [("0", "a", "1"), ("0", "a", "2"), ("2", "b", "0")], initial="0", observable=["a", "b"], secret=["2"]
    ... )
    >>> delayed_estimate(system, "a"), delayed_estimate(system, "ab", after=1)
    (('1', '2'), ('2',))
    """
    return Observed(system).delayed_estimate(observation, after=after)
