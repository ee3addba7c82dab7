"""The public prior that a bound averages over: how probable each word of a model is, and words drawn from it.

"uniform": all feasible words alike; where the first symbol is public, all first symbols alike, and for each of them
all feasible words that begin with it. "chain": as the Markov chain has them, given that the word is feasible.

Everything is a sum of products of positive floats, so relative errors are known beforehand (`relative_error`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.languages.runs import RunLanguage, sum_over_edges
from symveil.models.word import Codes
from symveil.randomness import BitSource

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Prior:
    """Weights of the words of a model: forward and backward sums over its graph, layer by layer.

    `forward[i][s]` is the weight of all prefixes of i symbols that lead to s, `backward[i][s]` that of all completions
    from s after i symbols, each layer divided by a power of two (`_forward_shift`, `_backward_shift`).
    """

    def __init__(self, language: RunLanguage, kind: str) -> None:
        if kind not in ("uniform", "chain"):
            raise ParameterError("prior", expected="uniform or chain", found=kind)
        graph = language.graph
        if kind == "chain" and graph.prior is None:
            raise ParameterError("prior", expected="uniform, unless the model is a Markov chain", found=kind)
        self.language, self.kind = language, kind
        self.source = graph.source
        self.edge_weights: Floats = (
            np.array([float(chance) for chance in graph.prior])
            if kind == "chain" and graph.prior is not None
            else np.ones(graph.edge_count)
        )
        self.first = 1 if language.public_start else 0
        """The first position that is secret: with a public start, the second symbol's."""
        self._run()

    def _run(self) -> None:
        graph, length = self.language.graph, self.language.length
        backward, shifts = [graph.accepting.astype(np.float64)], [0]
        for position in range(length, 0, -1):
            values = self.layer_weights(position - 1, backward[-1]) * backward[-1][graph.target]
            layer, shift = _scaled(sum_over_edges(graph, values))
            backward.append(layer)
            shifts.append(shifts[-1] + shift)
        self.backward, self._backward_shift = backward[::-1], shifts[::-1]
        forward, shifts = [np.zeros(graph.state_count)], [0]
        forward[0][graph.start] = 1.0
        for position in range(length):
            values = forward[-1][self.source] * self.layer_weights(position, self.backward[position + 1])
            layer, shift = _scaled(np.bincount(graph.target, weights=values, minlength=graph.state_count))
            forward.append(layer)
            shifts.append(shifts[-1] + shift)
        self.forward, self._forward_shift = forward, shifts
        widest = max(graph.widest, int(np.bincount(graph.target, minlength=1).max(initial=0)))
        self.relative_error = 2 * (length + 2) * (widest + 6) * 2.0**-53

    def layer_weights(self, position: int, following: Floats) -> Floats:
        """The weight of each edge at a position; `following` are the backward weights after it.

        A public first symbol under the uniform prior: each first symbol counts 1, however many words begin with it.
        """
        if position > 0 or not self.language.public_start or self.kind != "uniform":
            return self.edge_weights
        after = following[self.language.graph.target]
        return np.divide(1.0, after, out=np.zeros(len(after)), where=after > 0)

    def probability(
        self, begin: int, left: Integers, weights: Floats, end: int, right: Integers | None = None
    ) -> Floats:
        """π of the words that are in state `left` after `begin` symbols and in `right` after `end`, by paths of `weights`.

        Without `right` the paths reach the end of the word, in accepting states.
        """
        product = self.forward[begin][left] * weights
        shift = self._forward_shift[begin] - self._backward_shift[0]
        if right is not None:
            product = product * self.backward[end][right]
            shift += self._backward_shift[end]
        return np.ldexp(product, shift) / self.backward[0][self.language.graph.start]

    def word_probabilities(self, words: Codes) -> Floats:
        """π of each word, given as rows of codes: the product of the chances of its steps."""
        states = self.language.walk(words).astype(np.int64)
        edges = self.language.walk_edges(words)
        chances = np.ones(len(words))
        for position in range(self.language.length):
            following = self.backward[position + 1]
            values = self.layer_weights(position, following) * following[self.language.graph.target]
            shift = self._backward_shift[position + 1] - self._backward_shift[position]
            chances *= np.ldexp(values[edges[:, position]], shift) / self.backward[position][states[:, position]]
        return chances

    # --- drawing -------------------------------------------------------------------------------

    @property
    def drawing_error(self) -> float:
        """How far the law of a drawn word may be from the prior, in total variation: floats decide where it goes."""
        graph = self.language.graph
        step = (graph.widest + 1) * (graph.state_count + graph.widest + 4) * 2.0**-51
        return self.language.length * (step + self.relative_error)

    def draw(self, count: int, bits: BitSource) -> tuple[Integers, Integers]:
        """Words of the prior, from public bits: the states that each passes through, the start included, and its edges."""
        graph, length = self.language.graph, self.language.length
        states = np.empty((count, length + 1), dtype=np.int64)
        states[:, 0] = graph.start
        edges = np.empty((count, length), dtype=np.int64)
        for position in range(length):
            following = self.backward[position + 1]
            values = self.layer_weights(position, following) * following[graph.target]
            keys = self.source + _cumulative_shares(graph.first, values)
            uniform = (bits.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53
            state = states[:, position]
            edge = np.searchsorted(keys, state + uniform, side="right")
            edge = _nearest_possible(edge, values, graph.first[state], graph.first[state + 1])
            edges[:, position] = edge
            states[:, position + 1] = graph.target[edge]
        return states, edges


def _scaled(layer: Floats) -> tuple[Floats, int]:
    """The layer divided by a power of two, and its exponent."""
    shift = int(np.frexp(layer.max(initial=0.0))[1])
    return np.ldexp(layer, -shift), shift


def _cumulative_shares(first: Integers, values: Floats) -> Floats:
    """For each edge the share of its state's edges up to and with it: sums within a state only, so errors stay there."""
    shares = np.zeros(len(values))
    degrees = np.diff(first)
    wide = degrees > 64
    for state in np.flatnonzero(wide):
        part = slice(first[state], first[state + 1])
        shares[part] = np.cumsum(values[part])
    running = np.zeros(len(degrees))
    for column in range(int(degrees[~wide].max(initial=0))):
        states = np.flatnonzero(~wide & (degrees > column))
        running[states] += values[first[states] + column]
        shares[first[states] + column] = running[states]
    total = np.repeat(shares[np.maximum(first[1:] - 1, 0)], degrees)
    return np.divide(shares, total, out=np.ones(len(values)), where=total > 0)


def _nearest_possible(edge: Integers, values: Floats, low: Integers, high: Integers) -> Integers:
    """Each edge, or where rounding led to an impossible one, the last possible one of the state."""
    edge = np.clip(edge, low, high - 1)
    for row in np.flatnonzero(values[edge] <= 0):
        edge[row] = low[row] + np.flatnonzero(values[low[row] : high[row]] > 0)[-1]
    return edge
