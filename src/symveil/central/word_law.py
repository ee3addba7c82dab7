"""A law of words on a public support: moves, starts, ends, lengths, and where words lead from where.

    p(w) ∝ Π base(move)·exp(θ(move)) · exp(s(first) + e(last) + W(zone of first, zone of last) + v(length))

over the words of the support whose length is in its public range. Where the support has a split, θ and e are others for
early positions than for late ones. One pass forward and one backward, over (position, symbol, zone of the first
symbol), give the normaliser and what is expected of every feature.
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
_DENSE = 4
"""Where a move in so many exists of all pairs of symbols, pairs are reckoned with instead of moves."""
FEATURES = ("moves", "starts", "ends", "od", "lengths")
"""The tables that a law is fitted to, and the names of its parameters."""


@dataclass(frozen=True, eq=False)
class Expected:
    """What a law expects of one word."""

    log_total: float
    """The logarithm of the normaliser."""
    means: Parameters
    """How often each feature occurs."""
    shared: Parameters
    """The same of moves, starts and ends, each counted as the table of moves counts it (`Support.shared`)."""


@dataclass(frozen=True, eq=False)
class Trellis:
    """The sums of a law: forward sums of each position near 1, and their logarithmic scales.

    forward[p]·exp(scale[p]) are the weights of all beginnings of p + 1 symbols, by last symbol and zone of the first.
    """

    support: Support
    moves: Floats
    """The weight of each move, a row for each phase."""
    end: Floats
    """The weight of an end, by phase, symbol and zone of the first symbol."""
    log_weight: Floats
    """Of each length from 1 on; minus infinity outside the range."""
    forward: list[Floats]
    scale: Floats
    log_lengths: Floats
    """Of all words of each length from 1 on together, before lengths are weighed."""
    log_total: float

    @classmethod
    def of(cls, support: Support, parameters: Parameters, *, shares: Floats | None = None) -> Trellis:
        """The forward pass.

        Parameters
        ----------
        support, parameters
            The law.
        shares
            Where given, lengths have these shares, as far as there are words of them, whatever their parameters are.
        """
        moves = support.base * np.exp(parameters["moves"]).reshape(support.phases, -1)
        into = [
            scipy.sparse.csr_array((own, (support.target, support.source)), shape=(support.symbols,) * 2)
            for own in moves
        ]
        lead = np.exp(parameters["od"]).reshape(support.zones, support.zones)
        end = np.exp(parameters["ends"]).reshape(support.phases, -1, 1) * lead.T[support.zone]
        begin = np.zeros((support.symbols, support.zones))
        begin[np.arange(support.symbols), support.zone] = np.exp(parameters["starts"])
        forward, scale = [begin], [0.0]
        while len(forward) < support.longest:
            grown = into[support.phase(len(forward) - 1)] @ forward[-1]
            size = float(grown.max(initial=0.0))
            forward.append(grown / size if size > 0 else grown)
            scale.append(scale[-1] + (np.log(size) if size > 0 else 0.0))
        ended = [(sums * end[support.phase(position)]).sum() for position, sums in enumerate(forward)]
        log_weight = np.full(support.longest, -np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_lengths = np.log(ended) + np.array(scale)
            if shares is None:
                log_weight[support.shortest - 1 :] = parameters["lengths"]
            else:
                wanted = np.log(shares) - log_lengths[support.shortest - 1 :]
                log_weight[support.shortest - 1 :] = np.where(np.isfinite(wanted), wanted, -np.inf)
        log_total = float(np.logaddexp.reduce(log_lengths + log_weight))
        if not np.isfinite(log_total):
            raise ModelError("graph", expected="a word of the public lengths", found="none")
        return cls(support, moves, end, log_weight, forward, np.array(scale), log_lengths, log_total)

    def ending(self, position: int) -> Floats:
        """The weight of an end at a position, relative to the forward sums there, by symbol and zone of the first."""
        weight = np.exp(self.scale[position] + self.log_weight[position] - self.log_total)
        return np.asarray(self.end[self.support.phase(position)] * weight)

    def onward(self, position: int) -> Floats:
        """The weight of each move from a position, relative to the scales of the forward sums."""
        factor = np.exp(self.scale[position] - self.scale[position + 1])
        return np.asarray(self.moves[self.support.phase(position)] * factor)

    def backward(self) -> list[Floats]:
        """For each position: the conditional weights of all ends, by symbol there and zone of the first symbol.

        forward[p] times this is the probability that a word has the symbol at position p (the zone, at its first).
        The second half of the columns has the same with each word counted as the table of moves counts it.
        """
        support = self.support
        out = [
            scipy.sparse.csr_array((own, (support.source, support.target)), shape=(support.symbols,) * 2)
            for own in self.moves
        ]
        after = np.zeros((support.symbols, 2 * support.zones))
        found: list[Floats] = []
        for position in range(support.longest - 1, -1, -1):
            if position < support.longest - 1:
                factor = np.exp(self.scale[position] - self.scale[position + 1])
                after = out[support.phase(position)] @ after * factor
            here = self.ending(position)
            after = after + np.concatenate([here, here * support.shared(position)], axis=1)
            found.append(after)
        return found[::-1]

    def expected(self) -> Expected:
        """What the law expects of one word."""
        support, zones = self.support, self.support.zones
        ends, shared_ends = (np.zeros((support.phases, support.symbols, zones)) for _ in range(2))
        lengths = np.zeros(support.longest)
        backward = self.backward()
        for position, sums in enumerate(self.forward):
            here, phase = sums * self.ending(position), support.phase(position)
            ends[phase] += here
            shared_ends[phase] += here * support.shared(position)
            lengths[position] = here.sum()
        moves, shared = self._moves(backward)
        od = np.zeros((zones, zones))
        np.add.at(od.T, support.zone, ends.sum(axis=0))
        means = {
            "moves": moves.reshape(-1),
            "starts": (self.forward[0] * backward[0][:, :zones]).sum(axis=1),
            "ends": ends.sum(axis=2).reshape(-1),
            "od": od.reshape(-1),
            "lengths": lengths[support.shortest - 1 :],
        }
        weighed = {
            "moves": shared.reshape(-1),
            "starts": (self.forward[0] * backward[0][:, zones:]).sum(axis=1),
            "ends": shared_ends.sum(axis=2).reshape(-1),
        }
        return Expected(self.log_total, means, weighed)

    def _moves(self, backward: list[Floats]) -> tuple[Floats, Floats]:
        """How often each move is expected, by phase, and the same as the table of moves counts it."""
        support, zones = self.support, self.support.zones
        found = np.zeros((2, support.phases, len(support.source)))
        positions = range(support.longest - 1)
        if zones == 1 and support.symbols**2 <= _DENSE * len(support.source):
            # all pairs of symbols at once, over all positions of a phase: one product of two matrices
            for phase in range(support.phases):
                own = [position for position in positions if support.phase(position) == phase]
                if own:
                    factors = np.exp(self.scale[own] - self.scale[np.array(own) + 1])
                    before = np.stack([self.forward[position][:, 0] for position in own]) * factors[:, None]
                    after = np.stack([backward[position + 1] for position in own])
                    for column in range(2):
                        pairs = before.T @ after[:, :, column]
                        found[column, phase] = self.moves[phase] * pairs[support.source, support.target]
            return found[0], found[1]
        for position in positions:
            phase, before = support.phase(position), self.forward[position][support.source]
            after, onward = backward[position + 1], self.onward(position)
            found[0, phase] += onward * (before * after[support.target, :zones]).sum(axis=1)
            found[1, phase] += onward * (before * after[support.target, zones:]).sum(axis=1)
        return found[0], found[1]


def no_parameters(support: Support) -> Parameters:
    """Those of the law before anything is learned."""
    sizes = {
        "moves": support.phases * len(support.source),
        "starts": support.symbols,
        "ends": support.phases * support.symbols,
        "od": support.zones**2,
        "lengths": support.longest - support.shortest + 1,
    }
    return {name: np.zeros(sizes[name]) for name in FEATURES}
