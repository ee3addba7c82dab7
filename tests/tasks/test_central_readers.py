"""Central releases read again: tables with their intervals, synthetic words, beside the true file and in the studio."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from test_count import SCHEMA

import symveil as sv
from central.test_counts import STATISTICS, things
from symveil.cli.main import main
from symveil.comparison.distributions import CodedWords
from symveil.estimation.statistics import read_statistic
from symveil.randomness import NotPrivateSeededBits
from symveil.studio.panels.files import AnswersPanel
from symveil.studio.tasks.answers import answer_answers
from symveil.tasks.compare import compare
from symveil.tasks.compare_tables import compare_table, plain_counts
from symveil.tasks.count import count_file
from symveil.tasks.learn_privately import learn
from symveil.tasks.synthesize import synthesize
from symveil.tasks.table_files import read_counts

WORDS = ["a b c a", "b c", "a", "", "c c c a b", "a b c d a b c"] * 50
EXACT = 10**9
"""An ε with next to no noise."""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write(tmp_path / "in.csv")


def write(path: Path) -> Path:
    path.write_text("id,links\n" + "".join(f"{number},{word}\n" for number, word in enumerate(WORDS)))
    return path


def test_plain_counts_are_counts() -> None:
    words = [[0, 1, 2, 0], [1, 2], [0], [], [2, 2, 2]]
    coded = CodedWords.from_words(words, symbols=3)
    for statistic in STATISTICS:
        found = plain_counts(read_statistic(statistic), ("a", "b", "c"), coded, longest=4)
        expected: dict[tuple[str, ...], int] = {}
        for word in words:
            for each in things(statistic, word):
                cell = (str(each[0]),) if statistic == "lengths" else tuple("abc"[code] for code in each)
                expected[cell] = expected.get(cell, 0) + 1
        assert found == expected


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".json"])
@pytest.mark.parametrize(
    ("statistic", "named"),
    [
        ("ngrams:2", {"alphabet": "abcd"}),
        ("lengths", {"alphabet": "abcd", "max_length": 9}),
        ("visits", {"delta": 0.1}),
    ],
)
def test_a_table_is_read_as_it_was_written(source: Path, tmp_path: Path, suffix, statistic, named) -> None:
    written = count_file(source, statistic, epsilon=1, out=tmp_path / f"t{suffix}", **named).counts
    read = read_counts(tmp_path / f"t{suffix}")
    assert written is not None and read.document()["rows"] == written.document()["rows"]
    assert read.guarantee == written.guarantee and read.bound == written.bound and read.threshold == written.threshold
    assert read.clipped_share == (written.clipped_share if suffix == ".json" else None)
    assert "because the bound was given" not in " ".join(read.notes)


def test_a_table_of_other_bytes_and_another_manifest_are_refused(source: Path, synthetic: Path, tmp_path: Path) -> None:
    count_file(source, "visits", epsilon=1, alphabet="abcd", out=tmp_path / "t.csv")
    with (tmp_path / "t.csv").open("a") as file:
        file.write('"e",1,1,1,1,1,1\n')
    with pytest.raises(sv.SymveilError, match="expected the bytes that the manifest tells"):
        read_counts(tmp_path / "t.csv")
    with pytest.raises(sv.SymveilError, match="the manifest of a table that symveil count wrote, found another"):
        read_counts(tmp_path / "model.json")
    with pytest.raises(sv.SymveilError, match="expected a file of sequences, found a model"):
        compare(source, tmp_path / "model.json")
    with pytest.raises(sv.SymveilError, match="expected a file of sequences, found a table of counts, for compare_tab"):
        compare(source, tmp_path / "t.csv")


def test_a_table_beside_the_true_file(source: Path, tmp_path: Path) -> None:
    count_file(source, "ngrams:2", epsilon=EXACT, alphabet="abcd", bound=50, out=tmp_path / "t.csv")
    found = compare_table(source, tmp_path / "t.csv")
    # noise is far below a count, and so are intervals: the metrics are those of the same table
    assert found.metrics["l1"] < 1e-6 and found.metrics["jsd"] < 1e-9 and found.metrics["listed_share"] == 1
    assert found.sequences == len(WORDS)
    count_file(source, "ngrams:2", epsilon=EXACT, alphabet="abc", bound=50, out=tmp_path / "few.csv")
    few = compare_table(source, tmp_path / "few.csv", top=1)
    assert few.metrics["listed_share"] == pytest.approx(12 / 14) and few.metrics["l1"] > 0.2
    # words with another symbol do not count there
    assert {cell for cell, true, count in few.differences if true - count > 90} == {("a", "b"), ("b", "c")}


def test_zones_beside_the_true_file(source: Path, tmp_path: Path) -> None:
    zones = tmp_path / "zones.csv"
    zones.write_text("symbol,zone\na,west\nb,west\nc,east\nd,east\n")
    count_file(source, "od", epsilon=EXACT, alphabet="abcd", bound=1, zones=zones, out=tmp_path / "od.csv")
    assert compare_table(source, tmp_path / "od.csv", zones=zones).metrics["l1"] < 1e-6
    with pytest.raises(sv.SymveilError, match="zones: expected the zones, or the places, that the table was counted"):
        compare_table(source, tmp_path / "od.csv")


def test_a_symbol_of_the_true_file_without_a_zone_is_not_named(tmp_path):
    """It is a secret that the true file has it; a count over a public alphabet names it."""
    source, zones, public = tmp_path / "true.csv", tmp_path / "zones.csv", tmp_path / "public.csv"
    public.write_text("id,w\n1,a b\n")
    zones.write_text("symbol,zone\na,x\nb,y\n")
    sv.count_file(public, "od", epsilon=1, alphabet="ab", zones=zones, bound=1, out=tmp_path / "od.csv")
    source.write_text("id,w\n1,a b\n2,a clinic\n")
    with pytest.raises(sv.SymveilError, match="expected a zone for every symbol, found none for 1 of them") as raised:
        compare_table(source, tmp_path / "od.csv", zones=zones)
    assert "clinic" not in str(raised.value)
    with pytest.raises(sv.SymveilError, match="found none for 'clinic'"):
        sv.count(public, "od", epsilon=1, alphabet=["a", "b", "clinic"], zones=zones)


def run(capsys, *arguments: object) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(each) for each in arguments])
    return int(ended.value.code or 0), capsys.readouterr().out


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and words that were drawn from it: a fit takes its time."""
    folder = tmp_path_factory.mktemp("learned")
    learn(
        write(folder / "in.csv"), folder / "model.json", epsilon=1, lengths=(1, 5), alphabet="abcd", kind="trips",
        release_id="r",
    )  # fmt: skip
    synthesize(folder / "model.json", folder / "synthetic.csv", count=77, separator="|", bits=NotPrivateSeededBits(1))
    return folder


