"""`symveil studio` where it cannot start: one line that says what to do."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from .running import symveil


@pytest.mark.parametrize("port", ["70000", "-1"])
def test_an_impossible_port_is_refused(port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NICEGUI_REDIS_URL", "redis://127.0.0.1:1")  # of another program: nothing is kept elsewhere
    line = symveil("studio", "--no-browser", "--port", port).assert_one_error_line()
    assert "port: expected a whole number from 0 to 65535" in line


@pytest.mark.parametrize("usual", [True, False])
def test_a_port_in_use_is_refused(usual: bool) -> None:
    """The usual one too: a page there would be somebody else's, however much it looks like the studio."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", 8321 if usual else 0))
            taken.listen()
        except OSError:
            assert usual  # another program has it already: as good
        port = 8321 if usual else taken.getsockname()[1]
        line = symveil("studio", "--no-browser", *([] if usual else ["--port", str(port)])).assert_one_error_line()
    assert line == (
        f"symveil: error: port: expected a free one, found another program at port {port}: "
        f"a page at http://127.0.0.1:{port}/ is not this studio's, do not trust it; use --port 0 for a free one"
    )


def test_without_the_extra_it_says_how_to_get_it() -> None:
    code = "import sys; sys.modules['nicegui'] = None; from symveil.cli.main import main; main(['studio'])"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert finished.returncode == 2 and finished.stdout == ""
    assert finished.stderr.splitlines() == [
        "symveil: error: studio: expected the extra symveil[studio], found none; see docs/install.md"
    ]


def test_help_does_not_load_the_studio() -> None:
    code = (
        "import sys; from symveil.cli.main import cli; import click; click.Context(cli).get_help();"
        "print([name for name in sys.modules if name.startswith(('nicegui', 'fastapi', 'symveil.studio'))])"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "[]"
