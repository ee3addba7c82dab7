"""A city learned from recorded trips: more budget does not make it worse. Skipped where the data is not at hand."""

from __future__ import annotations

import pytest
from benchmarks.shanghai import trips_and_chain

from central.test_fit import counted, require_no_worse
from symveil.languages.language import runs_of_any_length

PERSONS = 889
LENGTHS = (15, 49)


@pytest.mark.soak
def test_more_budget_does_not_make_a_worse_city() -> None:
    """889 persons with a trip each, as few as noise is felt with: about a minute for the three budgets."""
    found = trips_and_chain()
    if found is None:
        pytest.skip("the Shanghai trips are not here")
    every, chain = found
    trips = [trip for trip in every if LENGTHS[0] <= len(trip) <= LENGTHS[1]]
    trips = trips[:: len(trips) // PERSONS][:PERSONS]
    persons = [str(number) for number in range(PERSONS)]
    require_no_worse(*counted(runs_of_any_length(chain), trips, persons, LENGTHS), (10, 100, 1000), (1,))
