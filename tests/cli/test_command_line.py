"""What all commands share: help with a working example, start-up time, interruption."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from symveil.cli.main import COMMANDS

from .running import symveil

EXAMPLES = Path(__file__).parents[2] / "examples"
LARGE = ("--adjacency", "all", "--epsilon", "1")


def test_help_shows_an_example() -> None:
    """They are run where the command reference is tested, which is written from them (tests/documentation)."""
    assert all((command.epilog or "").startswith(f"Example: symveil {command.name} ") for command in COMMANDS)


def test_help_of_the_whole() -> None:
    done = symveil("--help")
    assert done.status == 0
    assert all(str(command.name) in done.out for command in COMMANDS)


def test_no_command_and_an_unknown_command_are_one_line() -> None:
    symveil().assert_one_error_line()
    assert "frobnicate" in symveil("frobnicate").assert_one_error_line()


def test_the_command_line_starts_without_the_heavy_libraries() -> None:
    """`--help` stays below 0.3 s because none of these is imported (the time itself is in benchmarks)."""
    code = (
        "import sys\n"
        "from symveil.cli.main import cli\n"
        "heavy = {'numpy', 'flint', 'matplotlib', 'rich', 'cryptography', 'numba', 'pyarrow', 'networkx'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
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


def test_an_interrupt_inside_a_callback_is_not_lost() -> None:
    """As when Ctrl-C falls into an import: the exception of a callback is printed and forgotten by Python."""
    program = (
        "import signal, sys, time\n"
        "import symveil.cli.main\n"
        "class Swallows:\n"
        "    def __del__(self):\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "def run():\n"
        "    for _ in range(2):\n"
        "        Swallows()\n"
        "    time.sleep(60)\n"
        "symveil.cli.main.main = run\n"
        "from symveil.cli.entry import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=50)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_an_interrupt_that_a_library_drops_stops_the_work_at_its_next_report() -> None:
    program = (
        "import signal, sys\n"
        "import symveil.cli.main\n"
        "from symveil.cli.output import counter, progress_bar, rate_bar\n"
        "bar, told = {'bar': (progress_bar('x'), (1, 2)), 'count': (counter('x'), (1,)),"
        " 'rate': (rate_bar(), ('x', 0.5, 1))}[sys.argv[1]]\n"
        "def run():\n"
        "    with bar as tell:\n"
        "        tell(*told)\n"
        "        try:\n"
        "            signal.raise_signal(signal.SIGINT)\n"
        "        except BaseException:\n"
        "            pass\n"
        "        tell(*told)\n"
        "        print('went on')\n"
        "symveil.cli.main.main = run\n"
        "from symveil.cli.entry import main\n"
        "main()\n"
    )
    for kind in ("bar", "count", "rate"):
        done = subprocess.run([sys.executable, "-c", program, kind], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (130, ""), (kind, done.stderr)


def test_a_reader_that_goes_away_is_no_error() -> None:
    many = "-m symveil release abc --alphabet abc --epsilon 1 --count 100000"
    command = f"{shlex.quote(sys.executable)} {many} | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert len(done.stdout.strip()) == 3
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("when", [0.7, 1.0, 1.4])
def test_an_interrupt_at_any_time_leaves_no_traceback(when: float) -> None:
    """Also inside an integral, whose library would go on calling back."""
    process = subprocess.Popen(
        [sys.executable, "-c", "from symveil.cli.entry import main; main()", "reproduce"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(when)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (out, err)
    assert err == ""


def test_a_broken_pipe_is_not_read_as_a_verdict() -> None:
    program = f"{shlex.quote(sys.executable)} -m symveil audit --alphabet ab --length 2 --epsilon 1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", f"{program} | true"], capture_output=True, check=False)
    assert done.returncode in (0, 141)
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_narrow_terminal_encoding_is_no_error(encoding: str) -> None:
    command = [sys.executable, "-m", "symveil", "explain", "ab", "--alphabet", "ab", "--epsilon", "1"]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr


def test_closed_streams_are_no_error() -> None:
    program = f"{shlex.quote(sys.executable)} -m symveil explain ab --alphabet ab --epsilon 1"
    for closed in (">&-", "2>&-"):
        done = subprocess.run(["bash", "-c", f"{program} {closed}"], capture_output=True, text=True, check=False)
        assert done.returncode == 0
        assert "Traceback" not in done.stderr


def test_pieces_of_a_word_are_not_repeated_in_usage_errors() -> None:
    options = ("--alphabet", "abc", "--epsilon", "1")
    assert "SECRET" not in symveil("release", "ab", "SECRET", *options).assert_one_error_line()
    assert "-S" not in symveil("release", "-SECRET", *options).assert_one_error_line()
    assert symveil("release", *options, "--", "-").assert_one_error_line().endswith("position 1 of 1")


def test_absurd_numbers_are_refused_at_once() -> None:
    symveil("release", "ab", "--alphabet", "ab", "--epsilon", "1", "--count", "1000000000000").assert_one_error_line()
    symveil("audit", "--alphabet", "abc", "--length", "1" + "0" * 18, "--epsilon", "1").assert_one_error_line()


def test_an_error_is_the_only_line() -> None:
    symveil("release", "ab", "--alphabet-from-word", "--epsilon", "0").assert_one_error_line()
    symveil("release", "", "--alphabet-from-word", "--epsilon", "1").assert_one_error_line()
    symveil("explain", "ab", "--alphabet", "ab", "--epsilon", "1", "--at-distance", "1").assert_one_error_line()
