"""Words with times: learned privately, drawn, written, checked, compared, and mined by a tool for process mining."""

from __future__ import annotations

import importlib.util
import json
import random
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import symveil as sv
from cli.running import symveil
from symveil.errors import FileError, ParameterError, SymveilError
from symveil.formats.models.model_json import read_law
from symveil.tasks.budgets import grant_budget
from symveil.tasks.check import check_manifest
from tasks.test_count_times import killed_before_it_is_published

ACTIVITIES = ["register", "check", "decide", "pay"]
ASKED = {"case": "who", "symbol": "what", "time": "when", "alphabet": ACTIVITIES, "lengths": (1, 6), "epsilon": 4}
PERIOD = "2024-01-01..2024-06-30"


def log(folder: Path, *, cases: int = 600, stamp=None, seed: int = 1) -> Path:
    """Cases that start in office hours on working days; checks take minutes, decisions days."""
    rng = random.Random(seed)
    rows = []
    for case in range(cases):
        day = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=rng.randrange(26) * 7 + rng.randrange(5))
        moment = day + timedelta(hours=rng.randrange(8, 16), seconds=rng.randrange(3600))
        for event, name in enumerate(ACTIVITIES[: rng.choice([2, 3, 4, 4])]):
            text = moment.isoformat() if stamp is None else stamp(case, event)
            rows.append(f"c{case},{name},{event},{text}\n")
            moment += timedelta(seconds=rng.randrange(120, 600)) if event == 0 else timedelta(days=rng.randrange(2, 6))
    file = folder / "log.csv"
    file.write_text("who,what,nth,when\n" + "".join(rows))
    return file


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learned")
    return sv.learn(log(folder), folder / "model.json", period=PERIOD, timezone="Europe/Amsterdam", **ASKED)


def test_a_manifest_says_what_is_public_and_all_eight_queries(learned):
    told = learned.manifest["times"]
    assert set(told) == {"artificial", "learned", "period", "timezone", "edges_seconds", "share"}
    assert (told["artificial"], told["learned"], told["period"], told["share"]) == (False, True, PERIOD, "0.4")
    assert len(learned.manifest["queries"]) == 8
    assert learned.manifest["guarantee"]["epsilon"] == 4.0
    assert check_manifest(learned.manifest_file).holds
    assert json.loads(learned.out.read_text())["times"]["period"] == PERIOD


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl", "xes"])
def test_synthetic_words_have_times_in_every_format(learned, tmp_path, suffix):
    out = tmp_path / f"synthetic.{suffix}"
    drawn = sv.synthesize(learned, out, count=300)
    checked = check_manifest(tmp_path / f"synthetic.{suffix}.manifest.json")
    assert checked.holds, [each for each in checked.checks if not each.holds]
    assert drawn.table.column_names == ["case:concept:name", "concept:name", "time:timestamp"]
    if suffix == "csv":
        lines = out.read_text().splitlines()
        assert lines[0] == "case:concept:name,concept:name,time:timestamp"
        assert lines[1].split(",")[2][-6:] in ("+01:00", "+02:00")
        assert len(lines) == 1 + drawn.table.num_rows
    if suffix == "parquet":
        assert str(pq.read_schema(out).field("time:timestamp").type) == "timestamp[us, tz=Europe/Amsterdam]"
    if suffix == "xes":
        assert "learned privately" in out.read_text()
    words = list(
        sv.read_sequences(out, **({} if suffix == "xes" else {"case": "case:concept:name", "symbol": "concept:name"}))
    )
    assert [list(word) for word in words] == drawn.words


def test_times_resemble_the_true_ones(tmp_path):
    # a longest wait of a month is public; with that of a year one run in ten has noise in months that nobody waited
    source = log(tmp_path)
    model = sv.learn(
        source, tmp_path / "m.json", period=PERIOD, timezone="Europe/Amsterdam", durations="1s..30d", **ASKED
    )  # fmt: skip
    sv.synthesize(model, tmp_path / "synthetic.csv", count=600)
    read = {"case": "who", "symbol": "what", "order": "nth", "time": "when"}
    metrics = sv.compare(source, tmp_path / "synthetic.csv", **read).metrics
    assert metrics["cycle_median_error"] < 0.3
    assert metrics["cycle_w1"] < 0.4
    assert metrics["start_hour_jsd"] < 0.1  # knowing nothing: 0.35
    assert metrics["wait_median_log2"] < 1.5
    assert metrics["weekday_jsd"] < 0.08
    assert metrics["week_l1"] < 0.5
    zone_of_the_manifest = sv.compare(source, tmp_path / "synthetic.csv", timezone="Asia/Tokyo", **read).metrics
    assert zone_of_the_manifest["cycle_w1"] == metrics["cycle_w1"]


