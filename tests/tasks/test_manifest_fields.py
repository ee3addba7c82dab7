"""What a manifest says, field by field: its schema, what passes unprotected, and the day of the release."""

from __future__ import annotations

import copy
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import symveil as sv
from symveil.formats.json_text import first_fault, shipped_schema
from symveil.formats.manifest import MANIFEST_OF_0_3
from symveil.ledger import charging, lifecycle
from symveil.release.local import LocalJob
from symveil.tasks.budgets import grant_budget
from symveil.tasks.check import check_manifest
from symveil.tasks.count import count_file
from symveil.tasks.privatize_file import privatize_file
from symveil.tasks.release import release_word
from symveil.tasks.release_report import release_page, times_in_words

ROOT = Path(__file__).parents[2]


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    file = tmp_path / "trips.csv"
    file.write_text("id,rider,town,s\n1,ann,X,a b\n2,bob,Y,b b\n3,ann,X,a a\n")
    return file


def released(trips: Path, **options: object):
    named = {"alphabet": "ab", "epsilon": 2, "sequence": "s", **options}
    return privatize_file(trips, trips.with_name("o.csv"), **named)


def rows(manifest: Path) -> dict[str, tuple[bool, str]]:
    return {each.name: (each.holds, each.note) for each in check_manifest(manifest).checks}


def test_the_fields(trips):
    release = released(trips, keep=["town"], person="rider")
    said = release.manifest
    assert (said["kept"], said["person"], said["unit"], said["record"]) == (
        ["town"],
        "rider",
        "adjacency 1, hamming",
        "row",
    )
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", said["date"])
    assert said["expected_error"] == {"length": 2, "symbols": 0.238406, "standard_error": 0.0, "words": "uniform"}
    right = 0.880797  # e²/(e² + 1)
    assert said["attacker"]["symbol"] == {"before": 0.5, "after": right} and said["attacker"]["length"] == 2
    assert (said["attacker"]["how"], said["attacker"]["promised"]) == ("exact", 0.880798)  # rounded upwards
    checked = rows(release.manifest_file)
    assert all(holds for holds, _ in checked.values())
    assert checked["attacker"][1] == "names 50 % of symbols before, 88 % after, computed again"
    note = "id, town, number of sequences, order of sequences, length of each sequence"
    assert checked["passes unprotected"] == (True, note)
    assert checked["fields"] == (True, "as manifest.schema.json says")
    assert checked["expected error"][1] == "0.2384 of 2 symbols on average, computed again"
    edits = released(trips, metric="levenshtein", epsilon=9, again=True).manifest
    assert (
        edits["expected_error"] is None
        and edits["attacker"] is None
        and edits["kept"] == []
        and edits["person"] is None
    )


def _attacker(*, after: float = 0.880797, promised: float = 0.880798, length: int = 2) -> dict[str, object]:
    symbol = {"before": 0.5, "after": after}
    return {
        "length": length, "prior": "uniform words", "symbol": symbol, "first": symbol, "last": symbol,
        "word": {"before": 0.25, "after": 0.775803}, "how": "exact", "interval": None, "promised": promised,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ({"kept": []}, "passes unprotected"),
        ({"passes_unprotected": ["id"]}, "passes unprotected"),
        ({"date": "yesterday"}, "fields"),
        ({"kept": "town"}, "fields"),
        ({"expected_error": {"length": 2, "symbols": 0.01, "standard_error": 0, "words": "uniform"}}, "expected error"),
        ({"expected_error": {"length": 2}}, "fields"),
        ({"attacker": _attacker(after=0.6)}, "attacker"),
        ({"attacker": _attacker(promised=0.5)}, "attacker"),
        ({"attacker": _attacker(length=3)}, "attacker"),
        ({"attacker": {"length": 2}}, "fields"),
    ],
)
def test_what_is_not_so_does_not_check(trips, change, check):
    release = released(trips, keep=["town"])
    release.manifest_file.write_text(json.dumps({**release.manifest, **change}))
    try:
        assert not rows(release.manifest_file)[check][0]
    except ValueError as refused:  # of a field that is needed for another check
        assert "expected a manifest as symveil writes it" in str(refused)


MADE = {
    "an alphabet": {"mechanism": "exponential"},
    "permute-and-flip": {"mechanism": "permute-and-flip"},
    "auto": {},
    "classic": {"mechanism": "staircase", "calibration": "classic"},
    "swap costs": {"mechanism": "exponential", "cost": "swap", "cap": 2, "adjacency": 2},
    "balanced": {"mechanism": "exponential", "balanced": True, "adjacency": 2},
    "auto, balanced": {"balanced": True, "adjacency": 2},
    "a chain's prior": {"mechanism": "exponential", "prior": "chain", "adjacency": 1},
    "optimal, swap": {"mechanism": "optimal", "cost": "swap", "adjacency": 1},
}


