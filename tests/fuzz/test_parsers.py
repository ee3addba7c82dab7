"""Every parser under fire: each input is read, or refused in one line, in bounded time and memory.

Two seconds for each parser here, ten minutes in `make soak`. The seed is fixed here and fresh in
`make soak`; a failure prints it with the input, and `SYMVEIL_FUZZ_SEED` repeats it.
"""

from __future__ import annotations

import json
import multiprocessing
import multiprocessing.context
import multiprocessing.forkserver
import os
import secrets
import signal
import sys
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))  # a forked process knows the modules by these names
from fuzz import runner

from .broken import TARGETS as BROKEN
from .mutations import nests
from .parsers import TARGETS
from .special import SPECIAL

SECONDS, SOAK_SECONDS = 2.0, 600.0
SEED = 20261115

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="watched by limits that Windows does not have")


@cache
def _forked() -> multiprocessing.context.ForkServerContext:
    """Processes of their own, forked from one that has imported everything: importing takes longer than fuzzing."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["fuzz.parsers", "fuzz.broken"])
    with pytest.MonkeyPatch.context() as patch:  # the server reads it and no other path, and says nothing if it fails
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        multiprocessing.forkserver.ensure_running()
    return context


def fuzz(module: str, target: str, folder: Path, *, seconds: float, seed: int) -> tuple[dict[str, object], list[str]]:
    """The report of a run, and everything that went wrong in it."""
    process = _forked().Process(target=runner.started, args=(module, target, seconds, seed, str(folder)))
    process.start()
    process.join(40 * seconds + 600)  # only a parser that sleeps would come so far: the rest is processor time
    if process.exitcode is None:
        process.kill()
        process.join()
    again = f"again with SYMVEIL_FUZZ_SEED={seed}"
    if process.exitcode != 0:
        file = folder / "input"
        content = file.read_bytes() if file.exists() else b"none yet"
        if process.exitcode in (-signal.SIGPROF, -signal.SIGALRM):
            what = f"took too long\n{(folder / 'hang').read_text()[-3000:]}"
        else:
            said = (folder / "said").read_bytes()[-3000:].decode(errors="replace") if (folder / "said").exists() else ""
            what = f"ended with status {process.exitcode}\n{said}"
        return {}, [f"{target}, {again}: {what}\nwith the input {content!r}"]
    report = json.loads((folder / "report.json").read_text())
    return report, [
        f"{target}, {again}: {failure['what']}\nwith the input {failure['input'].encode('latin-1')!r}"
        for failure in report["failures"]
    ]


@pytest.mark.parametrize("name", TARGETS)
def test_a_parser_reads_or_refuses(name: str, tmp_path: Path) -> None:
    seed = int(os.environ.get("SYMVEIL_FUZZ_SEED", SEED))
    report, wrong = fuzz("fuzz.parsers", name, tmp_path, seconds=SECONDS, seed=seed)
    assert not wrong, "\n\n".join(wrong)
    assert report["inputs"] >= 150
    assert 0 < report["refused"] < report["inputs"], "some inputs are right and some are wrong"


@pytest.mark.soak
@pytest.mark.parametrize("name", TARGETS)
def test_a_parser_reads_or_refuses_for_ten_minutes(name: str, tmp_path: Path) -> None:
    seed = int(os.environ.get("SYMVEIL_FUZZ_SEED", secrets.randbits(32)))
    _, wrong = fuzz("fuzz.parsers", name, tmp_path, seconds=SOAK_SECONDS, seed=seed)
    assert not wrong, "\n\n".join(wrong)


# --- the net itself --------------------------------------------------------------------------------

NOTICED = {
    "wrong-exception": "KeyError: 'b'",
    "endless": "took too long",
    "endless-in-c": "took too long",
    "waits": "took too long",
    "greedy": "MemoryError",
    "warns": "RuntimeWarning: a bad number",
    "talks": "wrote to the standard streams: b'found something odd",
    "crashes": f"ended with status {-signal.SIGSEGV}",
}


@pytest.mark.parametrize("name", NOTICED)
def test_a_broken_parser_is_noticed(name: str, tmp_path: Path) -> None:
    _, wrong = fuzz("fuzz.broken", name, tmp_path, seconds=0.0, seed=SEED)
    assert NOTICED[name] in wrong[0]
    assert f"SYMVEIL_FUZZ_SEED={SEED}" in wrong[0]
    assert "with the input b" in wrong[0]


def test_a_right_parser_is_not(tmp_path: Path) -> None:
    report, wrong = fuzz("fuzz.broken", "right", tmp_path, seconds=0.0, seed=SEED)
    assert wrong == []
    assert report["inputs"] == 150 >= len(SPECIAL) + len(nests(b""))
    assert set(NOTICED) | {"right"} == set(BROKEN)
