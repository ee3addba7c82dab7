"""The systems of the papers; those whose figures are pictures are reconstructed: the numbers of the text come out.

The Gainesville chain of B26 §V was not published, so a road network of 43 segments is generated. Crossings form a
5 × 5 grid; its 40 streets and three diagonals are the segments, and so the states. From a segment one can turn into
every other segment that shares a crossing with it. Traffic is denser towards the middle: the probability of a turn is
proportional to the volume of the segment that it leads to, as in counts of drivers. Its trips are drawn from this
public chain by a fixed seed: no real person drove them.

For tests and benchmarks of large graphs there is a road network of any size: a grid of crossings with one-way streets
and dead ends, from a public seed. Links are directed: a street that is open both ways is two of them. From a link one
goes on along every link that leaves its end, back only where there is no other way; some links end nowhere."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from symveil.languages.runs import RunLanguage, runs
from symveil.laws.protection import typical_words
from symveil.models.alphabet import decode
from symveil.models.automaton import TransitionSystem
from symveil.models.labelled_chain import LabelledChain
from symveil.models.markov_chain import MarkovChain
from symveil.models.stochastic_system import StochasticSystem
from symveil.pictures.bezier import Point
from symveil.pictures.maps import Road
from symveil.randomness import NotPrivateSeededBits, uniform_integer

GRID_SIDE, GRID_STEPS = 15, 18
RECONSTRUCTED = "the figure was reconstructed from the text"


def grid() -> TransitionSystem:
    """J19 Fig. 3, a grid world: a move is labelled with the cell it leads to."""
    rows = []
    for row, column in product(range(GRID_SIDE), repeat=2):
        for down, right in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            if 0 <= row + down < GRID_SIDE and 0 <= column + right < GRID_SIDE:
                cell = f"{row + down},{column + right}"
                rows.append((f"{row},{column}", cell, cell))
    return TransitionSystem.from_transitions(rows, initial="0,0")


def corner_path() -> tuple[str, ...]:
    """A walk on the grid: right, down, right, down … from the corner."""
    return tuple(f"{(step + 1) // 2},{step // 2 + 1}" for step in range(GRID_STEPS))


def four_states() -> RunLanguage:
    """Words of three symbols on four states, as in B26 Fig. 3; its arrows are a picture, these are ours."""
    rows = [("y0", "y1", "1/2"), ("y0", "y2", "1/2"), ("y1", "y2", "1/2"), ("y1", "y3", "1/2")]
    rows += [("y2", "y1", "1/2"), ("y2", "y3", "1/2"), ("y3", "y1", "1/2"), ("y3", "y2", "1/2")]
    return runs(MarkovChain.from_transitions(rows, initial="y0"), 3)


def example_3() -> StochasticSystem:
    """Z25 Fig. 3a, the system A_s1; c is unobservable."""
    return StochasticSystem.from_transitions(
        [
            ("0", "a", "1", "1/2"), ("1", "b", "3", 1), ("3", "d", "4", 1), ("0", "b", "5", "1/2"),
            ("5", "c", "6", 1), ("6", "a", "7", 1), ("7", "c", "8", 1),
        ],
        initial="0",
        observable=["a", "b", "d"],
        secret=["3", "8"],
    )  # fmt: skip


def example_4() -> StochasticSystem:
    """Z25 Fig. 4a, the system A_s2; f is unobservable."""
    return StochasticSystem.from_transitions(
        [
            ("0", "a", "1", "1/2"), ("0", "b", "8", "1/2"), ("1", "a", "2", "2/3"), ("2", "b", "3", 1),
            ("1", "c", "5", "1/3"), ("5", "f", "6", 1), ("6", "c", "7", 1), ("8", "a", "9", "1/2"),
            ("9", "b", "11", "1/2"), ("9", "c", "11", "1/2"), ("8", "c", "10", "1/2"), ("10", "c", "11", 1),
        ],
        initial="0",
        observable=["a", "b", "c"],
        secret=["2"],
    )  # fmt: skip


def medical() -> StochasticSystem:
    """Z25 Fig. 8a; the text's unobservable f cannot be placed."""
    return StochasticSystem.from_transitions(
        [
            ("0", "a", "1", 1), ("1", "b", "2", "1/3"), ("1", "c", "3", "1/3"), ("1", "d", "7", "1/3"),
            ("2", "e", "4", 1), ("3", "e", "5", 1), ("7", "e", "6", 1), ("4", "a", "8", 1), ("5", "a", "9", 1),
            ("6", "a", "10", 1),
        ],
        initial="0",
        observable=["a", "b", "c", "d", "e"],
        secret=["7"],
    )  # fmt: skip


def pin_checker() -> LabelledChain:
    """C19 Example 31 (Fig. 4a): which of two codes is accepted more often must not show in the attempts.

    >>> pin_checker()
    LabelledChain(7 states, 11 transitions, 4 labels, 1 related pair)
    """
    p, q = Fraction(53, 100), Fraction(47, 100)
    return LabelledChain.from_transitions(
        [
            ("0", "a0", 1), ("1", "a1", 1),
            ("a0", "end", p), ("a0", "b0", q), ("b0", "end", q), ("b0", "a0", p),
            ("a1", "end", q), ("a1", "b1", p), ("b1", "end", p), ("b1", "a1", q),
            ("end", "end", 1),
        ],
        labels={"0": "start", "1": "start", "a0": "a", "a1": "a", "b0": "b", "b1": "b", "end": "end"},
        related=[("0", "1")],
    )  # fmt: skip


def randomised_response(beta: Fraction = Fraction(2)) -> LabelledChain:
    """C19 Example 32 (Fig. 5a): the true answer with probability β/(1+β), the other one otherwise.

    >>> randomised_response()
    LabelledChain(5 states, 7 transitions, 4 labels, 1 related pair)
    """
    true, other = beta / (1 + beta), 1 / (1 + beta)
    return LabelledChain.from_transitions(
        [
            ("A", "a", true), ("A", "b", other), ("B", "a", other), ("B", "b", true),
            ("a", "end", 1), ("b", "end", 1), ("end", "end", 1),
        ],
        labels={"A": "sk", "B": "sk", "a": "a", "b": "b", "end": "end"},
        related=[("A", "B")],
    )  # fmt: skip


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

    There are about 2.6·side² links.

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
