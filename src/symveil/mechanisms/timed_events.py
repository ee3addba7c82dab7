"""Events with their times, released together: the choice of the law, and the draw.

The law of an event is `laws.event_law`. Events are drawn independently of each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.laws.event_law import EventLaw
from symveil.models.alphabet import Codes
from symveil.numbers.conversions import ball
from symveil.numbers.once import computed_once
from symveil.randomness import BitSource, Boundaries, uniform_below

Indices = NDArray[np.int64]

_LEAST_SHARE = 80
"""In hundredths: the smallest share of the budget that a law is looked for with."""
_TIE = 1e-9
"""By so much, relatively, a law has to be better to be chosen: machines round differently."""


def choose_event_law(
    *, symbols: int, bins: int, circle: bool, shift: int | None, epsilon: Fraction, thorough: bool = True
) -> EventLaw:
    """The law for a budget from whose releases tables of symbols × bins are estimated best.

    Less than the whole budget is spent where a frequency would nearly vanish: of the shares .80, .81 … 1 and of all
    steps those are taken for which the sum of the squared inverses is smallest. Steps for which some frequency vanishes
    at every rate are left out. Everything here is public.

    Parameters
    ----------
    symbols, bins, circle, shift
        As `EventLaw` has them. A shift that reaches every bin means any.
    epsilon
        The budget of one event.
    thorough
        Whether smaller shares of the budget are looked at too.

    >>> law = choose_event_law(symbols=8, bins=24, circle=True, shift=1, epsilon=Fraction(2))
    >>> law.step, law.rate <= 2
    (1, True)
    >>> choose_event_law(symbols=8, bins=24, circle=True, shift=12, epsilon=Fraction(2)).shift is None
    True
    """
    reach = bins // 2 if circle else bins - 1
    if shift is None or shift >= reach:
        return EventLaw.uniform(symbols=symbols, bins=bins, circle=circle, rate=epsilon)
    best: EventLaw | None = None
    least = math.inf
    for step in range(1, shift + 1):
        if math.gcd(2 * step - 1, bins) > 1:
            continue
        for share in range(100, (_LEAST_SHARE if thorough else 100) - 1, -1):
            law = EventLaw(
                symbols=symbols, bins=bins, circle=circle, shift=shift, step=step, rate=epsilon * Fraction(share, 100)
            )
            spread = law.spread()
            if best is None or spread < least * (1 - _TIE):
                best, least = law, spread
    assert best is not None  # noqa: S101 - step 1 is never left out
    return best


@dataclass(frozen=True, eq=False)
class EventDraws:
    """Draws events by a law, each with one 64-bit word; ties are resolved with more bits of the same record.

    Parameters
    ----------
    law
        The law of an event.

    >>> from symveil.randomness import NotPrivateSeededBits
    >>> law = EventLaw(symbols=3, bins=24, circle=True, shift=1, step=1, rate=Fraction(20))
    >>> codes, hours = np.array([2, 0], dtype=np.int32), np.array([23, 4])
    >>> [each.tolist() for each in EventDraws(law).draw(codes, hours, np.array([2]), NotPrivateSeededBits(1))]
    [[2, 0], [23, 4]]
    """

    law: EventLaw

    def draw(self, codes: Codes, bins: Indices, lengths: NDArray[np.int64], bits: BitSource) -> tuple[Codes, Indices]:
        """A private version of each event.

        Parameters
        ----------
        codes, bins
            The symbol and the bin of each event, one word after the other. The bin -1 stands for none, as before the
            first event of a word there is no wait: there the symbol alone is drawn, by randomised response.
        lengths
            The length of each word: rows of `bits`.
        bits
            Where random bits come from.
        """
        row_of = np.repeat(np.arange(len(lengths)), lengths)
        words = bits.ragged_words(lengths)
        released, moved = codes.copy(), bins.copy()
        changes = np.zeros(len(codes), dtype=np.bool_)
        alone, timed = np.flatnonzero(bins < 0), np.flatnonzero(bins >= 0)
        if len(alone):
            changes[alone] = self._alone.pick(words[alone], bits.for_rows(row_of[alone])) > 0
        if len(timed):
            pieces = self._pieces.pick(words[timed], bits.for_rows(row_of[timed]))
            moves = np.array(self.law.moves, dtype=np.int64)
            changes[timed] = pieces >= len(moves)
            there = bins[timed] + moves[pieces % len(moves)]
            last = self.law.bins - 1
            moved[timed] = np.clip(there, 0, last) if self.law.clamps else there % self.law.bins
        changed = np.flatnonzero(changes)
        if len(changed):
            rows = row_of[changed]
            others = uniform_below(self.law.symbols - 1, bits.lanes_of(rows), bits, row_of=rows)
            released[changed] = others + (others >= codes[changed])  # the true symbol is not among the others
        return released, moved

    @computed_once
    def _pieces(self) -> Boundaries:
        """The moves beside the same symbol, and then those beside another one."""

        def cut_points() -> Sequence[arb]:
            same, other = self.law.chances((-ball(self.law.rate)).exp())
            chances = [*same, *((self.law.symbols - 1) * chance for chance in other)]
            if self.law.symbols == 1:
                chances = same
            points, passed = [], arb(0)
            for chance in chances[:-1]:
                passed = passed + chance
                points.append(passed)
            return points

        return Boundaries(cut_points)

    @computed_once
    def _alone(self) -> Boundaries:
        """A symbol without a time: it stays, or not."""

        def cut_points() -> Sequence[arb]:
            away = (self.law.symbols - 1) * (-ball(self.law.rate)).exp()
            return [1 / (1 + away)] if self.law.symbols > 1 else []

        return Boundaries(cut_points)
