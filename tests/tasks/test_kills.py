"""Killed at any point, run again: one charge, one release, and the ledger and the output agree."""

from __future__ import annotations

import os
import random
import resource
import select
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from symveil.errors import LedgerError
from symveil.formats.limits import LIMITS
from symveil.ledger.lifecycle import find_release
from symveil.ledger.store import Database
from symveil.release import protocol
from symveil.release.batch import ReleasePlan
from symveil.storage.files import TemporaryOutput, digest_of, temporary_path
from symveil.tasks.budgets import grant_budget, ledger_history, ledger_status, person_status
from symveil.tasks.check import check_manifest
from symveil.tasks.privatize_file import privatize_file

SERVER = """
import os, sys
from symveil.tasks.privatize_file import privatize_file
for line in sys.stdin:
    source, out, ledger, name = line.rstrip("\\n").split("\\t")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            privatize_file(source, out, alphabet="abc", epsilon=1, ledger=ledger, release_id=name)
            status = 0
        finally:
            os._exit(status)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Starts a process for each line, with everything imported; tells its number, and how it ended."""


class Killed(BaseException):
    """Stands for kill −9 where a test chooses the point: nothing of ours may catch it."""


def make_input(path, rows: int):
    names = [f"person {number}" for number in range(rows)]
    words = [list("abcabc"[: number % 7]) for number in range(rows)]
    pq.write_table(pa.table({"id": names, "s": pa.array(words, type=pa.list_(pa.string()))}), path)


def agree(folder, out, ledger, releases: int, spent: str) -> None:
    """The ledger and the folder tell the same story."""
    status = ledger_status(ledger)
    assert (status.releases, status.pending, status.most_spent) == (releases, 0, spent)
    assert check_manifest(out.with_name(out.name + ".manifest.json")).holds
    assert not [path.name for path in folder.iterdir() if path.name.endswith(".aside")]


def kill_at_random(folder, rounds: int, seed: int) -> None:
    """Random moments of real processes; a new release whenever one was finished."""
    source, ledger = folder / "in.parquet", folder / "l.db"
    make_input(source, 3000)
    grant_budget(ledger, 10_000, everyone=True)
    chance = random.Random(seed)
    release, longest, drawn = 0, 1.0, None
    out = folder / "out-0.parquet"
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for _ in range(rounds):
        server.stdin.write("\t".join([str(source), str(out), str(ledger), f"r{release}"]) + "\n")
        server.stdin.flush()
        process = int(server.stdout.readline())
        began = time.monotonic()
        if select.select([server.stdout], [], [], chance.uniform(0, longest))[0]:
            longest = time.monotonic() - began  # how long a whole run takes
        else:
            os.kill(process, signal.SIGKILL)
        status = int(server.stdout.readline())
        assert status in (0, -signal.SIGKILL)
        finished = status == 0
        # whatever stands in the output's place is whole, and stays what it is
        if out.exists():
            drawn = drawn or digest_of(out)
            assert digest_of(out) == drawn
        if finished:
            release, drawn = release + 1, None
            out = folder / f"out-{release}.parquet"
    server.communicate()
    if not finished:
        last = privatize_file(source, out, alphabet="abc", epsilon=1, ledger=ledger, release_id=f"r{release}")
        assert drawn is None or digest_of(last.out) == drawn
        release += 1
    agree(folder, folder / f"out-{release - 1}.parquet", ledger, release, str(release))
    assert person_status(ledger, "person 17").spent == str(release)
    for number in range(release):
        assert check_manifest(folder / f"out-{number}.parquet.manifest.json").holds


def test_twenty_kills(tmp_path):
    kill_at_random(tmp_path, 20, seed=6)


@pytest.mark.soak
def test_two_hundred_kills(tmp_path):
    kill_at_random(tmp_path, 200, seed=7)


POINTS = {
    "after the charge": (protocol, "find_release", 1),
    "while writing": (TemporaryOutput, "write", 2),
    "before the file is on the disk": (TemporaryOutput, "finish", 1),
    "before the digest is recorded": (protocol, "record_digest", 1),
    "before the rename": (TemporaryOutput, "publish", 1),
    "after the rename": (protocol, "write_manifest", 1),
    "before it is marked as done": (protocol, "finish", 1),
}


