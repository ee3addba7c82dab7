"""What an attacker learns who sees several private versions of one word, whose losses add up.

Three ways, as for one version. On Σⁿ with the exponential mechanism every symbol is drawn by itself, and the best guess
is the symbol that most versions have. A small language is written out: all sets of versions where there are few, else
sets that are drawn, each with the best guess. On a large model an attacker is played who weighs words by the product of
what they weigh around each version. What the promise allows at most has the loss times the number of versions.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.languages.run_draws import draw_rows
from symveil.languages.run_laws import likeliest_symbols
from symveil.languages.runs import RunLanguage
from symveil.mechanisms.attacker import AttackerView, Guess, attacker_view, drawn_words, law_of_all, written_out
from symveil.mechanisms.attacker_windows import Floats, mean_interval
from symveil.mechanisms.exponential import hamming_rate
from symveil.mechanisms.limits import LIMITS
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.alphabet import Codes
from symveil.randomness import NotPrivateSeededBits

_SEED = 31  # public: of what is drawn for words of the public model


def attacker_of_versions(mechanism: Mechanism, count: int) -> AttackerView | None:
    """How often an attacker is right who sees `count` private versions of the same word. Nothing secret is read.

    None where `attacker_view` has no answer. A person's *different* words are guessed one by one: each as with one
    version, and what one of them says about another is at most what the sum of their losses allows.

    At most 100 versions are looked at.

    >>> import symveil as sv
    >>> mechanism = sv.Exponential(sv.words("abc", 4), epsilon=1)
    >>> [round(attacker_of_versions(mechanism, count).symbol.after, 3) for count in (1, 3, 10)]
    [0.576, 0.665, 0.858]
    """
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= LIMITS.now.versions:
        raise ParameterError("count", expected=f"a whole number from 1 to {LIMITS.now.versions}", found=count)
    one = attacker_view(mechanism, versions=count)
    if one is None or count == 1:
        return one
    one = replace(one, versions=count)
    language, rate = mechanism.language, hamming_rate(mechanism.law)
    if language.homogeneous and rate is not None:
        right = plurality_right(len(mechanism.alphabet), float(rate), count)
        symbol = Guess(one.symbol.before, right)
        word = Guess(one.word.before, right ** (mechanism.length or 0))
        return replace(one, symbol=symbol, first=symbol, last=symbol, word=word)
    words = written_out(mechanism)
    if words is not None:
        return _enumerated(mechanism, *words, one, count)
    if language.runs is None:
        return replace(one, how="at-least", by_first_version=True)
    return _played(mechanism, language.runs, one, count)


def plurality_right(size: int, rate: float, count: int) -> float:
    """How often the symbol that most of `count` versions have is the true one; a tie is broken evenly.

    A version has the true symbol with chance q = e^η/(e^η + m − 1), and each other one equally likely. With j true
    ones the others are n = count − j balls in m − 1 boxes. With A = Σ_{i≤j} x^i/i! and B = Σ_{i<j} x^i/i! the chance
    that no box has more than j, shared evenly among ties, is n!/(m − 1)^n times the coefficient of x^n in
    (A^m − B^m)/(m(A − B)) = Σ_t A^t B^{m−1−t}/m: sums of positive numbers, by doubling.

    m is `size`, η is `rate`.

    >>> round(plurality_right(3, 1.0, 1), 6) == round(math.e / (math.e + 2), 6)
    True
    """
    if size == 1:
        return 1.0
    wrong = (size - 1) / (math.exp(rate) + size - 1)
    logs = np.array([math.lgamma(i + 1) for i in range(count + 1)])
    total = 0.0
    for hits in range(1, count + 1):
        rest = count - hits
        # in x/(m − 1), so that n! times a coefficient is a chance
        series = np.exp(-logs[: rest + 1] - np.arange(rest + 1) * math.log(size - 1))
        least, most = series.copy(), series.copy()
        least[hits:], most[hits + 1 :] = 0.0, 0.0
        alike = float(_mixed_powers(most, least, size)[rest]) * math.exp(logs[rest]) / size
        chance = logs[count] - logs[hits] - logs[rest] + hits * math.log1p(-wrong) + rest * math.log(wrong)
        total += math.exp(chance) * alike
    return min(total, 1.0)


def _mixed_powers(one: Floats, other: Floats, count: int) -> Floats:
    """Σ_{t<count} one^t·other^{count−1−t} as power series up to the same degree, by doubling."""
    degree = len(one)

    def times(left: Floats, right: Floats) -> Floats:
        return np.asarray(np.convolve(left, right)[:degree])

    unit = np.zeros(degree)
    unit[0] = 1.0
    sums, powers = np.zeros(degree), (unit, unit)  # for 0 terms
    for digit in bin(count)[2:]:
        sums = times(sums, powers[0] + powers[1])
        powers = (times(powers[0], powers[0]), times(powers[1], powers[1]))
        if digit == "1":
            sums = times(sums, one) + powers[1]
            powers = (times(powers[0], one), times(powers[1], other))
    return sums


# --- small languages -----------------------------------------------------------------------------


def _enumerated(mechanism: Mechanism, words: Codes, released: Codes, one: AttackerView, count: int) -> AttackerView:
    """The best guess with each set of versions: over all sets, or over drawn ones."""
    begin = int(mechanism.language.public_start)
    with np.errstate(divide="ignore"):
        logs = np.log(law_of_all(mechanism, words, released))
    exact = math.comb(len(released) + count - 1, count) <= LIMITS.now.version_sets
    sets = _all_sets(len(released), count) if exact else _drawn_sets(logs, count)
    columns = [
        np.concatenate(parts)
        for parts in zip(*(_best(logs, part, words, begin) for part in _pieces(sets, len(words))), strict=True)
    ]
    total, word, *symbols = columns
    if exact:  # Σ over sets of (orders of the set) · max_y Σ_{w: w_i=y} π(w) Π P(o_j|w)
        orders = np.exp(_log_orders(sets))
        after = [float(orders @ (total * column)) for column in symbols]
        whole, interval = float(orders @ (total * word)), None
    else:  # the mean chance of the likeliest answer is how often it is right
        after = [float(column.mean()) for column in symbols]
        whole, interval = float(word.mean()), mean_interval(float(np.mean(after)), len(sets))
    return replace(
        one,
        symbol=Guess(one.symbol.before, float(np.mean(after))),
        first=Guess(one.first.before, after[0]),
        last=Guess(one.last.before, after[-1]),
        word=Guess(one.word.before, whole),
        how="exact" if exact else "at-least",
        interval=interval,
    )


def _all_sets(outputs: int, count: int) -> NDArray[np.int64]:
    return np.array(list(combinations_with_replacement(range(outputs), count)), dtype=np.int64)


def _drawn_sets(logs: Floats, count: int) -> NDArray[np.int64]:
    """Versions of words that are drawn alike, by fixed bits; the words themselves are not needed any more."""
    bits = NotPrivateSeededBits(_SEED)
    points = bits.fractions(LIMITS.now.version_draws * (count + 1)).reshape(LIMITS.now.version_draws, count + 1)
    word = (points[:, 0] * len(logs)).astype(np.int64)
    sums = np.cumsum(np.exp(logs), axis=1)
    return np.array(
        [np.searchsorted(sums[at], row[1:] * sums[at, -1], side="right") for at, row in zip(word, points, strict=True)]
    )


def _pieces(sets: NDArray[np.int64], words: int) -> list[NDArray[np.int64]]:
    step = max(1, LIMITS.now.version_entries // words)
    return [sets[start : start + step] for start in range(0, len(sets), step)]


def _best(logs: Floats, sets: NDArray[np.int64], words: Codes, begin: int) -> list[Floats]:
    """For each set of versions its chance in one order, and how likely the likeliest word and symbols are then."""
    joint = np.zeros((len(words), len(sets)))
    for version in range(sets.shape[1]):
        joint += logs[:, sets[:, version]]
    joint = np.exp(joint) / len(words)
    total = joint.sum(axis=0)
    share = joint / np.where(total > 0, total, 1.0)
    results = [total, share.max(axis=0)]
    for position in range(begin, words.shape[1]):
        order = np.argsort(words[:, position], kind="stable")
        first = np.flatnonzero(np.diff(words[order, position], prepend=-1))
        results.append(np.add.reduceat(share[order], first, axis=0).max(axis=0))
    return results


def _log_orders(sets: NDArray[np.int64]) -> Floats:
    """ln of the number of orders in which the versions of a set can come: K!/Π c!."""
    count = sets.shape[1]
    results = np.full(len(sets), math.lgamma(count + 1))
    run = np.ones(len(sets))
    for version in range(1, count):  # sets are sorted: the c-th of equal ones divides by c
        run = np.where(sets[:, version] == sets[:, version - 1], run + 1, 1.0)
        results -= np.log(run)
    return results


# --- large models --------------------------------------------------------------------------------


def _played(mechanism: Mechanism, language: RunLanguage, one: AttackerView, count: int) -> AttackerView:
    """An attacker who weighs words by π times the product of κ over all versions, played on words of the model."""
    own = mechanism._run_weights
    if own is None or own.costs.phases > 1:
        return replace(one, by_first_version=True)
    guessing = replace(own, with_prior=False, balance=None)
    words = drawn_words(guessing, language, passes=count)
    if words is None:
        return replace(one, by_first_version=True)
    bits = NotPrivateSeededBits(_SEED)
    released = draw_rows(own, np.tile(words, (count, 1)), bits).reshape(count, *words.shape)
    begin = int(language.public_start)
    right = (likeliest_symbols(guessing, released[0], list(released[1:]))[0] == words)[:, begin:]
    after, mean, blind = right.mean(axis=0), float(right.mean()), one.symbol.before
    low, high = mean_interval(mean, len(words))
    return replace(
        one,
        symbol=Guess(blind, max(mean, blind)),
        first=Guess(one.first.before, max(float(after[0]), one.first.before)),
        last=Guess(one.last.before, max(float(after[-1]), one.last.before)),
        # guessing the symbols one by one is one guess of the word, and so is the first version
        word=Guess(one.word.before, max(one.word.after, float(right.all(axis=1).mean()))),
        interval=(max(low, blind), max(high, blind)),
    )
