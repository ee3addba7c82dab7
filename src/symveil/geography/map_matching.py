"""Trips on a network of links: the legal path that explains the positions of a whole trip best.

A position by itself cannot tell the two directions of a road apart, nor roads that run side by side; the next position
can. Each position has a few candidate links near by. A candidate costs d²/(2σ²) for the d metres that it is away, and a
step from one to the next costs |L − g|/σ, where L is the length of the shortest legal path between them and g the
straight distance between the positions. The cheapest sequence of candidates is found by dynamic programming (the
Viterbi algorithm; after Newson and Krumm, ACM GIS 2009). Links of the path that have no position are filled in.

Every trip is matched by itself, from public links and its own positions: what happens to one does not depend on others.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from symveil.errors import ParameterError
from symveil.geography.position_symbols import LEFT_OUT, NO_LINK, Candidate, Floats, Line, NearestLinks

_SIGMAS = 5
"""A position that is the tolerance away is so many standard deviations away."""
_WINDING, _SPARE = 3.0, 1000.0
"""A path is looked for that is at most so many times as long as the straight line, and so many metres longer."""
_STEP = 500.0
"""Searches are made for whole multiples of so many metres, and used again."""
_MOST_SKIPPED = 3
"""So many positions one after the other may be left out before a trip is matched in two parts."""
_MOST_REMEMBERED = 2_000_000
_SAME_POSITION = 7
"""Decimal places of degrees, about a centimetre, at which the ends of two links are one."""


@dataclass(frozen=True, slots=True)
class MatchedTrip:
    """The links of one trip.

    Parameters
    ----------
    links
        The number of each position's link; `NO_LINK` where none is near, `LEFT_OUT` for those that are left out.
    before
        The links that are filled in before each position: driven through between two positions.
    gaps
        How many steps no legal path explains. There the trip is matched in two parts.
    left_out
        How many positions near a link are left out, because no legal path leads there from the one before.
    cost
        What the links cost in all, gaps left out.
    """

    links: list[int]
    before: list[list[int]]
    gaps: int
    left_out: int
    cost: float


class _Part:
    """The positions of a trip that are explained so far, and for each candidate the one that it came from."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.straight: list[float] = []
        self.back: list[list[int]] = []
        self.costs: list[float] = []

    def add(self, index: int, straight: float, costs: list[float], back: list[int]) -> None:
        """One more position: how far it is from the last one, what each candidate costs, and where it came from."""
        self.steps.append(index)
        self.straight.append(straight)
        self.back.append(back)
        self.costs = costs


