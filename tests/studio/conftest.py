"""One studio and one browser for all tests of a process; every tab is checked when it is left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from symveil.tasks.budgets import grant_budget

from .running import CHROMIUM, Running, Watched, chromium, running_studio, watched


@pytest.fixture(scope="session")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("ledger") / "budgets.db"
    grant_budget(file, "2.5", everyone=True)
    grant_budget(file, "0.75", persons=["ada", "grace"])
    return file


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory, ledger: Path) -> Iterator[Running]:
    with running_studio(tmp_path_factory.mktemp("studio"), "--ledger", str(ledger)) as running:
        yield running


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine (`make test` installs it where it may)")
    with chromium() as opened:
        yield opened


@pytest.fixture
def tab(browser: Browser, studio: Running) -> Iterator[Watched]:
    """A tab that may neither ask anybody else for anything nor complain."""
    with watched(browser, studio) as opened:
        yield opened
        assert opened.external() == []
        assert opened.complaints == []
