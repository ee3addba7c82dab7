"""The smallest ε at which a chain keeps a δ: exact, or by bisection on proved answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from symveil.errors import ParameterError
from symveil.laws.law import ReleaseChain
from symveil.models.labelled_chain import LabelledChain, Pair
from symveil.numbers.conversions import float_at_least, float_at_most, fraction, log_upper_bound, rational
from symveil.numbers.progress import Progress
from symveil.numbers.rationals import Number, exact, shown_at_least, shown_at_most, spelled
from symveil.reports.page import Reported
from symveil.reports.report import Report, facts_report
from symveil.verification.chain_pairs import Alpha, ChainPairs, Subject, as_channel, read_alpha, read_share
from symveil.verification.distances.finite_words import smallest_alpha
from symveil.verification.privacy_verdict import written
from symveil.verification.verify_privacy import ChannelOdds, ProofOptions, verdict_on

_LARGEST_EXPONENT = 27
_LONGEST_SHOWN = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallestEpsilon(Reported):
    """The smallest ε at which δ is at most the given one: proved above `lower` and at most `upper`.

    `lower` is None where no ε is refuted (δ is small enough at ε = 0 already); `upper` is None where
    none was proved. `alpha` is e^ε itself, where it is known exactly; `infinite` says that no ε is enough.
    """

    delta: Fraction
    lower: Fraction | None
    upper: Fraction | None
    alpha: Fraction | None = None
    infinite: bool = False

    @classmethod
    def of_alpha(cls, alpha: Fraction | None, *, delta: Fraction) -> SmallestEpsilon:
        """ε where e^ε is known exactly, enclosed by rationals next to it; None: no ε is enough."""
        if alpha is None:
            return cls(delta=delta, lower=Fraction(_LARGEST_EXPONENT), upper=None, infinite=True)
        if alpha == 1:
            return cls(delta=delta, lower=None, upper=Fraction(0), alpha=alpha)
        # as floats, a few units of their last place apart: a logarithm computed in floats lies between as well
        low, high = float_at_most(-log_upper_bound(1 / alpha)), float_at_least(log_upper_bound(alpha))
        for _ in range(2):
            low, high = math.nextafter(low, 0.0), math.nextafter(high, math.inf)
        return cls(delta=delta, lower=Fraction(low), upper=Fraction(high), alpha=alpha)

    def report(self) -> Report:
        """The smallest ε for a δ, rounded against the claim: what is shown as enough is enough, what is not is not."""
        upper = "none was proved" if self.upper is None else f"{shown_at_least(self.upper)}, proved to be enough"
        lower = shown_at_most(self.lower) if self.lower else "—"
        if self.infinite:
            lower, upper = "every epsilon", "none"
        facts = [("delta", spelled(self.delta)), ("not enough", lower), ("enough", upper)]
        text = None if self.alpha is None else written(self.alpha)
        if text is not None and len(text) < _LONGEST_SHOWN:
            facts.append(("e^epsilon, exactly", text.removesuffix("/1")))
        return facts_report("Smallest epsilon", facts)

    def document(self) -> dict[str, object]:
        """As JSON."""
        document: dict[str, object] = {
            "delta": float(self.delta),
            "epsilon": {
                "lower": 0.0 if self.lower is None else float_at_most(self.lower),
                "upper": None if self.upper is None else float_at_least(self.upper),
            },
        }
        if self.alpha is not None and (text := written(self.alpha)) is not None:
            document["alpha_exact"] = text
        if self.infinite:
            document["infinite"] = True
        return document


def smallest_epsilon(
    chain: Subject,
    *,
    delta: Number,
    precision: Number = Fraction(1, 1000),
    pairs: Iterable[Pair] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> SmallestEpsilon:
    """The smallest ε for a δ, to within `precision`, by bisection on proved answers only.

    Where the words of the chain end, e^ε is computed exactly instead. Elsewhere, an ε whose bracket does not decide the
    question is neither above nor below; then the answer is wider than `precision`.

    Parameters
    ----------
    chain
        A labelled chain, a mechanism's release chain, or a channel (or a table that `Channel.of` takes).
    delta
        The δ that is to hold, from 0 to 1.
    precision
        How far the proved bounds may be apart.
    pairs
        Pairs of states; by default the related ones, both ways.
    progress
        Called with how many steps are done, and of how many.
    **options
        Those of `verify_privacy`, such as `nodes` or `horizon`.

    >>> from symveil.examples.paper_systems import pin_checker
    >>> result = smallest_epsilon(pin_checker(), delta=0)
    >>> float(result.lower) <= 0.240292 <= float(result.upper)          # ln(2809/2209)
    True
    """
    wanted = read_share(delta, name="delta")
    step = exact(precision, name="precision")
    if step <= 0:
        raise ParameterError("precision", expected="a number above 0 such as 0.001", found=precision)
    channel = as_channel(chain, options.pop("related", None))
    if channel is not None:
        return SmallestEpsilon.of_alpha(ChannelOdds.of(channel, pairs).smallest_alpha(wanted), delta=wanted)
    assert isinstance(chain, LabelledChain | ReleaseChain)  # noqa: S101 - the rest are channels
    preparing = {name: options.pop(name) for name in ("silent", "on_lumped") if name in options}
    limits = replace(ProofOptions.read(**options), symmetric=False, ld=False)
    prepared = ChainPairs.of(chain, pairs, **preparing)
    if limits.horizon is None and not prepared.slack:
        words = prepared.read_to_the_end(limits.nodes)
        if (odds := [each.odds for each in words if each is not None]) and None not in words:
            alpha = smallest_alpha(odds, rational(wanted))
            return SmallestEpsilon.of_alpha(None if alpha is None else fraction(alpha), delta=wanted)

    def answer(epsilon: Fraction) -> bool | None:
        return _answer(prepared, wanted, limits, epsilon)

    if answer(Fraction(0)):
        return SmallestEpsilon(delta=wanted, lower=None, upper=Fraction(0))
    refuted, proved = _first_proved(answer)
    if proved is None:
        return SmallestEpsilon(delta=wanted, lower=refuted, upper=None)
    # one bisection for where the answer stops being a proved no, one for where it starts being a proved yes
    rounds = max(1, math.ceil(math.log2(max(2.0, float((proved - refuted) / step)))))
    for wanted_answer in (False, True):
        low, high = refuted, proved
        for number in range(rounds):
            middle = (low + high) / 2
            holds = answer(middle)
            if holds is False:
                refuted = max(refuted, middle)
            elif holds:
                proved = min(proved, middle)
            # what is undecided counts as a yes first, and as a no then
            below = holds is False if wanted_answer is False else not holds
            low, high = (middle, high) if below else (low, middle)
            if progress:
                progress(rounds * wanted_answer + number + 1, 2 * rounds)
        if proved - refuted <= step:
            break
    return SmallestEpsilon(delta=wanted, lower=refuted, upper=proved)


def _answer(chain: ChainPairs, delta: Fraction, options: ProofOptions, epsilon: Fraction) -> bool | None:
    """Whether δ holds at ε: asked with the usual bracket first, with a narrow one, and until it is decided.

    The last only where the narrow one is as narrow as that: where it stopped at its limit, so would a longer search.
    """
    alpha = Alpha(below=Fraction(1), above=Fraction(1)) if epsilon == 0 else read_alpha(None, epsilon)
    for width in (Fraction(1, 10**4), Fraction(1, 10**8), None):
        own = options if options.width is not None else replace(options, width=width)
        verdict = verdict_on(chain, alpha, own, requested=delta)
        if verdict.holds is not None:
            return verdict.holds
        if width is not None and verdict.delta.upper - verdict.delta.lower > width:
            return None
    return None


def _first_proved(answer: Callable[[Fraction], bool | None]) -> tuple[Fraction, Fraction | None]:
    """The largest ε refuted and the first one proved, doubling from 1/16."""
    refuted, guess = Fraction(0), Fraction(1, 16)
    while True:
        holds = answer(guess)
        if holds:
            return refuted, guess
        if holds is False:
            refuted = guess
        if guess == _LARGEST_EXPONENT:
            return refuted, None
        guess = min(2 * guess, Fraction(_LARGEST_EXPONENT))
