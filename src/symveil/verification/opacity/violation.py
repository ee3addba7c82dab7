"""How probable it is that a run gives a secret away (Z25 Definition 6, docs/opacity.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from symveil.errors import ModelError, ParameterError, TooLargeError
from symveil.languages.observation import Observed, Progress
from symveil.models.stochastic_system import PartiallyObserved, StochasticSystem
from symveil.numerics.rationals import Number
from symveil.verification.opacity.absorption import reaching_probability, reaching_probability_within
from symveil.verification.opacity.certified_floats import Enclosure
from symveil.verification.opacity.estimators import estimator
from symveil.verification.opacity.notions import Question, read_question, read_threshold
from symveil.verification.opacity.verify import verify_opacity
from symveil.verification.opacity.violation_chain import violation_chain

# The estimator of a large k remembers long ages and may be large, where a small k often gives the same answer.
_ESTIMATES_OF_THE_SMALLEST_K = 100_000
_ESTIMATES_OF_A_LARGE_K = 5_000
_ESTIMATES_OF_A_SMALL_K = 20_000
# (small k, how far from k = ∞ it may be to be believed)
_WIDEST_BETWEEN = {8: Fraction(1, 10**9), 20: Fraction(1, 10**7)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ViolationProbability:
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

    def _repr_html_(self) -> str:
        return f"<p>violation probability {repr(self).removeprefix('ViolationProbability(').removesuffix(')')}</p>"

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
    """The probability that a run's observation ever violates opacity, or does so `within` so many events of the run.

    Exact, loops included; where the linear system is too large for rationals, two proved bounds
    (`exact=True` insists on rationals, `exact=False` never uses them).

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
    if not isinstance(system, StochasticSystem):
        raise ModelError(
            "system", expected="probabilities on every transition", found="a logical system, which can only be verified"
        )
    read_within(within)
    if exact is not None and not isinstance(exact, bool):
        raise ParameterError("exact", expected="True, False or None", found=exact)
    enclosed = _enclosed(system, question, within=within, exact=exact, most_states=most_states, progress=progress)
    return ViolationProbability(question=question, lower=enclosed.lower, upper=enclosed.upper, within=within)


def read_within(within: int | None) -> int | None:
    """A number of events, or None for as long as a run goes on."""
    if within is not None and (isinstance(within, bool) or not isinstance(within, int) or within < 0):
        raise ParameterError("within", expected="a whole number of events, 0 or more", found=within)
    return within


def _enclosed(
    system: StochasticSystem,
    question: Question,
    *,
    within: int | None,
    exact: bool | None,
    most_states: int | None,
    progress: Progress | None,
) -> Enclosure:
    if question.notion == "weak" and within is None:
        verdict = verify_opacity(system, question.shown_k or 0, most_states=most_states, progress=progress)
        if verdict.holds:
            # much quicker to find out than the estimator is to build
            return Enclosure(Fraction(0), Fraction(0))
        delay = len(verdict.witness or ()) - (verdict.exposed_after or 0)
        found = _by_small_ks(system, question, delay, exact=exact, most_states=most_states, progress=progress)
        if found is not None:
            return found
    return _by_estimator(system, question, within=within, exact=exact, most_states=most_states, progress=progress)


def _by_estimator(
    system: StochasticSystem,
    question: Question,
    *,
    within: int | None = None,
    exact: bool | None,
    most_states: int | None,
    progress: Progress | None,
) -> Enclosure:
    seen = Observed(system)
    chain = violation_chain(
        system, estimator(seen, question), seen, within=within, most_states=most_states, progress=progress
    )
    if within is not None:
        return reaching_probability_within(chain, within, exact=exact)
    return reaching_probability(chain, exact=exact)


def _by_small_ks(
    system: StochasticSystem,
    question: Question,
    delay: int,
    *,
    exact: bool | None,
    most_states: int | None,
    progress: Progress | None,
) -> Enclosure | None:
    """An answer for a large k without its estimator, which remembers long ages; None where there is none.

    Whoever is sure within k observations is so within more, hence p grows with k: from a small k to ∞. A witness
    that looks `delay` observations back is a violation for k = delay; where p is 1 for that k, it is 1. Else the
    estimator itself is tried, if it is small; else bounds have to do.
    """
    allowed = Observed(system).most_estimates(most_states)

    def found(k: int | None, at_most: int) -> Enclosure | None:
        asked = Question(question.notion, k)
        try:
            return _by_estimator(system, asked, exact=exact, most_states=min(at_most, allowed), progress=progress)
        except TooLargeError:
            return None

    if question.k is None or delay < question.k:
        least = found(delay, _ESTIMATES_OF_THE_SMALLEST_K)
        if least is not None and least.lower == 1:
            return least
    if question.k is None or question.k <= min(_WIDEST_BETWEEN):
        return None
    own = found(question.k, _ESTIMATES_OF_A_LARGE_K)
    if own is not None or exact:
        return own
    infinite = found(None, allowed)
    for small, widest in _WIDEST_BETWEEN.items():
        least = found(small, _ESTIMATES_OF_A_SMALL_K) if infinite is not None and small < question.k else None
        if least is not None and infinite is not None and infinite.upper - least.lower <= widest:
            return Enclosure(least.lower, infinite.upper)
    return None
