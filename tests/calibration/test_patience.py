"""Longer windows: tried where short ones prove nothing, and once more when a kept rate is proved again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

import symveil as sv
from symveil.calibration.answers import clear_answers
from symveil.calibration.costs import rates
from symveil.calibration.costs.rates import certify_cost
from symveil.calibration.limits import LIMITS
from symveil.calibration.weighting import Weighting
from symveil.languages.swap_costs import swap


@pytest.fixture
def short_at_first() -> Iterator[None]:
    """Windows of small graphs are long from the beginning: here they are as on large ones."""
    clear_answers()
    with LIMITS.changed(window_work=(0.0, 0.0)):
        yield


def _streets() -> Weighting:
    """Walks over 4 × 4 crossings: at small rates most words are about as likely as the true one."""
    rows = []
    for x, y in product(range(4), repeat=2):
        onward = [(x + 1, y), (x, y + 1), (x - 1, y), (x, y - 1)]
        onward = [(a, b) for a, b in onward if 0 <= a < 4 and 0 <= b < 4]
        rows += [(f"{x}{y}", f"{a}{b}", f"1/{len(onward)}") for a, b in onward]
    words = sv.runs(sv.MarkovChain.from_transitions(rows), 10, public_start=True)
    return Weighting(language=words, cost=swap(words, adjacency=1, cap=8), adjacency=1)


@pytest.mark.usefixtures("short_at_first")
def test_longer_windows_prove_what_short_ones_do_not(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    tried: list[bool] = []
    proved_loss = rates.proved_loss

    def watched(weighting, rate, effort):
        tried.append(effort.patient)
        return proved_loss(weighting, rate, effort)

    monkeypatch.setattr(rates, "proved_loss", watched)
    found = certify_cost(_streets(), epsilon=Fraction(1), nodes=400)
    assert (found.how, tried[0], tried[-1]) == ("certified", False, True)
    assert Fraction(54, 100) < found.rate < Fraction(found.ruled_out or 0)
    assert [json.loads(file.read_text())["windows"] for file in own_cache.glob("*.json")] == ["long"]

    clear_answers()
    tried.clear()
    again = certify_cost(_streets(), epsilon=Fraction(1), nodes=400)
    assert tried == [True]  # once, with the windows that it was found with
    assert (again.rate, again.how) == (found.rate, "certified")


@pytest.mark.usefixtures("short_at_first")
def test_without_longer_windows_the_rate_is_the_classic_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "can_be_patient", lambda _: False)
    found = certify_cost(_streets(), epsilon=Fraction(1), nodes=400)
    assert (found.rate, found.how) == (Fraction(1, 2), "classic")


@pytest.mark.usefixtures("short_at_first")
def test_without_nodes_longer_windows_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_: Weighting) -> bool:
        raise AssertionError("asked for longer windows")

    monkeypatch.setattr(rates, "can_be_patient", never)
    assert certify_cost(_streets(), epsilon=Fraction(1), nodes=0).how == "classic"
