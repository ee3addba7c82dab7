"""The product of a law with a deterministic machine that reads its words: words that it refuses have no weight.

The states of the product are pairs of a state of the law and the machine's state after it. Each word of the law that
the machine accepts is one path of the product, with the same weight; other words are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from symveil.central.support import MOST_SUMS, Support
from symveil.central.word_law import Parameters
from symveil.errors import ModelError, TooLargeError
from symveil.estimation.batches import Indices
from symveil.languages.graph import Model, WordGraph, word_graph

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
    """The law of the words that a machine accepts, and the state of the old law for each state of the new one.

    Parameters
    ----------
    support, parameters
        The law.
    machine
        What reads its words.
    """
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
    """What is said where no word is left."""
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
        if len(pairs) * support.zones * support.longest > MOST_SUMS:
            raise TooLargeError(
                f"constraint: expected at most {MOST_SUMS:,} states x zones x lengths together with the law, found "
                f"{len(pairs):,} states; give a smaller automaton, fewer zones or shorter lengths"
            )
        if not len(new):
            break
    return pairs, begins, np.concatenate(moves, axis=1)
