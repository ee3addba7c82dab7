"""The studio's server: FastAPI and NiceGUI behind the guard, on 127.0.0.1 only."""

from __future__ import annotations

import contextlib
import html
import os
import signal
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from nicegui import ui

from symveil.studio.access import Access
from symveil.studio.folder import session_folder
from symveil.studio.guard import OnlyThisMachine
from symveil.studio.mistakes import only_places
from symveil.studio.page import build_pages
from symveil.studio.port import listening_socket
from symveil.studio.studio import Studio
from symveil.studio.uploads import add_upload_route

_ASSETS = Path(__file__).parent / "assets"


def run_studio(*, port: int | None, open_browser: bool, ledger: str | None, listening: Callable[[str], None]) -> None:
    """Serve the studio until it is interrupted.

    Parameters
    ----------
    port
        Where it listens on 127.0.0.1; 0 is a free port, and None the usual one. It is refused if it is taken.
    open_browser
        Whether to open a browser.
    ledger
        The ledger that its panel shows.
    listening
        Is told the address with its token as soon as requests are taken.
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
            with only_places():
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
    asked: list[Callable[[], None]] = []

    def hang_up(_number: int, _frame: FrameType | None) -> None:
        if not asked:
            raise KeyboardInterrupt
        asked[0]()

    def terminate(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {signal.SIGTERM: signal.signal(signal.SIGTERM, terminate)}
    if sys.platform != "win32":
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, hang_up)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield asked
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
    """Open an address that nobody else may learn.

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
