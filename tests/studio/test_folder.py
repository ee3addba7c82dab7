"""The folder of a killed studio is removed by the next one; nothing else is, whatever it is called."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from symveil.studio.serve import session_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")

HOLD = (
    "from symveil.studio.serve import session_folder\n"
    "with session_folder() as folder:\n"
    "    (folder / 'secret.json').write_text('{}')\n"
    "    print(folder, flush=True)\n"
    "    input()\n"
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@contextmanager
def another_studio(place: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    environment = {**os.environ, "TMPDIR": str(place)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", HOLD], env=environment, **pipes) as process:  # type: ignore[call-overload]
        try:
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def test_it_is_for_this_account_only_and_goes(place: Path) -> None:
    with session_folder() as folder:
        assert folder.parent == place and stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "uploads").mkdir()
        (folder / "uploads" / "roads.json").touch()
    assert list(place.iterdir()) == []


def test_that_of_a_killed_studio_is_removed_and_that_of_a_running_one_is_not(place: Path) -> None:
    with another_studio(place) as (killed, left), another_studio(place) as (_, running):
        with session_folder():
            assert left.exists() and running.exists()
        killed.kill()
        killed.wait()
        assert (left / "secret.json").exists()
        with session_folder() as ours:
            assert not left.exists()
            assert (running / "secret.json").exists() and ours.exists()


def test_what_only_looks_like_one_is_left_alone(place: Path) -> None:
    elsewhere = place / "elsewhere"
    for folder in (place / "symveil-studio-without-a-lock", place / "other", elsewhere):
        folder.mkdir()
        (folder / "kept").touch()
    (place / "other" / "symveil-studio.lock").touch()
    (elsewhere / "symveil-studio.lock").touch()
    (place / "symveil-studio-link").symlink_to(elsewhere)  # as somebody else may put there
    (place / "symveil-studio-file").touch()
    linked = place / "symveil-studio-linked-lock"
    linked.mkdir()
    (linked / "symveil-studio.lock").symlink_to(elsewhere / "symveil-studio.lock")
    before = set(place.rglob("*"))
    with session_folder():
        pass
    assert set(place.rglob("*")) == before


def test_links_in_a_dead_one_are_not_followed(place: Path) -> None:
    kept = place / "kept"
    kept.mkdir()
    (kept / "file").touch()
    dead = place / "symveil-studio-dead"
    dead.mkdir()
    (dead / "symveil-studio.lock").touch()
    (dead / "link").symlink_to(kept)
    with session_folder():
        assert not dead.exists() and (kept / "file").exists()


@pytest.mark.parametrize("steps", range(4))
def test_what_an_interrupted_end_leaves_is_removed_by_the_next(
    place: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    """Whenever it is interrupted: the lock is the last thing that goes."""
    real, left = shutil.rmtree, steps

    def interrupted(path: Path) -> None:
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        real(path)

    with pytest.raises(KeyboardInterrupt), monkeypatch.context() as patched, session_folder() as folder:
        for name in ("a", "uploads", "z"):
            (folder / name).mkdir()
            (folder / name / "roads.json").touch()
        (folder / "open.html").touch()
        patched.setattr(shutil, "rmtree", interrupted)
    assert len([each for each in folder.iterdir() if each.is_dir()]) == 3 - steps
    assert (folder / "symveil-studio.lock").exists()
    with session_folder():
        assert not folder.exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away")
def test_that_of_another_account_is_left_alone(place: Path) -> None:
    theirs = place / "symveil-studio-theirs"
    theirs.mkdir()
    (theirs / "symveil-studio.lock").touch()
    os.chown(theirs, 65534, 65534)
    with session_folder():
        assert theirs.exists()


def test_many_starts_at_once_keep_their_folders(place: Path) -> None:
    def start(_: int) -> bool:
        for _ in range(20):
            with session_folder() as folder:
                if not folder.exists():
                    return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(start, range(8)))
    assert list(place.iterdir()) == []
