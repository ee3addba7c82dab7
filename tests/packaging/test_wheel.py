"""The wheel as a stranger gets it: built from the sdist, installed without extras in a fresh environment elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import symveil as sv

pytestmark = pytest.mark.xdist_group("wheel")  # one environment serves all of them

ROOT = Path(__file__).parents[2]
BUILD = "import sys; from hatchling import build; print(getattr(build, sys.argv[1])(sys.argv[2]))"


def run(*command: object, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Without this test's own paths: what runs is what is installed."""
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")} | more
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sdist")
    done = run(sys.executable, "-c", BUILD, "build_sdist", out, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return out / done.stdout.split()[-1]


@pytest.fixture(scope="session")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from what the sdist holds: it is complete."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        archive.extractall(source, filter="data")
    (unpacked,) = source.iterdir()
    done = run(sys.executable, "-c", BUILD, "build_wheel", out, cwd=unpacked)
    assert done.returncode == 0, done.stderr
    return out / done.stdout.split()[-1]


@dataclass(frozen=True)
class Installed:
    programs: Path
    folder: Path

    def __call__(self, program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        return run(self.programs / program, *arguments, cwd=self.folder, SYMVEIL_CACHE="")

    def pip(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """The pip of the tests at work on that environment, which needs none of its own."""
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", self.programs / "python")
        return run(*pip, *arguments, cwd=self.folder)

    def refusal(self, *arguments: object) -> str:
        """The one line with which the command line refuses this."""
        done = self("symveil", *arguments)
        assert (done.returncode, done.stdout) == (2, ""), (done.stdout, done.stderr)
        (line,) = done.stderr.splitlines()
        assert line.startswith("symveil: error: ")
        return line


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("stranger")
    venv.create(folder / "env")
    made = Installed(folder / "env" / ("Scripts" if sys.platform == "win32" else "bin"), folder)
    reached = made.pip("download", "--quiet", "--no-deps", "--dest", folder / "reached", "click")
    if reached.returncode != 0:
        pytest.skip("the package index cannot be reached: the wheel's dependencies cannot be installed")
    done = made.pip("install", "--quiet", "--no-compile", wheel)
    assert done.returncode == 0, done.stderr
    return made


# --- what is in it ---------------------------------------------------------------------------------


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    told = {name for name in names if name.startswith(f"symveil-{sv.__version__}.dist-info/")}
    source = ROOT / "src" / "symveil"
    wanted = {
        f"symveil/{file.relative_to(source).as_posix()}"
        for file in source.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert names - told == wanted
    assert "symveil/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in told)
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert wheel.name.startswith(f"symveil-{sv.__version__}-{python}-{python}-")
    assert any(name.startswith("symveil/verification/linear_loops.") and name.endswith(".so") for name in names)


def test_the_sdist_holds_what_the_tests_need(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    build = {"pyproject.toml", "Makefile", "compile_loops.py"}
    assert names >= {"LICENSE", "README.md", "CHANGELOG.md", "tests/conftest.py", *build}
    assert not any(name.endswith(".so") for name in names)
    assert not any(name.startswith((".venv", "demo-out", "bench-out")) or "__pycache__" in name for name in names)


# --- what it does ----------------------------------------------------------------------------------


def test_it_stands_on_its_own(installed: Installed) -> None:
    done = installed.pip("check")
    assert done.returncode == 0, done.stdout
    code = "import symveil as s, importlib.metadata as m; print(s.__file__); print(s.__version__, m.version('symveil'))"
    place, versions = installed("python", "-c", code).stdout.splitlines()
    assert str(installed.folder) in place
    assert versions == f"{sv.__version__} {sv.__version__}"
    assert "Usage" in installed("symveil", "--help").stdout
    assert installed("symveil", "--version").stdout.split()[-1] == sv.__version__


def test_it_releases_and_audits(installed: Installed) -> None:
    done = installed("symveil", "release", "abcab", "--alphabet", "abc", "--epsilon", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["released"][0]) == 5
    done = installed("symveil", "audit", "--alphabet", "abc", "--length", "3", "--epsilon", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["private"] is True
    (installed.folder / "trips.csv").write_text("trip_id,links\n1,a b a\n2,b\n")
    done = installed("symveil", "privatize", "trips.csv", "--out", "p.csv", "--alphabet", "ab", "--epsilon", "1")
    assert done.returncode == 0, done.stderr
    assert installed("symveil", "check", "p.csv.manifest.json").returncode == 0


def test_what_needs_an_extra_names_it(installed: Installed) -> None:
    (installed.folder / "g.graphml").write_text("<graphml/>")
    line = installed.refusal("release", "ab", "--model", "g.graphml", "--epsilon", "1")
    assert "the extra symveil[formats]" in line
    assert "symveil[studio]" in installed.refusal("studio", "--no-browser")
    (installed.folder / "trips.csv").write_text("trip_id,links\n1,a b a\n2,b\n")
    privatize = ("privatize", "trips.csv", "--alphabet", "ab", "--epsilon", "2")
    assert "symveil[spark]" in installed.refusal(*privatize, "--out", "q.parquet", "--engine", "spark")
    assert "symveil[postgres]" in installed.refusal("ledger", "status", "--ledger", "postgresql://u@127.0.0.1/x")
    grant = installed(
        "symveil", "ledger", "grant", "--ledger", "b.db", "--epsilon", "1", "--everyone", "--delta", "1e-6"
    )
    assert grant.returncode == 0, grant.stderr
    # losses are composed without an extra, and these two are above 1 however they are
    assert "persons with less" in installed.refusal(*privatize, "--out", "q.csv", "--ledger", "b.db")
    assert not (installed.folder / "q.csv").exists()
    code = "import symveil as sv\ntry:\n    sv.from_networkx([])\nexcept sv.SymveilError as error:\n    print(error)"
    done = installed("python", "-c", code)
    assert "symveil[formats]" in done.stdout, done.stderr


PROGRAM = """
import symveil as sv

words = sv.words(alphabet="abc", length=4)
mechanism: sv.Exponential = sv.Exponential(words, epsilon="1/2", adjacency=2)
guarantee: sv.Guarantee = mechanism.guarantee
loss: float = guarantee.epsilon
chance: float = mechanism.probability("abca", "abcb")
released = mechanism.release("abca")
verdict: bool = sv.audit(mechanism).private
chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", 0.5), ("b", "a", 1)])
trips = sv.select_mechanism(sv.runs(chain, length=3), epsilon=2)
error: float = trips.distances("aba").expected_error
try:
    sv.load_model("roads.json")
except sv.SymveilError as problem:
    print(problem)
"""
WRONG = """
import symveil as sv

sv.Exponential(sv.words("abc", 4), budget=1)
length: str = sv.words("abc", 4).length
"""


def test_a_strict_type_checker_accepts_users_and_finds_their_slips(installed: Installed) -> None:
    (installed.folder / "program.py").write_text(PROGRAM)
    (installed.folder / "wrong.py").write_text(WRONG)
    done = run(
        *(sys.executable, "-m", "mypy", "--strict", "--python-executable", installed.programs / "python"),
        *("--cache-dir", installed.folder / "mypy", "program.py", "wrong.py"),
        cwd=installed.folder,
    )
    found = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert not [line for line in found if line.startswith("program.py")], done.stdout
    assert [line.split(":")[0] for line in found] == ["wrong.py", "wrong.py"], done.stdout
    assert "budget" in done.stdout
