"""Load what answers need before anybody asks."""

from __future__ import annotations

from symveil.studio.tasks import release
from symveil.studio.worker import Progress

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


def warm_up(thoroughly: bool, progress: Progress) -> None:
    """Import the workflows; `thoroughly`: also compile the loops that prove guarantees, once on a machine."""
    if thoroughly:
        release.answer_release(_FIRST, progress)
