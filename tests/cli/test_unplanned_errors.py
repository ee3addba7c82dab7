"""Errors that nobody planned, planted everywhere: one line, the kind and the place, no value, nothing half-written."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import symveil as sv
from symveil.cli.entry import tell_without_values
from symveil.cli.main import main
from symveil.tasks.budgets import grant_budget

from .planted import ERRORS, MARKER, Spot, called, planted

EXAMPLES = Path(__file__).parents[2] / "examples"
AT_ONCE = 25
"""So many functions of each command in every run; all of them in `make soak`."""


@dataclass(frozen=True)
class Command:
    name: str
    arguments: str
    """With {folder} for a folder of its own and {examples} for the examples."""


COMMANDS = [
    Command("release", "release abcab --alphabet abc --epsilon 2"),
    Command("release, edits", "release abca --alphabet abc --epsilon 6 --metric levenshtein --max-length 5"),
    Command("explain", "explain abca --alphabet abc --epsilon 2 --json"),
    Command("audit", "audit --alphabet ab --length 3 --epsilon 1"),
    Command("csv", "privatize {folder}/in.csv --out {folder}/out.csv --alphabet abc --epsilon 2"),
    Command(
        "csv, truncated",
        "privatize {folder}/in.csv --out {folder}/out.csv --alphabet abc --epsilon 6 --metric levenshtein "
        "--max-length 4 --mechanism truncated-levenshtein",
    ),
    Command(
        "csv, long",
        "privatize {folder}/long.csv --out {folder}/out.csv --alphabet abc --epsilon 2 --case c --order o --symbol s",
    ),
    Command(
        "csv, ledger",
        "privatize {folder}/in.csv --out {folder}/out.csv --alphabet abc --epsilon 2 --id id --ledger {folder}/l.db",
    ),
    Command(
        "jsonl",
        "privatize {folder}/in.jsonl --out {folder}/out.jsonl --model {folder}/m.json --epsilon 2 --adjacency 1",
    ),
    Command("parquet", "privatize {folder}/in.parquet --out {folder}/out.parquet --alphabet abc --epsilon 2"),
    Command("xes", "privatize {folder}/in.xes --out {folder}/out.xes --alphabet abc --epsilon 2"),
    Command("learn", "learn {folder}/in.csv --out {folder}/learned.json"),
    Command("grant", "ledger grant --ledger {folder}/l.db --epsilon 2 --person alice"),
    Command("status", "ledger status --ledger {folder}/l.db --person alice"),
    Command("history", "ledger history --ledger {folder}/l.db"),
    Command("export", "ledger export --ledger {folder}/l.db --out {folder}/out.csv"),
    Command("check", "check {folder}/done.csv.manifest.json"),
    Command("opacity", "opacity {examples}/medical.json --k 1"),
    Command("enforce", "enforce {examples}/medical.json --k 2 --epsilon 2 --policy private"),
    Command("verify", "verify {examples}/pin_checker.json --alpha 6/5 --delta 1/20"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in.csv").write_text("id,s\n" + "".join(f"p{n},{'a b c a'[: 2 * (n % 4) + 1]}\n" for n in range(9)))
    (tmp_path / "long.csv").write_text("c,o,s\n" + "".join(f"k{n % 3},{n},{'abc'[n % 3]}\n" for n in range(9)))
    (tmp_path / "in.jsonl").write_text('{"id": "x", "s": ["a", "b", "a"]}\n{"id": "y", "s": ["b", "a"]}\n')
    (tmp_path / "m.json").write_text(
        '{"format": "symveil/1", "kind": "markov-chain", '
        '"transitions": [["a", "a", "1/2"], ["a", "b", "1/2"], ["b", "a", 1]]}'
    )
    pq.write_table(pa.table({"id": ["x", "y"], "s": [["a", "b"], ["c"]]}), tmp_path / "in.parquet")
    event = '<event><string key="concept:name" value="{}"/></event>'
    (tmp_path / "in.xes").write_text(
        f'<log><trace><string key="concept:name" value="t"/>{event.format("a")}{event.format("b")}</trace></log>'
    )
    grant_budget(tmp_path / "l.db", 50, everyone=True)
    grant_budget(tmp_path / "l.db", 1, persons=["alice"])
    sv.privatize_file(tmp_path / "in.csv", tmp_path / "done.csv", alphabet="abc", epsilon=1)
    return tmp_path


def run(arguments: str, folder: Path) -> Callable[[], int]:
    typed = [part.format(folder=folder, examples=EXAMPLES) for part in arguments.split()]

    def once() -> int:
        with pytest.raises(SystemExit) as ended:
            main(typed)
        return int(ended.value.code or 0)  # type: ignore[arg-type]  # a number

    return once


def clear(folder: Path, kept: set[str]) -> None:
    for path in folder.iterdir():
        if path.name not in kept:
            path.unlink()


# anyone who tidies up and fails cannot tidy up: what these leave behind is theirs
TIDYING = {"__enter__", "__exit__", "_discard", "close", "_refuse_foreign", "_is_foreign"}


@pytest.fixture(autouse=True)
def _as_the_script_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Python prints by itself is told as `entry` has it told."""
    for place, name in ((warnings, "showwarning"), (threading, "excepthook"), (sys, "unraisablehook")):
        monkeypatch.setattr(place, name, getattr(place, name))  # put back afterwards
    tell_without_values()


