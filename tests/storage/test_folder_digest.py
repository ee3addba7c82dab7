"""The files of a folder that a cluster wrote: what counts, and what is refused instead of being followed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from symveil.errors import FileError
from symveil.storage.files import digest_of_folder, released_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "out"
    (place / "day=1").mkdir(parents=True)
    for name in ("part-0.parquet", "day=1/part-1.parquet", "_SUCCESS", ".part-0.parquet.crc"):
        (place / name).write_bytes(name.encode())
    return place


def test_hidden_files_are_the_clusters_own(folder: Path) -> None:
    assert [str(file.relative_to(folder)) for file in released_files(folder)] == [
        str(Path("day=1/part-1.parquet")),
        "part-0.parquet",
    ]
    before = digest_of_folder(folder)
    (folder / "_committed").write_bytes(b"x")
    assert digest_of_folder(folder) == before
    (folder / "part-2.parquet").write_bytes(b"")
    assert digest_of_folder(folder) != before
    assert digest_of_folder(folder / "nothing") is None


@pytest.mark.skipif(sys.platform == "win32", reason="files of these kinds")
@pytest.mark.parametrize("kind", ["pipe", "link", "linked folder", "device", "loop", "nowhere"])
def test_a_release_has_regular_files_only(folder: Path, tmp_path: Path, kind: str) -> None:
    """A link leads who knows where, and a pipe was not digested but read afterwards."""
    file = folder / "part-9.parquet"
    if kind == "pipe":
        os.mkfifo(file)
    else:
        (tmp_path / "elsewhere").mkdir()
        targets = {"link": folder / "part-0.parquet", "linked folder": tmp_path / "elsewhere", "device": "/dev/zero"}
        file.symlink_to(targets.get(kind, file if kind == "loop" else tmp_path / "nothing"))
    for read in (digest_of_folder, released_files):
        with pytest.raises(FileError, match=r"part-9\.parquet: expected regular files in the folder of a release"):
            read(folder)
