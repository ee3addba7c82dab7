"""The exact loss of a small language: every Z(w), every adjacent pair (docs/theory/certificates.md).

N_w(ℓ), the weight of the words at distance ℓ from w, does not depend on the rate; it is collected
once over all pairs. At a rate, Z(w) = Σ N_w(ℓ) z^ℓ, and the loss is the largest
η·d + ln Z(v)/Z(w) over pairs at distance d ≤ b. All terms are positive, so their relative rounding
error is at most the number of operations times 2⁻⁵³, and the result is rounded up by more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from symveil.languages.compiling import compiled
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage

MOST_WORDS = 10_000
_SMALLEST = 2.0**-900

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class WrittenOut:
    """Every word, in groups that are compared, with the weight of the words at each distance from it."""

    codes: Codes
    group: NDArray[np.int32]
    weight_at: Floats  # N_w(ℓ), with a relative error of at most `operations`·2⁻⁵³
    operations: int


def written_out(
    language: RunLanguage, *, with_prior: bool = False, balance: Fraction | None = None
) -> WrittenOut | None:
    """All words of a language of at most `MOST_WORDS` words; None where a word's prior leaves the range of floats.

    Parameters
    ----------
    language
        The words.
    with_prior
        Whether they are weighted by the model's probabilities.
    balance
        The rate that words are balanced for (`languages/run_weights.py`); None: they are not.
    """
    codes = np.ascontiguousarray(language.enumerate_codes(at_most=MOST_WORDS))
    group = np.zeros(len(codes), dtype=np.int32)
    if language.public_start and language.length:
        group = codes[:, 0].copy()
    operations = len(codes) + 2 * language.length + 4
    if balance is None:
        weight = _word_weights(language, codes, with_prior=with_prior)
    else:
        logs = RunWeights(language=language, rate=balance, balance=balance).log_prior(codes)
        weight = np.exp(logs)
        # n logarithms and their sum, each with an error in units of the last place of the largest
        operations += math.ceil(4 * (language.length + 2) * (1 + float(np.abs(logs).max(initial=0.0))))
    if weight.min() < _SMALLEST:
        return None
    return WrittenOut(codes, group, _weights_by_distance(codes, group, weight), operations=operations)


def exact_loss(words: WrittenOut, *, rate: Fraction, adjacency: int) -> Fraction:
    """The loss of adjacent words at a rate, rounded up by less than 10⁻¹⁰ where rates times lengths are below 10³."""
    return max(exact_losses(words, rate=rate, farthest=adjacency).values(), default=Fraction(0))


def exact_losses(words: WrittenOut, *, rate: Fraction, farthest: int) -> dict[int, Fraction]:
    """The largest loss of two words at each distance that occurs, up to `farthest`; rounded up as above."""
    length = words.codes.shape[1]
    present = words.weight_at > 0
    with np.errstate(divide="ignore"):
        terms = np.log(words.weight_at) - float(rate) * np.arange(length + 1)
    top = terms.max(axis=1)
    log_total = top + np.log(np.exp(terms - top[:, None]).sum(axis=1))
    # Relative errors of the weights, of the sum, and of each logarithm and exponent in units of the
    # last place of the largest; twice, as two words are compared; times two, to be on the safe side.
    scale = 2.0 + float(np.abs(terms[present]).max(initial=0.0))
    widening = Fraction(4 * (words.operations + length + 8 * scale)) / 2**52
    largest = _largest_differences(words.codes, words.group, log_total, min(farthest, length))
    return {
        distance: rate * distance + Fraction(ratio) + widening
        for distance, ratio in enumerate(largest.tolist())
        if distance > 0 and ratio >= 0
    }


def _word_weights(language: RunLanguage, codes: Codes, *, with_prior: bool) -> Floats:
    """T(w) of every word: the product over its edges."""
    graph = language.graph
    weights = RunWeights(language=language, rate=Fraction(1), with_prior=with_prior).edge_weights
    total = np.ones(len(codes))
    if not with_prior or graph.prior is None:
        return total
    keys = np.repeat(np.arange(graph.state_count, dtype=np.int64), np.diff(graph.first)) * len(graph.alphabet)
    keys += graph.symbol
    states = language.walk(codes).astype(np.int64)
    for position in range(1 if language.public_start else 0, language.length):
        total *= weights[np.searchsorted(keys, states[:, position] * len(graph.alphabet) + codes[:, position])]
    return total


@compiled
def _weights_by_distance(codes: Codes, group: NDArray[np.int32], weight: Floats) -> Floats:
    """N_w(ℓ) for every word w: the sum of the weights of the words at distance ℓ."""
    count, length = codes.shape
    sums = np.zeros((count, length + 1))
    for i in range(count):
        sums[i, 0] += weight[i]
        for j in range(i):
            if group[i] == group[j]:
                distance = 0
                for k in range(length):
                    distance += codes[i, k] != codes[j, k]
                sums[i, distance] += weight[j]
                sums[j, distance] += weight[i]
    return sums


@compiled
def _largest_differences(codes: Codes, group: NDArray[np.int32], value: Floats, limit: int) -> Floats:
    """For each distance up to `limit` the largest |value[i] − value[j]| of two words that far apart."""
    count, length = codes.shape
    largest = np.full(limit + 1, -np.inf)
    for i in range(count):
        for j in range(i):
            if group[i] == group[j]:
                distance = 0
                for k in range(length):
                    if codes[i, k] != codes[j, k]:
                        distance += 1
                        if distance > limit:
                            break
                if distance <= limit:
                    largest[distance] = max(largest[distance], abs(value[i] - value[j]))
    return largest
