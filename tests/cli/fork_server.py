"""A process that has imported what commands need and forks for each of them: importing takes longer than most do.

Every command still is a process of its own, with its own streams, folder, environment and exit status. Run as a script
with the number of a socket; each message is a JSON document with the four descriptors: standard streams, status.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import socket
import struct
import sys
import threading

LARGEST_MESSAGE = 1 << 20


def serve(requests: socket.socket) -> None:
    """Take requests until the other end is closed; returns in the process of a command, with its arguments set."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who wait for commands
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, LARGEST_MESSAGE, 4)
        if not message:
            sys.exit()
        if os.fork() == 0:
            requests.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if _begins(json.loads(message), descriptors):
                return
            os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


def _begins(request: dict, descriptors: list[int]) -> bool:
    """True in a new process, which is to run the command; the other one tells its id, waits and tells its status."""
    *streams, status = descriptors
    child = os.fork()
    if child:
        for stream in streams:
            os.close(stream)
        os.write(status, struct.pack("i", child))
        _, ended = os.waitpid(child, 0)
        os.write(status, struct.pack("i", os.waitstatus_to_exitcode(ended)))
        return False
    os.close(status)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv[1:] = request["arguments"]
    return True


if __name__ == "__main__":
    import importlib
    import pkgutil

    import symveil.tasks
    from symveil.cli.entry import main

    for module in pkgutil.walk_packages(symveil.tasks.__path__, "symveil.tasks."):
        if "spark" not in module.name:
            importlib.import_module(module.name)
    for name in (
        "rich.console",
        "rich.table",
        "symveil.cli.main",
        "symveil.pictures.marks",
        "symveil.languages.draw_loops",
    ):
        importlib.import_module(name)
    gc.freeze()  # what is there already is not looked through again in each process
    serve(socket.socket(fileno=int(sys.argv[1])))
    try:
        main()
    except SystemExit as ended:
        status = ended.code
    # all of an interpreter's end but the slow part: taking the modules to pieces
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else 0 if status is None else 1)
