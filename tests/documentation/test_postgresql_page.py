"""The commands about PostgreSQL on the page about the ledger, run against a server."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
import services
from symveil.cli.main import main

ROOT = Path(__file__).parents[2]
ADDRESS = "postgresql://budgets@localhost/budgets"
PAGE = (ROOT / "docs" / "ledger.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^symveil (.+?)  # not run: needs a server$", PAGE, flags=re.MULTILINE)


@pytest.mark.xdist_group("postgresql")
@pytest.mark.skipif(
    services.postgres_programs() is None, reason="PostgreSQL is not installed, and installing it was not allowed"
)
def test_they_work(tmp_path, monkeypatch) -> None:
    assert len(COMMANDS) >= 5 and all(ADDRESS in command for command in COMMANDS)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    with services.postgres() as address:
        for command in COMMANDS:
            with pytest.raises(SystemExit) as ended:
                main(shlex.split(command.replace(ADDRESS, address)))
            assert ended.value.code in (0, None), command
    assert (tmp_path / "budgets.csv").read_text(encoding="utf-8").startswith("person,granted,spent,left,units,delta\n")
