"""The page of the demo: the town, true and private trips, what is still learned, what is not, and at which price.

What the demo promises and what came of it: the settings, the releases, and the answers beside the truth.
"""

from __future__ import annotations

import csv
import html
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from symveil.examples.millford import DAYS, LONGEST, MOST_TRIPS, SHORTEST, STREETS, Trip, millford, town_plan
from symveil.languages.runs import runs
from symveil.laws.protection import protection
from symveil.mechanisms.attacker.view import AttackerView, percent
from symveil.numbers.rationals import shown_at_least, spelled
from symveil.pictures.charts import Curve, Whisker, curves_chart, whiskers_chart
from symveil.pictures.road_map import road_weights_svg
from symveil.pictures.town_map import town_svg
from symveil.reports.page import figure, page, table
from symveil.tasks.privatize_file import FileRelease

EPSILONS = (4, 6, 10)
"""For trips that differ in up to `ADJACENCY` blocks; each block costs a quarter of it, also beyond. The last is large
enough for intervals from the private file alone in nearly every release.
"""
ADJACENCY = 4
"""The least number of blocks with which every block of a typical trip has alternatives on this map."""
EPSILON_PER_PERSON = 1
TYPICAL_LENGTH = 7
SEPARATOR = "|"
CURVE_EPSILONS = (2, 4, 6, 8, 10)

Cell = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DemoRow:
    """One ε: what is promised, what it costs, and the private file."""

    epsilon: int
    loss: float
    how: str
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
    def per_block(self) -> Fraction:
        """What each block costs in which two trips differ."""
        return Fraction(self.epsilon, ADJACENCY)


@dataclass(frozen=True, slots=True)
class Answer:
    """A number that an analyst wants: the true one, what is counted in what was released, and what is known of it."""

    cell: Cell
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

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "symbols": list(self.cell), "true": self.true, "released": self.released, "estimate": self.estimate,
            "low": self.low, "high": self.high,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class ErrorCurve:
    """A mechanism, and how many blocks of a typical trip it changes at each of `CURVE_EPSILONS`."""

    name: str
    errors: tuple[float, ...]

    def at(self, epsilon: int) -> float:
        """The error at one of them."""
        return self.errors[CURVE_EPSILONS.index(epsilon)]


@dataclass(frozen=True, slots=True)
class Demo:
    """What the demo did and where its results are."""

    trips: int
    streets: int
    people: int
    rows: tuple[DemoRow, ...]
    visits: tuple[Answer, ...]
    """How often each block was driven, from the private file with the largest ε."""
    turns: tuple[Answer, ...]
    """How often one block followed another, from the same file."""
    flows: tuple[Answer, ...]
    """Trips from quarter to quarter, from the whole file, with one ε per person."""
    curves: tuple[ErrorCurve, ...]
    report: Path

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "trips": self.trips,
            "streets": self.streets,
            "named_streets": len(STREETS),
            "people": self.people,
            "adjacency": ADJACENCY,
            "length": TYPICAL_LENGTH,
            "report": str(self.report),
            "releases": [
                {
                    "epsilon": row.epsilon,
                    "guarantee": row.release.manifest["guarantee"],
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
                name: {"covered": covered(answers), "rows": [answer.document() for answer in answers]}
                for name, answers in (("visits", self.visits), ("turns", self.turns), ("flows", self.flows))
            },
            "epsilon_per_person": EPSILON_PER_PERSON,
            "mechanisms": [
                {"name": curve.name, "epsilons": list(CURVE_EPSILONS), "expected_errors": list(curve.errors)}
                for curve in self.curves
            ],
        }


def covered(answers: Iterable[Answer]) -> int:
    """How many intervals have the true number in them.

    >>> covered([Answer(("a",), 5, 4, 4.5, 3.0, 6.0), Answer(("b",), 9, 4, 4.5, 3.0, 6.0)])
    1
    """
    return sum(answer.covered for answer in answers)


def coverage(answers: Sequence[Answer]) -> str:
    """The same in words.

    >>> coverage([Answer(("a",), 5, 4, 4.5, 3.0, 6.0), Answer(("b",), 9, 4, 4.5, 3.0, 6.0)])
    '1 of all 2 intervals have the true number in them.'
    """
    if any(answer.low is None for answer in answers):
        return "The noise of this release leaves no intervals."
    return f"{covered(answers)} of all {len(answers)} intervals have the true number in them."


