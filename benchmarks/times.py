"""Synthetic logs and trips with times against the true ones, by the commands.

Each run learns a model with fresh noise, draws as many cases as the log has, and compares. Public inputs (periods,
lengths, activities) are those of the logs, rounded, and the logs are public, so nothing here is private.
"""

from __future__ import annotations

import csv
import gzip
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import symveil as sv
from benchmarks.data import data_file
from benchmarks.measure import Effort
from benchmarks.row import Benchmark, Row
from benchmarks.shanghai import trips_and_chain
from benchmarks.time_peers import PEERS, Peer, Released, released_cases
from symveil.numbers.rationals import spelled

SHOWN = (
    "cycle_mean_error", "cycle_median_error", "cycle_p90_error", "cycle_w1", "wait_median_log2", "hour_jsd",
    "start_hour_jsd", "weekday_jsd", "week_l1", "log_similarity",
)  # fmt: skip
WORDS_SHARE = Fraction(3, 5)
"""Of ε, for words, where times get their usual share."""
TRIPS_SECONDS = 15.0
"""Of processor time, for learning a city's trips with their times and drawing as many."""
_MISSING = "the data is not here"
_ALONE = "log_similarity of words alone"


@dataclass(frozen=True)
class Setting:
    """A log with what is public about it, an ε, how often it is run, and the largest means that are allowed.

    Of `log_similarity`, 1 − EMD of words, it is the least mean.
    """

    log: str
    epsilon: str
    period: str
    lengths: str
    cases: int
    runs: int
    bars: dict[str, float]

    @property
    def name(self) -> str:
        """As tables show it."""
        return f"{self.log}, ε = {self.epsilon}"


SETTINGS = (
    Setting(
        "sepsis", "1", "2013-11-01..2015-06-30", "1..50", 1050, 10,
        {"cycle_mean_error": 0.28, "cycle_median_error": 0.25, "cycle_p90_error": 0.40, "cycle_w1": 0.30,
         "wait_median_log2": 2.1, "hour_jsd": 0.045, "start_hour_jsd": 0.06, "weekday_jsd": 0.012,
         "log_similarity": 0.66},
    ),
    Setting(
        "sepsis", "2", "2013-11-01..2015-06-30", "1..50", 1050, 5,
        {"cycle_w1": 0.21, "wait_median_log2": 1.3, "hour_jsd": 0.03},
    ),
    Setting(
        "env_permit", "1", "2010-10-01..2012-01-31", "1..30", 1434, 5,
        {"cycle_w1": 0.65, "wait_median_log2": 0.8, "hour_jsd": 0.075},
    ),
    Setting("helpdesk", "1", "2010-01-01..2014-01-31", "1..15", 4580, 5, {"cycle_w1": 0.14, "hour_jsd": 0.045}),
)  # fmt: skip