@pytest.fixture
def synthetic(learned: Path, tmp_path: Path) -> Path:
    shutil.copytree(learned, tmp_path, dirs_exist_ok=True)
    return tmp_path / "synthetic.csv"


def test_synthetic_words_have_the_release_of_their_model(synthetic: Path) -> None:
    manifest = json.loads(synthetic.with_name("synthetic.csv.manifest.json").read_text())
    jsonschema.validate(manifest, SCHEMA)
    assert (manifest["release"], manifest["release_id"], manifest["epsilon"]) == ("synthesize", "r", 1.0)
    assert manifest["parameters"]["count"] == 77 and manifest["drawn_from"]["file"] == "model.json"
    checked = sv.check_manifest(synthetic.with_name("synthetic.csv.manifest.json"))
    assert checked.holds and checked.checks[-1].note.startswith("77 words, 0 that")


def test_a_symbol_per_character(synthetic: Path) -> None:
    """With an empty separator words are written without one, and read back; longer symbols are refused."""
    law, out = synthetic.with_name("model.json"), synthetic.with_name("plain.csv")
    drawn = synthesize(law, out, count=20, separator="", bits=NotPrivateSeededBits(2))
    rows = out.read_text().splitlines()[1:]
    assert [row.partition(",")[2] for row in rows] == ["".join(word) for word in drawn.words]
    assert sv.check_manifest(out.with_name("plain.csv.manifest.json")).holds
    longer = json.loads(law.read_text().replace('"d"', '"dd"'))
    law.write_text(json.dumps(longer))
    with pytest.raises(sv.SymveilError, match="separator: expected text that occurs in no symbol"):
        synthesize(law, out, count=20, separator="")


