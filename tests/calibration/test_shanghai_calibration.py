"""The 714-link Shanghai network (docs/theory/certificates.md): real size, real detours."""

from __future__ import annotations

import csv
import gzip
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from calibration_oracle import certified_loss, certified_rate

from symveil.languages.runs import RunLanguage, runs
from symveil.models.markov_chain import MarkovChain

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "shanghai_adjacency.csv.gz"

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the Shanghai network is not in ../shared/data")


def _network(*, public_start: bool) -> RunLanguage:
    with gzip.open(DATA, "rt", encoding="utf-8") as file:
        moves = [(row["from_link"], row["to_link"]) for row in csv.DictReader(file)]
    degree = Counter(source for source, _ in moves)
    rows = [(source, target, Fraction(1, degree[source])) for source, target in moves]
    return runs(MarkovChain.from_transitions(rows, states=[str(i) for i in range(714)]), 49, public_start=public_start)


@pytest.mark.parametrize(("rate", "expected"), [("1.8", 7.887), ("3.6", 14.491)])
def test_the_documented_losses(rate: str, expected: float) -> None:
    loss, how = certified_loss(_network(public_start=True), rate=Fraction(rate), adjacency=4)
    assert how == "certified"
    assert float(loss) == pytest.approx(expected, abs=6e-4)


def test_one_link_costs_almost_nothing_extra() -> None:
    found = certified_rate(_network(public_start=False), epsilon=Fraction(3), adjacency=1)
    assert 2.99 < found.rate <= 3


@pytest.mark.soak
@pytest.mark.parametrize("public_start", [False, True])
@pytest.mark.parametrize(("epsilon", "least"), [(8, 1.75), (16, 3.96)])
def test_a_calibration_takes_less_than_a_minute(public_start: bool, epsilon: int, least: float) -> None:
    begin = time.perf_counter()
    found = certified_rate(_network(public_start=public_start), epsilon=Fraction(epsilon), adjacency=4)
    assert least < found.rate
    assert found.loss <= epsilon
    assert time.perf_counter() - begin < 60
