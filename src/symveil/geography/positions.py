"""Positions as symbols: the cell of a grid, the zone of a map, or the nearest link of a road network.

What turns positions into symbols is public and given: a box and a grid, shapes, links. Nothing is taken from the
positions themselves. Nearest links are found one position at a time; matching looks at whole trips.

Trips on a network of links: the legal path that explains the positions of a whole trip best.

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
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.geography.limits import LIMITS

METRES_PER_DEGREE = 6_371_008.8 * math.pi / 180
"""Of latitude, on a sphere with the mean radius of the earth."""

Line = NDArray[np.float64]
"""Rows of longitude and latitude."""
Floats = NDArray[np.float64]


NO_LINK, LEFT_OUT = -1, -2
"""In the place of a symbol's number: the position has none; it has some near by, but no legal path leads there."""


class PositionSymbols(ABC):
    """What symbol a position has."""

    @property
    @abstractmethod
    def alphabet(self) -> tuple[str, ...]:
        """All symbols that there are: public, and independent of who went where."""

    @abstractmethod
    def numbers(self, longitudes: Floats, latitudes: Floats) -> NDArray[np.int64]:
        """The number of each position's symbol in the alphabet; −1 where it has none."""


class GridCells(PositionSymbols):
    """The cells of an equal grid over a public box, named `column,row` from the south-west on.

    `box` is west, south, east and north, in degrees.

    >>> grid = GridCells((0, 0, 4, 2), columns=4, rows=2)
    >>> [grid.alphabet[number] for number in grid.numbers(np.array([0.5, 4.0]), np.array([0.5, 2.0])).tolist()]
    ['0,0', '3,1']
    """

    def __init__(self, box: tuple[float, float, float, float], *, columns: int, rows: int) -> None:
        west, south, east, north = box
        if not (all(map(math.isfinite, box)) and west < east and south < north and south >= -90 and north <= 90):
            raise ParameterError("box", expected="west,south,east,north in degrees, each pair rising", found=box)
        if min(columns, rows) < 1 or columns * rows > LIMITS.now.cells:
            raise ParameterError(
                "grid", expected=f"1 to {LIMITS.now.cells} cells, such as 20 or 30x20", found=(columns, rows)
            )
        self._low, self._size = np.array([west, south]), np.array([east - west, north - south])
        self._cells = np.array([columns, rows])

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The cells, row by row."""
        columns, rows = self._cells.tolist()
        return tuple(f"{column},{row}" for row in range(rows) for column in range(columns))

    def numbers(self, longitudes: Floats, latitudes: Floats) -> NDArray[np.int64]:
        """The cell of each position; on the far border that of the last cell, outside of the box none."""
        share = (np.stack([longitudes, latitudes], axis=1) - self._low) / self._size
        inside = ((share >= 0) & (share <= 1)).all(axis=1)
        cell = np.minimum(np.floor(np.where(inside[:, None], share, 0) * self._cells).astype(np.int64), self._cells - 1)
        return np.where(inside, cell[:, 1] * self._cells[0] + cell[:, 0], -1)


class ZoneShapes(PositionSymbols):
    """Zones with shapes: rings of positions, of which those inside an odd number of rings are in the zone.

    A position in several zones is in the first of them. A border belongs to the zone on its east and north.

    >>> square = np.array([(0, 0), (2, 0), (2, 2), (0, 2)], dtype=float)
    >>> zones = ZoneShapes({"centre": [square]})
    >>> zones.numbers(np.array([1.0, 3.0]), np.array([1.0, 1.0])).tolist()
    [0, -1]
    """

    def __init__(self, zones: Mapping[str, Sequence[Line]]) -> None:
        self._zones = [(name, [np.asarray(ring, dtype=np.float64) for ring in rings]) for name, rings in zones.items()]

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The zones, in the order in which they were given."""
        return tuple(name for name, _ in self._zones)

    def numbers(self, longitudes: Floats, latitudes: Floats) -> NDArray[np.int64]:
        """The first zone that each position lies in."""
        results = np.full(len(longitudes), -1, dtype=np.int64)
        for number, (_, rings) in enumerate(self._zones):
            inside = np.zeros(len(longitudes), dtype=bool)
            for ring in rings:
                low, high = ring.min(axis=0), ring.max(axis=0)
                near = (longitudes >= low[0]) & (longitudes <= high[0]) & (latitudes >= low[1]) & (latitudes <= high[1])
                if near.any():
                    inside[near] ^= _inside(ring, longitudes[near], latitudes[near])
            results[(results < 0) & inside] = number
        return results


