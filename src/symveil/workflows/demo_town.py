"""The town of the demo: a generated road network with a map, and generated trips on it.

The network is the one that stands in for B26's (`reproduce.road_network`), with a hidden start: a trip
may begin anywhere. Trips are drawn from its public chain by a fixed seed, so nobody ever made them.
"""

from __future__ import annotations

from collections.abc import Sequence

from symveil.languages.runs import RunLanguage, runs
from symveil.models.markov_chain import MarkovChain
from symveil.models.word import decode
from symveil.privacy.protection import typical_words
from symveil.workflows.reproduce.road_network import SIDE, Crossing, name, road_network, segments

TRIPS_OF_A_LENGTH = 40
LENGTHS = range(6, 13)

_CELL = 40.0
_MARGIN = 16.0
_SIZE = (SIDE - 1) * _CELL + 2 * _MARGIN


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
    """A small map with a trip on it; streets that differ from the original's, place by place, in another colour."""
    ends = {name(segment): segment for segment in segments()}
    streets = "".join(_line(*segment, css="street") for segment in ends.values())
    drawn = []
    for place, street in enumerate(trip):
        changed = original is not None and original[place] != street
        drawn.append((changed, _line(*ends[street], css="changed" if changed else "driven")))
    # what was changed lies on top
    driven = "".join(line for _, line in sorted(drawn, key=lambda pair: pair[0]))
    x, y = _middle(*ends[trip[0]])
    label = f"a trip over {len(trip)} streets" + (
        f", {sum(changed for changed, _ in drawn)} of them changed" if original is not None else ""
    )
    return (
        f'<svg class="map" viewBox="0 0 {_SIZE:g} {_SIZE:g}" role="img" aria-label="{label}">{streets}{driven}'
        f'<circle class="start" cx="{x:g}" cy="{y:g}" r="4"/></svg>'
    )


MAP_STYLE = """
.maps { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: .6rem; }
.maps div { text-align: center; font-size: .85rem; color: var(--soft); }
svg.map { width: 100%; height: auto; border: 1px solid var(--line); border-radius: 6px; }
svg.map line { stroke-linecap: round; }
.street { stroke: var(--line); stroke-width: 3; } .driven { stroke: #2f6fb2; stroke-width: 5; }
.changed { stroke: var(--mark); stroke-width: 5; } .start { fill: var(--paper); stroke: #2f6fb2; stroke-width: 2.5; }
"""


def _line(one: Crossing, other: Crossing, *, css: str) -> str:
    (x1, y1), (x2, y2) = _place(one), _place(other)
    return f'<line class="{css}" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"/>'


def _middle(one: Crossing, other: Crossing) -> tuple[float, float]:
    (x1, y1), (x2, y2) = _place(one), _place(other)
    return (x1 + x2) / 2, (y1 + y2) / 2


def _place(crossing: Crossing) -> tuple[float, float]:
    """Where a crossing lies: not quite on the grid, as in towns."""
    row, column = crossing
    return (
        _MARGIN + column * _CELL + ((7 * row + 3 * column) % 5 - 2) * 3.0,
        _MARGIN + row * _CELL + ((3 * row + 5 * column) % 5 - 2) * 3.0,
    )
