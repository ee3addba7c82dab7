"""What a release would charge, as a report: who would be charged what, who lacks budget, what a year would cost."""

from __future__ import annotations

from symveil.ledger.statements import WHOLE
from symveil.numbers.rationals import shown_at_least
from symveil.reports.report import Facts, Report, Section, Table
from symveil.tasks.plan_budget import BudgetPlan

_MOST_ROWS = 20


def plan_report(plan: BudgetPlan) -> Report:
    """Who would be charged what, who lacks budget, and what lies ahead."""
    title = "Nothing was drawn, charged or written"
    sections = [Section(title, (Facts.from_rows(_facts(plan)),)), _charges(plan), _ahead(plan)]
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


def _facts(plan: BudgetPlan) -> list[tuple[str, str]]:
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
        for each in charges[:_MOST_ROWS]
    ]
    if len(charges) > _MOST_ROWS:
        rows.append((f"and {len(charges) - _MOST_ROWS} more", "", "", ""))
    columns = ("sequences each", "persons", "charge", "with too little")
    return Section("Who would be charged what", (Table.from_rows(columns, rows),))


def _ahead(plan: BudgetPlan) -> Section:
    how = "composed, as this ledger does" if plan.composes else "composed, if budgets had a delta"
    rows = [(each.schedule, str(each.releases), each.added, shown_at_least(each.composed, 4)) for each in plan.ahead]
    columns = ("such a release", "releases", "added up", f"{how}, {plan.delta:g}")
    return Section("What the person who pays most will have spent", (Table.from_rows(columns, rows),))
