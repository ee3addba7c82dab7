"""The benchmarks measure what they say: bars judge both ways, growth is fitted, and a run writes JSON and the page."""

from __future__ import annotations

import json
import math
import platform
import random
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks import enumeration, page
from benchmarks.__main__ import discover, main, run
from benchmarks.fit import Growth, fitted_exponent
from benchmarks.measure import Effort, Task, best_times, find_peer, in_a_new_process, repeated
from benchmarks.report import together
from benchmarks.row import Row, duration

import symveil as sv

ROOT = Path(__file__).resolve().parents[2]
SUBJECTS = {
    *(
        "benvenuti2026",
        "bisimulation",
        "central",
        "compare",
        "distances",
        "enumeration",
        "exactness",
        "files",
        "growth_sequences",
    ),
    *("growth_states", "growth_words", "jones2019", "levenshtein", "models", "opacity", "sampling", "shanghai"),
    *("startup", "studio", "zhao2025"),
}


def run_quick(out: Path, *names: str) -> dict[str, object]:
    only = [argument for name in names for argument in ("--only", name)]
    assert main(["--quick", *only, "--out", str(out)]) == 0
    return json.loads((out / "benchmarks.json").read_text(encoding="utf-8"))


def growing(exponent: float) -> Growth:
    sizes = (10, 20, 40)
    return Growth(picture="length", sizes=sizes, seconds=tuple(n**exponent for n in sizes), expected=exponent)


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
            ({"quantity": "exponent", "growth": growing(2.1)}, 2.0, False),
            ({"quantity": "exponent", "growth": growing(1.9)}, 2.0, True),
            ({"quantity": "megabytes"}, 2.0, True),
            ({"quantity": "megabytes", "ours": 2.1}, 2.1, False),
            ({"error": "ValueError: no"}, 2.0, False),
            ({"error": "ValueError: no", "limit": None}, 2.0, False),
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
        tasks = {"one": Task(lambda: time.sleep(0.01)), "ten": repeated(lambda: time.sleep(0.001), 10)}
        times = best_times(tasks, rounds=3, clock=time.perf_counter)
        assert 0.0009 < times["ten"] < times["one"]
        assert times["one"] > 0.009

    def test_work_of_threads_and_child_processes_is_counted_and_waiting_is_not(self) -> None:
        work = "import time\nbegin = time.thread_time()\nwhile time.thread_time() < begin + 0.04:\n    pass"

        def in_threads() -> None:
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(exec, [work, work]))

        tasks = {
            "waiting": Task(lambda: time.sleep(0.03)),
            "threads": Task(in_threads),
            "child": Task(lambda: subprocess.run([sys.executable, "-c", work], check=True)),
        }
        times = best_times(tasks, rounds=2)
        assert times["waiting"] < 0.02
        assert times["threads"] >= 0.08
        assert times["child"] >= 0.04

    def test_every_task_runs_once_a_round_after_one_uncounted_round(self) -> None:
        calls: Counter[str] = Counter()
        best_times({name: Task(lambda name=name: calls.update([name])) for name in "ab"}, rounds=4)
        assert calls == {"a": 5, "b": 5}

    @pytest.mark.parametrize("exponent", [0.0, 1.0, 1.5, 2.0])
    def test_exponent(self, exponent: float) -> None:
        sizes = [32, 64, 1024, 4096]
        assert fitted_exponent(sizes, [3e-9 * n**exponent for n in sizes]).value == pytest.approx(exponent)

    def test_the_range_of_an_exponent_holds_the_truth_as_often_as_it_says(self) -> None:
        """95 %: of 1000 fits through noise, 950 ± 31 with probability 0.99999; half as wide a range would hold 70 %."""
        source = random.Random(1)
        sizes = [10, 30, 100, 300, 1000]
        fits = [fitted_exponent(sizes, [n * math.exp(source.gauss(0, 0.1)) for n in sizes]) for _ in range(1000)]
        assert 919 <= sum(fit.low <= 1 <= fit.high for fit in fits) <= 981

    def test_two_points_tell_nothing_about_the_range(self) -> None:
        assert fitted_exponent([1, 10], [1, 10]).high == math.inf
        assert Growth(picture="x", sizes=(1, 10), seconds=(1, 10), expected=1).document()["range"] is None

    def test_a_new_process_tells_its_own_memory(self) -> None:
        """Not ours: this one holds numpy and more."""
        small = in_a_new_process("import sys\nanswer = sys.argv[1]", "said")
        large = in_a_new_process("held = b'a' * 10**8\nanswer = 0")
        assert small.answer == "said" and small.megabytes < 60
        assert large.megabytes == pytest.approx(small.megabytes + 100, abs=15)

    def test_a_new_process_that_breaks_says_why(self) -> None:
        with pytest.raises(RuntimeError, match="exit status 1: ValueError: no such thing"):
            in_a_new_process("raise ValueError('no such thing')")

    def test_a_missing_peer_is_named_as_missing_and_a_broken_one_as_broken(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "broken_peer.py").write_text("from math import nothing_of_that_name\n", encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        assert find_peer("no_such_peer.at_all").reason == "peer not installed"
        assert find_peer("broken_peer").reason.startswith("peer cannot be imported: cannot import name")


def pretend(monkeypatch: pytest.MonkeyPatch, subjects: dict[str, list[object]]) -> None:
    """Other benchmarks than those of the folder."""
    monkeypatch.setattr("benchmarks.__main__.discover", lambda: list(subjects))
    monkeypatch.setattr("benchmarks.__main__.load", lambda subject: subjects[subject])


class TestRuns:
    """A quick run works from the root, with the peers or without them."""

    def test_every_subject_is_found(self) -> None:
        assert set(discover()) >= SUBJECTS
        assert set(discover()) <= set(page.TOLD)

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

    @pytest.mark.parametrize("subject", ["exactness", "growth_states", "jones2019", "benvenuti2026", "zhao2025"])
    def test_other_subjects(self, tmp_path: Path, subject: str) -> None:
        rows = run_quick(tmp_path, subject)["rows"]
        assert rows
        assert all(row["ours"] > 0 for row in rows)
        assert all(row["peer_time"] > 0 for row in rows if row["quantity"] not in ("seconds", "exponent"))

    def test_a_command_that_does_not_start_is_not_available(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("benchmarks.startup._symveil", lambda: [sys.executable, "-c", "raise SystemExit(3)"])
        rows = run_quick(tmp_path, "startup")["rows"]
        assert {row["note"] for row in rows} == {"not available: exit status 3"}
        assert {row["passed"] for row in rows} == {None}

    def test_without_storm(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "stormpy", None)
        rows = run_quick(tmp_path, "bisimulation")["rows"]
        assert [(row["note"], row["shown"]["peer"]) for row in rows] == [("peer not installed", "—")] * 2

    def test_growth_of_files(self, tmp_path: Path) -> None:
        (plain, charged) = run_quick(tmp_path, "growth_sequences")["rows"]
        for row in (plain, charged):
            growth = row["growth"]
            assert growth["sizes"] == growth["peer_sizes"] == [1000, 3000, 10000]
            assert (
                row["exponent"] == growth["exponent"] and growth["range"][0] < growth["exponent"] < growth["range"][1]
            )

    def test_one_that_breaks_loses_only_itself(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def breaks(_effort):
            yield TestRow.cost
            raise ValueError("no more\nof this")

        def works(_effort):
            yield replace(TestRow.cost, name="after")

        pretend(monkeypatch, {"one": [breaks, works], "two": [works]})
        assert main(["--quick", "--out", str(tmp_path)]) == 1
        said = capsys.readouterr()
        assert "1 of the benchmarks broke: breaks" in said.out and "ValueError: no more" in said.out
        assert "[2/2] two" in said.err and "Traceback" in said.err
        rows = json.loads((tmp_path / "benchmarks.json").read_text(encoding="utf-8"))["rows"]
        assert [(row["subject"], row["name"], row["shown"]["ok"]) for row in rows] == [
            ("one", "a", "pass"),
            ("one", "breaks", "broken"),
            ("one", "after", "pass"),
            ("two", "after", "pass"),
        ]

    def test_a_missed_bar_is_an_exit_status_unless_the_run_was_quick(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pretend(monkeypatch, {"one": [lambda _effort: [replace(TestRow.cost, ours=3.0)]]})
        assert main(["--quick", "--out", str(tmp_path)]) == 0
        assert main(["--out", str(tmp_path)]) == 1

    def test_one_that_cannot_be_imported_breaks_alone(self) -> None:
        (broken,) = run(["no_such_subject"], Effort(quick=True))["rows"]
        assert broken["error"] == "ModuleNotFoundError: No module named 'benchmarks.no_such_subject'"

    def test_an_interrupt_keeps_what_is_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupted(_effort):
            yield TestRow.cost
            raise KeyboardInterrupt

        pretend(monkeypatch, {"one": [interrupted], "two": [interrupted]})
        document = run(["one", "two"], Effort(quick=True))
        assert [(row["name"], row["error"]) for row in document["rows"]] == [
            ("a", ""),
            ("the whole run", "interrupted"),
        ]

    def test_an_unknown_subject_is_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit, match="2"):
            main(["--only", "nothing"])
        assert "invalid choice" in capsys.readouterr().err

    def test_the_peers_get_the_scores_of_every_word(self) -> None:
        scores = enumeration.utilities()
        assert len(scores) == 10**5
        words = sv.words("0123456789", 5)
        assert Counter(scores) == {-distance: words.count(distance) for distance in range(6)}


class TestPage:
    """docs/benchmarks.md: results between the marks, what people wrote around them stays."""

    def written(self, tmp_path: Path, rows: list[Row], monkeypatch: pytest.MonkeyPatch) -> str:
        pretend(monkeypatch, {"sampling": [lambda _effort: rows]})
        monkeypatch.setitem(page.SHOWN, "sampling", ("a*", "line*"))
        (tmp_path / "pictures").mkdir()
        file = tmp_path / "benchmarks.md"
        file.write_text(f"# Title\n\n{page.BEGIN}\nyesterday\n{page.END}\n\n## What we tried\n", encoding="utf-8")
        document = run(["sampling"], Effort())
        page.write_page(document, tmp_path)
        return file.read_text(encoding="utf-8")

    def test_results_replace_results(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        rows = [
            replace(TestRow.cost, name="a|b", note="n_1 * n_2"),
            replace(TestRow.cost, name="slow", ours=9.0),
            replace(TestRow.cost, name="quick", ours=0.5),
            replace(TestRow.cost, name="absent", ours=None, note="peer not installed"),
            replace(TestRow.cost, name="line: n = 10 … 40", quantity="exponent", growth=growing(1.0)),
        ]
        text = self.written(tmp_path, rows, monkeypatch)
        assert text.startswith("# Title\n") and text.endswith("## What we tried\n") and "yesterday" not in text
        assert (
            "**3 of 4 bars of this run passed** in 5 rows" in text
            and "Missed: slow." in text
            and "Not measured here: absent." in text
        )
        assert r"(3 of 4)<br>a\|b<br><small>against b</small> | 2 s | 1 s | 2× | ≤ 2× | pass |" in text
        assert "| slow<br>" in text and "| quick<br>" not in text  # of the others what misses its bar is shown
        assert "Python " + platform.python_version() in text and platform.node() not in text
        picture = (tmp_path / "pictures" / "benchmark_length.svg").read_text(encoding="utf-8")
        assert ">line<" in picture and "](pictures/benchmark_length.svg)" in text

    @pytest.mark.parametrize(("load", "told"), [(0.4, False), (30.0, True), (None, False)])
    def test_a_busy_machine_is_told(self, load: float | None, told: bool) -> None:
        document = run([], Effort())
        document["machine"] |= {"load_before": load, "cores": 2}
        text = "\n".join(page.results_in_markdown(document, []))
        assert ("not quiet" in text) == told

    def test_a_page_without_marks_is_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / "benchmarks.md").write_text("# Mine\n", encoding="utf-8")
        with pytest.raises(ValueError, match="expected the line"):
            page.write_page(run([], Effort()), tmp_path)
        assert (tmp_path / "benchmarks.md").read_text(encoding="utf-8") == "# Mine\n"

    @pytest.mark.parametrize("other", [["--quick"], ["--only", "sampling"]])
    def test_only_a_whole_run_is_written(self, other: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit, match="2"):
            main(["--write-docs", *other])
        assert "expected a whole run" in capsys.readouterr().err

    @pytest.mark.parametrize("content", ["", "{}", '{"format": "other"}'])
    def test_an_earlier_run_has_to_be_one(
        self, content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "old.json").write_text(content, encoding="utf-8")
        with pytest.raises(SystemExit, match="2"):
            main(["--from", str(tmp_path / "old.json")])
        assert (
            capsys.readouterr()
            .err.splitlines()[-1]
            .startswith("python -m benchmarks: error: --from old.json: expected")
        )

    def test_an_earlier_run_is_shown(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        run_quick(tmp_path, "sampling")
        first = capsys.readouterr().out
        assert main(["--from", str(tmp_path / "benchmarks.json")]) == 0
        assert capsys.readouterr().out == first

    def test_runs_of_different_subjects_are_shown_together(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pretend(monkeypatch, {"one": [lambda _effort: [TestRow.cost]], "two": [lambda _effort: [TestRow.cost]]})
        first, second = run(["two"], Effort()), run(["one", "two"], Effort())
        second["machine"]["load_before"] = 1e6
        second["remark"] = "Half of it at night."
        second["rows"][1]["name"] = "newer"
        both = together([first, second])
        assert [(row["subject"], row["name"]) for row in both["rows"]] == [("one", "a"), ("two", "newer")]
        told = "\n".join(page.results_in_markdown(both, []))
        assert "bars of these 2 runs passed" in told and "Half of it at night." in told
        assert both["machine"]["load_before"] == 1e6 and set(both["seconds"]) == {"one", "two"}

    def test_the_page_in_the_repository_has_its_marks_and_its_pictures(self) -> None:
        text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
        assert text.count(page.BEGIN) == text.count(page.END) == 1
        assert all((ROOT / "docs" / "pictures" / f"benchmark_{name}.svg").exists() for name in page.PICTURES)
