"""Is a labelled chain (ε, δ)-differentially private? Proved from the chain alone (C19 Definition 7).

The smallest ε at which a chain keeps a δ, by bisection on proved answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from symveil.errors import ModelError, ParameterError
from symveil.laws.law import ReleaseChain
from symveil.laws.parameters import read_epsilon
from symveil.models.channel import Channel, Related, related_pairs
from symveil.models.labelled_chain import LabelledChain, Pair
from symveil.models.silent import SeenChain, without_silent
from symveil.numbers.conversions import (
    exp_enclosure,
    float_at_least,
    float_at_most,
    fraction,
    log_upper_bound,
    rational,
)
from symveil.numbers.progress import Progress, part
from symveil.numbers.rationals import Number, exact
from symveil.verification.channels import ChannelOdds, verify_channel
from symveil.verification.distances.bisimulation import Lumping, lumped
from symveil.verification.distances.bracket import DEFAULT_NODES, DEFAULT_WIDTH, Bracket, Bracketing
from symveil.verification.distances.distances import (
    Distances,
    Exactness,
    lifting_bound,
    skewed_distances,
    symmetric_distances,
)
from symveil.verification.distances.finite_words import FiniteWords, finite_words, word_chance
from symveil.verification.distances.tables import ChainTable
from symveil.verification.odds import smallest_alpha
from symveil.verification.privacy_verdict import Bound, PairVerdict, PrivacyVerdict, Witness, written

LARGEST_ALPHA = 10**12
Subject = LabelledChain | ReleaseChain | Channel | Iterable[Any]
"""What is verified: a chain, a mechanism's chain, a channel, or a table that `Channel.of` takes."""

MOST_PAIRS_FOR_BD = 60_000
MOST_PAIRS_FOR_LD = 50_000  # where δ is known without it


