"""The loss of the truncated exponential mechanism over words of different lengths (docs/theory/levenshtein-balls.md).

P(w'|w) = r(min(d, k+1))/Z(w), r(ℓ) = e^{−ηℓ}, d the Levenshtein distance. Every word can be released, the
true one included, so the loss of a pair is *exactly* η·min(d(w,v), k+1) + ln Z(v)/Z(w). The classic bound
takes the second term to be as large as the first. It is usually far smaller: with |B_ℓ(w)| words within ℓ
of w and T words in all, Z(w) = Σ_{ℓ≤k} |B_ℓ(w)|(r(ℓ) − r(ℓ+1)) + T·r(k+1), and
  small languages: every word's counts and every adjacent pair are looked at, so the loss is exact;
  others: |B_ℓ(w)| is bounded below and above for all words of a length (`levenshtein_balls`), and words at
  distance at most b have lengths at most b apart, so the loss is certified.
The largest η is taken whose proved loss is within ε; it lies between ε/2b and ε/b.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb

from symveil.calibration.certificate import CertifiedRate
from symveil.calibration.levenshtein_balls import BallBounds, RunBallBounds
from symveil.calibration.search import largest_rate
from symveil.languages.edit_distance import distance_table
from symveil.languages.open import BoundedLanguage, OpenRuns
from symveil.numbers.conversions import STANDARD_PRECISION, ball, precision, upper_bound

MOST_WORDS = 1500
"""Up to this many words a language is written out and its loss is exact."""

_TOLERANCE = Fraction(1, 10_000)
_EVALUATIONS = 40
_MOST_ENTRIES = 10**9

PairsByDistance = dict[int, list[tuple[int, int]]]
"""Distance → the pairs (class of w, class of v) of words that far apart; words of a class have the same counts."""


@dataclass(frozen=True, slots=True)
class _WrittenOut:
    counts: list[tuple[int, ...]]
    pairs: PairsByDistance


def truncated_rate(
    language: BoundedLanguage, *, epsilon: Fraction, adjacency: int, cutoff: int
) -> CertifiedRate | None:
    """The largest rate found whose proved loss is within ε; None where the classic ε/2b is not beaten."""
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

    found = largest_rate(
        loss_at,
        epsilon=epsilon,
        safe=epsilon / (2 * slope),
        slope=slope,
        limit=epsilon / slope,
        tolerance=_TOLERANCE,
        evaluations=_EVALUATIONS,
    )
    if found is None:
        return None
    return CertifiedRate(
        rate=found.rate,
        loss=found.loss,
        how="exact" if small else "certified",
        ratio_bound=float(found.loss - slope * found.rate),
    )


def is_small(language: BoundedLanguage) -> bool:
    """Whether all pairs of words can be looked at in a second or two."""
    return language.has_at_most(MOST_WORDS) and (language.size * (language.max_length + 1)) ** 2 <= _MOST_ENTRIES


# --- small languages: every pair --------------------------------------------------------------------


def _written_out(language: BoundedLanguage, *, adjacency: int, cutoff: int) -> _WrittenOut:
    by_length = language.by_length(at_most=MOST_WORDS)
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
    found: list[Fraction] = []
    falling: deque[int] = deque()  # places of values that no later one in reach has surpassed yet
    following = 0
    for place in range(len(values)):
        while following < min(len(values), place + reach + 1):
            while falling and values[falling[-1]] <= values[following]:
                falling.pop()
            falling.append(following)
            following += 1
        if falling[0] < place - reach:
            falling.popleft()
        found.append(values[falling[0]])
    return found
