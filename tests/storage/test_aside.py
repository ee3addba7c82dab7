"""Files written aside, and ids that occur twice."""

from __future__ import annotations

import errno
import itertools
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symveil.errors import FileError
from symveil.release.local import SeenNames
from symveil.storage import files
from symveil.storage.files import TemporaryOutput, digest_of, make_own_folder, temporary_path, write_files


def test_aside_is_the_owners_and_the_published_file_is_like_any_other(tmp_path):
    out = tmp_path / "new" / "out.csv"
    with TemporaryOutput(out, "r1") as file:
        assert (file.temporary.stat().st_mode & 0o777) == 0o600
        file.write(b"abc")
        file.write(memoryview(b"def"))
        digest = file.finish()
        assert not out.exists()
        file.publish()
    assert out.read_bytes() == b"abcdef" and digest == digest_of(out)
    (tmp_path / "other").touch()
    assert out.stat().st_mode == (tmp_path / "other").stat().st_mode
    assert [path.name for path in out.parent.iterdir()] == ["out.csv"]
    assert digest_of(tmp_path / "nothing") is None


def test_a_failure_leaves_nothing(tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("before")
    with pytest.raises(RuntimeError), TemporaryOutput(out, "r1") as file:
        file.write(b"half")
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"] and out.read_text() == "before"


@pytest.mark.parametrize("point", ["fchmod", "ftruncate"])
def test_an_interrupt_before_the_block_leaves_nothing(tmp_path, monkeypatch, point):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, point, interrupted)
    with pytest.raises(KeyboardInterrupt), TemporaryOutput(tmp_path / "out.csv", "r1"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_left_is_replaced(tmp_path):
    out = tmp_path / "out.csv"
    temporary_path(out, "r1").write_bytes(b"left over, and longer than what follows")
    with TemporaryOutput(out, "r1") as file:
        file.write(b"new")
        file.finish()
        file.publish()
    assert out.read_bytes() == b"new"


def test_only_one_process_writes_a_release(tmp_path):
    code = (
        "import sys, pathlib\nfrom symveil.storage.files import TemporaryOutput\n"
        "try:\n    TemporaryOutput(pathlib.Path(sys.argv[1]), 'r1')\nexcept ValueError as error:\n    print(error)"
    )
    with TemporaryOutput(tmp_path / "out.csv", "r1"):
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "out.csv")], capture_output=True, text=True, check=True
        )
        assert "one process that writes this release" in done.stdout
        TemporaryOutput(tmp_path / "out.csv", "r2").__exit__()  # another release is another matter


@pytest.mark.skipif(not hasattr(os, "symlink") or sys.platform == "win32", reason="links are for administrators here")
@pytest.mark.parametrize("leads_to", ["a file", "nothing", "a folder"])
def test_a_planted_link_is_not_followed(tmp_path, leads_to):
    """0.2.0 emptied the file that a link at the aside's name led to, and wrote the release into it."""
    victim, out = tmp_path / "victim", tmp_path / "out.csv"
    if leads_to == "a file":
        victim.write_text("mine")
    elif leads_to == "a folder":
        victim.mkdir()
    temporary_path(out, "r1").symlink_to(victim)
    with pytest.raises(FileError, match=r"r1.aside: expected a name that is free.*found a symbolic link; remove"):
        TemporaryOutput(out, "r1")
    assert not out.exists() and temporary_path(out, "r1").is_symlink()
    assert victim.exists() == (leads_to != "nothing")
    assert leads_to != "a file" or victim.read_text() == "mine"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX files")