@pytest.mark.parametrize(
    ("made", "field", "value", "fault"),
    [
        (
            "an alphabet",
            "calibration",
            "classic",
            "calibration: the law of words of 2 symbols has the rate 2",
        ),
        ("classic", "calibration", "tight", "calibration: the law of words of 2 symbols has the rate 1, tight is 2"),
        ("permute-and-flip", "calibration", "classic", "calibration: "),
        ("auto", "calibration", "classic", "calibration: "),
        ("swap costs", "cap", 3, "cap: the law of words of 2 symbols has 2, which is not what they ask for, 3"),
        ("swap costs", "cap", None, "cap: "),
        ("swap costs", "balanced", True, "balanced: the law of words of 2 symbols has false"),
        ("balanced", "balanced", False, "balanced: the law of words of 2 symbols has true"),
        ("auto, balanced", "cost", "swap", "cost: "),
        ("a chain's prior", "prior", "uniform", "prior: the law of words of 2 symbols has chain"),
        ("optimal, swap", "prior", "uniform", None),  # as it is written
    ],
)
def test_parameters_that_contradict_the_laws_do_not_check(trips, made, field, value, fault):
    on_model = {"adjacency"} & set(MADE[made])
    if on_model:
        moves = [(a, b, "1/2") for a in "abc" for b in "abc" if a != b]
        sv.save_model(sv.MarkovChain.from_transitions(moves), trips.with_name("m.json"))
        trips.write_text("id,rider,town,s\n1,ann,X,a b\n2,bob,Y,b c\n")
    words = {"model": trips.with_name("m.json"), "alphabet": None, "thin": True} if on_model else {}
    release = released(trips, **words, **MADE[made])
    assert all(holds for holds, _ in rows(release.manifest_file).values())
    parameters = {**release.manifest["parameters"], field: value}
    if value is None:
        del parameters[field]
    release.manifest_file.write_text(json.dumps({**release.manifest, "parameters": parameters}))
    holds, note = rows(release.manifest_file).get("parameters", (True, ""))
    assert holds == (fault is None) and note.startswith(fault or ""), note


def test_what_is_so_of_an_attacker_checks(trips):
    release = released(trips)
    release.manifest_file.write_text(json.dumps({**release.manifest, "attacker": _attacker()}))
    assert rows(release.manifest_file)["attacker"][0]


def test_manifests_without_the_new_fields_still_check(trips):
    release = released(trips, keep=["town"])
    new = ("date", "kept", "person", "unit", "record", "expected_error", "attacker", "passes_unprotected")
    older = {name: value for name, value in release.manifest.items() if name not in new}
    laws = [
        {name: value for name, value in row.items() if name not in ("certificate", "beyond")} for row in older["law"]
    ]
    release.manifest_file.write_text(json.dumps({**older, "format": MANIFEST_OF_0_3, "law": laws}))
    checked = rows(release.manifest_file)
    assert all(holds for holds, _ in checked.values())
    assert "this older manifest does not list" in checked["passes unprotected"][1]


@pytest.mark.parametrize("hidden", [("kept", "passes_unprotected"), ("passes_unprotected",)])
def test_a_manifest_of_today_lists_what_passes(trips, hidden):
    """Without both fields a manifest looked like an older one, and a kept column was in no list."""
    release = released(trips, keep=["town"])
    release.manifest_file.write_text(json.dumps({k: v for k, v in release.manifest.items() if k not in hidden}))
    assert not rows(release.manifest_file)["passes unprotected"][0]


