"""Private times of events in files: what comes out, what is promised, and what is refused."""

import contextlib
import json
import math
from collections import Counter
from datetime import datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2

import symveil as sv
from symveil.cli.entry import main
from symveil.errors import InputError
from symveil.laws.event_law import EventLaw
from symveil.release.timed import TimeGrid
from symveil.tasks.check import check_manifest

FALSE_ALARM = 1e-6
"""Of the chi-square test below: so often it fails although the law is right."""
STAMPS = [
    "2024-05-01T08:10:41",
    "2024-05-01T09:20:42",
    "2024-05-02T23:59:43",
    "2024-05-03T00:00:44",
    "2024-05-09T17:31:45",
]
ROWS = [
    ("k1", "a", STAMPS[0]),
    ("k1", "b", STAMPS[1]),
    ("k1", "c", STAMPS[2]),
    ("k2", "a", STAMPS[3]),
    ("k2", "b", STAMPS[4]),
]


def write_log(folder: Path, kind: str, rows=ROWS) -> Path:
    file = folder / f"log.{kind}"
    if kind == "csv":
        file.write_text("case,activity,stamp\n" + "".join(f"{','.join(row)}\n" for row in rows))
    elif kind == "jsonl":
        names = ("case", "activity", "stamp")
        file.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))
    elif kind == "parquet":
        import pyarrow as pa

        stamps = pa.array([datetime.fromisoformat(row[2]) for row in rows], type=pa.timestamp("us"))
        columns = {"case": [row[0] for row in rows], "activity": [row[1] for row in rows], "stamp": stamps}
        pq.write_table(pa.table(columns), file)
    else:
        lines = ["<log>"]
        for case in dict.fromkeys(row[0] for row in rows):
            lines.append(f'<trace><string key="concept:name" value="{case}"/>')
            lines += [
                f'<event><string key="concept:name" value="{symbol}"/>'
                f'<date key="time:timestamp" value="{stamp}"/></event>'
                for own, symbol, stamp in rows
                if own == case
            ]
            lines.append("</trace>")
        file.write_text("\n".join([*lines, "</log>"]))
    return file


def named(kind):
    if kind == "xes":
        return {"time": "time:timestamp"}
    return {"case": "case", "symbol": "activity", "order": "stamp", "time": "stamp"}


def released(file, *, grid="hour", epsilon=3, **options):
    kind = file.suffix[1:]
    out = file.with_name(f"private.{kind}")
    return sv.privatize_file(
        file, out, **{**named(kind), "alphabet": "abc", "epsilon": epsilon, "time_grid": grid, **options}
    )


def read_again(release):
    columns = release.manifest["output"]["columns"]
    text = release.out.read_bytes()
    if release.out.suffix == ".parquet":
        return pq.read_table(release.out).to_pylist()
    if release.out.suffix == ".jsonl":
        return [json.loads(line) for line in text.decode().splitlines()]
    if release.out.suffix == ".csv":
        head, *rows = text.decode().splitlines()
        return [dict(zip(head.split(","), row.split(","), strict=True)) for row in rows]
    del columns
    return text.decode()


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "xes"])
@pytest.mark.parametrize("grid", ["hour", "hour-of-week", "wait:1m..7d"])
def test_private_files_hold_grid_times_only_and_their_manifests_hold(tmp_path, kind, grid):
    release = released(write_log(tmp_path, kind), grid=grid)
    checked = check_manifest(release.manifest_file)
    assert checked.holds, checked
    law = release.manifest["law"][0]
    assert (law["mechanism"], law["shift"], law["rate"]) == ("joint-staircase", "any", "3")
    assert law["time_grid"] == TimeGrid.read(grid).name
    visible = release.manifest_file.read_text() + str(read_again(release)) + str(release.document())
    for stamp in STAMPS:
        for part in (stamp, stamp.replace("T", " "), stamp[11:], stamp[:10]):
            assert part not in visible
    rows = read_again(release)
    if kind == "xes":
        assert rows.count('key="time:hour"') == (0 if "wait" in grid else 5)
        assert rows.count('key="time:timestamp"') == 6  # and the log's head
    elif "wait" not in grid:
        assert all(0 <= int(row["hour"]) < TimeGrid.read(grid).bins for row in rows)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "xes"])