def test_planted_files_are_not_written_to(tmp_path, monkeypatch):
    out, victim = tmp_path / "out.csv", tmp_path / "victim"
    victim.write_text("mine")
    aside = temporary_path(out, "r1")
    aside.hardlink_to(victim)
    with pytest.raises(FileError, match="another name too"):
        TemporaryOutput(out, "r1")
    assert victim.read_text() == "mine"
    aside.unlink()
    os.mkfifo(aside)
    with pytest.raises(FileError, match="found something else"):
        TemporaryOutput(out, "r1")
    aside.unlink()
    aside.write_text("theirs")
    monkeypatch.setattr(os, "geteuid", lambda: aside.stat().st_uid + 1)
    with pytest.raises(FileError, match="found another account's file"):
        TemporaryOutput(out, "r1")
    assert aside.read_text() == "theirs"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX folders")
def test_a_planted_folder_is_not_taken(tmp_path, monkeypatch):
    (tmp_path / "victim").mkdir(mode=0o755)
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    with pytest.raises(FileError, match="found a symbolic link"):
        make_own_folder(tmp_path / "link")
    assert (tmp_path / "victim").stat().st_mode & 0o777 == 0o755
    make_own_folder(tmp_path / "new" / "own")
    make_own_folder(tmp_path / "new" / "own")  # as an earlier run left it
    assert (tmp_path / "new" / "own").stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr(os, "geteuid", lambda: (tmp_path / "new").stat().st_uid + 1)
    with pytest.raises(FileError, match="another account's folder"):
        make_own_folder(tmp_path / "new" / "own")


def test_small_files_are_not_written_through_a_planted_link(tmp_path, monkeypatch):
    """Pictures, reports, manifests and models: their names beside the place can be guessed too."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    monkeypatch.setattr(files, "_number", itertools.count())
    planted = tmp_path / f".out.svg.{os.getpid()}-0.aside"
    planted.symlink_to(victim)
    files.write_files({tmp_path / "out.svg": b"<svg/>"})
    assert (victim.read_text(), (tmp_path / "out.svg").read_bytes(), planted.is_symlink()) == ("mine", b"<svg/>", True)


def test_a_writer_that_was_given_up_writes_nowhere(tmp_path):
    """0.2.0 wrote the end of a Parquet file to the number of the closed file, which may be another file's by then."""
    with pytest.raises(RuntimeError), TemporaryOutput(tmp_path / "out.parquet", "r1") as file:
        number = file._number
        writer = pq.ParquetWriter(pa.PythonFile(file, mode="w"), pa.schema([("a", pa.int64())]))
        raise RuntimeError
    other = os.open(tmp_path / "other", os.O_RDWR | os.O_CREAT)
    assert other == number  # the system gives the lowest number that is free
    writer.close()
    os.close(other)
    assert (tmp_path / "other").read_bytes() == b""


@pytest.mark.parametrize("meanwhile", ["deleted", "replaced"])
def test_a_file_that_goes_away_before_it_is_locked_is_made_again(tmp_path, monkeypatch, meanwhile):
    """Between opening and locking another process published or gave up: its file must not be written to."""
    fcntl = pytest.importorskip("fcntl")
    out = tmp_path / "out.csv"
    aside, locks = temporary_path(out, "r1"), []

    def late(number, how):
        locks.append(number)
        if len(locks) == 1:
            aside.rename(tmp_path / "theirs")
            if meanwhile == "replaced":
                aside.touch()
        return real(number, how)

    real = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", late)
    with TemporaryOutput(out, "r1") as file:
        file.write(b"ours")
        file.finish()
        file.publish()
    assert len(locks) == 2
    assert (out.read_bytes(), (tmp_path / "theirs").read_bytes()) == (b"ours", b"")


def test_what_cannot_be_read_has_no_digest(tmp_path):
    with pytest.raises(FileError, match="expected a readable file"):
        digest_of(tmp_path)


def test_a_disk_that_fails_is_said_in_one_line(tmp_path, monkeypatch):
    def broken(_number):
        raise OSError(errno.EIO, "Input/output error")

    with TemporaryOutput(tmp_path / "out.csv", "r1") as file:
        monkeypatch.setattr(os, "fsync", broken)
        with pytest.raises(FileError, match="expected a place to write to, found Input/output error"):
            file.finish()
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="expected a place to write to"):
        TemporaryOutput(tmp_path / "file" / "out.csv", "r1")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileError), TemporaryOutput(tmp_path / "folder.csv", "r1") as file:
        file.publish()


