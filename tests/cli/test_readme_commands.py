"""Every command that the README shows works as it stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from .running import symveil

ROOT = Path(__file__).parents[2]
COMMANDS = re.findall(r"^symveil (.+?)(?:\s{2,}#.*)?$", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.M)


def test_there_are_some() -> None:
    assert len(COMMANDS) >= 5


@pytest.mark.parametrize("command", COMMANDS)
def test_it_works(command: str, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    done = symveil(*shlex.split(command))
    assert done.status == 0, done.err