def test_released_waits_are_middles_of_their_bins(tmp_path, kind):
    """At epsilon 100 nothing changes but with probability e^-90."""
    release = released(write_log(tmp_path, kind), grid="wait:0,1h,1d,30d", epsilon=100)
    middles = TimeGrid.read("wait:0,1h,1d,30d").middles().tolist()
    assert middles == [0, math.isqrt(3600 * 86400), math.isqrt(86400 * 30 * 86400)]
    rows = read_again(release)
    if kind == "xes":
        stamps = [part.split('"')[0] for part in rows.split('key="time:timestamp" value="')[2:]]
    else:
        stamps = [str(row["stamp"]) for row in rows]
    seconds = [datetime.fromisoformat(stamp).timestamp() for stamp in stamps]
    # 70 minutes, then 38 h 39 min; and six days
    assert [seconds[1] - seconds[0], seconds[2] - seconds[1], seconds[4] - seconds[3]] == [
        middles[1], middles[2], middles[2],
    ]  # fmt: skip
    assert seconds[0] == seconds[3]


def test_hours_are_those_of_the_declared_zone(tmp_path):
    rows = [
        ("k", "a", "2024-05-01T08:10:00Z"),
        ("k", "b", "2024-05-01T23:30:00+00:00"),
        ("k", "c", "2024-05-01T10:00:00"),
    ]
    file = write_log(tmp_path, "csv", rows)
    for zone, hours in ((None, [8, 23, 10]), ("Europe/Amsterdam", [10, 1, 10])):
        release = released(file, epsilon=100, timezone=zone, again=True, order=None)
        assert [int(row["hour"]) for row in read_again(release)] == hours
    week = released(file, grid="hour-of-week", epsilon=100, order=None)
    assert [int(row["hour"]) for row in read_again(week)] == [48 + 8, 48 + 23, 48 + 10]  # a Wednesday


@pytest.mark.parametrize("shift", ["any", 2])
def test_what_is_released_follows_the_law(tmp_path, shift):
    size = 12_000
    rows = [(f"k{i}", "b", "2024-05-01T05:00:00") for i in range(size)]
    release = released(write_log(tmp_path, "csv", rows), epsilon=2, time_shift=shift)
    law = release.manifest["law"][0]
    own = EventLaw(
        symbols=3, bins=24, circle=True, shift=None if shift == "any" else shift, step=law["step"],
        rate=Fraction(law["rate"]),
    )  # fmt: skip
    same, other = own.kernels(float(np.exp(-float(own.rate))))
    counts = Counter((row["activity"], int(row["hour"])) for row in read_again(release))
    total = sum(
        (counts[symbol, hour] - size * chance) ** 2 / (size * chance)
        for symbol in "abc"
        for hour, chance in enumerate((same if symbol == "b" else other)[5])
    )
    assert total < chi2.isf(FALSE_ALARM, 71)


def test_promise_of_several_events(tmp_path):
    release = released(write_log(tmp_path, "csv"), epsilon=4, adjacency=2, time_shift=3)
    law, guarantee = release.manifest["law"][0], release.manifest["guarantee"]
    assert Fraction(law["rate"]) <= 2
    assert guarantee["epsilon"] == pytest.approx(2 * float(Fraction(law["rate"])))
    assert guarantee["epsilon"] <= 4
    # an event that changes arbitrarily: 12 hours are four shifts of 3
    assert guarantee["loss_at"][0]["epsilon"] == pytest.approx(4 * float(Fraction(law["rate"])))


def test_check_finds_a_rate_above_the_budget_and_another_step(tmp_path):
    release = released(write_log(tmp_path, "csv"), epsilon=2, time_shift=3)
    document = json.loads(release.manifest_file.read_text())
    for changed in ({"rate": "3"}, {"step": 9}, {"shift": 4}, {"time_grid": "hour-of-week"}, {"rate": "1.5"}):
        other = json.loads(json.dumps(document))
        other["law"][0] |= changed
        release.manifest_file.write_text(json.dumps(other))
        assert not check_manifest(release.manifest_file).holds, changed
    release.manifest_file.write_text(json.dumps(document))
    assert check_manifest(release.manifest_file).holds


