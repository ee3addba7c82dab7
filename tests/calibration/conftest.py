"""Nothing these tests compute may come from, or stay in, the user's own cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from calibration_oracle import forget


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache folder of one's own, and no answers in memory."""
    folder = tmp_path / "calibrations"
    monkeypatch.setenv("SYMVEIL_CACHE", str(folder))
    forget()
    yield folder
    forget()
