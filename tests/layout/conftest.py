"""Small files that are cut as large ones are."""

from __future__ import annotations

import pytest

from symveil.formats.limits import LIMITS
from symveil.ledger import charging
from symveil.release import protocol


@pytest.fixture(autouse=True)
def days_pass(monkeypatch):
    """Here manifests are compared byte by byte: all are of one day, whenever the tests are run."""
    monkeypatch.setattr(protocol, "today", lambda: "2020-01-01")
    monkeypatch.setattr(charging, "now", lambda: "2020-01-01T00:00:00+00:00")


@pytest.fixture
def small_pieces(monkeypatch, set_limits):
    """Readers that cut small files where the secret words say, and writers that make several blocks of them."""
    set_limits(LIMITS, csv_bytes=700, gathered_characters=900, batch_symbols=300, parquet_bytes=4000)
    set_limits(LIMITS, trace_characters=1600, xes_bytes=1000, grouped_events=100, case_parts=5)
    # some secrets are grouped in memory, others by way of the disk
    set_limits(LIMITS, grouped_bytes=50_000)
    set_limits(LIMITS, block_rows=100, block_bytes=6000, written_bytes=500)
    monkeypatch.setattr(protocol, "new_release_key", lambda: bytes(range(32)))
