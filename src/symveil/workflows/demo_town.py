"""The town of the demo: a generated road network with a map, and generated trips on it.

The network is the one that stands in for B26's (`reproduce.road_network`), with a hidden start: a trip
may begin anywhere. Trips are drawn from its public chain by a fixed seed, so nobody ever made them.
"""

from __future__ import annotations

from collections.abc import Sequence

from symveil.drawing.road_map import Point, Road, road_map_svg
from symveil.languages.runs import RunLanguage, runs
from symveil.models.markov_chain import MarkovChain
from symveil.models.word import decode
from symveil.privacy.protection import typical_words
from symveil.workflows.reproduce.road_network import Crossing, name, road_network, segments

TRIPS_OF_A_LENGTH = 40
LENGTHS = range(6, 13)

_SHIFT = 0.075


def town() -> MarkovChain:
    """The road network: a state for each street, and from each street the turns that it allows.

    >>> len(town().states), town().initial
    (43, None)
    """
    network = road_network()
    return MarkovChain.from_transitions(network.transitions, states=network.states)


def trips() -> dict[str, tuple[str, ...]]:
    """The trips by their id, of all lengths mixed.

    >>> len(trips()), trips()["trip-000"] == trips()["trip-000"]
    (280, True)
    """
    chain = town()
    by_length = [_trips_of(runs(chain, length)) for length in LENGTHS]
    mixed = [trip for together in zip(*by_length, strict=True) for trip in together]
    return {f"trip-{number:03d}": trip for number, trip in enumerate(mixed)}


def _trips_of(language: RunLanguage) -> list[tuple[str, ...]]:
    rows = typical_words(language, TRIPS_OF_A_LENGTH)
    return [tuple(map(str, decode(row, language.alphabet, like=()))) for row in rows]


def trip_map(trip: Sequence[str], original: Sequence[str] | None = None) -> str:
    """A small map with a trip on it; streets that differ from the original's, place by place, are dashed.

    >>> trip_map(["3,2-3,3"])[:4]
    '<svg'
    """
    title = f"a trip over {len(trip)} streets"
    if original is not None:
        title += f", {sum(one != other for one, other in zip(trip, original, strict=True))} of them changed"
    return road_map_svg(_roads(), trip, title=title, original=original)


def _roads() -> dict[str, Road]:
    return {name(segment): (_place(segment[0]), _place(segment[1])) for segment in segments()}


def _place(crossing: Crossing) -> Point:
    """Where a crossing lies, y upwards: not quite on the grid, as in towns."""
    row, column = crossing
    return column + ((7 * row + 3 * column) % 5 - 2) * _SHIFT, -row - ((3 * row + 5 * column) % 5 - 2) * _SHIFT


MAP_STYLE = """
.maps { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: .6rem; }
.maps div { text-align: center; font-size: .85rem; color: var(--soft); }
.maps svg { width: 100%; height: auto; }
"""
