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

from symveil.languages.graph import WordGraph
from symveil.trellis.passes import Trellis, scaled_backward, scaled_through_edges, scaled_total
from symveil.trellis.semirings import FLOATS

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

    @property
    def work(self) -> int:
        """How many products of an edge and a symbol one round takes."""
        return sum(each.emission.size for each in self.released) * self.graph.edge_count

    # --- one round -----------------------------------------------------------------------------

    def parts(self, weights: Sequence[Floats], columns: int) -> Iterator[tuple[Indices, Floats]]:
        """Words as rows of emissions, and how often each counts: as many as arrays of so many columns may have."""
        many = max(1, _NUMBERS_AT_ONCE // max(columns, 1))
        for own, weight in zip(self.released, weights, strict=True):
            for begin in range(0, len(own.emission), many):
                yield own.emission[begin : begin + many], weight[begin : begin + many]

    def seen(self, emission: Indices, position: int) -> Floats:
        """For each edge and word the chance of the symbol released at a position, if the true word takes the edge."""
        return np.asarray(self.emissions[emission[:, position]].T[self.graph.symbol])

    def paths(self, chances: Floats, emission: Indices) -> Trellis:
        """What true words are worth that explain each of some released ones, a lane for each.

        Parameters
        ----------
        chances
            The chain, by edges; smaller than it where a path is to avoid an edge.
        emission
            The words, as rows of emissions.
        """

        def worth(position: int) -> Floats:
            result = self.seen(emission, position)
            result *= chances[:, None]
            return result

        words, length = emission.shape
        final = self._in_lanes(self.graph.accepting, words)
        return Trellis(edges=self.graph, length=length, semiring=FLOATS, final=final, worth=worth)

    def start(self, words: int) -> Floats:
        """Where true words begin, for so many released ones."""
        return self._in_lanes(np.arange(self.graph.state_count) == self.graph.start, words)

    @staticmethod
    def _in_lanes(states: NDArray[np.bool_], words: int) -> Floats:
        return np.repeat(states[:, None].astype(np.float64), words, axis=1)

    def log_likelihoods(self, paths: Trellis) -> Floats:
        """ln of the chance of each of some released words; −∞ where no path explains it."""
        return self._log_likelihoods(*scaled_total(paths, 0))

    def _log_likelihoods(self, first: Floats, logs: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(logs + np.log(first[self.graph.start]))

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
        for emission, weight in self.parts(weights, self.graph.edge_count):
            paths = self.paths(chances, emission)
            behind, logs = scaled_backward(paths, 0)
            for taken in scaled_through_edges(paths, self.start(len(emission)), 0, behind=behind):
                steps += taken @ (weight / taken.sum(axis=0))
            total += float(self._log_likelihoods(behind[0], logs[0]) @ weight)
        return steps, total

    def normalised(self, steps: Floats) -> Floats:
        """The chain whose edges are taken in these proportions; states that are never left leave by all alike."""
        below = self.graph.sum_over(steps)[self.graph.source]
        return np.asarray(np.where(below > 0, steps / np.where(below > 0, below, 1.0), self.evenly))

    @property
    def evenly(self) -> Floats:
        """The chain that leaves each state by all its edges alike."""
        return np.asarray(1.0 / self.graph.degrees[self.graph.source])

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
