"""The people of Millford and a week of their trips, from a fixed public seed: nobody made them.

People live somewhere and go to work, to school or to the shops, and home again. Each has ways of their own, which are
shortest or nearly so; now and then they take another. Trips have 3 to 8 blocks, and no block twice.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from symveil.examples.millford import blocks, turns
from symveil.randomness import BitSource, NotPrivateSeededBits, uniform_integer

PEOPLE, DAYS = 500, 5
SHORTEST, LONGEST = 3, 8
MOST_TRIPS = 15
"""Of one person, three a day. A rule of the survey like the two lengths, and public."""

_SEED = 1812
_HOMES = {
    "West Road": 5, "Hill Road": 5, "Station Road": 3, "School Lane": 2, "Abbey Street": 2,
    "Mill Lane": 2, "East Bank": 2,
}  # fmt: skip
_WORK = {"Foundry Lane": 5, "Works Road": 3, "High Street": 4, "Station Road": 2, "Quay": 2, "Church Street": 1}
_SHOPS = {"Market Street": 4, "High Street 2": 2, "Mill Lane 4": 2, "Dyers Row": 1}
_SCHOOL = {"School Lane 3": 1}
_WORKERS, _PUPILS = 60, 15  # of a hundred; the others only go shopping
_AT_WORK, _SHOP_AFTER_WORK, _SHOP_ON_A_DAY, _ANOTHER_WAY = 90, 15, 40, 12  # in a hundred
_SLOWER = 26  # by how many per cent a block may seem longer to somebody
_METRES_PER_TURN = 40

Place = tuple[str, ...]
"""Where one leaves or arrives: the symbols of a block, one for each direction."""
Way = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trip:
    """A trip of a person on a day, and what it was for."""

    person: str
    day: int
    purpose: str
    blocks: Way


@cache
def millford_trips() -> dict[str, Trip]:
    """All trips by their id, day by day, in no order within a day that would say whose they are.

    >>> trips = millford_trips()
    >>> len(trips), trips["trip-0002"].purpose, trips["trip-0002"].blocks[:2]
    (3977, 'work', ('Mill Lane 3 west', 'Mill Lane 2 west'))
    """
    survey = _Survey(NotPrivateSeededBits(_SEED))  # public, and the same everywhere
    days: list[list[Trip]] = [[] for _ in range(DAYS)]
    for number in range(1, PEOPLE + 1):
        for trip in survey.week(f"person-{number:03d}"):
            days[trip.day - 1].append(trip)
    mixed = [trip for day in days for trip in survey.shuffled(day)]
    return {f"trip-{number:04d}": trip for number, trip in enumerate(mixed, start=1)}


class _Survey:
    """Draws people and what they do."""

    def __init__(self, bits: BitSource) -> None:
        self._bits = bits
        self._turns = turns()
        self._blocks = {block.name: block for block in blocks()}
        self._places: dict[str, list[Place]] = {}
        """By the name of a street, and by that of a block without its direction."""
        for _, together in groupby(blocks(), key=lambda block: block.number):
            sides = list(together)
            place = tuple(block.name for block in sides)
            for name in {sides[0].street, sides[0].number}:
                self._places.setdefault(name, []).append(place)
        self._lengths: dict[tuple[Place, Place], int] = {}

    def week(self, person: str) -> Iterator[Trip]:
        """The trips of one person."""
        kind, ways = self._below(100), _Ways(self)
        if kind < _WORKERS:
            goals, purpose, usual = _WORK, "work", _AT_WORK
        elif kind < _WORKERS + _PUPILS:
            goals, purpose, usual = _SCHOOL, "school", _AT_WORK
        else:
            goals, purpose, usual = _SHOPS, "shopping", _SHOP_ON_A_DAY
        home, goal, shop = self._places_of_a_life(goals)
        for day in range(1, DAYS + 1):
            if self._below(100) >= usual:
                continue
            yield Trip(person, day, purpose, ways.between(home, goal))
            here = goal
            if purpose == "work" and self._below(100) < _SHOP_AFTER_WORK:
                yield Trip(person, day, "shopping", ways.between(goal, shop))
                here = shop
            yield Trip(person, day, "home", ways.between(here, home))

    def shuffled(self, trips: list[Trip]) -> list[Trip]:
        """The same trips in a random order."""
        for last in range(len(trips) - 1, 0, -1):
            other = self._below(last + 1)
            trips[last], trips[other] = trips[other], trips[last]
        return trips

    def chance(self, hundredths: int) -> bool:
        """Whether something happens that happens so many times in a hundred."""
        return self._below(100) < hundredths

    def way(self, origin: Place, goal: Place) -> Way:
        """The shortest way to somebody who finds some blocks longer than they are, and turns bothersome."""
        more = self._bits.lanes(len(blocks())) % _SLOWER  # all at once; nothing hangs on a modulus that is not exact
        return self._shortest(origin, goal, more.tolist())

    def _shortest(self, origin: Place, goal: Place, more: Sequence[int]) -> Way:
        seems = {each.name: each.metres * (100 + part) for each, part in zip(blocks(), more, strict=True)}
        queue: list[tuple[int, Way]] = [(0, (start,)) for start in origin]
        seen = set()
        while True:  # the town is connected
            spent, way = heapq.heappop(queue)
            if way[-1] in goal:
                return way
            if way[-1] in seen:
                continue
            seen.add(way[-1])
            street = self._blocks[way[-1]].street
            for onward in self._turns[way[-1]]:
                turn = 0 if self._blocks[onward].street == street else 100 * _METRES_PER_TURN
                heapq.heappush(queue, (spent + turn + seems[onward], (*way, onward)))

    def _place(self, weights: Mapping[str, int]) -> Place:
        """A block of one of the streets, by their weights."""
        drawn = self._below(sum(weights.values()))
        places = self._places[next(name for name, upto in _running(weights) if drawn < upto)]
        return places[self._below(len(places))]

    def _places_of_a_life(self, goals: Mapping[str, int]) -> tuple[Place, Place, Place]:
        """A home, where one goes from there, and a shop: each a trip away from the others, there and back."""
        while True:
            home, goal, shop = self._place(_HOMES), self._place(goals), self._place(_SHOPS)
            if all(map(self._a_trip, (home, goal, goal, shop), (goal, home, shop, home))):
                return home, goal, shop

    def _a_trip(self, origin: Place, goal: Place) -> bool:
        if (origin, goal) not in self._lengths:
            self._lengths[origin, goal] = len(self._shortest(origin, goal, [0] * len(blocks())))
        return SHORTEST <= self._lengths[origin, goal] <= LONGEST

    def _below(self, bound: int) -> int:
        return uniform_integer(bound, self._bits)


class _Ways:
    """The ways that one person is used to."""

    def __init__(self, survey: _Survey) -> None:
        self._survey = survey
        self._usual: dict[tuple[Place, Place], Way] = {}

    def between(self, origin: Place, goal: Place) -> Way:
        """The usual way, or now and then another."""
        usual = self._usual.get((origin, goal))
        if usual is not None and not self._survey.chance(_ANOTHER_WAY):
            return usual
        way = self._survey.way(origin, goal)
        while not SHORTEST <= len(way) <= LONGEST:
            way = self._survey.way(origin, goal)
        return self._usual.setdefault((origin, goal), way) if usual is None else way


def _running(weights: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    total = 0
    for name, weight in weights.items():
        total += weight
        yield name, total