def test_the_day_is_that_of_the_charge(trips, monkeypatch):
    ledger = trips.with_name("l.db")
    grant_budget(ledger, 9, everyone=True)
    with monkeypatch.context() as killed:
        killed.setattr(charging, "now", lambda: "2020-02-29T23:59:59.000000+00:00")
        killed.setattr(LocalJob, "write", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            released(trips, ledger=ledger)
    assert released(trips, ledger=ledger).manifest["date"] == "2020-02-29"
    assert lifecycle.now()[:10] != "2020-02-29"


def test_a_central_manifest_has_a_day_and_no_numbers_of_persons(trips):
    counted = count_file(
        trips, "visits", out=trips.with_name("c.csv"), epsilon=1, alphabet="ab", sequence="s", person="rider"
    )
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", counted.manifest["date"])
    assert not {"persons", "largest_charge", "kept", "expected_error", "attacker", "counts"} & set(counted.manifest)
    assert rows(counted.manifest_file)["fields"] == (True, "as central.schema.json says")
    assert counted.manifest["passes_unprotected"] == counted.document()["passes_unprotected"] == []
    named = {"epsilon": 1, "alphabet": "ab", "sequence": "s", "neighbours": "replace"}
    replaced = count_file(trips, "visits", out=trips.with_name("r.csv"), **named)
    assert replaced.manifest["passes_unprotected"] == ["number of persons"]
    assert check_manifest(replaced.manifest_file).holds
    replaced.manifest_file.write_text(json.dumps({**replaced.manifest, "passes_unprotected": []}))
    assert not check_manifest(replaced.manifest_file).holds


# --- the schemas -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["manifest", "central"])
def test_the_schema_that_is_shipped_is_the_one_that_is_shown(name):
    assert json.loads((ROOT / "docs" / f"{name}.schema.json").read_text()) == shipped_schema(name)
    jsonschema.Draft202012Validator.check_schema(shipped_schema(name))


@pytest.mark.parametrize("name", ["manifest", "central"])
def test_the_page_has_every_field(name):
    page = (ROOT / "docs" / "manifest.md").read_text(encoding="utf-8")
    both, *single = re.split(r"^## (?:Fields of|Only of a) .*$", page, flags=re.MULTILINE)[1:]
    cells = re.findall(r"^\| (`.*?) \|", both + single[name == "central"], flags=re.MULTILINE)
    listed = [field for cell in cells for field in re.findall(r"`(\w+)`", cell)]
    assert sorted(listed) == sorted(shipped_schema(name)["properties"])


def _mutations(document: object, path: tuple = ()):
    """The document with one value exchanged or left out, everywhere."""
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in inner:
        yield from _mutations(value, (*path, key))
        for other in (None, -1, 0.5, "x", [], {}, True):
            yield (*path, key), other
    if isinstance(document, dict):
        yield (*path, "unknown"), 1
        for key in document:
            yield (*path, key), _mutations  # left out


@pytest.mark.parametrize("name", ["manifest", "central"])
def test_our_reader_of_schemas_agrees_with_the_library(trips, name):
    if name == "manifest":
        document = released(trips, keep=["town"]).manifest
    else:
        document = count_file(
            trips, "visits", out=trips.with_name("c.csv"), epsilon=1, alphabet="ab", sequence="s"
        ).manifest
    schema = shipped_schema(name)
    library = jsonschema.Draft202012Validator(schema)
    assert first_fault(document, schema) is None
    verdicts = set()
    for path, value in _mutations(document):
        changed = copy.deepcopy(document)
        place = changed
        for key in path[:-1]:
            place = place[key]
        if value is _mutations:
            del place[path[-1]]
        else:
            place[path[-1]] = value
        ours = first_fault(changed, schema) is None
        assert ours == library.is_valid(changed), path
        verdicts.add(ours)
    assert verdicts == {True, False}


def test_a_schema_with_an_unknown_rule_is_not_passed_over():
    with pytest.raises(ValueError, match="the keyword oneOf"):
        first_fault({}, {"oneOf": []})


# --- what passes -----------------------------------------------------------------------------------


def test_everything_that_passes_is_listed(trips, tmp_path):
    assert released(trips, keep=["town"]).document()["passes_unprotected"] == [
        "id", "town", "number of sequences", "order of sequences", "length of each sequence"
    ]  # fmt: skip
    edits = released(trips, metric="levenshtein", epsilon=9, again=True).manifest["passes_unprotected"]
    assert edits == ["id", "number of sequences", "order of sequences"]
    chain = {("a", "b"): 0.5, ("a", "a"): 0.5, ("b", "a"): 1}
    chain_file = tmp_path / "chain.json"
    rows = [[*pair, value] for pair, value in chain.items()]
    chain_file.write_text(json.dumps({"format": "symveil/1", "kind": "markov-chain", "transitions": rows}))
    trips.write_text("id,s\n1,a b\n2,b a\n3,b b\n")
    begun = {"alphabet": None, "model": chain_file, "public_start": True, "adjacency": 1, "again": True, "thin": True}
    public = released(trips, **begun, on_unknown="drop-sequence").manifest["passes_unprotected"]
    assert public[-2:] == ["first symbol of each sequence", "which sequences are left out"]
    word = release_word("ab", sv.Exponential(sv.words("ab", 2), epsilon=1)).document()
    assert word["passes_unprotected"] == ["length"]
    hidden = release_word("ab", sv.EditChannel("ab", epsilon=9)).document()
    assert hidden["passes_unprotected"] == []


STAMPS = [f"2024-05-{day:02}T08:00:00" for day in range(1, 31)]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (STAMPS, "passes times as they are"),
        (["2024-05-01"] * 30, "passes times as they are"),
        ([f"{day}.05.2024 08:15" for day in range(1, 31)], "passes times as they are"),
        (["08:15"] * 29 + [""], "passes times as they are"),
        ([f"note {day}" for day in range(30)], "nearly as many values as there are rows"),
        ([str(1_700_000_000 + day) for day in range(30)], "nearly as many values as there are rows"),
        (["X", "Y", "Z"] * 10, None),
        (["20240501"] * 30, None),
        ([""] * 30, None),
        ([f"v{day % 25}" for day in range(30)], None),
        ([f"v{day}" for day in range(19)], None),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "jsonl", "long", "parquet", "xes"])
