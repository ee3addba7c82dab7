"""What all commands share: help with a working example, start-up time, interruption."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import time

import pytest

from .running import symveil

LARGE = ("--adjacency", "all", "--epsilon", "1")
COMMANDS = ["demo", "release", "explain", "audit", "reproduce"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example_that_works(command: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = " ".join(symveil(command, "--help").out.split())
    example = re.search(r"Example: symveil (.+)$", text)
    assert example, text
    assert symveil(*shlex.split(example.group(1))).status == 0


def test_help_of_the_whole() -> None:
    done = symveil("--help")
    assert done.status == 0
    assert all(command in done.out for command in COMMANDS)


def test_no_command_and_an_unknown_command_are_one_line() -> None:
    symveil().assert_one_error_line()
    assert "frobnicate" in symveil("frobnicate").assert_one_error_line()


def test_the_command_line_starts_without_the_heavy_libraries() -> None:
    """`--help` stays below 0.3 s because none of these is imported (the time itself is in benchmarks)."""
    code = (
        "import sys\n"
        "from symveil.cli.main import cli\n"
        "heavy = {'numpy', 'flint', 'matplotlib', 'rich', 'cryptography'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_interrupt_exits_130() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "symveil", "audit", "--alphabet", "ab", "--length", "11", *LARGE],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(2.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (out, err)
    assert "Traceback" not in err
    assert out == ""


def test_a_reader_that_goes_away_is_no_error() -> None:
    many = "-m symveil release abc --alphabet abc --epsilon 1 --count 100000"
    command = f"{shlex.quote(sys.executable)} {many} | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert len(done.stdout.strip()) == 3
    assert "Traceback" not in done.stderr
