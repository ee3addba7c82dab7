"""Tables of the true words behind an edit channel: exactly unbiased, in one pass (docs/theory/central.md).

Inserted symbols are uniform and independent of everything, so they vanish from products of mean-zero functions. What is
left are true symbols, with a number of symbols between them whose generating function is known (`EditNoise`): weights
that are powers of x₀ leave exactly the pairs that were neighbours.

The numbers of an edit channel that its estimators need (docs/theory/central.md).

In each gap t uniform symbols are inserted with probability g(t), G(x) = Σ g(t)x^t; a symbol is deleted with probability
δ, substituted with σ, kept with κ. Symbols k apart in the true word have, for what lands between them, the generating
function G(x)·s(x)^{k−1}, s(x) = G(x)·(δ + (1−δ)x). At x₀ = −δ/(1−δ), s is 0: only true neighbours are left.

How many true words have each length: exactly unbiased, for short words. The released length ℓ of a word of n symbols
has E[x^ℓ] = G(x)·s(x)^n. Written as a function of s, the coefficient of s^k in x(s)^ℓ/G(x(s)) is therefore a function
of ℓ whose expectation is [n = k]: exactly unbiased, since x(s) is the inverse of s around x₀. Its variance grows with
k, so only the first lengths are estimated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_series, ctx
from numpy.typing import NDArray

from symveil.calibration.edit_channel import ChannelParameters, inserted_above, mean_inserted
from symveil.errors import InputError
from symveil.estimation.limits import LIMITS
from symveil.estimation.statistics import Statistic
from symveil.estimation.substitution_tables import LengthCounts
from symveil.estimation.table import Batch, EstimatedTable, Floats, TableEstimator, Target, Variances, factors
from symveil.numbers.conversions import STANDARD_PRECISION, ball, nearest_float, precision
from symveil.numbers.once import computed_once

_NEGLIGIBLE = 1e-18


@dataclass(frozen=True, slots=True)
class EditNoise:
    """δ, τ = E[t], λ = κ − σ/(m−1), x₀, G(x₀) and G'(x₀)."""

    symbols: int
    deletion: float
    inserted: float
    unchanged: float
    root: float
    gap: float
    slope: float

    @classmethod
    def of(cls, parameters: ChannelParameters, symbols: int) -> EditNoise:
        """The numbers of a channel; δ must be below 1.

        >>> channel = ChannelParameters.of(ratio="0.1", power=2, deletion="0.25", substitution="0.05")
        >>> noise = EditNoise.of(channel, 6)
        >>> round(noise.unchanged, 3), round(noise.root, 4)
        (0.69, -0.3333)
        """
        delta = float(parameters.deletion)
        root = -delta / (1 - delta)
        with precision(STANDARD_PRECISION):
            total = nearest_float(inserted_above(parameters, 0, 1)[1])
            inserted = nearest_float(mean_inserted(parameters))
        rho, q = float(parameters.ratio), float(parameters.power)
        if rho * abs(root) >= 1:
            terms = 1  # unusable, which `usable` says
        else:
            terms = 2 + int(math.log(_NEGLIGIBLE) / math.log(max(rho * abs(root), 1e-300)))
        t = np.arange(terms, dtype=np.float64)
        weights = (1 + t) ** -q / total
        gap = math.fsum((weights * (rho * root) ** t).tolist())
        slope = math.fsum((weights[1:] * t[1:] * rho * (rho * root) ** (t[1:] - 1)).tolist())
        others = max(symbols - 1, 1)
        unchanged = float(parameters.keep - parameters.substitution / others)
        return cls(symbols, delta, inserted, unchanged, root, gap, slope)

    @property
    def usable(self) -> bool:
        """Whether symbols can be estimated: not too many are deleted, and enough stay unchanged."""
        return self.deletion < 0.5 and self.unchanged >= LIMITS.now.least_unchanged

    @property
    def farthest(self) -> int:
        """From how many symbols apart on powers of x₀ are nothing."""
        return 1 + int(math.log(_NEGLIGIBLE) / math.log(abs(self.root))) if self.root else 1


