"""What lies in the cache is a proposal: it is proved before it is used, in one evaluation, or replaced."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from calibration_oracle import certified_loss, certified_rate, chain_case, forget
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import symveil as sv
from symveil.calibration import answers, certify, windows
from symveil.calibration.limits import LIMITS
from symveil.calibration.search import CertifiedRate
from symveil.languages.runs import RunLanguage, runs
from symveil.models.markov_chain import MarkovChain


@pytest.fixture(autouse=True)
def only_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows would be a little sharper and take far longer."""
    monkeypatch.setattr(windows, "window_search", lambda *_, **__: None)


def _ring(states: int) -> MarkovChain:
    """From each place to the next two and to itself, at uneven odds."""
    names = [f"s{i:03}" for i in range(states)]
    return MarkovChain.from_transitions(
        [
            (names[i], names[(i + step) % states], chance)
            for i in range(states)
            for step, chance in ((0, "1/2"), (1, "1/3"), (2, "1/6"))
        ]
    )


def _ask(language: RunLanguage | None = None, epsilon: Fraction = Fraction(5), adjacency: int = 2) -> CertifiedRate:
    forget()
    return certified_rate(language or runs(_ring(12), 12), epsilon=epsilon, adjacency=adjacency)


def _planted(file: Path, **changes: str) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def test_a_planted_rate_is_not_believed(own_cache: Path) -> None:
    """As it was found: everything in the entry fits, and nothing of it is true."""
    honest = _ask()
    (file,) = own_cache.iterdir()
    _planted(file, rate="4.9", loss="4.95", how="certified")
    found = _ask()
    assert found == honest
    assert Fraction(json.loads(file.read_text())["rate"]) == honest.rate  # the entry that failed is gone


def test_a_mechanism_says_what_is_true_of_its_rate(own_cache: Path) -> None:
    """A rate of 1 at b = 5 was said to lose 0.99 at most."""
    names = "abcdefgh"
    rows = [(name, names[(place + step) % 8], "1/2") for place, name in enumerate(names) for step in (0, 1)]
    language = sv.runs(MarkovChain.from_transitions(rows), 16)
    honest = sv.Exponential(language, epsilon=1, adjacency=5)
    assert honest.rate < Fraction(1, 4)
    files = list(own_cache.iterdir())
    assert len(files) == 2  # of the first certificate and of the second one, which is as quick here
    for file in files:
        _planted(file, rate="1", loss="0.99", how="certified")
    forget()
    found = sv.Exponential(language, epsilon=1, adjacency=5)
    assert (found.rate, found.guarantee) == (honest.rate, honest.guarantee)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rate=st.integers(125, 500), epsilon=st.sampled_from([1, 5]))
@example(rate=500, epsilon=5)
@example(rate=125, epsilon=5)
def test_whatever_is_planted_the_loss_is_proved(own_cache: Path, rate: int, epsilon: int) -> None:
    """Small enough to be listed by hand, with listing switched off."""
    case = chain_case(_ring(4), 5)
    with LIMITS.changed(words=0):
        for old in own_cache.glob("*.json"):
            old.unlink()
        _ask(case.language, Fraction(epsilon))
        (file,) = own_cache.iterdir()
        _planted(file, rate=str(Fraction(rate * epsilon, 500)), loss="0", how="exact")
        found = _ask(case.language, Fraction(epsilon))
        assert certified_loss(case.language, rate=found.rate, adjacency=2)[0] <= found.loss <= epsilon
        assert case.loss(float(found.rate), 2) <= float(found.loss) + 1e-12


def test_an_honest_entry_costs_one_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Fraction] = []
    loss = certify.loss_by_spread
    monkeypatch.setattr(certify, "loss_by_spread", lambda of, rate: (asked.append(rate), loss(of, rate))[1])
    honest = _ask()
    assert len(asked) > 1
    asked.clear()
    assert _ask() == honest
    assert asked == [honest.rate]


def test_another_language_s_answer_is_not_this_one_s(own_cache: Path) -> None:
    other = _ask(runs(_ring(12), 12), adjacency=1)
    (first,) = own_cache.iterdir()
    honest = _ask(runs(_ring(12), 12), adjacency=3)
    (second,) = set(own_cache.iterdir()) - {first}
    assert other.rate > honest.rate
    second.write_bytes(first.read_bytes())  # under a name that is not its own
    assert _ask(adjacency=3) == honest
    second.write_text(json.dumps(json.loads(first.read_text()) | {"key": second.stem}))  # and with that put right
    assert _ask(adjacency=3) == honest


def test_what_is_listed_does_not_ask_the_disk(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "load", lambda _: pytest.fail("the disk was asked"))
    assert _ask(runs(_ring(4), 4)).how == "exact"
    assert not own_cache.exists()


# --- files that are none -----------------------------------------------------------------------------


def _fifo(file: Path) -> None:
    os.mkfifo(file)


def _socket(file: Path) -> None:
    here = Path.cwd()
    os.chdir(file.parent)  # the name of a socket has to be short
    try:
        with closing(socket.socket(socket.AF_UNIX)) as made:
            made.bind(file.name)
    finally:
        os.chdir(here)


def _huge(file: Path) -> None:
    with file.open("wb") as sparse:
        sparse.truncate(1 << 40)


def _linked(file: Path) -> None:
    """To an entry that is right, somewhere else."""
    file.symlink_to(file.with_suffix(".before"))


SPECIAL: dict[str, Callable[[Path], None]] = {
    "pipe": _fifo,
    "socket": _socket,
    "sparse": _huge,
    "link": _linked,
    "folder": Path.mkdir,
    "device": lambda file: file.symlink_to("/dev/zero"),
    "loop": lambda file: file.symlink_to(file),
}


@pytest.mark.skipif(sys.platform == "win32", reason="files of these kinds")
@pytest.mark.parametrize("kind", SPECIAL)
def test_an_entry_that_is_no_file_is_passed_by(kind: str, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = _ask()
    (file,) = own_cache.iterdir()
    file.rename(file.with_suffix(".before"))
    SPECIAL[kind](file)
    searched = certify._QuickSearch.run
    calls: list[object] = []
    monkeypatch.setattr(certify._QuickSearch, "run", lambda search: (calls.append(search), searched(search))[1])
    assert _ask() == honest
    assert len(calls) == 1
    if kind != "folder":  # in its place is an entry again
        assert file.is_file()
        assert not file.is_symlink()
        assert _ask() == honest
        assert len(calls) == 1


@pytest.mark.parametrize(
    "rate",
    ["1e999999999", "1e-999999999", "9" * 5000, "9" * 90_000, "1/" + "9" * 90_000, "inf", "nan", "-1", "0", "", "１"],
    ids=lambda rate: rate[:12],
)
def test_an_absurd_rate_is_passed_by_at_once(rate: str, own_cache: Path) -> None:
    honest = _ask()
    (file,) = own_cache.iterdir()
    _planted(file, rate=rate)
    started = time.process_time()
    assert _ask() == honest
    assert time.process_time() - started < 10


@pytest.mark.parametrize("size", [1, 10, 50, 100, 200])
def test_half_an_entry_is_none(size: int, own_cache: Path) -> None:
    honest = _ask()
    (file,) = own_cache.iterdir()
    file.write_bytes(file.read_bytes()[:size])
    assert _ask() == honest
