"""A law of words on a public support: moves, starts, ends, lengths, and where words lead from where.

The support says which moves there are, in which zone symbols lie, and how long words may be. On it

    p(w) ∝ Π base(move)·exp(θ(move)) · exp(s(first) + e(last) + W(zone of first, zone of last) + v(length))

over the words of the support whose length is in its public range. Where the support has a split, θ and e are others for
early positions than for late ones. One pass forward and one backward, over (position, symbol, zone of the first
symbol), give the normaliser and what is expected of every feature.

Words drawn from a learned law: every one is legal, and drawing more of them tells nothing more.

The chance of each step, given the position, the symbol and the zone of the first symbol, follows from the backward
sums. It is rounded to a multiple of 2⁻⁵³ that is 0 where it was 0; from the rounded chances draws are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from symveil.central.cells import Cells, cells_of
from symveil.central.limits import LIMITS
from symveil.errors import ModelError, ParameterError, TooLargeError
from symveil.estimation.table import Floats, Indices
from symveil.languages.graph import WordGraph
from symveil.models.alphabet import Codes, Lengths
from symveil.randomness import BitSource


@dataclass(frozen=True, kw_only=True, eq=False)
class Support:
    """Everything public that a law of words stands on.

    Parameters
    ----------
    symbols
        How many symbols there are.
    source, target
        The moves, from symbol to symbol, in order.
    zone
        The zone of each symbol.
    shortest, longest
        Between which lengths words are.
    split
        Where moves and ends from the first so many positions and from later ones are in different cells: so many. None:
        they are in the same.
    """

    symbols: int
    source: Indices = field(repr=False)
    target: Indices = field(repr=False)
    zone: Indices = field(repr=False)
    shortest: int
    longest: int
    split: int | None = None

    @classmethod
    def of(
        cls,
        *,
        symbols: int,
        graph: WordGraph | None,
        zone: Indices | None,
        shortest: int,
        longest: int,
        phases: int = 1,
    ) -> Support:
        """The support of all words over an alphabet, or of a model's; without zones each symbol has its own.

        It has every pair of symbols that stand side by side in a path of the model. Where that allows words that are
        none of the model's, the model is also a rule (`rules.Rules`). With two phases each move will count twice.
        """
        if not 1 <= shortest <= longest:
            raise ParameterError(
                "lengths", expected="a shortest length, 1 or more, up to a longest", found=f"{shortest} to {longest}"
            )
        zones = symbols if zone is None else int(zone.max(initial=-1)) + 1
        sums, pairs = symbols * zones * longest, max(zones**2, phases * symbols**2 if graph is None else 0)
        if sums > LIMITS.now.sums or pairs > LIMITS.now.cells:
            raise TooLargeError(
                f"learn: expected at most {LIMITS.now.sums:,} symbols x zones x lengths and {LIMITS.now.cells:,} "
                f"pairs, found {sums:,} and {pairs:,}; give a graph of the moves, fewer zones or shorter lengths"
            )
        if graph is None:
            source, target = (each.reshape(-1) for each in np.indices((symbols, symbols)))
        else:
            moves = cells_of("ngrams:2", symbols=symbols, longest=longest, graph=graph).codes()
            source, target = moves[:, 0], moves[:, 1]
        own = np.arange(symbols) if zone is None else zone
        return cls(symbols=symbols, source=source, target=target, zone=own, shortest=shortest, longest=longest)

    @property
    def zones(self) -> int:
        """How many zones there are."""
        return int(self.zone.max(initial=-1)) + 1

    @property
    def phases(self) -> int:
        """How many kinds of positions there are: one, or early and late ones."""
        return 1 if self.split is None else 2

    def phase(self, position: int) -> int:
        """The kind of a position, counted from 0."""
        return int(self.split is not None and position >= self.split)

    def shared(self, position: int) -> float:
        """What a move counts in a word whose last position this is: its share of what the word adds to the table.

        Without a split a word adds 1, shared among its moves; with one, at most `split`, shared among its moves, its
        start and its end.
        """
        if self.split is None:
            return 1.0 / max(position, 1)
        return min(1.0, self.split / (position + 2))

    @property
    def base(self) -> NDArray[np.float64]:
        """What a move weighs before anything is learned: all moves from a symbol alike."""
        return 1.0 / np.bincount(self.source, minlength=self.symbols)[self.source]

    def cells(self) -> dict[str, Cells]:
        """The tables that a law is fitted to, by its features; words outside the lengths do not count."""
        moves = cells_of("ngrams:2", symbols=self.symbols, longest=self.longest)
        every = {
            "moves": replace(moves, listed=self.source * self.symbols + self.target),
            "starts": cells_of("first", symbols=self.symbols, longest=self.longest),
            "ends": cells_of("last", symbols=self.symbols, longest=self.longest),
            "od": cells_of("od", symbols=self.symbols, longest=self.longest, zones=self.zone),
            "lengths": cells_of("lengths", symbols=self.symbols, longest=self.longest),
        }
        return {name: replace(cells, shortest=self.shortest) for name, cells in every.items()}


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

        Where `shares` are given, lengths have them as far as there are words of them, whatever their parameters are.
        """
        from scipy import sparse  # noqa: PLC0415  # slow to import, and for learned models only

        moves = support.base * np.exp(parameters["moves"]).reshape(support.phases, -1)
        into = [
            sparse.csr_array((own, (support.target, support.source)), shape=(support.symbols,) * 2) for own in moves
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
        from scipy import sparse  # noqa: PLC0415

        support = self.support
        out = [
            sparse.csr_array((own, (support.source, support.target)), shape=(support.symbols,) * 2)
            for own in self.moves
        ]
        after = np.zeros((support.symbols, 2 * support.zones))
        results: list[Floats] = []
        for position in range(support.longest - 1, -1, -1):
            if position < support.longest - 1:
                after = out[support.phase(position)] @ after
                after *= np.exp(self.scale[position] - self.scale[position + 1])
            if self.log_weight[position] > -np.inf:
                here = self.ending(position)
                after[:, : support.zones] += here
                after[:, support.zones :] += here * support.shared(position)
            results.append(after)
        return results[::-1]

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
        results = np.zeros((2, support.phases, len(support.source)))
        positions = range(support.longest - 1)
        if zones == 1 and support.symbols**2 <= LIMITS.now.dense * len(support.source):
            # all pairs of symbols at once, over all positions of a phase: one product of two matrices
            for phase in range(support.phases):
                own = [position for position in positions if support.phase(position) == phase]
                if own:
                    factors = np.exp(self.scale[own] - self.scale[np.array(own) + 1])
                    before = np.stack([self.forward[position][:, 0] for position in own]) * factors[:, None]
                    after = np.stack([backward[position + 1] for position in own])
                    for column in range(2):
                        pairs = before.T @ after[:, :, column]
                        results[column, phase] = self.moves[phase] * pairs[support.source, support.target]
            return results[0], results[1]
        for position in positions:
            phase, before = support.phase(position), np.take(self.forward[position], support.source, axis=0)
            both = np.take(backward[position + 1], support.target, axis=0).reshape(-1, 2, zones)
            both *= before[:, None]
            results[:, phase] += self.onward(position) * both.sum(axis=2).T
        return results[0], results[1]


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


_BITS = 53
_END = -1


def draw_words(trellis: Trellis, count: int, bits: BitSource) -> tuple[Codes, Lengths]:
    """So many words, one after the other, with their lengths."""
    support = trellis.support
    widest = int(np.bincount(support.source, minlength=1).max(initial=0))
    at_once = max(1, LIMITS.now.weights_at_once // (widest + support.longest + 1))
    backward = [sums[:, : support.zones] for sums in trellis.backward()]
    parts = [_drawn(trellis, backward, min(at_once, count - begin), bits) for begin in range(0, max(count, 1), at_once)]
    return np.concatenate([codes for codes, _ in parts]), np.concatenate([lengths for _, lengths in parts])


def _drawn(trellis: Trellis, backward: list[Floats], count: int, bits: BitSource) -> tuple[Codes, Lengths]:
    support = trellis.support
    order = np.lexsort((support.target, support.source))
    source, target = support.source[order], support.target[order]
    first = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=support.symbols))])
    widest = int(np.diff(first).max(initial=0))
    starts = (trellis.forward[0] * backward[0]).sum(axis=1)
    here = np.searchsorted(_ends(starts[None, :])[0], _uniform(count, bits), side="right")
    zone = support.zone[here]
    drawn = np.full((count, support.longest), _END, dtype=np.int32)
    drawn[:, 0] = here
    going = np.arange(count)
    for position in range(support.longest - 1):
        now, own = drawn[going, position], zone[going]
        stop, weight = trellis.ending(position)[now, own], trellis.onward(position)[order]
        edge = first[now][:, None] + np.arange(widest)
        there = edge < first[now + 1][:, None]
        edge = np.where(there, edge, 0)
        onward = np.where(there, weight[edge] * backward[position + 1][target[edge], own[:, None]], 0.0)
        picked = _chosen(np.concatenate([stop[:, None], onward], axis=1), bits)
        goes = picked > 0
        drawn[going[goes], position + 1] = target[edge[goes, picked[goes] - 1]]
        going = going[goes]
        if not len(going):
            break
    lengths = (drawn != _END).sum(axis=1)
    return drawn[drawn != _END], lengths


