"""Is a system opaque? A verdict with a shortest observation that says why not.

What an observer of several parts together knows, without building the whole: states are met one after the other.

Parts move together by the events they share, each alone by its own; the whole is their synchronous product. A state of
the whole gets a number when some run first meets it, so a search that ends early has built little.

Opacity of several parts together: what matters of them, judged without building the whole (docs/opacity.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product

from symveil.errors import ModelError, ParameterError, TooLargeError
from symveil.graphs.state_sets import StateSet, members, set_of
from symveil.graphs.walk import Walk
from symveil.models.stochastic_system import LogicalSystem, PartiallyObserved, StochasticSystem, epoch_system
from symveil.numbers.once import computed_once
from symveil.numbers.progress import Progress, accepted
from symveil.verification.limits import LIMITS
from symveil.verification.opacity.estimators import Observing, Question, Step, read_question
from symveil.verification.opacity.exploration import ExplorationLimit
from symveil.verification.opacity.observation import Observed
from symveil.verification.opacity.opacity_verdict import OpacityVerdict, verdict_on

PartStates = tuple[str, ...]
"""A state of each part."""


class ComposedObserved(Observing):
    """The synchronous product of parts as its observer computes with it; it offers what `Observed` offers a search.

    A state is secret where one of its parts is in a secret state. An event belongs to the parts in which some
    transition has it, and happens when all of them can take it.

    >>> from symveil.models.stochastic_system import LogicalSystem
    >>> left = LogicalSystem.from_transitions([("0", "a", "1"), ("1", "s", "0")], initial="0", observable=["a"])
    >>> right = LogicalSystem.from_transitions([("p", "s", "q")], initial="p", observable=["b"], secret=["q"])
    >>> whole = ComposedObserved([left, right])
    >>> whole.names(whole.steps[0](whole.start)), whole.size
    (('1|p', '0|q'), 3)
    """

    def __init__(self, parts: Sequence[PartiallyObserved]) -> None:
        self._moves = [_moves(part) for part in parts]
        self._secret_states = [set(part.secret) for part in parts]
        owners: dict[str, list[int]] = {}
        for number, part in enumerate(parts):
            for event in dict.fromkeys(move[1] for move in part.moves):
                owners.setdefault(event, []).append(number)
        self._seen = {event for part in parts for event in part.observable}
        self._silent_events = tuple(event for event in owners if event not in self._seen)
        self._owners = owners
        self._starts = [part.initial_states for part in parts]
        self._number: dict[PartStates, int] = {}
        self._part_states: list[PartStates] = []
        self._secret: StateSet = 0
        _ = self.start  # before anything is asked: which states are secret is known of those that were met

    @property
    def size(self) -> int:
        """How many states of the whole were met."""
        return len(self._part_states)

    @property
    def secret(self) -> StateSet:
        """The secret states, of those that were met."""
        return self._secret

    @computed_once
    def events(self) -> tuple[str, ...]:
        """The observable events of all parts."""
        return tuple(event for event in self._owners if event in self._seen)

    @property
    def occurring(self) -> tuple[int, ...]:
        """All of them: each is some transition's."""
        return tuple(range(len(self.events)))

    @computed_once
    def initial(self) -> StateSet:
        """Where a run may start."""
        return set_of(self._numbered(states_of_parts) for states_of_parts in product(*self._starts))

    @computed_once
    def start(self) -> StateSet:
        """The states possible before anything was observed."""
        return self.reach(self.initial)

    @computed_once
    def reach(self) -> Step:
        """The unobservable reach."""
        return self._image(lambda state: self._closed(1 << state, clean=False))

    @computed_once
    def clean_reach(self) -> Step:
        """The unobservable reach through states without a secret."""
        return self._image(lambda state: self._closed(1 << state, clean=True))

    @computed_once
    def steps(self) -> tuple[Step, ...]:
        """For each event the estimate after it."""
        return tuple(self._after(event, self.reach) for event in self.events)

    @computed_once
    def clean_steps(self) -> tuple[Step, ...]:
        """For each event the states in which the whole instant after it may have been without a secret."""
        return tuple(self._after(event, self.clean_reach) for event in self.events)

    def names(self, states: StateSet) -> tuple[str, ...]:
        """The names of states: those of the parts' states, with a bar between them."""
        return tuple("|".join(self._part_states[state]) for state in members(states))

    def limit(self, most_states: int | None = None, progress: Progress | None = None) -> ExplorationLimit:
        """How many estimates may be explored."""
        return ExplorationLimit(LIMITS.now.composed_estimates if most_states is None else most_states, progress)

    # --- the states of the whole, one after the other ------------------------------------------

    def _numbered(self, states_of_parts: PartStates) -> int:
        number = self._number.get(states_of_parts)
        if number is None:
            if len(self._part_states) >= LIMITS.now.composed_states:
                raise TooLargeError(
                    f"opacity: expected at most {LIMITS.now.composed_states} states of all parts together, found more; "
                    "try fewer"
                )
            number = self._number[states_of_parts] = len(self._part_states)
            self._part_states.append(states_of_parts)
            if any(state in secret for state, secret in zip(states_of_parts, self._secret_states, strict=True)):
                self._secret |= 1 << number
        return number

    def _by(self, event: str, state: int) -> list[int]:
        """Where one event leads."""
        states_of_parts, owners = self._part_states[state], self._owners[event]
        choices = [self._moves[part].get((states_of_parts[part], event), ()) for part in owners]
        results = []
        for targets in product(*choices):
            after = list(states_of_parts)
            for part, target in zip(owners, targets, strict=True):
                after[part] = target
            results.append(self._numbered(tuple(after)))
        return results

    def _closed(self, states: StateSet, *, clean: bool) -> StateSet:
        """All that unobservable events lead to; through states without a secret only, where `clean`."""
        reached = states & ~self.secret if clean else states
        border = list(members(reached))
        while border:
            state = border.pop()
            for event in self._silent_events:
                for target in self._by(event, state):
                    if not reached >> target & 1 and not (clean and self.secret >> target & 1):
                        reached |= 1 << target
                        border.append(target)
        return reached

    def _after(self, event: str, reach: Step) -> Step:
        return self._image(lambda state: reach(set_of(self._by(event, state))))

    def _image(self, of: Callable[[int], StateSet]) -> Step:
        """The union of what is made of each state, which is computed once."""
        memo: dict[int, StateSet] = {}

        def image(states: StateSet) -> StateSet:
            union = 0
            for state in members(states):
                if state not in memo:
                    memo[state] = of(state)
                union |= memo[state]
            return union

        return image