def test_files_with_artificial_times_have_no_metrics_of_times(tmp_path):
    plain = sv.learn(
        log(tmp_path, cases=60),
        tmp_path / "m.json",
        **{key: value for key, value in ASKED.items() if key != "time"},
        order="nth",
    )
    sv.synthesize(plain, tmp_path / "s.xes", count=20)
    found = sv.compare(tmp_path / "log.csv", tmp_path / "s.xes", case="who", symbol="what", order="nth", time="when")
    assert not any("cycle" in name or "hour" in name for name in found.metrics)
    assert check_manifest(tmp_path / "s.xes.manifest.json").holds


def test_words_are_learned_bit_for_bit_as_without_times(tmp_path, monkeypatch):
    """The word tables are the same function of the file: with the same key, ε and names the same law of words."""
    source = log(tmp_path)
    key = bytes(range(32))
    monkeypatch.setattr("symveil.release.protocol.new_release_key", lambda: key)
    monkeypatch.setattr("symveil.release.protocol.new_release_id", lambda: "r")
    common = {**ASKED, "order": "nth"}
    timed = sv.learn(source, tmp_path / "timed.json", period=PERIOD, **{**common, "epsilon": 5}, again=True)
    plain = sv.learn(
        source,
        tmp_path / "plain.json",
        **{**{k: v for k, v in common.items() if k != "time"}, "epsilon": 3},
        again=True,
    )
    assert timed.manifest["queries"][:3] == plain.manifest["queries"]
    one, other = (json.loads(each.out.read_text()) for each in (timed, plain))
    assert one["law"] == other["law"]
    assert one["transitions"] == other["transitions"]


STRANGE = {
    "none": lambda case, event: "",
    "unreadable": lambda case, event: "then",
    "outside": lambda case, event: f"1850-01-01T00:00:{event:02d}Z",
    "long": lambda case, event: f"{1000 + 2000 * event}-01-01T00:00:00Z",
    "ends": lambda case, event: "9999-12-31T23:59:59Z" if event else "0001-01-01T00:00:00Z",
    "mixed": lambda case, event: ["2024-01-01", "2024-01-01T01:00Z", "?"][(case + event) % 3],
}


def test_nothing_tells_what_was_not_counted(tmp_path):
    told = set()
    for name, stamp in STRANGE.items():
        folder = tmp_path / name
        folder.mkdir()
        result = symveil(
            "learn", str(log(folder, cases=40, stamp=stamp)), "--epsilon", "1", "--alphabet", ",".join(ACTIVITIES),
            "--lengths", "1..6", "--case", "who", "--symbol", "what", "--order", "nth", "--time", "when",
            "--period", PERIOD, "--out", str(folder / "model.json"), "--json",
        )  # fmt: skip
        assert result.status == 0, result.err
        manifest = json.loads((folder / "model.json.manifest.json").read_text())
        told.add(json.dumps({key: manifest[key] for key in ("parameters", "times", "guarantee", "output")}))
        # all that is said follows from released numbers: how much of a table is noise
        lines = [line for line in result.err.split("symveil: ") if line.strip()]
        always = ("note: each case or sequence counts as one person", "note: no ledger keeps count")
        assert all("mostly noise" in line or line.startswith(always) for line in lines), result.err
        sv.synthesize(folder / "model.json", folder / "s.csv", count=30)
        assert check_manifest(folder / "s.csv.manifest.json").holds
    assert len(told) == 1
    empty = tmp_path / "empty.csv"
    empty.write_text("who,what,nth,when\n")
    model = sv.learn(empty, tmp_path / "empty.json", period=PERIOD, **ASKED)
    assert sv.synthesize(model, count=5).released == 5


def test_a_killed_release_writes_the_same_bytes_and_other_settings_are_refused(tmp_path, monkeypatch):
    source = log(tmp_path, cases=80)
    true = source.read_bytes()

    def release(**changed):
        asked = {**ASKED, "period": PERIOD, "order": "nth", **changed}
        return sv.learn(source, tmp_path / "model.json", ledger=tmp_path / "ledger.db", release_id="r", **asked)

    grant_budget(tmp_path / "ledger.db", 100, everyone=True)
    first = killed_before_it_is_published(monkeypatch, release)
    for changed in (
        {"period": "2024-01-01..2024-06-29"},
        {"timezone": "Asia/Tokyo"},
        {"durations": "0,1h,1d,30d"},
        {"time_share": 0.3},
        {"date_format": "%Y"},
    ):
        with pytest.raises(SymveilError, match="release r"):
            release(**changed)
    with monkeypatch.context() as patched:
        patched.setattr("symveil.tasks.learn_privately.row_rule", lambda _steps: {})
        with pytest.raises(SymveilError, match="release r"):
            release()
    log(tmp_path, cases=80, stamp=lambda case, event: f"2024-01-02T0{event}:00:00Z")
    with pytest.raises(SymveilError, match="release r"):
        release()
    source.write_bytes(true)
    assert release().out.read_bytes() == first


