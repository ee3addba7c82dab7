"""`symveil privatize`."""

from __future__ import annotations

from pathlib import Path

import click

from symveil.cli.field_options import ENGINE, EVENTS, PATH, SIZES, WIDE_FORM, named_options
from symveil.cli.options import (
    LanguageOptions,
    MechanismOptions,
    file_option,
    json_option,
    language_options,
    mechanism_options,
    out_option,
    time_option,
)
from symveil.cli.output import command, print_result, require_not_read, require_suffix
from symveil.cli.progress import progress_bar
from symveil.errors import InputError


@command(
    "privatize",
    example="symveil privatize examples/trips.csv --out private.csv --model examples/roads.json "
    '--separator "|" --epsilon 3 --adjacency 2',
)
@click.argument("source_file", metavar="IN", type=PATH)
@out_option("The private file, of the same kind")
@language_options
@mechanism_options
@named_options(
    *(*WIDE_FORM, *EVENTS, "keep", "person"),
    *("ledger", "over_budget", "on_unknown", "release_id", "again", *ENGINE),
)
@file_option("--report", text="Also write a page with public facts about the release (.html).")
@click.option(
    "--dry-run",
    is_flag=True,
    help="With --ledger: show who would pay what, what a year would cost, and which answers estimate could give; "
    "change nothing.",
)
@named_options("unsafe_report_true_error", *SIZES, "thin", "spreadsheet_safe", "start", "time_step")
@time_option
@named_options("time_grid", "time_shift", "timezone", "time_share")
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
    drawn. True times of events do not pass: an XES log gets artificial ones, and so does a table with --start
    (--step 1h means --time-step 1h). A manifest beside the private file says what is promised; symveil check rechecks
    it.

    With --time and --time-grid each event keeps a private hour, or a private wait, under the same epsilon:
    symveil privatize log.csv --case id --symbol activity --time stamp --time-grid hour --time-shift 1 --epsilon 4
    --alphabet @activities.txt --out private.csv
    """
    from symveil.storage.files import check_writable, write_text
    from symveil.tasks.privatize_file import privatize_file
    from symveil.tasks.release_report import release_page

    if mechanism.typed["not_private"]:
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
        from symveil.tasks.plan_budget import plan_budget, plan_report

        with progress_bar("looking") as progress:
            plan = plan_budget(source_file, out, **given, choice=choice, **options, progress=progress)  # type: ignore[arg-type]
        print_result(plan.document, plan_report(plan), as_json=as_json)
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
    if report is not None:
        write_text(report, release_page(release.manifest))
    document = release.document() | ({} if report is None else {"report": str(report)})
    page = "--report FILE.html writes a page for those who decide" if report is None else str(report)
    print_result(lambda: document, release.report(page=page), as_json=as_json)
