"""Synthesis: what makes a system opaque, checked afterwards, or a proof that nothing does.

What synthesis found: a function or a supervisor with the verdicts on it, or why there is none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal, get_args

from symveil.enforcement.edit_costs import WorstCost, cheapest_function, worst_cost
from symveil.enforcement.edit_game import EditCosts, EditFunction, EditGame, Edits, greedy_function
from symveil.enforcement.enforced_system import (
    Supervisor,
    filtered_system,
    part_shown_as,
    strings_shown,
    supremal_supervisor,
)
from symveil.errors import InternalError, ParameterError
from symveil.models.stochastic_system import PartiallyObserved, StochasticSystem
from symveil.numbers.progress import Progress, accepted
from symveil.numbers.rationals import Number, exact, fraction_text
from symveil.pictures.diagram import Diagram
from symveil.reports.page import Reported
from symveil.reports.report import Report, facts_report
from symveil.verification.opacity.estimators import Question, read_question
from symveil.verification.opacity.exploration import ExplorationLimit
from symveil.verification.opacity.observation import Observed, in_row
from symveil.verification.opacity.opacity_verdict import OpacityVerdict, ViolationProbability, verdict_on, violation_on
from symveil.verification.opacity.verify import observed_for

_MOST_REFUTING = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis(Reported):
    """The answer of `synthesize_opacity`.

    `possible`: True, there is a function and it was checked; False, there is none, and `refutation` proves it:
    whatever a function does, it fails for one of these observations; None, a function was found, but one that
    withstands an informed observer was asked for and this one does not. Of a supervisor the refutation is one
    observation, which no disabling of observable events can prevent: supervisors that disable unobservable events
    are not searched.

    `verdict` is about an observer who knows the system only, and takes what is shown for the truth;
    `informed_verdict` about one who knows the function as well. For a stochastic system the probability that a run
    gives a secret away is computed without the function, and with it to an informed observer.
    """

    policy: str
    question: Question = field(repr=False)
    possible: bool | None
    function: EditFunction | None = None
    supervisor: Supervisor | None = None
    cost: WorstCost | None = None
    """What the function costs in the worst case, where costs were given."""
    refutation: tuple[tuple[str, ...], ...] | None = None
    verdict: OpacityVerdict | None = None
    informed_verdict: OpacityVerdict | None = None
    violation_before: ViolationProbability | None = None
    violation_after: ViolationProbability | None = None
    system: PartiallyObserved = field(repr=False)
    enforced_system: PartiallyObserved | None = field(default=None, repr=False)
    """The system behind the function, or under the supervisor, as a system of its own."""

    def apply(self, observation: Sequence[str]) -> tuple[str, ...] | str:
        """What is shown for an observation.

        Parameters
        ----------
        observation
            The events that happened, in order.
        """
        if self.function is None:
            raise ParameterError("policy", expected="one with a function to apply", found=self.policy)
        return self.function.apply(observation)

    def release_many(self, observations: Sequence[Sequence[str]]) -> list[tuple[str, ...] | str]:
        """What is shown for each observation of a log.

        Parameters
        ----------
        observations
            The events of each run, in order.
        """
        shown = []
        for row, observation in enumerate(observations, start=1):
            with in_row(row):
                shown.append(self.apply(observation))
        return shown

    def to_diagram(self) -> Diagram:
        """The function or the supervisor as a picture."""
        machine = self.function or self.supervisor
        if machine is None:
            raise ParameterError("draw", expected="a function or a supervisor", found="none: it cannot be enforced")
        return machine.to_diagram()

    @property
    def already_opaque(self) -> bool:
        """Whether the system gives no secret away as it is: nothing had to be changed."""
        if self.violation_before is not None and self.violation_before.upper == 0:
            return True
        if self.supervisor is not None:
            return not any(self.supervisor.disabled)
        return self.function is not None and self.function.changes == 0 and self.possible is True

    def document(self) -> dict[str, Any]:
        """The JSON form."""
        informed = self.informed_verdict
        return {
            "policy": self.policy,
            "property": self.question.property_name,
            "notion": self.question.shown_notion,
            "k": self.question.shown_k,
            "enforceable": self.possible,
            "already_opaque": self.already_opaque,
            "holds": None if self.verdict is None else self.verdict.holds,
            "holds_informed": None if informed is None else informed.holds,
            "witness_informed": None if informed is None or informed.witness is None else list(informed.witness),
            "refutation": None if self.refutation is None else [list(each) for each in self.refutation],
            "violation_before": None if self.violation_before is None else str(self.violation_before.upper),
            "violation_after": None if self.violation_after is None else str(self.violation_after.upper),
            "cost_per_event": None if self.cost is None else str(self.cost.per_event),
            "cost_in_total": None if self.cost is None or self.cost.total is None else str(self.cost.total),
            "function": None if self.function is None else self.function.document(),
            "supervisor": None if self.supervisor is None else self.supervisor.document(),
        }

    def report(self) -> Report:
        """Whether a function or a supervisor hides the secrets, what it costs, and why where there is none."""
        facts = [("policy", self.policy), (self.question.property_name, _answer(self))]
        if self.refutation is not None:
            listed = [" ".join(each) or "nothing at all" for each in self.refutation[:_MOST_REFUTING]]
            more = len(self.refutation) - len(listed)
            shown = ", ".join(listed) + (f" and {more} more" if more else "")
            if self.policy == "supervisor":
                why = f"no disabling of such events prevents {shown}, which gives a secret away"
            elif len(self.refutation) == 1:
                why = f"whatever is shown for {shown}, a secret is given away"
            else:
                why = f"every function gives a secret away for one of: {shown}"
            facts.append(("why", why))
        for machine in (self.function, self.supervisor):
            if machine is not None:
                facts.append(("found", repr(machine).partition("(")[2].removesuffix(")")))
        if self.cost is not None:
            total = "no bound" if self.cost.total is None else f"at most {self.cost.total}"
            facts.append(("cost", f"in total {total}; at most {self.cost.per_event} per event in the long run"))
        for name, violation in (("before", self.violation_before), ("after", self.violation_after)):
            if violation is not None:
                shown = fraction_text(violation.exact) if violation.exact is not None else f"{float(violation):.9g}"
                facts.append((f"violation {name}", shown))
        return facts_report("Enforcement", facts)

    def __repr__(self) -> str:
        name = self.question.property_name
        if self.possible is False:
            limits = " (one that disables observable events)" if self.policy == "supervisor" else ""
            return f"Synthesis({name} cannot be enforced by the policy {self.policy}{limits})"
        if self.supervisor is not None:
            return f"Synthesis({name} holds: {self.supervisor})"
        informed = self.informed_verdict is not None and self.informed_verdict.holds
        knows = "also if the observer knows the function" if informed else "if the observer does not know the function"
        return f"Synthesis({name} holds {knows}: {self.function})"


def _answer(synthesis: Synthesis) -> str:
    informed = synthesis.informed_verdict
    if synthesis.already_opaque:
        return "already opaque: nothing has to be changed"
    if synthesis.possible is False and synthesis.policy == "supervisor":
        return "cannot be enforced by disabling controllable events that are observed"
    if synthesis.possible is False:
        return "cannot be enforced"
    if synthesis.supervisor is not None or (informed is not None and informed.holds):
        return "holds, also if the observer knows"
    if synthesis.possible is None:
        return "not found for an observer who knows; there is one only against others"
    return "holds for an observer who does not know the function"


SynthesisPolicy = Literal["insertion", "edit", "supervisor"]
SYNTHESIS_POLICIES: tuple[SynthesisPolicy, ...] = get_args(SynthesisPolicy)

AGAINST = ("informed", "unaware")


def synthesize_opacity(
    system: PartiallyObserved,
    k: int | float | str = 0,
    *,
    policy: str,
    notion: str = "weak",
    against: str | None = None,
    insertable: Collection[str] | None = None,
    erasable: Collection[str] | None = None,
    controllable: Collection[str] | None = None,
    insert_cost: Mapping[str, Number] | None = None,
    erase_cost: Mapping[str, Number] | None = None,
    most_states: int | None = None,
    progress: Progress | None = None,
) -> Synthesis:
    """A function of what a system shows that makes it opaque, checked afterwards; or a proof that there is none.

    Parameters
    ----------
    system
        A logical or a stochastic system with secret states.
    k
        How many observations back a secret must stay hidden: 0 (now), 1, 2 … or "infinite".
    policy
        "insertion": before each event, events may be shown that did not happen; "edit": and events may be left out;
        "supervisor": controllable events are disabled, as few as possible.
    notion
        As in `verify_opacity`.
    against
        "informed": the observer knows the function; "unaware": knows the system only. By default informed where a
        function is found that withstands it, otherwise unaware.
    insertable
        The events that may be shown although they did not happen; by default all.
    erasable
        With the policy edit: the events that may be left out; by default all.
    controllable
        With the policy supervisor, which needs them: the events that can be disabled, all of them observable; by
        default those that the system itself calls controllable and an observer sees.
    insert_cost, erase_cost
        What it costs to show an event that did not happen, or to leave one out; 1 by default. With either
        of them the function is the cheapest in the worst case: in total where that has a bound, otherwise per event.
    most_states
        Give up beyond so many states of an estimator; by default as many as fit into about 2 GB.
    progress
        Called now and then with the number of states explored, and None, because their number is unknown.

    >>> import symveil as sv
    >>> system = sv.LogicalSystem.from_transitions(
    ...     [("0", "a", "1"), ("0", "b", "2"), ("1", "b", "3"), ("2", "b", "2")],
    ...     initial="0", observable=["a", "b"], secret=["2"],
    ... )
    >>> sv.verify_opacity(system)
    OpacityVerdict(weak current-state opacity is violated by b: after 1 of its events the state was in {2})
    >>> sv.synthesize_opacity(system, policy="insertion").refutation
    (('b', 'b'),)
    >>> function = sv.synthesize_opacity(system, policy="edit").function
    >>> function.apply("b"), function.apply("bbb"), function.apply("ab")
    ('', '', 'ab')
    """
    question = read_question(k, notion)
    if policy not in SYNTHESIS_POLICIES:
        raise ParameterError("policy", expected=f"one of {', '.join(SYNTHESIS_POLICIES)}", found=policy)
    _require_meaning(
        policy,
        against=against,
        insertable=insertable,
        erasable=erasable,
        controllable=controllable,
        insert_cost=insert_cost,
        erase_cost=erase_cost,
    )
    observed = observed_for(system, question)
    limit = observed.limit(most_states, accepted(progress, before=1))
    if policy == "supervisor":
        own = _controllable(system, observed, controllable)
        result = _supervised(system, observed, question, own or frozenset(), limit)
        if own is None and not result.possible:  # a system that is opaque already needs none
            raise ParameterError("controllable", expected="the events that can be disabled", found="none")
        return result
    edits = Edits(
        insertable=_numbers(observed, insertable, "insertable"),
        erasable=_numbers(observed, erasable, "erasable") if policy == "edit" else frozenset(),
    )
    costs = EditCosts(
        insert=_read_costs(observed, insert_cost, "insert_cost"),
        erase=_read_costs(observed, erase_cost, "erase_cost"),
    )
    game = EditGame(observed, question, edits, limit)
    is_cheapest = insert_cost is not None or erase_cost is not None
    function, is_informed = _function(game, costs, against, is_cheapest=is_cheapest)
    if function is None:
        return _refuted(game, policy, question, system)
    result = _checked(system, question, policy, function, against, is_informed=is_informed, limit=limit)
    if not is_cheapest:
        return result
    named = (dict(zip(observed.events, each, strict=True)) for each in (costs.insert, costs.erase))
    return replace(result, cost=worst_cost(function, *named))


_MEANT_FOR = {
    "against": ("insertion", "edit"),
    "insertable": ("insertion", "edit"),
    "erasable": ("edit",),
    "controllable": ("supervisor",),
    "insert_cost": ("insertion", "edit"),
    "erase_cost": ("edit",),
}


def _require_meaning(policy: str, **given: object) -> None:
    """Refuse parameters that a policy does not have."""
    for name, value in given.items():
        if value is not None and policy not in _MEANT_FOR[name]:
            raise ParameterError(name, expected=f"none with the policy {policy}", found="some")
    against = given["against"]
    if against is not None and against not in AGAINST:
        raise ParameterError("against", expected=f"one of {', '.join(AGAINST)}", found=against)


def _read_costs(observed: Observed, costs: Mapping[str, Number] | None, name: str) -> tuple[Fraction, ...]:
    results = [Fraction(1)] * len(observed.events)
    for event, cost in (costs or {}).items():
        if event not in observed.event_number:
            raise ParameterError(name, expected="observable events of the system", found=repr(event))
        number = exact(cost, name=name, expected="a number, 0 or more")
        if number < 0:
            raise ParameterError(name, expected="a number, 0 or more", found=cost)
        results[observed.event_number[event]] = number
    return tuple(results)


def _controllable(
    system: PartiallyObserved, observed: Observed, events: Collection[str] | None
) -> frozenset[int] | None:
    if events is None and system.controllable is not None:
        events = [event for event in system.controllable if event in observed.event_number]
    if events is None:
        return None
    for event in () if isinstance(events, str) else events:
        if event not in observed.event_number and any(event == move[1] for move in system.moves):
            raise ParameterError(
                "controllable",
                expected="observable events only: otherwise there may be no least restrictive supervisor",
                found=f"{event!r}, which is not observable",
            )
    return _numbers(observed, events, "controllable")


def _supervised(
    system: PartiallyObserved,
    observed: Observed,
    question: Question,
    controllable: frozenset[int],
    limit: ExplorationLimit,
) -> Synthesis:
    """The supervisor with the checker's verdict on the supervised system."""
    result = supremal_supervisor(observed, question, controllable, limit)
    if not isinstance(result, Supervisor):
        spelled = (observed.spelled(result),)
        return Synthesis(policy="supervisor", question=question, possible=False, refutation=spelled, system=system)
    supervised = part_shown_as(system, result.enabled)
    verdict = _verdict(supervised, question, limit)
    if not verdict.holds:
        raise InternalError("synthesis: the supervisor does not do what it was made for; please report this")
    before = None
    if isinstance(system, StochasticSystem) and question.secret_epoch is None:
        before = violation_on(Observed(system), question, limit)
    return Synthesis(
        policy="supervisor",
        question=question,
        possible=True,
        supervisor=result,
        verdict=verdict,
        informed_verdict=verdict,
        violation_before=before,
        violation_after=None if before is None else replace(before, lower=Fraction(0), upper=Fraction(0)),
        system=system,
        enforced_system=supervised,
    )