def test_a_kept_column_that_names_somebody_is_warned_of(tmp_path, kind, values, said):
    """From the output alone, where the column is public; no value of it is shown."""
    source, named = tmp_path / f"in.{'csv' if kind == 'long' else kind}", {"sequence": "s"}
    if kind == "csv":
        source.write_text("id,s,extra\n" + "".join(f"{n},a b,{value}\n" for n, value in enumerate(values)))
    elif kind == "long":
        lines = "".join(f"{n},{symbol},{value}\n" for n, value in enumerate(values) for symbol in "ab")
        source.write_text("id,s,extra\n" + lines)
        named = {"case": "id", "symbol": "s"}
    elif kind == "jsonl":
        lines = [{"id": n, "s": ["a"], "extra": value or None} for n, value in enumerate(values)]
        source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    elif kind == "parquet":
        table = {"id": list(range(len(values))), "s": [["a"]] * len(values), "extra": values}
        pq.write_table(pa.table(table), source)
    else:
        traces = (
            f'<trace><string key="concept:name" value="{n}"/><string key="extra" value="{value}"/>'
            '<event><string key="concept:name" value="a"/></event></trace>'
            for n, value in enumerate(values)
        )
        source.write_text(f"<log>{''.join(traces)}</log>")
        named = {}
    kept = "case:extra" if kind == "xes" else "extra"
    release = privatize_file(source, tmp_path / f"out{source.suffix}", alphabet="ab", epsilon=2, keep=[kept], **named)
    assert len(release.warnings) == (said is not None)
    if said is not None:
        assert said in release.warnings[0] and kept in release.warnings[0]
        assert not any(value and value in release.warnings[0] for value in values)
        assert release.warnings[0] not in release.manifest_file.read_text()


def test_a_type_or_the_name_of_a_time_is_enough(tmp_path):
    days = pa.array([datetime(2024, 5, 1, tzinfo=UTC)] * 2)
    pq.write_table(pa.table({"id": [1, 2], "s": [["a"], ["b"]], "when": days}), tmp_path / "in.parquet")
    named = {"alphabet": "ab", "epsilon": 2}
    release = privatize_file(tmp_path / "in.parquet", tmp_path / "out.parquet", **named, sequence="s", keep=["when"])
    assert "passes times" in release.warnings[0]
    (tmp_path / "in.csv").write_text("case:concept:name,concept:name,time:timestamp\n1,a,1\n1,b,2\n")
    release = privatize_file(tmp_path / "in.csv", tmp_path / "out.csv", **named, keep=["time:timestamp"])
    assert "passes times" in release.warnings[0]
    assert privatize_file(tmp_path / "in.csv", tmp_path / "other.csv", **named).warnings == ()


def test_what_a_person_costs_is_said_to_the_holder(trips):
    release = released(trips, person="rider")
    (line,) = [note for note in release.notes if "a person loses epsilon" in note]
    assert "here up to 2 × 2 = 4" in line and "symveil count" in line and "synthesize" in line
    assert "2 × 2" not in json.dumps(release.document())
    assert not [note for note in released(trips, again=True).notes if "a person loses epsilon" in note]


def test_a_log_says_itself_that_its_times_are_artificial(tmp_path):
    (tmp_path / "in.xes").write_text(
        '<log><trace><string key="concept:name" value="1"/><event><string key="concept:name" value="a"/>'
        '<date key="time:timestamp" value="2024-05-01T08:00:00.000+02:00"/></event></trace></log>'
    )
    options = {"alphabet": "ab", "epsilon": 2}
    release = privatize_file(tmp_path / "in.xes", tmp_path / "out.xes", **options)
    log = ElementTree.parse(tmp_path / "out.xes").getroot()  # noqa: S314 - our own file
    said = {each.get("key"): each.get("value") for each in log if each.tag.endswith("string")}
    assert said["symveil:times"] == (
        "artificial, not the true times: every trace starts at 2000-01-01T00:00:00+00:00, 1m from event to event"
    )
    assert "artificial" in dict(times_in_words(release.manifest))["times"]
    assert check_manifest(release.manifest_file).holds and "artificial: every sequence" in release_page(
        release.manifest
    )
    kept = privatize_file(tmp_path / "in.xes", tmp_path / "kept.xes", **options, keep=["time:timestamp"])
    assert "symveil:times" not in (tmp_path / "kept.xes").read_text() and times_in_words(kept.manifest) == []
