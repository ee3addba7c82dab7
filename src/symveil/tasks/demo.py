"""The main job on a made-up town: a week of trips in, private files out, checked, and a report one can look at."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from symveil.examples.millford import MOST_TRIPS, Trip, millford, millford_map, millford_trips, quarters
from symveil.formats.models.model_files import save_model
from symveil.languages.runs import RunLanguage, runs
from symveil.laws.protection import typical_words
from symveil.mechanisms.attacker.view import attacker_view
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.permute_and_flip.mechanism import PermuteAndFlip
from symveil.mechanisms.selection import select_mechanism
from symveil.models.word import Word, decode
from symveil.numbers.progress import Progress, named
from symveil.storage.atomic import write_text
from symveil.tasks.check import check_manifest
from symveil.tasks.count import count
from symveil.tasks.demo_report import (
    ADJACENCY,
    CURVE_EPSILONS,
    EPSILON_PER_PERSON,
    EPSILONS,
    SEPARATOR,
    TYPICAL_LENGTH,
    Answer,
    Cell,
    Demo,
    DemoRow,
    ErrorCurve,
    demo_report,
    error_curves_svg,
    released_trips,
)
from symveil.tasks.estimate import estimate
from symveil.tasks.privatize_file import FileRelease, privatize_file

_TYPICAL_TRIPS = 6


def run_demo(out: Path, *, progress: Progress | None = None) -> Demo:
    """Write the town and its trips, release them, check every release, ask what an analyst would, and report.

    Parameters
    ----------
    out
        The folder of all files.
    progress
        Called with how many steps are done, and of how many.
    """
    steps = len(EPSILONS) + 4
    named(progress, "making up a town")(0, steps)
    chain, trips = millford(), millford_trips()
    save_model(chain, out / "roads.json")
    write_text(out / "trips.csv", _trips_csv(trips))
    write_text(out / "roads_map.csv", _as_csv(_MAP_COLUMNS, _map_rows()))
    write_text(out / "quarters.csv", _as_csv(("symbol", "zone"), quarters().items()))
    language = runs(chain, TYPICAL_LENGTH)
    rows = []
    for step, epsilon in enumerate(EPSILONS, start=1):
        named(progress, f"privatising at epsilon = {epsilon}")(step, steps)
        rows.append(_released(out, epsilon, language, trips))
    named(progress, "asking what an analyst would ask")(steps - 3, steps)
    visits, turns = _estimated(rows[-1].release, "visits", trips), _estimated(rows[-1].release, "ngrams:2", trips)
    flows = _counted(out, trips)
    named(progress, "trying the published mechanisms")(steps - 2, steps)
    demo = Demo(
        trips=len(trips),
        streets=len(chain.states),
        people=len({trip.person for trip in trips.values()}),
        rows=tuple(rows),
        visits=visits,
        turns=turns,
        flows=flows,
        curves=_curves(language),
        report=out / "report.html",
    )
    drawing = named(progress, "drawing the report")
    drawing(steps - 1, steps)
    write_text(out / "expected_error.svg", error_curves_svg(demo))
    write_text(demo.report, demo_report(demo, trips))
    drawing(steps, steps)
    return demo


def private_mechanism(language: RunLanguage, epsilon: int) -> Mechanism:
    """What the demo releases trips with: the least error that keeps the promise of the published mechanisms.

    Two trips that differ in d blocks lose at most dε/b, for every d.

    >>> mechanism = private_mechanism(runs(millford(), 5), 6)
    >>> [round(float(mechanism.loss_at(distance)), 6) <= 1.5 * distance for distance in range(1, 6)]
    [True, True, True, True, True]
    """
    return select_mechanism(language, epsilon=epsilon, adjacency=ADJACENCY)


# --- releases ----------------------------------------------------------------------------------


def _released(out: Path, epsilon: int, language: RunLanguage, trips: Mapping[str, Trip]) -> DemoRow:
    release = privatize_file(
        out / "trips.csv", out / f"private_trips_epsilon_{epsilon}.csv", model=out / "roads.json",
        epsilon=epsilon, adjacency=ADJACENCY,
        identifier="trip_id", sequence="streets", separator=SEPARATOR,
    )  # fmt: skip
    promise = release.manifest["guarantee"]
    mechanism = private_mechanism(language, epsilon)
    view = attacker_view(mechanism)
    assert view is not None  # noqa: S101 - it is known on a language of this size
    private = released_trips(release)
    wrong = [
        sum(one != other for one, other in zip(private[name], trip.blocks, strict=True)) for name, trip in trips.items()
    ]
    return DemoRow(
        epsilon=epsilon,
        loss=promise["epsilon"],
        how=promise["how"],
        expected_error=_mean_error(mechanism),
        changed=sum(wrong) / sum(len(trip.blocks) for trip in trips.values()),
        unchanged_trips=wrong.count(0) / len(wrong),
        attacker=view,
        checked=check_manifest(release.manifest_file).holds,
        release=release,
    )


def _mean_error(mechanism: Mechanism) -> float:
    language = mechanism.language.runs
    assert language is not None  # noqa: S101 - the demo is about a model
    errors = [mechanism.distances(word).expected_error for word in _typical(language)]
    return sum(errors) / len(errors)


def _typical(language: RunLanguage) -> list[Word]:
    return [decode(row, language.alphabet, like=()) for row in typical_words(language, _TYPICAL_TRIPS)]


def _curves(language: RunLanguage) -> tuple[ErrorCurve, ...]:
    def errors(of: Callable[[int], Mechanism]) -> tuple[float, ...]:
        return tuple(_mean_error(of(epsilon)) for epsilon in CURVE_EPSILONS)

    def classic(kind: type[Exponential | PermuteAndFlip]) -> tuple[float, ...]:
        return errors(lambda epsilon: kind(language, epsilon=epsilon, adjacency=ADJACENCY, calibration="classic"))

    return (
        ErrorCurve("exponential, as published (J19)", classic(Exponential)),
        ErrorCurve("permute-and-flip, as published (B26)", classic(PermuteAndFlip)),
        ErrorCurve("symveil", errors(lambda epsilon: private_mechanism(language, epsilon))),
    )


# --- answers -----------------------------------------------------------------------------------


def _estimated(release: FileRelease, statistic: str, trips: Mapping[str, Trip]) -> tuple[Answer, ...]:
    """From a private file: its own columns, and nothing else, make the estimate."""
    width = 1 if statistic == "visits" else 2
    cells = (cell for trip in trips.values() for cell in _windows(trip.blocks, width))
    return _answers(estimate(release.out, statistic).document(), Counter(cells), "released", "estimate")


def _windows(blocks: Sequence[str], width: int) -> Iterable[Cell]:
    return ((block,) for block in blocks) if width == 1 else pairwise(blocks)


def _counted(out: Path, trips: Mapping[str, Trip]) -> tuple[Answer, ...]:
    """From the whole file, by its holder, with noise for each person and not for each trip."""
    table = count(
        out / "trips.csv", "od", epsilon=EPSILON_PER_PERSON, model=out / "roads.json", zones=out / "quarters.csv",
        bound=MOST_TRIPS, identifier="trip_id", sequence="streets", separator=SEPARATOR, person="person",
    )  # fmt: skip
    quarter = quarters()
    cells: Counter[Cell] = Counter((quarter[trip.blocks[0]], quarter[trip.blocks[-1]]) for trip in trips.values())
    return _answers(table.document(), cells, "count", "count")


def _answers(document: Mapping[str, Any], true: Counter[Cell], released: str, best: str) -> tuple[Answer, ...]:
    """The rows of a table beside the truth, the largest true numbers first."""
    results = [
        Answer(cell, true[cell], row[released], row[best], row["low"], row["high"])
        for row in document["rows"]
        for cell in [tuple(row["symbols"])]
    ]
    return tuple(sorted(results, key=lambda answer: (-answer.true, answer.cell)))


# --- files -------------------------------------------------------------------------------------

_MAP_COLUMNS = ("state", "x1", "y1", "x2", "y2")


def _map_rows() -> Iterable[Sequence[object]]:
    return ((name, *start, *end) for name, (start, end) in millford_map().items())


def _trips_csv(trips: Mapping[str, Trip]) -> str:
    return _as_csv(
        ("trip_id", "person", "day", "purpose", "streets"),
        ((name, trip.person, trip.day, trip.purpose, SEPARATOR.join(trip.blocks)) for name, trip in trips.items()),
    )


def _as_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return output.getvalue()
