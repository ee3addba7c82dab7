"""Files released by the optimal mechanism: the manifest has the law, and nothing is solved to check it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import symveil as sv
from symveil.errors import InputError, TooLargeError
from symveil.mechanisms.optimal_programme import Programme
from symveil.tasks.budgets import grant_budget, ledger_status
from symveil.tasks.check import check_manifest
from symveil.tasks.explain import average_over_model, explain_word
from symveil.tasks.release_report import FileRelease

ROADS = [("a", "a", "1/2"), ("a", "b", "1/4"), ("a", "c", "1/4"), ("b", "a", "1/2"), ("b", "c", "1/2"), ("c", "a", 1)]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    model = tmp_path / "roads.json"
    sv.save_model(sv.MarkovChain.from_transitions(ROADS), model)
    trips = tmp_path / "trips.csv"
    trips.write_text("id,trip\n" + "".join(f"{i},{' '.join('abcaa'[: 1 + i % 3])}\n" for i in range(60)), "utf-8")
    return trips, model


def released(files: tuple[Path, Path], **more: object) -> FileRelease:
    trips, model = files
    out = trips.with_name("private.csv")
    return sv.privatize_file(
        trips, out, **{"model": model, "epsilon": 2, "adjacency": 1, "thin": True, "mechanism": "optimal", **more}
    )


def unsolved(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("solved again")

    monkeypatch.setattr(Programme, "proposal", refuse)


@pytest.mark.parametrize("more", [{}, {"prior": "chain", "public_start": True, "adjacency": 2}])
def test_the_manifest_has_the_law_and_is_checked_without_solving(files, more, monkeypatch) -> None:
    release = released(files, **more)
    rows = release.manifest["law"]
    assert [row["lengths"] for row in rows] == [[1, 1], [2, 2], [3, 3]]
    assert release.manifest["how"] == "exact"
    unsolved(monkeypatch)
    checked = check_manifest(release.manifest_file)
    assert checked.holds, checked


def test_costs_travel_with_the_law(files, monkeypatch) -> None:
    costs = sv.CostTable.from_rows([("a", "b", "1.5"), ("b", "c", 1), ("a", "c", 2)])
    release = released(files, costs=costs)
    assert release.manifest["law"][0]["cost"] == "given"
    unsolved(monkeypatch)
    assert check_manifest(release.manifest_file).holds


@pytest.mark.parametrize(
    ("key", "value"),
    [("peaks", "0 0 1.0"), ("peaks", "?"), ("adjacent_ratio", 1e9), ("digest", "0" * 64), ("bits", 10**7)],
)
def test_another_law_is_noticed(files, key, value) -> None:
    release = released(files)
    document = json.loads(release.manifest_file.read_text("utf-8"))
    document["law"][2][key] = value
    release.manifest_file.write_text(json.dumps(document), "utf-8")
    checked = check_manifest(release.manifest_file)
    assert not checked.holds
    assert {each.name for each in checked.checks if not each.holds} <= {"parameters", "guarantee"}


def test_a_law_that_loses_more_is_not_believed(files) -> None:
    """The guarantee is proved from the table, whatever the manifest says of it."""
    generous = released(files, epsilon=4).manifest["law"]
    release = released(files)
    release.manifest_file.write_text(json.dumps({**release.manifest, "law": generous}), "utf-8")
    failed = [each for each in check_manifest(release.manifest_file).checks if not each.holds]
    assert [each.name for each in failed] == ["guarantee"]
    assert failed[0].note == "law: expected a loss of at most epsilon, found a larger one"


def test_auto_writes_the_flat_law_down_and_estimates_undo_it(files, monkeypatch) -> None:
    trips, model = files
    trips.write_text("id,trip\n" + "".join(f"{i},{' '.join('abcaaab'[: 4 + i % 3])}\n" for i in range(60)), "utf-8")
    release = released(files, mechanism="auto", adjacency=1, epsilon=2)
    rows = [row for row in release.manifest["law"] if row["mechanism"] == "optimal"]
    assert rows and all(row["beyond"] == "graceful" for row in rows)
    unsolved(monkeypatch)
    assert check_manifest(release.manifest_file).holds
    answer = sv.estimate(release.out, statistic="visits", model=model, manifest=release.manifest_file)
    assert sum(answer.table.column("estimate").to_pylist()) == pytest.approx(60 * 5, rel=0.2)
    flat = sv.select_mechanism(sv.runs(sv.load_model(model), rows[0]["lengths"][0]), epsilon=2, adjacency=1)
    words = flat.inputs(at_most=400)[0]
    table = np.exp([flat.log_probabilities(word, words) for word in words])
    assert np.linalg.eigvals(table).real.min() > 0  # what is released again comes closer to the truth
    document = json.loads(release.manifest_file.read_text("utf-8"))
    for row in document["law"]:
        row["beyond"] = "nothing"
    release.manifest_file.write_text(json.dumps(document), "utf-8")
    with pytest.raises(InputError, match="expected a mechanism that can be undone on a model"):
        sv.estimate(release.out, statistic="visits", model=model, manifest=release.manifest_file)


def test_everybody_is_charged_once(files, tmp_path) -> None:
    ledger = tmp_path / "l.db"
    grant_budget(ledger, 2, everyone=True)
    options = {"ledger": ledger, "identifier": "id", "release_id": "r"}
    first = released(files, **options)
    assert first.manifest["charged"] == "2"
    assert released(files, **options).already_done
    assert ledger_status(ledger).releases == 1
    assert check_manifest(first.manifest_file).holds


def test_a_law_that_another_solver_finds_does_not_finish_a_release(files, tmp_path, monkeypatch) -> None:
    """A run that was killed goes on only if its words would be the same."""
    from symveil.release import protocol

    ledger = tmp_path / "l.db"
    grant_budget(ledger, 2, everyone=True)
    options = {"ledger": ledger, "identifier": "id", "release_id": "r"}
    with monkeypatch.context() as killed:
        killed.setattr(protocol, "record_digest", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            released(files, **options)
    solve = Programme.proposal
    with monkeypatch.context() as other:
        other.setattr(Programme, "proposal", lambda self, ratio: solve(self, 1 + (ratio - 1) * 0.9))
        with pytest.raises(sv.SymveilError, match="found other rates of the mechanism"):
            released(files, **options)
    assert released(files, **options).manifest["counts"]["released"] == 60


def test_nobody_is_charged_for_a_language_that_is_too_large(files, tmp_path) -> None:
    trips, _ = files
    trips.write_text("id,trip\n1,a b\n2," + " ".join("a" * 12) + "\n", "utf-8")
    ledger = tmp_path / "l.db"
    grant_budget(ledger, 2, everyone=True)
    for more in ({"ledger": ledger, "identifier": "id"}, {}):
        with pytest.raises(TooLargeError, match="at most 400 words, found [0-9]+ in runs"):
            released(files, **more)
    assert ledger_status(ledger).releases == 0
    assert not trips.with_name("private.csv").exists()


def test_estimates_are_refused_on_a_model_and_right_on_all_words(files, monkeypatch) -> None:
    release = released(files)
    for statistic in ("visits", "ngrams:2", "presence"):
        with pytest.raises(
            InputError, match="^estimate: expected a mechanism that can be undone .*, found optimal"
        ) as caught:
            sv.estimate(release.out, statistic)
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="found optimal"):
        sv.estimate_statistic(release.out, lambda words: [len(words)])
    assert sv.estimate(release.out, "lengths").row(0)["estimate"] == 20

    trips, _ = files
    trips.write_text("id,trip\n" + "".join(f"{i},a b a\n" for i in range(600)), "utf-8")
    release = sv.privatize_file(
        trips, trips.with_name("free.csv"), alphabet="abc", epsilon=4, adjacency=2, mechanism="optimal"
    )
    unsolved(monkeypatch)
    answer = sv.estimate(release.out, "ngrams:2")
    assert answer.method == "exact-unbiased"
    assert answer.row(0)["low_all"] < 600 < answer.row(0)["high_all"]


def test_explain_shows_error_bound_and_cost(files) -> None:
    language = sv.runs(sv.load_model(files[1]), 6)
    mechanism = sv.Optimal(language, epsilon=4, adjacency=1)
    told = average_over_model(mechanism)
    assert language.size > 64  # all words are looked at, not a sample
    assert (told.standard_error, told.expected_error) == (0, pytest.approx(mechanism.expected_error, rel=1e-12))
    assert told.bound is not None
    assert told.bound.value <= told.expected_error
    assert told.document()["parameters"] == {"prior": "uniform", "digest": mechanism.digest}

    costs = sv.CostTable.from_rows([("a", "b", "1.5"), ("b", "c", 1), ("a", "c", 2)])
    explained = explain_word(
        "abc", sv.Optimal(sv.runs(language.model, 3), epsilon=2, adjacency=1, costs=costs)
    ).document()
    assert explained["guarantee"]["how"] == "exact"
    assert explained["expected_cost"] > explained["expected_error"]
    assert sum(row["probability"] for row in explained["distances"]) == pytest.approx(1)
