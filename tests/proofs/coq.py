"""Coq on a copy of proofs/: nothing is written into the tree."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PROOFS = Path(__file__).parents[2] / "proofs"
STATEMENT = re.compile(r"^(?:Theorem|Corollary) (\w+)", re.MULTILINE)
FLAGS = ["-q", "-R", ".", "symveil", "-w", "none"]


@dataclass(frozen=True)
class Mutant:
    """A wrong statement: the text `right` of a theorem, which its file has once, becomes `wrong`."""

    theorem: str
    file: str
    right: str
    wrong: str


def files() -> list[str]:
    """The files in the order in which they build on each other."""
    return [line for line in (PROOFS / "_CoqProject").read_text("utf-8").splitlines() if line.endswith(".v")]


def theorems() -> dict[str, str]:
    """The file of each theorem and corollary."""
    return {name: file for file in files() for name in STATEMENT.findall((PROOFS / file).read_text("utf-8"))}


def listed_assumptions() -> dict[str, set[str]]:
    """The axioms that each theorem may use, by the committed list."""
    lines = (PROOFS / "assumptions.txt").read_text("utf-8").splitlines()
    pairs = (line.partition(":")[::2] for line in lines if line and not line.startswith("#"))
    return {name: set(axioms.split()) for name, axioms in pairs}


def mutants() -> list[Mutant]:
    """The wrong statements that must fail."""
    return [Mutant(**each) for each in tomllib.loads((PROOFS / "mutants.toml").read_text("utf-8"))["mutant"]]


def build(folder: Path) -> Path:
    """Compile a copy of all files into the folder."""
    copy = folder / "proofs"
    shutil.copytree(PROOFS, copy, ignore=shutil.ignore_patterns("*.vo*", "*.glob", ".*", "Makefile*"))
    subprocess.run(["coq_makefile", "-f", "_CoqProject", "-o", "Makefile"], cwd=copy, check=True, capture_output=True)
    done = subprocess.run(["make", "-j2"], cwd=copy, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return copy


def compiled(folder: Path, text: str, name: str, *, seconds: int = 600) -> subprocess.CompletedProcess[str]:
    """What Coq says to a file beside the compiled ones, within so many seconds of processor time.

    A wrong statement can make Coq unfold real numbers without an end, to compare them: then it has not checked either.
    """
    (folder / name).write_text(text, encoding="utf-8")
    limited = f'ulimit -t {seconds}; exec coqc "$@"'
    command = ["sh", "-c", limited, "coqc", *FLAGS, name]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)


def line_of_error(stderr: str) -> int | None:
    """The line of the file in which Coq says that there is an error; None where it says nothing of the kind."""
    error = re.search(r'^File "[^"]*", line (\d+), characters \d+-\d+:\nError', stderr, re.MULTILINE)
    return int(error[1]) if error else None


def used_axioms(folder: Path, names: Iterable[str]) -> set[str]:
    """What `Print Assumptions` prints for all of these theorems together: their proofs are walked once."""
    found = theorems()
    requires = "".join(f"Require symveil.{file[:-2]}.\n" for file in files())
    together = ", ".join(f"@symveil.{found[name][:-2]}.{name}" for name in names)
    text = f"{requires}Definition together := ({together}).\nPrint Assumptions together.\n"
    done = compiled(folder, text, "asked_assumptions.v")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(("Closed under the global context", "Axioms:")), done.stdout
    return set(re.findall(r"^([\w.]+)(?=\s*:)", done.stdout, re.MULTILINE)) - {"Axioms"}
