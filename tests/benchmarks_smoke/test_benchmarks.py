"""The benchmarks measure what they say: the J19 baseline is right, bars judge both ways, and a run writes JSON."""

from __future__ import annotations

import itertools
import json
import math
import platform
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks import enumeration, exactness, jones2019_plain
from benchmarks.__main__ import discover, main
from benchmarks.conference import ALPHABET, WORD, language
from benchmarks.measure import Task, best_times, find_peer, fitted_exponent, repeated
from benchmarks.row import Row, duration

import symveil as sv

ROOT = Path(__file__).resolve().parents[2]
SUBJECTS = {"enumeration", "exactness", "files", "growth", "jones2019", "levenshtein", "sampling", "startup", "studio"}


def run_quick(out: Path, *names: str) -> dict[str, object]:
    only = [argument for name in names for argument in ("--only", name)]
    assert main(["--quick", *only, "--out", str(out)]) == 0
    return json.loads((out / "benchmarks.json").read_text(encoding="utf-8"))


class TestJones2019Plain:
    """The baseline has to be the paper's mechanism, or a ratio to it means nothing."""

    def test_the_automaton_has_the_size_that_the_paper_reports(self) -> None:
        automaton = jones2019_plain.make_levenshtein(ALPHABET, WORD, len(WORD))
        assert (len(WORD), len(ALPHABET)) == (32, 16)
        assert (len(automaton.states), automaton.edge_count) == (561, 1056)

    def test_figure_2(self) -> None:
        automaton = jones2019_plain.make_levenshtein("abc", "abc", 3)
        policy = jones2019_plain.synthesize_policy(jones2019_plain.restrict(automaton, 2), 2)
        assert policy.paths[0, 0] == 12
        assert policy.chance[0, 0] == pytest.approx({"a": 4 / 12, "b": 4 / 12, "c": 4 / 12})
        assert policy.chance[1, 0] == pytest.approx({"a": 1 / 2, "c": 1 / 2})

    @pytest.mark.parametrize("distance", range(5))
    def test_a_policy_is_uniform_on_the_words_at_its_distance(self, distance: int) -> None:
        alphabet, word = "abc", "abca"
        automaton = jones2019_plain.make_levenshtein(alphabet, word, len(word))
        policy = jones2019_plain.synthesize_policy(jones2019_plain.restrict(automaton, distance), distance)
        there = 0
        for symbols in itertools.product(alphabet, repeat=len(word)):
            state, chance = (0, 0), 1.0
            for symbol in symbols:
                chance *= policy.chance.get(state, {}).get(symbol, 0.0)
                state = policy.successor.get(state, {}).get(symbol, state)
            if sum(a != b for a, b in zip(symbols, word, strict=True)) == distance:
                there += 1
                assert chance == pytest.approx(1 / policy.paths[0, 0])
            else:
                assert chance == 0
        assert there == policy.paths[0, 0] == sv.words(alphabet, len(word)).count(distance)

    def test_its_law_of_the_distance_is_our_classic_inverse_utility(self) -> None:
        weights = np.array(jones2019_plain.distance_weights(ALPHABET, WORD, epsilon=10))
        ours = sv.Exponential(language(), epsilon=10, calibration="classic", utility="inverse").distances()
        assert weights / weights.sum() == pytest.approx(ours.probabilities, rel=1e-12)

    @pytest.mark.parametrize("kept", [False, True])
    def test_its_releases_follow_that_law(self, kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        alphabet, word, epsilon, draws = "abc", "abc", 6.0, 4000
        monkeypatch.setattr(jones2019_plain, "random", random.Random(20190710))
        policies = jones2019_plain.KeptPolicies(alphabet, word, epsilon=epsilon)
        released = Counter(
            policies.release() if kept else jones2019_plain.release(alphabet, word, epsilon=epsilon)
            for _ in range(draws)
        )
        mechanism = sv.Exponential(sv.words(alphabet, 3), epsilon=6, calibration="classic", utility="inverse")
        statistic = 0.0
        for symbols in itertools.product(alphabet, repeat=3):
            expected = draws * mechanism.probability(word, "".join(symbols))
            statistic += (released["".join(symbols)] - expected) ** 2 / expected
        # χ² with 26 degrees of freedom lies in this range with probability 0.9999
        assert 6.7 < statistic < 63.9


class TestPlainFloats:
    """The inexact draws have our laws too, up to rounding."""

    @pytest.mark.parametrize("epsilon", [1, 5])
    def test_mean_distance(self, epsilon: int) -> None:
        words = sv.words("abcd", 8)
        codes = np.zeros((20_000, 8), dtype=np.int32)
        generator = np.random.default_rng(7)
        flip = sv.PermuteAndFlip(words, epsilon=epsilon).distances()
        exponential = sv.Exponential(words, epsilon=epsilon).distances()
        for law, released in (
            (exponential, exactness.plain_exponential(codes, 4, epsilon, generator)),
            (flip, exactness.plain_at_distance(codes, 4, flip.probabilities, generator)),
        ):
            spread = math.sqrt(law.probabilities @ (law.distances - law.expected_error) ** 2 / len(codes))
            mean = np.count_nonzero(released, axis=1).mean()
            assert abs(mean - law.expected_error) < 4.5 * spread


class TestRow:
    """A bar passes and fails on the right sides."""

    cost = Row(name="a", ours=2.0, peer="b", peer_time=1.0, quantity="cost", limit=2.0)

    @pytest.mark.parametrize(
        ("change", "ratio", "passed"),
        [
            ({}, 2.0, True),
            ({"ours": 2.1}, 2.1, False),
            ({"limit": None}, 2.0, None),
            ({"ours": None}, None, None),
            ({"quantity": "speed-up"}, 0.5, False),
            ({"quantity": "speed-up", "peer_time": 4.0}, 2.0, True),
            ({"quantity": "seconds"}, 2.0, False),
            ({"quantity": "seconds", "ours": 1.9}, 1.9, True),
            ({"quantity": "exponent", "exponent": 2.1}, 2.0, False),
            ({"quantity": "exponent", "exponent": 1.9}, 2.0, True),
        ],
    )
    def test_judgement(self, change: dict[str, object], ratio: float | None, passed: bool | None) -> None:
        row = replace(self.cost, **change)
        assert (row.ratio, row.passed) == (ratio, passed)
        assert row.document()["passed"] is passed

    def test_durations(self) -> None:
        assert [duration(value) for value in (2.0, 0.0312, 4.5e-5, 3.21e-7, None)] == [
            "2 s",
            "31.2 ms",
            "45 µs",
            "321 ns",
            "—",
        ]


class TestMeasure:
    """Times are per unit, and an exponent is the slope that was put in."""

    def test_best_time_per_unit(self) -> None:
        times = best_times({"one": Task(lambda: time.sleep(0.01)), "ten": repeated(lambda: None, 10)}, rounds=3)
        assert 0.009 < times["one"] < 0.1
        assert times["ten"] < 0.001

    def test_every_task_runs_once_a_round_after_one_uncounted_round(self) -> None:
        calls: Counter[str] = Counter()
        best_times({name: Task(lambda name=name: calls.update([name])) for name in "ab"}, rounds=4)
        assert calls == {"a": 5, "b": 5}

    @pytest.mark.parametrize("exponent", [0.0, 1.0, 1.5, 2.0])
    def test_exponent(self, exponent: float) -> None:
        sizes = [32, 64, 1024, 4096]
        assert fitted_exponent(sizes, [3e-9 * n**exponent for n in sizes]) == pytest.approx(exponent)

    def test_a_missing_peer_is_named_as_missing_and_a_broken_one_as_broken(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "broken_peer.py").write_text("from math import nothing_of_that_name\n", encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        assert find_peer("no_such_peer.at_all").reason == "peer not installed"
        assert find_peer("broken_peer").reason.startswith("peer cannot be imported: cannot import name")


class TestRuns:
    """A quick run works from the root, with the peers or without them."""

    def test_every_subject_is_found(self) -> None:
        assert set(discover()) >= SUBJECTS

    def test_command_line(self, tmp_path: Path) -> None:
        command = [sys.executable, "-m", "benchmarks", "--quick", "--only", "sampling", "--out", str(tmp_path)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=True)
        assert "PermuteAndFlip, ε = 10" in done.stdout
        document = json.loads((tmp_path / "benchmarks.json").read_text(encoding="utf-8"))
        assert document["quick"] is True
        assert {"cores", "python", "versions", "date"} <= set(document["machine"])
        assert document["machine"]["versions"]["numpy"] == np.__version__
        assert platform.node() not in document["machine"].values()
        judged = {row["name"]: row["bar"]["limit"] for row in document["rows"] if row["bar"]}
        assert judged == {
            "Exponential, ε = 1": 4,
            "PermuteAndFlip, ε = 1": 12,
            "Exponential, ε = 10": 4,
            "PermuteAndFlip, ε = 10": 12,
        }
        for row in document["rows"]:
            assert row["subject"] == "sampling"
            assert row["ratio"] == pytest.approx(row["ours"] / row["peer_time"])
            assert (row["passed"] is None) == (row["bar"] is None)

    def test_without_the_peers(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in ("diffprivlib", "diffprivlib.mechanisms", "opendp", "opendp.prelude"):
            monkeypatch.setitem(sys.modules, module, None)
        rows = run_quick(tmp_path, "enumeration")["rows"]
        assert len(rows) == 4
        assert {row["note"] for row in rows} == {"peer not installed"}
        assert {row["passed"] for row in rows} == {None}

    @pytest.mark.parametrize("subject", ["exactness", "jones2019"])
    def test_other_subjects(self, tmp_path: Path, subject: str) -> None:
        rows = run_quick(tmp_path, subject)["rows"]
        assert rows
        assert all(row["ours"] > 0 and row["peer_time"] > 0 for row in rows)

    def test_a_command_that_does_not_start_is_not_available(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("benchmarks.startup._symveil", lambda: [sys.executable, "-c", "raise SystemExit(3)"])
        rows = run_quick(tmp_path, "startup")["rows"]
        assert {row["note"] for row in rows} == {"not available: exit status 3"}
        assert {row["passed"] for row in rows} == {None}

    def test_an_unknown_subject_is_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit, match="2"):
            main(["--only", "nothing"])
        assert "invalid choice" in capsys.readouterr().err

    def test_the_peers_get_the_scores_of_every_word(self) -> None:
        scores = enumeration.utilities()
        assert len(scores) == 10**5
        words = sv.words("0123456789", 5)
        assert Counter(scores) == {-distance: words.count(distance) for distance in range(6)}