def test_other_lengths_of_links_are_another_question(tmp_path, monkeypatch):
    """Waits are counted for a kilometre: the same names of cells, and so the same noise, with other sums."""
    rows = "".join(f"{trip},a b,2024-01-01T08:00:00Z 2024-01-01T08:{trip % 50:02d}:00Z\n" for trip in range(60))
    (tmp_path / "trips.csv").write_text("id,links,times\n" + rows)
    places = tmp_path / "places.csv"
    zones = tmp_path / "zones.csv"
    zones.write_text("symbol,zone\na,west\nb,east\n")

    def release(metres):
        places.write_text(f"symbol,x1,y1,x2,y2\na,0,0,{metres},0\nb,{metres},0,2100,0\n")
        return sv.learn(
            tmp_path / "trips.csv", tmp_path / "m.json", epsilon=1, alphabet="ab", lengths=(2, 2), kind="trips",
            places=places, zones=zones, sequence="links", time="times", period="2024-01-01..2024-01-07",
            ledger=tmp_path / "ledger.db", release_id="r",
        )  # fmt: skip

    grant_budget(tmp_path / "ledger.db", 100, everyone=True)
    first = killed_before_it_is_published(monkeypatch, lambda: release(100))
    with pytest.raises(SymveilError, match="release r"):
        release(900)
    assert release(100).out.read_bytes() == first


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"period": None}, "period: expected with `time`"),
        ({"time": None}, "period: expected the column of times"),
        ({"time": None, "period": None, "timezone": "UTC"}, "timezone: expected the column of times"),
        ({"period": "2024"}, "period: expected a first and a last date"),
        ({"time_share": 1}, "time_share: expected a number between 0 and 1"),
        ({"time_share": "much"}, "time_share: expected a number between 0 and 1"),
        ({"durations": "1d..1h"}, "durations: expected a range"),
        ({"timezone": "Moon"}, "timezone: expected the name of a time zone"),
    ],
    ids=str,
)
def test_options_that_do_not_fit_are_refused_before_the_file_is_opened(tmp_path, changed, message):
    with pytest.raises(ParameterError, match=message):
        sv.learn(tmp_path / "there-is-none.csv", tmp_path / "m.json", **{**ASKED, "period": PERIOD, **changed})


def test_a_model_whose_times_were_tampered_with_is_refused_and_fails_its_check(learned, tmp_path):
    document = json.loads(learned.out.read_text())
    for name, value in (
        ("period", "soon"),
        ("cycle", [1.0]),
        ("timezone", "Moon"),
        ("rows", "x"),
        ("edges_seconds", [1, 2]),
    ):
        broken = tmp_path / "broken.json"
        broken.write_text(json.dumps({**document, "times": {**document["times"], name: value}}))
        with pytest.raises(FileError, match="a law as symveil writes it"):
            read_law(broken)
    manifest = json.loads(learned.manifest_file.read_text())
    copy = tmp_path / "model.json"
    copy.write_bytes(learned.out.read_bytes())
    for name, value in (("share", "1/2"), ("period", "2024-01-01..2024-06-29"), ("timezone", "UTC")):
        changed = {**manifest, "times": {**manifest["times"], name: value}}
        (tmp_path / "model.json.manifest.json").write_text(json.dumps(changed))
        assert not check_manifest(tmp_path / "model.json.manifest.json").holds


def test_synthetic_times_that_go_backwards_fail_the_check(learned, tmp_path):
    sv.synthesize(learned, tmp_path / "s.xes", count=50)
    manifest = json.loads((tmp_path / "s.xes.manifest.json").read_text())
    lines = (tmp_path / "s.xes").read_text().split("\n")
    at = next(at for at, line in enumerate(lines) if line.startswith("<event>") and "register" not in line)
    lines[at] = lines[at].replace('value="2024', 'value="2023')
    (tmp_path / "s.xes").write_text("\n".join(lines))
    from symveil.storage.files import digest_of

    manifest["digests"]["output"] = digest_of(tmp_path / "s.xes")
    (tmp_path / "s.xes.manifest.json").write_text(json.dumps(manifest))
    checked = check_manifest(tmp_path / "s.xes.manifest.json")
    assert [each.name for each in checked.checks if not each.holds] == ["words"]


