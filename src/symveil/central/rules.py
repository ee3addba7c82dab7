"""Rules that words of a law obey, and draws of words that obey them.

The law of a word given the rules is drawn from exactly. Automata become part of the law (`rule_product`). Symbols that
a word may have once only are a matter of rejection: a word that repeats one is thrown away and another one is drawn, so
that those that are kept have the law given that nothing is repeated. Where hardly any is kept, sets of visited symbols
become part of the law too, if there are not too many.

The product of a law with a deterministic machine that reads its words: words that it refuses have no weight.

The states of the product are pairs of a state of the law and the machine's state after it. Each word of the law that
the machine accepts is one path of the product, with the same weight; other words are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from symveil.central.limits import LIMITS
from symveil.central.word_law import Parameters, Support, Trellis, draw_words
from symveil.errors import ModelError, TooLargeError
from symveil.estimation.table import Batch, Floats, Indices
from symveil.languages.graph import Model, WordGraph, word_graph
from symveil.languages.language import runs_of_any_length
from symveil.models.alphabet import Codes, Lengths
from symveil.randomness import BitSource

_NUMBER_BITS = 62
"""Of the number of a pair of states."""


class Machine(Protocol):
    """Reads the states of a law one after the other. Its own states are numbers from 0 up to `width`."""

    @property
    def start(self) -> int:
        """The state before anything was read."""
        ...

    @property
    def width(self) -> int:
        """More than the number of any state."""
        ...

    def follow(self, states: Indices, read: Indices) -> Indices:
        """Where each state leads; -1 where it refuses."""
        ...

    def accepting(self, states: Indices) -> NDArray[np.bool_]:
        """In which states a word may end."""
        ...


@dataclass(frozen=True, eq=False)
class Automaton:
    """A model, determinised: it refuses symbols that it does not know."""

    graph: WordGraph
    code: Indices
    """The model's code of each state of the law; one more than there are for others."""
    step: Indices

    @classmethod
    def of(cls, model: Model, names: Sequence[str]) -> Automaton:
        """The automaton of a model, where the states of the law have these names of symbols."""
        graph = word_graph(model)
        code = {str(symbol): number for number, symbol in enumerate(graph.alphabet.symbols)}
        step = np.full((graph.state_count, len(code) + 1), -1, dtype=np.int64)
        step[graph.source, graph.symbol] = graph.target
        return cls(graph, np.array([code.get(name, len(code)) for name in names], dtype=np.int64), step)

    @property
    def start(self) -> int:
        """The model's start."""
        return self.graph.start

    @property
    def width(self) -> int:
        """How many states the determinised model has."""
        return self.graph.state_count

    def follow(self, states: Indices, read: Indices) -> Indices:
        """Where each state leads; -1 where it refuses."""
        return np.asarray(self.step[states, self.code[read]])

    def accepting(self, states: Indices) -> NDArray[np.bool_]:
        """In which states a word may end."""
        return np.asarray(self.graph.accepting[states])


@dataclass(frozen=True, eq=False)
class Visited:
    """The set of visited symbols, of those that a word has at most once, as the bits of a number."""

    bit: Indices
    """The bit of each state of the law; 0 where its symbol may be visited again."""
    width: int
    start: int = 0

    @classmethod
    def of(cls, symbol: Indices, once: Sequence[int]) -> Visited:
        """The sets of visited symbols, where states of the law have these symbols."""
        if len(once) + len(symbol).bit_length() > _NUMBER_BITS:
            raise TooLargeError(f"rules: expected sets of at most {_NUMBER_BITS} symbols, found {len(once)}")
        bit = np.zeros(max([*once, int(symbol.max(initial=0))]) + 1, dtype=np.int64)
        bit[list(once)] = 1 << np.arange(len(once), dtype=np.int64)
        return cls(bit[symbol], 1 << len(once))

    def follow(self, states: Indices, read: Indices) -> Indices:
        """The set with one more symbol; -1 where it has it already."""
        bits = self.bit[read]
        return np.where(states & bits, -1, states | bits)

    def accepting(self, states: Indices) -> NDArray[np.bool_]:
        """Everywhere."""
        return np.ones(len(states), dtype=np.bool_)


def product(support: Support, parameters: Parameters, machine: Machine) -> tuple[Support, Parameters, Indices]:
    """The law of the words that a machine accepts, and the state of the old law for each state of the new one."""
    pairs, begins, (source, target, move) = _reached(support, machine)
    own, state = np.divmod(pairs, machine.width)
    grown = replace(
        support,
        symbols=len(pairs),
        source=np.searchsorted(pairs, source),
        target=np.searchsorted(pairs, target),
        zone=support.zone[own],
    )
    with np.errstate(divide="ignore"):
        accepted = np.log(machine.accepting(state).astype(np.float64))
        begun = np.log(np.isin(pairs, begins).astype(np.float64))
    # a move keeps its weight, although its state may have fewer moves now
    moves = parameters["moves"].reshape(support.phases, -1)[:, move] + np.log(support.base)[move] - np.log(grown.base)
    ends = parameters["ends"].reshape(support.phases, -1)[:, own] + accepted
    zones = grown.zones  # the last ones may have no state any more
    od = parameters["od"].reshape(support.zones, support.zones)[:zones, :zones]
    learned = {"moves": moves, "starts": parameters["starts"][own] + begun, "ends": ends, "od": od}
    return grown, parameters | {name: values.reshape(-1) for name, values in learned.items()}, own


