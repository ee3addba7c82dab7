"""Real trips on the legal road graph: every released trip legal, errors within what was measured.

See docs/theory/certificates.md.
"""

from __future__ import annotations

import csv
import gzip
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import symveil as sv
from symveil.errors import ParameterError
from symveil.laws.protection import typical_words

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"

pytestmark = pytest.mark.skipif(
    not (DATA / "shanghai_trips.csv.gz").exists(), reason="the Shanghai trips are not in ../shared/data"
)


@pytest.fixture(scope="module")
def chain() -> sv.MarkovChain:
    with gzip.open(DATA / "shanghai_adjacency.csv.gz", "rt", encoding="utf-8") as file:
        moves = [(row["from_link"], row["to_link"]) for row in csv.DictReader(file)]
    degree = Counter(source for source, _ in moves)
    return sv.MarkovChain.from_transitions([(a, b, Fraction(1, degree[a])) for a, b in moves])


@pytest.fixture(scope="module")
def trips() -> list[list[str]]:
    with gzip.open(DATA / "shanghai_trips.csv.gz", "rt", encoding="utf-8") as file:
        return [row["links"].split() for row in csv.DictReader(file)]


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path_factory) -> None:
    monkeypatch.setenv("SYMVEIL_CACHE", str(tmp_path_factory.getbasetemp() / "certificates"))


def test_what_each_b_hides(chain) -> None:
    """At b = 1 only the last link has an alternative; b = 2 has 0.7 at a link, b = 4 has 16, away from the ends."""
    language = sv.runs(chain, 20, public_start=True)
    one, two, four, every = sv.adjacency_table(language, adjacencies=[1, 2, 4, "all"]).rows
    assert one.by_position[-1] == pytest.approx(1.36, abs=0.005) and max(one.by_position[:-1]) == 0
    assert two.at_middle == pytest.approx(0.7, abs=0.1) and four.at_middle == pytest.approx(16, abs=1.5)
    shares = [row.positions_with_alternatives for row in (one, two, four, every)]
    assert shares == pytest.approx([0.04, 0.42, 0.73, 0.94], abs=0.01)
    word = " ".join(language.alphabet.symbols[code] for code in typical_words(language, 1)[0])
    with pytest.raises(ParameterError, match="^adjacency: expected a b within which at least half") as refused:
        sv.privatize([tuple(word.split())], model=chain, public_start=True, epsilon=4, adjacency=2, mechanism="online")
    assert "b = 1 hides the last position only; b = 2: " in str(refused.value)
    assert sv.privatize(
        [tuple(word.split())], model=chain, public_start=True, epsilon=4, adjacency=4, mechanism="online"
    )


def mean_error(chain, trips, make) -> float:
    languages = {len(trip): sv.runs(chain, len(trip), public_start=True) for trip in trips}
    return sum(make(languages[len(trip)]).distances(trip).expected_error for trip in trips) / len(trips)


@pytest.mark.parametrize(("epsilon", "exponential", "flip"), [(3, 1.20, 0.90), (5, 0.190, 0.108)])
def test_the_papers_mechanisms_give_the_measured_errors(chain, trips, epsilon, exponential, flip) -> None:
    sample = random.Random(0).sample(trips, 40)
    classic = mean_error(
        chain, sample, lambda language: sv.Exponential(language, epsilon=epsilon, adjacency=1, calibration="classic")
    )
    assert classic == pytest.approx(exponential, abs=0.006)
    permuted = mean_error(
        chain, sample, lambda language: sv.PermuteAndFlip(language, epsilon=epsilon, adjacency=1, calibration="classic")
    )
    assert permuted == pytest.approx(flip, abs=0.006)


@pytest.mark.parametrize(
    ("adjacency", "epsilon", "bar"),
    [
        (1, 3, 0.12),
        pytest.param(1, 2, 0.45, marks=pytest.mark.soak),
        pytest.param(1, 5, 0.015, marks=pytest.mark.soak),
        pytest.param(4, 8, 1.5, marks=pytest.mark.soak),
        pytest.param(4, 16, 0.08, marks=pytest.mark.soak),
    ],
)
def test_certified_errors_stay_below_their_bars(chain, trips, adjacency, epsilon, bar) -> None:
    sample = random.Random(0).sample(trips, 40)
    found = mean_error(chain, sample, lambda language: sv.Exponential(language, epsilon=epsilon, adjacency=adjacency))
    assert found <= bar


def test_every_released_trip_is_legal(chain, trips) -> None:
    same = [trip for trip in trips if len(trip) == 16]
    language = sv.runs(chain, 16, public_start=True)
    mechanism = sv.Exponential(language, epsilon=16, adjacency=4)
    assert mechanism.guarantee.how == "certified"
    assert 15.9 < mechanism.guarantee.epsilon <= 16
    codes = np.array([[language.alphabet.code[link] for link in trip] for trip in same], dtype=np.int32)
    released = mechanism.release_codes(codes)
    language.check_codes(released)
    assert (released[:, 0] == codes[:, 0]).all()
    assert 0 < np.count_nonzero(released != codes, axis=1).mean() < 0.1