def _moves(part: PartiallyObserved) -> Mapping[tuple[str, str], list[str]]:
    moves: dict[tuple[str, str], list[str]] = {}
    for source, event, target in part.moves:
        moves.setdefault((source, event), []).append(target)
    return moves


def modular_verdict(
    parts: Sequence[PartiallyObserved],
    question: Question,
    *,
    most_states: int | None = None,
    progress: Progress | None = None,
) -> OpacityVerdict:
    """The verdict on the synchronous product of parts, of which each is a system of its own."""
    if (
        not isinstance(parts, Sequence)
        or not parts
        or not all(isinstance(each, StochasticSystem | LogicalSystem) for each in parts)
    ):
        raise ParameterError(
            "system",
            expected="a StochasticSystem or a LogicalSystem, such as load_model(file), or a list of such parts",
            found=f"an object of type {type(parts).__name__}",
        )
    if question.secret_epoch is not None:
        raise ParameterError(
            "notion", expected="weak, strong or initial for several parts", found=question.shown_notion
        )
    _require_agreement(parts)
    verdicts = []
    needed: set[int] = set()
    for group in relevant_groups(parts):
        observed = ComposedObserved([parts[number] for number in group])
        verdicts.append(verdict_on(observed, question, observed.limit(most_states, progress)))
        needed |= set(group)
    dropped = tuple(number for number in range(1, len(parts) + 1) if number - 1 not in needed)
    if not verdicts:
        return OpacityVerdict(question=question, holds=True, estimator_states=0, system_states=0, dropped=dropped)
    # a shortest violation of one group is a shortest one of the whole
    worst = min(verdicts, key=lambda each: (each.holds, len(each.witness or ())))
    return replace(
        worst,
        estimator_states=sum(each.estimator_states for each in verdicts),
        system_states=sum(each.system_states for each in verdicts),
        dropped=dropped,
    )


