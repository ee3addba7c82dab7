"""Is a system opaque? A verdict with a shortest observation that says why not."""

from __future__ import annotations

import html
from collections import deque
from dataclasses import dataclass, field

from symveil.languages.observation import Observed, Progress, looking_back, too_many_estimates
from symveil.languages.state_sets import StateSet
from symveil.models.stochastic_system import PartiallyObserved
from symveil.verification.opacity.estimators import IMPOSSIBLE, VIOLATION, State, estimator
from symveil.verification.opacity.notions import Question, read_question
from symveil.verification.opacity.weak_search import Search, WeakSearch


@dataclass(frozen=True, slots=True, kw_only=True)
class OpacityVerdict:
    """Whether a system is opaque, and if not, a shortest observation that gives a secret away.

    After `witness` the observer is sure: given all of it, the states possible after its first
    `exposed_after` events (for the strong notion, now) are `estimate`; `reason` says it in words.
    `estimator_states` counts the states of the observer and of what it keeps in mind that were explored.
    """

    question: Question = field(repr=False)
    holds: bool
    witness: tuple[str, ...] | None = None
    exposed_after: int | None = None
    estimate: tuple[str, ...] | None = None
    estimator_states: int
    system_states: int

    @property
    def property_name(self) -> str:
        """What was verified, in words."""
        return self.question.property_name

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self).removeprefix('OpacityVerdict(').removesuffix(')'))}</p>"

    def __repr__(self) -> str:
        if self.holds:
            return f"OpacityVerdict({self.property_name} holds; {self.estimator_states} estimator states explored)"
        return f"OpacityVerdict({self.property_name} is violated by {_spelled(self.witness or ())}: {self.reason})"

    @property
    def reason(self) -> str:
        """Why the witness is one, in words."""
        if self.witness is None:
            return ""
        estimate = f"{{{', '.join(self.estimate or ())}}}"
        if self.question.notion == "initial":
            return f"the initial state was in {estimate}"
        if self.question.notion == "strong":
            instants = "some instant" if self.question.k is None else f"one of the last {self.question.k + 1} instants"
            return f"every run that shows it met a secret in {instants}"
        return f"after {self.exposed_after} of its events the state was in {estimate}"


def verify_opacity(
    system: PartiallyObserved,
    k: int | float | str = 0,
    *,
    notion: str = "weak",
    most_states: int | None = None,
    progress: Progress | None = None,
) -> OpacityVerdict:
    """Verify current-state (k = 0), k-step or "infinite"-step opacity, weak or strong, or initial-state opacity.

    >>> import symveil as sv
    >>> system = sv.StochasticSystem.from_transitions(
    ...     [("0", "a", "1", "1/2"), ("0", "b", "2", "1/2"), ("1", "c", "3", 1), ("2", "c", "3", 1)],
    ...     initial="0", observable=["a", "b", "c"], secret=["2"],
    ... )
    >>> sv.verify_opacity(system, k=1)
    OpacityVerdict(weak 1-step opacity is violated by b: after 1 of its events the state was in {2})
    >>> sv.verify_opacity(system.with_secret([]), k="infinite").holds
    True
    """
    question = read_question(k, notion)
    seen = Observed(system)
    if question.notion == "weak":
        search = WeakSearch(seen, question.k, most_states=most_states, progress=progress).run()
    elif question.notion == "strong" and question.k is not None:
        search = _strong_search(seen, question.k, most_states=most_states, progress=progress)
    else:
        search = _search(seen, question, most_states=most_states, progress=progress)
    return OpacityVerdict(
        question=question,
        holds=search.observation is None,
        witness=None if search.observation is None else seen.spelled(search.observation),
        exposed_after=search.exposed_after,
        estimate=None if search.observation is None else seen.names(search.estimate),
        estimator_states=search.estimator_states,
        system_states=len(system.states),
    )


def _strong_search(seen: Observed, k: int, *, most_states: int | None, progress: Progress | None) -> Search:
    """Strong k-step opacity, without counting to k where k does not matter.

    Whoever is sure of a secret in the last k+1 instants is sure of one ever; and in an observation of
    at most k events there are no more instants than that. So a system without any violation of the
    infinite notion has none here, and a shortest one of at most k events is a shortest one here too.
    """
    ever = _search(seen, Question("strong", None), most_states=most_states, progress=progress)
    if ever.observation is None or len(ever.observation) <= k:
        return ever
    return _search(seen, Question("strong", k), most_states=most_states, progress=progress)


def _search(seen: Observed, question: Question, *, most_states: int | None, progress: Progress | None) -> Search:
    """Breadth first over the states of the estimator."""
    machine = estimator(seen, question)
    begin = machine.start()
    if begin is VIOLATION:
        return _found(seen, question, (), explored=1)
    parents: dict[State, tuple[State, int] | None] = {begin: None}
    queue = deque([(begin, 0)])
    sets, allowed = machine.sets(begin), seen.most_estimates(most_states)
    reported = 0
    while queue:
        state, length = queue.popleft()
        if progress and length > reported:
            reported = length
            progress(len(parents))
        for event in seen.occurring:
            after = machine.step(state, event)
            if after is IMPOSSIBLE:
                continue
            if after is VIOLATION:
                return _found(seen, question, (*_path_to(state, parents), event), explored=len(parents))
            if after not in parents:
                parents[after] = (state, event)
                sets += machine.sets(after)
                queue.append((after, length + 1))
        if sets > allowed:
            raise too_many_estimates(allowed, longest=length)
    return Search(observation=None, estimator_states=len(parents))


def _path_to(state: State, parents: dict[State, tuple[State, int] | None]) -> tuple[int, ...]:
    events = []
    parent = parents[state]
    while parent is not None:
        state, event = parent
        events.append(event)
        parent = parents[state]
    return tuple(reversed(events))


def _found(seen: Observed, question: Question, observation: tuple[int, ...], *, explored: int) -> Search:
    """The estimate that a violation leaves: of the initial state, or of the current one."""
    if question.notion == "initial":
        exposed, estimate = 0, _initial_estimate(seen, observation)
    else:
        exposed = len(observation)
        estimate = looking_back(seen, observation, exposed)
    return Search(observation=observation, exposed_after=exposed, estimate=estimate, estimator_states=explored)


def _initial_estimate(seen: Observed, observation: tuple[int, ...]) -> StateSet:
    """The initial states from which the observation is possible."""
    return looking_back(seen, observation, 0) & seen.initial


def _spelled(observation: tuple[str, ...]) -> str:
    """An observation for people: letters together, names apart; the empty one as ε."""
    if not observation:
        return "ε (before anything was observed)"
    return ("" if all(len(event) == 1 for event in observation) else " ").join(observation)