def released_trips(release: FileRelease) -> dict[str, tuple[str, ...]]:
    """The trips of a private file by their id."""
    with release.out.open(encoding="utf-8", newline="") as file:
        return {row["trip_id"]: tuple(row["streets"].split(SEPARATOR)) for row in csv.DictReader(file)}


SHOWN = ("trip-0041", "trip-0038", "trip-0040")
_MOST_BARS = 12
_PURPOSES = {"work": "to work", "school": "to school", "shopping": "to the shops", "home": "home"}

_STYLE = """
.maps { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: .4rem .8rem; margin: .4rem 0 1.4rem; }
.maps.two { grid-template-columns: repeat(2, minmax(0, 1fr)); }
.maps div { text-align: center; font-size: .85rem; color: var(--soft); }
.maps svg { width: 100%; height: auto; display: block; }
.town svg { width: 100%; height: auto; }
h3 { font-size: 1rem; margin: 1.4rem 0 .2rem; }
dl.plain dt { font-weight: 600; } dl.plain dd { margin: 0 0 .7rem 0; }
@media (max-width: 44rem) { .maps { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
"""


def demo_report(demo: Demo, trips: Mapping[str, Trip]) -> str:
    """The whole page, one HTML document that loads nothing from elsewhere.

    Parameters
    ----------
    demo
        What was done.
    trips
        The true trips. A report about real people must not have them.
    """
    return page(
        "symveil demo: a week in Millford",
        f"{demo.people} people answered a survey about where they drove in {DAYS} days: {demo.trips:,} trips on "
        f"{demo.streets} blocks of {len(STREETS)} streets. Town, people and trips are made up, and that is the only "
        "reason why this page may show the true trips beside the private ones.",
        [
            ("The town", _town()),
            ("True trips and private trips", _trips(demo, trips)),
            ("What an analyst still learns", _learned(demo)),
            ("What no attacker can learn", _hidden(demo)),
            ("What it would have been as published", _published(demo)),
        ],
        style=_STYLE,
    )


def trip_map(trip: Sequence[str], original: Sequence[str] | None = None) -> str:
    """The town with a trip; blocks that differ from the original's at the same position are dashed.

    >>> trip_map(["High Street 1", "High Street 2"])[:4]
    '<svg'
    """
    title = f"a trip over {len(trip)} blocks: {', '.join(trip)}"
    if original is not None:
        wrong = sum(one != other for one, other in zip(trip, original, strict=True))
        title = f"a trip over {len(trip)} blocks, {wrong} of them changed: {', '.join(trip)}"
    return town_svg(town_plan(), trip, title=title, original=original)


# --- sections ----------------------------------------------------------------------------------


def _town() -> str:
    return (
        "<p>The map is public: its streets, which of them are one-way (arrows), and where one may turn. So are two "
        f"rules of the survey: a trip has {SHORTEST} to {LONGEST} blocks, and a person has at most {MOST_TRIPS} trips. "
        "Secret are the trips: where each began, which way it took and where it ended.</p>"
        f'<div class="town">{town_svg(town_plan(), title="A map of Millford with its street names", named=True)}'
        "</div>"
    )


def _trips(demo: Demo, trips: Mapping[str, Trip]) -> str:
    private = [released_trips(row.release) for row in demo.rows]
    cells = []
    for name in SHOWN:
        trip = trips[name]
        maps = [f"<div>{trip_map(trip.blocks)}the true trip</div>"]
        for row, released in reversed(list(zip(demo.rows, private, strict=True))):
            maps.append(f"<div>{trip_map(released[name], trip.blocks)}ε = {row.epsilon}</div>")
        cells.append(f'<h3>A trip {_PURPOSES[trip.purpose]}</h3><div class="maps">{"".join(maps)}</div>')
    rows = [
        (
            str(row.epsilon),
            spelled(row.per_block),
            f"{shown_at_least(row.loss)} ({row.how})",
            f"{row.expected_error:.2f}",
            f"{row.unchanged_trips:.0%}",
            "yes" if row.checked else "NO",
            html.escape(row.release.out.name),
        )
        for row in reversed(demo.rows)
    ]
    columns = (f"ε, up to {ADJACENCY} blocks", "per block", "proved loss", f"blocks changed, of {TYPICAL_LENGTH}",
               "trips left as they were", "checked", "private file")  # fmt: skip
    total = sum(row.epsilon for row in demo.rows)
    return (
        "<p>Each trip was replaced by one that can really be driven, with no U-turn and no one-way street the wrong "
        "way. Drawn are the true trip (pale), its private version (blue), and the blocks that were changed (orange, "
        "dashed). The ring is where it began, the arrow where it ended. A smaller ε hides more and changes more.</p>"
        + "".join(cells)
        + table(columns, rows)
        + f"<p>ε is what two trips lose that differ in {ADJACENCY} blocks. Those that differ in fewer lose less, in "
        f"more blocks more: every block costs ε/{ADJACENCY}, whatever the trips. {ADJACENCY} is the least number with "
        "which every block of a typical trip has alternatives on this map. “Blocks changed” is an average over trips "
        "of the public map, which tells nothing of the true ones. Every file was checked against its manifest. Each of "
        f"them is a release of its own: who publishes all three spends {total} per trip.</p>"
    )