@pytest.mark.parametrize("point", POINTS)
def test_every_step_can_be_the_last(tmp_path, monkeypatch, set_limits, point):
    source, out, ledger = tmp_path / "in.parquet", tmp_path / "out.parquet", tmp_path / "l.db"
    make_input(source, 200)
    grant_budget(ledger, 1, everyone=True)
    set_limits(LIMITS, written_bytes=256)  # several writes for a small file
    keys = []
    made = ReleasePlan.__post_init__
    monkeypatch.setattr(ReleasePlan, "__post_init__", lambda plan: (keys.append(plan.release_key), made(plan))[1])
    where, name, times = POINTS[point]
    original, calls = getattr(where, name), []

    def dying(*arguments, **options):
        calls.append(name)
        if len(calls) == times:
            raise Killed
        return original(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(where, name, dying)
        # a killed process tidies nothing up
        patch.setattr(TemporaryOutput, "__exit__", lambda file, *_: os.close(file._number))
        with pytest.raises(Killed):
            privatize_file(source, out, alphabet="abc", epsilon=1, ledger=ledger)
    assert person_status(ledger, "person 3").spent == "1"
    published = out.read_bytes() if out.exists() else None
    # the same command, without a release id: the pending release is found by what it is for
    again = privatize_file(source, out, alphabet="abc", epsilon=1, ledger=ledger)
    assert again.already_done == (published is not None)
    assert published is None or out.read_bytes() == published
    assert len(set(keys)) == 1  # drawn again, if at all, with the same key: the same words
    agree(tmp_path, out, ledger, 1, "1")
    database = Database(str(ledger))
    assert find_release(database, again.manifest["release_id"]).key is None
    database.close()


def test_another_input_does_not_go_on_under_the_old_charge(tmp_path, monkeypatch):
    source, out, ledger = tmp_path / "in.parquet", tmp_path / "out.parquet", tmp_path / "l.db"
    make_input(source, 50)
    grant_budget(ledger, 1, everyone=True)

    def dying(*_arguments, **_options):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(TemporaryOutput, "publish", dying)
        with pytest.raises(Killed):
            privatize_file(source, out, alphabet="abc", epsilon=1, ledger=ledger, release_id="r")
    make_input(source, 51)
    with pytest.raises(LedgerError, match="same input and parameters"):
        privatize_file(source, out, alphabet="abc", epsilon=1, ledger=ledger, release_id="r")
    make_input(source, 50)
    with pytest.raises(LedgerError, match="same input and parameters"):
        privatize_file(source, out, alphabet="abcd", epsilon=1, ledger=ledger, release_id="r")
    privatize_file(source, out, alphabet="abc", epsilon=1, ledger=ledger, release_id="r")
    agree(tmp_path, out, ledger, 1, "1")


def test_a_disk_that_fills_up(tmp_path):
    """The system refuses to let files grow beyond a few kilobytes, in the middle of the output."""
    source, out, ledger = tmp_path / "in.parquet", tmp_path / "out.parquet", tmp_path / "l.db"
    make_input(source, 20_000)
    grant_budget(ledger, 1, everyone=True)
    privatize_file(source, tmp_path / "whole.parquet", alphabet="abc", epsilon=1)
    size = (tmp_path / "whole.parquet").stat().st_size
    code = "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nfrom symveil.cli.entry import main\nmain()"
    arguments = ["privatize", str(source), "--out", str(out), "--alphabet", "abc", "--epsilon", "1"]
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, size // 2))  # noqa: E731
    # a process that is measured for coverage has a file of its own to write at its end
    unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    for extra in ([], ["--ledger", str(ledger)]):
        command = [sys.executable, "-c", code, *arguments, *extra]
        done = subprocess.run(command, preexec_fn=limit, env=unmeasured, capture_output=True, text=True, check=False)
        assert done.returncode == 2 and done.stdout == ""
        assert done.stderr.count("\n") == 1 and done.stderr.startswith("symveil: error: ")
        assert not out.exists() and not temporary_path(out, "x").exists()
        assert not [path for path in tmp_path.iterdir() if path.name.endswith(".aside")]
    if ledger_status(ledger).pending:  # the ledger itself may have been what could not grow
        assert [entry.state for entry in ledger_history(ledger) if entry.kind == "release"] == ["pending"]
    privatize_file(source, out, alphabet="abc", epsilon=1, ledger=ledger)
    agree(tmp_path, out, ledger, 1, "1")
