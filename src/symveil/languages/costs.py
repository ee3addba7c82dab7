"""Costs: how unlike a released word is, symbol by symbol, and how its weight falls with the sum.

A mechanism on a model is language × cost automaton × public prior (docs/theory/certificates.md): the weight of
w' given w is prior(w')·κ(w, w'), and κ is what a small deterministic automaton gives to the pairs
(w₁, w'₁) … (wₙ, w'ₙ). It reads the cost c_i(w_i, w'_i) of every pair and keeps a *phase*:

    phase φ → (φ + c) mod F,     weight × e^{−rate·⌊(φ + c)/F⌋},     first phase F − t.

With one phase (F = 1) that is e^{−rate·D}, D the sum of the costs: the exponential mechanism, and costs may be any
rationals. With F phases it is the staircase e^{−rate·⌊(D + F − t)/F⌋}: the first step is t wide, all others F, and
costs are integers. Every draw, total weight and certificate runs over states × phases, so that the exponential
mechanism by Hamming distance is the case of one phase and two levels, 0 and 1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.graphs.csr import Csr
from symveil.languages.runs import RunLanguage
from symveil.models.alphabet import Codes
from symveil.numbers.once import computed_once
from symveil.trellis.semirings import Numbers

INFINITE = -1
"""The level of pairs that may never stand for each other."""

Levels = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class SymbolCosts:
    """c(a, ·) of one position: for each symbol a those that are nearer than all the others, in rising order.

    symbol[first[a]] … symbol[first[a+1] − 1] have the levels `level[…]`; all other symbols have the level `Cost.far`.
    """

    first: NDArray[np.int64]
    symbol: NDArray[np.int32]
    level: NDArray[np.int32]

    @property
    def widest(self) -> int:
        """The largest number of symbols near one symbol, itself included."""
        return int(np.diff(self.first).max(initial=0))

    @property
    def only_itself(self) -> bool:
        """Whether a symbol has no other near it."""
        return len(self.symbol) == len(self.first) - 1

    def keys(self) -> NDArray[np.int64]:
        """a·A + σ of every listed pair, rising."""
        size = len(self.first) - 1
        return np.repeat(np.arange(size, dtype=np.int64), np.diff(self.first)) * size + self.symbol


@dataclass(frozen=True, eq=False, kw_only=True)
class Cost:
    """What each pair of symbols costs at each position, and how the weight of a word falls with the sum.

    Construct with `hamming`, `swap_costs.swap` or `given_costs.given`, and `.staircase` for steps.

    >>> import symveil as sv
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> cost = hamming(sv.runs(chain, length=5))
    >>> cost.drop(np.array([0, 1, 0, 0, 0]), np.array([[0, 0, 1, 0, 0], [0, 1, 0, 0, 0]]))
    [Fraction(2, 1), Fraction(0, 1)]
    >>> cost.staircase(period=3, first_step=2).drop(np.array([0, 1, 0, 0, 0]), np.array([[0, 0, 1, 0, 0]]))
    [Fraction(1, 1)]
    """

    name: str
    values: tuple[Fraction, ...]  # what a level costs; rising, the first is 0
    far: int  # the level of all pairs that are not listed, or INFINITE
    metrics: tuple[SymbolCosts, ...] = field(repr=False)
    metric_of: tuple[int, ...] = field(repr=False)  # which of them each position has
    period: int = 1
    first_step: int = 1
    hop_reach: int = 0
    """For which b adjacent words are never more than one unit apart at a position, by how the costs were made."""
    note: str = ""

    def __post_init__(self) -> None:
        rising = all(low < high for low, high in zip(self.values, self.values[1:], strict=False))
        if not self.values or self.values[0] != 0 or not rising:
            raise ParameterError("values", expected="rising costs, the first 0", found=self.values)
        if self.period < 1 or not 1 <= self.first_step <= self.period:
            raise ParameterError(
                "first_step", expected=f"a whole number from 1 to {max(self.period, 1)}", found=self.first_step
            )
        if self.period > 1 and any(value.denominator != 1 for value in self.values):
            raise ParameterError("costs", expected="whole numbers, which a staircase needs", found="fractions")

    def staircase(self, *, period: int, first_step: int) -> Cost:
        """The same costs, with a weight that falls in steps: `first_step` wide, then `period` each.

        `period` is the width of a step: the most by which adjacent words' costs can differ. t, from 1 to `period`, is
        how many of the smallest sums share the largest weight.
        """
        return replace(self, period=period, first_step=first_step)

    @property
    def is_hamming(self) -> bool:
        """Whether every wrong symbol costs 1, whatever it is."""
        units = (Fraction(0), Fraction(1))
        return self.values == units and self.far == 1 and all(metric.only_itself for metric in self.metrics)

    @property
    def largest(self) -> Fraction | None:
        """The most that a symbol can cost; None where some never stand for others."""
        return None if self.far == INFINITE else self.values[self.far]

    @property
    def phases(self) -> int:
        """F: how many phases the automaton has."""
        return self.period

    @property
    def start_phase(self) -> int:
        """The phase before the first symbol, in which a word stays as long as it costs nothing."""
        return self.period - self.first_step

    def step(self, level: int, phase: int) -> tuple[int, Fraction]:
        """The phase after a pair of this level, and by how many rates the logarithm of the weight falls."""
        if self.period == 1:
            return 0, self.values[level]
        steps, after = divmod(phase + int(self.values[level]), self.period)
        return after, Fraction(steps)

    @computed_once
    def next_phase(self) -> NDArray[np.int64]:
        """`next_phase[level, phase]`."""
        rows = [[self.step(level, phase)[0] for phase in range(self.phases)] for level in range(len(self.values))]
        return np.array(rows, dtype=np.int64)

    @computed_once
    def drops(self) -> tuple[tuple[Fraction, ...], ...]:
        """`drops[level][phase]`: by how many rates the logarithm of the weight falls."""
        return tuple(
            tuple(self.step(level, phase)[1] for phase in range(self.phases)) for level in range(len(self.values))
        )

    # --- looking pairs up ------------------------------------------------------------------------

    def metric(self, position: int) -> SymbolCosts:
        """The costs at a position, counted from 0."""
        return self.metrics[self.metric_of[position]]

    def levels(self, position: int, own: NDArray[np.integer], symbols: NDArray[np.integer]) -> Levels:
        """The level of each pair (own, symbol) at a position; the two arrays are broadcast against each other."""
        metric = self.metric(position)
        if metric.only_itself:
            return np.where(own == symbols, 0, self.far)
        size = len(metric.first) - 1
        wanted = own.astype(np.int64) * size + symbols
        keys = self._keys[self.metric_of[position]]
        index = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[index] == wanted, metric.level[index], self.far)

    @computed_once
    def _keys(self) -> tuple[NDArray[np.int64], ...]:
        return tuple(metric.keys() for metric in self.metrics)

    def table(self, metric: int) -> NDArray[np.int32]:
        """level[a, σ] of one of the metrics, written out: A² entries."""
        costs = self.metrics[metric]
        size = len(costs.first) - 1
        levels = np.full((size, size), self.far, dtype=np.int32)
        levels[np.repeat(np.arange(size), np.diff(costs.first)), costs.symbol] = costs.level
        return levels

    def distances(self, word: Codes, words: Codes, *, begin: int = 0) -> list[Fraction | None]:
        """D(word, row) of every row, from position `begin` on; None where it is infinite."""
        unit = lcm(*(value.denominator for value in self.values))
        scaled = np.array([int(value * unit) for value in self.values], dtype=object)
        sums = np.zeros(len(words), dtype=object)
        never = np.zeros(len(words), dtype=np.bool_)
        for position in range(begin, len(word)):
            levels = self.levels(position, word[position], words[:, position])
            never |= levels == INFINITE
            sums += scaled[levels]
        return [None if infinite else Fraction(int(total), unit) for total, infinite in zip(sums, never, strict=True)]

    def drop(self, word: Codes, words: Codes, *, begin: int = 0) -> list[Fraction | None]:
        """By how many rates ln κ(word, row) lies below 0; None where the weight is 0."""
        result = self.distances(word, words, begin=begin)
        if self.period == 1:
            return result
        return [None if far is None else Fraction((int(far) + self.start_phase) // self.period) for far in result]

    @computed_once
    def digest(self) -> str:
        """A name for the costs: equal costs have equal names."""
        text = hashlib.sha256()
        text.update(repr((self.values, self.far, self.metric_of, self.period, self.first_step)).encode())
        for metric in self.metrics:
            for array in (metric.first, metric.symbol, metric.level):
                text.update(np.ascontiguousarray(array, dtype=np.int64).tobytes())
        return text.hexdigest()

    def document(self) -> dict[str, object]:
        """The JSON form: what it is called, its largest cost, and its steps."""
        return {
            "name": self.name,
            "largest": None if self.largest is None else float(self.largest),
            "period": self.period,
            "first_step": self.first_step,
            "note": self.note,
        }


def hamming(language: RunLanguage) -> Cost:
    """Every wrong symbol costs 1, whatever it is.

    >>> import symveil as sv
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> hamming(sv.runs(chain, length=5)).values
    (Fraction(0, 1), Fraction(1, 1))
    """
    size = len(language.alphabet)
    own = SymbolCosts(np.arange(size + 1, dtype=np.int64), np.arange(size, dtype=np.int32), np.zeros(size, np.int32))
    return Cost(
        name="hamming",
        values=(Fraction(0), Fraction(1)),
        far=1,
        metrics=(own,),
        metric_of=(0,) * language.length,
    )


def listed(
    first: Sequence[int] | NDArray[np.integer], symbol: NDArray[np.integer], level: NDArray[np.integer]
) -> SymbolCosts:
    """`SymbolCosts` of rows that need not be sorted."""
    offsets = np.asarray(first, dtype=np.int64)
    row = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((symbol, row))
    return SymbolCosts(offsets, symbol[order].astype(np.int32), level[order].astype(np.int32))


@dataclass(frozen=True, slots=True, eq=False)
class CostSteps:
    """Numbers for each phase of a cost automaton: values have an axis for phases behind that for states or edges.

    A step is worth the level of what it reads, for each edge, and the weight of the edge or None.
    """

    costs: Cost
    numbers: Numbers
    weights: NDArray[Any]
    """κ of each level in each phase."""

    @property
    def zero(self) -> Any:
        """What is impossible."""
        return self.numbers.zero

    @property
    def add(self) -> np.ufunc:
        """The addition of its numbers."""
        return self.numbers.add

    def sums(self, edges: Csr, values: NDArray[Any]) -> NDArray[Any]:
        """For each state the sum over its edges."""
        return self.numbers.sums(edges, values)

    def times(self, worth: tuple[Levels, Any], values: NDArray[Any]) -> NDArray[Any]:
        """In each phase what is worth to come from the phase after it."""
        levels, edge_weights = worth
        result = np.empty_like(values)
        for phase in range(self.costs.phases):
            reached = values[np.arange(len(levels)), self.costs.next_phase[levels, phase]]
            result[:, phase] = self.numbers.times(self.weights[levels, phase], reached)
        return self._possible(levels, edge_weights, result)

    def onwards(self, worth: tuple[Levels, Any], values: NDArray[Any]) -> NDArray[Any]:
        """In each phase what came from all phases that lead to it."""
        levels, edge_weights = worth
        result, edge = np.full_like(values, self.zero), np.arange(len(levels))
        for phase in range(self.costs.phases):
            after = self.costs.next_phase[levels, phase]
            moved = self.numbers.times(self.weights[levels, phase], values[:, phase])
            result[edge, after] = self.numbers.add(result[edge, after], moved)
        return self._possible(levels, edge_weights, result)

    def _possible(self, levels: Levels, edge_weights: Any, result: NDArray[Any]) -> NDArray[Any]:
        result[levels == INFINITE] = self.zero
        return result if edge_weights is None else self.numbers.times(edge_weights, result)

    def meet(self, before: NDArray[Any], after: NDArray[Any]) -> NDArray[Any]:
        """The products, phase by phase."""
        return self.numbers.meet(before, after)

    def ends(self, chosen: NDArray[np.bool_]) -> NDArray[Any]:
        """1 in every phase."""
        return np.repeat(self.numbers.ends(chosen)[:, None], self.costs.phases, axis=1)
