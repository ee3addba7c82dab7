"""The main job on a made-up town: a week of trips in, private files out, checked, and what can be learned from them.

Everything is computed by functions that users have (`import symveil as sv`).
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import symveil as sv
from symveil.examples import millford as town
from symveil.examples.millford import MOST_TRIPS, STREETS, Trip
from symveil.laws.protection import typical_words
from symveil.models.alphabet import decode
from symveil.numbers.progress import Progress, named
from symveil.storage.files import write_text

if TYPE_CHECKING:
    from symveil.mechanisms.attacker import AttackerView
    from symveil.mechanisms.mechanism import Mechanism
    from symveil.tasks.release_report import FileRelease

EPSILONS = (4, 6, 10)
"""For trips that differ in up to `ADJACENCY` blocks; each block costs a quarter of it, also beyond. The last is large
enough for intervals from the private file alone in nearly every release.
"""
ADJACENCY = 4
"""The least number of blocks with which every block of a typical trip has alternatives on this map."""
EPSILON_PER_PERSON, TYPICAL_LENGTH, CURVE_EPSILONS = 1, 7, (2, 4, 6, 8, 10)
_TYPICAL_TRIPS = 6
_COLUMNS: dict[str, Any] = {"identifier": "trip_id", "sequence": "streets", "separator": "|"}


@dataclass(frozen=True, slots=True)
class DemoRow:
    """One ε: what is promised, what it costs, and the private file."""

    epsilon: int
    expected_error: float
    """Blocks changed in a typical trip of seven, averaged over the public model."""
    changed: float
    """The share of all blocks of the file that were changed. Only a demo may look: these trips are made up."""
    unchanged_trips: float
    """The share of trips that came out as they were."""
    attacker: AttackerView
    """What an attacker learns of a typical trip who knows the map and sees the private one."""
    checked: bool
    release: FileRelease

    @property
    def guarantee(self) -> dict[str, Any]:
        """What the manifest promises."""
        return dict(self.release.manifest["guarantee"])

    @property
    def per_block(self) -> Fraction:
        """What each block costs in which two trips differ."""
        return Fraction(self.epsilon, ADJACENCY)


@dataclass(frozen=True, slots=True)
class Answer:
    """A number that an analyst wants: the true one, what is counted in what was released, and what is known of it."""

    symbols: tuple[str, ...]
    true: int
    released: float
    estimate: float
    low: float | None
    high: float | None
    """None for both where the noise of this release leaves no interval."""

    @property
    def covered(self) -> bool:
        """Whether the interval has the true number."""
        return self.low is not None and self.high is not None and self.low <= self.true <= self.high


@dataclass(frozen=True, slots=True)
class Demo:
    """What the demo did and where its results are."""

    trips: Mapping[str, Trip] = field(repr=False)
    """The true ones. A page about real people must not have them."""
    streets: int
    people: int
    rows: tuple[DemoRow, ...]
    visits: tuple[Answer, ...]
    """How often each block was driven, from the private file with the largest ε."""
    turns: tuple[Answer, ...]
    """How often one block followed another, from the same file."""
    flows: tuple[Answer, ...]
    """Trips from quarter to quarter, from the whole file, with one ε per person."""
    curves: Mapping[str, Mapping[int, float]]
    """By the name of a mechanism, ours last: how many blocks of a typical trip it changes at each of some ε."""
    report: Path

    def document(self) -> dict[str, object]:
        """The JSON form."""
        answers = {"visits": self.visits, "turns": self.turns, "flows": self.flows}
        return {
            "trips": len(self.trips),
            "streets": self.streets,
            "named_streets": len(STREETS),
            "people": self.people,
            "adjacency": ADJACENCY,
            "length": TYPICAL_LENGTH,
            "report": str(self.report),
            "releases": [
                {
                    "epsilon": row.epsilon,
                    "guarantee": row.guarantee,
                    "expected_error": row.expected_error,
                    "attacker": row.attacker.document(),
                    "changed": row.changed,
                    "unchanged_trips": row.unchanged_trips,
                    "checked": row.checked,
                    "file": str(row.release.out),
                    "manifest": str(row.release.manifest_file),
                }
                for row in self.rows
            ],
            "answers": {
                name: {"covered": covered(each), "rows": [asdict(answer) for answer in each]}
                for name, each in answers.items()
            },
            "epsilon_per_person": EPSILON_PER_PERSON,
            "mechanisms": [
                {"name": name, "epsilons": list(errors), "expected_errors": list(errors.values())}
                for name, errors in self.curves.items()
            ],
        }


def covered(answers: Iterable[Answer]) -> int:
    """How many intervals have the true number in them.

    >>> covered([Answer(("a",), 5, 4, 4.5, 3.0, 6.0), Answer(("b",), 9, 4, 4.5, 3.0, 6.0)])
    1
    """
    return sum(answer.covered for answer in answers)


def run_demo(out: Path, *, progress: Progress | None = None) -> Demo:
    """Write the town and its trips, release them, check every release, and ask what an analyst would.

    `progress` is called with how many steps are done, and of how many; the last one is the page.
    """
    steps = len(EPSILONS) + 4
    named(progress, "making up a town")(0, steps)
    chain, trips = town.millford(), town.millford_trips()
    sv.save_model(chain, out / "roads.json")
    rows = ((name, trip.person, trip.day, trip.purpose, "|".join(trip.blocks)) for name, trip in trips.items())
    _write_csv(out / "trips.csv", ("trip_id", "person", "day", "purpose", "streets"), rows)
    ends = ((name, *start, *end) for name, (start, end) in town.millford_map().items())
    _write_csv(out / "roads_map.csv", ("state", "x1", "y1", "x2", "y2"), ends)
    _write_csv(out / "quarters.csv", ("symbol", "zone"), town.quarters().items())
    language = sv.runs(chain, TYPICAL_LENGTH)
    releases = []
    for step, epsilon in enumerate(EPSILONS, start=1):
        named(progress, f"privatising at epsilon = {epsilon}")(step, steps)
        releases.append(_released(out, epsilon, language, trips))
    named(progress, "asking what an analyst would ask")(steps - 3, steps)
    drives = [trip.blocks for trip in trips.values()]
    visits, turns = (
        _answers(sv.estimate(releases[-1].release.out, name).document(), Counter(cells), "released", "estimate")
        for name, cells in (
            ("visits", ((block,) for blocks in drives for block in blocks)),
            ("ngrams:2", (move for blocks in drives for move in pairwise(blocks))),
        )
    )
    table = sv.count(
        out / "trips.csv", "od", epsilon=EPSILON_PER_PERSON, model=out / "roads.json", zones=out / "quarters.csv",
        bound=MOST_TRIPS, person="person", **_COLUMNS,
    )  # fmt: skip
    flows: Counter[tuple[str, ...]] = Counter(
        (town.quarters()[blocks[0]], town.quarters()[blocks[-1]]) for blocks in drives
    )
    named(progress, "trying the published mechanisms")(steps - 2, steps)
    return Demo(
        trips=trips,
        streets=len(chain.states),
        people=len({trip.person for trip in trips.values()}),
        rows=tuple(releases),
        visits=visits,
        turns=turns,
        flows=_answers(table.document(), flows, "count", "count"),
        curves=_curves(language),
        report=out / "report.html",
    )


def private_mechanism(language: sv.RunLanguage, epsilon: int) -> Mechanism:
    """What the demo releases trips with: the least error that keeps the promise of the published mechanisms.

    Two trips that differ in d blocks lose at most dε/b, for every d.

    >>> mechanism = private_mechanism(sv.runs(town.millford(), 5), 6)
    >>> [round(float(mechanism.loss_at(distance)), 6) <= 1.5 * distance for distance in range(1, 6)]
    [True, True, True, True, True]
    """
    return sv.select_mechanism(language, epsilon=epsilon, adjacency=ADJACENCY)


def released_trips(release: FileRelease) -> dict[str, tuple[str, ...]]:
    """The trips of a private file by their id."""
    with release.out.open(encoding="utf-8", newline="") as file:
        return {row["trip_id"]: tuple(row["streets"].split("|")) for row in csv.DictReader(file)}


def _released(out: Path, epsilon: int, language: sv.RunLanguage, trips: Mapping[str, Trip]) -> DemoRow:
    release = sv.privatize_file(
        out / "trips.csv", out / f"private_trips_epsilon_{epsilon}.csv", model=out / "roads.json",
        epsilon=epsilon, adjacency=ADJACENCY, **_COLUMNS,
    )  # fmt: skip
    mechanism, private = private_mechanism(language, epsilon), released_trips(release)
    view = sv.average_over_model(mechanism).attacker
    assert view is not None  # noqa: S101 - it is known on a language of this size
    wrong = [
        sum(one != other for one, other in zip(private[name], trip.blocks, strict=True)) for name, trip in trips.items()
    ]
    return DemoRow(
        epsilon=epsilon,
        expected_error=_mean_error(mechanism, language),
        changed=sum(wrong) / sum(len(trip.blocks) for trip in trips.values()),
        unchanged_trips=wrong.count(0) / len(wrong),
        attacker=view,
        checked=sv.check_manifest(release.manifest_file).holds,
        release=release,
    )


def _mean_error(mechanism: Mechanism, language: sv.RunLanguage) -> float:
    words = [decode(row, language.alphabet, like=()) for row in typical_words(language, _TYPICAL_TRIPS)]
    return sum(mechanism.distances(word).expected_error for word in words) / len(words)


def _curves(language: sv.RunLanguage) -> dict[str, dict[int, float]]:
    classic: dict[str, Any] = {"adjacency": ADJACENCY, "calibration": "classic"}
    makers: dict[str, Callable[[int], Mechanism]] = {
        "exponential, as published (J19)": lambda epsilon: sv.Exponential(language, epsilon=epsilon, **classic),
        "permute-and-flip, as published (B26)": lambda epsilon: sv.PermuteAndFlip(language, epsilon=epsilon, **classic),
        "symveil": lambda epsilon: private_mechanism(language, epsilon),
    }
    return {
        name: {epsilon: _mean_error(make(epsilon), language) for epsilon in CURVE_EPSILONS}
        for name, make in makers.items()
    }


def _answers(
    document: Mapping[str, Any], true: Mapping[tuple[str, ...], int], released: str, best: str
) -> tuple[Answer, ...]:
    """The rows of a table beside the truth, the largest true numbers first."""
    results = [
        Answer(cell, true.get(cell, 0), row[released], row[best], row["low"], row["high"])
        for row in document["rows"]
        for cell in [tuple(row["symbols"])]
    ]
    return tuple(sorted(results, key=lambda answer: (-answer.true, answer.symbols)))


def _write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    output = io.StringIO()
    csv.writer(output, lineterminator="\n").writerows([columns, *rows])
    write_text(path, output.getvalue())