MINED = """
import json, sys, warnings
warnings.simplefilter("ignore")
import pandas as pd
import pm4py
readers = {"xes": pm4py.read_xes, "csv": lambda file: pm4py.format_dataframe(pd.read_csv(file)),
           "parquet": lambda file: pm4py.format_dataframe(pd.read_parquet(file)),
           "jsonl": lambda file: pm4py.format_dataframe(pd.read_json(file, lines=True, dtype=False))}
results = []
for file in sys.argv[1:]:
    log = readers[file.rpartition(".")[2]](file)
    graph, starts, ends = pm4py.discover_performance_dfg(log)
    durations = pm4py.get_all_case_durations(log)
    results.append({"arcs": len(graph), "least": min([each["min"] for each in graph.values()], default=0),
                    "cases": len(durations), "shortest": min(durations), "longest": max(durations)})
print(json.dumps(results))
"""


@pytest.mark.skipif(importlib.util.find_spec("pm4py") is None, reason="pm4py is not installed (the extra peers)")
def test_pm4py_discovers_a_performance_graph_of_every_synthetic_log(learned, tmp_path):
    """As a reader of our pages would: of every format, across a change of the clock, with attributes, and of noise."""
    few = tmp_path / "few.csv"
    few.write_text("who,what,nth,when,desk\n1,register,1,,north\n")
    changed = log(tmp_path, cases=300, stamp=lambda case, event: f"2024-10-27T{case % 3:02d}:{event * 9:02d}:00Z")
    models = [
        learned,
        sv.learn(changed, tmp_path / "c.json", period="2024-10-27..2024-10-27", timezone="Europe/Amsterdam", **ASKED),
        sv.learn(few, tmp_path / "f.json", period=PERIOD, **ASKED | {"epsilon": 0.1}, attributes={"desk": ["north"]}),
    ]
    files = []
    for number, model in enumerate(models):
        for suffix in ("xes", "csv", "parquet", "jsonl"):
            files.append(str(tmp_path / f"s{number}.{suffix}"))
            sv.synthesize(model, files[-1], count=200)
    done = subprocess.run([sys.executable, "-c", MINED, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout.strip().splitlines()[-1])
    assert len(results) == len(files)
    for result in results:
        assert result["cases"] == 200
        assert result["arcs"] >= 3
        assert result["least"] >= 0
        assert result["shortest"] >= 0
    assert all(result["longest"] > 86_400 for result in results[:4])


def test_trips_on_a_map_move_at_believable_speeds(tmp_path):
    """Links of 100 m and of 2 km at 36 km/h: a synthetic trip takes ten times as long on the long ones."""
    rng = random.Random(3)
    places = tmp_path / "places.csv"
    places.write_text("symbol,x1,y1,x2,y2\na,0,0,100,0\nb,100,0,2100,0\nc,2100,0,2200,0\nd,2200,0,4200,0\n")
    rows = []
    for trip in range(2000):
        moment = datetime(2024, 1, 1, rng.choice([8, 8, 17]), rng.randrange(60), tzinfo=UTC)
        texts = []
        for _, metres in zip("abcd", (100, 2000, 100, 2000), strict=True):
            texts.append(moment.isoformat())
            moment += timedelta(seconds=metres / rng.uniform(9, 11))
        rows.append(f"{trip},a b c d,{' '.join(texts)}\n")
    (tmp_path / "trips.csv").write_text("id,links,times\n" + "".join(rows))
    model = sv.learn(
        tmp_path / "trips.csv", tmp_path / "m.json", epsilon=4, alphabet="abcd", lengths=(4, 4), places=places,
        sequence="links", time="times", period="2024-01-01..2024-01-07", kind="trips", zones="1",
    )  # fmt: skip
    law = read_law(model.out).times
    assert law is not None
    assert law.steps.metres is not None
    drawn = sv.synthesize(model, tmp_path / "s.csv", count=500)
    waits: dict[str, list[float]] = {}
    at = 0
    for word in drawn.words:
        instants = drawn.times.instants[at : at + len(word)]
        at += len(word)
        for symbol, one, other in zip(word, instants, instants[1:], strict=False):
            waits.setdefault(symbol, []).append(float(other - one))
    middle = {symbol: sorted(own)[len(own) // 2] for symbol, own in waits.items()}
    assert 5 <= middle["a"] <= 20
    assert 120 <= middle["b"] <= 330
    assert check_manifest(tmp_path / "s.csv.manifest.json").holds