class MatchedLinks(NearestLinks):
    """Links with the moves between them, on which trips are matched.

    `links` are lines in degrees; `tolerance`, in metres, says how far from a link a position may be; `moves` which
    link may follow which, None: one that begins where the other ends, straight back only where there is no other.

    >>> there, back = np.array([(0.0, 0.0), (0.001, 0.0)]), np.array([(0.001, 0.0), (0.0, 0.0)])
    >>> road = MatchedLinks({"there": there, "back": back}, tolerance=50)
    >>> [road.alphabet[link] for link in road.trip(np.array([0.0007, 0.0002]), np.zeros(2)).links]
    ['back', 'back']
    """

    def __init__(
        self, links: Mapping[str, Line], *, tolerance: float, moves: Iterable[tuple[str, str]] | None = None
    ) -> None:
        super().__init__(links, tolerance=tolerance)
        number = {name: index for index, name in enumerate(self.alphabet)}
        self._after: list[list[int]] = [[] for _ in number]
        for source, target in moves_by_ends(links) if moves is None else moves:
            if source not in number or target not in number:
                raise ParameterError("model", expected="states that are links", found="others")
            self._after[number[source]].append(number[target])
        self._sigma = tolerance / _SIGMAS
        self._routes: dict[int, tuple[float, dict[int, tuple[float, int]]]] = {}
        self._remembered = 0

    def trip(self, longitudes: Floats, latitudes: Floats) -> MatchedTrip:
        """The links of one trip, whose positions are in order."""
        near = self.candidates(longitudes, latitudes)
        points = self.metres(longitudes, latitudes).tolist()
        links, before = [NO_LINK] * len(near), [list[int]() for _ in near]
        part = _Part()
        gaps = skipped = left_out = 0
        total = 0.0
        for index, there in enumerate(near):
            if not there:
                continue
            own = [each.distance**2 / (2 * self._sigma**2) for each in there]
            if not part.steps:
                part.add(index, 0.0, own, [-1] * len(own))
                continue
            straight = math.dist(points[part.steps[-1]], points[index])
            reached, came = self._reached(near[part.steps[-1]], there, part.costs, straight)
            if min(reached) < math.inf:
                skipped = 0
                part.add(index, straight, [one + other for one, other in zip(reached, own, strict=True)], came)
            elif skipped < _MOST_SKIPPED:  # rather the position is wrong than the map
                skipped, left_out = skipped + 1, left_out + 1
                links[index] = LEFT_OUT
            else:
                gaps, skipped = gaps + 1, 0
                total += self._write(part, near, links, before)
                part = _Part()
                part.add(index, 0.0, own, [-1] * len(own))
        if part.steps:
            total += self._write(part, near, links, before)
        return MatchedTrip(links, before, gaps=gaps, left_out=left_out, cost=total)

    def _write(self, part: _Part, near: list[list[Candidate]], links: list[int], before: list[list[int]]) -> float:
        """Write down the cheapest sequence of candidates of one part of a trip, from its end on; what it costs."""
        chosen = int(np.argmin(part.costs))
        for step in range(len(part.steps) - 1, -1, -1):
            index, previous = part.steps[step], part.back[step][chosen]
            here = near[index][chosen]
            links[index] = here.link
            if step:
                before[index] = self._between(near[part.steps[step - 1]][previous], here, part.straight[step])
            chosen = previous
        return min(part.costs)

    def _reached(
        self, here: list[Candidate], there: list[Candidate], costs: list[float], straight: float
    ) -> tuple[list[float], list[int]]:
        """The cheapest way to each of the next candidates, and from which candidate."""
        best, came = [math.inf] * len(there), [-1] * len(there)
        for source, one in enumerate(here):
            for target, other in enumerate(there):
                cost = costs[source] + self.step_cost(one, other, straight)
                if cost < best[target]:
                    best[target], came[target] = cost, source
        return best, came

    def step_cost(self, one: Candidate, other: Candidate, straight: float) -> float:
        """What a step costs: how much longer or shorter its shortest legal path is than the straight line."""
        cost = math.inf
        if one.link == other.link:  # also a little backwards, as noise makes it
            cost = abs(other.offset - one.offset - straight) / self._sigma
        length = self._around(one, other, straight)
        return cost if length is None else min(cost, abs(length - straight) / self._sigma)

    def _around(self, one: Candidate, other: Candidate, straight: float) -> float | None:
        """The length of the shortest path that leaves the link of `one`; None where it is too long, or there is none.

        In a link's own metres: to its end, along the links between, and into the other.
        """
        limit = _WINDING * straight + _SPARE
        between = self._reachable(one.link, limit).get(other.link)
        if between is None:
            return None
        length = self.lengths[one.link] - one.offset + between[0] + other.offset
        return length if length <= limit else None

    def _reachable(self, link: int, limit: float) -> dict[int, tuple[float, int]]:
        """Links that can be begun within a distance from the end of one: how far, and after which link."""
        known = self._routes.get(link)
        if known is not None and known[0] >= limit:
            return known[1]
        limit = math.ceil(limit / _STEP) * _STEP
        reached: dict[int, tuple[float, int]] = {}
        waiting = [(0.0, target, link) for target in self._after[link]]
        heapq.heapify(waiting)
        while waiting:
            distance, target, before = heapq.heappop(waiting)
            if target in reached:
                continue
            reached[target] = distance, before
            beyond = distance + self.lengths[target]
            if beyond <= limit:
                for following in self._after[target]:
                    if following not in reached:
                        heapq.heappush(waiting, (beyond, following, target))
        if self._remembered > _MOST_REMEMBERED:
            self._routes.clear()
            self._remembered = 0
        self._routes[link] = limit, reached
        self._remembered += len(reached)
        return reached

    def _between(self, one: Candidate, other: Candidate, straight: float) -> list[int]:
        """The links that are driven through from one candidate to the next."""
        length = self._around(one, other, straight)
        stays = math.inf if one.link != other.link else abs(other.offset - one.offset - straight)
        if length is None or stays <= abs(length - straight):
            return []
        reachable = self._reachable(one.link, _WINDING * straight + _SPARE)
        path: list[int] = []
        link = reachable[other.link][1]
        while link != one.link:
            path.append(link)
            link = reachable[link][1]
        return path[::-1]


def moves_by_ends(links: Mapping[str, Line]) -> list[tuple[str, str]]:
    """Which link may follow which: one that begins where the other ends, straight back only where there is no other.

    >>> square = {"ab": np.array([(0.0, 0.0), (1.0, 0.0)]), "ba": np.array([(1.0, 0.0), (0.0, 0.0)])}
    >>> moves_by_ends(square | {"bc": np.array([(1.0, 0.0), (1.0, 1.0)])})
    [('ab', 'bc'), ('ba', 'ab')]
    """
    ends = {name: tuple(map(_end, (line[0], line[-1]))) for name, line in links.items()}
    leaving: dict[tuple[float, float], list[str]] = defaultdict(list)
    for name, (start, _) in ends.items():
        leaving[start].append(name)
    moves = []
    for name, (start, end) in ends.items():
        after = leaving[end]
        onwards = [other for other in after if ends[other][1] != start] or after
        moves += [(name, other) for other in onwards]
    return moves


def _end(point: Line) -> tuple[float, float]:
    return round(float(point[0]), _SAME_POSITION), round(float(point[1]), _SAME_POSITION)
