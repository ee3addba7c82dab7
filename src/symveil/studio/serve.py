"""The studio's server: FastAPI and NiceGUI behind the guard, on 127.0.0.1 only.

The port that the studio listens on: its own, or none.

Anybody on the machine may listen on a port first, and show a page there that looks like the studio. So a port that is
taken is refused, with a warning; and the socket listens before the address is shown and is handed to the server as
it is, so that no other process can come between.

SO_REUSEADDR on Unix lets a studio start again within a minute after one has ended; otherwise its old connections would
block the port. It does not share the port with anybody: where another process listens, neither our bind nor a later one
of theirs succeeds, and of two sockets that are only bound the first one that listens keeps the other from it. On
Windows the same option would share it; there is another one that forbids it.

The folder of one studio: dropped files lie there while it runs. It goes with the studio.

A killed process cannot clean up; the next studio of the same account does. A lock, which the system drops with
the process that holds it, tells the folder of a studio that runs from the folder of one that is dead.

Unexpected errors: their kind and their line of code are logged, never a value, which might be a secret.

Servers and libraries write tracebacks with messages to their logs, and messages quote what was found.
"""

from __future__ import annotations

import contextlib
import errno
import html
import logging
import os
import shutil
import signal
import socket
import stat
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from nicegui import ui

from symveil.errors import InternalError, ParameterError
from symveil.studio.guard import HOST, Access, OnlyThisMachine
from symveil.studio.page import build_pages
from symveil.studio.panel import add_upload_route
from symveil.studio.worker import Studio

USUAL_PORT = 8321


def listening_socket(port: int | None) -> socket.socket:
    """A socket that listens on 127.0.0.1; refused where another program does.

    The port 0 is a free one, None the usual one.

    >>> with listening_socket(0) as ours:
    ...     ours.getsockname()[0]
    '127.0.0.1'
    """
    wanted = USUAL_PORT if port is None else port
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if sys.platform == "win32":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, wanted))
        listening.listen()
    except OverflowError:
        listening.close()
        raise ParameterError("port", expected="a whole number from 0 to 65535", found=port) from None
    except OSError as error:
        listening.close()
        raise ParameterError("port", expected="a free one", found=_why_not(wanted, error)) from None
    return listening


def _why_not(port: int, error: OSError) -> str:
    if error.errno != errno.EADDRINUSE:
        return f"port {port}: {error.strerror}; use --port 0 for a free one"
    return (
        f"another program at port {port}: a page at http://{HOST}:{port}/ is not this studio's, do not trust it; "
        "use --port 0 for a free one"
    )


if sys.platform != "win32":  # Windows has no such locks: the folder of a killed studio stays there
    import fcntl

_PREFIX = "symveil-studio-"
_LOCK = "symveil-studio.lock"


@contextlib.contextmanager
def session_folder() -> Iterator[Path]:
    """A new folder that only this account can look into, removed at the end; and those of dead studios are removed.

    Examples
    --------
    >>> with session_folder() as folder:
    ...     folder.is_dir()
    True
    >>> folder.exists()
    False
    """
    _remove_those_of_dead_studios(Path(tempfile.gettempdir()))
    folder, lock = _new_folder()
    try:
        yield folder
    finally:
        if sys.platform == "win32":  # which does not remove what is open
            os.close(lock)
        try:
            with contextlib.suppress(OSError):
                _remove(folder)
        finally:
            if sys.platform != "win32":  # while the folder is there, its lock is held
                os.close(lock)


def _new_folder() -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        try:
            number = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except FileNotFoundError:
            continue
        if _locked(number) and (folder / _LOCK).exists():
            return folder, number
        os.close(number)  # between creating and locking it another studio took it for a dead one's


def _remove_those_of_dead_studios(temporary: Path) -> None:
    if sys.platform == "win32":
        return
    for folder in temporary.glob(f"{_PREFIX}*"):
        # in a place that everybody writes to: folders of this account only, and what they link to is not followed
        with contextlib.suppress(OSError):
            status = folder.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
                continue
            number = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                if _locked(number):
                    _remove(folder)
            finally:
                os.close(number)


def _remove(folder: Path) -> None:
    """The lock last: what is left when this is interrupted is removed by the next studio."""
    for each in folder.iterdir():
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each)
        elif each.name != _LOCK:
            each.unlink()
    shutil.rmtree(folder)


def _locked(number: int) -> bool:
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


_TALKATIVE = ("nicegui", "uvicorn", "uvicorn.error", "uvicorn.asgi", "engineio.server", "socketio.server", "asyncio")


