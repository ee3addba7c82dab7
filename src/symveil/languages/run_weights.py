"""Words of a model weighted by e^{−ηd}: what the kernels need, and when floats may be trusted.

V(i,y) = Σ over edges y→σ y' of T·z^{[σ≠w_{i+1}]}·V(i+1,y') adds and multiplies positive numbers
only, so its relative error is known beforehand (docs/theory/exact-sampling.md): at most (1+u)^K − 1, u = 2⁻⁵³.
A decision that lies farther from every boundary than `margin` is the decision of exact arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.languages.run_counts import RunNeighbours
from symveil.languages.runs import RunLanguage
from symveil.models.word import Codes
from symveil.numerics.conversions import STANDARD_PRECISION, ball, nearest_float, precision
from symveil.numerics.once import computed_once

# Doubles reach from 2^−1074 to 2^1023; both ends are kept well away from.
_SAFE_EXPONENT = 900.0


@dataclass(frozen=True, eq=False, kw_only=True)
class RunWeights:
    """A language, a rate η, and whether words are also weighted by the model's public prior."""

    language: RunLanguage
    rate: Fraction
    with_prior: bool = False
    widen: float = field(default=0.0, repr=False)  # tests enlarge the margin to force the slow path

    @computed_once
    def mismatch(self) -> float:
        """z = e^{−η}, correctly rounded up to one unit."""
        with precision(STANDARD_PRECISION):
            return nearest_float(self.mismatch_ball())

    @computed_once
    def match_excess(self) -> float:
        """1 − z, without cancellation."""
        with precision(STANDARD_PRECISION):
            return nearest_float(-(-ball(self.rate)).expm1())

    def mismatch_ball(self) -> arb:
        """z at the working precision."""
        return (-ball(self.rate)).exp()

    @computed_once
    def edge_weights(self) -> NDArray[np.float64]:
        """T of every edge: 1 without a prior."""
        graph = self.language.graph
        if not self.with_prior or graph.prior is None:
            return np.ones(graph.edge_count)
        return np.array([float(chance) for chance in graph.prior])

    def edge_weight_balls(self) -> list[arb]:
        """T of every edge at the working precision."""
        graph = self.language.graph
        if not self.with_prior or graph.prior is None:
            return [arb(1)] * graph.edge_count
        return [ball(chance) for chance in graph.prior]

    @computed_once
    def edge_sources(self) -> NDArray[np.int64]:
        """The state that each edge leaves."""
        return self.language.graph.source

    @computed_once
    def edges_by_symbol(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which edges read which symbol (see `WordGraph.edges_by_symbol`)."""
        return self.language.graph.edges_by_symbol()

    @computed_once
    def margin(self) -> float:
        """How far from a boundary, relative to the whole, a draw must lie to be decided by floats."""
        length, widest = self.language.length, self._widest
        # one sum, one product with z, one with T, the two roundings of z and of 1 − z, per layer
        operations = (length + 1) * (max(widest + 1, 3) + 5) + self._start_degree
        relative = math.expm1(operations * 2.0**-53)
        return 4 * relative + 2.0**-50 + self.widen

    @computed_once
    def _start_degree(self) -> int:
        """How many edges leave the start: a hidden start has as many as there are states, but is left once."""
        graph = self.language.graph
        return len(graph.edges(graph.start))

    @computed_once
    def _widest(self) -> int:
        """D: the largest number of edges from one state, the start aside where nothing leads back to it."""
        graph = self.language.graph
        degrees = np.diff(graph.first)
        if not (graph.target == graph.start).any():
            degrees = np.delete(degrees, graph.start)
        return int(degrees.max(initial=0))

    @computed_once
    def smallest_total(self) -> float | None:
        """Down to which weight of a state its decisions may be left to floats; None: not at all.

        Every step multiplies by at least z·T and by at most 1+(D−1)z, since one symbol at most
        matches. If no product of n such factors leaves the range of doubles, floats are right
        everywhere. If only the small ones do, and there is no prior, what is lost to underflow is
        at most n·D·(1+(D−1)z)ⁿ·2⁻¹⁰⁷⁴, nothing beside the word's own weight, which is at least 1;
        then floats are right wherever the weight is not itself very small.
        """
        length, widest = self.language.length, max(self._widest, 1)
        growth = length * math.log2(1 + (widest - 1) * self.mismatch) + math.log2(1 + self._start_degree)
        least = self.mismatch * float(self.edge_weights.min(initial=1.0))
        if least > 0 and growth - length * math.log2(least) < _SAFE_EXPONENT:
            return 0.0
        return 2.0**-60 if growth < _SAFE_EXPONENT and not self.with_prior else None

    @property
    def fits_batches(self) -> bool:
        """Whether the weights of sixteen words at once fit into a quarter of a GiB."""
        return 16 * 8 * (self.language.length + 1) * self.language.graph.state_count <= 1 << 28

    def log_prior(self, codes: Codes) -> NDArray[np.float64]:
        """ln T of each row: 0 without a prior."""
        if not self.with_prior:
            return np.zeros(len(codes))
        language = self.language
        edges = language.walk_edges(codes)
        if language.public_start:
            edges = edges[:, 1:]  # the first symbol is given, not drawn
        return np.asarray(self._log_edge_weights[edges].sum(axis=1))

    @computed_once
    def _log_edge_weights(self) -> NDArray[np.float64]:
        """ln T of every edge, also of those that are too unlikely for a float."""
        with precision(STANDARD_PRECISION):
            return np.array([nearest_float(weight.log()) for weight in self.edge_weight_balls()])

    def prior_neighbours(self, codes: Codes) -> RunNeighbours:
        """The words around a word, by distance, each counted with its prior weight."""
        return RunNeighbours(self.language, codes, edge_weights=self.language.graph.prior)
