"""The shortest observation that violates weak opacity, without k in the exponent (docs/opacity.md).

A secret instant is exposed when every run that was *not* secret in it has died. So for an
estimate X with secret states, follow two things along all further observations, for at most k of
them: B, where the runs that were not secret may be now, and y, where one that was secret may be. A
pair (y, ∅) is a violation. Only y and B matter, so there are at most |Q|·2^|Q| pairs whatever k is;
a pair with y ∈ B can never become one with B empty, and is dropped. All y with one B are stepped together.

Observations are explored by their length, so the first violation is a shortest one.
"""

from __future__ import annotations

from dataclasses import dataclass

from symveil.graphs.state_sets import StateSet, members
from symveil.graphs.walk import Walk
from symveil.verification.opacity.estimators import Observing
from symveil.verification.opacity.exploration import ExplorationLimit

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
