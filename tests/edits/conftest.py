"""Nothing these tests compute may come from, or stay in, the user's own cache."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of one's own."""
    folder = tmp_path_factory.getbasetemp() / "edit-channels"
    monkeypatch.setenv("SYMVEIL_CACHE", str(folder))
    return folder
