"""Small files that are cut as large ones are."""

from __future__ import annotations

import pytest

from symveil.formats.sequences import event_groups, layout, rows_csv, rows_json, rows_parquet, xes
from symveil.formats.sequences import rows_csv as csv_blocks
from symveil.ledger import charging
from symveil.release import protocol


@pytest.fixture(autouse=True)
def days_pass(monkeypatch):
    """Here manifests are compared byte by byte: all are of one day, whenever the tests are run."""
    monkeypatch.setattr(protocol, "today", lambda: "2020-01-01")
    monkeypatch.setattr(charging, "now", lambda: "2020-01-01T00:00:00+00:00")


@pytest.fixture
def small_pieces(monkeypatch):
    """Readers that cut small files where the secret words say, and writers that make several blocks of them."""
    monkeypatch.setattr(csv_blocks, "_BLOCK", 700)
    for reader in (rows_csv, rows_json):
        monkeypatch.setattr(reader, "TEXT_GATHERED", 900)
    monkeypatch.setattr(rows_parquet, "SYMBOLS_AT_ONCE", 300)
    monkeypatch.setattr(rows_parquet, "_BYTES_AT_ONCE", 4000)
    monkeypatch.setattr(xes, "_SIZE_AT_ONCE", 1600)
    monkeypatch.setattr(xes, "_CHUNK", 1000)
    monkeypatch.setattr(event_groups, "_EVENTS_AT_ONCE", 100)
    monkeypatch.setattr(event_groups, "_PARTS", 5)
    # some secrets are grouped in memory, others by way of the disk
    monkeypatch.setitem(event_groups.Grouping.__init__.__kwdefaults__, "in_memory", 50_000)
    monkeypatch.setattr(layout, "ROWS_IN_BLOCK", 100)
    monkeypatch.setattr(layout, "BYTES_IN_BLOCK", 6000)
    monkeypatch.setattr(layout, "BYTES_IN_PIECE", 500)
    monkeypatch.setattr(protocol, "new_release_key", lambda: bytes(range(32)))
