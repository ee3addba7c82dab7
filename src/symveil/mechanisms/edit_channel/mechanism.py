"""The edit channel: insertions, deletions and substitutions hidden in linear time, for words of any length.

In each of the n+1 gaps of a word insert t uniform symbols with probability g(t) ∝ ρ^t/(1+t)^q; delete
each symbol with probability δ, substitute a uniform other one with probability σ, keep it otherwise
(docs/theory/hidden-lengths.md). The loss of one edit is known exactly (`calibration.edit_channel_loss`); b
edits lose at most b times as much, because b edits are a chain of b words one edit apart.

The law of the number of inserted symbols is what makes it work: g*g/g is bounded. With a geometric
law it is not, and a long insertion would give away how many gaps, that is symbols, there were.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.calibration.edit_channel_loss import (
    ChannelLoss,
    ChannelParameters,
    channel_loss,
    inserted_above,
    mean_inserted,
)
from symveil.calibration.edit_channel_search import best_channel
from symveil.errors import ParameterError
from symveil.languages.edit_neighbours import EditNeighbours
from symveil.languages.language import Language
from symveil.languages.levenshtein_automaton import levenshtein_automaton
from symveil.languages.open import OpenWords
from symveil.languages.run_product import AutomatonSize
from symveil.laws.guarantee import Guarantee
from symveil.laws.law import DistanceLaw, Moves, State
from symveil.laws.parameters import Adjacency
from symveil.mechanisms.chains import GapStops, channel_log_error, channel_moves
from symveil.mechanisms.edit_channel.law import ChannelForward, edits_law
from symveil.mechanisms.law import Law
from symveil.mechanisms.limits import LIMITS
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.alphabet import Alphabet, Codes, Lengths, Metric, Symbol, Word, read_length, split_words
from symveil.numbers.conversions import ball, nearest_float, precision
from symveil.numbers.once import Memo, computed_once
from symveil.numbers.rationals import Number, at_least, spelled
from symveil.randomness import BitSource, Boundaries, uniform_below

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
    def on_language(cls, language: Language, **parameters: Any) -> Self:
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

    def loss_beyond(self, distance: int) -> float:
        """The loss of one edit for each: words one edit apart lead from any word to any other.

        Substitutions and deletions first, insertions last: no word in between is longer than both.

        Parameters
        ----------
        distance
            How many edits apart.
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
        blocks = [self._draw_block(slots[at : at + _BLOCK], bits) for at in range(0, len(slots), _BLOCK)]
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

    def automaton_size(self, word: Word) -> AutomatonSize:
        """States and edges of the Levenshtein automaton of a word for a few edits."""
        automaton = levenshtein_automaton(word, _EDITS_SHOWN, alphabet=self.alphabet)
        return AutomatonSize(automaton.state_count, automaton.edge_count)

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
_BLOCK = 1 << 15
_SHOWN_BEYOND = 3
_EDITS_SHOWN = 2
