"""What a mechanism loses between two words, as a distribution: for accounting, and for groups of any size.

A *pair of laws* is P(·|x) against P(·|x'). Its loss at an outcome y is ln P(y|x) − ln P(y|x'), and
δ(ε) = Σ P(y|x)(1 − e^{ε−loss})⁺ is how far the pair is from ε-private. Where the law depends on distances alone, and
every word looks alike, outcomes with the same two distances are counted together (docs/theory/losses.md); where
there are few words all of them are looked at. Losses and chances are rounded upwards by more than the error of their
floats: what comes out is a pair that is at least as easy to tell apart.

A mechanism as other libraries expect one: a measurement of OpenDP, a loss distribution of dp-accounting. Neither
library is needed to use symveil; each is imported when it is asked for. What they are given is never less than what a
mechanism loses: losses and chances are rounded upwards, and where the law is not known beyond its ε they get the worst
that this ε allows.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError, SymveilError
from symveil.laws.law import Law
from symveil.laws.limits import LIMITS
from symveil.models.alphabet import FAR, Codes, Metric, Word

ROUNDING = 1e-11
"""Above the error of a logarithm of a probability, or of a count: relative, and absolute where it is below 1."""


@dataclass(frozen=True, slots=True)
class PairLosses:
    """The losses of one pair of laws and their chances, rising; both rounded upwards."""

    losses: NDArray[np.float64]
    chances: NDArray[np.float64]

    @property
    def largest(self) -> float:
        """The largest loss that occurs; infinite where some outcome gives a word away."""
        return float(self.losses[-1]) if len(self.losses) else 0.0

    def at_most(self, epsilon: float) -> PairLosses:
        """The same with no loss above ε, which is proved: what is above it is rounding."""
        return PairLosses(np.minimum(self.losses, epsilon), self.chances)

    def delta(self, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
        """δ(ε) for each ε, rounded upwards; 0 where no loss is larger."""
        results = np.zeros(len(epsilon))
        for at, value in enumerate(epsilon.tolist()):
            first = int(np.searchsorted(self.losses, value, side="right"))
            if first < len(self.losses):
                results[at] = -np.dot(np.expm1(value - self.losses[first:]), self.chances[first:])
        return np.minimum(results, 1.0)


def pair_losses(
    log_one: NDArray[np.float64], log_other: NDArray[np.float64], log_counts: NDArray[np.float64]
) -> PairLosses:
    """The losses of a pair, from ln P of an outcome under each law, and the logarithm of how many there are.

    >>> half = math.log(0.5)
    >>> two = pair_losses(np.array([half, half]), np.array([math.log(0.25), math.log(0.75)]), np.zeros(2))
    >>> [round(loss, 6) for loss in two.losses.tolist()]      # ln(2/3) and ln 2
    [-0.405465, 0.693147]
    """
    occurs = np.isfinite(log_one)
    one, other, counts = log_one[occurs], log_other[occurs], log_counts[occurs]
    sizes = np.maximum(np.abs(one), np.where(np.isfinite(other), np.abs(other), 0.0))
    losses = one - other + ROUNDING * np.maximum(1.0, sizes)
    chances = np.exp(one + counts) * (1 + ROUNDING * np.maximum(1.0, np.abs(one) + np.abs(counts)))
    levels, group = np.unique(losses, return_inverse=True)
    sums = np.bincount(group.reshape(-1), weights=chances, minlength=len(levels)).astype(np.float64)
    return PairLosses(levels, sums)


def by_distances(log_weights: NDArray[np.float64], symbols: int, apart: int) -> PairLosses | None:
    """The losses between two words of Σⁿ that differ in `apart` places, where ln P(y|x) is `log_weights[d(x, y)]`.

    Of the places where x and x' differ, y has x's symbol in i, that of x' in j and another one in the rest; of the
    other places it differs in k. So d(x, y) = apart − i + k and d(x', y) = apart − j + k, and such y are counted.
    None: too many kinds of them.

    `log_weights` are ln P of one word at distance 0, 1 … n; the words differ in `apart` places.
    """
    length = len(log_weights) - 1
    rest = length - apart
    if (apart + 1) * (apart + 2) // 2 * (rest + 1) > LIMITS.now.pair_outcomes:
        return None
    same = [math.log(math.comb(rest, k)) + (k * math.log(symbols - 1)) for k in range(rest + 1)]
    rows: list[tuple[float, float, float]] = []
    for i in range(apart + 1):
        for j in range(apart + 1 - i):
            others = apart - i - j
            if others and symbols == 2:
                continue
            ways = math.log(math.comb(apart, i) * math.comb(apart - i, j)) + (others and others * math.log(symbols - 2))
            rows += [
                (log_weights[apart - i + k], log_weights[apart - j + k], ways + same[k]) for k in range(rest + 1)
            ]  # fmt: skip
    one, other, counts = (np.array(column) for column in zip(*rows, strict=True))
    return pair_losses(one, other, counts)


def worst_by_distances(log_weights: NDArray[np.float64], apart: int) -> float:
    """The largest loss between words of Σⁿ that differ in at most `apart` places, rounded upwards.

    For y at distance ℓ from x and ℓ + g from x', g at most `apart`, there are words x and x' that differ in g places
    only: so every such pair of distances occurs.

    `log_weights` are ln P of one word at distance 0, 1 … n.
    """
    worst = 0.0
    for gap in range(1, min(apart, len(log_weights) - 1) + 1):
        for first, second in ((log_weights[:-gap], log_weights[gap:]), (log_weights[gap:], log_weights[:-gap])):
            occurs = np.isfinite(first)
            if occurs.any():
                sizes = np.maximum(np.abs(first), np.where(np.isfinite(second), np.abs(second), 0.0))[occurs]
                rounded = first[occurs] - second[occurs] + ROUNDING * np.maximum(1.0, sizes)
                worst = max(worst, float(np.max(rounded)))
    return worst


def enumerated(law: Law, apart: int | None = None) -> Iterator[PairLosses]:
    """The losses of every pair of words at most `apart` apart (the law's adjacency), in both directions.

    For a language of few words, whose released words can all be written down.
    """
    within = law.adjacency if apart is None else apart
    same_length = law.metric == "hamming"  # words of different lengths are never adjacent then
    words = [row for rows in law.inputs(at_most=LIMITS.now.paired_words) for row in rows]
    released = law.outputs(at_most=LIMITS.now.paired_words * 64)
    laws = [np.concatenate([law.log_probabilities(word, rows) for rows in released]) for word in words]
    nothing = np.zeros(len(laws[0])) if laws else np.zeros(0)
    for one, word in enumerate(words):
        for other, second in enumerate(words):
            if one == other or (same_length and len(word) != len(second)):
                continue
            distance = int(law.distance(word, second[None, :])[0])
            if distance != FAR and distance <= within:
                yield pair_losses(laws[one], laws[other], nothing)


def largest_losses(law: Law) -> NDArray[np.float64]:
    """The largest loss of two words at each distance 0, 1 …, rounded upwards, for a language of few words."""
    groups = [rows for rows in law.inputs(at_most=LIMITS.now.paired_words) if len(rows)]
    released = law.outputs(at_most=LIMITS.now.paired_words * 64)
    laws = [
        np.array([np.concatenate([law.log_probabilities(word, rows) for rows in released]) for word in group])
        for group in groups
    ]
    if any(np.isnan(each).any() for each in laws):
        return np.array([np.inf])  # a law that floats cannot hold says nothing about its losses
    largest = np.zeros(1)
    for group, own in zip(groups, laws, strict=True):
        for word, log_one in zip(group, own, strict=True):
            for others, log_others in zip(groups, laws, strict=True):
                if law.metric == "hamming" and others.shape[1] != group.shape[1]:
                    continue
                with np.errstate(invalid="ignore", over="ignore"):  # −∞ − (−∞) where neither can be released
                    loss = np.where(np.isneginf(log_one), -np.inf, log_one - log_others).max(axis=1)
                loss = np.maximum(loss, 0.0) + ROUNDING * np.maximum(np.abs(loss), 1.0)
                distance = law.distance(word, others)
                near = (distance != FAR) & (distance > 0)
                if near.any():
                    size = int(distance[near].max()) + 1
                    largest = np.pad(largest, (0, max(0, size - len(largest))))
                    np.maximum.at(largest, distance[near], loss[near])
    return largest


def worst_deltas(pairs: Sequence[PairLosses], epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest δ(ε) of several pairs for each ε."""
    largest: NDArray[np.float64] = np.max([pair.delta(epsilon) for pair in pairs], axis=0)
    return largest


def pairs_by_distances(log_weights: NDArray[np.float64], symbols: int, reach: int) -> list[PairLosses] | None:
    """The losses of words of Σⁿ that differ in 1 to `reach` places; None: too many kinds of outcomes."""
    results = []
    for apart in range(1, reach + 1):
        pair = by_distances(log_weights, symbols, apart)
        if pair is None:
            return None
        results.append(pair)
    return results


def listed_pairs(law: Law, apart: int) -> list[PairLosses] | None:
    """The losses of every pair of words at most so far apart; None: too many words, or none that can be listed."""
    if law.largest_output is None:
        return None
    results: list[PairLosses] = []
    try:
        for pair in enumerated(law, apart):
            results.append(pair)
            if len(results) > LIMITS.now.listed_pairs:
                return None
    except SymveilError:
        return None
    return results


# --- for other libraries ------------------------------------------------------------------------


def privacy_loss_distribution(law: Law, pairs: list[PairLosses] | None, interval: float) -> Any:
    """The distribution of the loss for dp-accounting, pessimistic: of pairs of laws, or of ε alone without them."""
    if not isinstance(interval, float | int) or not 0 < interval <= 1:
        raise ParameterError("value_discretization_interval", expected="a number above 0, at most 1", found=interval)
    pld = _library("dp_accounting.pld.privacy_loss_distribution", "dp-accounting")
    epsilon = law.guarantee.epsilon
    if law.guarantee.delta:
        pairs = None
    pairs = pairs and [pair.at_most(epsilon) for pair in pairs]
    largest = max((pair.largest for pair in pairs), default=0.0) if pairs is not None else epsilon
    if pairs is None or not pairs or not math.isfinite(largest):
        if not math.isfinite(epsilon):
            raise ParameterError("mechanism", expected="one whose loss is bounded", found=law.name)
        common = _library("dp_accounting.pld.common", "dp-accounting")
        parameters = common.DifferentialPrivacyParameters(epsilon, float(law.guarantee.delta))
        return pld.from_privacy_parameters(parameters, value_discretization_interval=interval)
    dots = _library("dp_accounting.pld.pld_pmf", "dp-accounting")
    top = max(1, math.ceil(largest / interval))
    steps = np.unique(np.rint(np.linspace(-top, top, min(2 * top + 1, LIMITS.now.loss_values))).astype(np.int64))
    deltas = worst_deltas(pairs, np.asarray(steps * interval, dtype=np.float64))
    deltas[-1] = 0.0  # no loss is above the last step
    return pld.PrivacyLossDistribution(dots.create_pmf_pessimistic_connect_dots(interval, steps, deltas))


def opendp_measurement(
    metric: Metric, encode: Callable[[Word], Codes], release: Callable[[Word], Word], loss_at: Callable[[int], float]
) -> Any:
    """A mechanism as a measurement of OpenDP, which takes the words that `encode` does not refuse."""
    dp = _library("opendp.prelude", "opendp")

    def is_word(word: Word) -> bool:
        try:
            encode(word)
        except SymveilError:
            return False
        return True

    return dp.m.make_user_measurement(
        dp.user_domain("symveil words", is_word),
        dp.user_distance("Hamming distance" if metric == "hamming" else "Levenshtein distance"),
        dp.max_divergence(),
        release,
        lambda distance: loss_at(int(distance)),
    )


def most_right(loss: float, before: float) -> float:
    """B(e, p): how often a guess can be right that was right with chance p before, rounded upwards.

    No two of the words make anything more than e^e times as likely (`loss` is e), and p is `before`, the chance of the
    likeliest guess among these words.

    >>> round(most_right(2.0, 1 / 3), 3), most_right(0.0, 0.25) < 0.25001, most_right(math.inf, 0.1)
    (0.787, True, 1.0)
    """
    return float(most_right_of(loss, np.array([before]))[0])


def most_right_of(loss: float, before: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same for many chances p."""
    # p/(p + (1 − p)e^{−e}): the same without a large power
    return np.minimum(before / (before + (1 - before) * math.exp(-loss)) * (1 + 1e-12), 1.0)


def _library(name: str, package: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise ParameterError(
            "library", expected=f"{package} to be installed (pip install {package})", found="none"
        ) from None
