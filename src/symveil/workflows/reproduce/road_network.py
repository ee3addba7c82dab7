"""A road network of 43 segments, generated: the Gainesville chain of B26 §V was not published.

Crossings form a 5 × 5 grid; its 40 streets and three diagonals are the segments, and so the states.
From a segment one can turn into every other segment that shares a crossing with it. Traffic is
denser towards the middle: the probability of a turn is proportional to the volume of the segment
that it leads to, as in counts of drivers.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from symveil.models.markov_chain import MarkovChain

SIDE = 5
_DIAGONALS = (((0, 0), (1, 1)), ((2, 2), (3, 3)), ((3, 1), (4, 0)))

Crossing = tuple[int, int]
Segment = tuple[Crossing, Crossing]

# A trip of 14 segments after the first: along one side of the grid, then across it.
START = "0,0-0,1"
TRIP = (
    "0,1-0,2", "0,2-0,3", "0,3-1,3", "1,3-2,3", "2,2-2,3", "2,2-3,3", "3,3-4,3",
    "4,2-4,3", "3,2-4,2", "3,1-3,2", "2,1-3,1", "1,1-2,1", "1,0-1,1", "0,0-1,0",
)  # fmt: skip


def segments() -> list[Segment]:
    """All 43 segments."""
    streets = []
    for row, column in product(range(SIDE), repeat=2):
        if column + 1 < SIDE:
            streets.append(((row, column), (row, column + 1)))
        if row + 1 < SIDE:
            streets.append(((row, column), (row + 1, column)))
    return sorted([*streets, *_DIAGONALS])


def name(segment: Segment) -> str:
    """The name of a segment: its two crossings."""
    (a, b), (c, d) = segment
    return f"{a},{b}-{c},{d}"


def road_network() -> MarkovChain:
    """The chain over the segments.

    >>> chain = road_network()
    >>> len(chain.states), round(len(chain.transitions) / len(chain.states), 1)
    (43, 5.3)
    """
    places = segments()
    rows = []
    for segment in places:
        turns = [other for other in places if other != segment and set(other) & set(segment)]
        volume = {other: _volume(other) for other in turns}
        total = sum(volume.values())
        rows += [(name(segment), name(other), Fraction(volume[other], total)) for other in turns]
    return MarkovChain.from_transitions(rows, initial=START, states=[name(segment) for segment in places])


def _volume(segment: Segment) -> int:
    middle = SIDE // 2
    return 1 + sum(2 * middle - abs(row - middle) - abs(column - middle) for row, column in segment)
