"""Fetching a page computes nothing: work begins with the page's own socket, which names its origin."""

from __future__ import annotations

import subprocess
import sys

CHECK = """
import asyncio
from pathlib import Path
from nicegui import core
from nicegui.client import Client
from nicegui.page import page
from symveil.studio.page import PANELS, Page
from symveil.studio.worker import Studio
from symveil.studio.worker import Worker

asked = []

async def run(self, task, *arguments, handle=None):
    asked.append(task.__name__)
    await asyncio.sleep(3600)

Worker.run = run

async def fetch_and_connect():
    core.loop = asyncio.get_running_loop()
    studio = Studio(Path("nowhere"))
    for kind in PANELS:
        with Client(page("")) as client:
            Page(studio, kind.name, {"source": "network", "epsilon": "5", "adjacency": "3"})
        await asyncio.sleep(0.05)
        assert asked == [], asked
        for handler in client.connect_handlers:
            client.safe_invoke(handler)
        await asyncio.sleep(0.05)
        assert len(asked) == 1, asked
        for handler in client.connect_handlers:  # the same page once more: it is open
            client.safe_invoke(handler)
        await asyncio.sleep(0.05)
        assert len(asked) == 1, asked
        asked.clear()
    assert studio.quick._process is None and studio.patient._process is None

asyncio.run(fetch_and_connect())
"""


def test_fetching_a_page_computes_nothing() -> None:
    """In a process of its own, since NiceGUI has one application for each."""
    done = subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
