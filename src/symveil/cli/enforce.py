"""`symveil enforce`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from symveil.cli.field_options import EVENTS, PATH, WIDE_FORM, named_options, options_of
from symveil.cli.options import (
    choice_option,
    file_option,
    json_option,
    k_option,
    notion_option,
    out_option,
    secret_option,
    unobservable_option,
)
from symveil.cli.output import command, print_result, require_different, require_suffix
from symveil.cli.progress import progress_bar
from symveil.errors import InputError


def _policy_options() -> type:
    from symveil.tasks.enforce_options import PolicyOptions

    return PolicyOptions


def _function_options() -> type:
    from symveil.tasks.enforce_options import FunctionOptions

    return FunctionOptions


@command("enforce", example="symveil enforce examples/medical.json --k 2 --policy private --epsilon 2")
@click.argument("model", metavar="MODEL", type=PATH)
@k_option
@options_of(_policy_options)
@secret_option
@unobservable_option
@file_option("--log", text="A file of observations to replace, with --out.")
@out_option(
    "With --log: what is shown, in the log's format with its ids, or one column of .csv, .tsv or .jsonl", required=False
)
@named_options(*WIDE_FORM, *EVENTS, "keep")
@click.option("--person", metavar="COL", help="With --ledger: whose budget an observation is charged to.")
@named_options("ledger", "over_budget")
@choice_option(
    "--on-unknown",
    of=("error", "drop-sequence"),
    text="In a release: what happens to observations that cannot be replaced.",
)
@named_options("release_id", "again", "spreadsheet_safe", "start", "time_step")
@click.option("--step", metavar="T", help="The same as --time-step.")
@notion_option
@options_of(_function_options)
@file_option(
    "--draw", text="Draw the automaton of the substitutes (private: the nearest), or the function (.svg, .dot)."
)
@json_option
def enforce_command(
    model: Path,
    k: str,
    secret: tuple[str, ...],
    unobservable: tuple[str, ...],
    log: Path | None,
    out: Path | None,
    draw: Path | None,
    step: str | None,
    notion: str,
    as_json: bool,
    **named: Any,
) -> int:
    """Replace what a system shows so that no secret is given away.

    MODEL is the system. private: every observation is replaced by a safe one of its length, nearer ones likelier:
    differentially private with --epsilon. safe: only sensitive strings are replaced, by safe ones at distance exactly
    --omega. substitution: by any string at that distance (Z25 §5). insertion: events are shown that did not happen;
    edit: and others are left out; supervisor: controllable events are prevented. These three are deterministic, and
    where there is none, the answer is a proof. A --log of observations is replaced into --out, with its ids; true times
    of events do not pass. With --ledger or --release-id the policy private makes it a release: persons are charged
    first, and symveil check rechecks its manifest. Exit status 0: enforced; 1: cannot be, and for which observation.
    """
    from symveil.formats.sequences.columns import ColumnOptions
    from symveil.parameters import described
    from symveil.tasks import enforce_options as options
    from symveil.tasks.enforce import enforce_by_function, enforce_by_policy, enforcement_report
    from symveil.tasks.opacity import load_system
    from symveil.tasks.parameters import RunOptions

    require_suffix("draw", draw, (".svg", ".dot"))
    if step is not None and named["time_step"] is not None:
        raise InputError("time-step: expected --time-step or --step, found both")
    named["time_step"] = step or named["time_step"]
    policy = described(options.PolicyOptions, None, named, name="policy")
    function = described(options.FunctionOptions, None, named, name="function")
    columns = described(ColumnOptions, None, named, name="columns")
    run = described(RunOptions, None, named, name="run")
    files = options.LogFiles(log=log, out=out, draw=draw, columns=columns, run=run)
    files.check(policy.policy, unobservable)
    require_suffix("function", function.function, (".json",))
    require_different(draw=draw, out=out, function=function.function)
    options.check_function_options(policy, notion, function)
    notes: list[str] = []
    system = load_system(model, secret=secret, unobservable=unobservable, notes=notes)
    if policy.policy in options.FUNCTIONS:
        with progress_bar("estimates explored") as progress:
            made = enforce_by_function(k, policy.policy, notion, function, files, system, progress)
        report, holds = made.synthesis.report(), bool(made.synthesis.possible)
        print_result(made.document, report, as_json=as_json, notes=[*notes, *made.notes])
        return 0 if holds else 1
    with progress_bar("enforcing") as progress:
        done = enforce_by_policy(model, k, policy, files, system, progress)
    report = enforcement_report(done.document())
    print_result(done.document, report, as_json=as_json, notes=[*notes, *done.notes])
    return 0 if done.enforcement.enforceable else 1
