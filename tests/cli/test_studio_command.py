"""`symveil studio` where it cannot start: one line that says what to do."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from .running import symveil


@pytest.mark.parametrize("port", ["70000", "-1"])
def test_an_impossible_port_is_refused(port: str) -> None:
    line = symveil("studio", "--no-browser", "--port", port).assert_one_error_line()
    assert "port: expected a whole number from 0 to 65535" in line


def test_a_port_in_use_is_refused() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        line = symveil("studio", "--no-browser", "--port", str(taken.getsockname()[1])).assert_one_error_line()
    assert "port: expected one that nobody uses" in line


def test_without_the_extra_it_says_how_to_get_it() -> None:
    code = "import sys; sys.modules['nicegui'] = None; from symveil.cli.main import main; main(['studio'])"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert finished.returncode == 2 and finished.stdout == ""
    assert finished.stderr.splitlines() == [
        "symveil: error: studio: expected the extra studio, found none; install it: pip install 'symveil[studio]'"
    ]


def test_help_does_not_load_the_studio() -> None:
    code = (
        "import sys; from symveil.cli.main import cli; import click; click.Context(cli).get_help();"
        "print([name for name in sys.modules if name.startswith(('nicegui', 'fastapi', 'symveil.studio'))])"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "[]"