def no_word() -> ModelError:
    """The error where no word is left."""
    return ModelError("constraint", expected="a word of the public lengths that the constraint allows", found="none")


def _reached(support: Support, machine: Machine) -> tuple[Indices, Indices, Indices]:
    """The pairs of states that beginnings of words reach, as increasing numbers; those of first symbols; the moves.

    A move is a column: from which pair, to which one, and which move of the law it is.
    """
    width, every = machine.width, np.arange(support.symbols)
    first = machine.follow(np.full(support.symbols, machine.start, dtype=np.int64), every)
    begins = pairs = new = every[first >= 0] * width + first[first >= 0]
    order = np.argsort(support.source, kind="stable")
    offsets = np.searchsorted(support.source[order], np.arange(support.symbols + 1))
    moves = [np.empty((3, 0), dtype=np.int64)]
    if not len(pairs):
        raise no_word()
    for _ in range(1, support.longest):
        own, state = np.divmod(new, width)
        fan = offsets[own + 1] - offsets[own]
        begin = np.repeat(np.cumsum(fan) - fan, fan)
        move = order[np.repeat(offsets[own], fan) + np.arange(int(fan.sum())) - begin]
        to = machine.follow(np.repeat(state, fan), support.target[move])
        reached = support.target[move] * width + to
        moves.append(np.stack([np.repeat(new, fan), reached, move])[:, to >= 0])
        new = np.setdiff1d(reached[to >= 0], pairs)
        pairs = np.union1d(pairs, new)
        if len(pairs) * support.zones * support.longest > LIMITS.now.sums:
            raise TooLargeError(
                f"constraint: expected at most {LIMITS.now.sums:,} states x zones x lengths together with the law, "
                f"found {len(pairs):,} states; give a smaller automaton, fewer zones or shorter lengths"
            )
        if not len(new):
            break
    return pairs, begins, np.concatenate(moves, axis=1)


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
            return self._accepted(trellis, count, bits) or self._without_repeats().draw(count, bits)
        states, lengths = draw_words(trellis, count, bits)
        return self.symbol[states].astype(np.int32), lengths

    def attempted(self, trellis: Trellis, count: int, bits: BitSource) -> tuple[Codes, Lengths, NDArray[np.bool_]]:
        """So many words that automata accept, and which of them repeat nothing that they may have once only."""
        states, lengths = draw_words(trellis, count, bits)
        codes = self.symbol[states].astype(np.int32)
        return codes, lengths, self.rules.obeyed(codes, lengths)

    def _accepted(self, trellis: Trellis, count: int, bits: BitSource) -> tuple[Codes, Lengths] | None:
        """Words by rejection; None where hardly any would be kept."""
        accepted_words: list[tuple[Codes, Lengths]] = []
        drawn = accepted = 0
        while accepted < count:
            likely = (accepted + 1) / (drawn + 2)
            now = int(min(LIMITS.now.draws_at_once, max(LIMITS.now.first_draws, 1.1 * (count - accepted) / likely)))
            codes, lengths, obeyed = self.attempted(trellis, now, bits)
            accepted_words.append((codes[np.repeat(obeyed, lengths)], lengths[obeyed]))
            drawn, accepted = drawn + now, accepted + int(obeyed.sum())
            if drawn >= LIMITS.now.draws * (accepted + 1):
                return None
        lengths = np.concatenate([each[1] for each in accepted_words])[:count]
        return np.concatenate([each[0] for each in accepted_words])[: lengths.sum()], lengths

    def _without_repeats(self) -> RuledLaw:
        """The product with sets of visited symbols; refused where there are too many, or no word is left."""
        try:
            visited = Visited.of(self.symbol, self.rules.once)
            support, parameters, own = product(self.support, self.parameters, visited)
        except TooLargeError:
            expected = f"more than one word of {LIMITS.now.draws:,} in which no symbol is twice that may be there once"
            raise ModelError("rules", expected=expected, found="fewer") from None
        rules = Rules(constraints=self.rules.constraints)
        ruled = RuledLaw(support=support, parameters=parameters, symbol=self.symbol[own], rules=rules)
        try:
            ruled.trellis()
        except ModelError:
            expected = "a word of the public lengths in which no symbol is twice that may be there once"
            raise ModelError("rules", expected=expected, found="none") from None
        return ruled