def test_event_without_a_time_is_refused_by_position_or_left_out(tmp_path):
    rows = [*ROWS, ("k3", "a", "2024-05-01T01:02:03"), ("k3", "b", "yesterday")]
    file = write_log(tmp_path, "csv", rows)
    options = {"order": None}
    with pytest.raises(
        InputError, match="line 7: expected a time for every event, found none .* position 2 of 2"
    ) as error:
        released(file, **options)
    assert "yesterday" not in str(error.value)
    assert not file.with_name("private.csv").exists()
    release = released(file, on_unknown="drop-sequence", **options)
    assert release.manifest["counts"]["dropped_unknown"] == 1


def test_waits_between_two_kinds_of_times_are_refused(tmp_path):
    rows = [("k", "a", "2024-05-01T01:02:03"), ("k", "b", "2024-05-01T01:02:03Z")]
    file = write_log(tmp_path, "csv", rows)
    with pytest.raises(InputError, match="position 2 of 2"):
        released(file, grid="wait:1m..7d", order=None)
    released(file, order=None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time": None}, "time: expected `time` and `time_grid` together"),
        ({"time_grid": None}, "time_grid: expected `time` and `time_grid` together"),
        ({"time_grid": None, "time": None, "time_shift": 1}, "time_shift: expected `time_grid` with it"),
        ({"time_grid": "minute"}, "time_grid: expected hour, hour-of-week, or waits"),
        ({"time_grid": "wait:9d..1d"}, "time_grid: expected after wait: a range"),
        ({"time_grid": "wait:0,1d"}, "time_grid: expected 2 bins"),
        ({"time_shift": 0}, "time_shift: expected a whole number of bins"),
        ({"time_shift": "2.5"}, "time_shift: expected a whole number of bins"),
        ({"timezone": "Mars"}, "timezone: expected the name of a time zone"),
        ({"adjacency": "all"}, "adjacency: expected a number of events"),
        ({"metric": "levenshtein", "max_length": 5}, "time_grid: expected metric hamming with it"),
        ({"mechanism": "staircase"}, "mechanism: expected auto with released times"),
        ({"utility": "inverse"}, "utility: expected nothing beside released times"),
        ({"time_share": "0.5"}, "time_share: expected a model with it"),
        ({"keep": ["stamp"], "order": None}, "keep: expected no column of times"),
        ({"engine": "spark"}, "time_grid: expected the local engine"),
        ({"time_grid": "wait:1m..7d", "time_step": "1h"}, "time_step: expected none with waits"),
        ({"ledger": "budgets.db", "time_shift": 1}, "time_shift: expected any with a ledger"),
    ],
)
def test_refused_before_the_file_is_opened(tmp_path, options, message):
    file = tmp_path / "nothing.csv"  # there is none: reading it would say so
    with pytest.raises(InputError, match=message):
        released(file, **{"grid": "hour", **options})


def test_a_file_with_a_sequence_in_each_row_is_refused(tmp_path):
    file = tmp_path / "wide.csv"
    file.write_text("id,links,stamp\n1,a b,2024-05-01T01:02:03\n")
    for grid in ("hour", "wait:1m..7d"):
        with pytest.raises(InputError, match="time: expected one event in each row"):
            sv.privatize_file(
                file, tmp_path / "p.csv", sequence="links", time="stamp", time_grid=grid, alphabet="ab", epsilon=1
            )


def test_a_column_called_hour_does_not_pass_beside_the_private_one(tmp_path):
    file = tmp_path / "log.csv"
    file.write_text("case,activity,stamp,hour\nk,a,2024-05-01T08:00:00,8\n")
    release = released(file, epsilon=100)
    assert read_again(release) == [{"case": "k", "activity": "a", "stamp": "1", "hour": "8"}]
    with pytest.raises(InputError, match="keep: expected no column 'hour'"):
        released(file, keep=["hour"], again=True)


def test_a_release_that_runs_again_under_a_ledger_draws_nothing_new(tmp_path):
    ledger = tmp_path / "budgets.db"
    sv.grant_budget(ledger, 10, everyone=True)
    file = write_log(tmp_path, "csv")
    one = released(file, ledger=ledger, release_id="r")
    text = one.out.read_bytes()
    two = released(file, ledger=ledger, release_id="r")
    assert two.already_done
    assert two.out.read_bytes() == text
    assert one.largest_charge == "3"


