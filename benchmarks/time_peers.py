"""Programs of others that publish logs with times, each in a process of its own, and how true what they publish is.

pm4py (AGPL) has PRIPEL, which needs diffprivlib: `make bench` installs both (the extras `peers` and `bench`).
dp-sequential-events (MIT) is timed where it is installed. Nothing here imports them: a script is handed to the Python
of `SYMVEIL_PEERS`, or to this one.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import subprocess
import sys
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Self

Case = tuple[tuple[str, ...], tuple[int, ...]]
"""A word, and the second of each of its events."""
NEAR = 2 * 3600
COLUMNS = ("case:concept:name", "concept:name", "time:timestamp")

PRIPEL = """
import importlib.metadata, json, sys, warnings
warnings.simplefilter("ignore")
import pandas as pd
import pm4py
from pm4py.privacy import anonymize_differential_privacy
source, out, epsilon = sys.argv[1], sys.argv[2], float(sys.argv[3])
log = pd.read_csv(source, dtype={"case:concept:name": str}, keep_default_na=False)
log["time:timestamp"] = pd.to_datetime(log["time:timestamp"], utc=True, format="ISO8601")
lengths = sorted(log.groupby("case:concept:name").size())
k = int(lengths[int(0.8 * len(lengths))])  # as its page advises: a length that four of five cases do not exceed
released = anonymize_differential_privacy(pm4py.format_dataframe(log), epsilon=epsilon, k=k, p=20)
released[["case:concept:name", "concept:name", "time:timestamp"]].to_csv(out, index=False)
versions = {name: importlib.metadata.version(name) for name in ("pm4py", "diffprivlib")}
print(json.dumps({"version": ", ".join(f"{one} {two}" for one, two in versions.items()),
                  "note": f"epsilon {epsilon:g} for words and once more for times, k {k}, p 20"}))
"""
"""SaCoFa for words and PRIPEL for times, as pm4py puts them together."""

EVENTS = """
import importlib.metadata, json, sys, tempfile, warnings
warnings.simplefilter("ignore")
import pandas as pd
from dp_sequential_events.main.main import annotation_and_filtering, sampling_and_anonymization
source, out = sys.argv[1], sys.argv[2]
log = pd.read_csv(source, dtype={"case:concept:name": str}, keep_default_na=False)
times = pd.to_datetime(log["time:timestamp"], utc=True, format="ISO8601").dt.tz_localize(None)
table = pd.DataFrame({"CaseID": log["case:concept:name"], "Activity": log["concept:name"], "Timestamp": times})
with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    table.to_csv(file.name, index=False)
    released = sampling_and_anonymization(annotation_and_filtering(file.name, 0.3, 1, False))
released.columns = ["case:concept:name", "concept:name", "time:timestamp"]
released["time:timestamp"] = released["time:timestamp"].dt.strftime("%Y-%m-%dT%H:%M:%S+00:00")
released.to_csv(out, index=False)
version = importlib.metadata.version("dp-sequential-events")
print(json.dumps({"version": version, "note": "delta 0.3, no shift; epsilon of a wait by its data"}))
"""
"""The full pipeline with what its menu calls with: δ = .3, no shift of dates."""


@dataclass(frozen=True)
class Peer:
    """A program: its name, the script that runs it, and the logs that it is run on.

    Parameters
    ----------
    name
        As tables show it.
    module, packages
        What has to be importable, and what pip has to install for it.
    script
        Handed the log, the file to write, and ε.
    logs
        On which logs.
    seconds
        How long it may take.
    """

    name: str
    module: str
    packages: str
    script: str
    logs: tuple[str, ...]
    seconds: int

    def run(self, source: Path, out: Path, seconds: int) -> dict[str, str]:
        """Run it on a log: its version and a note; the released log is in `out`, if it came to an end."""
        python = os.environ.get("SYMVEIL_PEERS", sys.executable)
        there = subprocess.run(
            [python, "-c", f"import {self.module}"], capture_output=True, text=True, check=False
        )  # fmt: skip
        if there.returncode:
            return {"note": f"not installed: pip install {self.packages}"}
        try:
            done = subprocess.run(
                [python, "-c", self.script, str(source), str(out), "1"], capture_output=True, text=True, check=False,
                timeout=seconds,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return {"note": f"no result in {seconds} s"}
        if done.returncode:
            return {"note": "failed: " + (done.stderr.strip().splitlines() or ["without a message"])[-1][:200]}
        answer: dict[str, str] = json.loads(done.stdout.strip().splitlines()[-1])
        return answer


PEERS = (
    Peer("PRIPEL in pm4py", "pm4py, diffprivlib", "pm4py diffprivlib", PRIPEL, ("sepsis", "env_permit"), 1200),
    Peer("dp-sequential-events", "dp_sequential_events", "dp-sequential-events", EVENTS, ("sepsis", "env_permit"), 400),
)


def released_cases(file: Path) -> list[Case]:
    """The cases of a log in CSV, each in the order of its times; a case keeps the order of its rows where they tie."""
    events: dict[str, list[tuple[int, str]]] = defaultdict(list)
    with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            case, activity, time = (row[column] for column in COLUMNS)
            moment = datetime.fromisoformat(time.replace("Z", "+00:00"))
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            events[case].append((int(moment.timestamp()), activity))
    cases = []
    for own in events.values():
        own.sort(key=lambda event: event[0])
        cases.append((tuple(activity for _, activity in own), tuple(second for second, _ in own)))
    return cases


@dataclass(frozen=True)
class Released:
    """How many released cases of at least two events are those of true ones.

    Parameters
    ----------
    cases
        The released cases.
    same_waits
        The share of those with two events or more whose word and waits, to the second, are those of a true case.
    near_start
        The share of all whose word is that of a true case that starts within two hours.

    >>> true = [(("a", "b"), (0, 60)), (("a",), (9_000,))]
    >>> Released.of(true, [(("a", "b"), (86_400, 86_460)), (("a",), (9_500,))]).document()
    {'cases': 2, 'same_waits': 1.0, 'near_start': 0.5}
    """

    cases: int
    same_waits: float
    near_start: float

    @classmethod
    def of(cls, true: Iterable[Case], released: Iterable[Case]) -> Self:
        """From the cases of both logs."""
        waits = {(word, _waits(times)) for word, times in true}
        starts: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for word, times in true:
            starts[word].append(times[0])
        for own in starts.values():
            own.sort()
        listed = list(released)
        long = [(word, times) for word, times in listed if len(word) > 1]
        same = sum((word, _waits(times)) in waits for word, times in long)
        near = sum(_is_near(times[0], starts.get(word, [])) for word, times in listed)
        return cls(len(listed), same / max(len(long), 1), near / max(len(listed), 1))

    def document(self) -> Mapping[str, float]:
        """The JSON form."""
        return {"cases": self.cases, "same_waits": self.same_waits, "near_start": self.near_start}


def _waits(times: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(other - one for one, other in pairwise(times))


def _is_near(second: int, starts: list[int]) -> bool:
    at = bisect_left(starts, second - NEAR)
    return at < len(starts) and starts[at] <= second + NEAR
