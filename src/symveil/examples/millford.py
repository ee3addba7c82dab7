"""Millford, a small town that does not exist: named streets, one-way in the old centre, two bridges over a river.

Symbols are blocks of streets with a direction: `High Street 2` is one-way, the third block of Station Road is both
`Station Road 3 east` and `Station Road 3 west`. At a crossing one goes on along every block that leaves it, never back.
`millford_trips` has the people.

The people of Millford and a week of their trips, from a fixed public seed: no real person made them.

People live somewhere and go to work, to school or to the shops, and home again. Each has ways of their own, which are
shortest or nearly so; now and then they take another. Trips have 3 to 8 blocks, and no block twice.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from functools import cache
from itertools import groupby, pairwise

from symveil.models.markov_chain import MarkovChain
from symveil.pictures.bezier import Point
from symveil.pictures.maps import Road, TownPlan
from symveil.randomness import BitSource, NotPrivateSeededBits, uniform_integer

Crossing = str
"""A letter for the column and a number for the row on the map."""

# metres east and north of the south-west corner
CROSSINGS: Mapping[Crossing, Point] = {
    "a0": (0, 20), "b0": (190, 0), "c0": (360, 10), "d0": (540, 0), "e0": (715, 30),
    "a1": (10, 200), "b1": (180, 190), "c1": (365, 180), "d1": (550, 195), "e1": (730, 205), "f1": (900, 200),
    "a2": (0, 370), "b2": (175, 360), "c2": (350, 365), "d2": (540, 375), "e2": (720, 380), "f2": (915, 370),
    "a3": (20, 545), "b3": (190, 540), "c3": (355, 550), "d3": (535, 555), "e3": (710, 560), "f3": (905, 555),
    "a4": (45, 700), "b4": (200, 715), "c4": (350, 730), "d4": (530, 725), "e4": (690, 715),
    "g1": (1080, 190), "g2": (1095, 365), "g3": (1075, 545),
}  # fmt: skip

# where the river flows, from south to north
RIVER: Sequence[Point] = ((800, -60), (790, 110), (815, 290), (800, 460), (815, 620), (790, 790))

PLACES: Sequence[tuple[str, Point]] = (
    ("school", (265, 450)), ("market", (445, 455)), ("station", (450, -35)), ("foundry", (990, 455)),
    ("shops", (640, 290)), ("hill", (110, 625)), ("abbey", (625, 640)),
)  # fmt: skip

# name, its crossings in order, whether one may drive it both ways
STREETS: Sequence[tuple[str, str, bool]] = (
    ("Station Road", "a0 b0 c0 d0 e0", True),
    ("Mill Lane", "a1 b1 c1 d1 e1", True),
    ("High Street", "a2 b2 c2 d2 e2", False),
    ("Church Street", "e3 d3 c3 b3 a3", False),
    ("Hill Road", "a4 b4 c4 d4 e4", True),
    ("West Road", "a0 a1 a2 a3 a4", True),
    ("School Lane", "b0 b1 b2 b3 b4", False),
    ("Market Street", "c4 c3 c2 c1 c0", False),
    ("Abbey Street", "d0 d1 d2 d3 d4", False),
    ("Quay", "e4 e3 e2 e1 e0", True),
    ("Mill Bridge", "e1 f1", True),
    ("Old Bridge", "e3 f3", True),
    ("Works Road", "f1 g1", True),
    ("Dyers Row", "f3 g3", True),
    ("East Bank", "f1 f2 f3", True),
    ("Foundry Lane", "g1 g2 g3", True),
)


@dataclass(frozen=True, slots=True)
class Block:
    """One symbol: a block of a street, driven from one crossing to another."""

    name: str
    number: str
    """Its name without the direction."""
    street: str
    start: Crossing
    end: Crossing
    both_ways: bool

    @property
    def metres(self) -> int:
        """How long it is."""
        return round(math.dist(CROSSINGS[self.start], CROSSINGS[self.end]))


@cache
def blocks() -> tuple[Block, ...]:
    """All blocks, street by street.

    >>> len(blocks()), blocks()[0].name, blocks()[16].name
    (76, 'Station Road 1 east', 'High Street 1')
    """
    results = []
    for street, along, both_ways in STREETS:
        ends = list(pairwise(along.split()))
        for number, (start, end) in enumerate(ends, start=1):
            name = street if len(ends) == 1 else f"{street} {number}"
            ways = [(start, end), (end, start)] if both_ways else [(start, end)]
            for way in ways:
                direction = f" {_compass(*way)}" if both_ways else ""
                results.append(Block(f"{name}{direction}", name, street, *way, both_ways))
    return tuple(results)


def _compass(start: Crossing, end: Crossing) -> str:
    (x1, y1), (x2, y2) = CROSSINGS[start], CROSSINGS[end]
    if abs(x2 - x1) > abs(y2 - y1):
        return "east" if x2 > x1 else "west"
    return "north" if y2 > y1 else "south"


def turns() -> dict[str, list[str]]:
    """Where one may go on after each block: anywhere but back.

    >>> turns()["High Street 4"]
    ['Quay 2 north', 'Quay 3 south']
    """
    leaving: dict[Crossing, list[Block]] = {}
    for block in blocks():
        leaving.setdefault(block.start, []).append(block)
    return {here.name: [on.name for on in leaving[here.end] if on.end != here.start] for here in blocks()}


def millford() -> MarkovChain:
    """The chain over the blocks; at every crossing all ways on are equally likely, and a trip may begin anywhere.

    >>> millford(), millford().initial
    (MarkovChain(76 states, 136 transitions), None)
    """
    rows = [(here, there, Fraction(1, len(onward))) for here, onward in turns().items() for there in onward]
    return MarkovChain.from_transitions(rows, states=[block.name for block in blocks()])


def millford_map() -> dict[str, Road]:
    """The two ends of every block on the map, in metres; x to the east and y to the north.

    >>> millford_map()["Mill Bridge east"]
    ((730, 205), (900, 200))
    """
    return {block.name: (CROSSINGS[block.start], CROSSINGS[block.end]) for block in blocks()}


def quarters() -> dict[str, str]:
    """In which of six quarters each block lies, by its middle.

    >>> sorted(set(quarters().values()))
    ['East Bank', 'Hillside', 'Old Town', 'Riverside', 'Station', 'Westfield']
    """
    return {name: _quarter((x1 + x2) / 2, (y1 + y2) / 2) for name, ((x1, y1), (x2, y2)) in millford_map().items()}


def _quarter(x: float, y: float) -> str:
    if x > 800:
        return "East Bank"
    if y > 620:
        return "Hillside"
    if y < 110:
        return "Station"
    if x < 110:
        return "Westfield"
    return "Riverside" if x > 640 else "Old Town"


def town_plan() -> TownPlan:
    """The town as it is drawn.

    >>> len(town_plan().names)
    16
    """
    names = []
    for street, _, _ in STREETS:
        numbers = {block.number: block.name for block in reversed(blocks()) if block.street == street}
        middle = sorted(numbers)[(len(numbers) - 1) // 2]
        names.append((street, numbers[middle]))
    return TownPlan(
        blocks=millford_map(),
        one_way=frozenset(block.name for block in blocks() if not block.both_ways),
        river=RIVER,
        names=names,
        places=PLACES,
    )


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


FIRST_DAY = datetime(2024, 5, 6)
_STARTS = {"work": (390, 75), "school": (465, 20), "shopping": (600, 200), "home": (930, 120)}
"""In minutes after midnight: the earliest start, and half of the range; starts in its middle are the likeliest."""
_METRES_PER_SECOND = 8


@cache
def millford_times() -> dict[str, tuple[datetime, ...]]:
    """When each block of each trip is entered: in the morning to work, in the afternoon home.

    >>> times = millford_times()
    >>> [time.isoformat() for time in times["trip-0002"][:2]]
    ['2024-05-06T08:10:02', '2024-05-06T08:10:45']
    """
    trips = millford_trips()
    lanes = iter(NotPrivateSeededBits(_SEED + 1).lanes(sum(2 + len(trip.blocks) for trip in trips.values())).tolist())
    metres = {block.name: block.metres for block in blocks()}
    results = {}
    for name, trip in trips.items():
        earliest, half = _STARTS[trip.purpose]
        seconds = 60 * earliest + next(lanes) % (60 * half) + next(lanes) % (60 * half)
        at, entered = FIRST_DAY + timedelta(days=trip.day - 1, seconds=seconds), []
        for block in trip.blocks:
            entered.append(at)
            slower = 80 + next(lanes) % 120  # per cent
            at += timedelta(seconds=metres[block] * slower // (100 * _METRES_PER_SECOND))
        results[name] = tuple(entered)
    return results


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
            corner = tuple(block.name for block in sides)
            for name in {sides[0].street, sides[0].number}:
                self._places.setdefault(name, []).append(corner)
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
        home, goal, shop = self._spots_of_a_life(goals)
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
        """The shortest way for a walker to whom some blocks seem longer than they are, and turns costly."""
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

    def _drawn(self, weights: Mapping[str, int]) -> Place:
        """A block of one of the streets, by their weights."""
        drawn = self._below(sum(weights.values()))
        positions = self._places[next(name for name, upto in _running(weights) if drawn < upto)]
        return positions[self._below(len(positions))]

    def _spots_of_a_life(self, goals: Mapping[str, int]) -> tuple[Place, Place, Place]:
        """A home, where one goes from there, and a shop: each a trip away from the others, there and back."""
        while True:
            home, goal, shop = self._drawn(_HOMES), self._drawn(goals), self._drawn(_SHOPS)
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
