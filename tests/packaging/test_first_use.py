"""The first use after installation: no command waits long for a compiler.

Seconds would depend on the machine. Counted is what is compiled instead: lines of LLVM's language, of which a slow
machine compiles more than 8,000 a second (benchmarks/startup.py has the seconds), and numba is not even loaded.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.distances import random_chain

from symveil.formats.models.model_files import save_model

ROOT = Path(__file__).parents[2]
MOST_LINES = 25_000  # three seconds

COUNTED = """
import json, sys
from symveil.cli.entry import main
from symveil.languages.loops import machine

lines, compile_it = [], machine.Machine._compiled
def counted(self, text, folder, name):
    lines.append(text.count("\\n"))
    return compile_it(self, text, folder, name)
machine.Machine._compiled = counted
try:
    main()
finally:
    with open(sys.argv.pop(), "w") as file:
        json.dump({"lines": sum(lines), "numba": "numba" in sys.modules}, file)
"""


def first_use(folder: Path, *arguments: object) -> dict[str, int]:
    """Run a command where nothing is kept: how many lines it compiles, and whether it loads numba."""
    program, told = folder / "counted.py", folder / "told.json"
    program.write_text(COUNTED.replace("sys.argv.pop()", repr(str(told))))
    own = {
        "NUMBA_CACHE_DIR": str(folder / "loops"),
        "SYMVEIL_CACHE": str(folder / "cache"),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    done = subprocess.run(
        [sys.executable, str(program), *map(str, arguments)],
        cwd=folder, env=os.environ | own, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    found: dict[str, int] = json.loads(told.read_text())
    return found


@pytest.mark.parametrize(
    "arguments",
    [
        ["verify", "chain.json", "--alpha", "6/5", "--delta", "1/20", "--pair", "0,2"],
        [
            "explain",
            "harbour rd|bridge",
            "--separator",
            "|",
            "--model",
            ROOT / "examples" / "roads.json",
            "--epsilon",
            "2",
            "--adjacency",
            "1",
        ],
    ],
    ids=lambda part: str(part[0]),
)
def test_the_first_use_waits_for_few_lines(arguments: list[object], tmp_path: Path) -> None:
    save_model(random_chain(60), tmp_path / "chain.json")
    found = first_use(tmp_path, *arguments)
    assert found["lines"] < MOST_LINES, found
    assert not found["numba"]
