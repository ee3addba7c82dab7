"""The chain of the edit channel: gaps and symbols of a word in turn, what is released as labels.

Released words have no longest one, and g(t) ∝ ρ^t/(1+t)^q is the law of no finite chain. So the chain shows the
first M symbols, and then whether the word ends or goes on. That is the channel with its output cut: whatever is
proved of it is proved of the channel for all words of up to M symbols and for "longer than that" taken together.

A state is (how many symbols were released, how many of the own word are behind, how many were inserted in this
gap): several of them may follow the same label, because who sees an `a` cannot tell where it comes from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction

from symveil.calibration.edit_channel_loss import ChannelParameters, inserted_above
from symveil.laws.release_chain import ENDS, GOES_ON, WEIGHT_PRECISION, Moves, State, rounded_weight
from symveil.models.word import Codes
from symveil.numbers.conversions import ball, precision


class GapStops:
    """The chance that nothing more is inserted in a gap after t symbols, and that something is: rationals, sum 1.

    The smaller of the two is rounded, to a factor e^±r. Being at most about 1/2, it moves the other by less than
    a factor e^±2r.
    """

    def __init__(self, parameters: ChannelParameters, longest: int) -> None:
        self.chances: list[tuple[Fraction, Fraction]] = []
        self.log_error = Fraction(0)
        for inserted in range(longest + 1):
            if parameters.ratio == 0:
                self.chances.append((Fraction(1), Fraction(0)))
                continue
            with precision(WEIGHT_PRECISION):
                (weight,), total = inserted_above(parameters, inserted, 1)
                _, rest = inserted_above(parameters, inserted + 1, 1)
                stop, go = weight / total, ball(parameters.ratio) * rest / total
                near, error = rounded_weight(go if go < stop else stop)
            self.chances.append((1 - near, near) if go < stop else (near, 1 - near))
            self.log_error = max(self.log_error, 2 * error)


def channel_moves(
    parameters: ChannelParameters, symbols: int, word: Codes, stops: GapStops, output_length: int
) -> tuple[State, Moves]:
    """The first state and the moves of the channel for one word, cut after `output_length` released symbols."""
    own = word.tolist()
    other = parameters.substitution / (symbols - 1) if symbols > 1 else Fraction(0)

    def ways(behind: int, inserted: int) -> Iterator[tuple[int | None, tuple[int, int], Fraction]]:
        """(next symbol, or None for the end; place after it; chance) for every way to get there."""
        reached = Fraction(1)
        while True:
            stop, go = stops.chances[inserted]
            for symbol in range(symbols):
                yield symbol, (behind, inserted + 1), reached * go / symbols
            reached *= stop
            if behind == len(own):
                yield None, (behind, 0), reached
                return
            letter, behind, inserted = own[behind], behind + 1, 0
            for symbol in range(symbols):
                yield symbol, (behind, 0), reached * (parameters.keep if symbol == letter else other)
            reached *= parameters.deletion

    def moves(state: State) -> Iterable[tuple[int, State, Fraction]]:
        released, behind, inserted = (int(str(part)) for part in state)
        together: dict[tuple[int, State], Fraction] = defaultdict(Fraction)
        for symbol, place, chance in ways(behind, inserted):
            if symbol is None:
                together[ENDS, ()] += chance
            elif released == output_length:
                together[GOES_ON, ()] += chance
            else:
                together[symbol, (released + 1, *place)] += chance
        return [(symbol, after, chance) for (symbol, after), chance in together.items() if chance]

    return (0, 0, 0), moves


def channel_log_error(stops: GapStops, word: Codes, output_length: int) -> Fraction:
    """A way to a released word asks at most once for each symbol that is inserted, and once for each gap."""
    return (output_length + 1 + len(word) + 1) * stops.log_error
