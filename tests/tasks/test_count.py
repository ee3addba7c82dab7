"""`count` as a release: charged once per person, the same after a kill, and nothing told but through the table."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import jsonschema
import pytest

import symveil as sv
from symveil.cli.field_options import as_typed
from symveil.cli.main import main
from symveil.errors import LedgerError, ParameterError
from symveil.formats.manifest import manifest_path
from symveil.release.central_job import CentralJob
from symveil.tasks.count import CountedFile, count, count_file

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "central.schema.json").read_text())
ROWS = [("ann", "a b a"), ("ann", "b b"), ("bob", "a"), ("cleo", "a b c a b c")] + [(f"p{n}", "a b") for n in range(40)]


def write(path: Path, rows: list[tuple[str, str]]) -> Path:
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["trip", "who", "links"])
        out.writerows([number, *row] for number, row in enumerate(rows))
    return path


def counted(source: Path, out: Path, **named: object) -> CountedFile:
    given = {"epsilon": "1/2", "alphabet": "abc", "person": "who", "identifier": "trip", "sequence": "links"}
    return count_file(source, "ngrams:2", out=out, **{**given, **named})  # type: ignore[arg-type]


def test_each_person_pays_once_also_those_of_whom_nothing_counts(tmp_path: Path) -> None:
    source = write(tmp_path / "in.csv", [*ROWS, ("zoe", "a x b"), ("yan", "")])
    ledger = tmp_path / "ledger.db"
    sv.grant_budget(ledger, epsilon=5, everyone=True)
    release = counted(source, tmp_path / "out.csv", ledger=ledger, release_id="r")
    assert release.manifest["charged"] == "0.5"
    for person in ("ann", "bob", "zoe", "yan"):
        assert sv.person_status(ledger, person).spent == "0.5"
    again = counted(source, tmp_path / "out.csv", ledger=ledger, release_id="r")
    assert again.already_done and again.counts is None
    assert sv.person_status(ledger, "ann").spent == "0.5"
    assert sv.check_manifest(release.manifest_file).holds
    jsonschema.validate(release.manifest, SCHEMA)


def test_the_same_command_again_is_refused_unless_it_is_meant(tmp_path: Path) -> None:
    """Which input a table is from is not public: other rows in the same place are refused alike."""
    source, out, ledger = write(tmp_path / "in.csv", ROWS), tmp_path / "out.csv", tmp_path / "ledger.db"
    sv.grant_budget(ledger, epsilon=5, everyone=True)
    counted(source, out, ledger=ledger)
    before = out.read_bytes()
    for rows in (ROWS, ROWS[:-1]):
        write(source, rows)
        with pytest.raises(LedgerError, match="would charge everyone a second time: .* `again=True`"):
            counted(source, out, ledger=ledger)
    assert out.read_bytes() == before and sv.person_status(ledger, "ann").spent == "0.5"
    counted(source, out, ledger=ledger, again=True)
    counted(source, out, ledger=ledger, epsilon="1/4")
    counted(source, tmp_path / "other.csv", ledger=ledger)
    assert sv.person_status(ledger, "ann").spent == "1.75"
    with pytest.raises(ParameterError, match="again: expected no release id with it"):
        counted(source, out, ledger=ledger, again=True, release_id="r")


def test_persons_over_budget_add_nothing_and_nobody_is_told(tmp_path: Path, capsys) -> None:
    """The same release with and without a person who has no budget: the same bytes, the same words."""
    seen = []
    for name, rows in (("with", [*ROWS, ("eve", "c c c c")]), ("without", ROWS)):
        ledger, out = tmp_path / f"{name}.db", tmp_path / name / "out.csv"
        source = write(tmp_path / f"{name}.csv", rows)
        sv.grant_budget(ledger, epsilon=5, persons=[person for person, _ in ROWS])
        release = counted(source, out, ledger=ledger, release_id="r", bound=2)
        seen.append({key: value for key, value in release.manifest.items() if key not in ("digests", "date")})
        assert release.counts is not None
    assert seen[0] == seen[1]


def test_killed_and_run_again_it_draws_the_same_noise(tmp_path: Path, monkeypatch) -> None:
    source, out, ledger = write(tmp_path / "in.csv", ROWS), tmp_path / "out.csv", tmp_path / "ledger.db"
    sv.grant_budget(ledger, epsilon=5, everyone=True)
    drawn: list[bytes] = []

    def killed(job: CentralJob) -> None:
        drawn.append(job._temporary.temporary.read_bytes())
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(CentralJob, "publish", killed)
        with pytest.raises(KeyboardInterrupt):
            counted(source, out, ledger=ledger, release_id="r")
    assert not out.exists()
    counted(source, out, ledger=ledger, release_id="r")
    assert out.read_bytes() == drawn[0]
    assert sv.person_status(ledger, "ann").spent == "0.5"


def test_a_release_that_0_3_began_is_refused_because_it_numbered_cells(tmp_path: Path, monkeypatch) -> None:
    """Its noise has other names: finished here it would be a second table for one charge. One line says so."""
    source, out, ledger = write(tmp_path / "in.csv", ROWS), tmp_path / "out.csv", tmp_path / "ledger.db"
    sv.grant_budget(ledger, epsilon=5, everyone=True)
    with monkeypatch.context() as broken:
        broken.setattr("symveil.tasks.central_files.NOISE_NAMES", {})
        broken.setattr(CentralJob, "publish", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            counted(source, out, ledger=ledger, release_id="r")
    line = r"found another naming of noise \(not given then, by content now\); finish it as it was begun, or close it"
    for name in ("r", None):  # by its name, and as the same command again
        with pytest.raises(LedgerError, match=line) as refusal:
            counted(source, out, ledger=ledger, release_id=name)
        assert "\n" not in str(refusal.value) and not out.exists()
    assert sv.person_status(ledger, "ann").spent == "0.5"


@pytest.mark.parametrize(
    "changed", [{"rows": ROWS[1:]}, {"bound": 3}, {"epsilon": 1}, {"alphabet": "abcd"}, {"neighbours": "replace"}]
)
def test_the_same_noise_is_refused_to_anything_else(tmp_path: Path, monkeypatch, changed) -> None:
    source, out, ledger = write(tmp_path / "in.csv", ROWS), tmp_path / "out.csv", tmp_path / "ledger.db"
    sv.grant_budget(ledger, epsilon=5, everyone=True)
    with monkeypatch.context() as broken:
        broken.setattr(CentralJob, "publish", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            counted(source, out, ledger=ledger, release_id="r")
    named = dict(changed)
    write(source, named.pop("rows", ROWS))
    with pytest.raises(sv.SymveilError, match="release r: expected the same input and parameters"):
        counted(source, out, ledger=ledger, release_id="r", **named)


def test_nothing_is_told_of_how_many_there_are(tmp_path: Path, capsys) -> None:
    """Manifest, messages and the shape of the table for files of very different sizes, also an empty one."""
    told = []
    for number, rows in enumerate(([], ROWS, ROWS * 30, [("x", "a z b")], [("x", "a b " * 400)])):
        folder = tmp_path / str(number)
        folder.mkdir()
        source = write(folder / "in.csv", rows)
        arguments = ["count", str(source), "--statistic", "ngrams:2", "--epsilon", "1", "--alphabet", "abc"]
        arguments += ["--bound", "4", "--person", "who", "--id", "trip", "--sequence", "links", "--release-id", "r"]
        with pytest.raises(SystemExit) as ended:
            main([*arguments, "--out", str(folder / "out.csv")])
        printed = capsys.readouterr()
        document = json.loads(manifest_path(folder / "out.csv").read_text())
        assert document["digests"].pop("output") and document.pop("date")  # a day may end between two runs
        lines = (folder / "out.csv").read_text().splitlines()
        title = " ".join(printed.out.split("┏")[0].split())  # it is wrapped to the width of the noisy numbers
        assert title.startswith("ngrams:2: 9 of 9 rows, at most 4 of each person; epsilon 1 per person low all")
        told.append((ended.value.code or 0, document, printed.err, len(lines), lines[0], title))
    assert told[1:] == told[:1] * 4


UNLISTED = {"alphabet": None, "delta": "1e-3", "bound": 2}


def test_without_a_public_alphabet_frequent_rows_are_shown_for_a_delta(tmp_path: Path) -> None:
    rows = [(f"p{n}", "a b") for n in range(200)] + [("eve", "secret place")]
    release = counted(write(tmp_path / "in.csv", rows), tmp_path / "out.csv", **UNLISTED)
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert len(lines) == 2 and lines[1].startswith('"a","b",')
    manifest = release.manifest
    assert "secret" not in json.dumps(manifest) and manifest["alphabet"] is None and manifest["model"] is None
    assert (manifest["delta"], manifest["delta_exact"]) == (0.001, "0.001")
    assert manifest["guarantee"] == {"epsilon": 0.5, "delta": 0.001, "how": "certified"}
    jsonschema.validate(manifest, SCHEMA)
    checked = sv.check_manifest(release.manifest_file)
    (promise,) = (each.note for each in checked.checks if each.name == "guarantee")
    assert checked.holds and promise.startswith("at most 0.5 for each person, but for a chance of 0.00")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("delta_exact",), "1e-9"),
        (("delta",), 1e-9),
        (("queries", 0, "delta"), "1e-9"),
        (("queries", 0, "threshold"), "1"),
        (("guarantee", "delta"), 1e-9),
        (("alphabet",), ["a", "b"]),
    ],
)
def test_a_manifest_that_promises_a_smaller_delta_is_found_out(tmp_path: Path, place, value) -> None:
    release = counted(write(tmp_path / "in.csv", ROWS), tmp_path / "out.csv", **UNLISTED)
    document = json.loads(json.dumps(release.manifest))
    inner = document
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    release.manifest_file.write_text(json.dumps(document))
    assert not sv.check_manifest(release.manifest_file).holds


def test_a_manifest_without_its_delta_is_found_out(tmp_path: Path) -> None:
    release = counted(write(tmp_path / "in.csv", ROWS), tmp_path / "out.csv", **UNLISTED)
    document = json.loads(json.dumps(release.manifest))
    for part in (document, document["guarantee"], *document["queries"]):
        for key in ("delta", "delta_exact", "threshold"):
            part.pop(key, None)
    release.manifest_file.write_text(json.dumps(document))
    assert not sv.check_manifest(release.manifest_file).holds


def test_a_delta_is_charged_too(tmp_path: Path) -> None:
    source, ledger, out = write(tmp_path / "in.csv", ROWS), tmp_path / "ledger.db", tmp_path / "out.csv"
    sv.grant_budget(ledger, epsilon=5, everyone=True)
    with pytest.raises(sv.SymveilError, match="expected budgets with a delta of 0.001 or more"):
        counted(source, out, ledger=ledger, **UNLISTED)
    assert not out.exists() and sv.person_status(ledger, "ann").spent == "0"
    sv.grant_budget(ledger, epsilon=5, everyone=True, delta="0.0015")
    release = counted(source, out, ledger=ledger, **UNLISTED)
    assert release.manifest["charged"] == "0.5" and sv.check_manifest(release.manifest_file).holds
    assert sv.person_status(ledger, "ann").spent_delta == "0.001"
    again = counted(source, tmp_path / "again.csv", ledger=ledger, **UNLISTED)  # all are left out
    assert again.counts is not None and len(again.counts) == 0
    assert sv.person_status(ledger, "ann").spent == "0.5"


def test_nothing_is_told_of_rare_rows(tmp_path: Path, capsys) -> None:
    """All that is printed and written, for files that differ in who is rare, how many are, and how much they have."""
    seen = []
    common = [(f"p{n:03}", "a b") for n in range(200)]
    rare = ([], [("q", "x y")], [("q", "a b c d e f g h"), ("r", "")], [(f"q{n}", f"x{n} y z") for n in range(3)])
    for number, rows in enumerate(rare):
        folder = tmp_path / str(number)
        folder.mkdir()
        source = write(folder / "in.csv", [*common, *rows])
        arguments = ["count", str(source), "--statistic", "first", "--epsilon", "1000", "--delta", "1e-6"]
        arguments += ["--bound", "40", "--person", "who", "--id", "trip", "--sequence", "links", "--release-id", "r"]
        with pytest.raises(SystemExit) as ended:
            main([*arguments, "--out", str(folder / "out.csv")])
        printed = capsys.readouterr()
        document = json.loads(manifest_path(folder / "out.csv").read_text())
        assert document["digests"].pop("output") and document.pop("date")  # a day may end between two runs
        table = [line.split(",")[0] for line in (folder / "out.csv").read_text().splitlines()]
        heads = [line.split()[:2] for line in printed.out.splitlines() if line[0] in "┃│"]
        seen.append((ended.value.code or 0, document, printed.err, table, heads))
    assert all(each == seen[0] for each in seen[1:]) and seen[0][3] == ['"symbol"', '"a"']
    assert "delta 1e-06" in printed.out and "another promise than without delta" in printed.err


@pytest.mark.parametrize("name", ["in.csv", "out.csv", "out.csv.manifest.json"])
def test_a_ledger_in_the_place_of_a_file_stays(tmp_path: Path, name) -> None:
    """The output would replace the ledger, and every charge with it."""
    source = write(tmp_path / "in.csv", ROWS)
    with pytest.raises(sv.SymveilError, match="ledger: expected a file of its own, found the input or the output"):
        counted(source, tmp_path / "out.csv", ledger=tmp_path / name)
    assert not (tmp_path / "out.csv").exists()


def test_each_kind_of_charges_needs_its_own_grant(tmp_path: Path) -> None:
    source, ledger = write(tmp_path / "in.csv", ROWS), tmp_path / "ledger.db"
    sv.grant_budget(ledger, epsilon=5, everyone=True)
    reading = {"alphabet": "abc", "person": "who", "identifier": "trip", "sequence": "links", "ledger": ledger}
    sv.privatize_file(source, tmp_path / "private.csv", epsilon="0.1", **reading)
    with pytest.raises(sv.SymveilError, match="expected a grant for persons, added or removed, beside"):
        counted(source, tmp_path / "out.csv", ledger=ledger)
    assert not (tmp_path / "out.csv").exists()
    replaced = counted(source, tmp_path / "out.csv", ledger=ledger, neighbours="replace")
    assert sv.check_manifest(replaced.manifest_file).holds
    fresh = tmp_path / "fresh.db"
    sv.grant_budget(fresh, epsilon=5, everyone=True)
    counted(source, tmp_path / "again.csv", ledger=fresh)
    with pytest.raises(sv.SymveilError, match="expected a grant for words beside the grants for persons"):
        sv.privatize_file(source, tmp_path / "private2.csv", epsilon="0.1", **{**reading, "ledger": fresh})


@pytest.mark.parametrize(("key", "value"), [("epsilon_exact", "1/4"), ("epsilon", 0.25), ("neighbours", "replace")])
def test_a_manifest_that_promises_more_is_found_out(tmp_path: Path, key, value) -> None:
    release = counted(write(tmp_path / "in.csv", ROWS), tmp_path / "out.csv")
    document = {**release.manifest, key: value}
    release.manifest_file.write_text(json.dumps(document))
    assert not sv.check_manifest(release.manifest_file).holds


def test_a_query_that_lost_its_noise_is_found_out(tmp_path: Path) -> None:
    release = counted(write(tmp_path / "in.csv", ROWS), tmp_path / "out.csv", bound=2)
    document = json.loads(json.dumps(release.manifest))
    document["queries"][0]["scale"] = "1"
    release.manifest_file.write_text(json.dumps(document))
    assert not sv.check_manifest(release.manifest_file).holds


def test_legal_words_of_a_model_and_zones(tmp_path: Path) -> None:
    roads = sv.MarkovChain.from_transitions([("a", "b", 1), ("b", "c", "1/2"), ("b", "a", "1/2"), ("c", "a", 1)])
    source = write(tmp_path / "in.csv", [("x", "a b c")] * 3 + [("y", "a c")] * 50)  # a c is no word of it
    (tmp_path / "zones.csv").write_text("symbol,zone\na,west\nb,west\nc,east\n")
    table = count(
        source, "od", epsilon=1000, model=roads, person="trip", sequence="links", zones=tmp_path / "zones.csv", bound=1
    )
    assert [table.row(0)[name] for name in ("symbols", "count")] == [["west", "east"], pytest.approx(3, abs=0.1)]
    assert len(table) == 4 and sum(table.numbers["count"]) == pytest.approx(3, abs=0.2)


@pytest.mark.parametrize(
    ("named", "line"),
    [
        ({"alphabet": None}, "count: expected a public alphabet or a public model, found none"),
        ({"epsilon": 0}, "epsilon: expected"),
        ({"bound": "some"}, "bound: expected a whole number from 1 to 1073741824, or auto"),
        ({"neighbours": "all"}, "neighbours: expected add-remove or replace, found all"),
        ({"confidence": 1}, "confidence: expected a number between 0 and 1"),
        ({"max_length": 0}, "max_length: expected a whole number, 1 or more"),
        ({"zones": "6"}, "zones: expected the statistic od with zones or places, found ngrams"),
        ({"out": "table.txt"}, "out: expected a file name ending in .csv, .parquet or .json"),
        ({"person": "whom"}, "expected one column 'whom'"),
        ({"delta": "1e-6"}, "delta: expected no alphabet with it: what is public needs no delta, found both"),
        ({"alphabet": None, "delta": 0}, "delta: expected a number between 0 and 1 such as 1e-6, found 0"),
        ({"alphabet": None, "delta": "x"}, "delta: expected a number between 0 and 1 such as 1e-6, found 'x'"),
        ({"alphabet": None, "delta": "1e-6", "zones": "6"}, "delta: expected no zones with it"),
    ],
)
def test_refusals(tmp_path: Path, named, line) -> None:
    source = write(tmp_path / "in.csv", ROWS)
    given = dict(named)
    out = tmp_path / given.pop("out", "out.csv")
    with pytest.raises(sv.SymveilError, match=line):
        counted(source, out, **given)
    assert not out.exists() and not manifest_path(out).exists()


def test_an_unknown_name_is_refused_as_python_does(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"count_file\(\) got an unexpected keyword argument 'colour'"):
        counted(write(tmp_path / "in.csv", ROWS), tmp_path / "out.csv", colour="red")


def test_a_bound_that_cuts_off_much_is_the_first_thing_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Persons with a thousand visits each, little budget: the warning stands above the table and says what to do."""
    source = write(tmp_path / "in.csv", [(f"p{n}", " ".join("abcd" * 250)) for n in range(4000)])
    asked = ["count", str(source), "--statistic", "ngrams:3", "--epsilon", "0.1", "--alphabet", "abcdefghijklmnopqrst"]
    asked += ["--sequence", "links", "--id", "trip", "--person", "who", "--out"]
    with pytest.raises(SystemExit, match="^0$"):
        main([*asked, str(tmp_path / "out.json")])
    said = capsys.readouterr()
    first = said.err.splitlines()[0]
    assert first.startswith("symveil: warning: the automatic bound of ") and "--bound" in first
    assert said.err.count("cuts off about") == 2  # the warning and the note on what is covered
    assert "covers all 8000 rows at once (95 %)" in " ".join(said.out.split())
    read = sv.read_counts(tmp_path / "out.json")
    assert read.clipped_share is not None and read.clipped_share > 0.05
    assert read.warnings == read.notes[:1] and first.endswith(as_typed(read.warnings[0]))
    with pytest.raises(SystemExit, match="^0$"):
        main([*asked, str(tmp_path / "other.json"), "--bound", "1000"])
    assert "warning" not in capsys.readouterr().err