def check(spot: Spot, status: int, out: str, err: str, folder: Path, kept: set[str]) -> None:
    where = (spot.name, status, out, err)
    assert MARKER not in out + err, where
    assert "Traceback" not in err, where
    left = {path.name for path in folder.iterdir()} - kept
    assert not any(MARKER.encode() in (folder / name).read_bytes() for name in left), where
    if status not in (0, 1):
        assert status == 2, where
        # a generator that is collected is resumed: what is planted there is raised where nothing can be raised
        lines = [line for line in err.splitlines() if not line.startswith("symveil: warning: internal error: ")]
        assert len(lines) == 1 and lines[0].startswith("symveil: error: "), where
        if spot.code.co_name not in TIDYING:
            assert not any(name.endswith((".aside", "-journal")) for name in left), (where, left)
    for name in left & {"out.csv"}:  # what is in its place is whole
        assert (folder / name).read_text().count("\n") >= 2, where


def plant_everywhere(
    command: Command, folder: Path, capsys: pytest.CaptureFixture[str], step: int, first: int = 0
) -> int:
    """Plant errors, the first of them `first`, in so many functions of a command; in how many it came to that."""
    once = run(command.arguments, folder)
    kept = {path.name for path in folder.iterdir()}
    spots = called(once)
    capsys.readouterr()
    chosen = spots[:: max(1, len(spots) // step)]
    assert len(chosen) >= min(step, 10)
    ledger = (folder / "l.db").read_bytes()
    fired = 0
    for number, spot in enumerate(chosen):
        clear(folder, kept)
        (folder / "l.db").write_bytes(ledger)
        statuses: list[int] = []
        error = ERRORS[(number + first) % len(ERRORS)]()
        fired += planted(spot, error, lambda statuses=statuses: statuses.append(once()))  # type: ignore[misc]
        out, err = capsys.readouterr()
        check(spot, statuses[0], out, err, folder, kept)
    return fired


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_no_planted_value_is_told(command: Command, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert plant_everywhere(command, folder, capsys, AT_ONCE) >= 5


@pytest.mark.soak
@pytest.mark.parametrize("first", range(0, len(ERRORS), 4))
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_no_planted_value_is_told_by_any_function(
    command: Command, first: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plant_everywhere(command, folder, capsys, 10**6, first) >= 20


# --- in a process of its own -------------------------------------------------------------------------

RELEASE = ["release", "abcab", "--alphabet", "abc", "--epsilon", "2"]


def process(prepared: str, *arguments: str, errors: int | None = subprocess.PIPE) -> tuple[int, str, str]:
    """Status and streams of the script, after some preparations that quote a secret."""
    program = f"secret = {MARKER!r}\n{prepared}\nfrom symveil.cli.entry import main\nmain()\n"
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, stderr=errors, text=True, check=False
    )
    assert MARKER not in f"{done.stdout}{done.stderr}"
    return done.returncode, done.stdout, done.stderr or ""


MISTAKE = (
    "from symveil.mechanisms.exponential import Exponential\n"
    "def wrong(*_, **__):\n"
    "    raise {error}\n"
    "Exponential.{method} = wrong\n"
)


def test_the_last_resort_is_one_line() -> None:
    status, out, err = process(MISTAKE.format(error="KeyError(secret)", method="_draw"), *RELEASE)
    assert (status, out) == (2, "")
    line = r"symveil: error: internal error: KeyError at symveil\.[a-z_.]+:\d+ \(raised in __main__\); this is"
    assert re.match(line, err) and err.count("\n") == 1


def test_a_mistake_in_a_thread_of_the_engine(folder: Path) -> None:
    mistake = (
        "import symveil.release.local as local, threading\n"
        "def wrong(*_):\n"
        "    assert threading.current_thread() is not threading.main_thread()\n"
        "    raise KeyError(secret)\n"
        "local.privatize_batch = wrong\n"
    )
    files = sorted(path.name for path in folder.iterdir())
    command = f"privatize {folder}/in.csv --out {folder}/out.csv --alphabet abc --epsilon 2"
    status, out, err = process(mistake, *command.split())
    assert (status, out) == (2, "")
    assert err.startswith("symveil: error: internal error: KeyError at symveil.release.local:") and err.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == files


def test_what_cannot_be_imported_is_one_line() -> None:
    status, out, err = process("import sys\nsys.modules['symveil.cli.main'] = None", *RELEASE)
    assert (status, out) == (2, "")
    assert err.startswith("symveil: error: internal error: ModuleNotFoundError at symveil.cli.entry:")
    assert err.count("\n") == 1


def test_what_python_prints_by_itself_has_no_value() -> None:
    """A warning that quotes data, an error that ends a thread, an error in a destructor: a line each, no traceback."""
    noisy = (
        "import threading, warnings\n"
        "from symveil.mechanisms.exponential import Exponential\n"
        "class Left:\n"
        "    def __del__(self):\n"
        "        raise RuntimeError(secret)\n"
        "def wrong():\n"
        "    raise KeyError(secret)\n"
        "real = Exponential._draw\n"
        "def drawn(*given):\n"
        "    warnings.warn(secret, RuntimeWarning)\n"
        "    thread = threading.Thread(target=wrong)\n"
        "    thread.start()\n"
        "    thread.join()\n"
        "    Left()\n"
        "    return real(*given)\n"
        "Exponential._draw = drawn\n"
    )
    status, out, err = process(noisy, *RELEASE)
    assert (status, len(out.split())) == (0, 1)
    told = [line for line in err.splitlines() if not line.startswith("symveil: note: ")]
    assert [line.partition(" at ")[0] for line in told] == [
        "symveil: warning: RuntimeWarning",
        "symveil: warning: internal error: KeyError",
        "symveil: warning: internal error: RuntimeError",
    ]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_where_nothing_can_be_said_the_status_says_it() -> None:
    """0.2.0 ended with status 1, which is a property that does not hold."""
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a stream for the process
        status, out, _ = process("", "release", "abX", "--alphabet", "abc", "--epsilon", "1", errors=full)  # type: ignore[arg-type]
    assert (status, out) == (2, "")
