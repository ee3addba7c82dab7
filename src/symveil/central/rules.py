"""Rules that words of a law obey, and draws of words that obey them.

The law of a word given the rules is drawn from exactly. Automata become part of the law (`rule_product`). Symbols that
a word may have once only are a matter of rejection: a word that repeats one is thrown away and another one is drawn, so
that those that are kept have the law given that nothing is repeated. Where hardly any is kept, sets of visited symbols
become part of the law too, if there are not too many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from symveil.central.rule_product import Automaton, Visited, no_word, product
from symveil.central.support import Support
from symveil.central.word_draw import draw_words
from symveil.central.word_law import Floats, Parameters, Trellis
from symveil.errors import ModelError, TooLargeError
from symveil.estimation.batches import Batch, Indices
from symveil.languages.any_length import runs_of_any_length
from symveil.languages.graph import Model
from symveil.models.word import Codes, Lengths
from symveil.randomness import BitSource

MOST_DRAWS = 1000
"""Where fewer than one of so many words obeys the rules, rejection is given up."""
_FIRST_DRAWS, _MOST_AT_ONCE = 256, 50_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Rules:
    """What words must obey beside the support.

    Parameters
    ----------
    once
        The codes of the symbols that a word has at most once.
    constraints
        Models: a word must be a word of each of them.
    """

    once: tuple[int, ...] = ()
    constraints: tuple[Model, ...] = field(default=(), repr=False)

    def __bool__(self) -> bool:
        return bool(self.once or self.constraints)

    def and_those(self, other: Rules) -> Rules:
        """These rules and others."""
        return Rules(once=tuple(sorted({*self.once, *other.once})), constraints=self.constraints + other.constraints)

    def legal(self, batch: Batch, names: Sequence[str]) -> NDArray[np.bool_]:
        """Which words of a batch obey all rules."""
        legal = self.obeyed(batch.codes, batch.lengths)
        for model in self.constraints:
            language = runs_of_any_length(model)
            code = {str(symbol): number for number, symbol in enumerate(language.alphabet.symbols)}
            known = np.array([code.get(name, -1) for name in names], dtype=np.int32)
            legal &= language.first_refused(known[batch.codes], batch.lengths) == 0
        return legal

    def obeyed(self, codes: Codes, lengths: Lengths) -> NDArray[np.bool_]:
        """Which words, one after the other, repeat no symbol that they may have once only.

        >>> words = np.array([0, 1, 0, 1, 1], dtype=np.int32)
        >>> Rules(once=(1,)).obeyed(words, np.array([3, 2])).tolist()
        [True, False]
        """
        if not self.once:
            return np.ones(len(lengths), dtype=np.bool_)
        symbols = max(*self.once, int(codes.max(initial=0))) + 1
        single = np.zeros(symbols, dtype=np.bool_)
        single[list(self.once)] = True
        at = np.flatnonzero(single[codes])
        pairs = np.sort(np.repeat(np.arange(len(lengths)), lengths)[at] * symbols + codes[at])
        obeyed = np.ones(len(lengths), dtype=np.bool_)
        obeyed[pairs[1:][pairs[1:] == pairs[:-1]] // symbols] = False
        return obeyed


@dataclass(frozen=True, kw_only=True, eq=False)
class RuledLaw:
    """A law whose support knows the automata of its rules: `symbol` has the symbol of each of its states."""

    support: Support
    parameters: Parameters = field(repr=False)
    symbol: Indices = field(repr=False)
    rules: Rules

    @classmethod
    def of(cls, support: Support, parameters: Parameters, rules: Rules, names: Sequence[str]) -> RuledLaw:
        """The product of a law with all automata of its rules."""
        symbol = np.arange(support.symbols)
        for model in rules.constraints:
            automaton = Automaton.of(model, [names[code] for code in symbol.tolist()])
            support, parameters, own = product(support, parameters, automaton)
            symbol = symbol[own]
        return cls(support=support, parameters=parameters, symbol=symbol, rules=rules)

    def trellis(self, *, shares: Floats | None = None) -> Trellis:
        """The sums of the law; refused where no word is left."""
        try:
            return Trellis.of(self.support, self.parameters, shares=shares)
        except ModelError:
            if not self.rules.constraints:
                raise
            raise no_word() from None

    def draw(self, count: int, bits: BitSource) -> tuple[Codes, Lengths]:
        """So many words that obey all rules, one after the other, with their lengths."""
        trellis = self.trellis()
        if self.rules.once:
            return self._kept(trellis, count, bits) or self._without_repeats().draw(count, bits)
        states, lengths = draw_words(trellis, count, bits)
        return self.symbol[states].astype(np.int32), lengths

    def attempted(self, trellis: Trellis, count: int, bits: BitSource) -> tuple[Codes, Lengths, NDArray[np.bool_]]:
        """So many words that automata accept, and which of them repeat nothing that they may have once only."""
        states, lengths = draw_words(trellis, count, bits)
        codes = self.symbol[states].astype(np.int32)
        return codes, lengths, self.rules.obeyed(codes, lengths)

    def _kept(self, trellis: Trellis, count: int, bits: BitSource) -> tuple[Codes, Lengths] | None:
        """Words by rejection; None where hardly any would be kept."""
        kept: list[tuple[Codes, Lengths]] = []
        drawn = found = 0
        while found < count:
            likely = (found + 1) / (drawn + 2)
            now = int(min(_MOST_AT_ONCE, max(_FIRST_DRAWS, 1.1 * (count - found) / likely)))
            codes, lengths, obeyed = self.attempted(trellis, now, bits)
            kept.append((codes[np.repeat(obeyed, lengths)], lengths[obeyed]))
            drawn, found = drawn + now, found + int(obeyed.sum())
            if drawn >= MOST_DRAWS * (found + 1):
                return None
        lengths = np.concatenate([each[1] for each in kept])[:count]
        return np.concatenate([each[0] for each in kept])[: lengths.sum()], lengths

    def _without_repeats(self) -> RuledLaw:
        """The product with sets of visited symbols; refused where there are too many, or no word is left."""
        try:
            visited = Visited.of(self.symbol, self.rules.once)
            support, parameters, own = product(self.support, self.parameters, visited)
        except TooLargeError:
            expected = f"more than one word of {MOST_DRAWS:,} in which no symbol is twice that may be there once"
            raise ModelError("rules", expected=expected, found="fewer") from None
        rules = Rules(constraints=self.rules.constraints)
        ruled = RuledLaw(support=support, parameters=parameters, symbol=self.symbol[own], rules=rules)
        try:
            ruled.trellis()
        except ModelError:
            expected = "a word of the public lengths in which no symbol is twice that may be there once"
            raise ModelError("rules", expected=expected, found="none") from None
        return ruled
