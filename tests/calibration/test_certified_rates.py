"""The rate that a budget buys: proved, never below the classic one, found once and answers."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from calibration_oracle import (
    automaton_case,
    certified_loss,
    certified_rate,
    chain_case,
    forget,
    random_chain_case,
    random_system_case,
    seeded,
)

from symveil.calibration import answers, certify
from symveil.calibration.search import CertifiedRate, rounded_down
from symveil.languages.graph import WordGraph
from symveil.languages.runs import RunLanguage, runs
from symveil.models.alphabet import Alphabet
from symveil.models.automaton import TransitionSystem
from symveil.models.markov_chain import MarkovChain
from symveil.storage import files as caches


def _ring(states: int = 12) -> MarkovChain:
    """From each place to the next two and to itself."""
    names = [f"s{i:03}" for i in range(states)]
    third = Fraction(1, 3)
    return MarkovChain.from_transitions(
        [(names[i], names[(i + step) % states], third) for i in range(states) for step in (0, 1, 2)]
    )


def test_the_budget_is_spent_and_not_exceeded() -> None:
    tried = 0
    for seed in range(300):
        dice = seeded(seed)
        case = random_chain_case(dice, longest=5) if seed % 2 else random_system_case(dice, longest=5)
        if case is None or len(case.weights) > 200:
            continue
        epsilon, adjacency = Fraction(dice.choice(["0.1", "1", "5", "12"])), dice.randint(1, 3)
        found = certified_rate(case.language, epsilon=epsilon, adjacency=adjacency, with_prior=case.with_prior)
        assert found.rate * 2 * adjacency >= epsilon * (1 if case.language.largest_distance else 0)
        assert found.loss <= epsilon
        assert case.loss(float(found.rate), adjacency) <= float(found.loss) + 1e-12
        assert found.how == "exact"
        if case.loss(1.0, adjacency) > 0:
            tried += 1
            assert found.loss >= epsilon * Fraction(999, 1000)
    assert tried > 60


@pytest.mark.parametrize(("states", "length", "conditions"), [(12, 8, False), (8, 10, True)])
def test_a_large_chain_is_certified(states: int, length: int, conditions: bool) -> None:
    with_prior = public_start = conditions
    language = runs(_ring(states), length, public_start=public_start)
    found = certified_rate(language, epsilon=Fraction(6), adjacency=2, with_prior=with_prior)
    assert found.how == "certified"
    assert found.rate > Fraction(6, 4)
    assert found.loss <= 6
    assert found.ratio_bound >= 0
    assert certified_loss(language, rate=found.rate, adjacency=2, with_prior=with_prior) == (found.loss, "certified")


def test_an_action_system_with_long_words_is_certified() -> None:
    model = TransitionSystem.from_transitions(
        [("p", "a", "q"), ("p", "b", "p"), ("q", "a", "r"), ("q", "c", "p"), ("r", "b", "p"), ("r", "a", "r")],
        initial="p",
    )
    language = runs(model, 30)
    found = certified_rate(language, epsilon=Fraction(4), adjacency=1)
    assert found.how == "certified"
    assert found.rate > Fraction(5, 2)
    short = automaton_case(model, 8)
    assert short is not None
    assert short.loss(float(found.rate), 1) <= 4.05  # long words lose about as much as short ones


def test_longer_words_than_can_be_listed_agree_with_short_ones() -> None:
    """The loss of a chain hardly depends on the length; the proof must not be far from the truth either."""
    case = chain_case(_ring(5), 5)
    assert case is not None
    proved, how = certified_loss(runs(_ring(5), 25), rate=Fraction(3), adjacency=1)
    assert how == "certified"
    assert case.loss(3.0, 1) - 0.01 <= float(proved) <= case.loss(3.0, 1) * 1.1


def test_very_large_graphs_are_answered_at_once() -> None:
    size = 20_000
    names = tuple(f"{i:05}" for i in range(size))
    target = (np.arange(size)[:, None] + np.array([1, 2, 3])) % size
    target = np.sort(target, axis=1).ravel().astype(np.int32)
    graph = WordGraph(
        alphabet=Alphabet(names),
        start=0,
        first=np.arange(0, 3 * size + 1, 3),
        symbol=target,
        target=target,
        accepting=np.ones(size, dtype=np.bool_),
        state_is_symbol=True,
    )
    found = certified_rate(RunLanguage(graph=graph, length=20), epsilon=Fraction(8), adjacency=4)
    assert found.rate >= 1
    assert found.how == "classic"
    sharp = certified_rate(RunLanguage(graph=graph, length=20), epsilon=Fraction(60), adjacency=4)
    assert sharp.how == "certified"  # at large rates the spread of Z alone is small
    assert sharp.rate > 14


def test_dense_graphs_keep_the_classic_bound_for_long_blocks() -> None:
    names = [f"s{i}" for i in range(30)]
    dice = seeded(1)
    rows = [(s, t, Fraction(1, 15)) for s in names for t in dice.sample(names, 15)]
    language = runs(MarkovChain.from_transitions(rows, states=names), 10)
    found = certified_rate(language, epsilon=Fraction(30), adjacency=5)
    assert found.rate >= 3
    assert found.loss <= 30


@pytest.mark.parametrize("length", [0, 1])
def test_words_with_nothing_to_compare_lose_nothing(length: int) -> None:
    language = runs(_ring(), length, public_start=True)
    found = certified_rate(language, epsilon=Fraction(1), adjacency=1)
    assert (found.loss, found.how) == (0, "exact")
    assert certified_loss(language, rate=Fraction(7), adjacency=3) == (0, "exact")


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(10**6), Fraction(10**9)])
def test_extreme_budgets(epsilon: Fraction) -> None:
    for length in (4, 12):
        found = certified_rate(runs(_ring(7), length), epsilon=epsilon, adjacency=2)
        assert epsilon / 4 <= found.rate <= epsilon
        assert found.loss <= epsilon


def test_rates_are_short_decimals() -> None:
    assert rounded_down(Fraction(10, 3)) == Fraction("3.333333")
    assert rounded_down(Fraction(1, 3 * 10**9)) == Fraction("3.333333e-10")
    assert rounded_down(Fraction(2 * 10**12, 3)) == Fraction(666666600000)
    assert rounded_down(Fraction(5)) == 5


# --- what is kept ---------------------------------------------------------------------------------


def _ask() -> CertifiedRate:
    return certified_rate(runs(_ring(8), 12), epsilon=Fraction(5), adjacency=1)


def _refuse(*_: object) -> None:
    raise AssertionError("it was computed again")


def test_an_answer_is_kept_in_memory_and_on_disk(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = _ask()
    (file,) = own_cache.iterdir()
    assert file.suffix == ".json"
    monkeypatch.setattr(certify._QuickSearch, "run", _refuse)
    assert _ask() == answer
    forget()
    assert _ask() == answer
    with pytest.raises(AssertionError):
        certified_rate(runs(_ring(8), 12), epsilon=Fraction(4), adjacency=1)


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"not json",
        b"[]",
        b"{}",
        b'{"format": "another", "key": "x"}',
        b"[" * 100_000,
        b"\xff\xfe",
        b"{}" + b" " * 100_000,
    ],
    ids=lambda damage: f"{damage[:12]!r} of {len(damage)}",
)
def test_a_damaged_file_is_ignored(own_cache: Path, damage: bytes) -> None:
    answer = _ask()
    (file,) = own_cache.iterdir()
    file.write_bytes(damage)
    forget()
    assert _ask() == answer
    assert json.loads(file.read_text())["format"] == answers.FORMAT


@pytest.mark.parametrize(
    "change",
    [
        {"rate": "7"},
        {"rate": "1"},
        {"rate": "1/0"},
        {"rate": "high"},
        {"loss": "6"},
        {"loss": "-1"},
        {"how": "sure"},
        {"key": "0" * 64},
        {"format": "symveil-calibration-0"},
        {"rate": 3},
    ],
)
def test_an_impossible_answer_is_ignored(own_cache: Path, change: dict[str, object]) -> None:
    answer = _ask()
    (file,) = own_cache.iterdir()
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    forget()
    assert _ask() == answer


def test_an_empty_variable_turns_keeping_off(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMVEIL_CACHE", "")
    _ask()
    assert not own_cache.exists()
    assert caches.cache_folder() is None


def test_where_answers_are_kept_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """The folders that each system names for caches: the XDG specification, Apple's and Microsoft's guidelines."""
    for name in ("SYMVEIL_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    home = Path("/home/somebody")
    monkeypatch.setattr(Path, "home", lambda: home)
    found = {}
    for system in ("linux", "darwin", "win32"):
        monkeypatch.setattr(sys, "platform", system)
        found[system] = caches.cache_folder()
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    local = caches.cache_folder()
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert found == {
        "linux": home / ".cache" / "symveil",
        "darwin": home / "Library" / "Caches" / "symveil",
        "win32": home / "AppData" / "Local" / "symveil" / "Cache",
    }
    assert (caches.cache_folder(), local) == (Path("/xdg/symveil"), Path("/local/symveil/Cache"))


def test_somebody_without_a_home_keeps_nothing(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("SYMVEIL_CACHE")
    monkeypatch.setattr(Path, "home", homeless)
    assert caches.cache_folder() is None
    assert _ask().rate > 0
    assert not own_cache.exists()


def test_a_folder_that_cannot_be_written_is_no_error(own_cache: Path) -> None:
    own_cache.write_text("a file, not a folder")
    assert _ask().rate > 0


def test_the_name_of_a_file_depends_on_everything_that_matters() -> None:
    language = runs(_ring(), 12)
    others = [runs(_ring(), 13), runs(_ring(11), 12), runs(_ring(), 12, public_start=True)]
    digests = {answers.language_digest(each, with_prior=False) for each in (language, *others)}
    digests.add(answers.language_digest(language, with_prior=True))
    assert len(digests) == 5
    assert answers.language_digest(runs(_ring(), 12), with_prior=False) in digests


def test_progress_is_told() -> None:
    told: list[tuple[int, int | None, str]] = []

    def tell(done: int, total: int | None, what: str) -> None:
        told.append((done, total, what))

    certified_rate(runs(_ring(), 12), epsilon=Fraction(5), adjacency=1, progress=tell)
    assert told
    assert all(what.startswith("calibrating") for _, _, what in told)
    assert all(total is not None and 0 <= done <= total for done, total, _ in told)
    assert told[0][0] == 0  # before the first rate, which may take long
