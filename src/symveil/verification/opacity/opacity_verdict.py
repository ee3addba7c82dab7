"""The verdict on a system that is prepared for its observer: a search for a shortest violation.

How probable it is that a run gives a secret away (Z25 Definition 6, docs/opacity.md).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from fractions import Fraction

from symveil.errors import ParameterError, TooLargeError
from symveil.graphs.walk import Walk
from symveil.models.stochastic_system import PartiallyObserved
from symveil.numbers.progress import Progress, accepted
from symveil.numbers.rationals import Number
from symveil.reports.page import Reported
from symveil.reports.report import Report, text_report
from symveil.verification.limits import LIMITS
from symveil.verification.opacity.estimators import (
    Observing,
    Question,
    estimator,
    read_question,
    read_threshold,
)
from symveil.verification.opacity.exploration import Exploration, ExplorationLimit
from symveil.verification.opacity.observation import Observed
from symveil.verification.opacity.violation_chain import (
    Enclosure,
    reaching_probability,
    reaching_probability_within,
    violation_chain,
)
from symveil.verification.opacity.weak_search import Searched, Violation, WeakSearch


@dataclass(frozen=True, slots=True, kw_only=True)
class OpacityVerdict(Reported):
    """Whether a system is opaque, and if not, a shortest observation that gives a secret away.

    After `witness` the observer is sure: given all of it, the states possible after its first
    `exposed_after` events (for the strong notion, now) are `estimate`; `reason` says it in words.
    `estimator_states` counts the states of the observer and of what it keeps in mind that were explored.
    Of several parts, `system_states` counts the states of their product that were met, and `dropped` has the numbers
    of the parts that cannot matter.
    """

    question: Question = field(repr=False)
    holds: bool
    witness: tuple[str, ...] | None = None
    exposed_after: int | None = None
    estimate: tuple[str, ...] | None = None
    estimator_states: int
    system_states: int
    dropped: tuple[int, ...] = ()

    @property
    def property_name(self) -> str:
        """What was verified, in words."""
        return self.question.property_name

    def report(self) -> Report:
        """The answer in a sentence."""
        return text_report("Opacity", [f"{repr(self).removeprefix('OpacityVerdict(').removesuffix(')')}"])

    def __repr__(self) -> str:
        if self.holds:
            return f"OpacityVerdict({self.property_name} holds; {self.estimator_states} estimator states explored)"
        return f"OpacityVerdict({self.property_name} is violated by {_spelled(self.witness or ())}: {self.reason})"

    @property
    def reason(self) -> str:
        """Why the witness is one, in words."""
        if self.witness is None:
            return ""
        estimate = f"{{{', '.join(self.estimate or ())}}}"
        if self.question.notion == "initial":
            return f"the initial state was in {estimate}"
        if self.question.notion == "strong":
            instants = "some instant" if self.question.k is None else f"one of the last {self.question.k + 1} instants"
            return f"every run that shows it met a secret in {instants}"
        return f"after {self.exposed_after} of its events the state was in {estimate}"


def verdict_on(observed: Observing, question: Question, limit: ExplorationLimit) -> OpacityVerdict:
    """The verdict on a system that is already prepared for its observer."""
    if question.notion == "weak":
        violation, explored = WeakSearch(observed, question.k, limit).run()
    elif question.notion == "strong" and question.k is not None:
        violation, explored = _strong_search(observed, question.k, limit)
    else:
        violation, explored = _search(observed, question, limit)
    return OpacityVerdict(
        question=question,
        holds=violation is None,
        witness=None if violation is None else observed.spelled(violation.observation),
        exposed_after=None if violation is None else violation.exposed_after,
        estimate=None if violation is None else observed.names(violation.estimate),
        estimator_states=explored,
        system_states=observed.size,
    )


def _strong_search(observed: Observing, k: int, limit: ExplorationLimit) -> Searched:
    """Strong k-step opacity, without counting to k where k does not matter.

    An observer who is sure of a secret in the last k+1 instants is sure of one ever; and in an observation
    of at most k events there are no more instants than that. So a system without any violation of the
    infinite notion has none here, and a shortest one of at most k events is a shortest one here too.
    """
    violation, explored = _search(observed, Question("strong", None), limit)
    if violation is None or len(violation.observation) <= k:
        return violation, explored
    return _search(observed, Question("strong", k), limit)


def _search(observed: Observing, question: Question, limit: ExplorationLimit) -> Searched:
    """Breadth first over the states of the estimator."""
    search = Exploration(observed, estimator(observed, question), limit)
    for _ in search.rows(until_violation=True):
        pass
    violation = None if search.violation is None else _violation(observed, question, search.violation)
    return violation, max(len(search.walk), 1)


def _violation(observed: Observing, question: Question, observation: tuple[int, ...]) -> Violation:
    """A violation with the estimate that it leaves: of the initial state, or of the current one."""
    if question.notion == "initial":
        return Violation(observation, 0, observed.delayed(observation, 0) & observed.initial)
    return Violation(observation, len(observation), observed.delayed(observation, len(observation)))


def _spelled(observation: tuple[str, ...]) -> str:
    """An observation for people: letters together, names apart; the empty one as ε."""
    if not observation:
        return "ε (before anything was observed)"
    return ("" if all(len(event) == 1 for event in observation) else " ").join(observation)


# (small k, how far from k = ∞ it may be to be believed)
_WIDEST_BETWEEN = {8: Fraction(1, 10**9), 20: Fraction(1, 10**7)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ViolationProbability(Reported):
    """Pr(some prefix of the run's observation violates opacity): Σ Pr(s) over the first-violating strings.

    `lower` and `upper` are proved. They are equal, and the value exact, unless the linear system
    was too large for rationals.
    """

    question: Question = field(repr=False)
    lower: Fraction
    upper: Fraction
    within: int | None = None

    @property
    def is_exact(self) -> bool:
        """Whether the probability is known exactly."""
        return self.lower == self.upper

    @property
    def exact(self) -> Fraction | None:
        """The probability where it is known exactly."""
        return self.upper if self.is_exact else None

    def __float__(self) -> float:
        return float((self.lower + self.upper) / 2)

    def below(self, theta: Number) -> bool | None:
        """Whether the system is almost opaque for this threshold; None where the bounds do not decide it."""
        threshold = read_threshold(theta)
        if self.upper < threshold:
            return True
        return False if self.lower >= threshold else None

    def report(self) -> Report:
        """The probability, in a sentence."""
        value = repr(self).removeprefix("ViolationProbability(").removesuffix(")")
        return text_report("Opacity", [f"violation probability {value}"])

    def __repr__(self) -> str:
        value = str(self.upper) if self.is_exact else f"{float(self.lower):.12g} … {float(self.upper):.12g}"
        horizon = "" if self.within is None else f" within {self.within} events"
        return f"ViolationProbability({value}{horizon}, {self.question.property_name})"


def violation_probability(
    system: PartiallyObserved,
    k: int | float | str = 0,
    *,
    notion: str = "weak",
    within: int | None = None,
    exact: bool | None = None,
    most_states: int | None = None,
    progress: Progress | None = None,
) -> ViolationProbability:
    """The probability that a run's observation violates opacity: exact, loops included, or between two proved bounds.

    Parameters
    ----------
    system
        A stochastic system with secret states.
    k
        How many observations back a secret must stay hidden: 0 (now), 1, 2 … or "infinite".
    notion
        "weak", "strong" or "initial".
    within
        Only violations in the first so many events of a run; by default all.
    exact
        True insists on rationals, False never uses them; by default where the linear system is small enough.
    most_states
        Give up beyond so many states of the estimator; by default as many as fit into about 2 GB.
    progress
        Called now and then with the number of states explored, and None, because their number is unknown.

    >>> import symveil as sv
    >>> system = sv.StochasticSystem.from_transitions(
    ...     [("0", "a", "0", "1/2"), ("0", "b", "1", "1/4"), ("0", "c", "2", "1/4")],
    ...     initial="0", observable=["a", "b", "c"], secret=["1"],
    ... )
    >>> sv.violation_probability(system, k=1)
    ViolationProbability(1/2, weak 1-step opacity)
    >>> sv.violation_probability(system, k=1, within=2)
    ViolationProbability(3/8 within 2 events, weak 1-step opacity)
    """
    question = read_question(k, notion)
    if question.secret_epoch is not None:
        raise ParameterError("notion", expected="weak, strong or initial for a probability", found=notion)
    observed = Observed(system)
    observed.stochastic  # noqa: B018  # refuses a system without probabilities
    limit = observed.limit(most_states, accepted(progress, before=1))
    return violation_on(observed, question, limit, within=read_within(within), exact=exact)


def read_within(within: int | None) -> int | None:
    """A number of events, or None for as long as a run goes on."""
    if within is not None and (isinstance(within, bool) or not isinstance(within, int) or within < 0):
        raise ParameterError("within", expected="a whole number of events, 0 or more", found=within)
    return within


def violation_on(
    observed: Observed,
    question: Question,
    limit: ExplorationLimit,
    *,
    verdict: OpacityVerdict | None = None,
    within: int | None = None,
    exact: bool | None = None,
) -> ViolationProbability:
    """The probability for a system that is already prepared for its observer; `verdict` saves searching for one."""
    if exact is not None and not isinstance(exact, bool):
        raise ParameterError("exact", expected="True, False or None", found=exact)
    is_weak = question.notion == "weak" and within is None
    if verdict is None and is_weak:
        # much quicker than to build the estimator, which is not needed where there is no violation
        verdict = verdict_on(observed, question, limit)
    if verdict is not None and verdict.holds:
        enclosed: Enclosure | None = Enclosure(Fraction(0), Fraction(0))
    else:
        enclosed = _by_small_ks(observed, verdict, limit, exact=exact) if verdict and is_weak else None
    enclosed = enclosed or _by_estimator(observed, question, limit, within=within, exact=exact)
    return ViolationProbability(question=question, lower=enclosed.lower, upper=enclosed.upper, within=within)


def _by_estimator(
    observed: Observed, question: Question, limit: ExplorationLimit, *, within: int | None = None, exact: bool | None
) -> Enclosure:
    chain = violation_chain(observed, estimator(observed, question), limit, within=within)
    if within is not None:
        return reaching_probability_within(chain, within, exact=exact)
    return reaching_probability(chain, exact=exact)


def _by_small_ks(
    observed: Observed, verdict: OpacityVerdict, limit: ExplorationLimit, *, exact: bool | None
) -> Enclosure | None:
    """An answer for a large k without its estimator, which remembers long ages; None where there is none.

    An observer who is sure within k observations is so within more, hence p grows with k: from a small k to ∞. A
    witness that looks `delay` observations back is a violation for k = delay; where p is 1 for that k, it is 1. Else
    the estimator itself is tried, if it is small; else bounds have to do.
    """
    question = verdict.question
    delay = len(verdict.witness or ()) - (verdict.exposed_after or 0)

    def enclosed(k: int | None, at_most: int) -> Enclosure | None:
        lower_limit = replace(limit, estimates=min(at_most, limit.estimates))
        try:
            return _by_estimator(observed, Question(question.notion, k), lower_limit, exact=exact)
        except TooLargeError:
            return None

    if question.k is None or delay < question.k:
        least = enclosed(delay, LIMITS.now.estimates_of_the_smallest_k)
        if least is not None and least.lower == 1:
            return least
    if question.k is None or question.k <= min(_WIDEST_BETWEEN):
        return None
    own = enclosed(question.k, LIMITS.now.estimates_of_a_large_k)
    if own is not None or exact:
        return own
    infinite = enclosed(None, limit.estimates)
    for small, widest in _WIDEST_BETWEEN.items():
        if infinite is None or small >= question.k:
            continue
        least = enclosed(small, LIMITS.now.estimates_of_a_small_k)
        if least is not None and infinite.upper - least.lower <= widest:
            return Enclosure(least.lower, infinite.upper)
    return None


def shown_within(observed: Observed, witness: tuple[str, ...], within: int) -> bool:
    """Whether a run can show `witness` in so many events, unobservable ones included."""
    system = observed.stochastic
    moves: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for source, event, target in system.moves:
        moves[source].append((event, target))
    walk: Walk[tuple[str, int], None] = Walk([(system.initial, 0)])
    for length, layer in enumerate(walk.layers()):
        if length > within:
            return False
        for number in layer:
            state, shown = walk.nodes[number]
            if shown == len(witness):
                return True
            for event, target in moves[state]:
                if event not in observed.event_number:
                    walk.meet((target, shown), number, None)
                elif event == witness[shown]:
                    walk.meet((target, shown + 1), number, None)
    return False
