"""Synthetic logs with times against the true ones, by the installed commands: `python -m benchmarks.times [LOG ...]`.

Each run learns a model with fresh noise, draws as many cases as the log has, and compares. Public inputs (periods,
lengths, activities) are those of the logs, rounded: docs/benchmarks.md says what that is worth. The logs are public,
so nothing here is private.
"""

from __future__ import annotations

import csv
import gzip
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.data import data_file

SHOWN = (
    "cycle_mean_error", "cycle_median_error", "cycle_p90_error", "cycle_w1", "wait_median_log2", "hour_jsd",
    "start_hour_jsd", "weekday_jsd", "week_l1", "log_similarity",
)  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """A log with what is public about it, an ε, how often it is run, and the largest means that are allowed."""

    log: str
    epsilon: str
    period: str
    lengths: str
    cases: int
    runs: int
    bars: dict[str, float]


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
    """What a command prints; a CalledProcessError where it fails."""
    done = subprocess.run([sys.executable, "-m", "symveil", *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def metrics_of_one_run(setting: Setting, source: Path, alphabet: Path, folder: Path) -> dict[str, float]:
    """Learn, draw and compare once, by the commands."""
    model, words = folder / "model.json", folder / "synthetic.csv"
    command(
        "learn", str(source), "--epsilon", setting.epsilon, "--alphabet", f"@{alphabet}", "--lengths", setting.lengths,
        "--time", "time:timestamp", "--period", setting.period, "--out", str(model), "--again",
    )  # fmt: skip
    command("synthesize", str(model), "--count", str(setting.cases), "--out", str(words))
    metrics: dict[str, float] = json.loads(command("compare", str(source), str(words), "--json"))["metrics"]
    return metrics


def main(names: list[str]) -> None:
    """Print a table for each log: means and deviations over runs, and the bars."""
    for setting in SETTINGS:
        source = data_file(f"{setting.log}.csv.gz")
        if source is None or (names and setting.log not in names):
            continue
        with gzip.open(source, "rt") as file:
            activities = sorted({row["concept:name"] for row in csv.DictReader(file)})
        with tempfile.TemporaryDirectory() as folder:
            alphabet = Path(folder, "activities.txt")
            alphabet.write_text("".join(f"{name}\n" for name in activities))
            runs = [metrics_of_one_run(setting, source, alphabet, Path(folder)) for _ in range(setting.runs)]
        print(f"\n{setting.log}, epsilon {setting.epsilon}, {setting.runs} runs\n")
        print("| metric | mean | sd | bar |\n|---|---|---|---|")
        for name in SHOWN:
            values = [run[name] for run in runs]
            bar = setting.bars.get(name)
            bound = "" if bar is None else f"{'≥' if name == 'log_similarity' else '≤'} {bar}"
            print(f"| {name} | {statistics.mean(values):.4f} | {statistics.stdev(values):.4f} | {bound} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
