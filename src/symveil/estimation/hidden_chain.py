"""Baum–Welch on the words of a model: what is hidden is assumed to be drawn from a first-order chain on its graph.

Where each released symbol depends on the true symbol and on what was released before, and on nothing else, its chance
is an emission of a hidden Markov model: then the likelihood of a chain is exact, and expectation and maximisation take
turns until it no longer grows. Right only if the true words are drawn from such a chain, which the private file does
not prove: results that use it must state the assumption.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from symveil.languages.graph import WordGraph
from symveil.numbers.once import computed_once

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_NUMBERS_AT_ONCE = 4_000_000
"""How many numbers an array over edges and words may have."""
_FEWEST_ROUNDS, MOST_ROUNDS = 12, 400
_MOST_PRODUCTS = 5_000_000_000
"""How many products of an edge and a symbol all rounds from one start may take: some minutes. Large files have fewer
rounds, which a note reports."""
CLOSE_ENOUGH = 1e-7
"""The share of all expected steps by which a round may still move them: then it has converged."""


@dataclass(frozen=True, eq=False)
class ReleasedOfLength:
    """The different released words of one length: for each symbol the row of its emissions, and how often by group."""

    emission: Indices
    """A row for each word, a column for each position: a row of the table of emissions."""
    counts: Floats
    """How often each word occurs in each group."""

    def words(self) -> int:
        """How many words there are, repetitions included."""
        return int(self.counts.sum())


@dataclass(frozen=True, eq=False)
class Fitted:
    """A chain that explains what was released as well as any nearby, and how it was found."""

    chances: Floats
    """For each edge of the graph its chance, given the state that it leaves."""
    steps: Floats
    """For each edge how often it is expected to have been taken."""
    log_likelihood: float
    rounds: int
    converged: bool


@dataclass(frozen=True, eq=False)
class HiddenChain:
    """Released words, and for each of their symbols the chance of it given each true symbol.

    Parameters
    ----------
    graph
        The model: true words are its paths from the start to an accepting state.
    emissions
        A row for each way in which a symbol can have been released, a column for each true symbol.
    released
        The words, by length.
    """

    graph: WordGraph
    emissions: Floats
    released: Sequence[ReleasedOfLength]

    @computed_once
    def _into(self) -> sparse.csr_array:
        """From edges to their targets."""
        edges = np.arange(self.graph.edge_count)
        shape = (self.graph.state_count, self.graph.edge_count)
        return sparse.csr_array((np.ones(len(edges)), (self.graph.target, edges)), shape=shape)

    @computed_once
    def _out_of(self) -> sparse.csr_array:
        """From edges to their sources."""
        edges = np.arange(self.graph.edge_count)
        shape = (self.graph.state_count, self.graph.edge_count)
        return sparse.csr_array((np.ones(len(edges)), (self.source, edges)), shape=shape)

    @computed_once
    def source(self) -> Indices:
        """The state that each edge leaves."""
        return np.asarray(self.graph.source)

    @property
    def work(self) -> int:
        """How many products of an edge and a symbol one round takes."""
        return sum(each.emission.size for each in self.released) * self.graph.edge_count

    # --- one round -----------------------------------------------------------------------------

    def parts(self, columns: int) -> Iterator[tuple[ReleasedOfLength, slice]]:
        """The words in parts small enough for arrays with so many numbers for each of them."""
        many = max(1, _NUMBERS_AT_ONCE // max(columns, 1))
        for own in self.released:
            for begin in range(0, len(own.emission), many):
                yield own, slice(begin, begin + many)

    def seen(self, emission: Indices, position: int) -> Floats:
        """For each edge and word the chance of the symbol released at a position, if the true word takes the edge."""
        return np.asarray(self.emissions[emission[:, position]].T[self.graph.symbol])

    def forward(self, chances: Floats, emission: Indices, allowed: Floats | None = None) -> tuple[list[Floats], Floats]:
        """For each position the law of the state before it given what was released so far; and ln of the likelihood.

        Parameters
        ----------
        chances
            The chain, by edges.
        emission
            The words, as rows of emissions.
        allowed
            What each edge is multiplied with at every position, for the chance of words that avoid some.
        """
        words, length = emission.shape
        before = np.zeros((self.graph.state_count, words))
        before[self.graph.start] = 1.0
        laws, total = [before], np.zeros(words)
        weights = chances if allowed is None else chances * allowed
        for position in range(length):
            taken = laws[-1][self.source] * weights[:, None] * self.seen(emission, position)
            after = self.arriving(taken)
            if position == length - 1:
                after = after * self.graph.accepting[:, None]
            size = after.sum(axis=0)
            with np.errstate(divide="ignore"):
                total += np.log(size)
            laws.append(after / np.where(size > 0, size, 1.0))
        return laws, total

    def arriving(self, taken: Floats) -> Floats:
        """For each state and word the sum over the edges that lead there."""
        return np.asarray(self._into @ taken)

    def backward(self, chances: Floats, emission: Indices) -> list[Floats]:
        """For each position what is to come, given the state before it, up to a factor for each word."""
        words, length = emission.shape
        laws = [np.repeat(self.graph.accepting[:, None].astype(np.float64), words, axis=1)]
        for position in reversed(range(length)):
            laws.append(self._leaving(self._onwards(chances, emission, position, laws[-1])))
        return laws[::-1]

    def _onwards(self, chances: Floats, emission: Indices, position: int, after: Floats) -> Floats:
        """For each edge and word what is to come along it."""
        result = self.seen(emission, position)
        result *= chances[:, None]
        result *= after[self.graph.target]
        return result

    def _leaving(self, onwards: Floats) -> Floats:
        """For each state and word the sum over its edges, up to a factor for each word."""
        before = self._out_of @ onwards
        return np.asarray(before / before.max(axis=0))

    def expected_steps(self, chances: Floats, weights: Sequence[Floats]) -> tuple[Floats, float]:
        """How often each edge is expected to have been taken, given what was released; and ln of the likelihood.

        Parameters
        ----------
        chances
            The chain, by edges.
        weights
            How often each different word counts, for each length.
        """
        steps, total = np.zeros(self.graph.edge_count), 0.0
        of = {id(own): weight for own, weight in zip(self.released, weights, strict=True)}
        for own, part in self.parts(self.graph.edge_count):
            emission, weight = own.emission[part], of[id(own)][part]
            laws, logs = self.forward(chances, emission)
            after = np.repeat(self.graph.accepting[:, None].astype(np.float64), len(emission), axis=1)
            for position in reversed(range(emission.shape[1])):  # the backward sums, used as they come
                onwards = self._onwards(chances, emission, position, after)
                taken = laws[position][self.source]
                taken *= onwards
                steps += taken @ (weight / taken.sum(axis=0))
                after = self._leaving(onwards)
            total += float(logs @ weight)
        return steps, total

    def normalised(self, steps: Floats) -> Floats:
        """The chain whose edges are taken in these proportions; states that are never left leave by all alike."""
        totals = self.graph.sum_over(steps)
        widths = np.diff(self.graph.first)
        below = totals[self.source]
        return np.asarray(np.where(below > 0, steps / np.where(below > 0, below, 1.0), 1.0 / widths[self.source]))

    # --- until it stands still -----------------------------------------------------------------

    def fitted(self, start: Floats, weights: Sequence[Floats]) -> Fitted:
        """The chain that Baum–Welch finds from a starting point, in steps that are lengthened where that is better.

        Two rounds tell in which direction the chain moves and how that shrinks; a longer step is taken (Varadhan and
        Roland 2008, SQUAREM) and kept if the likelihood has not fallen.
        """
        chances, done, converged = start, 0, False
        rounds = min(MOST_ROUNDS, max(_FEWEST_ROUNDS, _MOST_PRODUCTS // max(self.work, 1)))
        steps, best = self.expected_steps(chances, weights)
        while done < rounds:
            one = self.normalised(steps)
            second_steps, second_best = self.expected_steps(one, weights)
            two = self.normalised(second_steps)
            done += 2
            moved = float(np.abs(second_steps - steps).sum()) / max(float(second_steps.sum()), 1.0)
            if moved < CLOSE_ENOUGH:
                chances, steps, best, converged = one, second_steps, second_best, True
                break
            farther = self._lengthened(chances, one, two)
            result, value = self.expected_steps(farther, weights)
            done += 1
            if value >= second_best:
                chances, steps, best = farther, result, value
            else:
                chances, steps, best = one, second_steps, second_best
        return Fitted(chances=chances, steps=steps, log_likelihood=best, rounds=done, converged=converged)

    def _lengthened(self, start: Floats, one: Floats, two: Floats) -> Floats:
        """A longer step in the direction of two rounds, as long as all chances stay above 0."""
        move = one - start
        bend = two - one - move
        size = float(np.linalg.norm(bend))
        length = min(-1.0, -float(np.linalg.norm(move)) / size) if size else -1.0
        while length < -1.0:
            tried = start - 2 * length * move + length**2 * bend
            if (tried[two > 0] > 0).all():
                return self.normalised(np.where(two > 0, tried, 0.0))
            length = (length - 1.0) / 2 if length < -1.01 else -1.0
        return two
