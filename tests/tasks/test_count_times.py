"""Private counts of times by the commands: tables, manifests, checks, and what nobody may see."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import symveil as sv
from cli.running import symveil
from symveil.errors import FileError, ParameterError, SymveilError
from symveil.tasks.budgets import grant_budget
from symveil.tasks.check import check_manifest
from symveil.tasks.count import count, count_file

CASES = 400
SETTINGS = [
    ("starts", {"by": "hour"}),
    ("starts", {"by": "weekday"}),
    ("starts", {"by": "hour-of-week"}),
    ("starts", {"by": "week", "period": "2024-01-01..2024-02-29"}),
    ("starts", {"by": "month", "period": "2024-01-01..2024-02-29"}),
    ("durations", {"quantiles": "0.5,0.9"}),
    ("durations", {"by": "move", "durations": "0,1m,1h"}),
    ("durations", {"by": "activity"}),
    ("cycle-times", {"quantiles": (0.5,)}),
    ("longest-waits", {"threshold": "30m"}),
    ("time-shares", {}),
    ("mean-waits", {"cap": "2h", "by": "activity"}),
]


def log(
    folder: Path, *, stamp=lambda case, event: f"2024-01-{case % 28 + 1:02d}T{case % 24:02d}:{10 * event:02d}:00Z"
) -> Path:
    rows = [f"c{case},{'abc'[event]},{stamp(case, event)}\n" for case in range(CASES) for event in range(3)]
    file = folder / "log.csv"
    file.write_text("who,what,when\n" + "".join(rows))
    return file


READ = {"case": "who", "symbol": "what", "time": "when", "alphabet": "abc", "epsilon": 1}


@pytest.mark.parametrize(
    ("statistic", "asked"), SETTINGS, ids=[f"{name} {asked.get('by', '')}" for name, asked in SETTINGS]
)
@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet"])
def test_every_table_is_written_and_checks(tmp_path, statistic, asked, suffix):
    release = count_file(
        log(tmp_path), statistic, out=tmp_path / f"table{suffix}", timezone="Europe/Paris", **READ, **asked
    )
    checked = check_manifest(release.manifest_file)
    assert checked.holds, [each for each in checked.checks if not each.holds]
    told = release.manifest["parameters"]["time"]
    assert told["timezone"] == "Europe/Paris"
    row = release.document()["rows"][0]
    by = asked.get("by")
    assert by is None or by in row
    assert {"count", "low", "high"} <= set(row)
    quantiles = [row for row in release.document()["rows"] if "quantile" in row]
    assert bool(quantiles) == ("quantiles" in asked)
    for row in quantiles:
        assert set(row) >= {"quantile", "low", "high"}


def test_a_changed_number_in_a_table_fails_the_check(tmp_path):
    release = count_file(log(tmp_path), "durations", out=tmp_path / "table.json", quantiles="0.5", **READ)
    document = json.loads(release.out.read_text())
    for change in ("low", "count"):
        broken = json.loads(json.dumps(document))
        broken["rows"][0][change] += 5
        release.out.write_text(json.dumps(broken))
        assert not check_manifest(release.manifest_file).holds
        from symveil.languages.language import words_of_any_length
        from symveil.storage.files import digest_of
        from symveil.tasks.checks import check_table

        assert digest_of(release.out)
        assert not all(each.holds for each in check_table(release.out, release.manifest, words_of_any_length("abc")))


def test_counts_are_near_the_true_ones_and_quantiles_hold_them(tmp_path):
    table = sv.count(log(tmp_path), "starts", by="hour", bound=1, confidence=0.999999, **READ)
    rows = {row["hour"]: row for row in table.document()["rows"]}
    assert sorted(rows) == list(range(24))
    for hour in range(24):
        true = sum(case % 24 == hour for case in range(CASES))
        assert rows[hour]["low_all"] <= true <= rows[hour]["high_all"]
    waits = sv.count(log(tmp_path), "durations", quantiles="0.5", bound=2, durations="0,1m,10m,20m,1h", **READ)
    (row,) = [row for row in waits.document()["rows"] if "quantile" in row]
    assert (row["low"], row["high"]) == (600.0, 1200.0)
    mean = sv.count(log(tmp_path), "mean-waits", cap="1h", confidence=0.999999, **READ).row(0)
    assert mean["low"] <= 600 <= mean["high"]


def test_rush_hours_of_trips_in_a_table_with_one_trip_in_each_row(tmp_path):
    trips = tmp_path / "trips.csv"
    rows = [
        f"{n},x y,2024-01-01T08:00:00 2024-01-01T09:30:00\n"
        if n % 2
        else f"{n},y x,2024-01-01T17:00:00 2024-01-01T17:30:00\n"
        for n in range(400)
    ]
    trips.write_text("trip_id,links,times\n" + "".join(rows))
    zones = tmp_path / "zones.csv"
    zones.write_text("symbol,zone\nx,west\ny,east\n")
    read = {"time": "times", "alphabet": ["x", "y"], "epsilon": 2, "bound": 1, "zones": zones, "sequence": "links"}
    starts = {
        (*row["symbols"], row["hour"]): row["count"]
        for row in sv.count(trips, "starts", by="hour", **read).document()["rows"]
    }
    assert len(starts) == 48
    assert abs(starts["west", 8] - 200) < 15
    assert abs(starts["east", 17] - 200) < 15
    travel = sv.count(trips, "cycle-times", durations="0,45m,1h,2h", quantiles="0.5", **read).document()["rows"]
    best = {(*row["symbols"], row["from_seconds"]): row["count"] for row in travel if "count" in row}
    assert abs(best["west", "east", 3600] - 200) < 15
    assert abs(best["east", "west", 0] - 200) < 15
    ends = {tuple(row["symbols"]): (row["low"], row["high"]) for row in travel if "quantile" in row}
    assert ends["west", "east"] == (3600.0, None)
    assert ends["east", "west"] == (0.0, 2700.0)


@pytest.mark.parametrize(("statistic", "asked"), SETTINGS[:1] + SETTINGS[3:4] + SETTINGS[5:6] + SETTINGS[8:], ids=str)
def test_nothing_tells_what_was_not_counted(tmp_path, statistic, asked):
    """No readable time, none in the period, every wait beyond the last edge, no case at all: ordinary releases."""
    told = set()
    stamps = {
        "none": lambda case, event: "",
        "unreadable": lambda case, event: "then",
        "outside": lambda case, event: f"1850-01-01T00:00:{event:02d}Z",
        "long": lambda case, event: f"{1000 + 2000 * event}-01-01T00:00:00Z",
        "years": lambda case, event: "9999-12-31T23:59:59Z" if event else "0001-01-01T00:00:00Z",
        "mixed": lambda case, event: ["2024-01-01", "2024-01-01T01:00Z", "?"][(case + event) % 3],
    }
    for name, stamp in stamps.items():
        folder = tmp_path / name
        folder.mkdir()
        options = [
            f"--{'from' if key == 'threshold' else key}={value[0] if isinstance(value, tuple) else value}"
            for key, value in asked.items()
        ]
        result = symveil(
            "count", str(log(folder, stamp=stamp)), "--statistic", statistic, "--epsilon", "1", "--alphabet", "abc",
            "--case", "who", "--symbol", "what", "--time", "when", "--bound", "normalised",
            "--out", str(folder / "table.json"), *options,
        )  # fmt: skip
        assert result.status == 0, result.err
        told.add(result.err.replace(str(folder), ""))
        manifest = json.loads((folder / "table.json.manifest.json").read_text())
        told.add(json.dumps({key: manifest[key] for key in ("parameters", "queries", "guarantee", "output")}))
    assert len(told) == 2  # the same words on standard error, and the same manifest, for all


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"statistic": "starts", "by": "move"}, "by: expected hour"),
        ({"statistic": "starts", "by": "week"}, "period: expected"),
        ({"statistic": "mean-waits"}, "cap: expected"),
        ({"statistic": "visits", "by": "hour"}, "by: expected starts"),
        ({"statistic": "visits"}, "time: expected starts"),
        ({"statistic": "durations", "quantiles": "1.5"}, "quantiles: expected"),
        ({"statistic": "starts", "quantiles": "0.5"}, "quantiles: expected"),
        ({"statistic": "starts", "durations": "0,1h"}, "durations: expected"),
        ({"statistic": "starts", "timezone": "Moon/Base"}, "timezone: expected"),
        ({"statistic": "durations", "durations": "1h,0"}, "durations: expected"),
        ({"statistic": "longest-waits", "threshold": "soon"}, "threshold: expected"),
        ({"statistic": "starts", "time": None}, "time: expected the column of times"),
        ({"statistic": "time-shares", "bound": 3}, "bound: expected normalised"),
        ({"statistic": "durations", "period": "2024-01-01..2024-02-01"}, "period: expected the statistic starts"),
        ({"statistic": "durations", "zones": "6"}, "zones: expected the statistic starts or cycle-times"),
        ({"statistic": "starts", "alphabet": None, "delta": 1e-6}, "delta: expected a public alphabet"),
    ],
    ids=str,
)
def test_options_that_do_not_fit_are_refused_before_the_file_is_opened(tmp_path, options, message):
    asked = {**READ, **options}
    statistic = asked.pop("statistic")
    with pytest.raises(ParameterError, match=message):
        sv.count(tmp_path / "there-is-none.csv", statistic, **asked)


class Killed(BaseException):
    """Stands for kill -9 between writing and publishing."""


def killed_before_it_is_published(monkeypatch, release) -> bytes:
    """What a release had written when it was killed."""
    written: list[bytes] = []

    def write(self, content):
        written.append(content)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr("symveil.storage.files.TemporaryOutput.write", write)
        with pytest.raises(Killed):
            release()
    return written[0]


def test_a_killed_release_writes_the_same_bytes_and_other_times_under_its_name_are_refused(tmp_path, monkeypatch):
    def release(**changed):
        asked = {**READ, "by": "hour", **changed}
        return count_file(
            tmp_path / "log.csv",
            "starts",
            out=tmp_path / "one.csv",
            ledger=tmp_path / "ledger.db",
            release_id="r",
            **asked,
        )

    source = log(tmp_path)
    true = source.read_bytes()
    grant_budget(tmp_path / "ledger.db", 10, everyone=True)
    first = killed_before_it_is_published(monkeypatch, release)
    for changed in ({"timezone": "Asia/Tokyo"}, {"by": "weekday"}, {"date_format": "%Y-%m-%dT%H:%M:%S%z"}):
        with pytest.raises(SymveilError, match="release r"):
            release(**changed)
    log(tmp_path, stamp=lambda case, event: f"2024-01-01T{(case + 1) % 24:02d}:00:00Z")
    with pytest.raises(SymveilError, match="release r"):
        release()
    source.write_bytes(true)
    monkeypatch.setattr("symveil.tasks.central_files.TIME_GRAMMAR", 0)
    with pytest.raises(SymveilError, match="release r"):
        release()
    monkeypatch.undo()
    assert release().out.read_bytes() == first


def test_a_table_in_memory_is_counted_as_a_file(tmp_path):
    frame = pa.table(
        {"who": ["x", "x"], "what": ["a", "b"], "when": pa.array([0, 3_600_000_000], pa.timestamp("us", "UTC"))}
    )
    table = sv.count(frame, "durations", bound=1, durations="0,1m,1h,2h", **READ)
    assert [row["from_seconds"] for row in table.document()["rows"]].count(3600) == 1


@pytest.mark.parametrize("nested", [False, True], ids=["events", "lists"])
def test_objects_that_arrow_would_read_as_it_reads_the_first_one_are_refused(nested):
    """Arrow takes the kind of all from the first: the row of one person would decide the hours of others."""
    pd = pytest.importorskip("pandas")
    plain, tokyo = datetime(2024, 1, 1, 5), pd.Timestamp("2024-01-01T05:00:00", tz="Asia/Tokyo")
    for times in ([plain, tokyo], [tokyo, plain], [plain.date(), plain], [pd.NaT, tokyo, plain]):
        rows = {"c": [str(row) for row in range(len(times))], "s": "a", "n": 1, "t": pd.Series(times, dtype=object)}
        read = {"case": "c", "symbol": "s", "order": "n"}
        if nested:
            rows = {"id": rows["c"], "q": [["a"]] * len(times), "t": [[time] for time in times]}
            read = {"identifier": "id", "sequence": "q"}
        with pytest.raises(FileError, match="columns of one type each"):
            count(pd.DataFrame(rows), "starts", by="hour", time="t", alphabet="a", epsilon=1, **read)
        alike = pd.DataFrame(rows).iloc[[len(times) - 1]]
        count(alike, "starts", by="hour", time="t", alphabet="a", epsilon=1, **read)


def test_means_that_are_sure_to_be_long_come_first(tmp_path):
    rows = [f"{case},{event},{at},{stamp}\n" for case in range(300) for at, (event, stamp) in enumerate(
        [("a", "2024-01-01T00:00:00Z"), ("b", "2024-01-01T12:00:00Z")])]  # fmt: skip
    (tmp_path / "log.csv").write_text("c,s,n,t\n" + "".join(rows))
    read = {"case": "c", "symbol": "s", "order": "n", "time": "t"}
    table = count(
        tmp_path / "log.csv", "mean-waits", by="move", cap="1d", alphabet=[*"abcdefgh"], epsilon=1,
        confidence=1 - 1e-6, **read,
    )  # fmt: skip
    assert table.row(0)["move"] == ["a", "b"]
    assert (np.diff(table.numbers["low_all"]) <= 0).all()