def _learned(demo: Demo) -> str:
    best = demo.rows[-1]
    busiest = demo.visits[:_MOST_BARS]
    weights = {answer.cell[0]: max(0.0, answer.estimate) for answer in demo.visits}
    truth = {answer.cell[0]: float(answer.true) for answer in demo.visits}
    heaviest = max(truth.values())
    roads = {name: town_plan().lane(name) for name in truth}
    upright = {name: ((a, -b), (c, -d)) for name, ((a, b), (c, d)) in roads.items()}
    maps = "".join(
        f"<div>{road_weights_svg(upright, each, title=title, heaviest=heaviest)}{title}</div>"
        for each, title in (
            (truth, "true number of drives"),
            (weights, f"estimated from the private file, ε = {best.epsilon}"),
        )
    )
    return (
        "<h3>From the whole file, held by a trusted office</h3>"
        "<p>If the survey office may see the trips and publishes a table, it needs little noise, and protects people "
        f"instead of single trips (<code>symveil count</code>). Here ε = {EPSILON_PER_PERSON} is for everything that a "
        "person has in the file, all of their trips together. Trips between the quarters of the town; bars are the "
        "published numbers, whiskers 95 % intervals, and a cross is the true number, which the analyst does not "
        "have:</p>"
        + figure(_bars(demo.flows[:_MOST_BARS], "trips from quarter to quarter, with noise for each person"))
        + f"<p>{coverage(demo.flows)}</p>"
        "<h3>From a private file alone</h3>"
        "<p>If no one may be trusted with the true trips, each is made private by the driver's own telephone. The "
        f"analyst has the private file with ε = {best.epsilon} and the public law of its noise, and undoes, on "
        "average, what the noise has done (<code>symveil estimate</code>). That takes a far larger ε, which protects a "
        "single trip hardly at all (see below):</p>"
        f'<div class="maps two">{maps}</div>'
        f"<h3>How often a block was driven: the {len(busiest)} busiest of {len(demo.visits)}</h3>"
        + figure(_bars(busiest, "drives, estimated from private trips"))
        + f"<p>{coverage(demo.visits)}</p>"
        f"<h3>Which way people turn: the {_MOST_BARS} most frequent of {len(demo.turns)} turns</h3>"
        + _answer_table("turn", demo.turns[:_MOST_BARS])
        + f"<p>{coverage(demo.turns)} Estimates from trips of a map allow for a bias by a rule of thumb, so that "
        "their intervals are rather too wide than too narrow.</p>"
    )