def relevant_groups(parts: Sequence[PartiallyObserved]) -> list[list[int]]:
    """The parts that matter, by their numbers, in groups that share no event with one another.

    A part without secrets and without observable events of its own that can always take part in the events it shares
    is left out: it neither prevents anything nor shows anything. Then groups without secrets are left out.
    """
    alphabets = [{move[1] for move in part.moves} for part in parts]
    remaining = list(range(len(parts)))
    while True:
        idle = next((number for number in remaining if _is_idle(number, remaining, parts, alphabets)), None)
        if idle is None:
            break
        remaining.remove(idle)
    groups: list[list[int]] = []
    for number in remaining:
        touching = [group for group in groups if any(alphabets[number] & alphabets[other] for other in group)]
        groups = [group for group in groups if group not in touching]
        groups.append(sorted([number, *(other for group in touching for other in group)]))
    return sorted(group for group in groups if any(parts[number].secret for number in group))


def _is_idle(
    number: int, remaining: Sequence[int], parts: Sequence[PartiallyObserved], alphabets: Sequence[set[str]]
) -> bool:
    part = parts[number]
    if part.secret:
        return False
    elsewhere = set().union(*(alphabets[other] for other in remaining if other != number))
    own, shared = alphabets[number] - elsewhere, alphabets[number] & elsewhere
    if own & set(part.observable):
        return False
    enabled: dict[str, set[str]] = {}
    following: dict[str, set[str]] = {}
    for source, event, target in part.moves:
        enabled.setdefault(source, set()).add(event)
        following.setdefault(source, set()).add(target)
    walk: Walk[str, None] = Walk(part.initial_states)
    for position, state in walk:
        if not shared <= enabled.get(state, set()):
            return False
        for target in following.get(state, set()):
            walk.meet(target, position, None)
    return True


def _require_agreement(parts: Sequence[PartiallyObserved]) -> None:
    """Refuse an event that one part shows and another hides."""
    seen: dict[str, tuple[int, bool]] = {}
    for number, part in enumerate(parts, start=1):
        for event in dict.fromkeys(move[1] for move in part.moves):
            first, is_seen = seen.setdefault(event, (number, event in part.observable))
            if is_seen != (event in part.observable):
                raise ModelError(
                    f"part {number}",
                    expected=f"event {event!r} to be {'' if is_seen else 'un'}observable, as in part {first}",
                    found="the opposite",
                )


def verify_opacity(
    system: PartiallyObserved | Sequence[PartiallyObserved],
    k: int | float | str = 0,
    *,
    notion: str = "weak",
    most_states: int | None = None,
    progress: Progress | None = None,
) -> OpacityVerdict:
    """Verify current-state, k-step or infinite-step opacity, weak or strong, or initial-state opacity.

    Parameters
    ----------
    system
        A stochastic or a logical system with secret states; or a list of parts, of which the synchronous product is
        meant: they move together by the events they share, and a secret of one is a secret of the whole.
    k
        How many observations back a secret must stay hidden: 0 (now), 1, 2 … or "infinite".
    notion
        "weak", "strong" or "initial"; or a notion of DESops: "separate-1", "separate-2" (weak), "joint-1" (strong),
        "joint-2".
    most_states
        Give up beyond so many states of the estimator; by default as many as fit into about 2 GB.
    progress
        Called now and then with the number of states explored, and None, because their number is unknown.

    >>> import symveil as sv
    >>> system = sv.StochasticSystem.from_transitions(
    ...     [("0", "a", "1", "1/2"), ("0", "b", "2", "1/2"), ("1", "c", "3", 1), ("2", "c", "3", 1)],
    ...     initial="0", observable=["a", "b", "c"], secret=["2"],
    ... )
    >>> sv.verify_opacity(system, k=1)
    OpacityVerdict(weak 1-step opacity is violated by b: after 1 of its events the state was in {2})
    >>> sv.verify_opacity(system.with_secret([]), k="infinite").holds
    True
    >>> lamp = sv.LogicalSystem.from_transitions([("off", "b", "on")], initial="off", observable=["b"])
    >>> sv.verify_opacity([system, lamp], k=1).witness
    ('b',)
    """
    question = read_question(k, notion)
    if not isinstance(system, StochasticSystem | LogicalSystem):
        return modular_verdict(system, question, most_states=most_states, progress=accepted(progress, before=1))
    observed = observed_for(system, question)
    return verdict_on(observed, question, observed.limit(most_states, accepted(progress, before=1)))


def observed_for(system: PartiallyObserved | Observed, question: Question) -> Observed:
    """The system, prepared for the observer of a question: where that is about epochs, the system of those."""
    if question.secret_epoch is None:
        return system if isinstance(system, Observed) else Observed(system)
    own = system.system if isinstance(system, Observed) else system
    return Observed(epoch_system(own, question.secret_epoch))
