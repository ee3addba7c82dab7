"""Running the command line as a user does: a process of its own, its two streams and its exit status."""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
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
    """Run a command in a process of its own, which is forked from one that has imported everything."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, Path(os.devnull).open("rb") as nothing:
        reading, writing = os.pipe()
        request = {"arguments": arguments, "folder": str(Path.cwd()), "environment": dict(os.environ)}
        streams = [nothing.fileno(), out.fileno(), err.fileno(), writing]
        socket.send_fds(_server()[0], [json.dumps(request).encode()], streams)
        os.close(writing)
        with os.fdopen(reading, "rb", buffering=0) as told:
            (process,) = struct.unpack("i", told.read(4))
            if not select.select([told], [], [], timeout)[0]:
                os.kill(process, signal.SIGKILL)
                raise subprocess.TimeoutExpired(["symveil", *arguments], timeout)
            (status,) = struct.unpack("i", told.read(4))
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8"))
        return Finished(status, *texts)


@functools.cache
def _server() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """The process that forks, and the socket that it listens to; it ends when this process does, and so closes it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, str(Path(__file__).with_name("fork_server.py")), str(theirs.fileno())]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    atexit.register(lambda: (ours.close(), process.wait()))
    return ours, process