def _chosen(weights: Floats, bits: BitSource) -> Indices:
    """One column of each row, with chances in proportion to its weights; never one without weight.

    >>> from symveil.randomness import NotPrivateSeededBits
    >>> _chosen(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]), NotPrivateSeededBits(1)).tolist()
    [1, 0]
    """
    return np.asarray((_uniform(len(weights), bits)[:, None] >= _ends(weights)).sum(axis=1), dtype=np.int64)


def _ends(weights: Floats) -> NDArray[np.uint64]:
    """Where the share of each column ends, of 2⁵³; that of the last column with weight, and all after it, at 2⁵³."""
    sums = np.cumsum(weights, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        ends = np.floor(sums / sums[:, -1:] * 2.0**_BITS).astype(np.uint64)
    last = weights.shape[1] - 1 - np.argmax(weights[:, ::-1] > 0, axis=1)
    ends[np.arange(weights.shape[1]) >= last[:, None]] = np.uint64(1 << _BITS)
    return np.asarray(ends)


def _uniform(count: int, bits: BitSource) -> NDArray[np.uint64]:
    return np.asarray(bits.words(count) >> np.uint64(64 - _BITS))


def column_of(shares: Floats, at: Floats) -> Indices:
    """One column of each row, with chances in proportion to the shares in it; `at` is uniform from 0 up to 1.

    >>> column_of(np.array([[1.0, 3.0], [2.0, 0.0]]), np.array([0.3, 0.9])).tolist()
    [1, 0]
    """
    ends = np.cumsum(shares, axis=1)
    last = shares.shape[1] - 1
    return np.asarray((at[:, None] * ends[:, -1:] >= ends).sum(axis=1).clip(0, last), dtype=np.int64)