@pytest.mark.parametrize("name", ["more.jsonl", "more.xes"])
def test_other_forms_are_checked_too(synthetic: Path, name) -> None:
    out = synthetic.with_name(name)
    synthesize(synthetic.with_name("model.json"), out, count=9, bits=NotPrivateSeededBits(2))
    checked = sv.check_manifest(f"{out}.manifest.json")
    assert checked.holds and checked.checks[-1].note.startswith("9 words, 0 that")


def test_a_synthetic_file_with_other_words_is_found_out(synthetic: Path) -> None:
    place = synthetic.with_name("synthetic.csv.manifest.json")
    manifest = json.loads(place.read_text())
    for broken in ({"count": 78}, {"lengths": [1, 2]}):
        place.write_text(json.dumps({**manifest, "parameters": {**manifest["parameters"], **broken}}))
        assert not sv.check_manifest(place).holds


def test_without_a_manifest_of_the_model_words_have_none(synthetic: Path, tmp_path: Path) -> None:
    (tmp_path / "model.json.manifest.json").unlink()
    synthesize(tmp_path / "model.json", tmp_path / "more.jsonl", count=5, bits=NotPrivateSeededBits(1))
    assert not (tmp_path / "more.jsonl.manifest.json").exists()


def test_compare_says_what_it_compares(source: Path, synthetic: Path, tmp_path: Path, capsys) -> None:
    reading = ("--sequence", "links", "--id", "id")
    status, text = run(capsys, "compare", source, synthetic, *reading, "--out", tmp_path / "r.html", "--json")
    document = json.loads(text)
    said = "synthetic words from a model that was learned with epsilon 1 per record"
    assert status == 0 and document["private"]["what"] == said and document["private"]["sequences"] == 77
    assert said in (tmp_path / "r.html").read_text()
    count_file(source, "visits", epsilon=1, alphabet="abcd", out=tmp_path / "t.csv")
    status, text = run(capsys, "compare", source, tmp_path / "t.csv", *reading, "--out", tmp_path / "t.html", "--json")
    assert status == 0 and json.loads(text)["private"]["what"].startswith(
        "a table of private counts: visits, epsilon 1"
    )
    assert "Largest differences" in (tmp_path / "t.html").read_text()


def answered(private: Path, **values: str):
    files = {"source": "file", "private": str(private), "manifest": f"{private}.manifest.json"}
    return answer_answers({**AnswersPanel.defaults, **files, **values}, lambda *_: None)


def test_the_studio_shows_central_releases(source: Path, synthetic: Path, tmp_path: Path) -> None:
    table = count_file(source, "ngrams:2", epsilon=1, alphabet="abcd", out=tmp_path / "t.json").counts
    answer = answered(tmp_path / "t.json")
    assert (
        table is not None and answer.document == table.document() and dict(answer.marks)["method"] == "private counts"
    )
    assert "for each <b>person</b>" in answer.html() and "<svg" in answer.html()
    words = answered(synthetic, statistic="lengths")
    assert sum(row[1] for row in words.rows) == 77 and "belongs to no person" in words.html()
    assert np.allclose([row[1] for row in words.rows], [row[2] for row in words.rows])
    with pytest.raises(sv.SymveilError, match="statistic: expected one of visits"):
        answered(synthetic, statistic="presence")
    model = answered(tmp_path / "model.json")
    assert dict(model.marks)["method"] == "learned privately" and "symveil synthesize" in model.html()
    (tmp_path / "t.json").write_text("{}")
    with pytest.raises(sv.SymveilError, match="expected the bytes that the manifest tells"):
        answered(tmp_path / "t.json")


@pytest.mark.parametrize("part", [None, "digests", "parameters", "queries", "neighbours", "epsilon_exact"])
def test_a_manifest_without_a_part_is_refused_in_one_line(source: Path, tmp_path: Path, part: str | None) -> None:
    count_file(source, "visits", epsilon=1, alphabet="abcd", out=tmp_path / "t.csv")
    place = tmp_path / "t.csv.manifest.json"
    document = json.loads(place.read_text())
    if part is None:
        del document["digests"]["output"]
    else:
        del document[part]
    place.write_text(json.dumps(document))
    with pytest.raises(sv.SymveilError, match="expected") as refusal:
        read_counts(tmp_path / "t.csv")
    assert "\n" not in str(refusal.value)
