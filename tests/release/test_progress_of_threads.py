"""Threads that draw tell whoever listens how far their certificates are."""

from __future__ import annotations

from pathlib import Path

import pytest

import symveil as sv
from symveil.examples.paper_systems import grid_roads
from symveil.laws.protection import public_words
from symveil.numbers.progress import reporting_to


def test_a_certificate_that_a_file_waits_for_is_heard_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMVEIL_CACHE", "")  # an answer of an earlier run would need no search
    roads = grid_roads(4)
    words = sv.runs(roads, 12, public_start=True)
    trips = [" ".join(words.alphabet.symbols[code] for code in codes) for codes in public_words(words, 3)]
    source = tmp_path / "trips.csv"
    source.write_text("\n".join(["trip", *trips, ""]))
    told: list[str] = []

    def listen(done: int, total: int | None, what: str = "", records: int | None = None) -> None:
        told.append(what)

    with reporting_to(listen):
        release = sv.privatize_file(
            source,
            tmp_path / "private.csv",
            model=roads,
            sequence="trip",
            separator=" ",
            public_start=True,
            epsilon=2,
            adjacency=2,
            thin=True,
            mechanism="exponential",
            cost="swap",
            cap=7,
        )
    assert release.manifest["how"] == "certified"
    assert any(what.startswith("certifying exponential (swap, at most 7") for what in told)
