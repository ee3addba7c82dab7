"""What `symveil privatize --dry-run` prints: what a release would charge, and what a year of them would cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symveil.cli.output import print_facts, print_table

if TYPE_CHECKING:
    from symveil.tasks.plan_budget import BudgetPlan

_MOST_ROWS = 20


def print_plan(plan: BudgetPlan) -> None:
    """Who would be charged what, who lacks budget, and what lies ahead."""
    from symveil.ledger.statements import WHOLE
    from symveil.numbers.rationals import shown_at_least

    document = plan.document()
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
                f"{book.allowance} for everybody; most spent {book.most_spent}, least left {book.least_left}",
            )
            for book in plan.books
        ]
    print_facts("Nothing was drawn, charged or written", facts)
    charges = document["charges"]
    assert isinstance(charges, list)  # noqa: S101 - a document of ours
    rows = [
        (str(each["sequences"]), str(each["persons"]), each["charge"], str(each["lacking"]))
        for each in charges[:_MOST_ROWS]
    ]
    if len(charges) > _MOST_ROWS:
        rows.append((f"and {len(charges) - _MOST_ROWS} more", "", "", ""))
    print_table("Who would be charged what", ("sequences each", "persons", "charge", "with too little"), rows)
    how = "composed, as this ledger does" if plan.composes else "composed, if budgets had a delta"
    ahead = [(each.schedule, str(each.releases), each.added, shown_at_least(each.composed, 4)) for each in plan.ahead]
    columns = ("such a release", "releases", "added up", f"{how}, {plan.delta:g}")
    print_table("What the person who pays most will have spent", columns, ahead)
    if plan.forecast:
        answers = [
            (each.statistic, f"{each.total:,}", "" if each.half_width is None else f"±{each.half_width:.3g}", each.note)
            for each in plan.forecast
        ]
        title = (
            f"What estimate will say from {plan.sequences} such sequences (for you: how many there are is not public)"
        )
        print_table(title, ("statistic", "in all", "interval (95 %)", "what to expect"), answers)
