"""The loss of the truncated exponential mechanism over words of different lengths (docs/theory/hidden-lengths.md).

P(w'|w) = r(min(d, k+1))/Z(w), r(ℓ) = e^{−ηℓ}, d the Levenshtein distance. Every word can be released, the
true one included, so the loss of a pair is *exactly* η·min(d(w,v), k+1) + ln Z(v)/Z(w). The classic bound
takes the second term to be as large as the first. It is usually far smaller: with |B_ℓ(w)| words within ℓ
of w and T words in all, Z(w) = Σ_{ℓ≤k} |B_ℓ(w)|(r(ℓ) − r(ℓ+1)) + T·r(k+1), and
  small languages: every word's counts and every adjacent pair are looked at, so the loss is exact;
  others: |B_ℓ(w)| is bounded below and above for all words of a length (`levenshtein_balls`), and words at
  distance at most b have lengths at most b apart, so the loss is certified.
The largest η is taken whose proved loss is within ε; it lies between ε/2b and ε/b.

How many words lie within ℓ edits of a word: bounds that hold for every word of a length.

Let C_w(ℓ, j) be the number of words of j symbols within distance ℓ of w. Write w = au. A word that begins
with a is ay with d(au, ay) = d(u, y); one that begins with another symbol c is near iff one of

    d(u, cy) ≤ ℓ−1,     d(au, y) ≤ ℓ−1,     d(u, y) ≤ ℓ−1.

So C_{au}(ℓ, j) = C_u(ℓ, j−1) + Σ_{c≠a} |union of three sets of words y|.
**From below**, take the larger of the last two sets. For the word aa…a this is no loss: there the recursion
is an equation. By induction *no word has fewer near words of any length than aa…a*, for which they are
counted in closed form: d(aⁿ, v) = max(n, |v|) − min(n, number of a's in v).
**From above**, add the three sets up and subtract what is counted twice: y with d(u, y) ≤ ℓ−2 is in all of
them. For ℓ = 1 that is exact for the words with the most near words.
**On a model** the recursion runs along its states, M_s(n, ℓ, j) for the words that start in state s: a
symbol c leads to s_c, its three sets are added up, T_c, and the word's own symbol a is the one for which
M_{s_a}(n−1, ℓ, j−1) gains the most over T_a. No more words are near than there are.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.calibration.limits import LIMITS
from symveil.calibration.search import CertifiedRate, largest_rate
from symveil.languages.edit_distance import distance_table
from symveil.languages.graph import WordGraph
from symveil.languages.open import BoundedLanguage, OpenRuns
from symveil.numbers.conversions import STANDARD_PRECISION, ball, precision, upper_bound

Floats = NDArray[np.float64]


class BallBounds:
    """Bounds on the number of words within ℓ ≤ `within` edits of a word of n ≤ `longest` symbols, by their length.

    >>> bounds = BallBounds(symbols=3, within=1, longest=5)
    >>> bounds.fewest(4, 1, 4), bounds.most(4, 1, 4)        # four symbols, each may become one of two others
    (9, 9)
    >>> bounds.fewest(4, 1, 3), bounds.most(4, 1, 3)        # from aaaa one deletion gives one word, from abcd four
    (1, 4)
    """

    def __init__(self, *, symbols: int, within: int, longest: int) -> None:
        self._symbols = symbols
        self._most: dict[tuple[int, int, int], int] = {}
        for length in range(longest + 1):
            for edits in range(within + 1):
                # M(n, ℓ, j) asks for M(n, ℓ−1, j−1) and M(n−1, …): both are there already
                for other in range(max(0, length - edits), length + edits + 1):
                    self._most[length, edits, other] = self._bound(length, edits, other)

    def fewest(self, length: int, edits: int, other: int) -> int:
        """The number of words of `other` symbols within `edits` of aa…a: no word has fewer."""
        if edits < 0 or other < 0:
            return 0
        remaining = max(length, other) - edits  # at least so many symbols must be a, and only n of them help
        if remaining > length:
            return 0
        others = self._symbols - 1
        return sum(math.comb(other, changed) * int(others**changed) for changed in range(other - max(remaining, 0) + 1))

    def most(self, length: int, edits: int, other: int) -> int:
        """A number of words of `other` symbols within `edits` of a word that no word exceeds."""
        return self._most.get((length, edits, other), 0)

    def _bound(self, length: int, edits: int, other: int) -> int:
        everything = int(self._symbols**other)
        if length == 0 or other == 0:
            return everything if abs(length - other) <= edits else 0
        if edits == 0:
            return 1
        shared = self.fewest(length - 1, edits - 2, other - 1)
        either = self.most(length, edits - 1, other - 1) + self.most(length - 1, edits - 1, other - 1)
        far = (self._symbols - 1) * (either - 2 * shared) + self.most(length - 1, edits - 1, other) - shared
        return min(everything, self.most(length - 1, edits, other - 1) + far)


class RunBallBounds:
    """An upper bound as `BallBounds.most`, for the words of a model; in floats, rounded upwards.

    >>> import symveil as sv
    >>> roads = sv.runs_up_to(sv.load_model("examples/roads.json"), 6)
    >>> bounds = RunBallBounds(roads.graph, roads.ways, within=1, longest=6)
    >>> bounds.most(6, 1, 6)                  # the word with the most near it has 8
    21
    """

    def __init__(self, graph: WordGraph, ways: list[NDArray[Any]], *, within: int, longest: int) -> None:
        self._graph = graph
        # only ever the smaller of two numbers is taken with these, so infinity is as good as too many
        self._ways = [np.array([float(n) if n < _LARGEST_COUNT else math.inf for n in layer]) for layer in ways]
        self._none = np.zeros(graph.state_count)
        self._most: dict[tuple[int, int, int], Floats] = {}
        for length in range(longest + 1):
            for edits in range(within + 1):
                for other in range(max(0, length - edits), min(longest, length + edits) + 1):
                    self._most[length, edits, other] = self._bound(length, edits, other)

    def most(self, length: int, edits: int, other: int) -> int:
        """A number of words of `other` symbols within `edits` of a word that no word of the model exceeds."""
        # a sum of fewer than 10⁶ positive terms: a relative error below 10⁻⁹
        return math.floor(float(self._at(length, edits, other)[self._graph.start]) * (1 + 1e-9))

    def _at(self, length: int, edits: int, other: int) -> Floats:
        return self._most.get((length, edits, other), self._none)

    def _bound(self, length: int, edits: int, other: int) -> Floats:
        everything = self._ways[other]
        if length == 0 or other == 0:
            return everything if abs(length - other) <= edits else self._none
        if edits == 0:
            return np.asarray(np.minimum(everything, 1.0))
        target = self._graph.target
        after = self._at(length, edits - 1, other - 1) + self._at(length - 1, edits - 1, other - 1)
        changed = np.minimum(after, self._ways[other - 1])[target]
        own = self._at(length - 1, edits, other - 1)[target]
        gain = self._graph.sum_over(own - changed, np.maximum)
        total = self._graph.sum_over(changed) + np.maximum(gain, 0.0) + self._at(length - 1, edits - 1, other)
        return np.asarray(np.minimum(everything, total))


_LARGEST_COUNT = 10**300


_TOLERANCE = Fraction(1, 10_000)

PairsByDistance = dict[int, list[tuple[int, int]]]
"""Distance → the pairs (class of w, class of v) of words that far apart; words of a class have the same counts."""


@dataclass(frozen=True, slots=True)
class _WrittenOut:
    counts: list[tuple[int, ...]]
    pairs: PairsByDistance


def truncated_rate(
    language: BoundedLanguage, *, epsilon: Fraction, adjacency: int, cutoff: int, claimed: Fraction | None = None
) -> CertifiedRate | None:
    """The largest rate found whose proved loss is within ε; None where the classic ε/2b is not beaten.

    A rate that is `claimed` is proved in one evaluation instead; None where it loses more.
    """
    slope = max(min(adjacency, cutoff + 1, language.max_length), 1)
    small = is_small(language)
    if small:
        words = _written_out(language, adjacency=adjacency, cutoff=cutoff)
        total = language.size

        def loss_at(rate: Fraction) -> Fraction:
            return _exact_loss(words, total, rate=rate, cutoff=cutoff)
    else:
        weights = _ball_sizes(language, cutoff)

        def loss_at(rate: Fraction) -> Fraction:
            return _certified_loss(weights, language, rate=rate, adjacency=adjacency, slope=slope)

    result = largest_rate(
        loss_at,
        epsilon=epsilon,
        safe=epsilon / (2 * slope),
        slope=slope,
        limit=epsilon / slope,
        tolerance=_TOLERANCE,
        evaluations=LIMITS.now.truncated_evaluations,
        claimed=claimed,
    )
    if result is None:
        return None
    return CertifiedRate(
        rate=result.rate,
        loss=result.loss,
        how="exact" if small else "certified",
        ratio_bound=float(result.loss - slope * result.rate),
    )


def is_small(language: BoundedLanguage) -> bool:
    """Whether all pairs of words can be looked at in a second or two."""
    return (
        language.has_at_most(LIMITS.now.truncated_words)
        and (language.size * (language.max_length + 1)) ** 2 <= LIMITS.now.truncated_entries
    )


# --- small languages: every pair --------------------------------------------------------------------


def _written_out(language: BoundedLanguage, *, adjacency: int, cutoff: int) -> _WrittenOut:
    by_length = language.by_length(at_most=LIMITS.now.truncated_words)
    table = distance_table(by_length)
    counts = np.stack([(table == distance).sum(axis=1) for distance in range(cutoff + 1)], axis=1)
    classes, class_of = np.unique(counts, axis=0, return_inverse=True)
    class_of = class_of.reshape(-1)
    pairs: PairsByDistance = {}
    for distance in range(1, min(adjacency, language.max_length) + 1):
        first, second = np.nonzero(table == distance)
        both = np.unique(np.stack([class_of[first], class_of[second]], axis=1), axis=0)
        seen = pairs.setdefault(min(distance, cutoff + 1), [])
        seen += [(int(a), int(b)) for a, b in both]
    return _WrittenOut([tuple(map(int, row)) for row in classes], pairs)


def _exact_loss(words: _WrittenOut, total: int, *, rate: Fraction, cutoff: int) -> Fraction:
    with precision(STANDARD_PRECISION):
        falling = [(-ball(rate * distance)).exp() for distance in range(cutoff + 2)]
        logs = []
        for counts in words.counts:
            near = sum((count * weight for count, weight in zip(counts, falling, strict=False)), start=arb(0))
            logs.append((near + (total - sum(counts)) * falling[-1]).log())
        losses = [
            upper_bound(ball(rate * distance) + logs[after] - logs[before])
            for distance, pairs in words.pairs.items()
            for before, after in pairs
        ]
    return max(losses, default=Fraction(0))


# --- large languages: bounds for every length -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _BallSizes:
    """For each length n the fewest and the most words of the language within 0, 1 … k of a word."""

    fewest: list[list[int]]
    most: list[list[int]]


def _ball_sizes(language: BoundedLanguage, cutoff: int) -> _BallSizes:
    longest = language.max_length
    lengths, edits = range(longest + 1), range(cutoff + 1)
    near = [[range(max(0, length - e), min(longest, length + e) + 1) for e in edits] for length in lengths]
    if isinstance(language, OpenRuns):
        runs = RunBallBounds(language.graph, language.ways, within=cutoff, longest=longest)
        of_length = language.sizes
        return _BallSizes(
            # the word itself; whether there are others near it depends on the model
            fewest=[[1] * (cutoff + 1) for _ in lengths],
            most=[[sum(min(runs.most(n, e, j), of_length[j]) for j in near[n][e]) for e in edits] for n in lengths],
        )
    bounds = BallBounds(symbols=len(language.alphabet), within=cutoff, longest=longest)
    return _BallSizes(
        fewest=[[sum(bounds.fewest(n, e, j) for j in near[n][e]) for e in edits] for n in lengths],
        most=[[sum(bounds.most(n, e, j) for j in near[n][e]) for e in edits] for n in lengths],
    )


def _certified_loss(
    sizes: _BallSizes, language: BoundedLanguage, *, rate: Fraction, adjacency: int, slope: int
) -> Fraction:
    with precision(STANDARD_PRECISION):
        steps = len(sizes.most[0])
        falling = [(-ball(rate * distance)).exp() for distance in range(steps + 1)]
        drop = [falling[edits] - falling[edits + 1] for edits in range(steps)]
        rest = language.size * falling[-1]

        def weight(counts: list[int]) -> arb:
            return sum((count * step for count, step in zip(counts, drop, strict=True)), start=rest)

        lowest = [upper_bound(-weight(counts).log()) for counts in sizes.fewest]
        highest = [upper_bound(weight(counts).log()) for counts in sizes.most]
    spread = max(low + high for low, high in zip(lowest, _largest_near(highest, adjacency), strict=True))
    # both words of a pair may play either part, so the spread is that of ln Z(v)/Z(w) in both directions
    return rate * slope + min(max(spread, Fraction(0)), rate * slope)


def _largest_near(values: list[Fraction], reach: int) -> list[Fraction]:
    """For each place the largest of the values at most `reach` places away, in time that does not grow with `reach`."""
    fractions: list[Fraction] = []
    falling: deque[int] = deque()  # places of values that no later one in reach has surpassed yet
    following = 0
    for index in range(len(values)):
        while following < min(len(values), index + reach + 1):
            while falling and values[falling[-1]] <= values[following]:
                falling.pop()
            falling.append(following)
            following += 1
        if falling[0] < index - reach:
            falling.popleft()
        fractions.append(values[falling[0]])
    return fractions