class _LocationsOnly(logging.Handler):
    """Writes a line for each error, made of names and numbers of the code."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line; the record's message and arguments are not looked at."""
        error = record.exc_info[1] if record.exc_info else None
        if error is None and isinstance(record.msg, BaseException):
            error = record.msg
        _tell(
            f"an error in {record.name}, {record.filename}, line {record.lineno}"
            if error is None
            else str(InternalError.of(error))
        )


@contextlib.contextmanager
def only_locations() -> Iterator[None]:
    """For as long as it lasts, whatever this process logs is replaced by its line of code."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level, threading.excepthook, sys.unraisablehook)
    root.handlers[:] = [_LocationsOnly()]
    root.setLevel(logging.ERROR)
    for name in _TALKATIVE:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(logging.ERROR)
    threading.excepthook = lambda given: _tell_error(given.exc_value)
    sys.unraisablehook = lambda given: _tell_error(given.exc_value)
    try:
        yield
    finally:
        root.handlers[:], level, threading.excepthook, sys.unraisablehook = before
        root.setLevel(level)


def _tell_error(error: BaseException | None) -> None:
    if error is not None and not isinstance(error, SystemExit):
        _tell(str(InternalError.of(error)))


def _tell(line: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # nobody reads it any more
        print(f"symveil studio: {line}", file=sys.stderr, flush=True)  # noqa: T201 - standard error is where logs go


_ASSETS = Path(__file__).parent / "assets"


def run_studio(*, port: int | None, open_browser: bool, ledger: str | None, listening: Callable[[str], None]) -> None:
    """Serve the studio until it is interrupted.

    `listening` is called with the address and its token as soon as requests are taken; `port` is that of
    `listening_socket`.
    """
    with _ended_by_signals() as on_signal, listening_socket(port) as bound, session_folder() as folder:
        access = Access(int(bound.getsockname()[1]))
        if os.environ.get("SYMVEIL_CACHE") == "":
            # nothing is to be kept: calibrations are shared between the workers and go with the session
            os.environ["SYMVEIL_CACHE"] = str(folder / "calibrations")
        studio = Studio(folder, ledger=ledger)
        config = uvicorn.Config(
            _application(studio, access),
            access_log=False,
            log_config=None,
            lifespan="on",
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=5,
        )
        server = uvicorn.Server(config)
        on_signal.append(lambda: server.handle_exit(signal.SIGTERM, None))
        listening(access.address)
        if open_browser:
            _open_in_browser(access.address, folder)
        try:
            # neither requests nor their addresses are logged: unknown ones may be mistyped secrets
            with only_locations():
                server.run(sockets=[bound])
        finally:
            on_signal.clear()
            studio.close()


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[list[Callable[[], None]]]:
    """SIGTERM and SIGHUP end the studio as Ctrl-C does, so that dropped files go with it; what they do first is a list.

    By default either would end the process on the spot: uvicorn raises SIGTERM once more when it has shut down, and
    does not know of SIGHUP, which a closed terminal sends.
    """
    handlers: list[Callable[[], None]] = []

    def hang_up(_number: int, _frame: FrameType | None) -> None:
        if not handlers:
            raise KeyboardInterrupt
        handlers[0]()

    def terminate(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {signal.SIGTERM: signal.signal(signal.SIGTERM, terminate)}
    if sys.platform != "win32":
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, hang_up)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield handlers
    finally:
        for known, handler in before.items():
            signal.signal(known, handler)


def _application(studio: Studio, access: Access) -> OnlyThisMachine:
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.mount("/assets", StaticFiles(directory=_ASSETS))
    add_upload_route(app, studio)
    build_pages(studio)
    ui.run_with(
        app,
        title="symveil studio",
        # inside the page: a browser asks for a file late, perhaps when somebody else has the port
        favicon=(_ASSETS / "favicon.svg").read_text(encoding="utf-8"),
        language="en-US",
        tailwind=False,
        show_welcome_message=False,
        reconnect_timeout=30.0,
        binding_refresh_interval=None,
    )
    return OnlyThisMachine(app, access=access)


def _open_in_browser(address: str, folder: Path) -> None:
    """Open an address that no other user may learn.

    The command line of a browser is shown by `ps` to every account. So the browser is handed the name of a file that
    only this account can read, and the file leads to the address; it goes with the folder.
    """
    file, target = folder / "open.html", html.escape(address, quote=True)
    number = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(number, "w", encoding="utf-8") as written:
        written.write(
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>symveil studio</title>'
            '<meta name="referrer" content="no-referrer">'
            f'<meta http-equiv="refresh" content="0;url={target}">'
            f'<p><a href="{target}">Open the studio</a></p></html>\n'
        )
    # some browsers do not come back before they are closed; a thread that still waits must not keep the studio alive
    threading.Thread(target=webbrowser.open, args=(file.as_uri(),), daemon=True).start()
