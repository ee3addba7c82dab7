"""What a release would cost, before it is made: who would be charged what, who lacks budget, what a year would cost.

What `estimate` will be able to say from a release, before it is made: how wide intervals will be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.estimation.limits import LIMITS
from symveil.estimation.statistics import read_statistic
from symveil.estimation.table import factors
from symveil.formats.reading import path_of
from symveil.languages.graph import Model
from symveil.ledger.accounts import totals
from symveil.ledger.charging import Due, charging, check_unit
from symveil.ledger.composition import composed_epsilon
from symveil.ledger.statements import WHOLE, BookTotals
from symveil.ledger.store import Database
from symveil.ledger.units import UNIT, WHOLE_PART, WHOLE_WORDS, Unit, shown_units
from symveil.mechanisms.calibrate import expected_error_of_file
from symveil.mechanisms.choice import MechanismChoice
from symveil.models.alphabet import Alphabet, Symbol
from symveil.numbers.progress import Progress, accepted, silent
from symveil.numbers.rationals import at_least, percent, shown_at_least
from symveil.randomness import new_release_key
from symveil.release.rerelease import noise_of_mechanism
from symveil.release.spec import LocalSpec
from symveil.reports.report import Facts, Report, Section, Table
from symveil.tasks.parameters import FileParameters
from symveil.tasks.privatize_file import ReleaseRequest, file_job

CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    """What is to be expected of one statistic.

    Parameters
    ----------
    statistic
        As `estimate` takes it.
    total
        What all rows of its table add up to.
    half_width
        About how far an interval (95 %) will reach on each side of a row of average size; 0: exact; None: not known.
    note
        What that means, in a sentence.
    """

    statistic: str
    total: int
    half_width: float | None
    note: str

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return asdict(self)


def forecast(release: LocalSpec, lengths: NDArray[np.int64] | None, sequences: int) -> tuple[Forecast, ...]:
    """What visits, pairs and lengths can be estimated from a release of so many sequences of the middle length.

    Secret lengths are None.

    >>> from symveil.mechanisms.choice import MechanismChoice
    >>> release = LocalSpec.from_choice(MechanismChoice(epsilon=2), alphabet="abcd", model=None)
    >>> for each in forecast(release, np.array([5]), 1000):
    ...     print(each.statistic, each.total, None if each.half_width is None else round(each.half_width), each.note)
    visits 5000 77 about ±6.2% of an average row
    ngrams:2 4000 62 about ±25% of an average row
    lengths 1000 0 exact: lengths are public in this release
    """
    if lengths is None or not len(lengths) or not sequences:
        return ()
    length = int(lengths[len(lengths) // 2])
    totals = {"visits": sequences * length, "ngrams:2": sequences * max(length - 1, 0)}
    exact = Forecast(
        statistic="lengths", total=sequences, half_width=0.0, note="exact: lengths are public in this release"
    )
    if release.choice.metric == "levenshtein":
        return ()
    if release.model is not None:
        return (*(_on_model(release, name, total, lengths) for name, total in totals.items() if total), exact)
    return (*(_free(release, name, total, length, sequences) for name, total in totals.items() if total), exact)


def _free(release: LocalSpec, name: str, total: int, length: int, sequences: int) -> Forecast:
    """Over an alphabet noise has an inverse: what it adds to a row of average size, where overlaps are left out."""
    noise, order = noise_of_mechanism(release.mechanism), read_statistic(name).order
    if not noise.usable(order, length, sequences=sequences):
        return Forecast(
            statistic=name, total=total, half_width=None, note="nothing: estimate will refuse, the noise is too large"
        )
    factor = factors(CONFIDENCE, cells=1, freedom=None)[0]
    spread = math.sqrt(total * max(noise.added_variance(order, length), 0.0))
    share = factor * spread * noise.symbols**order / total
    about = f"{share:,.0%}" if share >= 0.1 else f"{100 * share:.2g}%"
    more = "; rows of average size drown in noise" if share > 1 else ""
    return Forecast(
        statistic=name,
        total=total,
        half_width=factor * spread,
        note=f"about ±{about} of an average row{more}",
    )


def _on_model(release: LocalSpec, name: str, total: int, lengths: NDArray[np.int64]) -> Forecast:
    """On a model words are released again: how many symbols that leaves as they are decides what can be said."""
    error = expected_error_of_file(release.mechanism, lengths)
    if error is None:
        return Forecast(statistic=name, total=total, half_width=None, note="not known beforehand on this model")
    agreement = 1 - float(str(error["symbols"])) / float(str(error["length"]))
    what = "estimates with intervals" if agreement >= LIMITS.now.sure_agreement else "estimates without intervals"
    if agreement < LIMITS.now.least_agreement:
        what = "nothing: estimate will refuse, the noise is too large"
    return Forecast(
        statistic=name, total=total, half_width=None, note=f"{what}: about {percent(agreement)} of the symbols stay"
    )


USUAL_DELTA = 1e-6
"""At which losses are composed for a ledger that has no delta."""
SCHEDULES = (("once", 1), ("every month of a year", 12), ("every week of a year", 52))
_MOST_NAMED = _MOST_CHARGES = 20


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
            "ahead": [asdict(each) for each in self.ahead],
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

    Parameters are those of `privatize_file`; a ledger is needed.

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
    request = ReleaseRequest.of("plan_budget", dict(named), alphabet=alphabet, model=model, choice=choice)
    ledger = request.run.ledger
    if ledger is None:
        raise ParameterError("dry_run", expected="a ledger, whose budgets it looks at", found="none")
    requested_price = request.release.price()
    report_progress = accepted(progress, before=3) or silent
    out_path = path_of(out, name="out")
    job = file_job(
        path_of(path), out_path, request.release, request.columns, request.run, report_progress, proved=False
    )
    database = Database(str(ledger), create=False)
    try:
        check_unit(database, requested_price.unit)
        with charging(database) as asking:
            with job.explained():
                job.survey(job.plan("plan", new_release_key()), asking.ask)
                request.release.refuse_thin(job.legal_lengths, thin=request.run.thin)
            dues, lacking = asking.preview(
                charge=requested_price.charge, loss=requested_price.loss, unit=requested_price.unit
            )  # fmt: skip
        books = totals(database).books
        allowed = float(next((book.delta for book in books if book.compares == requested_price.unit.compares), "0"))
    finally:
        database.close()
    sequences = sum(due.persons * due.sequences for due in dues)
    most = max((due.sequences for due in dues), default=0)
    delta = allowed or USUAL_DELTA
    return BudgetPlan(
        persons=sum(due.persons for due in dues),
        sequences=sequences,
        charge=shown_units(requested_price.charge),
        largest_charge=shown_units(most * requested_price.charge),
        unit=str(requested_price.unit),
        dues=tuple(dues),
        lacking=len(lacking),
        lacking_persons=tuple(lacking[:_MOST_NAMED]),
        delta=delta,
        composes=allowed > 0,
        ahead=tuple(_ahead(requested_price.charge, requested_price.loss, most, delta)),
        whole=_whole(requested_price.charge, requested_price.unit, most, asking.largest_whole),
        books=books,
        forecast=forecast(request.release, job.lengths, sequences),
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


def plan_report(plan: BudgetPlan) -> Report:
    """Who would be charged what, who lacks budget, and what lies ahead."""
    title = "Nothing was drawn, charged or written"
    sections = [Section(title, (Facts.from_rows(_plan_facts(plan)),)), _charges(plan), _ahead_section(plan)]
    if plan.forecast:
        rows = [
            (each.statistic, f"{each.total:,}", "" if each.half_width is None else f"±{each.half_width:.3g}", each.note)
            for each in plan.forecast
        ]
        heading = (
            f"What estimate will say from {plan.sequences} such sequences (for you: how many there are is not public)"
        )
        columns = ("statistic", "in all", "interval (95 %)", "what to expect")
        sections.append(Section(heading, (Table.from_rows(columns, rows),)))
    return Report(title=title, sections=tuple(sections))


def _plan_facts(plan: BudgetPlan) -> list[tuple[str, str]]:
    lacking = f"{plan.lacking} of {plan.persons} persons"
    if plan.lacking_persons:
        more = plan.lacking - len(plan.lacking_persons)
        lacking += f": {', '.join(plan.lacking_persons)}{f' and {more} more' if more else ''}"
    facts = [
        ("charge", f"{plan.charge} for each sequence: {plan.unit}"),
        ("persons", f"{plan.persons} for {plan.sequences} sequences, none charged more than {plan.largest_charge}"),
        ("too little budget", lacking),
        ("whole words", f"at most {plan.whole} for {WHOLE}" if plan.whole else "no bound is known before the release"),
    ]
    if len(plan.books) > 1:
        facts += [
            (
                f"budget for {book.compares}",
                f"{book.allowance} for each person; most spent {book.most_spent}, least left {book.least_left}",
            )
            for book in plan.books
        ]
    return facts


def _charges(plan: BudgetPlan) -> Section:
    charges = plan.document()["charges"]
    assert isinstance(charges, list)  # noqa: S101 - a document of ours
    rows = [
        (str(each["sequences"]), str(each["persons"]), each["charge"], str(each["lacking"]))
        for each in charges[:_MOST_CHARGES]
    ]
    if len(charges) > _MOST_CHARGES:
        rows.append((f"and {len(charges) - _MOST_CHARGES} more", "", "", ""))
    columns = ("sequences each", "persons", "charge", "with too little")
    return Section("Who would be charged what", (Table.from_rows(columns, rows),))


def _ahead_section(plan: BudgetPlan) -> Section:
    how = "composed, as this ledger does" if plan.composes else "composed, if budgets had a delta"
    rows = [(each.schedule, str(each.releases), each.added, shown_at_least(each.composed, 4)) for each in plan.ahead]
    columns = ("such a release", "releases", "added up", f"{how}, {plan.delta:g}")
    return Section("What the person who pays most will have spent", (Table.from_rows(columns, rows),))