def test_waits_that_would_leave_the_calendar_are_refused_by_the_length(tmp_path):
    rows = [("k", "a", f"2024-05-01T00:00:{i % 60:02d}") for i in range(300)]
    with pytest.raises(InputError, match="time_grid: expected waits with which 300 events end before the year 9999"):
        released(write_log(tmp_path, "csv", rows), grid="wait:0,36500d,36600d", order=None)


def test_command(tmp_path, capsys, monkeypatch):
    file = write_log(tmp_path, "csv")
    out = tmp_path / "p.csv"
    command = ["privatize", str(file), "--case", "case", "--symbol", "activity", "--order", "stamp", "--time", "stamp"]
    command += ["--time-grid", "hour", "--time-shift", "1", "--epsilon", "4", "--alphabet", "abc", "--out", str(out)]
    monkeypatch.setattr("sys.argv", ["symveil", *command])
    with contextlib.suppress(SystemExit):
        main()
    shown = capsys.readouterr().out
    assert "joint-staircase" in shown
    assert "private times" in shown
    assert out.read_text().splitlines()[0] == "case,activity,stamp,hour"


@pytest.mark.parametrize("share", [None, "1/4"])
def test_on_a_model_words_and_times_share_epsilon(tmp_path, share):
    """Words are drawn on the model, times beside them by the law without symbols; the losses add up to epsilon."""
    chain = sv.MarkovChain.from_transitions(
        [(one, two, Fraction(1, 2)) for one, two in ("ab", "ac", "ba", "bc", "ca", "cb")], initial="a"
    )
    sv.save_model(chain, tmp_path / "ring.json")
    size = 6000
    rows = [
        (f"k{i}", symbol, f"2024-05-01T{hour}:00:00")
        for i in range(size)
        for symbol, hour in (("b", "05"), ("c", "21"))
    ]
    options = {key: value for key, value in named("csv").items() if key != "order"}
    release = sv.privatize_file(
        write_log(tmp_path, "csv", rows), tmp_path / "p.csv", model=tmp_path / "ring.json", epsilon=4, adjacency=2,
        time_grid="hour", time_shift=1, time_share=share, thin=True, **options,
    )  # fmt: skip
    law, of_times = release.manifest["law"][0], Fraction(share or "2/5")
    rate = Fraction(law["time_rate"])
    assert Fraction(8, 10) * 2 * of_times <= rate <= 2 * of_times
    words = sv.select_mechanism(sv.runs(chain, 2), epsilon=4 * (1 - of_times), adjacency=2)
    assert release.manifest["guarantee"]["epsilon"] == pytest.approx(
        words.guarantee.epsilon + 2 * float(rate), abs=1e-12
    )
    assert release.manifest["guarantee"]["epsilon"] <= 4
    assert release.manifest["parameters"]["time_share"] == ("0.4" if share is None else "0.25")
    assert check_manifest(release.manifest_file).holds
    own = EventLaw(symbols=1, bins=24, circle=True, shift=1, step=law["step"], rate=rate)
    chances = np.array(own.kernels(float(np.exp(-float(rate))))[0])
    hours = np.array([int(row["hour"]) for row in read_again(release)]).reshape(size, 2)
    for column, true in ((0, 5), (1, 21)):
        mean = size * chances[true]
        assert ((np.bincount(hours[:, column], minlength=24) - mean) ** 2 / mean).sum() < chi2.isf(FALSE_ALARM, 23)
    answer = sv.estimate(release.out, "visits", by="hour", model=chain, confidence=0.999999)
    rows = {row["hour"]: row for row in (answer.row(index) for index in range(24))}
    assert rows[5]["symbols"] == []
    for hour, count in ((5, size), (21, size), (12, 0)):
        assert rows[hour]["low_all"] <= count <= rows[hour]["high_all"]
    forged = json.loads(release.manifest_file.read_text())
    forged["law"][0]["time_rate"] = "1.9"
    release.manifest_file.write_text(json.dumps(forged))
    assert not check_manifest(release.manifest_file).holds
