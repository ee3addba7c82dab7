"""The policy private by the protocol of a release: charged once, a manifest, and a check that believes nothing."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import symveil as sv
from cli.running import symveil
from symveil.errors import LedgerError, OverBudgetError, ParameterError, WordError
from symveil.examples.paper_systems import example_4
from symveil.formats.models.model_json import model_text
from symveil.formats.sequences.columns import ColumnOptions
from symveil.randomness import NotPrivateSeededBits
from symveil.tasks.budgets import grant_budget, person_status
from symveil.tasks.check import check_manifest
from symveil.tasks.enforce_options import release_log
from symveil.tasks.parameters import RunOptions

LOG = "run,who,seen\n1,ann,b a b\n2,bob,a a b\n3,ann,a c c\n4,cid,b\n"
UNSAFE = ("a", "a", "b")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("system.json").write_text(model_text(example_4()))
    Path("log.csv").write_text(LOG)
    return tmp_path


def released(out: str = "out.csv", *, epsilon: int | str = 2, k: int = 1, log: str = "log.csv", **run: object):
    return release_log(
        sv.enforce_opacity(example_4(), k, epsilon=epsilon),
        Path(log),
        Path(out),
        columns=ColumnOptions(identifier="run", sequence="seen", person="who"),
        run=RunOptions(**run),
        system_file=Path("system.json"),
    )


def failed(manifest: Path = Path("out.csv.manifest.json"), **where: str) -> set[str]:
    return {check.name for check in check_manifest(manifest, **where).checks if not check.holds}


def spent(person: str) -> float:
    return float(person_status("budgets.db", person).spent)


def changed(**entries: object) -> Path:
    document = json.loads(Path("out.csv.manifest.json").read_text())
    for path, value in entries.items():
        part = document
        *parents, last = path.split("__")
        for key in parents:
            part = part[key]
        assert part[last] != value
        part[last] = value
    place = Path("changed.manifest.json")
    place.write_text(json.dumps(document))
    return place


def test_a_log_is_released_once_and_everybody_charged_once(folder):
    grant_budget("budgets.db", 5, everyone=True)
    first = released(ledger="budgets.db", release_id="may")
    assert first.manifest["mechanism"] == first.manifest["parameters"]["mechanism"] == "private"
    assert (first.manifest["charged"], first.manifest["counts"]["released"]) == ("2", 4)
    assert [spent(each) for each in ("ann", "bob", "cid")] == [4, 2, 2]
    words = Path("out.csv").read_text()
    again = released(ledger="budgets.db", release_id="may")
    assert again.already_done
    assert Path("out.csv").read_text() == words
    assert spent("ann") == 4
    assert failed() == set()
    # nothing that gives the secret away, and every length as it was
    safe = sv.enforce_opacity(example_4(), 1, epsilon=2).mechanism().released_language
    for before, after in zip(LOG.splitlines()[1:], words.splitlines()[1:], strict=True):
        shown = after.split(",")[-1].split()
        assert len(shown) == len(before.split(",")[-1].split())
        safe.encode(shown)


def test_another_policy_or_system_under_one_id_is_another_release(folder):
    grant_budget("budgets.db", 50, everyone=True)
    released(ledger="budgets.db", release_id="may")
    with pytest.raises(LedgerError, match="expected the same parameters as when it was made"):
        released(ledger="budgets.db", release_id="may", k=0)
    with pytest.raises(LedgerError, match="expected the same parameters as when it was made"):
        released(ledger="budgets.db", release_id="may", epsilon=3)


def test_who_has_too_little_budget_is_not_drawn(folder):
    grant_budget("budgets.db", 3, everyone=True)
    with pytest.raises(OverBudgetError):
        released(ledger="budgets.db")
    assert not Path("out.csv").exists()
    left = released(ledger="budgets.db", over_budget="drop")
    assert left.manifest["counts"]["dropped_over_budget"] == 2
    assert failed() == set()


def test_what_cannot_be_replaced_is_refused_before_anybody_is_charged(folder):
    grant_budget("budgets.db", 9, everyone=True)
    Path("bad.csv").write_text(LOG + "5,dan,b b b\n")
    with pytest.raises(WordError, match=r"bad\.csv: line 6|bad\.csv: row 5") as caught:
        released(log="bad.csv", ledger="budgets.db")
    assert "b b b" not in str(caught.value)
    assert spent("ann") == 0
    kept = released(log="bad.csv", ledger="budgets.db", on_unknown="drop-sequence")
    assert kept.manifest["counts"]["dropped_unknown"] == 1


@pytest.mark.parametrize(
    ("entries", "broken"),
    [
        ({"policy__k": "none"}, {"parameters"}),
        ({"policy__secret": ["1"]}, {"model"}),
        ({"policy__length": 2}, {"guarantee", "legality", "parameters"}),
        ({"policy__name": "safe"}, {"parameters"}),
        ({"epsilon_exact": "1"}, {"guarantee", "parameters"}),
        ({"b": 2}, {"guarantee", "parameters"}),
        ({"parameters__mechanism": "auto"}, {"parameters"}),
        ({"policy__system__digest": "0" * 64}, {"model"}),
        ({"eta": "3"}, {"guarantee"}),
    ],
)
def test_a_manifest_that_says_something_else_does_not_hold(folder, entries, broken):
    released()
    assert failed() == set()
    assert failed(changed(**entries), output="out.csv") & broken


def test_an_output_that_gives_the_secret_away_does_not_hold(folder):
    released()
    lines = Path("out.csv").read_text().splitlines()
    cells = lines[1].split(",")
    lines[1] = ",".join([*cells[:-1], " ".join(UNSAFE)])
    Path("out.csv").write_text("\n".join(lines) + "\n")
    digest = hashlib.sha256(Path("out.csv").read_bytes()).hexdigest()
    assert failed(changed(digests__output=digest), output="out.csv") == {"legality"}


def test_the_system_is_looked_for_beside_the_manifest(folder):
    released()
    Path("elsewhere").mkdir()
    Path("system.json").rename("elsewhere/system.json")
    assert failed() == {"model"}
    assert failed(model="elsewhere/system.json") == set()


def test_the_command_releases_and_checks(folder):
    ask = ("enforce", "system.json", "--k", "1", "--epsilon", "2")
    log = (*ask, "--log", "log.csv", "--id", "run", "--sequence", "seen")
    done = symveil(*log, "--person", "who", "--out", "out.csv", "--release-id", "may", "--json")
    assert done.status == 0
    assert done.document["policy"] == "private"
    assert done.document["release"]["release_id"] == "may"
    assert symveil("check", "out.csv.manifest.json").status == 0
    safe = ("enforce", "system.json", "--k", "1", "--policy", "safe", "--omega", "1", *log[6:])
    for wrong in ((*safe, "--out", "o.csv", "--release-id", "r"), (*ask, "--ledger", "l.db")):
        refused = symveil(*wrong)
        assert (refused.status, refused.err.count("\n")) == (2, 1)
        assert "expected --log with the policy private" in refused.err
    assert symveil(*log, "--out", "out.jsonl", "--release-id", "may").status == 2


def test_the_mechanism_of_all_lengths_is_that_of_each(folder):
    enforced = sv.enforce_opacity(example_4(), 1, epsilon=2)
    every = enforced.mechanism()
    for length in (1, 2, 3):
        own = enforced.mechanism(length)
        (inputs,), (outputs,) = own.inputs(at_most=1000), own.outputs(at_most=1000)
        np.testing.assert_array_equal(every.inputs(length, at_most=1000)[length], inputs)
        np.testing.assert_array_equal(every.outputs(length, at_most=1000)[length], outputs)
        for word in inputs:
            np.testing.assert_array_equal(every.log_probabilities(word, inputs), own.log_probabilities(word, inputs))
        flat, lengths = inputs.reshape(-1), np.full(len(inputs), length)
        drawn, sizes = every.release_flat(flat, lengths, bits=NotPrivateSeededBits(length))
        assert sizes.tolist() == lengths.tolist()
        assert {tuple(row) for row in drawn.reshape(-1, length)} <= {tuple(row) for row in outputs}
    assert sv.audit(every, length=3).private
    with pytest.raises(WordError):
        every.release(["b"] * 9)
    with pytest.raises(ParameterError, match="private, which is a mechanism"):
        sv.enforce_opacity(example_4(), 1, policy="safe", omega=1).mechanism()


def test_a_picture_that_cannot_be_drawn_is_refused_before_anybody_is_charged(folder):
    grant_budget("budgets.db", epsilon=10, everyone=True)
    asked = ("enforce", "system.json", "--k", "1", "--epsilon", "2", "--log", "log.csv", "--id", "run")
    asked += ("--sequence", "seen", "--person", "who", "--out", "out.csv", "--ledger", "budgets.db")
    done = symveil(*asked, "--draw", "log.csv/picture.svg")
    assert done.status == 2
    assert not Path("out.csv").exists()
    assert spent("ann") == 0


def test_a_release_that_was_done_before_says_so(folder):
    grant_budget("budgets.db", epsilon=10, everyone=True)
    asked = ("enforce", "system.json", "--k", "1", "--epsilon", "2", "--log", "log.csv", "--id", "run")
    asked += ("--sequence", "seen", "--person", "who", "--out", "out.csv", "--ledger", "budgets.db")
    assert "released: out.csv" in symveil(*asked, "--release-id", "one").err
    done = symveil(*asked, "--release-id", "one")
    assert done.status == 0, done.err
    assert "nothing was drawn or charged" in done.err
