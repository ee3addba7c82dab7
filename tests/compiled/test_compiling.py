"""How loops are compiled: what is stale is refused, what has not changed is left alone, and a compiler is asked for."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from compiled.twins import NAMES, PACKAGE, loops, twins
from symveil.numbers.compiled import built_from, declarations_of, source_digest, source_of

ROOT = Path(__file__).parents[2]
LOOP = PACKAGE / "symveil" / "verification" / "distances" / "sweep_loops.py"


def run(*command: str, **more: str) -> subprocess.CompletedProcess[str]:
    own = {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=os.environ | own | more, capture_output=True, text=True, check=False
    )


def test_all_of_them_are_compiled_and_have_twins() -> None:
    assert len(NAMES) >= 10
    assert {name.rpartition(".")[0] for name in loops()} == set(NAMES)
    for name in NAMES:
        assert importlib.import_module(name).__file__.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES))
        assert twins()[name].__file__.endswith(".py")


def test_what_is_not_compiled_from_its_source_is_refused() -> None:
    name = "symveil.verification.distances.sweep_loops"
    built_from(source_digest(LOOP), name)
    for digest, wrong in (("", "not compiled"), ("0" * 32, "compiled from another source")):
        with pytest.raises(ImportError) as caught:
            built_from(digest, name)
        assert str(caught.value) == (
            f"the loops of {name} are {wrong}: run `pip install -e .` or `python compile_loops.py`"
        )


def test_a_digest_covers_what_a_loop_is_made_of() -> None:
    """Its declarations, those that it takes from others, and the lines that it shares with exact rationals."""
    assert {path.name for path in declarations_of(LOOP)} == {"sweep_loops.pxd", "compiled.pxd"}
    kernel = declarations_of(LOOP.with_name("kernel_loops.py"))
    assert {path.name for path in kernel} == {"kernel_loops.pxd", "sweep_loops.pxd", "compiled.pxd"}
    assert "\ndef solve(\n" in source_of(LOOP)
    assert "\ndef solve(\n" not in LOOP.read_text("utf-8")


def test_interpreted_on_request() -> None:
    code = f"import {NAMES[0]} as loops; print(loops.__file__)"
    assert run("-c", code).stdout.strip().endswith(".so") or os.name == "nt"
    assert run("-c", code, SYMVEIL_INTERPRETED="1").stdout.strip().endswith("_loops.py")


def test_what_has_not_changed_is_left_alone() -> None:
    compiled = [Path(importlib.import_module(name).__file__ or "") for name in NAMES]
    before = [path.stat().st_mtime_ns for path in compiled]
    done = run("compile_loops.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [path.stat().st_mtime_ns for path in compiled] == before


def test_a_change_of_one_loop_compiles_one_module(tmp_path: Path) -> None:
    """In a copy of the tree; until then what was compiled before is refused."""
    shutil.copytree(PACKAGE, tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(ROOT / "compile_loops.py", tmp_path)
    loop = tmp_path / "src" / "symveil" / "verification" / "linear_loops.py"
    loop.write_text(loop.read_text("utf-8") + "\n_CHANGED = True\n", "utf-8")
    modules = sorted((tmp_path / "src").rglob("*.so")) or sorted((tmp_path / "src").rglob("*.pyd"))
    before = {path: path.stat().st_mtime_ns for path in modules}
    code = "from symveil.verification import linear_loops; print(linear_loops._CHANGED)"
    found = {"PYTHONPATH": str(tmp_path / "src")}
    assert "linear_loops are compiled from another source" in run("-c", code, **found).stderr
    done = run(str(tmp_path / "compile_loops.py"), **found)
    assert done.returncode == 0, done.stderr
    (changed,) = [path for path in modules if path.stat().st_mtime_ns != before[path]]
    assert changed.name.startswith("linear_loops.")
    assert run("-c", code, **found).stdout == "True\n"


@pytest.mark.skipif(os.name == "nt", reason="another compiler is looked for there")
def test_without_a_c_compiler_one_line_says_what_to_install() -> None:
    done = run("compile_loops.py", "--force", "linear_loops", CC="/nonexistent/cc")
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert "install a C compiler" in line