class EditTables(TableEstimator):
    """visits, first, last, pairs, transitions or od behind an edit channel."""

    def __init__(self, statistic: Statistic, noise: EditNoise, *, target: Target, groups: int) -> None:
        if statistic.kind in ("positions", "presence") or statistic.order > 2:
            raise InputError(
                "estimate: expected visits, first, last, ngrams:1, ngrams:2, transitions, od or lengths behind an edit "
                f"channel, found {statistic.name}"
            )
        super().__init__(statistic, target=target, groups=groups)
        self._noise, self._order, shape = noise, statistic.order, statistic.shape(noise.symbols, 0)
        self._sums = np.zeros((len(self.sizes), *shape))
        self._released, self._squares = np.zeros(shape), np.zeros(shape)

    def _add(self, batch: Batch) -> None:
        if self._statistic.kind in ("first", "last"):
            step = max(1, LIMITS.now.dense_cells // self._noise.symbols)
            for start in range(0, len(batch.lengths), step):
                wanted = np.zeros(len(batch.lengths), dtype=np.bool_)
                wanted[start : start + step] = True
                self._add_ends(batch.only(wanted))
        elif self._order == 1:
            self._add_visits(batch)
        elif self._statistic.kind == "od":
            self._add_od(batch)
        else:
            self._add_pairs(batch)

    # --- sums over words -----------------------------------------------------------------------

    def _by_group(self, batch: Batch, values: NDArray[Any]) -> Floats:
        """Numbers that words have, summed by group."""
        return np.bincount(batch.groups, weights=values, minlength=len(self.sizes)).astype(np.float64)

    def _symbols(self, batch: Batch, weights: Floats) -> Floats:
        """Numbers that symbols have, summed by group and symbol."""
        m = self._noise.symbols
        cells = batch.groups[batch.word] * m + batch.codes
        sums = np.bincount(cells, weights=weights, minlength=len(self.sizes) * m)
        return np.asarray(sums.reshape(len(self.sizes), m), dtype=np.float64)

    def _centred(self, batch: Batch, weights: Floats) -> Floats:
        """Σ weight·f_a over symbols."""
        own = self._symbols(batch, weights)
        return np.asarray(own - own.sum(axis=1, keepdims=True) / self._noise.symbols)

    def _length(self, batch: Batch) -> Floats:
        """n̂, by group."""
        noise = self._noise
        return self._by_group(batch, (batch.lengths - noise.inserted) / (1 - noise.deletion + noise.inserted))

    def _empty(self, batch: Batch) -> Floats:
        """[n = 0]^, by word."""
        return np.asarray(_powers(self._noise.root, batch.lengths) / self._noise.gap)

    def _single(self, batch: Batch) -> Floats:
        """[n = 1]^, by word."""
        noise, length = self._noise, batch.lengths
        first = length * _powers(noise.root, np.maximum(length - 1, 0))
        return np.asarray((first - noise.slope * self._empty(batch)) / (noise.gap**2 * (1 - noise.deletion)))

    def _at_end(self, batch: Batch, kind: str) -> Floats:
        """The power of x₀ for each symbol by how far it is from the first or the last one."""
        away = batch.position if kind == "first" else batch.lengths[batch.word] - 1 - batch.position
        return _powers(self._noise.root, away)

    def _ends(self, batch: Batch, kind: str) -> Floats:
        """f_a of the first or the last symbol, by group."""
        return self._centred(batch, self._at_end(batch, kind)) / (self._noise.unchanged * self._noise.gap)

    # --- statistics ----------------------------------------------------------------------------

    def _add_visits(self, batch: Batch) -> None:
        noise, m = self._noise, self._noise.symbols
        ones = np.ones(len(batch.codes))
        self._released += np.bincount(batch.codes, minlength=m)
        self._sums += self._centred(batch, ones) / noise.unchanged + self._length(batch)[:, None] / m

    def _add_ends(self, batch: Batch) -> None:
        noise, m, kind = self._noise, self._noise.symbols, self._statistic.kind
        words = len(batch.lengths)
        own = np.bincount(batch.word * m + batch.codes, weights=self._at_end(batch, kind), minlength=words * m)
        own = own.reshape(words, m)
        own = (own - own.sum(axis=1, keepdims=True) / m) / (noise.unchanged * noise.gap)
        own += ((1 - self._empty(batch)) / m)[:, None]
        np.add.at(self._sums, batch.groups, own)
        self._squares += (own**2).sum(axis=0)
        some = batch.lengths > 0
        at = batch.starts[some] + (0 if kind == "first" else batch.lengths[some] - 1)
        self._released += np.bincount(batch.codes[at], minlength=m)

    def _add_pairs(self, batch: Batch) -> None:
        noise, m, root = self._noise, self._noise.symbols, self._noise.root
        length, word = batch.lengths, batch.word
        pairs = np.zeros((len(self.sizes), m, m))
        codes = batch.codes.astype(np.int64)
        for gap in range(1, min(noise.farthest, int(length.max(initial=0))) + 1):
            at = np.flatnonzero(batch.position + gap < length[word])
            cells = (batch.groups[word[at]] * m + codes[at]) * m + codes[at + gap]
            counts = np.bincount(cells, minlength=pairs.size).reshape(pairs.shape)
            if gap == 1:
                self._released += counts.sum(axis=0)
            pairs += counts * root ** (gap - 1)
        after = length[word] - 1 - batch.position
        to_right = (1 - _powers(root, after)) / (1 - root)  # Σ over all later symbols
        to_left = (1 - _powers(root, batch.position)) / (1 - root)
        own = pairs - self._symbols(batch, to_right)[:, :, None] / m - self._symbols(batch, to_left)[:, None, :] / m
        own += self._by_group(batch, np.bincount(word, weights=to_left, minlength=len(length)))[:, None, None] / m**2
        own /= noise.unchanged**2 * noise.gap
        symbols = self._centred(batch, np.ones(len(codes))) / noise.unchanged
        own += (symbols - self._ends(batch, "last"))[:, :, None] / m
        own += (symbols - self._ends(batch, "first"))[:, None, :] / m
        rest = self._length(batch) + self._by_group(batch, self._empty(batch) - 1)
        self._sums += own + rest[:, None, None] / m**2

    def _add_od(self, batch: Batch) -> None:
        noise, m, root = self._noise, self._noise.symbols, self._noise.root
        length, word, starts = batch.lengths, batch.word, batch.starts
        codes = batch.codes.astype(np.int64)
        pairs = np.zeros((len(self.sizes), m, m))
        longest = int(length.max(initial=0))
        for both in range(min(noise.farthest, max(longest - 1, 0))):
            words = np.flatnonzero(length >= both + 2)
            for before in range(both + 1):
                first = codes[starts[words] + before]
                last = codes[starts[words] + length[words] - 1 - (both - before)]
                cells = (batch.groups[words] * m + first) * m + last
                counts = np.bincount(cells, minlength=pairs.size).reshape(pairs.shape)
                pairs += counts * root**both
                if both == 0:
                    self._released += counts.sum(axis=0)
        after = length[word] - 1 - batch.position
        as_first = _powers(root, batch.position) * (1 - _powers(root, after)) / (1 - root)
        as_last = _powers(root, after) * (1 - _powers(root, batch.position)) / (1 - root)
        own = pairs - self._symbols(batch, as_first)[:, :, None] / m - self._symbols(batch, as_last)[:, None, :] / m
        own += self._by_group(batch, np.bincount(word, weights=as_last, minlength=len(length)))[:, None, None] / m**2
        own /= (noise.unchanged * noise.gap) ** 2
        alone = _powers(root, np.maximum(length - 1, 0))[word]
        single = self._centred(batch, alone) / (noise.unchanged * noise.gap**2)
        own += (self._ends(batch, "first") - single)[:, :, None] / m
        own += (self._ends(batch, "last") - single)[:, None, :] / m
        rest = self._by_group(batch, 1 - self._empty(batch) - self._single(batch))
        self._sums += own + rest[:, None, None] / m**2

    # --- the table -----------------------------------------------------------------------------

    def _group_sums(self) -> list[Floats]:
        return list(self._sums)

    def finish(self) -> EstimatedTable:
        """The table."""
        return self._table(self._released, self._sums.sum(axis=0), most=np.inf)

    def _closed(self, estimate: Floats) -> Variances | None:
        return Variances.from_squares(self._squares, estimate) if self._statistic.kind in ("first", "last") else None


def _powers(root: float, exponents: NDArray[np.int64]) -> Floats:
    """x₀ to these powers, 0⁰ = 1."""
    return np.asarray(np.power(root, exponents.astype(np.float64)) if root else (exponents == 0) * 1.0)


_MOST_LENGTHS = 24
_BITS = 512
_SMALLEST_TERM = 2.0**-400


def length_indicators(parameters: ChannelParameters, longest: int, lengths: int = _MOST_LENGTHS) -> Floats:
    """A row for each released length ℓ = 0 … longest, a column for each true length k: what estimates [n = k].

    δ is below 1/2.
    """
    with precision(_BITS):
        cap, ctx.cap = ctx.cap, lengths + 1
        try:
            inverse, over = _inverse(parameters, lengths)
            rows = []
            power = arb_series([1])
            for _ in range(longest + 1):
                product = power * over
                rows.append([nearest_float(product[k]) for k in range(lengths)])
                power *= inverse
        finally:
            ctx.cap = cap
    return np.array(rows)


def _inverse(parameters: ChannelParameters, lengths: int) -> tuple[arb_series, arb_series]:
    """x(s) and 1/G(x(s)) as series in s."""
    delta = ball(parameters.deletion)
    root = -delta / (1 - delta)
    total = inserted_above(parameters, 0, 1)[1]
    rho, q = ball(parameters.ratio), ball(parameters.power)
    coefficients = [arb(0)] * (lengths + 1)  # of G around x₀
    weight, t = arb(1), 0
    while True:
        own = weight * (-q * arb(t + 1).log()).exp() / total
        binomial, power = arb(1), root**t if t else arb(1)
        largest = arb(0)
        for j in range(min(t, lengths) + 1):
            term = own * binomial * power
            coefficients[j] += term
            largest = max(largest, abs(term), key=lambda each: float(each.mid()))
            binomial = binomial * (t - j) / (j + 1)
            power = power / root
        if t > lengths and largest < _SMALLEST_TERM:
            break
        weight, t = weight * rho, t + 1
    around = arb_series(coefficients)
    away = (arb_series([0, 1]) * around * (1 - delta)).reversion()  # x − x₀ as a series in s
    shifted = arb_series([away[k + 1] for k in range(lengths)]) * (1 - delta)
    return arb_series([root]) + away, shifted


def lengths_can_be_estimated(parameters: ChannelParameters, released: Floats, confidence: float) -> bool:
    """Whether the channel would tell something of lengths, if words came out of it as long as these.

    `released`: how many words there are of each length.
    """
    if parameters.deletion >= Fraction(1, 2):
        return False
    indicators = length_indicators(parameters, len(released) - 1, lengths=1)
    return bool(_of_use(released, indicators, confidence)[0])


def _of_use(released: Floats, indicators: Floats, confidence: float) -> NDArray[np.bool_]:
    """Which lengths have an interval of some use: from 0 on, as long as none is too wide."""
    half = factors(confidence, cells=1, freedom=None)[0] * np.sqrt(released @ indicators**2)
    return np.asarray(np.cumsum(half > LIMITS.now.useful * released.sum()) == 0)


class EditLengths(LengthCounts):
    """The table of true lengths, with those whose interval is of some use (`lengths_can_be_estimated`)."""

    def __init__(self, parameters: ChannelParameters, *, target: Target, groups: int, confidence: float) -> None:
        super().__init__(target=target, groups=groups)
        self._parameters, self._confidence = parameters, confidence

    @computed_once
    def _indicators(self) -> Floats:
        return length_indicators(self._parameters, self._counts.shape[1] - 1)

    def _group_sums(self) -> list[Floats]:
        return list(self._counts @ self._indicators)

    def finish(self) -> EstimatedTable:
        """The table."""
        words, estimate = float(self._counts.sum()), (self._counts @ self._indicators).sum(axis=0)
        listed = _of_use(self.released, self._indicators, self._confidence)
        released = np.zeros(len(estimate))
        shown = self.released[: len(estimate)]
        released[: len(shown)] = shown
        left_out = f"lengths of {int(listed.sum())} and more are left out: their intervals would be of no use"
        return self._table(
            released, estimate, most=words, consistent=np.clip(estimate, 0.0, words), listed=listed, notes=(left_out,)
        )

    def _closed(self, estimate: Floats) -> Variances:
        return Variances.from_squares(self.released @ self._indicators**2, estimate)
