"""How many modules a task goes through, which is how many files explain it.

A walk is counted in a process of its own, with every module imported beforehand, so that only calls count.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

LONGEST = {
    "release of a word on an alphabet": 16,
    "file on an alphabet": 44,
    "file on a model": 65,
    "auto on a model": 43,
    "estimate on a model": 53,
}
"""Modules entered at most: at most two thirds of what they were in 0.3, which is 32, 66, 106, 88 and 88."""


@cache
def walks() -> dict[str, list[str]]:
    run = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True)
    entered: dict[str, list[str]] = json.loads(run.stdout)
    return entered


@pytest.mark.parametrize("walk", LONGEST)
def test_a_walk_is_short(walk: str) -> None:
    entered = walks()[walk]
    assert len(entered) <= LONGEST[walk], "\n".join(entered)


def test_what_a_walk_enters() -> None:
    """The counter sees the modules that must be there, and no part of the studio."""
    word, csv = walks()["release of a word on an alphabet"], walks()["file on an alphabet"]
    assert {"mechanisms/exponential.py", "randomness/choices.py", "models/alphabet.py"} <= set(word)
    assert {"formats/manifest.py", "release/protocol.py", "tasks/privatize_file.py"} <= set(csv)
    assert not any(name.startswith(("studio/", "cli/")) for name in csv)


def _count() -> dict[str, list[str]]:
    """Runs in the process of its own: every walk with the modules whose functions it calls, in any thread."""
    import importlib
    import pkgutil
    import random
    import tempfile
    import threading

    import symveil as sv

    for module in pkgutil.walk_packages(sv.__path__, "symveil."):
        if not module.name.startswith(("symveil.studio", "symveil.cli", "symveil.__main__")):
            try:
                importlib.import_module(module.name)
            except ImportError:  # of an extra that is not installed
                continue
    for name in sv.__all__:
        getattr(sv, name)  # names are imported when they are first used
    source = Path(sv.__file__).parent
    entered: set[str] = set()

    def note(frame, event, argument) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(source)) and frame.f_code.co_name != "<module>":
            entered.add(Path(name).relative_to(source).as_posix())

    def walk(call) -> list[str]:
        entered.clear()
        threading.setprofile(note)
        sys.setprofile(note)
        try:
            call()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        return sorted(entered)

    draw = random.Random(0)
    chain = sv.MarkovChain.from_transitions([(a, b, "1/3") for a in "abcd" for b in "abcd" if a != b])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sv.save_model(chain, folder / "model.json")
        rows = []
        for number in range(50):
            word = [draw.choice("abcd")]
            while len(word) < 6:
                word.append(draw.choice([symbol for symbol in "abcd" if symbol != word[-1]]))
            rows.append(f"{number},{'|'.join(word)}")
        (folder / "trips.csv").write_text("\n".join(["id,trip", *rows, ""]))
        columns = {"sequence": "trip", "identifier": "id", "separator": "|"}
        exponential = {"epsilon": 2, "adjacency": 1, "mechanism": "exponential", **columns}

        def released(out: str, **choice: object) -> None:
            sv.privatize_file(folder / "trips.csv", folder / out, **choice, **exponential)

        model = sv.load_model(folder / "model.json")
        private = folder / "of-model.csv"
        return {
            "release of a word on an alphabet": walk(
                lambda: sv.Exponential(sv.words("abcd", 6), epsilon=2).release("abcdab")
            ),
            "file on an alphabet": walk(lambda: released("of-alphabet.csv", alphabet="abcd")),
            "file on a model": walk(lambda: released(private.name, model=folder / "model.json")),
            "auto on a model": walk(lambda: sv.select_mechanism(sv.runs(model, 6), epsilon=2, adjacency=1)),
            "estimate on a model": walk(lambda: sv.estimate(private, statistic="visits", model=folder / "model.json")),
        }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_count()))
