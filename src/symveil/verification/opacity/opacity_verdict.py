"""The verdict on a system that is prepared for its observer: a search for a shortest violation."""

from __future__ import annotations

import html
from collections import deque
from dataclasses import dataclass, field

from symveil.verification.opacity.estimators import IMPOSSIBLE, VIOLATION, State, estimator
from symveil.verification.opacity.notions import Question
from symveil.verification.opacity.observation import ExplorationLimit
from symveil.verification.opacity.observing import Observing
from symveil.verification.opacity.weak_search import Searched, Violation, WeakSearch, path_to


@dataclass(frozen=True, slots=True, kw_only=True)
class OpacityVerdict:
    """Whether a system is opaque, and if not, a shortest observation that gives a secret away.

    After `witness` the observer is sure: given all of it, the states possible after its first
    `exposed_after` events (for the strong notion, now) are `estimate`; `reason` says it in words.
    `estimator_states` counts the states of the observer and of what it keeps in mind that were explored.
    Of several parts, `system_states` counts the states of their product that were met, and `dropped` has the numbers
    of the parts that cannot matter.
    """

    question: Question = field(repr=False)
    holds: bool
    witness: tuple[str, ...] | None = None
    exposed_after: int | None = None
    estimate: tuple[str, ...] | None = None
    estimator_states: int
    system_states: int
    dropped: tuple[int, ...] = ()

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


def verdict_on(observed: Observing, question: Question, limit: ExplorationLimit) -> OpacityVerdict:
    """The verdict on a system that is already prepared for its observer."""
    if question.notion == "weak":
        violation, explored = WeakSearch(observed, question.k, limit).run()
    elif question.notion == "strong" and question.k is not None:
        violation, explored = _strong_search(observed, question.k, limit)
    else:
        violation, explored = _search(observed, question, limit)
    return OpacityVerdict(
        question=question,
        holds=violation is None,
        witness=None if violation is None else observed.spelled(violation.observation),
        exposed_after=None if violation is None else violation.exposed_after,
        estimate=None if violation is None else observed.names(violation.estimate),
        estimator_states=explored,
        system_states=observed.size,
    )


def _strong_search(observed: Observing, k: int, limit: ExplorationLimit) -> Searched:
    """Strong k-step opacity, without counting to k where k does not matter.

    An observer who is sure of a secret in the last k+1 instants is sure of one ever; and in an observation
    of at most k events there are no more instants than that. So a system without any violation of the
    infinite notion has none here, and a shortest one of at most k events is a shortest one here too.
    """
    violation, explored = _search(observed, Question("strong", None), limit)
    if violation is None or len(violation.observation) <= k:
        return violation, explored
    return _search(observed, Question("strong", k), limit)


def _search(observed: Observing, question: Question, limit: ExplorationLimit) -> Searched:
    """Breadth first over the states of the estimator."""
    machine = estimator(observed, question)
    begin = machine.start()
    if begin is VIOLATION:
        return _violation(observed, question, ()), 1
    parents: dict[State, tuple[State, int] | None] = {begin: None}
    queue = deque([(begin, 0)])
    sets = machine.sets(begin)
    reported = 0
    while queue:
        state, length = queue.popleft()
        if length > reported:
            reported = length
            limit.report(len(parents))
        for event in observed.occurring:
            after = machine.step(state, event)
            if after is IMPOSSIBLE:
                continue
            if after is VIOLATION:
                return _violation(observed, question, (*path_to(state, parents), event)), len(parents)
            if after not in parents:
                parents[after] = (state, event)
                sets += machine.sets(after)
                queue.append((after, length + 1))
        if sets > limit.estimates:
            raise limit.exceeded(longest=length)
    return None, len(parents)


def _violation(observed: Observing, question: Question, observation: tuple[int, ...]) -> Violation:
    """A violation with the estimate that it leaves: of the initial state, or of the current one."""
    if question.notion == "initial":
        return Violation(observation, 0, observed.delayed(observation, 0) & observed.initial)
    return Violation(observation, len(observation), observed.delayed(observation, len(observation)))


def _spelled(observation: tuple[str, ...]) -> str:
    """An observation for people: letters together, names apart; the empty one as ε."""
    if not observation:
        return "ε (before anything was observed)"
    return ("" if all(len(event) == 1 for event in observation) else " ").join(observation)
