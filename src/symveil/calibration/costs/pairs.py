"""Pairs of words and what they lose, in floats: they tell a search for a rate how much can be left to find.

See docs/theory/certificates.md, *Refinement*. A pair of feasible adjacent words loses at least what the released word
that is one of them shows. Pairs that a search over blocks found differ in one block; changing them a symbol at a time,
both words alike or one of them alone, finds pairs that lose more, also with several blocks.

Nothing is assumed about how the loss depends on the rate: the smallest rate at which a known pair loses more than ε is
a limit for any proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from symveil.calibration.answers import remembered
from symveil.calibration.limits import LIMITS
from symveil.calibration.search import rounded_down
from symveil.calibration.weighting import Weighting
from symveil.languages.costs import INFINITE
from symveil.languages.run_laws import log_totals
from symveil.languages.runs import RunLanguage
from symveil.laws.protection import public_words
from symveil.models.alphabet import Codes
from symveil.numbers.progress import listener, silent

Floats = NDArray[np.float64]
Pair = tuple[Codes, Codes]


def pair_losses(weighting: Weighting, rate: Fraction, words: Codes, others: Codes) -> Floats:
    """What each row of `words` and the same row of `others` lose at a rate, at least, in floats.

    >>> import symveil as sv
    >>> from symveil.languages.costs import hamming
    >>> chain = sv.MarkovChain.from_transitions([(a, b, "1/2") for a in "ab" for b in "ab"])
    >>> words = sv.runs(chain, length=3)
    >>> weighting = Weighting(language=words, cost=hamming(words), adjacency=1)
    >>> pair_losses(weighting, Fraction(2), words.encode("aaa")[None, :], words.encode("aba")[None, :]).tolist()
    [2.0]
    """
    cost, language = weighting.cost, weighting.language
    value = np.array([*(float(each) for each in cost.values), np.inf])
    total = np.zeros(len(words))
    for position in range(1 if language.public_start else 0, words.shape[1]):
        levels = cost.levels(position, words[:, position], others[:, position])
        total += value[np.where(levels == INFINITE, len(value) - 1, levels)]
    drop = total if cost.period == 1 else np.floor((total + cost.start_phase) / cost.period)
    logs = log_totals(weighting.weights(rate), np.concatenate([words, others]))
    one, two = logs[: len(words)], logs[len(words) :]
    # a total that floats cannot hold says nothing; whatever it is, the pair loses what its weights differ by
    held = np.isfinite(one) & np.isfinite(two)
    return np.asarray(float(rate) * drop + np.abs(np.subtract(one, two, out=np.zeros(len(words)), where=held)))


def worse_pair(weighting: Weighting, rate: Fraction, pair: Pair) -> tuple[float, Pair]:
    """A pair that loses at least as much as this one, found by changing a symbol at a time, and what it loses."""
    language = weighting.language
    best = float(pair_losses(weighting, rate, pair[0][None, :], pair[1][None, :])[0])
    for _ in range(
        LIMITS.now.climbing_rounds if language.length * len(language.alphabet) <= LIMITS.now.climbing_symbols else 0
    ):
        words, others = _changed(language, pair, weighting.adjacency)
        if not len(words):
            break
        result = pair_losses(weighting, rate, words, others)
        top = int(result.argmax())
        if not result[top] > best * (1 + 1e-9):
            break
        best, pair = float(result[top]), (words[top], others[top])
    return best, pair


def pairs_of_public_words(weighting: Weighting, rate: Fraction) -> list[Pair]:
    """Pairs that lose much at a rate, found from a few words of the public model; none where no words are adjacent.

    >>> import symveil as sv
    >>> from symveil.languages.costs import hamming
    >>> words = sv.runs(sv.MarkovChain.from_transitions([(a, b, "1/2") for a in "ab" for b in "ab"]), length=3)
    >>> weighting = Weighting(language=words, cost=hamming(words), adjacency=1)
    >>> [int((one != two).sum()) for one, two in pairs_of_public_words(weighting, Fraction(2))]
    [1, 1, 1]
    """
    return list(_pairs_of_public_words(weighting, rate))


@remembered(16)  # first the choice of a mechanism needs them, then its certificate
def _pairs_of_public_words(weighting: Weighting, rate: Fraction) -> list[Pair]:
    words = public_words(weighting.language, LIMITS.now.climbing_words)
    progress = listener("looking for words that lose much") or silent
    pairs = []
    for number, word in enumerate(words):
        progress(number, len(words))
        pairs.append(worse_pair(weighting, rate, (word, word))[1])
    return [(one, two) for one, two in pairs if (one != two).any()]


def rate_ruled_out(
    weighting: Weighting, epsilon: Fraction, pairs: Sequence[Pair], limit: Fraction, *, digits: int = 4
) -> Fraction:
    """A rate at which one of the pairs loses more than ε, to so many digits; `limit` where none does there.

    No rate above `limit` is of use.

    >>> import symveil as sv
    >>> from symveil.languages.costs import hamming
    >>> words = sv.runs(sv.MarkovChain.from_transitions([(a, b, "1/2") for a in "ab" for b in "ab"]), length=3)
    >>> weighting = Weighting(language=words, cost=hamming(words), adjacency=1)
    >>> pairs = pairs_of_public_words(weighting, Fraction(1))
    >>> round(float(rate_ruled_out(weighting, Fraction(1), pairs, Fraction(2))), 3)
    1.0
    """
    if not pairs:
        return limit
    words, others = np.stack([one for one, _ in pairs]), np.stack([two for _, two in pairs])
    if pair_losses(weighting, limit, words, others).max() <= epsilon:
        return limit
    low, high = epsilon / (2 * weighting.drops), limit
    while high - low > low / 10**digits:
        middle = rounded_down((low + high) / 2)
        if pair_losses(weighting, middle, words, others).max() > epsilon:
            high = middle
        else:
            low = middle
    return high


def _changed(language: RunLanguage, pair: Pair, adjacency: int) -> tuple[Codes, Codes]:
    """All adjacent pairs of feasible words that have one symbol changed, in both words alike or in one of them."""
    begin, letters = (1 if language.public_start else 0), len(language.alphabet)
    symbols, rows = [], []
    for word in pair:
        changed = np.repeat(word[None, :], (language.length - begin) * letters, axis=0)
        index = np.repeat(np.arange(begin, language.length), letters)
        changed[np.arange(len(changed)), index] = np.tile(np.arange(letters, dtype=np.int32), language.length - begin)
        possible = is_feasible(language, changed)
        rows.append(changed)
        symbols.append(possible)
    both = symbols[0] & symbols[1]
    one, other = pair
    words = np.concatenate([rows[0][both], rows[0][symbols[0]], np.repeat(one[None, :], int(symbols[1].sum()), axis=0)])
    others = np.concatenate(
        [rows[1][both], np.repeat(other[None, :], int(symbols[0].sum()), axis=0), rows[1][symbols[1]]]
    )
    differ = (words != others).sum(axis=1)
    near = (differ > 0) & (differ <= adjacency)
    return words[near][: LIMITS.now.climbing_candidates], others[near][: LIMITS.now.climbing_candidates]


def is_feasible(language: RunLanguage, codes: Codes) -> NDArray[np.bool_]:
    """Which rows are words of the language."""
    graph, size = language.graph, len(language.alphabet)
    keys = graph.source * size + graph.symbol
    state = np.full(len(codes), graph.start, dtype=np.int64)
    there = np.ones(len(codes), dtype=np.bool_)
    for position in range(codes.shape[1]):
        wanted = state * size + codes[:, position]
        edge = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        there &= keys[edge] == wanted
        state = np.where(there, graph.target[edge], graph.start).astype(np.int64)
    return np.asarray(there & graph.accepting[state])
