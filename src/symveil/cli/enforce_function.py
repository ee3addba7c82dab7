"""The policies of `symveil enforce` that are functions or supervisors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

from symveil.cli.output import print_facts, print_json, print_notes
from symveil.cli.progress import progress_bar
from symveil.cli.single_options import file_option, notion_option
from symveil.cli.values import OneOf
from symveil.errors import InputError, ParameterError

if TYPE_CHECKING:
    from symveil.enforcement.synthesis import Synthesis
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
    asked: FunctionOptions,
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
    from symveil.tasks.enforce_function import read_event_costs, report_synthesis
    from symveil.tasks.opacity import load_system

    if log and policy == "supervisor":
        raise InputError("log: expected a policy that replaces observations, found supervisor, which prevents them")
    notes: list[str] = []
    system = load_system(model, secret=secret, unobservable=unobservable, notes=notes)
    if policy == "supervisor" and not asked.controllable and system.controllable:
        unseen = len(set(system.controllable) - set(system.observable))
        if unseen:
            many = (
                "1 controllable event of the file is"
                if unseen == 1
                else f"{unseen} controllable events of the file are"
            )
            notes.append(f"{many} never disabled, because the observer does not see them")
    with progress_bar("estimates explored") as progress:
        found = synthesize_opacity(
            system,
            k,
            policy=policy,
            notion=asked.notion,
            against=asked.against,
            insertable=asked.insertable or None,
            erasable=asked.erasable or None,
            controllable=asked.controllable or None,
            insert_cost=read_event_costs(asked.insert_cost, name="insert-cost"),
            erase_cost=read_event_costs(asked.erase_cost, name="erase-cost"),
            progress=progress,
        )
        report = report_synthesis(
            found, log=log, out=out, columns=columns, form=form, function=asked.function, draw=draw
        )
    if as_json:
        print_json(report.document())
    else:
        _print(found)
    print_notes([*notes, *report.notes])
    return 0 if found.possible else 1


def _print(found: Synthesis) -> None:
    facts = [("policy", found.policy), (found.question.property_name, _answer(found))]
    if found.refutation is not None:
        listed = [" ".join(each) or "nothing at all" for each in found.refutation[:_MOST_REFUTING]]
        more = len(found.refutation) - len(listed)
        shown = ", ".join(listed) + (f" and {more} more" if more else "")
        if found.policy == "supervisor":
            facts.append(("why", f"no disabling of such events prevents {shown}, which gives a secret away"))
        elif len(found.refutation) == 1:
            facts.append(("why", f"whatever is shown for {shown}, a secret is given away"))
        else:
            facts.append(("why", f"every function gives a secret away for one of: {shown}"))
    for machine in (found.function, found.supervisor):
        if machine is not None:
            facts.append(("found", repr(machine).partition("(")[2].removesuffix(")")))
    if found.cost is not None:
        total = "no bound" if found.cost.total is None else f"at most {found.cost.total}"
        facts.append(("cost", f"in total {total}; at most {found.cost.per_event} per event in the long run"))
    for name, violation in (("before", found.violation_before), ("after", found.violation_after)):
        if violation is not None:
            facts.append(
                (f"violation {name}", str(violation.exact) if violation.is_exact else f"{float(violation):.9g}")
            )
    print_facts("Enforcement", facts)


def _answer(found: Synthesis) -> str:
    if found.already_opaque:
        return "already opaque: nothing has to be changed"
    if found.possible is False and found.policy == "supervisor":
        return "cannot be enforced by disabling controllable events that are observed"
    if found.possible is False:
        return "cannot be enforced"
    if found.supervisor is not None or (found.informed_verdict is not None and found.informed_verdict.holds):
        return "holds, also if the observer knows"
    if found.possible is None:
        return "not found for an observer who knows; there is one only against others"
    return "holds for an observer who does not know the function"
