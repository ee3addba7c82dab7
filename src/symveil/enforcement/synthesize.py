"""Synthesis: what makes a system opaque, checked afterwards, or a proof that nothing does."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from typing import Literal, get_args

from symveil.enforcement.edit_function import EditCosts, EditFunction, greedy_function
from symveil.enforcement.edit_game import EditGame, Edits
from symveil.enforcement.filtered_system import filtered_system, shown_part
from symveil.enforcement.synthesis import Synthesis
from symveil.errors import InternalError, ParameterError
from symveil.languages.observation import ExplorationLimit, Observed, observer
from symveil.models.stochastic_system import PartiallyObserved, StochasticSystem
from symveil.numerics.progress import Progress, accepted
from symveil.verification.opacity.notions import Question, read_question
from symveil.verification.opacity.verify import OpacityVerdict, observed_for, verdict_on
from symveil.verification.opacity.violation import violation_on

SynthesisPolicy = Literal["insertion", "edit"]
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
        "insertion": before each event, events may be shown that did not happen; "edit": and events may be left out.
    notion
        As in `verify_opacity`.
    against
        "informed": the observer knows the function; "unaware": knows the system only. By default informed where a
        function is found that withstands it, otherwise unaware.
    insertable
        The events that may be shown although they did not happen; by default all.
    erasable
        With the policy edit: the events that may be left out; by default all.
    most_states
        Give up beyond so many states of an estimator; by default as many as fit into about 2 GB.
    progress
        Called now and then with the number of states explored, and None: nobody knows how many there are.

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
    if against is not None and against not in AGAINST:
        raise ParameterError("against", expected=f"one of {', '.join(AGAINST)}", found=against)
    if policy == "insertion" and erasable is not None:
        raise ParameterError(
            "erasable", expected="none with the policy insertion, which leaves nothing out", found="some"
        )
    observed = observed_for(system, question)
    limit = observed.limit(most_states, accepted(progress, before=1))
    edits = Edits(
        insertable=_numbers(observed, insertable, "insertable"),
        erasable=_numbers(observed, erasable, "erasable") if policy == "edit" else frozenset(),
    )
    game = EditGame(observed, question, edits, limit)
    function, is_informed = _function(game, _unit_costs(observed), against)
    if function is None:
        return _refuted(game, policy, question, system)
    return _checked(system, question, policy, function, against, is_informed=is_informed, limit=limit)


def _numbers(observed: Observed, events: Collection[str] | None, name: str) -> frozenset[int]:
    if events is None:
        return frozenset(range(len(observed.events)))
    if isinstance(events, str):
        raise ParameterError(name, expected="a list of observable events", found="a string")
    for event in events:
        if event not in observed.event_number:
            raise ParameterError(name, expected="observable events of the system", found=repr(event))
    return frozenset(observed.event_number[event] for event in events)


def _unit_costs(observed: Observed) -> EditCosts:
    ones = (Fraction(1),) * len(observed.events)
    return EditCosts(insert=ones, erase=ones)


def _function(game: EditGame, costs: EditCosts, against: str | None) -> tuple[EditFunction | None, bool]:
    """A function, where there is one, and whether it withstands an observer who knows it by its construction."""
    unaware = game.unaware()
    if unaware is None:
        return None, False
    informed = None if against == "unaware" else game.informed()
    return greedy_function(game, informed or unaware, costs), informed is not None


def _refuted(game: EditGame, policy: str, question: Question, system: PartiallyObserved) -> Synthesis:
    refutation = game.refutation()
    if refutation is not None and not game.is_refuted_by(refutation):
        raise InternalError("synthesis: a proof that there is no function does not hold; please report this")
    spelled = None if refutation is None else tuple(map(game.observed.spelled, refutation))
    return Synthesis(policy=policy, question=question, possible=False, refutation=spelled, original=system)


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
    unaware = _verdict(shown_part(system, observer(filtered)), question, limit)
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
        original=system,
        system=filtered,
    )


def _verdict(system: PartiallyObserved, question: Question, limit: ExplorationLimit) -> OpacityVerdict:
    return verdict_on(observed_for(system, question), question, limit)
