"""Rows of positions as trips on links: gathered by case, put in order, matched one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.geography.map_matching import MatchedLinks
from symveil.numbers.progress import listener, silent

Cells = tuple[str, ...]
Numbered = tuple[NDArray[np.int64], list[Cells], NDArray[np.int64]]
"""Rows: where they stand in the file, their case and order as text, and the numbers of their symbols."""
_TRIPS = 100
"""Trips between two reports of progress."""


@dataclass(frozen=True, slots=True)
class Positions:
    """Some rows of a file of positions.

    Parameters
    ----------
    rows
        Where they stand in the file.
    cells
        The case of each, and its order where there is one, as text.
    longitudes, latitudes
        In degrees.
    keys
        What puts them in order; None: they are in order.
    """

    rows: NDArray[np.int64]
    cells: list[Cells]
    longitudes: NDArray[np.float64]
    latitudes: NDArray[np.float64]
    keys: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None


@dataclass(slots=True)
class TripCounts:
    """What became of trips that were matched to links.

    Parameters
    ----------
    cases
        How many trips there are.
    with_gaps
        How many have a step that no legal path explains; a model of the links does not have their words.
    left_out
        How many positions are left out because no legal path leads there.
    filled_in
        How many links without a position are filled in.
    """

    cases: int = 0
    with_gaps: int = 0
    left_out: int = 0
    filled_in: int = 0


def matched_rows(links: MatchedLinks, batches: Iterable[Positions], counts: TripCounts) -> Iterator[Numbered]:
    """The rows of each trip, in order, with the links that are filled in; trips in the order in which they begin.

    A link that is filled in has the case and the order of the position before it.

    Parameters
    ----------
    links
        What trips are matched to.
    batches
        All positions.
    counts
        Is told what became of the trips.
    """
    gathered = list(batches)
    if not gathered:
        return
    rows = np.concatenate([batch.rows for batch in gathered])
    cells = [each for batch in gathered for each in batch.cells]
    longitudes = np.concatenate([batch.longitudes for batch in gathered])
    latitudes = np.concatenate([batch.latitudes for batch in gathered])
    number: dict[str, int] = {}
    case = np.array([number.setdefault(each[0], len(number)) for each in cells], dtype=np.int64)
    keys = [batch.keys for batch in gathered if batch.keys is not None]
    in_order = [np.concatenate([key[1] for key in keys]), np.concatenate([key[0] for key in keys])] if keys else []
    order = np.lexsort([np.arange(len(rows)), *in_order, case])
    progress = listener("matching trips") or silent
    ends = np.cumsum(np.bincount(case, minlength=len(number)))
    for done, (begin, end) in enumerate(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)):
        if done % _TRIPS == 0:
            progress(done, len(ends))
        own = order[begin:end]
        yield _trip(links, rows[own], [cells[index] for index in own.tolist()], longitudes[own], latitudes[own], counts)


def _trip(
    links: MatchedLinks,
    rows: NDArray[np.int64],
    cells: list[Cells],
    longitudes: NDArray[np.float64],
    latitudes: NDArray[np.float64],
    counts: TripCounts,
) -> Numbered:
    trip = links.trip(longitudes, latitudes)
    counts.cases += 1
    counts.with_gaps += trip.gaps > 0
    counts.left_out += trip.left_out
    counts.filled_in += sum(map(len, trip.before))
    whose: list[int] = []
    numbers: list[int] = []
    last = 0
    for index, (link, before) in enumerate(zip(trip.links, trip.before, strict=True)):
        whose += [last] * len(before) + [index]
        numbers += [*before, link]
        if link >= 0:
            last = index
    return rows[whose], [cells[index] for index in whose], np.array(numbers, dtype=np.int64)
