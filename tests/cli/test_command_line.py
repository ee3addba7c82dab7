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

import symveil as sv
from symveil.cli.main import cli
from symveil.errors import SymveilWarning

from .running import symveil

EXAMPLES = Path(__file__).parents[2] / "examples"
LARGE = ("--adjacency", "all", "--epsilon", "1")
COMMANDS = list(cli.commands)


def test_the_example_of_the_studio_starts_it() -> None:
    """On a port that is free, until Ctrl-C: it is the one example that does not end by itself."""
    arguments = [
        "0" if each == "8321" else each
        for each in shlex.split(str(cli.commands["studio"].epilog).removeprefix("Example: symveil "))
    ]
    assert arguments == ["studio", "--port", "0", "--no-browser"]
    command = [sys.executable, "-m", "symveil", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as studio:
        assert studio.stderr is not None
        told = next((line for line in studio.stderr if "http://127.0.0.1:" in line), None)
        studio.send_signal(signal.SIGINT)
        studio.communicate(timeout=300)
    assert told is not None


def test_help_of_the_whole() -> None:
    done = symveil("--help")
    assert done.status == 0
    assert all(name in done.out for name in COMMANDS)


def test_an_unknown_command_is_one_line() -> None:
    assert "frobnicate" in symveil("frobnicate").assert_one_error_line()
    assert "frobnicate" in symveil("help", "frobnicate").assert_one_error_line()


def test_everybody_finds_the_help() -> None:
    """Without a command, with -h, with help: what --help shows."""
    whole = symveil("--help")
    for arguments in ((), ("-h",), ("help",), ("help", "--help")):
        assert symveil(*arguments) == whole
    for path in (("privatize",), ("ledger",), ("ledger", "status")):
        own = symveil(*path, "--help")
        assert own.status == 0 and f"symveil {' '.join(path)}" in own.out
        assert symveil(*path, "-h") == own
        assert symveil("help", *path) == own
    assert symveil("ledger") == symveil("ledger", "--help")


def test_shells_complete_commands_options_and_files(tmp_path: Path) -> None:
    """What click's scripts for bash, zsh and fish ask for; `cli.main` would answer, which is not what runs here."""

    def asked(**environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "symveil"]
        return subprocess.run(
            command, env={**os.environ, **environment}, capture_output=True, text=True, check=False, cwd=tmp_path
        )

    for shell in ("zsh", "fish"):
        script = asked(_SYMVEIL_COMPLETE=f"{shell}_source")
        assert script.returncode == 0 and "_SYMVEIL_COMPLETE" in script.stdout
    found = asked(_SYMVEIL_COMPLETE="bash_complete", COMP_WORDS="symveil priv", COMP_CWORD="1")
    assert found.stdout.splitlines() == ["plain,privatize"]
    found = asked(_SYMVEIL_COMPLETE="bash_complete", COMP_WORDS="symveil privatize --eps", COMP_CWORD="2")
    assert found.stdout.splitlines() == ["plain,--epsilon"]
    found = asked(_SYMVEIL_COMPLETE="bash_complete", COMP_WORDS="symveil opacity ", COMP_CWORD="2")
    assert found.stdout.splitlines() == ["file,"]


def test_the_command_line_starts_without_the_heavy_libraries() -> None:
    """`--help` stays below 0.3 s because no library and no room is imported (the time itself is in benchmarks)."""
    code = (
        "import sys\n"
        "from symveil.cli.main import cli\n"
        "heavy = {'numpy', 'flint', 'matplotlib', 'rich', 'cryptography', 'numba', 'pyarrow', 'networkx'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "rooms = {name.split('.')[1] for name in sys.modules if name.startswith('symveil.')}\n"
        "assert rooms == {'cli', 'errors', 'estimation'}, rooms  # of the last the names of statistics\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_release_of_a_word_starts_without_what_only_others_need() -> None:
    """scipy takes as long to import as everything else together; models have many formats."""
    code = (
        "import sys\n"
        "from symveil.cli.main import main\n"
        "try:\n"
        "    main(['release', 'abcab', '--alphabet', 'abc', '--epsilon', '2'])\n"
        "finally:\n"
        "    others = ('scipy', 'pyarrow', 'sqlalchemy', 'symveil.formats.models', 'symveil.central')\n"
        "    print([name for name in sys.modules if name.startswith(others)], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert len(done.stdout.split()) == 1, done.stderr
    assert done.stderr.splitlines()[-1] == "[]"


def interrupted(*arguments: str, after: float) -> tuple[int, str, str]:
    """Status and streams of a command that is interrupted so long after it began, however slow the machine is."""
    program = (
        "import sys\n"
        "try:\n"
        "    from symveil.cli.entry import main\n"
        "    print('begun', flush=True)\n"
        "    main()\n"
        "except KeyboardInterrupt:\n"  # before `main` was entered: nothing of ours ran
        "    sys.exit(130)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def test_an_interrupt_exits_130() -> None:
    status, out, err = interrupted("audit", "--alphabet", "ab", "--length", "11", *LARGE, after=2)
    assert (status, out) == (130, ""), err
    assert "Traceback" not in err


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


@pytest.mark.parametrize("swallowed", ["SIGTERM", "SIGHUP"])
def test_a_request_to_end_is_an_interrupt_with_its_own_status(swallowed: str) -> None:
    """Also where a callback swallows it, and where it comes while the program is imported."""
    program = (
        "import signal, sys, time\n"
        "import symveil.cli.main\n"
        "class Swallows:\n"
        "    def __del__(self):\n"
        f"        signal.raise_signal(signal.{swallowed})\n"
        "def run():\n"
        "    Swallows()\n"
        "    time.sleep(60)\n"
        "symveil.cli.main.main = run\n"
        "from symveil.cli.entry import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=50)
    assert (done.returncode, done.stdout, done.stderr) == (128 + getattr(signal, swallowed), "", "")
    ignoring = f"import signal\nsignal.signal(signal.{swallowed}, signal.SIG_IGN)\n"
    ignored = ignoring + program.replace("time.sleep(60)", "sys.exit(0)")
    done = subprocess.run([sys.executable, "-c", ignored], capture_output=True, text=True, check=False, timeout=50)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")  # as under nohup


def test_an_interrupt_that_a_library_drops_stops_the_work_at_its_next_report() -> None:
    program = (
        "import signal, sys\n"
        "import symveil.cli.main\n"
        "from symveil.cli.progress import progress_bar\n"
        "bar, kinds = progress_bar('x'), {'count': (1, 2), 'no total': (1, None), 'file': (5, 10, 'y', 1)}\n"
        "told = kinds[sys.argv[1]]\n"
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
    for kind in ("count", "no total", "file"):
        done = subprocess.run([sys.executable, "-c", program, kind], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (130, ""), (kind, done.stderr)


def test_an_interrupt_that_passed_through_code_run_from_c_still_exits_130(tmp_path: Path) -> None:
    """As in the imports of compiled libraries: `python -m` would die of the signal although it was handled."""
    (tmp_path / "interrupted.py").write_text(
        "import ctypes, signal\n"
        "import symveil.cli.main\n"
        "def run():\n"
        "    code = b'import signal; signal.raise_signal(signal.SIGINT)'\n"
        "    evaluate = ctypes.pythonapi.PyRun_String\n"
        "    evaluate.restype = ctypes.py_object\n"
        "    evaluate.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.py_object, ctypes.py_object]\n"
        "    evaluate(code, 257, {}, {})\n"
        "symveil.cli.main.main = run\n"
        "from symveil.cli.entry import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "interrupted"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_reader_that_goes_away_is_no_error() -> None:
    many = "-m symveil release abc --alphabet abc --epsilon 1 --count 100000"
    command = f"{shlex.quote(sys.executable)} {many} | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert len(done.stdout.strip()) == 3
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("after", [0.05, 0.5, 0.9, 1.3])
def test_an_interrupt_at_any_time_leaves_no_traceback(after: float) -> None:
    """Also inside an integral, whose library would go on calling back."""
    status, _, err = interrupted("reproduce", after=after)
    assert (status, err) == (130, "")


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


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("release ab --alphabet ab --epsilon 1 --epsilon 2", "epsilon: expected --epsilon once, found 2 times"),
        (
            "privatize log.xes --out o.xes --alphabet ab --epsilon 1 --symbol concept:name --symbol org:resource",
            "symbol: expected --symbol once, found 2 times",
        ),
        ("ledger status --ledger l.db --person x --ledger m.db", "ledger: expected --ledger once, found 2 times"),
    ],
)
def test_an_option_with_one_value_is_given_once(arguments: str, line: str) -> None:
    """The last one was taken without a word."""
    assert symveil(*arguments.split()).assert_one_error_line() == f"symveil: error: {line}"


def test_options_that_take_several_values_and_flags_may_be_repeated(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("id,s,x,y\n1,a b,u,v\n")
    options = "--alphabet ab --epsilon 1 --sequence s --keep x --keep y --json --json"
    done = symveil("privatize", str(tmp_path / "in.csv"), "--out", str(tmp_path / "o.csv"), *options.split())
    assert done.status == 0 and done.document["kept"] == ["x", "y"]


def test_events_outside_traces_are_noted(tmp_path: Path) -> None:
    """They were dropped without a word."""
    event = '<event><string key="concept:name" value="a"/></event>'
    trace = f'<trace><string key="concept:name" value="1"/>{event}</trace>'
    source, out = tmp_path / "in.xes", tmp_path / "o.xes"
    source.write_text(f"<log>{trace}{event}{event}</log>")
    command = ("privatize", str(source), "--out", str(out), "--alphabet", "ab", "--epsilon", "2", "--json")
    done = symveil(*command)
    assert done.status == 0 and done.document["counts"]["symbols"] == 1
    assert done.err.count("events that stand outside traces are left out") == 1
    assert "outside" not in out.with_name("o.xes.manifest.json").read_text()
    with pytest.warns(SymveilWarning, match="events that stand outside traces are left out"):
        assert len(list(sv.read_sequences(source))) == 1
    source.write_text(f"<log>{trace}</log>")
    assert "outside" not in symveil(*command, "--again").err


@pytest.mark.parametrize("own", [None, "3"])
def test_a_command_computes_vectors_with_one_thread_unless_the_user_says_how_many(own: str | None) -> None:
    """Threads that wait for each other took nine times the processor time of a fit."""
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    code = (
        "import os, sys; from symveil.cli.entry import main; sys.argv = ['symveil', '--version']\n"
        "assert 'numpy' not in sys.modules\n"
        "try: main()\n"
        "except SystemExit: print(os.environ['OPENBLAS_NUM_THREADS'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment | ({} if own is None else {"OPENBLAS_NUM_THREADS": own}),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == (own or "1")