def _numbers(observed: Observed, events: Collection[str] | None, name: str) -> frozenset[int]:
    if events is None:
        return frozenset(range(len(observed.events)))
    if isinstance(events, str):
        raise ParameterError(name, expected="a list of observable events", found="a string")
    for event in events:
        if event not in observed.event_number:
            raise ParameterError(name, expected="observable events of the system", found=repr(event))
    return frozenset(observed.event_number[event] for event in events)


def _function(
    game: EditGame, costs: EditCosts, against: str | None, *, is_cheapest: bool
) -> tuple[EditFunction | None, bool]:
    """A function, where there is one, and whether it withstands an observer who knows it by its construction."""
    unaware = game.unaware()
    if unaware is None:
        return None, False
    informed = None if against == "unaware" else game.informed()
    make = cheapest_function if is_cheapest else greedy_function
    return make(game, informed or unaware, costs), informed is not None


def _refuted(game: EditGame, policy: str, question: Question, system: PartiallyObserved) -> Synthesis:
    refutation = game.refutation()
    if refutation is not None and not game.is_refuted_by(refutation):
        raise InternalError("synthesis: a proof that there is no function does not hold; please report this")
    spelled = None if refutation is None else tuple(map(game.observed.spelled, refutation))
    return Synthesis(policy=policy, question=question, possible=False, refutation=spelled, system=system)


def _checked(
    system: PartiallyObserved,
    question: Question,
    policy: str,
    function: EditFunction,
    against: str | None,
    *,
    is_informed: bool,
    limit: ExplorationLimit,
) -> Synthesis:
    """The function with the verdicts of the checkers, which do not know how it was found."""
    filtered = filtered_system(system, function)
    unaware = _verdict(part_shown_as(system, strings_shown(function, system.observable)), question, limit)
    informed = _verdict(filtered, question, limit)
    if not unaware.holds or (is_informed and not informed.holds):
        raise InternalError("synthesis: the function does not do what it was made for; please report this")
    before = after = None
    if isinstance(system, StochasticSystem) and question.secret_epoch is None:
        before = violation_on(Observed(system), question, limit)
        after = violation_on(Observed(filtered), question, limit, verdict=informed)
    return Synthesis(
        policy=policy,
        question=question,
        possible=True if against != "informed" or informed.holds else None,
        function=function,
        verdict=unaware,
        informed_verdict=informed,
        violation_before=before,
        violation_after=after,
        system=system,
        enforced_system=filtered,
    )


def _verdict(system: PartiallyObserved, question: Question, limit: ExplorationLimit) -> OpacityVerdict:
    return verdict_on(observed_for(system, question), question, limit)
