"""`symveil enforce`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click

from symveil.cli.command import command
from symveil.cli.enforce_function import FUNCTIONS, FunctionOptions, enforce_by_function, function_options
from symveil.cli.options import read_adjacency_option
from symveil.cli.output import print_facts, print_json, print_notes, print_table, require_different, require_suffix
from symveil.cli.progress import progress_bar
from symveil.cli.single_options import (
    again_option,
    choice_option,
    column_options,
    epsilon_option,
    file_option,
    json_option,
    k_option,
    ledger_option,
    number_option,
    observations_adjacency_option,
    out_option,
    over_budget_option,
    release_id_option,
    secret_option,
    spreadsheet_option,
    start_option,
    time_step_option,
    unobservable_option,
)
from symveil.cli.values import PATH
from symveil.errors import InputError

_MOST_STRINGS, _MOST_SUBSTITUTES = 12, 6
_LONGEST_FRACTION = 60


@command("enforce", example="symveil enforce examples/medical.json --k 2 --policy private --epsilon 2")
@click.argument("model", metavar="MODEL", type=PATH)
@k_option
@choice_option("--policy", of=("private", "safe", "substitution", *FUNCTIONS), text="What is done: see above.")
@epsilon_option(required=False)
@observations_adjacency_option
@number_option("--omega", "W", text="With policy safe or substitution: the exact distance of substitutes.")
@number_option("--length", "N", text="At most so many observed events; needed where there are loops.")
@secret_option
@unobservable_option
@file_option("--log", text="A file of observations to replace, with --out.")
@out_option(
    "With --log: what is shown, in the log's format with its ids, or one column of .csv, .tsv or .jsonl", required=False
)
@column_options
@click.option("--person", metavar="COL", help="With --ledger: whose budget an observation is charged to.")
@ledger_option(required=False)
@over_budget_option
@choice_option(
    "--on-unknown",
    of=("error", "drop-sequence"),
    text="In a release: what happens to observations that cannot be replaced.",
)
@release_id_option(required=False)
@again_option
@spreadsheet_option
@start_option
@time_step_option
@click.option("--step", metavar="T", help="The same as --time-step.")
@function_options
@file_option(
    "--draw", text="Draw the automaton of the substitutes (private: the nearest), or the function (.svg, .dot)."
)
@json_option
def enforce_command(
    model: Path,
    k: str,
    policy: str,
    epsilon: str | None,
    adjacency: str,
    omega: int | None,
    length: int | None,
    secret: tuple[str, ...],
    unobservable: tuple[str, ...],
    log: Path | None,
    out: Path | None,
    ledger: str | None,
    over_budget: Literal["error", "drop"],
    on_unknown: Literal["error", "drop-sequence"],
    release_id: str | None,
    again: bool,
    spreadsheet_safe: bool,
    start: str | None,
    time_step: str | None,
    step: str | None,
    draw: Path | None,
    as_json: bool,
    **others: Any,
) -> int:
    """Replace what a system shows so that no secret is given away.

    MODEL is the system. private: every observation is released by a mechanism that shows safe observations of its
    length only, nearer ones likelier: differentially private with --epsilon. safe: only
    sensitive strings are replaced, by safe ones at distance exactly --omega. substitution: by any
    string at that distance (Z25 §5). insertion: events are shown that did not happen, so that an observer is never
    sure; edit: and others are left out; supervisor: controllable events are prevented. These three are deterministic,
    and where there is none, the answer is a proof. A --log of observations is replaced into --out,
    with its ids and what is to be kept; true times of events do not pass. With --ledger or --release-id the policy
    private makes it a release: persons are charged first, and symveil check rechecks its manifest. Exit status 0:
    enforced; 1: cannot be, and for which observation.
    """
    from symveil.enforcement.enforce import enforce_opacity
    from symveil.formats.sequences.columns import ColumnOptions
    from symveil.tasks.enforce import report_enforcement
    from symveil.tasks.enforce_log import check_log_name
    from symveil.tasks.opacity import load_system
    from symveil.tasks.parameters import RunOptions

    require_suffix("draw", draw, (".svg", ".dot"))
    if (log is None) != (out is None):
        raise InputError("log: expected --log and --out together, found one of them")
    is_release = ledger is not None or release_id is not None
    _require_release(is_release, policy, log, on_unknown, unobservable)
    if step is not None and time_step is not None:
        raise InputError("time-step: expected --time-step or --step, found both")
    run = RunOptions(
        ledger=ledger,
        over_budget=over_budget,
        on_unknown=on_unknown,
        release_id=release_id,
        again=again,
        spreadsheet_safe=spreadsheet_safe,
        start=start,
        time_step=step or time_step,
    )
    if log and out:
        check_log_name(log, out, run)
    elif spreadsheet_safe or run.has_times:
        option = "spreadsheet-safe" if spreadsheet_safe else "start" if start else "time-step"
        raise InputError(f"{option}: expected --log and --out with it, found neither")
    asked = FunctionOptions.taken_from(others)
    options = ColumnOptions(**others)
    require_suffix("function", asked.function, (".json",))
    require_different(draw=draw, out=out, function=asked.function)
    if policy in FUNCTIONS:
        near = None if adjacency == "1" else adjacency
        for name, value in (("epsilon", epsilon), ("omega", omega), ("length", length), ("adjacency", near)):
            if value is not None:
                raise InputError(f"{name}: expected none with the policy {policy}, found {value}")
        return enforce_by_function(
            model,
            k,
            policy,
            asked,
            secret=secret,
            unobservable=unobservable,
            log=log,
            out=out,
            columns=options,
            form=run,
            draw=draw,
            as_json=as_json,
        )
    asked.require_none(policy)
    notes: list[str] = []
    system = load_system(model, secret=secret, unobservable=unobservable, notes=notes)
    with progress_bar("enforcing") as progress:
        enforced = enforce_opacity(
            system,
            k,
            policy=policy,
            epsilon=epsilon,
            omega=omega,
            length=length,
            adjacency=read_adjacency_option(adjacency),
            progress=progress,
        )
        report = report_enforcement(
            enforced,
            log=log,
            out=out,
            columns=options,
            run=run if is_release else None,
            form=run,
            system_file=model,
            draw=draw,
        )
    document = report.document()
    if as_json:
        print_json(document)
    elif enforced.enforceable:
        _print_sensitive(document["sensitive"], document["sensitive_count"])
        _print_facts(document)
    else:
        _print_refusal(document)
    print_notes([*notes, *report.notes])
    return 0 if enforced.enforceable else 1


def _require_release(
    is_release: bool, policy: str, log: Path | None, on_unknown: str, unobservable: tuple[str, ...]
) -> None:
    """Refuse options that mean something for a release only, or nothing for one."""
    if is_release and (log is None or policy != "private"):
        raise InputError("ledger: expected --log with the policy private, found a ledger or a release id without them")
    if is_release and unobservable:
        raise InputError("unobservable: expected a MODEL that says it, which a check reads again, found an option")
    if not is_release and on_unknown != "error":
        raise InputError("on-unknown: expected --ledger or --release-id with it, found neither; only a release drops")


def _print_refusal(document: dict[str, Any]) -> None:
    nothing = "no safe observation of its length" if document["policy"] == "private" else "nothing at this distance"
    answer = f"cannot be enforced: {nothing} can be shown for {' '.join(document['unenforceable'])}"
    facts = [
        ("policy", document["policy"]),
        ("answer", answer),
        ("violation", _probability(document["violation_before"])),
    ]
    print_facts("Enforcement", facts)


def _print_sensitive(sensitive: list[dict[str, Any]] | None, count: int | None) -> None:
    if sensitive is None:
        from symveil.verification.opacity.run_observations import MOST_OBSERVATIONS

        number = f"more than {MOST_OBSERVATIONS:,}" if count is None else f"{count:,}"
        click.echo(f"{number} sensitive strings, not listed")
        return
    if not sensitive:
        click.echo("already opaque: no sensitive string, no observation gives a secret away")
        return
    rows = []
    for each in sensitive[:_MOST_STRINGS]:
        listed = each["substitutes"][:_MOST_SUBSTITUTES]
        shown = [f"{' '.join(other['observation'])} {_number(other['given'])}" for other in listed]
        more = each["substitute_count"] - len(shown)
        shown += [f"and {more} more"] if more > 0 else []
        rows.append((" ".join(each["observation"]), _probability(each["probability"]), "; ".join(shown)))
    left = len(sensitive) - len(rows)
    if left > 0:
        rows.append((f"and {left} more", "", ""))
    print_table("Sensitive strings", ("observed", "probability", "shown instead"), rows)


def _print_facts(document: dict[str, Any]) -> None:
    facts = [
        ("policy", document["policy"]),
        ("violation before", _probability(document["violation_before"])),
        ("violation after", _probability(document["violation_after"])),
        ("loss", _loss(document["epsilon"], document["how"])),
        ("events changed on average", _number(document["expected_distance"])),
        ("largest posterior of a visited secret", _at_most(document["posterior_of_secret"])),
        *_least_error(document),
    ]
    print_facts("Enforcement", facts)


def _least_error(document: dict[str, Any]) -> list[tuple[str, str]]:
    """The mechanism, its error over all observations of the length, and what no private policy can be below."""
    from symveil.numbers.rationals import shown_at_most

    if document["mechanism"] is None:
        return []
    spread, bound = document["standard_error"], document["lower_bound"]
    error = f"{document['expected_error']:.4g}" + (f" ± {2 * spread:.2g}" if spread else "")
    policy = "ε-private policy" if bound is None or bound["beyond"] == "nothing" else "policy with this promise"
    if bound is None:
        least = "not computed"
    else:
        sure = "" if bound["confidence"] is None else f" (confidence {bound['confidence']:g})"
        least = f"{shown_at_most(bound['value'], 4)}{sure}"
    return [
        ("released by", document["mechanism"]),
        ("error over uniform observations", error),
        (f"no {policy} has less than", least),
    ]


def _probability(text: str | None) -> str:
    """A fraction, and the decimal it is; where the fraction is long, the decimal alone."""
    from symveil.tasks.enforce import read_probability

    if text is None:
        return "not computed"
    decimal = f"{float(read_probability(text)):.6g}"
    return decimal if len(text) > _LONGEST_FRACTION else text if "/" not in text else f"{text} = {decimal}"


def _loss(epsilon: float | str | None, how: str | None) -> str:
    from symveil.numbers.rationals import shown_at_least

    if epsilon is None:
        return "not computed"
    if isinstance(epsilon, str):
        return "infinite: some observation shows that an adjacent one did not happen"
    return f"epsilon = {shown_at_least(epsilon)} ({how})"


def _at_most(value: float | None) -> str:
    from symveil.numbers.rationals import shown_at_least

    return "not computed" if value is None else shown_at_least(float(value))


def _number(value: object) -> str:
    if value is None:
        return "not computed"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