def verify_privacy(
    chain: Subject,
    *,
    alpha: Number | None = None,
    epsilon: Number | None = None,
    pairs: Iterable[Pair] | None = None,
    related: Related | None = None,
    silent: Iterable[str] = (),
    delta: Number | None = None,
    width: Number | None = None,
    nodes: int = DEFAULT_NODES,
    horizon: int | None = None,
    symmetric: bool | None = None,
    ld: bool | None = None,
    on_lumped: bool = False,
    support_only: bool = False,
    progress: Progress | None = None,
) -> PrivacyVerdict:
    """Brackets on δ, and the distances ld = lgd and bd above it, for the pairs asked for or the related ones.

    Parameters
    ----------
    chain
        A labelled chain, or a mechanism's `release_chain`. Then the bounds are proved for the mechanism's true law,
        from which the rational chain differs by a tiny known factor e^κ: P(E|w) − αP(E|v) is at most
        e^κ (P'(E|w) − αe^(−2κ) P'(E|v)), and at least the same with the signs of κ turned. Or a channel: a `Channel`,
        or any table that `Channel.of` takes (a matrix, a data frame, mappings); its answers are exact.
    alpha, epsilon
        One of them: α, or ε = ln α. For a channel, none of them: then the smallest one for `delta`, or for δ = 0.
    pairs
        Ordered pairs of states: (s, t) asks how much likelier an event can be from s. By default the related states, in
        both directions.
    related
        For a table: which inputs are related, as `Channel.of` takes it; all of them by default.
    silent
        Labels that no observer sees, nor how long they last. Then δ and the distances are those of the chain of what is
        seen (`without_silent`).
    delta
        The question: whether δ is at most this.
    width, nodes, horizon
        Where the bracket stops: so narrow (1e-4 by default, but not before `delta` is decided), after so many kinds of
        words, or after so many labels.
        Chains that end are read to their ends within `nodes`, whatever the width: then δ is exact.
    symmetric
        Whether bd is wanted; by default not for large chains, where it takes several times as long as ld.
    ld
        Whether ld is wanted; by default not for large chains whose δ is known without it (nor is bd, then).
    on_lumped
        Work on the quotient by bisimilarity, where δ is the same and ld may differ. (Brackets merge bisimilar states
        in any case: that changes no answer.)
    support_only
        Replace ld by the larger bound without relays.
    progress
        Called with how much of a hundred is done, and 100.

    >>> rows = [("A", "yes", "2/3"), ("A", "no", "1/3"), ("B", "yes", "1/3"), ("B", "no", "2/3"),
    ...         ("yes", "yes", 1), ("no", "no", 1)]
    >>> answers = LabelledChain.from_transitions(
    ...     rows, labels={"A": "?", "B": "?", "yes": "yes", "no": "no"}, related=[("A", "B")])
    >>> verdict = verify_privacy(answers, alpha="6/5", delta="4/15")
    >>> verdict.holds, verdict.delta.upper
    (True, Fraction(4, 15))
    >>> table = [["3/4", "1/4"], ["1/4", "3/4"]]                    # randomised response as a channel
    >>> verify_privacy(table).alpha, verify_privacy(table, alpha=2).delta.upper
    (Fraction(3, 1), Fraction(1, 4))
    """
    requested = None if delta is None else read_share(delta, name="delta")
    channel = as_channel(chain, related)
    if channel is not None:
        _refuse_silent(silent)
        bounds = None if alpha is None and epsilon is None else read_alpha(alpha, epsilon)
        return verify_channel(channel, bounds=bounds, requested=requested, pairs=pairs, progress=progress)
    below, above, read = read_alpha(alpha, epsilon)
    goal = DEFAULT_WIDTH if width is None else read_share(width, name="width")
    _require_count(nodes, name="nodes")
    if horizon is not None:
        _require_count(horizon, name="horizon", at_least=0)
    slack = Fraction(0)
    if isinstance(chain, ReleaseChain):
        slack, chain = chain.log_error, chain.chain
        below, above = _widened(below, above, slack)
    assert isinstance(chain, LabelledChain)  # noqa: S101 - what is neither was refused
    wanted = chain.pairs(pairs)
    if not wanted:
        raise ModelError("pairs", expected="at least one pair of states, or related states in the chain", found="none")
    seen = seen_chain(chain, silent, wanted)
    work, home = lumped(seen.chain) if on_lumped else (seen.chain, {state: state for state in seen.chain.states})
    table = ChainTable.of(work)
    lumping = Lumping.of(table)
    number = {state: work.number[home[start]] for state, start in seen.start.items()}
    numbers = [(number[source], number[target]) for source, target in wanted]
    closed = [None if horizon is not None else read_to_the_end(lumping, *pair, nodes=nodes) for pair in numbers]
    ld = _is_wanted(ld, table, at_most=MOST_PAIRS_FOR_LD) or support_only or None in closed
    symmetric = _is_wanted(symmetric, table, at_most=MOST_PAIRS_FOR_BD if ld else 0)
    skewed = both = rules = None
    if ld:
        # an α that only encloses e^ε has no exact distance worth writing down
        exactness: Exactness = "auto" if below == above else "never"
        skewed = skewed_distances(
            table, below, relays=not support_only, exactness=exactness, progress=part(progress, 0, 40, of=100)
        )
        if None in closed:
            bound = lifting_bound(skewed, relays=not support_only)
            rules = Bracketing(lumping, bound, alpha=below, alpha_above=above)
    if symmetric:
        both = symmetric_distances(table, below, progress=part(progress, 40, 60, of=100))
    question = requested if width is None else None
    verdicts = []
    for done, ((source, target), (s, t), words) in enumerate(zip(wanted, numbers, closed, strict=True)):
        own = part(progress, 60 + 40 * done // len(wanted), 60 + 40 * (done + 1) // len(wanted), of=100)
        one_step, two_way = (
            None if each is None else _stretched(_bound(each, s, t, known=below == above), slack)
            for each in (skewed, both)
        )
        if words is not None:
            bracket = Bracket(
                lower=fraction(words.odds.delta(rational(above))),
                upper=fraction(words.odds.delta(rational(below))),
                nodes=words.nodes,
            )
        else:
            assert rules is not None  # noqa: S101 - just made
            bracket = rules.bracket(s, t, width=goal, nodes=nodes, horizon=horizon, question=question, progress=own)
        verdicts.append(
            PairVerdict(
                source=source,
                target=target,
                lv=_capped(_loosened(bracket, slack), one_step, two_way),
                ld=None if support_only else one_step,
                bd=two_way,
                support_only=one_step if support_only else None,
                # a mechanism's chain is not its law to the last digit
                witness=None if words is None or slack else _witness(lumping, s, t, words),
            )
        )
    return PrivacyVerdict(
        alpha_below=below, alpha_above=above, epsilon=read, pairs=tuple(verdicts), asked=requested, lumped=on_lumped
    )


def seen_chain(chain: LabelledChain, silent: Iterable[str], pairs: Iterable[Pair]) -> SeenChain:
    """The chain without silent states, and where the states of the pairs start in it."""
    hidden = silent if isinstance(silent, str) else list(silent)
    starts = list(dict.fromkeys(state for pair in pairs for state in pair))
    return (
        without_silent(chain, hidden, starts=starts)
        if hidden
        else SeenChain(chain, dict(zip(starts, starts, strict=True)))
    )


def _refuse_silent(silent: Iterable[str]) -> None:
    if list(silent):
        raise ParameterError("silent", expected="a chain with it, whose labels are not all seen", found="a channel")


def _is_wanted(requested: bool | None, table: ChainTable, *, at_most: int) -> bool:
    return len(table.same_label_pairs) <= at_most if requested is None else requested


def as_channel(model: object, related: Related | None) -> Channel | None:
    """The channel that a table is, with these related inputs; None where it is a chain."""
    if isinstance(model, LabelledChain | ReleaseChain):
        if related is not None:
            raise ParameterError(
                "related", expected="a channel with it; pairs of a chain are given as pairs", found="a chain"
            )
        return None
    if isinstance(model, str) or not (isinstance(model, Channel) or hasattr(model, "__iter__")):
        compiles = hasattr(type(model), "release_chain") and not isinstance(model, type)
        advice = ", whose chain is mechanism.release_chain([word, other])" if compiles else ""
        kind = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise ParameterError("chain", expected="a labelled chain", found=f"{kind}{advice}")
    if isinstance(model, Channel):
        return model if related is None else replace(model, related=related_pairs(model.inputs, related))
    return Channel.of(model, related="all" if related is None else related)


def read_to_the_end(lumping: Lumping, source: int, target: int, *, nodes: int) -> FiniteWords | None:
    """What the words of a chain that ends tell about two states; None where it goes round, or is too large."""
    return finite_words(lumping.table, int(lumping.home[source]), int(lumping.home[target]), nodes=nodes)


def _witness(lumping: Lumping, source: int, target: int, words: FiniteWords) -> Witness:
    """The word whose odds are largest: nothing that can be seen says more for the source."""
    word = words.words[words.odds.where_largest()]
    table = lumping.table
    names = {code: label for label, code in zip(table.chain.labels, table.label.tolist(), strict=True)}
    mine, theirs = (fraction(word_chance(table, int(lumping.home[state]), word)) for state in (source, target))
    return Witness(labels=tuple(names[code] for code in word), probability=mine, other=theirs)


def _widened(below: Fraction, above: Fraction, slack: Fraction) -> tuple[Fraction, Fraction]:
    """α e^(−2κ) from below and α e^(2κ) from above, as floats exactly; never below 1."""
    factor = 1 + 4 * slack  # ≥ e^(2κ), since κ is far below 1/2
    return max(Fraction(1), Fraction(float_at_most(below / factor))), Fraction(float_at_least(above * factor))


def _loosened(bracket: Bracket, slack: Fraction) -> Bracket:
    """The bracket of the true law: e^κ further up, e^(−κ) further down."""
    factor = 1 + 2 * slack
    return replace(bracket, lower=bracket.lower / factor, upper=min(Fraction(1), bracket.upper * factor))


def _capped(bracket: Bracket, *bounds: Bound | None) -> Bracket:
    """The bracket below the distances, which are proved as well: rounding may have left its sum a little above."""
    return replace(bracket, upper=min([bracket.upper, *(bound.value for bound in bounds if bound is not None)]))


def _stretched(bound: Bound, slack: Fraction) -> Bound:
    if not slack:
        return bound
    return Bound(value=min(Fraction(1), bound.value * (1 + 2 * slack)), exact=False)


def _bound(distances: Distances, s: int, t: int, *, known: bool) -> Bound:
    exact_value = distances.exact_value(s, t) if known else None
    if exact_value is None:
        # on the kernel and between labels the bound is the distance whatever the rest is
        settled = known and bool(distances.kernel[s, t] or distances.table.label[s] != distances.table.label[t])
        return Bound(value=distances.value(s, t), exact=settled)
    return Bound(value=exact_value, exact=True)


def read_alpha(alpha: Number | None, epsilon: Number | None) -> tuple[Fraction, Fraction, Fraction | None]:
    """Rationals below and above e^ε, and ε where it was given: δ falls in α, so each bound has its end."""
    if (alpha is None) == (epsilon is None):
        raise ParameterError(
            "alpha", expected="either alpha or epsilon", found="both" if alpha is not None else "neither"
        )
    if alpha is not None:
        expected = "a number, 1 or more, such as 1.2 or 6/5"
        value = exact(alpha, name="alpha", expected=expected)
        if value < 1:
            raise ParameterError("alpha", expected=expected, found=alpha)
        _require_moderate(value, "alpha", alpha)
        return value, value, None
    assert epsilon is not None  # noqa: S101 - just checked
    read = read_epsilon(epsilon)
    if read > 28:
        raise ParameterError("epsilon", expected="at most 27.6, where e^epsilon is 10^12", found=epsilon)
    below, above = exp_enclosure(read)
    _require_moderate(above, "epsilon", epsilon)
    return below, above, read


def _require_moderate(alpha: Fraction, name: str, found: Number) -> None:
    if alpha > LARGEST_ALPHA:
        limit = "10^12" if name == "alpha" else "27.6, where e^epsilon is 10^12"
        raise ParameterError(name, expected=f"at most {limit}", found=found)


def read_share(value: Number, *, name: str) -> Fraction:
    """A δ or a width: between 0 and 1."""
    expected = "a number from 0 to 1 such as 0.01 or 1/100"
    share = exact(value, name=name, expected=expected)
    if not 0 <= share <= 1:
        raise ParameterError(name, expected=expected, found=value)
    return share


def _require_count(value: object, *, name: str, at_least: int = 1) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise ParameterError(name, expected=f"a whole number, {at_least} or more", found=value)


_LARGEST_EXPONENT = 27


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallestEpsilon:
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
    requested = list((chain.chain if isinstance(chain, ReleaseChain) else chain).pairs(pairs))
    if isinstance(chain, LabelledChain) and options.get("horizon") is None and requested:
        seen = seen_chain(chain, options.get("silent", ()), requested)
        lumping = Lumping.of(ChainTable.of(seen.chain))
        number_of = {state: seen.chain.number[start] for state, start in seen.start.items()}
        limit = options.get("nodes", DEFAULT_NODES)
        words = [read_to_the_end(lumping, number_of[s], number_of[t], nodes=limit) for s, t in requested]
        if (odds := [each.odds for each in words if each is not None]) and None not in words:
            alpha = smallest_alpha(odds, rational(wanted))
            return SmallestEpsilon.of_alpha(None if alpha is None else fraction(alpha), delta=wanted)
    answer = partial(_answer, chain, wanted, requested, options)
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


def _answer(
    chain: LabelledChain | ReleaseChain, delta: Fraction, pairs: list[Pair], options: dict[str, Any], epsilon: Fraction
) -> bool | None:
    """Whether δ holds at ε: asked with the usual bracket first, with a narrow one, and until it is decided.

    The last only where the narrow one is as narrow as that: where it stopped at its limit, so would a longer search.
    """
    point: dict[str, Any] = {"alpha": 1} if epsilon == 0 else {"epsilon": epsilon}
    for width in (Fraction(1, 10**4), Fraction(1, 10**8), None):
        options_given: dict[str, Any] = {"width": width, **options, **point}
        verdict = verify_privacy(chain, delta=delta, pairs=pairs, symmetric=False, ld=False, **options_given)
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
