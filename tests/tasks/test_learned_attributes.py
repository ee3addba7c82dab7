"""Attributes of events beside words and times: private tables, synthetic values, checks."""

from __future__ import annotations

import json
import random
from collections import Counter

import numpy as np
import pytest

import symveil as sv
from central.test_time_counts import batch_of, random_case
from cli.running import symveil
from symveil.central.attribute_law import attribute_cells, attribute_rows, attribute_sums
from symveil.central.cells import GRID
from symveil.central.noise import Quality
from symveil.central.word_law import Support
from symveil.errors import ParameterError, SymveilError
from symveil.estimation.table import Batch
from symveil.formats.models.model_json import read_law
from symveil.models.times import PublicValues
from symveil.tasks.central_files import law_warnings
from symveil.tasks.check import check_manifest

SUPPORT = Support.of(symbols=3, graph=None, zone=np.zeros(3, dtype=np.int64), shortest=1, longest=4)
ASKED = {
    "case": "case", "symbol": "what", "time": "when", "alphabet": ["open", "close"], "lengths": (1, 4), "epsilon": 8,
    "period": "2024-01-01..2024-12-31",
    "attributes": {"desk": ["north", "south"], "cost": "0,10,100", "case:size": ["s", "l"]},
}  # fmt: skip


def log(folder, *, cases=1500):
    rng = random.Random(1)
    rows = []
    for case in range(cases):
        size = rng.choice("ssl")
        for nth, what in enumerate(["open", "close"]):
            desk = rng.choice(["north"] * 9 + ["south"] if what == "open" else ["south"] * 9 + ["north"] + ["attic"])
            cost, when = rng.choice(["3", "50", "?"]), f"2024-03-{case % 28 + 1:02d}T1{nth}:00:00Z"
            rows.append(f"{case},{what},{when},{desk},{cost},{size}\n")
    file = folder / "log.csv"
    file.write_text("case,what,when,desk,cost,case:size\n" + "".join(rows))
    return file


@pytest.mark.parametrize("of_cases", [False, True])
def test_a_person_adds_at_most_one(of_cases):
    rng = random.Random(3)
    largest = 0.0

    def sums(persons, rows):
        plain = batch_of(persons)
        values = np.array([hash((code, at)) % 4 - 1 for at, code in enumerate(plain.codes.tolist())], dtype=np.int64)
        batch = Batch(plain.codes, plain.lengths, plain.groups, plain.stamps, (values,))
        return np.array(attribute_sums(lambda: [batch], 0, SUPPORT, rows, 3, of_cases=of_cases, cut=True), dtype=object)

    for _ in range(300):
        persons = [[random_case(rng) for _ in range(rng.randrange(4))] for _ in range(rng.randrange(1, 4))]
        rows = np.array(rng.choice([[0, 1, 2], [0, 0, 1], [0, 0, 0]]))
        whole, without = sums(persons, rows), sums([*persons[:-1], []], rows)
        assert (whole >= without).all()
        assert sum(whole - without) <= GRID
        largest = max(largest, sum(whole - without) / GRID)
    assert largest > 0.999


def test_activities_that_are_too_rare_share_a_row():
    codes, lengths = np.array([0, 1, 0, 2, 0, 0]), np.array([2, 2, 2])
    assert attribute_rows(codes, lengths, 3, 30.0, 9.0).tolist() == [0, 1, 1]
    assert attribute_rows(codes, lengths, 3, 30.0, 1.0).tolist() == [0, 1, 2]


