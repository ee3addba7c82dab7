"""The main job on synthetic trips: a file in, private files out, checked, and a report one can look at."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from symveil.drawing.plots import Curve, draw_curves
from symveil.drawing.road_map import road_map_svg
from symveil.examples.road_network import network_coordinates, town, town_trips
from symveil.files.atomic import write_text
from symveil.io.models.model_files import save_model
from symveil.io.page import figure, page, table
from symveil.languages.any_length import runs_of_any_length
from symveil.languages.runs import RunLanguage, runs
from symveil.mechanisms.choice import MechanismChoice
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.permute_and_flip import PermuteAndFlip
from symveil.mechanisms.selection import choose_mechanism
from symveil.models.markov_chain import MarkovChain
from symveil.models.word import Word, decode
from symveil.numerics.progress import Progress, named
from symveil.numerics.rationals import shown_at_least
from symveil.privacy.protection import typical_words
from symveil.workflows.check import check_manifest
from symveil.workflows.privatize_file import FileRelease, privatize_file

EPSILONS = (2, 4, 6)
_SHOWN = ("trip-002", "trip-010", "trip-018", "trip-034")
_TYPICAL_LENGTH = 9
_TYPICAL_TRIPS = 6
_CURVE_EPSILONS = tuple(Fraction(step, 2) for step in range(2, 17))

_MAP_STYLE = """
.maps { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: .6rem; }
.maps div { text-align: center; font-size: .85rem; color: var(--soft); }
.maps svg { width: 100%; height: auto; }
"""


@dataclass(frozen=True, slots=True)
class DemoRow:
    """One ε: what is promised, what it costs, and the private file."""

    epsilon: int
    loss: float
    how: str
    expected_error: float
    """Streets changed in a typical trip of nine, averaged over the public model."""
    checked: bool
    release: FileRelease


@dataclass(frozen=True, slots=True)
class Demo:
    """What the demo did and where its results are."""

    trips: int
    streets: int
    rows: tuple[DemoRow, ...]
    report: Path

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "trips": self.trips,
            "streets": self.streets,
            "report": str(self.report),
            "releases": [
                {
                    "epsilon": row.epsilon,
                    "guarantee": {"epsilon": row.loss, "how": row.how},
                    "expected_error": row.expected_error,
                    "checked": row.checked,
                    "file": str(row.release.out),
                    "manifest": str(row.release.manifest_file),
                }
                for row in self.rows
            ],
        }


def run_demo(out: Path, *, progress: Progress | None = None) -> Demo:
    """Write the network and the trips, privatise them at three ε, check every release, and report."""
    chain, originals = town(), town_trips()
    model, source = out / "roads.json", out / "trips.csv"
    save_model(chain, model)
    write_text(source, _as_csv(originals))
    typical = runs(chain, _TYPICAL_LENGTH)
    rows = []
    steps = len(EPSILONS) + 1
    for step, epsilon in enumerate(EPSILONS):
        named(progress, f"privatising at epsilon = {epsilon}")(step, steps)
        target = out / f"private_trips_epsilon_{epsilon}.csv"
        release = privatize_file(source, target, model=model, epsilon=epsilon)
        promise = release.manifest["guarantee"]
        rows.append(
            DemoRow(
                epsilon=epsilon,
                loss=promise["epsilon"],
                how=promise["how"],
                expected_error=_mean_error(_of_typical_trips(chain, epsilon)),
                checked=check_manifest(release.manifest_file).holds,
                release=release,
            )
        )
    drawing = named(progress, "drawing the report")
    drawing(steps - 1, steps)
    report = out / "report.html"
    write_text(report, _report(originals, rows, typical, out))
    drawing(steps, steps)
    return Demo(trips=len(originals), streets=len(chain.states), rows=tuple(rows), report=report)


def _of_typical_trips(chain: MarkovChain, epsilon: int) -> Mechanism:
    """The mechanism that trips of the typical length in a file are released by."""
    every = choose_mechanism(MechanismChoice(epsilon=Fraction(epsilon)), runs_of_any_length(chain))
    parts = every.parts(np.array([_TYPICAL_LENGTH]))
    assert parts is not None  # noqa: S101 - lengths were given
    return parts[str(_TYPICAL_LENGTH)]


def _as_csv(sequences: dict[str, tuple[str, ...]]) -> str:
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(["trip_id", "streets"])
    writer.writerows((name, " ".join(trip)) for name, trip in sequences.items())
    return output.getvalue()


def _read(path: Path) -> dict[str, list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return {row["trip_id"]: row["streets"].split() for row in csv.DictReader(file)}


def _typical(language: RunLanguage) -> list[Word]:
    return [decode(row, language.alphabet, like=()) for row in typical_words(language, _TYPICAL_TRIPS)]


def _mean_error(mechanism: Mechanism) -> float:
    language = mechanism.language.runs
    assert language is not None  # noqa: S101 - the demo is about a model
    errors = [mechanism.distances(word).expected_error for word in _typical(language)]
    return sum(errors) / len(errors)


# --- the report --------------------------------------------------------------------------------


def _report(
    originals: dict[str, tuple[str, ...]], rows: Sequence[DemoRow], typical: RunLanguage, out: Path
) -> str:  # fmt: skip
    curve = out / "expected_error.svg"
    draw_curves(_curves(typical), title="", x_label="ε", y_label=f"streets changed, of {_TYPICAL_LENGTH}", path=curve)
    total = " + ".join(str(row.epsilon) for row in rows)
    return page(
        "symveil demo: private trips",
        f"{len(originals)} synthetic trips on a generated network of {len(town().states)} streets. Each released trip "
        "is one that the network allows, drawn near the true one, so that trips that differ in one street are hard to "
        "tell apart. This report shows originals only because nobody made them.",
        [
            (
                "What is promised",
                "<p>No released trip is more than e<sup>ε</sup> times as likely from one trip as from another feasible "
                "trip that differs in one street, wherever it begins. On a network this has to be proved: the rate is "
                "the largest whose loss the certificate bounds by ε. Every file was checked against its manifest, and "
                f"every trip in it is legal. Each file is a release of its own: all of them cost {total} = "
                f"{sum(row.epsilon for row in rows)} per trip.</p>"
                + table(
                    ("ε", "proved loss", f"streets changed in a typical trip of {_TYPICAL_LENGTH}", "checked", "file"),
                    [
                        (
                            str(row.epsilon),
                            f"{shown_at_least(row.loss)} ({row.how})",
                            f"{row.expected_error:.3f}",
                            "yes" if row.checked else "NO",
                            html.escape(row.release.out.name),
                        )
                        for row in rows
                    ],
                ),
            ),
            ("Before and after", _maps(originals, rows)),
            (
                "What ε buys",
                f"<p>Expected number of changed streets in a typical trip of {_TYPICAL_LENGTH}, exactly computed and "
                "averaged over the public network, never over the trips. The papers spend half of the budget on a "
                "normaliser that hardly varies; the certificate proves how little it does and gives the rest back.</p>"
                + figure(curve.read_text(encoding="utf-8")),
            ),
        ],
        style=_MAP_STYLE,
    )


def _maps(originals: dict[str, tuple[str, ...]], rows: Sequence[DemoRow]) -> str:
    private = [_read(row.release.out) for row in rows]
    cells = []
    for name in _SHOWN:
        cells.append(f"<div>{trip_map(originals[name])}the true trip</div>")
        for row, trips_at in zip(rows, private, strict=True):
            cells.append(f"<div>{trip_map(trips_at[name], originals[name])}ε = {row.epsilon}</div>")
    return (
        "<p>Four trips, each with its three private versions. Numbers say in which order streets are driven; streets "
        f'that differ from the true trip at the same position are dashed.</p><div class="maps">{"".join(cells)}</div>'
    )


def trip_map(trip: Sequence[str], original: Sequence[str] | None = None) -> str:
    """A small map with a trip on it; streets that differ from the original's at the same position are dashed.

    >>> trip_map(["3,2-3,3"])[:4]
    '<svg'
    """
    title = f"a trip over {len(trip)} streets"
    if original is not None:
        title += f", {sum(one != other for one, other in zip(trip, original, strict=True))} of them changed"
    return road_map_svg(network_coordinates(), trip, title=title, original=original)


def _curves(language: RunLanguage) -> list[Curve]:
    def errors(kind: type[Exponential | PermuteAndFlip], calibration: str) -> list[float]:
        return [
            _mean_error(kind(language, epsilon=epsilon, calibration=calibration)) for epsilon in _CURVE_EPSILONS
        ]  # fmt: skip

    at = [float(epsilon) for epsilon in _CURVE_EPSILONS]
    return [
        Curve("exponential, classic (J19)", at, errors(Exponential, "classic")),
        Curve("permute-and-flip, classic (B26)", at, errors(PermuteAndFlip, "classic")),
        Curve("exponential, certified (symveil)", at, errors(Exponential, "tight")),
    ]
