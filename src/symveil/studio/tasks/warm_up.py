"""Load what answers need before anybody asks."""

from __future__ import annotations

from symveil.numerics.progress import Steps
from symveil.studio.tasks import release

_FIRST = {
    "source": "network",
    "alphabet": "",
    "word": "",
    "model": "",
    "trip": "",
    "separator": "",
    "epsilon": "5",
    "adjacency": "1",
    "mechanism": "auto",
    "calibration": "tight",
    "distance": "auto",
    "max_length": "",
}


def warm_up(thoroughly: bool, steps: Steps) -> None:
    """Import the workflows; `thoroughly`: also compile the loops that prove guarantees, once on a machine."""
    if thoroughly:
        release.answer_release(_FIRST, steps)
