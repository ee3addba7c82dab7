"""`symveil enforce`.

The policies of `symveil enforce` that are functions or supervisors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import click

from symveil.cli.options import read_adjacency_option
from symveil.cli.output import (
    command,
    print_facts,
    print_json,
    print_notes,
    print_table,
    require_different,
    require_suffix,
)
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
    notion_option,
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
from symveil.cli.values import PATH, OneOf
from symveil.errors import InputError, ParameterError

if TYPE_CHECKING:
    from symveil.enforcement.synthesize import Synthesis
    from symveil.formats.sequences.columns import ColumnOptions
    from symveil.tasks.parameters import RunOptions

FUNCTIONS = ("insertion", "edit", "supervisor")
_MOST_REFUTING = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionOptions:
    """The options that only these policies have."""

    notion: str
    against: str | None
    insertable: tuple[str, ...]
    erasable: tuple[str, ...]
    controllable: tuple[str, ...]
    insert_cost: tuple[str, ...]
    erase_cost: tuple[str, ...]
    function: Path | None

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> Self:
        """These options, taken out of all that were given."""
        return cls(**{each.name: options.pop(each.name) for each in fields(cls)})

    def require_none(self, policy: str) -> None:
        """Refuse them with another policy."""
        for each in fields(self):
            given = getattr(self, each.name)
            if given and not (each.name == "notion" and given == "weak"):
                name = each.name.replace("_", "-")
                raise ParameterError(name, expected=f"none with the policy {policy}", found="some")


def function_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of the policies insertion, edit and supervisor."""

    def events(name: str, text: str, metavar: str = "E") -> Callable[..., Any]:
        return click.option(name, metavar=metavar, multiple=True, help=f"{text} Repeatable.")

    for option in (
        file_option("--function", text="With insertion, edit, supervisor: write it as JSON."),
        events("--erase-cost", "With edit: what leaving an event out costs; find the cheapest function.", "E=C"),
        events("--insert-cost", "With insertion, edit: what an inserted event costs; find the cheapest.", "E=C"),
        events(
            "--controllable",
            "With supervisor: an event that can be disabled; default: those that MODEL calls controllable.",
        ),
        events("--erasable", "With edit: an event that may be left out; default: all."),
        events("--insertable", "With insertion, edit: an event that may be inserted; default: all."),
        click.option(
            "--against",
            type=OneOf(("informed", "unaware")),
            help="With insertion, edit: an observer who knows the function, or not; default: informed if one is found.",
        ),
        notion_option,
    ):
        command = option(command)
    return command


def enforce_by_function(
    model: Path,
    k: str,
    policy: str,
    requested: FunctionOptions,
    *,
    secret: tuple[str, ...],
    unobservable: tuple[str, ...],
    log: Path | None,
    out: Path | None,
    columns: ColumnOptions,
    form: RunOptions,
    draw: Path | None,
    as_json: bool,
) -> int:
    """Find a function or a supervisor, and say what it does."""
    from symveil.enforcement.synthesize import synthesize_opacity
    from symveil.tasks.enforce import read_event_costs, report_synthesis
    from symveil.tasks.opacity import load_system

    if log and policy == "supervisor":
        raise InputError("log: expected a policy that replaces observations, found supervisor, which prevents them")
    notes: list[str] = []
    system = load_system(model, secret=secret, unobservable=unobservable, notes=notes)
    if policy == "supervisor" and not requested.controllable and system.controllable:
        unseen = len(set(system.controllable) - set(system.observable))
        if unseen:
            many = (
                "1 controllable event of the file is"
                if unseen == 1
                else f"{unseen} controllable events of the file are"
            )
            notes.append(f"{many} never disabled, because the observer does not see them")
    with progress_bar("estimates explored") as progress:
        result = synthesize_opacity(
            system,
            k,
            policy=policy,
            notion=requested.notion,
            against=requested.against,
            insertable=requested.insertable or None,
            erasable=requested.erasable or None,
            controllable=requested.controllable or None,
            insert_cost=read_event_costs(requested.insert_cost, name="insert-cost"),
            erase_cost=read_event_costs(requested.erase_cost, name="erase-cost"),
            progress=progress,
        )
        report = report_synthesis(
            result, log=log, out=out, columns=columns, form=form, function=requested.function, draw=draw
        )
    if as_json:
        print_json(report.document())
    else:
        _print(result)
    print_notes([*notes, *report.notes])
    return 0 if result.possible else 1


def _print(synthesis: Synthesis) -> None:
    facts = [("policy", synthesis.policy), (synthesis.question.property_name, _answer(synthesis))]
    if synthesis.refutation is not None:
        listed = [" ".join(each) or "nothing at all" for each in synthesis.refutation[:_MOST_REFUTING]]
        more = len(synthesis.refutation) - len(listed)
        shown = ", ".join(listed) + (f" and {more} more" if more else "")
        if synthesis.policy == "supervisor":
            facts.append(("why", f"no disabling of such events prevents {shown}, which gives a secret away"))
        elif len(synthesis.refutation) == 1:
            facts.append(("why", f"whatever is shown for {shown}, a secret is given away"))
        else:
            facts.append(("why", f"every function gives a secret away for one of: {shown}"))
    for machine in (synthesis.function, synthesis.supervisor):
        if machine is not None:
            facts.append(("found", repr(machine).partition("(")[2].removesuffix(")")))
    if synthesis.cost is not None:
        total = "no bound" if synthesis.cost.total is None else f"at most {synthesis.cost.total}"
        facts.append(("cost", f"in total {total}; at most {synthesis.cost.per_event} per event in the long run"))
    for name, violation in (("before", synthesis.violation_before), ("after", synthesis.violation_after)):
        if violation is not None:
            facts.append(
                (f"violation {name}", str(violation.exact) if violation.is_exact else f"{float(violation):.9g}")
            )
    print_facts("Enforcement", facts)


def _answer(synthesis: Synthesis) -> str:
    if synthesis.already_opaque:
        return "already opaque: nothing has to be changed"
    if synthesis.possible is False and synthesis.policy == "supervisor":
        return "cannot be enforced by disabling controllable events that are observed"
    if synthesis.possible is False:
        return "cannot be enforced"
    if synthesis.supervisor is not None or (
        synthesis.informed_verdict is not None and synthesis.informed_verdict.holds
    ):
        return "holds, also if the observer knows"
    if synthesis.possible is None:
        return "not found for an observer who knows; there is one only against others"
    return "holds for an observer who does not know the function"


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
    requested = FunctionOptions.taken_from(others)
    options = ColumnOptions(**others)
    require_suffix("function", requested.function, (".json",))
    require_different(draw=draw, out=out, function=requested.function)
    if policy in FUNCTIONS:
        near = None if adjacency == "1" else adjacency
        for name, value in (("epsilon", epsilon), ("omega", omega), ("length", length), ("adjacency", near)):
            if value is not None:
                raise InputError(f"{name}: expected none with the policy {policy}, found {value}")
        return enforce_by_function(
            model,
            k,
            policy,
            requested,
            secret=secret,
            unobservable=unobservable,
            log=log,
            out=out,
            columns=options,
            form=run,
            draw=draw,
            as_json=as_json,
        )
    requested.require_none(policy)
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
