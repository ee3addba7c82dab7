"""The verdict on a system that is prepared for its observer: a search for a shortest violation.

The shortest observation that violates weak opacity, without k in the exponent (docs/opacity.md).

A secret instant is exposed when every run that was *not* secret in it has died. So for an
estimate X with secret states, follow two things along all further observations, for at most k of
them: B, where the runs that were not secret may be now, and y, where one that was secret may be. A
pair (y, ∅) is a violation. Only y and B matter, so there are at most |Q|·2^|Q| pairs whatever k is;
a pair with y ∈ B can never become one with B empty, and is dropped. All y with one B are stepped together.

Observations are explored by their length, so the first violation is a shortest one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from symveil.graphs.state_sets import StateSet, members
from symveil.graphs.walk import Walk
from symveil.reports.page import Reported
from symveil.reports.report import Report, text_report
from symveil.verification.opacity.estimators import Exploration, ExplorationLimit, Observing, Question, estimator

Followed = tuple[StateSet, int]
"""(B, age): the runs that were not secret, and how many observations ago that was; with k = ∞ ages are 0."""


@dataclass(frozen=True, slots=True)
class Violation:
    """An observation, and what it exposes: the states possible after so many of its events, all of them secret."""

    observation: tuple[int, ...]
    exposed_after: int
    estimate: StateSet


Searched = tuple[Violation | None, int]
"""A shortest violation, where there is one, and how many states of the estimator were explored."""


class WeakSearch:
    """One search; `run` it once."""

    def __init__(self, observed: Observing, k: int | None, limit: ExplorationLimit) -> None:
        self._observed, self._k, self._limit = observed, k, limit
        self._walk: Walk[StateSet, int] = Walk([observed.start])
        # for each B and age, the y that were already followed with it
        self._covered: dict[StateSet, dict[int, StateSet]] = {}
        # layers[n]: what is followed after n observations, with all y it is followed for
        self._layers: list[dict[Followed, StateSet]] = []
        self._followed = 0  # entries of all layers together
        # seeds[n]: the estimates after n observations in which following a B began
        self._seeds: list[dict[StateSet, list[int]]] = []

    def run(self) -> Searched:
        """Explore by length until a violation, or until there is nothing new."""
        layer = range(1)
        followed: dict[Followed, StateSet] = {}
        while layer or followed:
            self._layers.append(followed)
            self._limit.report(self._explored)
            exposed = self._begin_following(layer, followed)
            if exposed is not None:
                return self._violation(self._walk.way_to(exposed), ())
            following: dict[Followed, StateSet] = {}
            for (clean, age), secret in followed.items():
                if self._k is not None and age >= self._k:
                    continue
                for event in self._observed.occurring:
                    step = self._observed.steps[event]
                    after = step(secret)
                    if not after:
                        continue
                    still_clean = step(clean)
                    if not still_clean:
                        return self._violation(*self._trace(clean, age, event))
                    self._follow(following, still_clean, age + 1, after & ~still_clean)
            layer = self._next_estimates(layer)
            followed = following
        return None, self._explored

    @property
    def _explored(self) -> int:
        """The estimates explored: the observer's, and the sets B that were followed."""
        return len(self._walk) + len(self._covered)

    def _require_few(self) -> None:
        self._limit.require(max(self._explored, self._followed), longest=len(self._layers) - 1)

    def _begin_following(self, layer: range, followed: dict[Followed, StateSet]) -> int | None:
        """Seed the pairs of each new estimate; returns one that is secret altogether."""
        seeds: dict[StateSet, list[int]] = {}
        self._seeds.append(seeds)
        for number in layer:
            estimate = self._walk.nodes[number]
            secret = estimate & self._observed.secret
            if secret:
                clean = self._observed.reach(estimate & ~secret)
                if not clean:
                    return number
                if self._k != 0 and secret & ~clean:
                    seeds.setdefault(clean, []).append(number)
                    self._follow(followed, clean, 0, secret & ~clean)
        return None

    def _follow(self, layer: dict[Followed, StateSet], clean: StateSet, age: int, secret: StateSet) -> None:
        """Follow `secret` beside `clean`, as far as that was not done at the same age or younger."""
        if not secret:
            return
        if self._k is None:
            age = 0
        covered = self._covered.setdefault(clean, {})
        for earlier, states in covered.items():
            if earlier <= age:
                secret &= ~states
        if secret:
            covered[age] = covered.get(age, 0) | secret
            layer[clean, age] = layer.get((clean, age), 0) | secret
            self._followed += 1
            self._require_few()

    def _next_estimates(self, layer: range) -> range:
        walk = self._walk
        for number in layer:
            for event in self._observed.occurring:
                after = self._observed.steps[event](walk.nodes[number])
                if after:
                    walk.meet(after, number, event)
            self._require_few()
        return range(layer.stop, len(walk)) if layer else layer

    # --- the way back --------------------------------------------------------------------------

    def _trace(self, clean: StateSet, age: int, event: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The observation up to the exposed instant and after it, for (clean, age) of the last layer and one event."""
        length = len(self._layers) - 1
        secret = self._survivors(self._layers[length][clean, age], event)
        after = [event]
        while True:
            seed = self._seed(clean, age, secret, length)
            if seed is not None:
                return self._walk.way_to(seed), tuple(reversed(after))
            length -= 1
            clean, age, event, secret = self._before(clean, age, secret, length)
            after.append(event)

    def _survivors(self, secret: StateSet, event: int) -> StateSet:
        """Those of `secret` that can produce the event."""
        step = self._observed.steps[event]
        return sum(1 << state for state in members(secret) if step(1 << state))

    def _seed(self, clean: StateSet, age: int, secret: StateSet, length: int) -> int | None:
        """An estimate of this length in which following (clean, one of secret) began."""
        if age and self._k is not None:
            return None
        for number in self._seeds[length].get(clean, ()):
            if self._walk.nodes[number] & self._observed.secret & secret:
                return number
        return None

    def _before(self, clean: StateSet, age: int, secret: StateSet, length: int) -> tuple[StateSet, int, int, StateSet]:
        """What led to (clean, one of secret) one observation earlier."""
        for (earlier_clean, earlier_age), earlier in self._layers[length].items():
            if self._k is not None and earlier_age + 1 != age:
                continue
            for event in self._observed.occurring:
                step = self._observed.steps[event]
                if step(earlier_clean) == clean:
                    origin = sum(1 << state for state in members(earlier) if step(1 << state) & secret)
                    if origin:
                        return earlier_clean, earlier_age, event, origin
        raise AssertionError("every pair was seeded or stepped to")

    def _violation(self, before: tuple[int, ...], after: tuple[int, ...]) -> Searched:
        observation = before + after
        estimate = self._observed.delayed(observation, len(before))
        return Violation(observation, len(before), estimate), self._explored


@dataclass(frozen=True, slots=True, kw_only=True)
class OpacityVerdict(Reported):
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

    def report(self) -> Report:
        """The answer in a sentence."""
        return text_report("Opacity", [f"{repr(self).removeprefix('OpacityVerdict(').removesuffix(')')}"])

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
    search = Exploration(observed, estimator(observed, question), limit)
    for _ in search.rows(until_violation=True):
        pass
    violation = None if search.violation is None else _violation(observed, question, search.violation)
    return violation, max(len(search.walk), 1)


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
