"""`symveil privatize`.

What `symveil privatize --dry-run` prints: what a release would charge, and what a year of them would cost.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symveil.cli.options import LanguageOptions, MechanismOptions, language_options, mechanism_options
from symveil.cli.output import (
    command,
    print_facts,
    print_json,
    print_notes,
    print_table,
    require_not_read,
    require_suffix,
)
from symveil.cli.progress import progress_bar
from symveil.cli.single_options import (
    again_option,
    choice_option,
    column_options,
    engine_options,
    file_option,
    json_option,
    ledger_option,
    out_option,
    over_budget_option,
    person_option,
    release_id_option,
    size_options,
    spreadsheet_option,
    start_option,
    thin_option,
    time_grid_option,
    time_option,
    time_shift_option,
    time_step_option,
    timezone_option,
)
from symveil.cli.values import PATH
from symveil.errors import InputError

if TYPE_CHECKING:
    from symveil.tasks.plan_budget import BudgetPlan
    from symveil.tasks.privatize_file import FileRelease

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


@command(
    "privatize",
    example="symveil privatize examples/trips.csv --out private.csv --model examples/roads.json "
    '--separator "|" --epsilon 3 --adjacency 2',
)
@click.argument("source_file", metavar="IN", type=PATH)
@out_option("The private file, of the same kind")
@language_options
@mechanism_options
@column_options
@person_option
@ledger_option(required=False)
@over_budget_option
@choice_option(
    "--on-unknown",
    of=("error", "drop-sequence"),
    text="What happens to sequences that the alphabet or model does not have.",
)
@release_id_option(required=False)
@again_option
@engine_options
@file_option("--report", text="Also write one page about the release for those who decide (.html); public facts only.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="With --ledger: who would be charged what, what a year would cost, and which answers estimate will be able to "
    "give; nothing is drawn, charged or written.",
)
@click.option("--unsafe-report-true-error", is_flag=True, help="Also tell how much was changed: not private.")
@size_options
@thin_option
@spreadsheet_option
@start_option
@time_step_option
@time_option
@time_grid_option
@time_shift_option
@timezone_option
@click.option(
    "--time-share", metavar="S", help="With --time-grid on a model: what times get of epsilon; 0.4 by default."
)
@json_option
def privatize_command(
    source_file: Path,
    out: Path,
    source: LanguageOptions,
    mechanism: MechanismOptions,
    as_json: bool,
    report: Path | None,
    dry_run: bool,
    **options: object,
) -> None:
    """Privatise a file of sequences.

    IN is CSV, JSON Lines, Parquet or XES, each also gzipped. With --ledger every person is charged before anything is
    drawn. True times of events do not pass: an XES log gets artificial ones, and so does a table with --start. A
    manifest beside the private file says what is promised; symveil check rechecks it.

    With --time and --time-grid each event keeps a private hour, or a private wait, under the same epsilon:
    symveil privatize log.csv --case id --symbol activity --time stamp --time-grid hour --time-shift 1 --epsilon 4
    --alphabet @activities.txt --out private.csv
    """
    from symveil.storage.atomic import check_writable, write_text
    from symveil.tasks.doubts import hides_little, thin_protection
    from symveil.tasks.privatize_file import privatize_file
    from symveil.tasks.release_report import attacker_in, protection_in

    if mechanism.not_private:
        raise InputError("mechanism: expected a private mechanism for a file, found --not-private")
    given = source.parameters()
    if mechanism.time_step is not None:
        if options["time_step"] is not None:
            raise InputError("time-step: expected --time-step or --step with a unit, found both")
        options["time_step"] = mechanism.time_step
    require_suffix("report", report, (".html",))
    require_not_read(source_file, out, given.get("model"), report=report)
    if report is not None and not dry_run:
        check_writable(report)  # before anybody is charged
    choice = mechanism.choice(public_start=source.public_start, for_file=True)
    if dry_run:
        from symveil.tasks.plan_budget import plan_budget

        with progress_bar("looking") as progress:
            plan = plan_budget(source_file, out, **given, choice=choice, **options, progress=progress)  # type: ignore[arg-type]
        if as_json:
            print_json(plan.document())
        else:
            print_plan(plan)
        return
    passes = ("releasing",) if options["ledger"] is None else ("charging", "releasing")
    with progress_bar("privatising", passes=passes) as progress:
        release = privatize_file(
            source_file,
            out,
            **given,
            choice=choice,
            **options,  # type: ignore[arg-type]  # named as the fields are
            progress=progress,
        )
    notes = [*release.notes, *_no_better(release.manifest)]
    if report is not None:
        from symveil.tasks.release_report import release_page

        write_text(report, release_page(release.manifest))
    if release.already_done:
        notes.append(
            "this release was finished before: its output stands, nothing was drawn and nobody was charged again"
        )
        notes.append(
            "nothing is kept of its secret words, so only its records were compared with the input; other words need "
            "another --release-id"
        )
    if as_json:
        print_json(release.document() | ({} if report is None else {"report": str(report)}))
    else:
        _print(release, report)
    warnings = [*thin_protection(protection_in(release.manifest)), *hides_little(attacker_in(release.manifest))]
    print_notes(notes, warnings=[*release.warnings, *warnings])


def _no_better(manifest: dict[str, Any]) -> list[str]:
    from symveil.tasks.doubts import no_better_than_classic

    return no_better_than_classic(manifest["how"], manifest["parameters"].get("calibration"))


def _print(release: FileRelease, report: Path | None) -> None:
    from symveil.numbers.rationals import shown_at_least
    from symveil.release.promise import passes_unprotected
    from symveil.tasks.release_report import in_numbers, mechanism_in_words, times_in_words

    manifest, counts = release.manifest, release.manifest["counts"]
    loss = shown_at_least(manifest["guarantee"]["epsilon"])
    eta = "" if manifest["eta"] is None else f", eta {manifest['eta']}"  # not every mechanism has a rate
    facts = [
        ("private file", str(release.out)),
        ("manifest", str(release.manifest_file)),
        ("release", str(manifest["release_id"])),
        ("mechanism", f"{mechanism_in_words(manifest)}{eta}, adjacency {manifest['b']}"),
        (
            "loss per sequence",
            f"epsilon = {loss} ({manifest['how']}), of {manifest['epsilon_exact']} asked for",
        ),
        ("sequences", f"{counts['released']} released of {counts['sequences']}, {counts['symbols']} symbols"),
    ]
    if counts["dropped_unknown"]:
        facts.append(("left out", f"{counts['dropped_unknown']} that the alphabet or model does not have"))
    if counts["dropped_over_budget"]:
        facts.append(("left out", f"{counts['dropped_over_budget']} of persons over budget"))
    if manifest["charged"] is not None:
        facts.append(("charged", f"{manifest['charged']} for each sequence"))
    if release.persons is not None:
        facts.append(("persons", f"{release.persons}, of whom none is charged more than {release.largest_charge}"))
    facts += in_numbers(manifest)
    facts += times_in_words(manifest)
    facts.append(("passes unprotected", ", ".join(passes_unprotected(manifest))))
    facts.append(("report", "--report FILE.html writes a page for those who decide" if report is None else str(report)))
    if release.true_error is not None:
        facts.append(
            ("true error", f"{release.true_error['changed_fraction']:.6f} of the symbols changed: NOT PRIVATE")
        )
    print_facts("Private", facts)
