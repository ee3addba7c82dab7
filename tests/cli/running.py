"""Running the command line as a user does: a new process, its two streams and its exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Finished:
    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output as the one JSON document it must be."""
        return json.loads(self.out)

    def assert_one_error_line(self) -> str:
        assert self.status == 2, (self.status, self.out, self.err)
        assert self.out == ""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("symveil: error: ")
        return lines[0]


def symveil(*arguments: str, timeout: float = 120) -> Finished:
    done = subprocess.run(
        [sys.executable, "-m", "symveil", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=timeout,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)