def test_a_row_draws_other_noise_where_others_are_split_otherwise():
    """What a person adds to a row depends on how many rows are theirs, so its sums are others too."""
    values = PublicValues.from_names("desk", ["north", "south"])
    first, second = (attribute_cells(values, np.array(rows), "abc") for rows in ([0, 1, 2], [0, 1, 1]))
    assert len(set(first)) == 6
    assert not set(first) & set(second)
    assert first == attribute_cells(values, np.array([0, 1, 2]), "abc")
    words = Batch(np.array([0, 1, 2]), np.array([3]), np.array([0]), None, (np.zeros(3, dtype=np.int64),))
    sums = [
        attribute_sums(lambda: [words], 0, SUPPORT, np.array(rows), 2, of_cases=False, cut=True)[0]
        for rows in ([0, 1, 2], [0, 1, 1])
    ]
    assert sums == [GRID // 3, GRID // 2]


def test_public_values_are_names_or_bins():
    bins = PublicValues.from_edges("cost", "0,0.5,10")
    assert bins.codes(["0.1", "0.5", "10", "-1", "nan", "inf", "x", None]).tolist() == [0, 1, -1, -1, -1, -1, -1, -1]
    within = np.linspace(0, 0.999, 50)
    for code in range(2):
        drawn = bins.sampled(np.full(50, code), within)
        assert (bins.codes(drawn) == code).all()
    assert PublicValues.from_document(bins.document()) == bins
    for text in ("1,0", "1", "a,b", "0,0"):
        with pytest.raises(ParameterError, match="attributes"):
            PublicValues.from_edges("cost", text)
    for values in ([], ["a", "a"], [""]):
        with pytest.raises(ParameterError, match="attributes"):
            PublicValues.from_names("desk", values)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl", "xes"])
def test_synthetic_events_have_attributes_as_often_as_true_ones(tmp_path, suffix):
    learned = sv.learn(log(tmp_path), tmp_path / "model.json", **ASKED)
    names = [query["query"] for query in learned.manifest["queries"]]
    assert names[-3:] == ["attribute: desk", "attribute: cost", "attribute: case:size"]
    assert learned.manifest["guarantee"]["epsilon"] == 8.0
    assert check_manifest(learned.manifest_file).holds
    drawn = sv.synthesize(learned, tmp_path / f"s.{suffix}", count=1500)
    checked = check_manifest(tmp_path / f"s.{suffix}.manifest.json")
    assert checked.holds, [each for each in checked.checks if not each.holds]
    rows = drawn.table.to_pylist()
    desks = Counter((row["concept:name"], row["desk"]) for row in rows)
    total = Counter(row["concept:name"] for row in rows)
    assert desks["open", "north"] / total["open"] == pytest.approx(0.9, abs=0.07)
    assert desks["close", "south"] / total["close"] == pytest.approx(0.9, abs=0.07)
    assert {int(row["cost"]) // 10 > 0 for row in rows} == {False, True}
    assert all(0 <= int(row["cost"]) < 100 for row in rows)
    by_case = {}
    for row in rows:
        by_case.setdefault(row["case:concept:name"], set()).add(row["case:size"])
    assert all(len(values) == 1 for values in by_case.values())
    large = sum(values == {"l"} for values in by_case.values()) / len(by_case)
    assert large == pytest.approx(1 / 3, abs=0.1)
    if suffix == "xes":
        text = (tmp_path / "s.xes").read_text()
        assert text.count('key="size"') == 1500
        assert '<string key="desk" value="north"/>' in text


def test_by_the_command_with_a_file_of_values(tmp_path):
    (tmp_path / "desks.txt").write_text("north\nsouth\n")
    result = symveil(
        "learn", str(log(tmp_path, cases=100)), "--epsilon", "2", "--alphabet", "open,close", "--lengths", "1..4",
        "--case", "case", "--symbol", "what", "--time", "when", "--period", "2024-01-01..2024-12-31",
        "--attribute", f"desk={tmp_path / 'desks.txt'}", "--attribute", "cost=0,10,100", "--attribute-share", "0.05",
        "--out", str(tmp_path / "m.json"),
    )  # fmt: skip
    assert result.status == 0, result.err
    manifest = json.loads((tmp_path / "m.json.manifest.json").read_text())
    assert [(each["name"], each["share"]) for each in manifest["attributes"]] == [("desk", "0.05"), ("cost", "0.05")]
    assert check_manifest(tmp_path / "m.json.manifest.json").holds
    law = read_law(tmp_path / "m.json")
    assert [each.values.values for each in law.attributes] == [("north", "south"), ("0..10", "10..100")]
    manifest["attributes"][0]["values"] = ["north", "west"]
    (tmp_path / "m.json.manifest.json").write_text(json.dumps(manifest))
    assert not check_manifest(tmp_path / "m.json.manifest.json").holds


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"time": None, "period": None}, "attributes: expected the column of times"),
        ({"attributes": None, "attribute_share": 0.1}, "attribute_share: expected attributes"),
        ({"attribute_share": 0.4}, "attribute_share: expected a number above 0"),
        ({"attributes": {"desk": []}}, "attributes: expected 1 to"),
        ({"attributes": {"cost": "10,1"}}, "attributes: expected a file"),
    ],
    ids=str,
)
def test_options_that_do_not_fit_are_refused_before_the_file_is_opened(tmp_path, changed, message):
    with pytest.raises((ParameterError, SymveilError), match=message):
        sv.learn(tmp_path / "none.csv", tmp_path / "m.json", **{**ASKED, **changed})


def test_the_warning_of_few_persons_counts_what_attributes_take_of_epsilon():
    """At epsilon 1 times have 0.4 of what is left: 0.4, which 1,000 persons are enough for, or 0.32 beside two."""
    promise = {"epsilon_exact": "1", "times": {"share": "0.4"}}
    beside = {**promise, "attributes": [{"share": "0.1"}, {"share": "0.1"}]}
    quality = Quality(1100.0, ())
    assert law_warnings(promise, quality) == ()
    (warning,) = law_warnings(beside, quality)
    assert "1,100 persons, a noisy number, and 1,250 would do" in warning
    assert law_warnings(beside, Quality(1250.0, ())) == ()
