"""What the demo promises and what came of it: the settings, the releases, and the answers beside the truth."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from symveil.examples.millford import STREETS
from symveil.mechanisms.attacker import AttackerView
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
    """The share of all blocks of the file that were changed. Only a demo may look: nobody made these trips."""
    unchanged_trips: float
    """The share of trips that came out as they were."""
    attacker: AttackerView
    """What somebody learns of a typical trip who knows the map and sees the private one."""
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
