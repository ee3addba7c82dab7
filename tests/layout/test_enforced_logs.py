"""`enforce --log`: the log that is shown is laid out by what is shown, and not by what was observed."""

from __future__ import annotations

from pathlib import Path

import pytest

from symveil.cli.main import main
from symveil.enforcement.enforce import Enforcement

from .secrets_and_files import KINDS, same_lengths

MEDICAL = str(Path(__file__).parents[2] / "examples" / "medical.json")
TEXT = [kind for kind in KINDS if not kind.numbers]


@pytest.fixture(autouse=True)
def shown(monkeypatch):
    """What is shown is the same for all logs: it follows the lengths, which are public."""

    def release_many(_enforcement, observations, *, bits=None):
        del bits
        return [
            tuple("abcdea"[(number + place) % 6] for place in range(len(seen)))
            for number, seen in enumerate(observations)
        ]

    monkeypatch.setattr(Enforcement, "release_many", release_many)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzipped"])
@pytest.mark.parametrize("kind", TEXT, ids=lambda kind: kind.name)
def test_in_the_form_of_the_log(kind, packed, small_pieces, tmp_path, monkeypatch, capsys):
    end = kind.suffix + (".gz" if packed else "")
    told = []
    for number, words in enumerate(same_lengths(kind.alphabet, empty=not kind.long).values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        kind.write(folder / f"in{end}", words)
        with pytest.raises(SystemExit) as left:
            main(["enforce", MEDICAL, "--k", "2", "--epsilon", "1", "--log", f"in{end}", "--out", f"out{end}",
                  *kind.arguments()])  # fmt: skip
        files = {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith("in.")}
        told.append((left.value.code, capsys.readouterr(), files))
    assert told[0][0] in (None, 0), told[0][1].err
    assert list(told[0][2]) == [f"out{end}"]
    assert all(other == told[0] for other in told)
