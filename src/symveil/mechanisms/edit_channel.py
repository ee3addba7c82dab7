"""The edit channel: insertions, deletions and substitutions hidden in linear time, for words of any length.

In each of the n+1 gaps of a word insert t uniform symbols with probability g(t) ∝ ρ^t/(1+t)^q; delete
each symbol with probability δ, substitute a uniform other one with probability σ, keep it otherwise
(docs/theory/hidden-lengths.md). The loss of one edit is known exactly (`calibration.edit_channel`); b
edits lose at most b times as much, because b edits are a chain of b words one edit apart.
P(released | word) is a forward pass, with all probabilities relative to a uniform word of the same length, m^{−L}: then
a gap of t symbols weighs g(t), a kept symbol mκ, a substituted one mσ/(m−1), a deleted one δ.

The law of the number of inserted symbols is what makes it work: g*g/g is bounded. With a geometric
law it is not, and a long insertion would give away how many gaps, that is symbols, there were.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from flint import arb, arb_poly
from numpy.typing import NDArray

from symveil.calibration.edit_channel import (
    ChannelLoss,
    ChannelParameters,
    best_channel,
    channel_loss,
    inserted_above,
    mean_inserted,
    none_inserted,
)
from symveil.errors import ParameterError
from symveil.languages.edit_neighbours import EditNeighbours
from symveil.languages.language import Language
from symveil.languages.open import OpenWords
from symveil.laws.guarantee import Guarantee
from symveil.laws.law import DistanceLaw, Moves, State
from symveil.laws.parameters import Adjacency
from symveil.mechanisms.chains import GapStops, channel_log_error, channel_moves
from symveil.mechanisms.law import Law
from symveil.mechanisms.limits import LIMITS
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.alphabet import Alphabet, Codes, Lengths, Metric, Symbol, read_length, split_words
from symveil.numbers.conversions import STANDARD_PRECISION, ball, nearest_float, precision
from symveil.numbers.once import Memo, computed_once
from symveil.numbers.rationals import Number, at_least, spelled
from symveil.randomness import BitSource, Boundaries, uniform_below
from symveil.trellis.semirings import FLOATS, LOGARITHMS, Numbers

# No product that a float pass meets may come near the ends of the range of doubles, 10^±308.
_SAFE_LOGARITHM = 600.0
_NEGLIGIBLE = 1e-12

Floats = NDArray[np.float64]


class ChannelForward:
    """P(w'|w) for one channel: in floats where nothing can leave their range, by logarithms otherwise."""

    def __init__(self, parameters: ChannelParameters, symbols: int) -> None:
        self.parameters = parameters
        self.symbols = symbols

    def log_probabilities(self, word: Codes, released: Codes) -> Floats:
        """ln P(row | word) for rows of one length."""
        if self.parameters.tells_nothing:
            return np.full(len(released), 0.0 if released.shape[1] == 0 else -np.inf)
        if self._floats_suffice(len(word), released.shape[1]):
            with np.errstate(divide="ignore"):
                logs = np.log(self._passed(word, released, FLOATS))
        else:  # logarithms have no range to leave
            logs = self._passed(word, released, LOGARITHMS)
        return np.asarray(logs - released.shape[1] * math.log(self.symbols))

    def _floats_suffice(self, length: int, released: int) -> bool:
        """Whether even the unlikeliest way for a word to arise is far inside the range of doubles."""
        own, other, delta, log_g0, log_rho = self._logarithms
        smallest = length * min(own, other, delta) + (length + 1) * log_g0
        smallest += released * (log_rho - float(self.parameters.power) * math.log(2))  # (1+t)^q ≤ 2^{qt}
        return smallest > -_SAFE_LOGARITHM and length * max(own, 0.0) < _SAFE_LOGARITHM

    @computed_once
    def _logarithms(self) -> tuple[float, float, float, float, float]:
        with precision(STANDARD_PRECISION):
            own, other, delta = self._weights()
            values = (own, other if not other.is_zero() else own, delta, none_inserted(self.parameters))
            logs = [nearest_float(value.log()) if not value.is_zero() else 0.0 for value in values]
            return logs[0], logs[1], logs[2], logs[3], nearest_float(ball(self.parameters.ratio).log())

    def _weights(self) -> tuple[arb, arb, arb]:
        """What a kept, a substituted and a deleted symbol weigh."""
        parameters, m = self.parameters, self.symbols
        other = m * ball(parameters.substitution) / (m - 1) if m > 1 else arb(0)
        return m * ball(parameters.keep), other, ball(parameters.deletion)

    def _gap_balls(self, most: int) -> list[arb]:
        """g(0) … g(most)."""
        weights, total = inserted_above(self.parameters, 0, most + 1)
        return [weight / total for weight in weights]

    def _passed(self, word: Codes, released: Codes, numbers: Numbers) -> Floats:
        """What all ways from the word to each row weigh, in numbers of one kind."""
        count, length = released.shape
        number, multiply = _log if numbers is LOGARITHMS else nearest_float, numbers.multiply
        with precision(STANDARD_PRECISION):
            gap = np.array([number(weight) for weight in self._gap_balls(length)])
            own, other, delta = (number(weight) for weight in self._weights())
        shift = np.subtract.outer(np.arange(length + 1), np.arange(length + 1))
        insert = np.where(shift <= 0, gap[np.abs(shift)], numbers.zero)  # insert[i, j] = g(j − i)
        product = _product_of_logarithms if numbers is LOGARITHMS else np.matmul
        ways = np.broadcast_to(gap, (count, length + 1))
        for symbol in word.tolist():
            after = multiply(delta, ways)
            step = multiply(ways[:, :-1], np.where(released == symbol, own, other))
            after[:, 1:] = numbers.add(after[:, 1:], step)
            ways = product(after, insert)
        return ways[:, -1]


def _product_of_logarithms(rows: Floats, matrix: Floats) -> Floats:
    """ln of the product of matrices whose logarithms these are: row by row, so that little memory is needed."""
    results = np.empty((len(rows), matrix.shape[1]))
    for number, row in enumerate(rows):
        terms = row[:, None] + matrix
        top = terms.max(axis=0)
        results[number] = top + np.log(np.exp(terms - top).sum(axis=0))
    return results


def _log(weight: arb) -> float:
    return -math.inf if weight.is_zero() else nearest_float(weight.log())


def _padded(poly: arb_poly, size: int) -> list[arb]:
    """The first `size` coefficients, zeros included."""
    coefficients = list(poly.coeffs()[:size])
    return coefficients + [arb(0)] * (size - len(coefficients))


@dataclass(frozen=True, slots=True)
class EditCounts:
    """P(exactly e edits) for e = 0, 1, …; the last chance is that of so many or more, where there can be more."""

    chances: list[arb]
    or_more: bool

    def with_words(self, words: list[int], mean: float, length: int) -> DistanceLaw:
        """The law, with the number of words at each distance as far as they are known."""
        values = [nearest_float(chance) for chance in self.chances]
        with precision(STANDARD_PRECISION):
            logs = [nearest_float(chance.log()) if chance > 0 else -np.inf for chance in self.chances]
        known: list[int | None] = [*words, *([None] * len(self.chances))]
        return DistanceLaw(
            distances=np.arange(len(values)),
            all_counts=lambda: known[: len(values)],
            probabilities=np.array([max(value, 0.0) for value in values]),
            log_probabilities=np.array(logs),
            expected_error=mean,
            length=length,
            measured="edits",
            or_more=self.or_more,
            metric="levenshtein",
        )


def edits_law(parameters: ChannelParameters, length: int) -> EditCounts:
    """How many edits are made in a word: a binomial number of deletions and substitutions, and n+1 gaps.

    Its generating function is (1−p+px)ⁿ·g(x)^{n+1}, p = δ+σ, multiplied out by repeated squaring.
    """
    if parameters.tells_nothing:
        return EditCounts([arb(0)] * length + [arb(1)], or_more=False)
    with precision(4 * STANDARD_PRECISION):
        weights, total = inserted_above(parameters, 0, LIMITS.now.channel_edits)
        edited = ball(parameters.deletion + parameters.substitution)
        gaps = arb_poly([weight / total for weight in weights])
        law = _power(arb_poly([1 - edited, edited]), length)
        law = _short(law * _power(gaps, length + 1))
        chances, left = [], arb(1)
        for chance in _padded(law, LIMITS.now.channel_edits):
            chances.append(chance)
            left -= chance
            if left < _NEGLIGIBLE:
                break
        return EditCounts([*chances, left], or_more=True)


def _short(poly: arb_poly) -> arb_poly:
    return arb_poly(poly.coeffs()[: LIMITS.now.channel_edits])


def _power(base: arb_poly, exponent: int) -> arb_poly:
    result, square = arb_poly([1]), base
    while exponent:
        if exponent & 1:
            result = _short(result * square)
        square = _short(square * square)
        exponent >>= 1
    return result


NOMINAL_LENGTH = 100
"""The public length for which parameters are chosen where no other is named."""


class EditChannel(Mechanism):
    """The edit channel with the fewest expected edits at this ε, or with `parameters` of your own.

    `max_length`, if given, is a public bound on the words that are taken (released words may be
    longer). `nominal_length` is the public length for which the parameters are chosen.

    Parameters
    ----------
    alphabet
        The symbols, public.
    epsilon
        Privacy budget: a number, a decimal or a fraction as text, above 0.
    adjacency
        Words so many edits apart are to look alike; 1 where none is given.
    max_length
        A public bound on the words that are taken; released words may be longer.
    nominal_length
        The public length for which the parameters are chosen.
    parameters
        The channel's own probabilities instead of the best ones.

    >>> import symveil as sv
    >>> channel = sv.EditChannel(alphabet="abc", epsilon=5)
    >>> channel.guarantee.how, channel.guarantee.epsilon <= 5
    ('exact', True)
    >>> private = channel.release("abcabcabc")
    >>> round(channel.expected_edits(100), 2)
    4.08
    """

    name = "edit"
    label: ClassVar[str] = "edit channel (hides the length)"
    metric: ClassVar[Metric] = "levenshtein"

    def __init__(
        self,
        alphabet: Alphabet | Iterable[Symbol],
        *,
        epsilon: Number,
        adjacency: Adjacency | None = None,
        max_length: int | None = None,
        nominal_length: int | None = None,
        parameters: ChannelParameters | None = None,
    ) -> None:
        symbols = Alphabet.from_symbols(alphabet)
        language = OpenWords(symbols, max_length)
        super().__init__(language, epsilon=epsilon, adjacency=adjacency)
        nominal = language.max_length if nominal_length is None else nominal_length
        self.nominal_length: Final = NOMINAL_LENGTH if nominal is None else read_length(nominal, name="nominal_length")
        self._own_parameters: Final = parameters
        if parameters is not None:
            loss = channel_loss(parameters, len(symbols)).worst * max(self.reach, 1)
            if loss > self.epsilon:
                raise ParameterError(
                    "parameters", expected=f"a loss of at most {spelled(self.epsilon)}", found=f"{float(loss):.6g}"
                )

    @classmethod
    def _on_language(cls, language: Language, **parameters: Any) -> Self:
        """The channel for the words of a language, which must be all words over its alphabet."""
        if language.graph is not None:
            raise cls.refusal_of_models()
        return cls(language.alphabet, max_length=language.max_length, **parameters)

    @classmethod
    def refusal_of_models(cls) -> ParameterError:
        """The error where a model is given to the edit channel."""
        return ParameterError(
            "mechanism",
            expected="truncated-levenshtein on a model: the edit channel releases words that the model cannot produce",
            found=cls.name,
        )

    # --- parameters and guarantee --------------------------------------------------------------

    def _calibrated(self, claimed: Law | None) -> Law:
        """Exact for one edit; b times that is a bound for b edits."""
        symbols = len(self.alphabet)
        channel = self._own_parameters if claimed is None else claimed.channel
        if channel is None:
            per_edit = self.epsilon / max(self.reach, 1)
            chosen = best_channel(epsilon=per_edit, symbols=symbols, nominal_length=self.nominal_length)
            channel, loss = chosen.parameters, chosen.loss
        else:
            loss = channel_loss(channel, symbols)
        if channel.tells_nothing:
            return self._law_with(Guarantee.of_loss(Fraction(0), "exact"), channel=channel)
        bound = self.language.max_length
        exact = self.reach == 1 and loss.attained and (bound is None or bound >= 1)
        proved = Guarantee.of_loss(loss.worst * self.reach, "exact" if exact else "certified")
        return self._law_with(proved, channel=channel)

    @property
    def parameters(self) -> ChannelParameters:
        """ρ, q, δ and σ."""
        assert self.law.channel is not None  # noqa: S101 - every such law has one
        return self.law.channel

    @computed_once
    def loss(self) -> ChannelLoss:
        """The loss of one edit, by kind of edit."""
        return channel_loss(self.parameters, len(self.alphabet))

    @property
    def tells_nothing(self) -> bool:
        """Whether the release carries no information: at this ε no channel does better than to delete everything."""
        return self.law.tells_nothing

    def _loss_beyond(self, distance: int) -> float:
        """The loss of one edit for each: words one edit apart lead from any word to any other.

        Substitutions and deletions first, insertions last: no word in between is longer than both.
        """
        return 0.0 if self.law.tells_nothing else at_least(self.loss.worst * distance)

    @property
    def largest_output(self) -> int | None:
        """No bound: any word can come out of any word."""
        return 0 if self.law.tells_nothing else None

    def expected_edits(self, length: int) -> float:
        """The expected number of edits made in a word of this length: n(δ+σ) + (n+1)E[t].

        The expected Levenshtein distance is at most that: edits may undo each other.
        """
        size = read_length(length)
        with precision(512):  # E[t] is a small difference of large terms where insertions are rare
            edited = ball(self.parameters.deletion + self.parameters.substitution)
            return nearest_float(size * edited + (size + 1) * mean_inserted(self.parameters))

    def parameters_document(self) -> dict[str, object]:
        """The four numbers of the channel, and what they were chosen for."""
        chosen = self.parameters
        numbers = {name: spelled(getattr(chosen, name)) for name in ("ratio", "power", "deletion", "substitution")}
        return {
            **numbers,
            "keep": spelled(chosen.keep),
            "nominal_length": self.nominal_length,
            "tells_nothing": chosen.tells_nothing,
        }

    # --- drawing -------------------------------------------------------------------------------

    def _draw(self, codes: Codes, lengths: Lengths, bits: BitSource) -> tuple[Codes, Lengths]:
        if self.law.tells_nothing:
            return np.empty(0, dtype=np.int32), np.zeros(len(lengths), dtype=np.int64)
        if not bits.per_record:
            return self._draw_together(codes, lengths, bits)
        # what a record becomes depends on that record only
        drawn = [
            self._draw_together(word, np.array([len(word)]), bits.of_row(row))[0]
            for row, word in enumerate(split_words(codes, lengths))
        ]
        return np.concatenate(drawn), np.array([len(word) for word in drawn])

    def _draw_together(self, codes: Codes, lengths: Lengths, bits: BitSource) -> tuple[Codes, Lengths]:
        # Every symbol with the gap before it is a slot; the last gap of a word is a slot without a symbol.
        slots = np.full(len(codes) + len(lengths), _NO_SYMBOL, dtype=np.int32)
        has_symbol = np.ones(len(slots), dtype=np.bool_)
        has_symbol[np.cumsum(lengths + 1) - 1] = False
        slots[has_symbol] = codes
        # Slots are independent of each other; a block at a time, they stay in the processor's cache.
        blocks = [
            self._draw_block(slots[at : at + LIMITS.now.channel_slots], bits)
            for at in range(0, len(slots), LIMITS.now.channel_slots)
        ]
        sizes = np.concatenate([size for _, size in blocks])
        begins = np.concatenate([[0], np.cumsum(lengths + 1)[:-1]])
        return np.concatenate([block for block, _ in blocks]), np.add.reduceat(sizes, begins)

    def _draw_block(self, slots: Codes, bits: BitSource) -> tuple[Codes, NDArray[np.int64]]:
        """What comes out of some slots, and how many symbols out of each."""
        gaps = self._draw_gaps(len(slots), bits)
        fate = self._fate.pick(bits.lanes(len(slots)), bits)  # type: ignore[arg-type]  # 32 bits each
        stays = (fate != _DELETED) & (slots != _NO_SYMBOL)
        sizes = gaps + stays
        last = np.cumsum(sizes)  # where a slot's output ends: its symbol comes last, after what is inserted
        released = np.empty(int(last[-1]), dtype=np.int32)
        inserted = np.ones(len(released), dtype=np.bool_)
        inserted[last[stays] - 1] = False
        released[~inserted] = self._substituted(slots, fate, bits)[stays]
        count = len(released) - int(np.count_nonzero(stays))
        released[inserted] = uniform_below(len(self.alphabet), bits.lanes(count), bits)
        return released, sizes

    def _substituted(self, slots: Codes, fate: NDArray[np.int64], bits: BitSource) -> Codes:
        positions = np.flatnonzero((fate == _SUBSTITUTED) & (slots != _NO_SYMBOL))
        symbols = slots.copy()
        if len(positions):
            others = uniform_below(len(self.alphabet) - 1, bits.lanes(len(positions)), bits)
            symbols[positions] = others + (others >= slots[positions])  # skips the symbol itself
        return symbols

    def _draw_gaps(self, count: int, bits: BitSource) -> NDArray[np.int64]:
        """How many symbols are inserted in each gap, exactly by g."""
        result = self._gap_choice(0).pick(bits.lanes(count), bits)  # type: ignore[arg-type]  # 32 bits each
        start, open_ended = 0, np.flatnonzero(result == LIMITS.now.gaps_at_once)
        while len(open_ended):  # this many or more: draw on, given that
            start += LIMITS.now.gaps_at_once
            more = self._gap_choice(start).pick(bits.lanes(len(open_ended)), bits)  # type: ignore[arg-type]
            result[open_ended] = start + more
            open_ended = open_ended[more == LIMITS.now.gaps_at_once]
        return result

    def _gap_choice(self, start: int) -> Boundaries:
        """Piece i: exactly start + i symbols, given at least `start`; the last piece: more than those."""
        return self._gap_choices[start]

    @computed_once
    def _gap_choices(self) -> Memo[int, Boundaries]:
        return Memo(lambda start: Boundaries(lambda: self._gap_cuts(start), width=32))

    def _gap_cuts(self, start: int) -> list[arb]:
        weights, total = inserted_above(self.parameters, start, LIMITS.now.gaps_at_once)
        sums = [weights[0]]
        for weight in weights[1:]:
            sums.append(sums[-1] + weight)
        return [partial / total for partial in sums]

    @property
    def released_language(self) -> OpenWords:
        """All words over the alphabet: insertions may make a word longer than any that may be handed in."""
        return OpenWords(self.alphabet)

    @computed_once
    def _fate(self) -> Boundaries:
        keep, substitution = self.parameters.keep, self.parameters.substitution
        return Boundaries(lambda: [ball(keep), ball(keep + substitution)], width=32)

    # --- the law -------------------------------------------------------------------------------

    @computed_once
    def _forward(self) -> ChannelForward:
        return ChannelForward(self.parameters, len(self.alphabet))

    def _log_probabilities(self, word: Codes, released: Codes) -> NDArray[np.float64]:
        """ln P(row | word) by a forward pass over all ways in which the row can arise."""
        return self._forward.log_probabilities(word, released)

    def _law(self, codes: Codes | None) -> DistanceLaw:
        """The law of the number of edits made; the Levenshtein distance is at most that."""
        assert codes is not None  # noqa: S101 - `distances` asks for a word where they do not look alike
        length = len(codes)
        return edits_law(self.parameters, length).with_words(
            self._words_near(codes), self.expected_edits(length), length
        )

    def _words_near(self, codes: Codes) -> list[int]:
        """How many words lie at distance 0, 1, … as far as they are quickly counted."""
        within = 3 if len(codes) <= 300 else 1
        near = EditNeighbours(
            codes.tolist(), symbols=len(self.alphabet), within=within, max_length=self.language.max_length
        )
        return near.counts() if len(codes) <= LIMITS.now.edit_length else []

    # --- for verifiers -------------------------------------------------------------------------

    def _shown(self, words: Sequence[Codes], output_length: int | None) -> int:
        """Without a number three symbols more than the longest of the words has."""
        longest = max(map(len, words)) + _SHOWN_BEYOND
        return longest if output_length is None else read_length(output_length, name="output_length")

    def _moves(self, codes: Codes, shown: int) -> tuple[State, Moves, Fraction]:
        stops = self._stops[shown]
        moves = channel_moves(self.parameters, len(self.alphabet), codes, stops, shown)
        return *moves, channel_log_error(stops, codes, shown)

    @computed_once
    def _stops(self) -> Memo[int, GapStops]:
        return Memo(lambda shown: GapStops(self.parameters, shown))


_SUBSTITUTED, _DELETED = 1, 2
_NO_SYMBOL = -1
_SHOWN_BEYOND = 3
