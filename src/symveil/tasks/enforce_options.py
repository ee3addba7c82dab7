"""What a system is put under: a policy and how, a function or a supervisor, and the log that goes through it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from symveil.errors import InputError, ParameterError
from symveil.formats.sequences.columns import ColumnOptions
from symveil.laws.parameters import Adjacency
from symveil.numbers.rationals import Number, exact
from symveil.parameters.declaration import (
    Exact,
    File,
    OneOf,
    Several,
    Whole,
    declared,
    listing_fields,
    parameters_of,
)
from symveil.tasks.enforce_log import check_log_name
from symveil.tasks.parameters import RunOptions

FUNCTIONS = ("insertion", "edit", "supervisor")
"""The policies that are functions or supervisors: deterministic, and where there is none, that is proved."""

_EVENT = Several(placeholder="E")
_EVENT_COST = Several(placeholder="E=C")


@listing_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOptions:
    """What is done to a system, and how.

    >>> PolicyOptions(epsilon=2).policy
    'private'
    """

    policy: str = field(
        default="private",
        metadata=declared(
            "What is done: see above.",
            label="Policy",
            domain=OneOf(
                labels={
                    "private": "observations are released privately",
                    "safe": "sensitive strings are replaced by safe ones",
                    "substitution": "sensitive strings are replaced by any",
                    "insertion": "events are shown that did not happen",
                    "edit": "events are inserted and left out",
                    "supervisor": "controllable events are prevented",
                }
            ),
        ),
    )
    epsilon: Number | None = field(
        default=None,
        metadata=declared(
            "Privacy budget: a decimal or a fraction, above 0.",
            label="ε of the policy private",
            domain=Exact(placeholder="E"),
        ),
    )
    adjacency: Adjacency = field(
        default=1,
        metadata=declared(
            "Observations that differ in up to B events are to look alike.",
            label="Hidden events b",
            domain=Whole(placeholder="B|all", least=1, words=("all",)),
        ),
    )
    omega: int | None = field(
        default=None,
        metadata=declared(
            "With policy safe or substitution: the exact distance of substitutes.",
            label="Distance ω",
            domain=Whole(placeholder="W"),
        ),
    )
    length: int | None = field(
        default=None,
        metadata=declared(
            "At most so many observed events; needed where there are loops.",
            label="At most so many events",
            domain=Whole(),
        ),
    )


@listing_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionOptions:
    """What only the policies insertion, edit and supervisor look at.

    >>> FunctionOptions(insertable=("a",)).costs
    (None, None)
    """

    against: str | None = field(
        default=None,
        metadata=declared(
            "With insertion, edit: an observer who knows the function, or not; default: informed if one is found.",
            label="Against an observer",
            domain=OneOf(labels={"informed": "who knows the function", "unaware": "who does not"}),
        ),
    )
    insertable: tuple[str, ...] = field(
        default=(),
        metadata=declared(
            "With insertion, edit: an event that may be inserted; default: all. Repeatable.",
            label="Events that may be inserted",
            domain=_EVENT,
        ),
    )
    erasable: tuple[str, ...] = field(
        default=(),
        metadata=declared(
            "With edit: an event that may be left out; default: all. Repeatable.",
            label="Events that may be left out",
            domain=_EVENT,
        ),
    )
    controllable: tuple[str, ...] = field(
        default=(),
        metadata=declared(
            "With supervisor: an event that can be disabled; default: those that MODEL calls controllable. Repeatable.",
            label="Events that can be prevented",
            domain=_EVENT,
        ),
    )
    insert_cost: tuple[str, ...] = field(
        default=(),
        metadata=declared(
            "With insertion, edit: what an inserted event costs; find the cheapest. Repeatable.",
            label="Costs of inserted events",
            domain=_EVENT_COST,
        ),
    )
    erase_cost: tuple[str, ...] = field(
        default=(),
        metadata=declared(
            "With edit: what leaving an event out costs; find the cheapest function. Repeatable.",
            label="Costs of events left out",
            domain=_EVENT_COST,
        ),
    )
    function: Path | None = field(
        default=None,
        metadata=declared(
            "With insertion, edit, supervisor: write it as JSON.", label="File of the function", domain=File()
        ),
    )

    @property
    def costs(self) -> tuple[dict[str, Fraction] | None, dict[str, Fraction] | None]:
        """What inserted events cost, and what events cost that are left out."""
        return (
            read_event_costs(self.insert_cost, name="insert_cost"),
            read_event_costs(self.erase_cost, name="erase_cost"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFiles:
    """A log that goes through a policy: both files or neither."""

    log: Path | None
    out: Path | None
    draw: Path | None
    columns: ColumnOptions
    run: RunOptions

    @property
    def is_release(self) -> bool:
        """Whether persons are charged and a manifest is written."""
        return self.run.ledger is not None or self.run.release_id is not None

    def check(self, policy: str, unobservable: Sequence[str]) -> None:
        """Refuse files and options that do not go together, before anything is computed."""
        if (self.log is None) != (self.out is None):
            raise InputError("log: expected `log` and `out` together, found one of them")
        if self.is_release and (self.log is None or policy != "private"):
            raise InputError(
                "ledger: expected `log` with the policy private, found a ledger or a release id without them"
            )
        if self.is_release and unobservable:
            raise InputError("unobservable: expected a MODEL that says it, which a check reads again, found an option")
        if not self.is_release and self.run.on_unknown != "error":
            reason = "neither; only a release drops"
            raise ParameterError("on_unknown", expected="`ledger` or `release_id` with it", found=reason)
        if self.log and self.out:
            check_log_name(self.log, self.out, self.run)
        elif self.run.spreadsheet_safe or self.run.has_times:
            name = "spreadsheet_safe" if self.run.spreadsheet_safe else "start" if self.run.start else "time_step"
            raise ParameterError(name, expected="`log` and `out` with it", found="neither")
        if self.log and policy == "supervisor":
            raise InputError("log: expected a policy that replaces observations, found supervisor, which prevents them")


def check_function_options(policy: PolicyOptions, notion: str, function: FunctionOptions) -> None:
    """Refuse options that the policy does not look at."""
    if policy.policy in FUNCTIONS:
        for each in parameters_of(PolicyOptions):
            value = getattr(policy, each.name)
            if each.name != "policy" and value != each.default:
                raise ParameterError(each.name, expected=f"none with the policy {policy.policy}", found=value)
        return
    for each in parameters_of(FunctionOptions):
        if getattr(function, each.name):
            raise ParameterError(each.name, expected=f"none with the policy {policy.policy}", found="some")
    if notion != "weak":
        raise ParameterError("notion", expected=f"none with the policy {policy.policy}", found="some")


def read_event_costs(texts: Sequence[str], *, name: str) -> dict[str, Fraction] | None:
    """Costs as they are typed, `event=cost` each; None where there is none.

    >>> read_event_costs(["main st=2", "a=b=1/2"], name="insert-cost")
    {'main st': Fraction(2, 1), 'a=b': Fraction(1, 2)}
    """
    costs: dict[str, Fraction] = {}
    for text in texts:
        event, between, cost = text.rpartition("=")
        if not between:
            raise ParameterError(name, expected="EVENT=COST", found=repr(text))
        if event in costs:
            raise ParameterError(name, expected="each event once", found=repr(event))
        costs[event] = exact(cost, name=name, expected="EVENT=COST with a number, 0 or more")
    return costs or None
