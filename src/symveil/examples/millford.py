"""Millford, a small town that does not exist: named streets, one-way in the old centre, two bridges over a river.

Symbols are blocks of streets with a direction: `High Street 2` is one-way, the third block of Station Road is both
`Station Road 3 east` and `Station Road 3 west`. At a crossing one goes on along every block that leaves it, never back.
`millford_trips` has the people.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise

from symveil.models.markov_chain import MarkovChain
from symveil.pictures.bezier import Point
from symveil.pictures.road_map import Road
from symveil.pictures.town_map import TownPlan

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
    found = []
    for street, along, both_ways in STREETS:
        ends = list(pairwise(along.split()))
        for number, (start, end) in enumerate(ends, start=1):
            name = street if len(ends) == 1 else f"{street} {number}"
            ways = [(start, end), (end, start)] if both_ways else [(start, end)]
            for way in ways:
                direction = f" {_compass(*way)}" if both_ways else ""
                found.append(Block(f"{name}{direction}", name, street, *way, both_ways))
    return tuple(found)


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