def _hidden(demo: Demo) -> str:
    near = protection(runs(millford(), TYPICAL_LENGTH), adjacency=ADJACENCY)
    assert near is not None  # noqa: S101 - these are words of a model
    apart = (1, 2, ADJACENCY)
    rows = [
        (f"{row.epsilon} per trip", *(_surest(float(row.per_block * blocks)) for blocks in apart))
        for row in reversed(demo.rows)
    ]
    seen = [
        (f"{row.epsilon} per trip", *(percent(guess.after) for guess in (row.attacker.symbol, row.attacker.word)))
        for row in reversed(demo.rows)
    ]
    before = demo.rows[0].attacker
    most = demo.rows[-1]
    return (
        "<p>Take an attacker who knows the town, this program and all trips of everybody else, and who knows of yours "
        "that it was one of two. They would guess right every second time. After they have seen its private version, "
        "they are right at most so often, however clever they are, where the two trips differ in</p>"
        + table(("ε", "one block", *(f"{blocks} blocks" for blocks in apart[1:])), rows)
        + f"<p>With the table of quarters (ε = {EPSILON_PER_PERSON} per person) they want to know whether a person "
        f"took part, and are right at most {_surest(EPSILON_PER_PERSON)} of the time.</p>"
        "<p>An attacker who knows only the map, and takes every trip for as likely as any other, names "
        f"{percent(before.symbol.before)} of the {TYPICAL_LENGTH} blocks of a trip before, and "
        f"{percent(before.word.before)} of whole trips. With the private trip:</p>"
        + table(("ε", "blocks named", "whole trips named"), seen)
        + f"<p>So ε = {most.epsilon} hides little of a single trip. It is shown because then the private file alone "
        "answers questions with intervals; choose a smaller ε where single trips matter, or let a trusted office "
        "count.</p>" + '<dl class="plain"><dt>Hidden in the private files</dt>'
        "<dd>Where exactly a trip began or ended, which way it took, on which side it went round a block; the less, "
        f"the more blocks it concerns. A typical trip of {TYPICAL_LENGTH} blocks has "
        f"{near.neighbours_within_adjacency:.0f} other trips within {ADJACENCY} blocks.</dd>"
        "<dt>Hidden in the table of quarters</dt><dd>Everything that one person did in the week, and that they took "
        "part.</dd>"
        "<dt>Not hidden, and you should know</dt><dd>How many trips the private files have, in which order, and how "
        "many blocks each of them has. Roughly where in town it was: trips that have no block in common lose "
        f"{TYPICAL_LENGTH} × ε/{ADJACENCY}. And losses add up: if an attacker knew which {MOST_TRIPS} trips are yours, "
        f"these would lose {MOST_TRIPS} times as much together, {MOST_TRIPS} × {most.epsilon} = "
        f"{MOST_TRIPS * most.epsilon} at ε = {most.epsilon}. The private files do not say whose a trip is; who needs a "
        "promise for persons takes the table, or a ledger of budgets.</dd></dl>"
    )


def _surest(epsilon: float) -> str:
    """e^ε/(1 + e^ε): how sure one can be after even odds."""
    return f"{math.ceil(1000 / (1 + math.exp(-epsilon))) / 10:.1f} %"


def error_curves_svg(demo: Demo) -> str:
    """The blocks that each mechanism changes, against ε."""
    at = [float(epsilon) for epsilon in CURVE_EPSILONS]
    curves = [
        Curve(each.name, at, list(each.errors), "dashed" if index < len(demo.curves) - 1 else "solid")
        for index, each in enumerate(demo.curves)
    ]
    return curves_chart(
        curves,
        title=f"Blocks changed in a trip of {TYPICAL_LENGTH}, against ε",
        x_label=f"ε for {ADJACENCY} blocks (smaller is more private)",
        y_label=f"blocks changed, of {TYPICAL_LENGTH}",
    ).to_svg()


def _published(demo: Demo) -> str:
    rows = [(html.escape(each.name), *(f"{each.at(row.epsilon):.2f}" for row in demo.rows)) for each in demo.curves]
    return (
        "<p>The same promise for the same trips, with the mechanisms of the papers: the exponential mechanism (J19: "
        "Jones, Leahy and Hale) and permute-and-flip (B26: Benvenuti, Rao and Hale). Two trips that differ in d blocks "
        f"lose at most dε/{ADJACENCY} with either, and with symveil. The papers halve the rate of their noise to be on "
        "the safe side; symveil compares all pairs of trips and takes the largest rate that keeps the promise. Blocks "
        f"changed in a trip of {TYPICAL_LENGTH}, on average over the map:</p>"
        + table(("mechanism", *(f"ε = {row.epsilon}" for row in demo.rows)), rows)
        + figure(error_curves_svg(demo))
    )


# --- tables and bars ---------------------------------------------------------------------------


def _name(answer: Answer) -> str:
    return " → ".join(answer.cell)


def _bars(answers: Sequence[Answer], title: str) -> str:
    bars = [
        Whisker(
            _name(answer),
            answer.estimate,
            answer.estimate if answer.low is None else answer.low,
            answer.estimate if answer.high is None else answer.high,
            float(answer.true),
        )
        for answer in answers
    ]
    return whiskers_chart(bars, title=title, reference="the true number").to_svg()


def _answer_table(what: str, answers: Sequence[Answer]) -> str:
    return table(
        (what, "true", "estimated", "95 % interval"),
        [
            (html.escape(_name(answer)), str(answer.true), f"{answer.estimate:.0f}", _interval(answer))
            for answer in answers
        ],
    )


def _interval(answer: Answer) -> str:
    if answer.low is None or answer.high is None:
        return "none"
    return f"{max(0.0, answer.low):.0f} to {answer.high:.0f}"
