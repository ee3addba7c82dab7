"""Files with and without a person, and with another one in their place, where answers to queries are prescribed.

Then all that comes out must be the same: tables, models, manifests, warnings. And the sums that were asked for must be
as near as the promise says, with the same names of cells. So a size, an order or a message that depends on data in any
other way than through noisy answers fails here, whatever it is.
"""

from __future__ import annotations

import csv
import hashlib
import json
import random
import warnings
from fractions import Fraction
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import symveil as sv
from symveil.central.cells import GRID
from symveil.central.noise import Query

COLUMNS = ("person", "case", "nth", "what", "when", "desk", "cost")
PERIOD = "2024-03-03..2024-04-09"
STAMPS = (
    lambda n: f"2024-03-{n % 28 + 1:02d}T{n % 24:02d}:{n % 60:02d}:07Z",
    lambda n: f"2024-03-{n % 28 + 1:02d} {n % 24:02d}:{n % 60:02d}",
    lambda n: f"2024-03-31T{n % 4:02d}:{n % 60:02d}:00+01:00",
    lambda n: f"2024-10-27T02:{n % 60:02d}:00",
    lambda n: f"2024-04-01T08:00:{n % 60:02d}.{n % 1000:03d}+14:00",
    *(lambda _, text=text: text for text in (
        "", "?", "NaT", "2024-02-30", "2024-03-05", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
        "9998-12-31T23:59:59-23:59", "2024-06-30T23:59:60Z", "1700000000", "2031-01-01T00:00:00Z",
    )),
)  # fmt: skip
COUNTED = [
    ("starts", {"by": "hour"}), ("starts", {"by": "hour-of-week"}), ("starts", {"by": "week", "period": PERIOD}),
    ("starts", {"by": "month", "period": PERIOD}), ("starts", {"by": "weekday", "zones": "zones.csv"}),
    ("durations", {"by": "move", "quantiles": "0.01,0.5"}), ("durations", {"by": "activity", "durations": "0,1m,1h"}),
    ("durations", {}), ("cycle-times", {"quantiles": "0.5"}), ("cycle-times", {"zones": "zones.csv"}),
    ("longest-waits", {"threshold": "1m"}), ("time-shares", {}), ("mean-waits", {"cap": "7d", "by": "move"}),
    ("mean-waits", {"cap": "1s"}),
]  # fmt: skip
LEARNED = [
    {}, {"durations": "0,2h,3d,9d"}, {"kind": "trips", "places": "places.csv", "zones": "2"}, {"no_repeats": True},
    {"attributes": {"desk": ["x", "y"], "cost": "0,10,100"}}, {"attributes": {"case:size": ["1", "5"]}},
]  # fmt: skip


def random_person(rng: random.Random, name: str) -> list[tuple]:
    """Up to five cases, whose times are written in many ways."""
    rows = []
    for case in range(rng.choice([1, 1, 2, 3, 5])):
        write = rng.choice(STAMPS)
        at = rng.randrange(10**5)
        for nth in range(rng.choice([1, 1, 2, 3, 4, 9])):
            write = rng.choice(STAMPS) if rng.random() < 0.25 else write
            at += rng.choice([0, 1, 30, 4000, -50])
            what = rng.choice(["a", "b", "c", "d", "none"] if rng.random() < 0.1 else "abcd")
            rows.append((name, f"{name}-{case}", nth, what, write(at), rng.choice("xyz"), rng.choice(["1", "50", "?"])))
    return rows


