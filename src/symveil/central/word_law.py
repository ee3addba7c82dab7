"""A law of words on a public support: moves, starts, ends, lengths, and where words lead from where.

    p(w) ∝ Π base(move)·exp(θ(move)) · exp(s(first) + e(last) + W(zone of first, zone of last) + v(length))

over the words of the support whose length is in its public range. One pass forward and one backward, over (position,
symbol, zone of the first symbol), give the normaliser and what is expected of every feature.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from symveil.central.support import Support
from symveil.errors import ModelError

Floats = NDArray[np.float64]
Parameters = dict[str, Floats]
FEATURES = ("moves", "starts", "ends", "od", "lengths")
"""The tables that a law is fitted to, and the names of its parameters."""


@dataclass(frozen=True, eq=False)
class Expected:
    """What a law expects of one word."""

    log_total: float
    """The logarithm of the normaliser."""
    means: Parameters
    """How often each feature occurs."""
    shared_moves: Floats
    """How often each move occurs, divided by how many moves the word has."""


@dataclass(frozen=True, eq=False)
class Trellis:
    """The sums of a law: forward sums of each position near 1, and their logarithmic scales.

    forward[p]·exp(scale[p]) are the weights of all beginnings of p + 1 symbols, by last symbol and zone of the first.
    """

    support: Support
    moves: Floats
    end: Floats
    weight: Floats
    """Of each length from 1 on; 0 outside the range."""
    forward: list[Floats]
    scale: Floats
    log_total: float

    @classmethod
    def of(cls, support: Support, parameters: Parameters) -> Trellis:
        """The forward pass."""
        moves = support.base * np.exp(parameters["moves"])
        into = scipy.sparse.csr_array((moves, (support.target, support.source)), shape=(support.symbols,) * 2)
        lead = np.exp(parameters["od"]).reshape(support.zones, support.zones)
        end = np.exp(parameters["ends"])[:, None] * lead.T[support.zone]
        begin = np.zeros((support.symbols, support.zones))
        begin[np.arange(support.symbols), support.zone] = np.exp(parameters["starts"])
        weight = np.zeros(support.longest)
        weight[support.shortest - 1 :] = np.exp(parameters["lengths"])
        forward, scale = [begin], [0.0]
        while len(forward) < support.longest:
            grown = into @ forward[-1]
            size = float(grown.max(initial=0.0))
            forward.append(grown / size if size > 0 else grown)
            scale.append(scale[-1] + (np.log(size) if size > 0 else 0.0))
        with np.errstate(divide="ignore"):
            logs = np.log([(sums * end).sum() for sums in forward]) + np.array(scale) + np.log(weight)
        log_total = float(np.logaddexp.reduce(logs))
        if not np.isfinite(log_total):
            raise ModelError("graph", expected="a word of the public lengths", found="none")
        return cls(support, moves, end, weight, forward, np.array(scale), log_total)

    def backward(self) -> list[Floats]:
        """For each position: the conditional weights of all ends, by symbol there and zone of the first symbol.

        forward[p] times this is the probability that a word has the symbol at position p (the zone, at its first).
        The second half of the columns has the same with each word divided by its number of moves.
        """
        support = self.support
        out = scipy.sparse.csr_array((self.moves, (support.source, support.target)), shape=(support.symbols,) * 2)
        after = np.zeros((support.symbols, 2 * support.zones))
        found: list[Floats] = []
        for position in range(support.longest - 1, -1, -1):
            if position < support.longest - 1:
                after = out @ after * np.exp(self.scale[position] - self.scale[position + 1])
            here = self.end * self.weight[position] * np.exp(self.scale[position] - self.log_total)
            after = after + np.concatenate([here, here / max(position, 1)], axis=1)
            found.append(after)
        return found[::-1]

    def expected(self) -> Expected:
        """What the law expects of one word."""
        support, ends = self.support, np.zeros((self.support.symbols, self.support.zones))
        lengths = np.zeros(support.longest)
        backward = self.backward()
        moves, shared = np.zeros(len(support.source)), np.zeros(len(support.source))
        for position, sums in enumerate(self.forward):
            here = sums * self.end * self.weight[position] * np.exp(self.scale[position] - self.log_total)
            ends += here
            lengths[position] = here.sum()
            if position + 1 < support.longest:
                after = backward[position + 1]
                factor = self.moves * np.exp(self.scale[position] - self.scale[position + 1])
                before = sums[support.source]
                moves += factor * (before * after[support.target, : support.zones]).sum(axis=1)
                shared += factor * (before * after[support.target, support.zones :]).sum(axis=1)
        od = np.zeros((support.zones, support.zones))
        np.add.at(od.T, support.zone, ends)
        means = {
            "moves": moves,
            "starts": (self.forward[0] * backward[0][:, : support.zones]).sum(axis=1),
            "ends": ends.sum(axis=1),
            "od": od.reshape(-1),
            "lengths": lengths[support.shortest - 1 :],
        }
        return Expected(self.log_total, means, shared)


def no_parameters(support: Support) -> Parameters:
    """Those of the law before anything is learned."""
    sizes = {
        "moves": len(support.source),
        "starts": support.symbols,
        "ends": support.symbols,
        "od": support.zones**2,
        "lengths": support.longest - support.shortest + 1,
    }
    return {name: np.zeros(sizes[name]) for name in FEATURES}
