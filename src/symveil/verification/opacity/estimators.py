"""What an observer keeps in mind to notice a violation as soon as it happens: deterministic estimators.

An estimator reads one observation after the other. Its state is a tuple whose first entry is X, all
states possible now; the rest depends on the notion (docs/opacity.md). `step` answers IMPOSSIBLE
where the system cannot produce the event, and VIOLATION where the observer becomes sure.

What an estimator needs of a system, of one or of several parts together (`Observing`), and the questions of opacity:
which notion, and how far back the observer may look.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal, Protocol

from symveil.errors import ParameterError
from symveil.graphs.state_sets import StateSet, still_possible
from symveil.numbers.rationals import Number, exact

Notion = Literal["weak", "strong", "initial"]
NOTIONS: tuple[Notion, ...] = ("weak", "strong", "initial")

OTHER_NAMES: dict[str, tuple[Notion, Literal[1, 2] | None]] = {
    "separate-1": ("weak", 1),
    "separate-2": ("weak", None),
    "joint-1": ("strong", None),
    "joint-2": ("strong", 2),
}
"""The notions of DESops by its names: separate or joint, and what a secret epoch is (1: one with a secret state, 2: one
of secret states only); what they are here, and of which epochs. docs/opacity.md"""

INFINITE = "infinite"


@dataclass(frozen=True, slots=True)
class Question:
    """A notion of opacity and its k; None is ∞. The initial notion has no k, and carries None.

    weak     each of the last k+1 instants is judged alone: it gives the secret away when every
             state possible in it is secret (Z25's notion, the default)
    strong   one single run must have been without a secret in all of the last k+1 instants
    initial  secrets are initial states; every initial state that fits the observation is secret
    """

    notion: Notion
    k: int | None
    asked: str | None = None
    """Another name by which it was asked for."""

    @property
    def secret_epoch(self) -> Literal[1, 2] | None:
        """Which epochs are secret, where it is asked of epochs and not of states."""
        return None if self.asked is None else OTHER_NAMES[self.asked][1]

    @property
    def shown_notion(self) -> str:
        """The notion as it was asked for."""
        return self.asked or self.notion

    @property
    def property_name(self) -> str:
        """What is verified, in words.

        >>> Question("weak", 0).property_name, Question("strong", None).property_name
        ('weak current-state opacity', 'strong infinite-step opacity')
        """
        if self.notion == "initial":
            return "initial-state opacity"
        if self.k == 0:
            return f"{self.shown_notion} current-state opacity"
        return f"{self.shown_notion} {INFINITE if self.k is None else self.k}-step opacity"

    @property
    def shown_k(self) -> int | str | None:
        """k as the JSON documents have it."""
        if self.notion == "initial":
            return None
        return INFINITE if self.k is None else self.k


def read_question(k: int | float | str | None, notion: str) -> Question:
    """The question that the parameters ask; k may be "infinite" (or ∞ as a float).

    >>> read_question("infinite", "weak")
    Question(notion='weak', k=None, asked=None)
    >>> read_question(-1, "weak")
    Traceback (most recent call last):
    symveil.errors.ParameterError: k: expected a whole number, 0 or more, or 'infinite', found -1
    """
    for known in NOTIONS:
        if notion == known:
            return Question(known, None if known == "initial" else _read_k(k))
    if isinstance(notion, str) and notion in OTHER_NAMES:
        return Question(OTHER_NAMES[notion][0], _read_k(k), notion)
    raise ParameterError("notion", expected=f"one of {', '.join((*NOTIONS, *OTHER_NAMES))}", found=notion)


def _read_k(k: object) -> int | None:
    if k == INFINITE or (isinstance(k, float) and k == math.inf):
        return None
    if isinstance(k, str) and k.isascii() and k.isdigit() and len(k) <= 9:
        return int(k)
    if isinstance(k, int) and not isinstance(k, bool) and k >= 0:
        return k
    raise ParameterError("k", expected=f"a whole number, 0 or more, or {INFINITE!r}", found=k)


def read_threshold(theta: Number) -> Fraction:
    """θ of almost opacity (Z25 Definition 6): violations less probable than θ are accepted."""
    threshold = exact(theta, name="theta", expected="a number above 0 and at most 1")
    if not 0 < threshold <= 1:
        raise ParameterError("theta", expected="a number above 0 and at most 1", found=theta)
    return threshold


Step = Callable[[StateSet], StateSet]


class Observing(Protocol):
    """A system as its observer computes with it; `Observed` and `ComposedObserved` say what each of these is."""

    @property
    def size(self) -> int:
        """How many states it has, or how many were met."""

    @property
    def secret(self) -> StateSet:
        """The secret states, of those that were met."""

    @property
    def initial(self) -> StateSet:
        """Where a run may start."""

    @property
    def start(self) -> StateSet:
        """The states possible before anything was observed."""

    @property
    def occurring(self) -> tuple[int, ...]:
        """The observable events that some transition has."""

    @property
    def reach(self) -> Step:
        """The unobservable reach."""

    @property
    def steps(self) -> Sequence[Step]:
        """For each event the estimate after it."""

    @property
    def clean_reach(self) -> Step:
        """The unobservable reach through states without a secret."""

    @property
    def clean_steps(self) -> Sequence[Step]:
        """For each event the states in which the whole instant after it may have been without a secret."""

    def names(self, states: StateSet) -> tuple[str, ...]:
        """The names of a set of states."""

    @property
    def events(self) -> tuple[str, ...]:
        """The observable events; an observation is a sequence of their numbers."""

    def spelled(self, observation: Sequence[int]) -> tuple[str, ...]:
        """An observation as its events."""
        events = self.events
        return tuple([events[event] for event in observation])

    def delayed(self, events: Sequence[int], instant: int) -> StateSet:
        """Q̂(β|ω) for β the first `instant` events of ω = `events`: what is possible then, given all of them."""
        estimate = self.start
        for event in events[:instant]:
            estimate = self.steps[event](estimate)
        return still_possible(estimate, events[instant:], reach=self.reach, steps=self.steps)


State = tuple[Any, ...]

IMPOSSIBLE: Final[State] = ("impossible",)
VIOLATION: Final[State] = ("violation",)


class Estimator(Protocol):
    """A deterministic machine over observations."""

    def start(self) -> State:
        """The state before anything was observed; VIOLATION where that is already too much."""

    def step(self, state: State, event: int) -> State:
        """The state after one more event."""

    def sets(self, state: State) -> int:
        """How many sets of states it holds: what it costs to keep."""


def estimator(observed: Observing, question: Question | None) -> Estimator:
    """The estimator of a notion; without a question, one that notices nothing and follows the observer."""
    if question is None:
        return WeakEstimator(observed, 0, secret=0)
    if question.notion == "weak":
        return WeakEstimator(observed, question.k, observed.secret)
    if question.notion == "strong":
        return _Strong(observed, question.k)
    return _Initial(observed)


class WeakEstimator:
    """(X, ((age, B), …)): B is where the run may be now if it was not secret `age` observations ago.

    B empty is a violation. Exact pruning: B = X can never become empty before X does, and a
    younger, smaller B' ⊆ B becomes empty no later and is kept no shorter. With k = ∞ ages do not
    matter and all are 0.
    """

    def __init__(self, observed: Observing, k: int | None, secret: StateSet) -> None:
        self.observed, self.k, self.secret = observed, k, secret

    def start(self) -> State:
        """The state before anything was observed."""
        return self._state(self.observed.start, [])

    def step(self, state: State, event: int) -> State:
        """The state after one more event."""
        step = self.observed.steps[event]
        now = step(state[0])
        if not now:
            return IMPOSSIBLE
        aged: list[tuple[int, StateSet]] = []
        for age, clean in state[1]:
            after = step(clean)
            if not after:
                return VIOLATION
            if self.k is None:
                aged.append((0, after))
            elif age + 1 < self.k:  # at age k it was just looked at for the last time
                aged.append((age + 1, after))
        return self._state(now, aged)

    def _state(self, now: StateSet, aged: list[tuple[int, StateSet]]) -> State:
        if not self.secret:  # estimates are closed under the unobservable reach
            return (now, ())
        clean = self.observed.reach(now & ~self.secret)
        if not clean:
            return VIOLATION
        if not aged:
            return (now, () if clean == now or self.k == 0 else ((0, clean),))
        remaining: list[tuple[int, StateSet]] = []
        for age, states in sorted({(0, clean), *aged}, key=lambda entry: (entry[0], entry[1].bit_count(), entry[1])):
            if states != now and not any(smaller & ~states == 0 for _, smaller in remaining):
                remaining.append((age, states))
        return (now, tuple(remaining))

    def sets(self, state: State) -> int:
        """X and each B."""
        return 1 + len(state[1])


class _Strong:
    """(X, ((C, times), …)): the j-th set C holds the states that a run clean in the last j instants may be in now.

    The sets shrink with j up to k+1, and equal neighbours are kept once with their number. No run
    that is clean in k+1 instants: a violation. With k = ∞ only "clean since the start" is kept.
    """

    def __init__(self, observed: Observing, k: int | None) -> None:
        self._observed = observed
        self._instants = None if k is None else k + 1

    def start(self) -> State:
        clean = self._observed.clean_reach(self._observed.initial)
        # nothing secret can have happened before the start
        return (self._observed.start, ((clean, self._instants or 1),)) if clean else VIOLATION

    def step(self, state: State, event: int) -> State:
        now = self._observed.steps[event](state[0])
        if not now:
            return IMPOSSIBLE
        step = self._observed.clean_steps[event]
        if self._instants is None:
            following = [(step(state[1][0][0]), 1)]
        else:
            *longer, (last, times) = state[1]
            following = [(step(state[0]), 1)]
            for clean, count in (*longer, (last, times - 1)):
                if count:
                    _append(following, step(clean), count)
        return (now, tuple(following)) if following[-1][0] else VIOLATION

    def sets(self, state: State) -> int:
        return 1 + len(state[1])


def _append(runs: list[tuple[StateSet, int]], states: StateSet, count: int) -> None:
    if runs[-1][0] == states:
        runs[-1] = (states, runs[-1][1] + count)
    else:
        runs.append((states, count))


class _Initial:
    """(X, C): C holds the states that a run which did not start in a secret may be in now."""

    def __init__(self, observed: Observing) -> None:
        self._observed = observed

    def start(self) -> State:
        clean = self._observed.reach(self._observed.initial & ~self._observed.secret)
        return (self._observed.start, clean) if clean else VIOLATION

    def step(self, state: State, event: int) -> State:
        step = self._observed.steps[event]
        now = step(state[0])
        if not now:
            return IMPOSSIBLE
        clean = step(state[1])
        return (now, clean) if clean else VIOLATION

    def sets(self, state: State) -> int:
        return len(state)