def command(*arguments: str) -> str:
    """What a command prints; a RuntimeError with its message where it fails."""
    done = subprocess.run([sys.executable, "-m", "symveil", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"symveil {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def written_activities(source: Path, folder: Path) -> Path:
    """A file of the activities of a log."""
    with gzip.open(source, "rt", encoding="utf-8") as file:
        activities = sorted({row["concept:name"] for row in csv.DictReader(file)})
    alphabet = folder / "activities.txt"
    alphabet.write_text("".join(f"{name}\n" for name in activities), encoding="utf-8")
    return alphabet


def metrics_of_one_run(setting: Setting, source: Path, folder: Path) -> dict[str, float]:
    """Learn, draw and compare once, by the commands.

    Where words have a bar, also words that are learned without times, at the ε that words have beside times.
    """
    alphabet, words = written_activities(source, folder), folder / "synthetic.csv"
    model = folder / "model.json"
    common = ("--alphabet", f"@{alphabet}", "--lengths", setting.lengths, "--out", str(model), "--again")
    command(
        "learn", str(source), "--epsilon", setting.epsilon, "--time", "time:timestamp", "--period", setting.period,
        *common,
    )  # fmt: skip
    command("synthesize", str(model), "--count", str(setting.cases), "--out", str(words))
    metrics: dict[str, float] = json.loads(command("compare", str(source), str(words), "--json"))["metrics"]
    if "log_similarity" not in setting.bars:
        return metrics
    command("learn", str(source), "--epsilon", spelled(Fraction(setting.epsilon) * WORDS_SHARE), *common)
    plain = folder / "words.jsonl"  # names of activities have blanks
    command("synthesize", str(model), "--count", str(setting.cases), "--out", str(plain))
    without = json.loads(command("compare", str(source), str(plain), "--json"))["metrics"]
    return metrics | {_ALONE: without["log_similarity"]}


def logs_measured(names: Sequence[str], runs: int | None) -> Iterator[tuple[Setting, list[dict[str, float]]]]:
    """The metrics of each run of each log that is here."""
    for setting in SETTINGS:
        source = data_file(f"{setting.log}.csv.gz")
        if source is None or (names and setting.log not in names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            each = [metrics_of_one_run(setting, source, Path(folder)) for _ in range(runs or setting.runs)]
        yield setting, each


def peer_measured(peer: Peer, setting: Setting, seconds: int) -> dict[str, Any]:
    """What a peer releases of a log: how many of its cases are true ones, and our metrics."""
    source = data_file(f"{setting.log}.csv.gz")
    if source is None:
        return {"peer": peer.name, "log": setting.log, "note": _MISSING}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "released.csv")
        own: dict[str, Any] = {"peer": peer.name, "log": setting.log, **peer.run(source, out, seconds)}
        if not out.is_file():
            return own
        shares = Released.of(released_cases(source), released_cases(out))
        metrics = json.loads(command(
            "compare", str(source), str(out), "--case", "case:concept:name", "--symbol", "concept:name",
            "--order", "time:timestamp", "--time", "time:timestamp", "--json",
        ))["metrics"]  # fmt: skip
        return own | {"shares": shares.document(), "metrics": {name: metrics.get(name) for name in SHOWN}}


def ours_released(setting: Setting) -> dict[str, Any]:
    """The same of a synthetic log of ours."""
    source = data_file(f"{setting.log}.csv.gz")
    assert source is not None
    with tempfile.TemporaryDirectory() as folder:
        metrics = metrics_of_one_run(setting, source, Path(folder))
        shares = Released.of(released_cases(source), released_cases(Path(folder, "synthetic.csv")))
    shown = {name: metrics[name] for name in SHOWN}
    return {
        "peer": f"symveil, ε = {setting.epsilon}",
        "log": setting.log,
        "shares": shares.document(),
        "metrics": shown,
    }


# --- trips --------------------------------------------------------------------------------------------


def write_trips_with_times(trips: Path, links: Path, out: Path) -> int:
    """Trips with generated times: two rush hours, and speeds by the class of a road. Returns their number."""
    speeds = {"motorway": 22.0, "trunk": 17.0, "primary": 13.0, "secondary": 11.0, "tertiary": 9.0}
    with gzip.open(links, "rt", encoding="utf-8") as file:
        pace = {
            row["link_id"]: float(row["length_m"]) / speeds.get(row["highway"].removesuffix("_link"), 7.0)
            for row in csv.DictReader(file)
        }
    rng = random.Random(7)  # generated data: nobody's
    first, count = datetime(2024, 3, 4, tzinfo=UTC), 0
    with gzip.open(trips, "rt", encoding="utf-8") as file, out.open("w", encoding="utf-8") as written:
        written.write("trip_id,links,times\n")
        for row in csv.DictReader(file):
            hour = rng.choice((8, 18)) + rng.gauss(0, 1.2) if rng.random() < 0.7 else rng.uniform(5, 24)
            moment = first + timedelta(days=rng.randrange(28), hours=hour % 24)
            times = []
            for link in row["links"].split():
                times.append(moment.isoformat(timespec="seconds"))
                moment += timedelta(seconds=pace[link] * rng.uniform(0.8, 1.5))
            written.write(f"{row['trip_id']},{row['links']},{' '.join(times)}\n")
            count += 1
    return count


def trips_measured() -> dict[str, float] | None:
    """The processor seconds of learning Shanghai's trips with generated times, and of drawing as many."""
    found, (trips, links) = trips_and_chain(), (data_file(f"shanghai_{name}.csv.gz") for name in ("trips", "links"))
    if found is None or trips is None or links is None:
        return None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = write_trips_with_times(trips, links, folder / "trips.csv")
        with gzip.open(links, "rt", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        places, graph = folder / "places.csv", folder / "roads.json"
        places.write_text(
            "symbol,x1,y1,x2,y2\n"
            + "".join(",".join([row["link_id"], row["u_lon"], row["u_lat"], row["v_lon"], row["v_lat"]]) + "\n"
                      for row in rows)
        )  # fmt: skip
        sv.save_model(found[1], graph)
        model, out = folder / "model.json", folder / "synthetic.csv"
        seconds = {}
        for task, arguments in (
            ("learn", ("learn", str(folder / "trips.csv"), "--epsilon", "1", "--from-graph", str(graph), "--lengths",
                       "15..49", "--places", str(places), "--zones", "6", "--kind", "trips", "--sequence", "links",
                       "--id", "trip_id", "--time", "times", "--period", "2024-03-04..2024-03-31", "--out",
                       str(model))),
            ("synthesize", ("synthesize", str(model), "--count", str(count), "--out", str(out))),
        ):  # fmt: skip
            before = _children_seconds()
            command(*arguments)
            seconds[task] = _children_seconds() - before
        return seconds | {"trips": count}


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# --- rows and page ------------------------------------------------------------------------------------


def logs(effort: Effort) -> Iterator[Row]:
    """Means over runs against the bars; a score that is better when larger stands as what it lacks to 1."""
    if data_file("sepsis.csv.gz") is None:
        yield Row(name="Logs with times", ours=None, peer="", peer_time=None, quantity="symbols", note=_MISSING)
        return
    for setting, runs in logs_measured(effort.of((), ("helpdesk",)), effort.of(None, 1)):
        for metric in SHOWN:
            bar, value = setting.bars.get(metric), statistics.mean(run[metric] for run in runs)
            name, without, peer = metric, None, ""
            if metric == "log_similarity":
                name, value, bar = "EMD of words", 1 - value, None if bar is None else 1 - bar
                if bar is not None:
                    without = 1 - statistics.mean(run[_ALONE] for run in runs)
                    peer = "words alone, at the ε of words"
            yield Row(
                name=f"{setting.name}: {name}", ours=value, peer=peer, peer_time=without, quantity="symbols", limit=bar,
                unit="distance", note=f"mean of {len(runs)}",
            )  # fmt: skip


def trips(_effort: Effort) -> Iterator[Row]:
    """A city's trips with generated times: learned, and as many drawn."""
    seconds = trips_measured()
    note = _MISSING if seconds is None else f"learn {seconds['learn']:.1f} s, synthesize {seconds['synthesize']:.1f} s"
    total = None if seconds is None else seconds["learn"] + seconds["synthesize"]
    yield Row(
        name="24,468 trips with times, learned and drawn: processor time", ours=total, peer="", peer_time=None,
        quantity="seconds", limit=TRIPS_SECONDS, unit="file", note=note,
    )  # fmt: skip


def peers(effort: Effort) -> Iterator[Row]:
    """The share of cases that are true ones in what peers release, beside ours."""
    if not effort.thorough or data_file("sepsis.csv.gz") is None:
        return
    own = {log: ours_released(setting) for log, setting in _first_settings().items() if log in _peer_logs()}
    for peer in PEERS:
        for log in peer.logs:
            measured = peer_measured(peer, _first_settings()[log], peer.seconds)
            shares, ours = measured.get("shares"), own[log]["shares"]
            yield Row(
                name=f"{log}: share of released cases with the word and the waits of a true one",
                ours=ours["same_waits"], peer=f"{peer.name} {measured.get('version', '')}".strip(),
                peer_time=None if shares is None else shares["same_waits"], quantity="symbols", unit="distance",
                note=measured.get("note", ""),
            )  # fmt: skip


def _first_settings() -> dict[str, Setting]:
    return {setting.log: setting for setting in reversed(SETTINGS)}


def _peer_logs() -> set[str]:
    return {log for peer in PEERS for log in peer.logs}


BENCHMARKS: list[Benchmark] = [logs, trips, peers]
