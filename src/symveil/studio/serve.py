"""The studio's server: FastAPI and NiceGUI behind the guard, on 127.0.0.1 only."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from nicegui import ui

from symveil.errors import ParameterError
from symveil.studio.guard import OnlyThisMachine
from symveil.studio.page import build_pages
from symveil.studio.studio import Studio
from symveil.studio.uploads import add_upload_route

HOST = "127.0.0.1"
USUAL_PORT = 8321
_ASSETS = Path(__file__).parent / "assets"


def run_studio(*, port: int | None, open_browser: bool, ledger: str | None, say: Callable[[str], None]) -> None:
    """Serve the studio until it is interrupted. Without a port it is the usual one, or a free one."""
    with _bound(port) as listening, tempfile.TemporaryDirectory(prefix="symveil-studio-") as folder:
        found = int(listening.getsockname()[1])
        address = f"http://{HOST}:{found}/"
        if os.environ.get("SYMVEIL_CACHE") == "":
            # nothing is to be kept: calibrations are shared between the workers and go with the session
            os.environ["SYMVEIL_CACHE"] = str(Path(folder, "calibrations"))
        studio = Studio(Path(folder), ledger=ledger)
        # neither requests nor their addresses are logged
        config = uvicorn.Config(
            _application(studio, found), access_log=False, log_level="error", lifespan="on", server_header=False
        )
        server = uvicorn.Server(config)
        say(f"symveil studio: {address} (only on this machine; Ctrl-C ends it)")
        if open_browser:
            threading.Timer(0.8, webbrowser.open, [address]).start()
        try:
            with contextlib.suppress(KeyboardInterrupt):
                server.run(sockets=[listening])
        finally:
            studio.close()


def _application(studio: Studio, port: int) -> OnlyThisMachine:
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.mount("/assets", StaticFiles(directory=_ASSETS))
    add_upload_route(app, studio)
    build_pages(studio)
    ui.run_with(
        app,
        title="symveil studio",
        favicon=_ASSETS / "favicon.svg",
        language="en-US",
        tailwind=False,
        show_welcome_message=False,
        reconnect_timeout=30.0,
        binding_refresh_interval=None,
    )
    return OnlyThisMachine(app, port=port)


def _bound(port: int | None) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, USUAL_PORT if port is None else port))
    except OverflowError:
        listening.close()
        raise ParameterError("port", expected="a whole number from 0 to 65535", found=port) from None
    except OSError as error:
        if port is not None:
            listening.close()
            found = error.strerror or "another program there"
            raise ParameterError(
                "port", expected="one that nobody uses; leave it out to get one", found=found
            ) from None
        listening.bind((HOST, 0))
    return listening
