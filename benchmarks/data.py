"""Real data, which is not part of the repository: the folder `SYMVEIL_DATA`, or `shared/data` beside the repository."""

from __future__ import annotations

import os
from pathlib import Path


def data_file(name: str) -> Path | None:
    """The file of that name, where it is at hand."""
    places = [os.environ.get("SYMVEIL_DATA"), Path(__file__).resolve().parents[2] / "shared" / "data"]
    return next((Path(place, name) for place in places if place and Path(place, name).exists()), None)
