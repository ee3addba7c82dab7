"""The privacy of a channel, exactly: δ at an ε, the smallest ε for a δ, and the pair and output where it is worst.

A channel is a chain of one step, so everything the distances of chains say is one number here: ld = lgd = δ, and bd is
the larger one of both directions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from flint import fmpq

from symveil.errors import ModelError, TooLargeError
from symveil.models.channel import Channel, Pair
from symveil.numbers.conversions import fraction, rational
from symveil.numbers.progress import Progress
from symveil.verification.chain_pairs import Alpha
from symveil.verification.distances.bracket import Bracket
from symveil.verification.odds import Odds, smallest_alpha
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
