"""However the studio is ended, dropped files go with it."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from .running import running_studio
from .test_guard import ask, own

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")


@pytest.mark.parametrize("sent", ["SIGTERM", "SIGHUP"])
def test_dropped_files_go_with_the_studio(tmp_path: Path, sent: str) -> None:
    with running_studio(tmp_path) as studio:
        assert ask(studio, "POST", "/upload", {"Host": own(studio), "X-File-Name": "roads.json"}, b"{}").status == 200
        assert len(list(tmp_path.rglob("roads.json"))) == 1
        studio.process.send_signal(getattr(signal, sent))
        assert studio.process.wait(20) == 0
        assert list(tmp_path.glob("symveil-studio-*")) == []
        assert len(studio.log.read_text().splitlines()) == 1
