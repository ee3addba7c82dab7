"""How much a page of the studio answers, shows and takes: beyond it a question is refused, or its answer is shorter."""

from __future__ import annotations

from dataclasses import dataclass

from symveil.numbers.limits import Adjustable


@dataclass(frozen=True, kw_only=True, slots=True)
class StudioLimits:
    """The most of each."""

    symbols: int = 2000
    """Symbols of a word."""
    words: int = 10
    """Private versions of a word that are drawn together."""
    states: int = 30
    """States of a drawing."""
    seen: float = 5e-4
    """Errors that are less likely are left out of the picture of errors by position."""
    samples: int = 6
    """Private trips on a map."""
    map_roads: int = 150
    """Roads that can still be distinguished on one picture; of more, those around the trips are drawn."""
    rows: int = 20_000
    """Rows of a table that can be downloaded."""
    rows_beside: int = 12
    """Rows that are compared with the truth."""
    persons: int = 100
    entries: int = 50
    """Persons, and releases of a person, of a ledger."""
    session_files: int = 200
    """Files of a session."""
    slice_seconds: float = 1.0
    """After so long the worker looks for other questions."""


LIMITS = Adjustable(StudioLimits())
