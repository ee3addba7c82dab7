"""What a release would cost, before it is made: who would be charged what, who lacks budget, what a year would cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Unpack

from symveil.errors import ParameterError
from symveil.formats.reading import path_of
from symveil.languages.graph import Model
from symveil.ledger.accounts import totals
from symveil.ledger.amounts import UNIT, WHOLE_PART, shown_units
from symveil.ledger.charging import Due, charging, check_unit
from symveil.ledger.composition import composed_epsilon
from symveil.ledger.statements import WHOLE, BookTotals
from symveil.ledger.store import Database
from symveil.ledger.units import WHOLE_WORDS, Unit
from symveil.mechanisms.choice import MechanismChoice
from symveil.models.alphabet import Alphabet, Symbol
from symveil.numbers.progress import Progress, accepted, silent
from symveil.numbers.rationals import at_least
from symveil.randomness import new_release_key
from symveil.release.promise import price, refuse_thin_release
from symveil.tasks.forecast import Forecast, forecast
from symveil.tasks.parameters import FileParameters
from symveil.tasks.privatize_file import AskedRelease, file_job

USUAL_DELTA = 1e-6
"""At which losses are composed for a ledger that has no delta."""
SCHEDULES = (("once", 1), ("every month of a year", 12), ("every week of a year", 52))
_MOST_NAMED = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Ahead:
    """What the person who pays most will have spent after so many such releases."""

    schedule: str
    releases: int
    added: str
    composed: float
    """At the plan's delta, rounded upwards."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetPlan:
    """What a release would charge. For the holder: nothing of it may be published."""

    persons: int
    sequences: int
    charge: str
    """For each sequence."""
    largest_charge: str
    unit: str
    dues: tuple[Due, ...]
    """Persons by how many sequences they have, most first."""
    lacking: int
    """How many persons have too little budget."""
    lacking_persons: tuple[str, ...] = field(repr=False)
    """Some of them by name."""
    delta: float
    composes: bool
    """Whether the ledger composes losses, at `delta`; else it adds them up."""
    ahead: tuple[Ahead, ...]
    whole: str | None
    """What one person's words lose at most when all of them are replaced by others of the same lengths; None: no bound
    is known before the release.
    """
    books: tuple[BookTotals, ...]
    """What budgets there are in the ledger."""
    forecast: tuple[Forecast, ...] = ()
    """What `estimate` will be able to say from the private file; empty where lengths are secret or not known."""

    def document(self) -> dict[str, object]:
        """The JSON form."""
        amount = Fraction(self.charge)
        return {
            "persons": self.persons,
            "sequences": self.sequences,
            "charge": self.charge,
            "largest_charge": self.largest_charge,
            "unit": self.unit,
            "charges": [
                {
                    "sequences": due.sequences,
                    "charge": shown_units(int(due.sequences * amount * UNIT)),
                    "persons": due.persons,
                    "lacking": due.lacking,
                }
                for due in self.dues
            ],
            "lacking": self.lacking,
            "lacking_persons": list(self.lacking_persons),
            "delta": self.delta,
            "composes": self.composes,
            "ahead": [
                {"schedule": each.schedule, "releases": each.releases, "added": each.added, "composed": each.composed}
                for each in self.ahead
            ],
            "whole_words": {"between": WHOLE, "epsilon": self.whole},
            "books": [book.document() for book in self.books],
            "forecast": [each.document() for each in self.forecast],
        }


def plan_budget(
    path: str | Path,
    out: str | Path,
    *,
    alphabet: Alphabet | Iterable[Symbol] | None = None,
    model: Model | str | Path | None = None,
    choice: MechanismChoice | None = None,
    progress: Progress | None = None,
    **named: Unpack[FileParameters],
) -> BudgetPlan:
    """What `privatize_file` with the same parameters would charge; nothing is drawn, charged or written.

    Parameters
    ----------
    path, out
        The file of sequences, and where the private file would go.
    alphabet, model, choice, named
        As `privatize_file` takes them; a ledger is needed.
    progress
        Called with how much of the file is read, and of how much.

    >>> import tempfile
    >>> from symveil.tasks.budgets import grant_budget
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source, ledger = Path(folder, "trips.csv"), Path(folder, "budgets.db")
    ...     _ = source.write_text("trip_id,rider,links\\n1,ann,a b\\n2,bob,b\\n3,ann,a\\n")
    ...     _ = grant_budget(ledger, 1, everyone=True)
    ...     plan = plan_budget(source, Path(folder, "private.csv"), alphabet="ab", epsilon=1, sequence="links",
    ...                        person="rider", ledger=ledger)
    >>> plan.persons, plan.largest_charge, plan.lacking, plan.lacking_persons
    (2, '2', 1, ('ann',))
    >>> [(each.releases, each.added, round(each.composed, 1)) for each in plan.ahead]
    [(1, '2', 2.0), (12, '24', 24.0), (52, '104', 85.9)]
    """
    asked = AskedRelease.of("plan_budget", dict(named), alphabet=alphabet, model=model, choice=choice)
    ledger = asked.run.ledger
    if ledger is None:
        raise ParameterError("dry_run", expected="a ledger, whose budgets it looks at", found="none")
    asked_price = price(asked.release)
    told = accepted(progress, before=3) or silent
    place = path_of(out, name="out")
    job = file_job(path_of(path), place, asked.release, asked.columns, asked.run, told, proved=False)
    database = Database(str(ledger), create=False)
    try:
        check_unit(database, asked_price.unit)
        with charging(database) as asking:
            with job.explained():
                job.survey(job.plan("plan", new_release_key()), asking.ask)
                refuse_thin_release(asked.release, job.legal_lengths, thin=asked.run.thin)
            dues, lacking = asking.preview(
                charge=asked_price.charge, loss=asked_price.loss, unit=asked_price.unit
            )  # fmt: skip
        books = totals(database).books
        allowed = float(next((book.delta for book in books if book.compares == asked_price.unit.compares), "0"))
    finally:
        database.close()
    sequences = sum(due.persons * due.sequences for due in dues)
    most = max((due.sequences for due in dues), default=0)
    delta = allowed or USUAL_DELTA
    return BudgetPlan(
        persons=sum(due.persons for due in dues),
        sequences=sequences,
        charge=shown_units(asked_price.charge),
        largest_charge=shown_units(most * asked_price.charge),
        unit=str(asked_price.unit),
        dues=tuple(dues),
        lacking=len(lacking),
        lacking_persons=tuple(lacking[:_MOST_NAMED]),
        delta=delta,
        composes=allowed > 0,
        ahead=tuple(_ahead(asked_price.charge, asked_price.loss, most, delta)),
        whole=_whole(asked_price.charge, asked_price.unit, most, asking.largest_whole),
        books=books,
        forecast=forecast(asked.release, job.lengths, sequences),
    )


def _whole(charge: int, unit: Unit, most: int, bound: int | None) -> str | None:
    if unit.covers(WHOLE_WORDS):
        return shown_units(charge * most)
    return None if bound is None else shown_units(bound * WHOLE_PART)


def _ahead(charge: int, loss: str, most: int, delta: float) -> Iterable[Ahead]:
    for schedule, releases in SCHEDULES:
        added = most * releases * charge
        composed = composed_epsilon([(loss, most * releases)], delta)
        # a charge is rounded up to the ledger's places, a loss is not: no sum is below what is composed of it
        yield Ahead(
            schedule=schedule,
            releases=releases,
            added=shown_units(added),
            composed=min(composed, at_least(Fraction(added, UNIT))),
        )