def write_file(folder: Path, form: str, people: list[list[tuple]], columns: tuple[str, ...]) -> tuple[Path, dict]:
    """The file, and how it is read."""
    folder.mkdir()
    rows = [row for person in people for row in person]
    long = {"person": "person", "case": "case", "order": "nth", "symbol": "what", "time": "when"}
    file = folder / f"in.{form}"
    if form == "csv":
        with file.open("w", newline="") as out:
            csv.writer(out).writerows([columns, *rows])
        return file, long
    if form == "parquet":
        types = [pa.int64() if name == "nth" else pa.string() for name in columns]
        cells = [pa.array([row[at] for row in rows], kind) for at, kind in enumerate(types)]
        pq.write_table(pa.table(dict(zip(columns, cells, strict=True))), file)
        return file, long
    cases: dict[str, list[tuple]] = {}
    for row in rows:
        cases.setdefault(row[1], []).append(row)
    text = ["<log>"]
    for own in cases.values():
        text.append(f'<trace><string key="concept:name" value="{own[0][1]}"/><string key="who" value="{own[0][0]}"/>')
        for row in own:
            text.append(f'<event><string key="concept:name" value="{row[3]}"/>')
            text += [f'<date key="time:timestamp" value={quoteattr(row[4])}/>'] * bool(row[4])
            text += [
                f'<string key="{name}" value="{value}"/>' for name, value in zip(columns[5:], row[5:], strict=True)
            ]
            text.append("</event>")
        text.append("</trace>")
    file.write_text("".join([*text, "</log>"]))
    return file, {"person": "case:who", "time": "time:timestamp"}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple]:
    """All queries with their sums; each is answered by the name of its cell, whatever the sum is."""
    queries: list[tuple] = []

    def answered(query, table, keys, *, cells):
        assert len(set(cells)) == len(cells) == len(table)
        queries.append((query, tuple(cells), [int(value) for value in table]))
        digests = (hashlib.sha256(query.name.encode() + cell).digest() for cell in cells)
        return [int.from_bytes(digest[:8], "big") % (60 * GRID) - 10 * GRID for digest in digests]

    monkeypatch.setattr(Query, "answered", answered)
    monkeypatch.setattr("symveil.release.protocol.new_release_key", lambda: bytes(32))
    monkeypatch.setattr("symveil.release.protocol.new_release_id", lambda: "same")
    return queries


@pytest.mark.parametrize("seed", range(20))
def test_everything_is_a_function_of_noisy_answers(tmp_path, asked, seed):
    rng = random.Random(seed)
    (tmp_path / "zones.csv").write_text("symbol,zone\na,west\nb,west\nc,east\nd,east\n")
    (tmp_path / "places.csv").write_text(
        "symbol,x1,y1,x2,y2\na,0,0,100,0\nb,100,0,100,3000\nc,100,3000,5000,3000\nd,5000,3000,0,0\n"
    )
    neighbours, epsilon = rng.choice(["add-remove", "replace"]), rng.choice(["1", "3/7", "8"])
    public = {
        "alphabet": "abcd", "epsilon": epsilon, "neighbours": neighbours,
        "timezone": rng.choice(["UTC", "Europe/Amsterdam", "Australia/Lord_Howe", "Pacific/Apia"]),
    }  # fmt: skip
    form = rng.choice(["csv", "parquet", "xes"])
    statistic, options = rng.choice(COUNTED) if seed % 2 else (None, rng.choice(LEARNED))
    columns = tuple("case:size" if "case:size" in options.get("attributes", {}) and name == "cost" else name
                    for name in COLUMNS)  # fmt: skip
    options = {name: str(tmp_path / text) if str(text).endswith(".csv") else text for name, text in options.items()}
    people = [random_person(rng, f"p{number}") for number in range(rng.choice([0, 1, 4]))]
    one, other = random_person(rng, "px"), random_person(rng, "py")
    at = rng.randrange(len(people) + 1)
    results = []
    bound = rng.choice([1, 3, "auto", "normalised"])
    for number, own in enumerate(([], [one], [other])):
        file, reading = write_file(tmp_path / str(number), form, [*people[:at], *own, *people[at:]], columns)
        asked.clear()
        out = file.parent / "out.json"
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            if statistic is None:
                sv.learn(file, out, lengths=(1, 4), period=PERIOD, **public, **options, **reading)
            else:
                limited = {} if statistic in ("time-shares", "mean-waits") else {"bound": bound}
                sv.count_file(file, statistic, out=out, **public, **options, **limited, **reading)
        manifest = json.loads((file.parent / "out.json.manifest.json").read_text())
        manifest.pop("date", None)
        results.append((out.read_bytes(), manifest, [str(each.message) for each in told], list(asked)))
    assert results[0][:3] == results[1][:3] == results[2][:3]
    pairs = [(0, 1), (0, 2)] + [(1, 2)] * (neighbours == "replace")
    for first, second in pairs:
        lost = Fraction(0)
        for (query, cells, sums), (again, same, others) in zip(results[first][3], results[second][3], strict=True):
            assert (query, cells) == (again, same)
            loss = sum(abs(a - b) for a, b in zip(sums, others, strict=True)) / query.scale
            assert loss <= query.epsilon
            lost += loss
        assert lost <= Fraction(epsilon)