def _inside(ring: Line, x: Floats, y: Floats) -> NDArray[np.bool_]:
    """Whether each position is inside a ring: how often a line to the east crosses it, half-open: no corner twice."""
    odd = np.zeros(len(x), dtype=bool)
    for (x1, y1), (x2, y2) in zip(ring, np.roll(ring, -1, axis=0), strict=True):
        if y1 == y2:
            continue
        crosses = (y1 > y) != (y2 > y)
        odd ^= crosses & (x < x1 + (y - y1) * (x2 - x1) / (y2 - y1))
    return odd


class Candidate(NamedTuple):
    """A link near a position: its number, how far it is, and how far along it the nearest point lies, in metres."""

    link: int
    distance: float
    offset: float


class NearestLinks(PositionSymbols):
    """The nearest of some links, if it is at most a tolerance away; among equally near links the first listed.

    `links` are lines in degrees, `tolerance` is in metres.

    >>> links = NearestLinks({"main": np.array([(0.0, 0.0), (0.01, 0.0)])}, tolerance=50)
    >>> links.numbers(np.array([0.005, 0.005]), np.array([0.0001, 0.001])).tolist()      # 11 m and 111 m away
    [0, -1]
    """

    def __init__(self, links: Mapping[str, Line], *, tolerance: float) -> None:
        if not (math.isfinite(tolerance) and tolerance > 0):
            raise ParameterError("tolerance", expected="a number of metres above 0", found=tolerance)
        if not links:
            raise ParameterError("links", expected="at least one link", found="none")
        self._names, self._tolerance = tuple(links), float(tolerance)
        everything = np.concatenate([np.asarray(line, dtype=np.float64) for line in links.values()])
        middle = (everything[:, 1].min() + everything[:, 1].max()) / 2
        # flat around the middle of the map, which is public: right within a city
        self._scale = np.array([METRES_PER_DEGREE * math.cos(math.radians(middle)), METRES_PER_DEGREE])
        pieces = [np.asarray(line, dtype=np.float64) * self._scale for line in links.values()]
        pieces = [np.repeat(line, 2, axis=0) if len(line) == 1 else line for line in pieces]
        steps = [np.hypot(*np.diff(line, axis=0).T) for line in pieces]
        self.lengths: list[float] = [float(step.sum()) for step in steps]
        """How long each link is, in metres."""
        self._begins = np.concatenate([np.cumsum(step) - step for step in steps])
        self._one = np.concatenate([line[:-1] for line in pieces])
        self._other = np.concatenate([line[1:] for line in pieces])
        self._owner = np.repeat(np.arange(len(pieces)), [len(line) - 1 for line in pieces])
        lengths = np.abs(self._other - self._one).max(axis=1)
        self._cell = max(self._tolerance, float(np.median(lengths)), 1.0)
        self._index = self._indexed()

    def _indexed(self) -> dict[tuple[int, int], NDArray[np.int64]]:
        """The pieces that come within the tolerance of each cell of a grid."""
        low = np.floor((np.minimum(self._one, self._other) - self._tolerance) / self._cell).astype(np.int64)
        high = np.floor((np.maximum(self._one, self._other) + self._tolerance) / self._cell).astype(np.int64)
        if float(np.prod(high - low + 1.0, axis=1).sum()) > 20 * LIMITS.now.cells:
            raise ParameterError("links", expected="links of a city, not of a continent", found="longer ones")
        index: dict[tuple[int, int], list[int]] = defaultdict(list)
        for piece, ((left, bottom), (right, top)) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
            for column in range(left, right + 1):
                for row in range(bottom, top + 1):
                    index[column, row].append(piece)
        return {cell: np.array(pieces) for cell, pieces in index.items()}

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The links, in the order in which they were given."""
        return self._names

    def metres(self, longitudes: Floats, latitudes: Floats) -> Floats:
        """Positions in metres, flat around the middle of the map."""
        points: Floats = np.stack([longitudes, latitudes], axis=1) * self._scale
        return points

    def numbers(self, longitudes: Floats, latitudes: Floats) -> NDArray[np.int64]:
        """The nearest link of each position within the tolerance."""
        results = np.full(len(longitudes), -1, dtype=np.int64)
        for own, pieces, distances, _ in self._near(self.metres(longitudes, latitudes)):
            nearest = np.argmin(distances, axis=1)  # the first of several: pieces are in the order of their links
            near = distances[np.arange(len(own)), nearest] <= self._tolerance
            results[own] = np.where(near, self._owner[pieces[nearest]], -1)
        return results

    def candidates(self, longitudes: Floats, latitudes: Floats) -> list[list[Candidate]]:
        """The links within the tolerance of each position, the nearest first, at most sixteen."""
        candidates_each: list[list[Candidate]] = [[] for _ in longitudes]
        for own, pieces, distances, shares in self._near(self.metres(longitudes, latitudes)):
            long = np.hypot(*(self._other[pieces] - self._one[pieces]).T)
            for index, away, share in zip(own.tolist(), distances, shares, strict=True):
                near = np.flatnonzero(away <= self._tolerance)
                near = near[np.argsort(away[near], kind="stable")]
                offsets = self._begins[pieces[near]] + share[near] * long[near]
                links: dict[int, Candidate] = {}
                for link, distance, offset in zip(
                    self._owner[pieces[near]].tolist(), away[near].tolist(), offsets.tolist(), strict=True
                ):
                    links.setdefault(link, Candidate(link, distance, offset))
                candidates_each[index] = list(links.values())[: LIMITS.now.candidates]
        return candidates_each

    def _near(self, points: Floats) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats]]:
        """Positions by the cells of the index: which they are, the pieces near by, how far these are, and where."""
        if not len(points):
            return
        cells, which = np.unique(np.floor(points / self._cell).astype(np.int64), axis=0, return_inverse=True)
        order = np.argsort(which.reshape(-1), kind="stable")
        ends = np.cumsum(np.bincount(which.reshape(-1), minlength=len(cells)))
        for cell, (start, stop) in zip(
            cells.tolist(), zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True), strict=True
        ):
            pieces = self._index.get((cell[0], cell[1]))
            if pieces is None:
                continue
            step = max(1, LIMITS.now.pairs_at_once // len(pieces))
            for first in range(start, stop, step):
                own = order[first : min(first + step, stop)]
                yield own, pieces, *self._distances(points[own], pieces)

    def _distances(self, points: Floats, pieces: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """How far each position is from each piece, and at which share of the piece it is nearest."""
        one, other = self._one[pieces], self._other[pieces]
        along = other - one
        squares = np.maximum((along**2).sum(axis=1), 1e-30)
        away = points[:, None, :] - one[None, :, :]
        share = np.clip((away * along[None, :, :]).sum(axis=2) / squares[None, :], 0.0, 1.0)
        return np.sqrt(((away - share[:, :, None] * along[None, :, :]) ** 2).sum(axis=2)), share


_SIGMAS = 5
"""A position that is the tolerance away is so many standard deviations away."""
_WINDING, _SPARE = 3.0, 1000.0
"""A path is looked for that is at most so many times as long as the straight line, and so many metres longer."""
_STEP = 500.0
"""Searches are made for whole multiples of so many metres, and used again."""
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
            elif skipped < LIMITS.now.skipped_positions:  # rather the position is wrong than the map
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
        if self._remembered > LIMITS.now.remembered_distances:
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
