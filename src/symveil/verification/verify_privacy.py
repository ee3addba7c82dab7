"""Is a labelled chain (ε, δ)-differentially private? Proved from the chain alone (C19 Definition 7).

A channel is a chain of one step, so everything the distances of chains say is one number: ld = lgd = δ, and bd is the
larger one of both directions. Its δ at an ε, the smallest ε for a δ, and the worst pair and output are exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from flint import fmpq

from symveil.errors import ModelError, ParameterError, TooLargeError
from symveil.laws.law import ReleaseChain
from symveil.models.channel import Channel, Related
from symveil.models.labelled_chain import LabelledChain, Pair
from symveil.numbers.conversions import fraction, rational
from symveil.numbers.progress import Progress, part
from symveil.numbers.rationals import Number
from symveil.verification.chain_pairs import (
    Alpha,
    ChainPairs,
    Subject,
    as_channel,
    read_alpha,
    read_share,
    require_count,
)
from symveil.verification.distances.bracket import DEFAULT_NODES, DEFAULT_WIDTH, Bracket, Bracketing
from symveil.verification.distances.distances import (
    Distances,
    Exactness,
    lifting_bound,
    skewed_distances,
    symmetric_distances,
)
from symveil.verification.distances.finite_words import FiniteWords, Odds, smallest_alpha, word_chance
from symveil.verification.distances.tables import ChainTable, Lumping
from symveil.verification.privacy_verdict import Bound, PairVerdict, PrivacyVerdict, Witness

_MOST_WORK = 20_000_000  # pairs × outputs: about ten seconds


@dataclass(frozen=True, slots=True)
class ChannelOdds:
    """The odds of all outputs for each pair of a channel."""

    channel: Channel
    pairs: tuple[Pair, ...]
    odds: tuple[Odds, ...]

    @classmethod
    def of(cls, channel: Channel, pairs: Iterable[Pair] | None) -> ChannelOdds:
        """The odds of the pairs that were asked for, or of the related ones, both ways."""
        wanted = channel.pairs(pairs)
        if not wanted:
            raise ModelError("related", expected="at least one pair of related inputs", found="none")
        if len(wanted) * len(channel.outputs) > _MOST_WORK:
            raise TooLargeError(
                f"channel: expected at most {_MOST_WORK} pairs × outputs, found {len(wanted)} × "
                f"{len(channel.outputs)}; say which inputs are related"
            )
        rows = [[rational(chance) for chance in row] for row in channel.rows]
        number = channel.number
        return cls(
            channel, wanted, tuple(Odds(tuple(zip(rows[number[s]], rows[number[t]], strict=True))) for s, t in wanted)
        )

    def smallest_alpha(self, delta: Fraction) -> Fraction | None:
        """e^ε of the smallest ε at which δ is at most `delta`; None where there is none."""
        alpha = smallest_alpha(self.odds, rational(delta))
        return None if alpha is None else fraction(alpha)

    def last_corner(self) -> Fraction:
        """The largest finite ratio: from here on δ does not fall any more."""
        ratios = [p / r for odds in self.odds for p, r in odds.chances if r != 0]
        return fraction(max([fmpq(1), *ratios]))

    def verdict(
        self,
        below: Fraction,
        above: Fraction,
        *,
        epsilon: Fraction | None,
        requested: Fraction | None,
        infinite: bool = False,
        progress: Progress | None = None,
    ) -> PrivacyVerdict:
        """δ for each pair at an α between two rationals."""
        low, high = rational(below), rational(above)
        deltas = {}
        for done, (pair, odds) in enumerate(zip(self.pairs, self.odds, strict=True), start=1):
            most = odds.delta(low)
            deltas[pair] = (most if low == high else odds.delta(high), most)
            if progress and done % 64 == 0:
                progress(100 * done // len(self.pairs), 100)
        verdicts = []
        for (source, target), odds in zip(self.pairs, self.odds, strict=True):
            lower, upper = map(fraction, deltas[source, target])
            back = deltas.get((target, source)) or (fmpq(0), Odds(_turned(odds)).delta(low))
            best = odds.where_largest()
            verdicts.append(
                PairVerdict(
                    source=source,
                    target=target,
                    lv=Bracket(lower=lower, upper=upper, nodes=len(self.channel.outputs)),
                    ld=Bound(value=upper, exact=low == high),
                    bd=Bound(value=max(upper, fraction(back[1])), exact=low == high),
                    witness=Witness(
                        labels=(self.channel.outputs[best],),
                        probability=fraction(odds.chances[best][0]),
                        other=fraction(odds.chances[best][1]),
                    ),
                )
            )
        return PrivacyVerdict(
            alpha_below=below,
            alpha_above=above,
            epsilon=epsilon,
            pairs=tuple(verdicts),
            asked=requested,
            infinite=infinite,
        )


def _turned(odds: Odds) -> tuple[tuple[fmpq, fmpq], ...]:
    return tuple((r, p) for p, r in odds.chances)


def verify_channel(
    odds: ChannelOdds,
    *,
    alpha: Alpha | None,
    requested: Fraction | None,
    progress: Progress | None = None,
) -> PrivacyVerdict:
    """δ at an α (as `read_alpha` reads it); without one, at the smallest α for the δ that was asked, or for 0.

    Where no α is large enough the verdict is that of every large α, and says so (`infinite`).
    """
    if alpha is not None:
        return odds.verdict(alpha.below, alpha.above, epsilon=alpha.epsilon, requested=requested, progress=progress)
    smallest = odds.smallest_alpha(requested or Fraction(0))
    at = odds.last_corner() if smallest is None else smallest
    return odds.verdict(at, at, epsilon=None, requested=requested, infinite=smallest is None, progress=progress)


MOST_PAIRS_FOR_BD = 60_000
MOST_PAIRS_FOR_LD = 50_000  # where δ is known without it


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofOptions:
    """How far a proof goes, and what is proved besides δ: the options of `verify_privacy` of the same names."""

    width: Fraction | None = None
    nodes: int = DEFAULT_NODES
    horizon: int | None = None
    symmetric: bool | None = None
    ld: bool | None = None
    support_only: bool = False

    @classmethod
    def read(cls, *, width: Number | None = None, **others: object) -> ProofOptions:
        """Options as users give them."""
        options = cls(width=None if width is None else read_share(width, name="width"), **others)  # type: ignore[arg-type]
        require_count(options.nodes, name="nodes")
        if options.horizon is not None:
            require_count(options.horizon, name="horizon", at_least=0)
        return options


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
    prepared = PreparedSubject.of(
        chain,
        pairs=pairs,
        related=related,
        silent=silent,
        delta=delta,
        on_lumped=on_lumped,
        width=width,
        nodes=nodes,
        horizon=horizon,
        symmetric=symmetric,
        ld=ld,
        support_only=support_only,
    )
    is_channel = isinstance(prepared.subject, ChannelOdds)
    read = None if is_channel and alpha is None and epsilon is None else read_alpha(alpha, epsilon)
    return prepared.verdict(read, progress=progress)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PreparedSubject:
    """A channel or pairs of a chain, with how far proofs go: ready for verdicts at any number of α.

    Parameters
    ----------
    subject
        The odds of pairs of a channel, or pairs of a chain.
    options
        How far proofs go.
    requested
        The question: whether δ is at most this.
    """

    subject: ChannelOdds | ChainPairs
    options: ProofOptions
    requested: Fraction | None

    @classmethod
    def of(
        cls,
        chain: Subject,
        *,
        pairs: Iterable[Pair] | None = None,
        related: Related | None = None,
        silent: Iterable[str] = (),
        delta: Number | None = None,
        on_lumped: bool = False,
        **options: Any,
    ) -> PreparedSubject:
        """With the parameters of `verify_privacy`, those of the proof among `options`."""
        requested = None if delta is None else read_share(delta, name="delta")
        channel = as_channel(chain, related)
        if channel is not None:
            _refuse_silent(silent)
            return cls(subject=ChannelOdds.of(channel, pairs), options=ProofOptions(), requested=requested)
        read = ProofOptions.read(**options)
        assert isinstance(chain, LabelledChain | ReleaseChain)  # noqa: S101 - what is neither was refused
        prepared = ChainPairs.of(chain, pairs, silent=silent, on_lumped=on_lumped)
        return cls(subject=prepared, options=read, requested=requested)

    def verdict(self, alpha: Alpha | None, *, progress: Progress | None = None) -> PrivacyVerdict:
        """The verdict at an α; of a channel without one, at the smallest for the δ of the question.

        Parameters
        ----------
        alpha
            α, as `read_alpha` reads it.
        progress
            Called with how much of a hundred is done, and 100.
        """
        if isinstance(self.subject, ChannelOdds):
            return verify_channel(self.subject, alpha=alpha, requested=self.requested, progress=progress)
        assert alpha is not None  # noqa: S101 - a chain has no smallest one here
        return verdict_on(self.subject, alpha, self.options, requested=self.requested, progress=progress)


def verdict_on(
    chain: ChainPairs,
    alpha: Alpha,
    options: ProofOptions,
    *,
    requested: Fraction | None = None,
    progress: Progress | None = None,
) -> PrivacyVerdict:
    """The verdict on pairs that are prepared already.

    Parameters
    ----------
    chain
        The pairs.
    alpha
        α, which is widened by what the chain may differ from the mechanism that it stands for.
    options
        How far the proof goes.
    requested
        The question: whether δ is at most this.
    progress
        Called with how much of a hundred is done, and 100.
    """
    alpha, table = alpha.widened(chain.slack), chain.table
    count, open_ended = len(chain.pairs), options.horizon is not None
    closed = [None] * count if open_ended else chain.read_to_the_end(options.nodes)
    ld = _is_wanted(options.ld, table, at_most=MOST_PAIRS_FOR_LD) or options.support_only or None in closed
    symmetric = _is_wanted(options.symmetric, table, at_most=MOST_PAIRS_FOR_BD if ld else 0)
    skewed = both = rules = None
    if ld:
        # an α that only encloses e^ε has no exact distance worth writing down
        exactness: Exactness = "auto" if alpha.is_exact else "never"
        relays, first = not options.support_only, part(progress, 0, 40, of=100)
        skewed = skewed_distances(table, alpha.below, relays=relays, exactness=exactness, progress=first)
        if None in closed:
            bound = lifting_bound(skewed, relays=relays)
            rules = Bracketing(chain.lumping, bound, alpha=alpha.below, alpha_above=alpha.above)
    if symmetric:
        both = symmetric_distances(table, alpha.below, progress=part(progress, 40, 60, of=100))
    verdicts = []
    for done, (names, numbers, words) in enumerate(zip(chain.pairs, chain.numbers, closed, strict=True)):
        one_step, two_way = (_bound(each, *numbers, known=alpha.is_exact, slack=chain.slack) for each in (skewed, both))
        if words is not None:
            bracket = _bracket_of_words(words, alpha)
        else:
            assert rules is not None  # noqa: S101 - just made
            own = part(progress, 60 + 40 * done // count, 60 + 40 * (done + 1) // count, of=100)
            bracket = rules.bracket(
                *numbers,
                width=DEFAULT_WIDTH if options.width is None else options.width,
                nodes=options.nodes,
                horizon=options.horizon,
                question=requested if options.width is None else None,
                progress=own,
            )
        verdicts.append(
            PairVerdict(
                source=names[0],
                target=names[1],
                lv=_capped(_loosened(bracket, chain.slack), one_step, two_way),
                ld=None if options.support_only else one_step,
                bd=two_way,
                support_only=one_step if options.support_only else None,
                # a mechanism's chain is not its law to the last digit
                witness=None if words is None or chain.slack else _witness(chain.lumping, *numbers, words),
            )
        )
    return PrivacyVerdict(
        alpha_below=alpha.below,
        alpha_above=alpha.above,
        epsilon=alpha.epsilon,
        pairs=tuple(verdicts),
        asked=requested,
        lumped=chain.lumped,
    )


def _refuse_silent(silent: Iterable[str]) -> None:
    if list(silent):
        raise ParameterError("silent", expected="a chain with it, whose labels are not all seen", found="a channel")


def _is_wanted(requested: bool | None, table: ChainTable, *, at_most: int) -> bool:
    return len(table.same_label_pairs) <= at_most if requested is None else requested


def _bracket_of_words(words: FiniteWords, alpha: Alpha) -> Bracket:
    """δ where all words were read: exact, where α is."""
    lower, upper = (fraction(words.odds.delta(rational(each))) for each in (alpha.above, alpha.below))
    return Bracket(lower=lower, upper=upper, nodes=words.nodes)


def _witness(lumping: Lumping, source: int, target: int, words: FiniteWords) -> Witness:
    """The word whose odds are largest: nothing that can be seen says more for the source."""
    word = words.words[words.odds.where_largest()]
    table = lumping.table
    names = {code: label for label, code in zip(table.chain.labels, table.label.tolist(), strict=True)}
    mine, theirs = (fraction(word_chance(table, int(lumping.home[state]), word)) for state in (source, target))
    return Witness(labels=tuple(names[code] for code in word), probability=mine, other=theirs)


def _loosened(bracket: Bracket, slack: Fraction) -> Bracket:
    """The bracket of the true law: e^κ further up, e^(−κ) further down."""
    factor = 1 + 2 * slack
    return replace(bracket, lower=bracket.lower / factor, upper=min(Fraction(1), bracket.upper * factor))


def _capped(bracket: Bracket, *bounds: Bound | None) -> Bracket:
    """The bracket below the distances, which are proved as well: rounding may have left its sum a little above."""
    return replace(bracket, upper=min([bracket.upper, *(bound.value for bound in bounds if bound is not None)]))


def _bound(distances: Distances | None, s: int, t: int, *, known: bool, slack: Fraction) -> Bound | None:
    """The distance of two states as a bound on δ; with slack, on that of the mechanism's law."""
    if distances is None:
        return None
    exact_value = distances.exact_value(s, t) if known else None
    value = distances.value(s, t) if exact_value is None else exact_value
    if slack:
        return Bound(value=min(Fraction(1), value * (1 + 2 * slack)), exact=False)
    # on the kernel and between labels the bound is the distance whatever the rest is
    settled = known and bool(distances.kernel[s, t] or distances.table.label[s] != distances.table.label[t])
    return Bound(value=value, exact=exact_value is not None or settled)
