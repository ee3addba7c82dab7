"""Files written aside, and ids that occur twice."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symveil.errors import FileError
from symveil.io.aside import AsideFile, aside_of, digest_of
from symveil.io.duplicates import SeenNames


def test_aside_is_the_owners_and_the_published_file_is_like_any_other(tmp_path):
    out = tmp_path / "new" / "out.csv"
    with AsideFile(out, "r1") as file:
        assert (file.aside.stat().st_mode & 0o777) == 0o600
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
    with pytest.raises(RuntimeError), AsideFile(out, "r1") as file:
        file.write(b"half")
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"] and out.read_text() == "before"


def test_what_a_killed_run_left_is_replaced(tmp_path):
    out = tmp_path / "out.csv"
    aside_of(out, "r1").write_bytes(b"left over, and longer than what follows")
    with AsideFile(out, "r1") as file:
        file.write(b"new")
        file.finish()
        file.publish()
    assert out.read_bytes() == b"new"


def test_only_one_process_writes_a_release(tmp_path):
    code = (
        "import sys, pathlib\nfrom symveil.io.aside import AsideFile\n"
        "try:\n    AsideFile(pathlib.Path(sys.argv[1]), 'r1')\nexcept ValueError as error:\n    print(error)"
    )
    with AsideFile(tmp_path / "out.csv", "r1"):
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "out.csv")], capture_output=True, text=True, check=True
        )
        assert "one process that writes this release" in done.stdout
        AsideFile(tmp_path / "out.csv", "r2").__exit__()  # another release is another matter


@pytest.mark.parametrize("meanwhile", ["deleted", "replaced"])
def test_a_file_that_goes_away_before_it_is_locked_is_made_again(tmp_path, monkeypatch, meanwhile):
    """Between opening and locking another process published or gave up: its file must not be written to."""
    fcntl = pytest.importorskip("fcntl")
    out = tmp_path / "out.csv"
    aside, locks = aside_of(out, "r1"), []

    def late(number, how):
        locks.append(number)
        if len(locks) == 1:
            aside.rename(tmp_path / "theirs")
            if meanwhile == "replaced":
                aside.touch()
        return real(number, how)

    real = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", late)
    with AsideFile(out, "r1") as file:
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

    with AsideFile(tmp_path / "out.csv", "r1") as file:
        monkeypatch.setattr(os, "fsync", broken)
        with pytest.raises(FileError, match="expected a place to write to, found Input/output error"):
            file.finish()
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="expected a place to write to"):
        AsideFile(tmp_path / "file" / "out.csv", "r1")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileError), AsideFile(tmp_path / "folder.csv", "r1") as file:
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
