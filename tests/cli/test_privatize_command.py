"""`symveil privatize`, `check` and `ledger` as a user runs them."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .running import symveil

KILLED = Path(__file__).parents[1] / "fixtures" / "ledger_0_2_0" / "ledger.sqlite"


@pytest.fixture
def trips(tmp_path):
    file = tmp_path / "trips.csv"
    file.write_text("trip_id,links\n" + "".join(f"{n},a b a b\n" for n in range(30)))
    return file


def test_privatize_and_check(trips, tmp_path):
    out = tmp_path / "private.csv"
    done = symveil("privatize", str(trips), "--out", str(out), "--alphabet", "abc", "--epsilon", "2", "--json")
    assert done.status == 0 and done.err == ""
    assert done.document["counts"]["released"] == 30
    assert "unsafe_true_error" not in done.document
    manifest = done.document["manifest"]
    checked = symveil("check", manifest, "--json")
    assert checked.status == 0 and checked.document["holds"] is True
    plain = symveil("check", manifest)
    assert plain.status == 0 and "legality" in plain.out
    out.write_text(out.read_text() + "99,a\n")
    assert symveil("check", manifest).status == 1


def test_the_table_and_its_notes(trips, tmp_path):
    done = symveil(
        "privatize", str(trips), "--out", str(tmp_path / "o.csv"), "--alphabet", "abc", "--epsilon", "2",
        "--unsafe-report-true-error",
    )  # fmt: skip
    assert done.status == 0 and "30 released of 30" in done.out and "NOT PRIVATE" in done.out


def test_a_mechanism_without_a_rate_and_a_release_that_tells_nothing(trips, tmp_path):
    done = symveil(
        "privatize", str(trips), "--out", str(tmp_path / "o.csv"), "--alphabet", "abc", "--epsilon", "1/4",
        "--metric", "levenshtein",
    )  # fmt: skip
    assert done.status == 0 and "edit, adjacency 1" in done.out and "None" not in done.out
    assert "every sequence becomes empty" in done.err


def test_a_ledger_from_beginning_to_end(trips, tmp_path):
    ledger = str(tmp_path / "l.db")
    common = ["privatize", str(trips), "--out", str(tmp_path / "o.csv"), "--alphabet", "abc", "--epsilon", "0.5"]
    symveil("ledger", "status", "--ledger", ledger).assert_one_error_line()
    assert symveil("ledger", "grant", "--ledger", ledger, "--epsilon", "0.5", "--everyone").status == 0
    granted = symveil("ledger", "grant", "--ledger", ledger, "--epsilon", "1", "--person", "7", "--json")
    assert granted.document == {"granted": "1", "persons": 1, "everyone": False}
    done = symveil(*common, "--ledger", ledger, "--release-id", "first", "--json")
    assert done.status == 0 and done.document["charged"] == "0.5"
    again = symveil(*common, "--ledger", ledger, "--release-id", "first", "--json")
    assert again.document["already_done"] is True and "no one was charged again" in again.err
    refused = symveil(*common, "--ledger", ledger, "--release-id", "second").assert_one_error_line()
    assert "29 persons with less" in refused
    dropped = symveil(*common, "--ledger", ledger, "--release-id", "second", "--over-budget", "drop", "--json")
    assert dropped.document["counts"]["dropped_over_budget"] == 29
    status = symveil("ledger", "status", "--ledger", ledger, "--person", "7", "--json").document
    amounts = {name: status[name] for name in ("person", "granted", "spent", "left")}
    assert amounts == {"person": "7", "granted": "1.5", "spent": "1", "left": "0.5"}
    assert [each["unit"] for each in status["units"]] == ["adjacency 1, hamming"] and status["note"] is None
    assert symveil("ledger", "status", "--ledger", ledger, "--json").document["persons"] == 30
    entries = symveil("ledger", "history", "--ledger", ledger, "--json").document["entries"]
    assert [entry["kind"] for entry in entries] == ["grant", "grant", "release", "release"]
    exported = symveil("ledger", "export", "--ledger", ledger, "--out", str(tmp_path / "b.csv"), "--json")
    assert exported.document["persons"] == 30
    assert (tmp_path / "b.csv").read_text().splitlines()[0] == "person,granted,spent,left,units,delta"
    assert (tmp_path / "b.csv").stat().st_mode & 0o077 == 0


def test_a_ledger_for_one_unit(trips, tmp_path):
    ledger = str(tmp_path / "l.db")
    grant = ["ledger", "grant", "--ledger", ledger, "--epsilon", "3", "--everyone"]
    named = symveil(*grant, "--adjacency", "2", "--json").document
    assert named["budgets_for"] == {"adjacency": 2, "metric": "hamming", "public_start": False}
    assert "Budgets of this ledger are for adjacency 2, hamming." in symveil(*grant, "--adjacency", "2").out
    common = ["privatize", str(trips), "--alphabet", "abc", "--epsilon", "0.5", "--ledger", ledger]
    line = symveil(*common, "--out", str(tmp_path / "o.csv")).assert_one_error_line()
    assert "expected charges in adjacency 2, hamming" in line and "found adjacency 1, hamming" in line
    assert not (tmp_path / "o.csv").exists()
    for number, b in enumerate(("2", "all")):
        assert symveil(*common, "--out", str(tmp_path / f"{number}.csv"), "--adjacency", b).status == 0
    status = symveil("ledger", "status", "--ledger", ledger)
    assert "budgets are for" in status.out and "1 release: adjacency all, hamming" in status.out
    assert "in what they share: adjacency 2, hamming" in status.err
    mine = symveil("ledger", "status", "--ledger", ledger, "--person", "7")
    assert "0.5 in 1 release: adjacency 2, hamming" in mine.out and mine.err == status.err
    told = symveil("ledger", "history", "--ledger", ledger).out
    assert "adjacency all, hamming" in told and "exponential" in told and "30 (row)" in told
    refused = symveil(*grant, "--metric", "levenshtein").assert_one_error_line()
    assert "grant: expected a unit that all charges so far cover" in refused
    symveil(*grant, "--metric", "levenshtein", "--public-start").assert_one_error_line()


def test_a_release_is_abandoned(tmp_path):
    shutil.copy(KILLED, tmp_path / "l.sqlite")
    abandon = ["ledger", "abandon", "--ledger", str(tmp_path / "l.sqlite"), "--release-id"]
    first, again = symveil(*abandon, "charged"), symveil(*abandon, "charged")
    assert "Abandoned release charged" in first.out and "charge stays: 2 for each of 3 sequences" in first.out
    assert again.status == 0 and "was abandoned before; nothing was changed" in again.out
    told = symveil(*abandon, "published", "--json").document
    assert told["state"] == "abandoned" and told["output_recorded"] is True and told["already_abandoned"] is False
    assert "found it done" in symveil(*abandon, "done").assert_one_error_line()
    assert "found 'nobody', which it does not" in symveil(*abandon, "nobody").assert_one_error_line()
    status = symveil("ledger", "status", "--ledger", str(tmp_path / "l.sqlite"), "--json").document
    assert (status["pending"], status["abandoned"]) == (0, 2)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--epsilon", "1"],
        ["--epsilon", "1", "--alphabet", "ab", "--model", "m.json"],
        ["--epsilon", "0", "--alphabet", "ab"],
        ["--epsilon", "1", "--alphabet", "ab", "--sequence", "nope"],
        ["--epsilon", "1", "--alphabet", "ab", "--case", "trip_id", "--sequence", "links"],
        ["--epsilon", "1", "--alphabet", "ab", "--public-start"],
        ["--epsilon", "1", "--alphabet", "ab", "--not-private"],
        ["--epsilon", "1", "--alphabet", "a"],
        ["--epsilon", "1", "--alphabet", "ab", "--ledger", "mysql://x"],
        ["--epsilon", "1", "--alphabet", "ab", "--keep", "trip_id", "--keep", "trip_id"],
    ],
    ids=" ".join,
)
def test_one_line_and_nothing_left(trips, tmp_path, arguments):
    symveil("privatize", str(trips), "--out", str(tmp_path / "o.csv"), *arguments).assert_one_error_line()
    assert [path.name for path in tmp_path.iterdir()] == ["trips.csv"]


def test_grants_are_for_somebody(tmp_path):
    ledger = str(tmp_path / "l.db")
    symveil("ledger", "grant", "--ledger", ledger, "--epsilon", "1").assert_one_error_line()
    symveil(
        "ledger", "grant", "--ledger", ledger, "--epsilon", "1", "--everyone", "--person", "x"
    ).assert_one_error_line()
    (tmp_path / "names.txt").write_text("alice\r\nbob\n\n")
    done = symveil("ledger", "grant", "--ledger", ledger, "--epsilon", "1", "--persons", str(tmp_path / "names.txt"))
    assert done.status == 0 and "2 persons" in done.out


@pytest.mark.parametrize(("name", "status"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_an_interrupted_run_leaves_nothing(tmp_path, name, status):
    source = tmp_path / "in.csv"
    source.write_text("id,s\n" + "".join(f"{n},a b a b a b\n" for n in range(400_000)))
    process = subprocess.Popen(
        [sys.executable, "-m", "symveil", "privatize", str(source), "--out", str(tmp_path / "o.csv"),
         "--alphabet", "ab", "--epsilon", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    for _ in range(600):
        if [path for path in tmp_path.iterdir() if path.name.endswith(".aside")]:
            break
        time.sleep(0.02)
    process.send_signal(getattr(signal, name))
    out, err = process.communicate(timeout=60)
    assert process.returncode == status and out == "" and "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_no_manifest(tmp_path):
    (tmp_path / "m.json").write_text("{}")
    symveil("check", str(tmp_path / "m.json")).assert_one_error_line()
    symveil("check", str(tmp_path / "gone.json")).assert_one_error_line()


def test_help_stays_light():
    code = (
        "import sys\nfrom symveil.cli.main import cli\n"
        "assert not {'numpy', 'pyarrow', 'sqlalchemy', 'pyspark', 'numba', 'rich'} & set(sys.modules), sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert json.loads("{}") == {}


def test_who_pays_and_a_large_epsilon_are_called_what_they_are(trips, tmp_path):
    ledger = str(tmp_path / "l.db")
    common = ["privatize", str(trips), "--out", str(tmp_path / "o.csv"), "--alphabet", "abc", "--ledger", ledger]
    symveil("ledger", "grant", "--ledger", ledger, "--epsilon", "100", "--everyone")
    done = symveil(*common, "--epsilon", "1")
    assert "30, of whom none is charged more than 1" in done.out
    assert "note: 30 persons for 30 sequences" in done.err and "name --person if people recur" in done.err
    assert "hardly any privacy" not in done.err
    assert "--again" in symveil(*common, "--epsilon", "1").assert_one_error_line()
    large = symveil(*common, "--epsilon", "24", "--json")
    assert "warning: epsilon 24 is hardly any privacy: odds may shift by a factor above 10^10" in large.err
    assert (large.document["persons"], large.document["largest_charge"]) == (30, "24")
    assert "persons" not in Path(large.document["manifest"]).read_text()
    for command in ("release abc --alphabet abc", "explain abc --alphabet abc", "explain --alphabet abc --length 3"):
        assert "hardly any privacy" in symveil(*command.split(), "--epsilon", "24").err


def test_a_dry_run_says_what_would_be_charged(trips, tmp_path):
    ledger = str(tmp_path / "l.db")
    symveil("ledger", "grant", "--ledger", ledger, "--epsilon", "1", "--everyone")
    dry = ["privatize", str(trips), "--out", str(tmp_path / "o.csv"), "--alphabet", "abc", "--dry-run"]
    line = symveil(*dry, "--epsilon", "2").assert_one_error_line()
    assert line == "symveil: error: dry-run: expected a ledger, whose budgets it looks at, found none"
    told = symveil(*dry, "--epsilon", "2", "--ledger", ledger)
    assert told.status == 0 and "30 of 30 persons: 0, 1, 10," in told.out and "every week of a year" in told.out
    assert symveil(*dry, "--epsilon", "2", "--ledger", ledger, "--json").document["lacking"] == 30
    assert not (tmp_path / "o.csv").exists()