@given(st.lists(st.integers(0, 40), max_size=60), st.integers(0, 20))
def test_a_repeated_name_is_found_at_its_place(values, in_memory):
    seen = SeenNames(in_memory=in_memory)
    for place, value in enumerate(values, start=1):
        # the names differ in their last word only, or in their first
        name = [0, 0, value] if value % 2 else [value << 26, 1, 0]
        seen.add(np.array([name], dtype=np.uint32), np.array([place]))
    expected = next((place for place, value in enumerate(values, start=1) if value in values[: place - 1]), None)
    assert seen.first_repeated() == expected
    seen.close()


# --- what killed runs leave beside finished files -----------------------------------------------------

KILLED = """
import os, signal, sys
from pathlib import Path
Path.replace = lambda self, target: (print(os.getpid(), flush=True), signal.pause())
from symveil.storage.files import write_files
write_files({Path(sys.argv[1]): b"half", Path(sys.argv[2]): b"done"})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no locks")
def test_what_a_killed_run_left_beside_a_finished_file_is_removed_by_the_next(tmp_path):
    files = [tmp_path / "o.csv.manifest.json", tmp_path / "o.csv"]
    with subprocess.Popen([sys.executable, "-c", KILLED, *files], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and int(process.stdout.readline()) == process.pid
        left = {path.name for path in tmp_path.iterdir()}
        assert len(left) == 2 and all(f".{process.pid}-" in name for name in left)
        write_files({files[0]: b"first"})  # beside a run that is alive: nothing of it is touched
        assert {path.name for path in tmp_path.iterdir()} == {*left, files[0].name}
        process.kill()
    write_files({files[0]: b"second"})
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *(name for name in left if not name.startswith(f".{files[0].name}")), files[0].name,
    ]  # fmt: skip
    write_files({files[1]: b"second"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["o.csv", "o.csv.manifest.json"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no locks")
def test_only_what_a_dead_run_of_this_account_left_is_removed(tmp_path):
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    dead, own, alive = process.pid, os.getpid(), os.getppid()
    out = tmp_path / "out"
    removed = [f".out.{dead}-0.aside", f".out.{own}-77.aside", f".out.{9 * 10**9}-1.aside"]
    stays = [f".out.{alive}-0.aside", f".out.{dead}-0.aside.txt", f".output.{dead}-0.aside", f".out.r-{dead}.aside"]
    for name in (*removed, *stays):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "precious").write_bytes(b"kept")
    os.link(tmp_path / "precious", tmp_path / f".out.{dead}-1.aside")
    (tmp_path / f".out.{dead}-2.aside").symlink_to(tmp_path / "precious")
    os.mkfifo(tmp_path / f".out.{dead}-3.aside")
    (tmp_path / f".out.{dead}-4.aside").mkdir()
    import fcntl

    with (tmp_path / f".out.{own}-78.aside").open("wb") as another_thread:
        fcntl.flock(another_thread, fcntl.LOCK_EX)
        write_files({out: b"done"})
    assert {path.name for path in tmp_path.iterdir()} == {
        "out", "precious", *stays, *(f".out.{dead}-{number}.aside" for number in (1, 2, 3, 4)), f".out.{own}-78.aside"
    }  # fmt: skip
    assert (tmp_path / "precious").read_bytes() == b"kept"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no locks")
def test_many_processes_write_one_file(tmp_path):
    """All of them succeed: none takes what another one is writing for left behind."""
    program = (
        "import sys\nfrom pathlib import Path\nfrom symveil.storage.files import write_files\n"
        "for _ in range(200):\n    write_files({Path(sys.argv[1]): b'x' * 1000})\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "out")]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(4)]
    assert [process.communicate(timeout=120)[1] for process in running] == [b""] * 4
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
