"""A road network of 43 segments, generated: the Gainesville chain of B26 §V was not published.

Crossings form a 5 × 5 grid; its 40 streets and three diagonals are the segments, and so the states.
From a segment one can turn into every other segment that shares a crossing with it. Traffic is
denser towards the middle: the probability of a turn is proportional to the volume of the segment
that it leads to, as in counts of drivers. Its trips are drawn from this public chain by a fixed seed: no real
person drove them.

A road network of any size: a grid of crossings with one-way streets and dead ends, from a public seed.

For tests and benchmarks of large graphs. Links are directed: a street that is open both ways is two of them. From a
link one goes on along every link that leaves its end, back only where there is no other way; some links end nowhere.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from symveil.languages.runs import RunLanguage, runs
from symveil.laws.protection import typical_words
from symveil.models.markov_chain import MarkovChain
from symveil.models.word import decode
from symveil.pictures.bezier import Point
from symveil.pictures.maps import Road
from symveil.randomness import NotPrivateSeededBits, uniform_integer

SIDE = 5
TRIPS_OF_A_LENGTH = 40
TRIP_LENGTHS = range(6, 13)
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
    roads = segments()
    rows = []
    for segment in roads:
        turns = [other for other in roads if other != segment and set(other) & set(segment)]
        volume = {other: _volume(other) for other in turns}
        total = sum(volume.values())
        rows += [(name(segment), name(other), Fraction(volume[other], total)) for other in turns]
    return MarkovChain.from_transitions(rows, initial=START, states=[name(segment) for segment in roads])


def _volume(segment: Segment) -> int:
    middle = SIDE // 2
    return 1 + sum(2 * middle - abs(row - middle) - abs(column - middle) for row, column in segment)


def network_language() -> RunLanguage:
    """Trips of 14 segments after the public first one, as in B26 §V."""
    return runs(road_network(), len(TRIP))


def town() -> MarkovChain:
    """The same network with a hidden start: a trip may begin on any segment.

    >>> len(town().states), town().initial
    (43, None)
    """
    network = road_network()
    return MarkovChain.from_transitions(network.transitions, states=network.states)


def town_trips() -> dict[str, tuple[str, ...]]:
    """The generated trips by their id, of all lengths mixed.

    >>> len(town_trips()), len(town_trips()["trip-000"])
    (280, 6)
    """
    chain = town()
    by_length = [_trips_of(runs(chain, length)) for length in TRIP_LENGTHS]
    mixed = [trip for together in zip(*by_length, strict=True) for trip in together]
    return {f"trip-{number:03d}": trip for number, trip in enumerate(mixed)}


def _trips_of(language: RunLanguage) -> list[tuple[str, ...]]:
    rows = typical_words(language, TRIPS_OF_A_LENGTH)
    return [tuple(map(str, decode(row, language.alphabet, like=()))) for row in rows]


def network_coordinates() -> dict[str, Road]:
    """The two ends of every segment on a map.

    >>> len(network_coordinates())
    43
    """
    return {name(segment): (_point(segment[0]), _point(segment[1])) for segment in segments()}


def _point(crossing: Crossing) -> Point:
    """The coordinates of a crossing, y upwards: not quite on the grid, as in towns."""
    row, column = crossing
    return column + ((7 * row + 3 * column) % 5 - 2) * 0.07, -row - ((3 * row + 5 * column) % 5 - 2) * 0.07


_CLOSED, _ONE_WAY = 6, 60  # of a hundred streets

Link = tuple[int, int]


def grid_links(side: int, *, seed: int = 0) -> list[Link]:
    """(from, to) of every link between the side × side crossings, numbered by rows.

    >>> len(grid_links(3, seed=1)) <= 24
    True
    """
    bits = NotPrivateSeededBits(seed)  # public, and the same everywhere
    links = []
    for here in range(side * side):
        for there in ([here + 1] if (here + 1) % side else []) + ([here + side] if here + side < side * side else []):
            if uniform_integer(100, bits) < _CLOSED:
                continue
            ways = [(here, there), (there, here)]
            links += [ways[uniform_integer(2, bits)]] if uniform_integer(100, bits) < _ONE_WAY else ways
    return links


def grid_roads(side: int, *, seed: int = 0) -> MarkovChain:
    """The chain over the links of a grid; at every crossing all ways on are equally likely.

    Parameters
    ----------
    side
        Crossings along each side; there are about 2.6·side² links.
    seed
        Of the streets that are closed or one-way.

    >>> len(grid_roads(4).states) == len(grid_links(4))
    True
    """
    links = grid_links(side, seed=seed)
    leaving: dict[int, list[Link]] = {}
    for link in links:
        leaving.setdefault(link[0], []).append(link)
    rows = []
    for here, there in links:
        onward = [link for link in leaving.get(there, []) if link[1] != here] or leaving.get(there, [])
        rows += [(f"{here}-{there}", f"{one}-{two}", Fraction(1, len(onward))) for one, two in onward]
    return MarkovChain.from_transitions(rows, states=[f"{one}-{two}" for one, two in links])
