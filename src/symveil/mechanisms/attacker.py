"""The attacker's view: how often the best guess of somebody who knows the public model is right, before and after.

The attacker knows that every word of the language is as likely as any other (π) and sees one private word o. The best
guess of the symbol at position i is right with the chance S_i = Σ_o max_y Σ_{w: w_i=y} π(w)P(o|w); without o it is
max_y π(w_i = y). A public first symbol is known to the attacker, and is no position that is counted.

Three ways, the first that applies:
* on Σⁿ, where P(o|w) depends on the distance only, closed forms;
* a small language is written out, from the definition;
* elsewhere an attacker is played: words are drawn from the public model by fixed bits and released, and each symbol is
  guessed by one pass forwards and one backwards with o in the place of w, words weighed by π·κ. That attacker ignores
  Z(w), so that the best one is right at least as often, and at most max Z/min Z times as often.

What the promise allows: a class of words with a loss of at most e between any two of them, in which the likeliest
symbol has the chance p, lets nobody be right with more than B(e, p) = e^e·p/(1 + (e^e − 1)p). Words that agree outside
a window around i are such classes. One window serves all words of a position: the smallest average over windows is a
bound, the average of the smallest ones is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from symveil.languages.costs import INFINITE
from symveil.languages.run_draws import draw_rows
from symveil.languages.run_laws import likeliest_symbols, log_totals
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.word import Codes
from symveil.privacy.public_words import public_words
from symveil.randomness import NotPrivateSeededBits

Floats = NDArray[np.float64]

_SEED = 29  # public: the words that are released here are drawn from the public model
_FAILS = 0.05  # how often an interval may miss
_MOST_WORDS = 2_000  # of a language that is written out …
_MOST_ENTRIES = 40_000_000  # … and words × released words × symbols …
_MOST_ENTRIES_ONE_BY_ONE = 250_000  # … where the law of every word is asked for by itself
_MOST_DRAWS, _FEWEST_DRAWS = 200, 20
_MOST_STEPS = 20_000_000  # edges × phases × symbols × draws
_WIDEST_WINDOW = 8
_OFTEN = 0.9


@dataclass(frozen=True, slots=True)
class Guess:
    """The chance that a guess is right: without the private word, and with it."""

    before: float
    after: float

    def document(self) -> dict[str, float]:
        """The JSON form."""
        return {"before": self.before, "after": self.after}


@dataclass(frozen=True, slots=True)
class AttackerView:
    """How often somebody who knows the public model and sees one private word guesses right.

    Parameters
    ----------
    symbol
        The symbol at a position, on average over all that are secret.
    first, last
        The first secret symbol, and the last one.
    word
        All symbols together.
    how
        "exact": the best guess; "at-least": a guess that was played, and the best one is no worse.
    interval
        Of `symbol.after`, right in 95 of 100 sets of draws; None where it is exact.
    promised
        The most that `symbol.after` can be by what is promised, whatever the mechanism; None where not worked out.
    prior
        What the attacker knows.

    >>> import symveil as sv
    >>> view = attacker_view(sv.Exponential(sv.words("abc", 4), epsilon=2))
    >>> view.sentence()
    'an attacker who knows the model names 33 % of symbols before and 79 % after (exact)'
    """

    symbol: Guess
    first: Guess
    last: Guess
    word: Guess
    how: Literal["exact", "at-least"]
    interval: tuple[float, float] | None = None
    promised: float | None = None
    prior: str = "uniform words"

    @property
    def hides_little(self) -> bool:
        """Whether nine guesses in ten are right."""
        return self.symbol.after >= _OFTEN

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        return {
            "prior": self.prior,
            "symbol": self.symbol.document(),
            "first": self.first.document(),
            "last": self.last.document(),
            "word": self.word.document(),
            "how": self.how,
            "interval": None if self.interval is None else list(self.interval),
            "promised": self.promised,
        }

    def sentence(self) -> str:
        """Before and after in one line, as people read them."""
        known = "exact"
        if self.interval is not None:
            low, high = self.interval
            known = f"at least; 95 %: {_percent(low)[:-2]}–{_percent(high)}"
        before, after = _percent(self.symbol.before), _percent(self.symbol.after)
        return f"an attacker who knows the model names {before} of symbols before and {after} after ({known})"


def _percent(chance: float) -> str:
    if chance > 0.99:
        return f"{math.floor(1000 * chance) / 10:g} %"  # 100 % is certainty
    return f"{100 * chance:.2g} %"


def attacker_view(mechanism: Mechanism, *, loss_at: Callable[[int], float] | None = None) -> AttackerView | None:
    """How often an attacker is right who knows the public model and sees one private word. Nothing secret is read.

    None where words have secret lengths or no secret symbol, and where no attacker is known.

    Parameters
    ----------
    mechanism
        On words of one public length.
    loss_at
        A proved bound on the loss between words that differ in d places. Without one: the guarantee up to the
        adjacency, and what the mechanism says of words farther apart.

    >>> import symveil as sv
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> view = attacker_view(sv.Exponential(sv.runs(chain, length=3), epsilon=2))
    >>> view.how, round(view.symbol.before, 3), round(view.symbol.after, 3)
    ('exact', 0.667, 0.896)
    """
    language = mechanism.language
    if mechanism.metric != "hamming" or not mechanism.length or not language.largest_distance:
        return None
    losses = loss_at or (mechanism.loss_at if language.homogeneous else lambda apart: _named_loss(mechanism, apart))
    by_distance = mechanism.log_weights_by_distance()
    if language.homogeneous and by_distance is not None:
        return _by_distance(mechanism, by_distance, losses)
    words = _written_out(mechanism)
    if words is not None:
        return _enumerated(mechanism, *words, losses)
    runs = language.runs
    if runs is None or mechanism.released_language is not language:
        return None
    return _played(mechanism, runs)


def _named_loss(mechanism: Mechanism, apart: int) -> float:
    """What is promised, without writing out the law of all pairs."""
    return mechanism.guarantee.epsilon if apart <= mechanism.reach else mechanism.loss_beyond(apart)


def most_right(loss: float, before: float) -> float:
    """B(e, p): how often a guess can be right that was right with chance p before, rounded upwards.

    Parameters
    ----------
    loss
        e: no two of the words make anything more than e^e times as likely.
    before
        p: the chance of the likeliest guess among these words.

    >>> round(most_right(2.0, 1 / 3), 3), most_right(0.0, 0.25) < 0.25001, most_right(math.inf, 0.1)
    (0.787, True, 1.0)
    """
    return float(_most_right(loss, np.array([before]))[0])


def _most_right(loss: float, before: Floats) -> Floats:
    # p/(p + (1 − p)e^{−e}): the same without a large power
    return np.minimum(before / (before + (1 - before) * math.exp(-loss)) * (1 + 1e-12), 1.0)


# --- Σⁿ ----------------------------------------------------------------------------------------


def _by_distance(mechanism: Mechanism, by_distance: Floats, losses: Callable[[int], float]) -> AttackerView:
    """All words have one Z, so that the posterior of a symbol is the law of its error."""
    size, length = len(mechanism.alphabet), mechanism.length or 0
    wrong = mechanism.distances().expected_error / length
    symbol = Guess(1 / size, max(1 - wrong, wrong / (size - 1)))
    delta = mechanism.guarantee.delta
    # in a window of any width the likeliest symbol has the chance 1/m: the narrowest one promises most
    promised = None if delta else most_right(losses(1), 1 / size)
    word = Guess(math.exp(-length * math.log(size)), math.exp(float(by_distance.max())))
    return AttackerView(symbol, symbol, symbol, word, "exact", promised=promised)


# --- small languages -----------------------------------------------------------------------------


def _written_out(mechanism: Mechanism) -> tuple[Codes, Codes] | None:
    """All words and all that may be released, where they are few enough."""
    if not (mechanism.language.has_at_most(_MOST_WORDS) and mechanism.released_language.has_at_most(_MOST_WORDS)):
        return None
    words, released = mechanism.inputs(at_most=_MOST_WORDS), mechanism.outputs(at_most=_MOST_WORDS)
    if len(words) != 1 or len(released) != 1:
        return None
    entries = words[0].size * len(released[0])
    one_by_one = mechanism.run_weights is None
    return (words[0], released[0]) if entries <= (_MOST_ENTRIES_ONE_BY_ONE if one_by_one else _MOST_ENTRIES) else None


def _enumerated(mechanism: Mechanism, words: Codes, released: Codes, losses: Callable[[int], float]) -> AttackerView:
    begin = 1 if mechanism.language.public_start else 0
    law = _law(mechanism, words, released) / len(words)  # π(w)·P(o|w)
    known = words[:, 0] if begin else np.zeros(len(words), dtype=np.int32)  # what is public of each word
    guesses = []
    for position in range(begin, words.shape[1]):
        order = np.argsort(words[:, position], kind="stable")
        first = np.flatnonzero(np.diff(words[order, position], prepend=-1))
        after = np.add.reduceat(law[order], first, axis=0).max(axis=0).sum()
        guesses.append(Guess(_largest_share(known, words[:, position])[0].sum() / len(words), float(after)))
    symbol = Guess(*(float(np.mean([getattr(guess, when) for guess in guesses])) for when in ("before", "after")))
    word = Guess(len(np.unique(known)) / len(words), float(law.max(axis=0).sum()))
    promised = None if mechanism.guarantee.delta else _promised(words, known, begin, losses)
    return AttackerView(symbol, guesses[0], guesses[-1], word, "exact", promised=promised)


def _law(mechanism: Mechanism, words: Codes, released: Codes) -> Floats:
    """P(o|w), a row for each word."""
    weights = mechanism.run_weights
    if weights is None:
        return np.asarray(np.exp(np.array([mechanism.log_probabilities(word, released) for word in words])))
    costs, begin = weights.costs, 1 if weights.language.public_start else 0
    value = np.array([float(cost) for cost in costs.values])
    spent = np.zeros((len(words), len(released)))
    if begin:
        spent[words[:, :1] != released[None, :, 0]] = np.inf
    for position in range(begin, words.shape[1]):
        levels = costs.levels(position, words[:, position][:, None], released[None, :, position])
        spent += np.where(levels == INFINITE, np.inf, value[levels])
    if costs.period > 1:
        spent = (spent + costs.start_phase) // costs.period
        spent[np.isnan(spent)] = np.inf
    logs = weights.log_prior(released) - float(weights.rate) * spent
    law = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(law / law.sum(axis=1, keepdims=True))


def _largest_share(group: NDArray[np.integer], symbols: Codes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of each group of words: how many have the symbol that most of them have, and how many there are."""
    pairs, counts = np.unique(group.astype(np.int64) << 32 | symbols, return_counts=True)
    first = np.flatnonzero(np.diff(pairs >> 32, prepend=-1))
    return np.maximum.reduceat(counts, first), np.add.reduceat(counts, first)


def _promised(words: Codes, known: Codes, begin: int, losses: Callable[[int], float]) -> float:
    """For each position the best window, the same for all words; the mean of that over positions."""
    count, length = words.shape
    least = np.ones(length)
    for width in range(1, min(length - begin, _WIDEST_WINDOW) + 1):
        loss = losses(width)
        if not math.isfinite(loss):
            break  # wider windows promise no more
        for left in range(begin, length - width + 1):
            outside = np.column_stack([known, words[:, :left], words[:, left + width :]])
            _, group = np.unique(outside, axis=0, return_inverse=True)
            for position in range(left, left + width):
                most, own = _largest_share(group.reshape(-1), words[:, position])
                bound = float((own * _most_right(loss, most / own)).sum()) / count
                least[position] = min(least[position], bound * (1 + 1e-12))
    return float(least[begin:].mean())


# --- large models --------------------------------------------------------------------------------


def _played(mechanism: Mechanism, language: RunLanguage) -> AttackerView:
    """An attacker who weighs words by π·κ, played on words of the public model."""
    own = mechanism.run_weights
    if own is None:  # any guess is an attacker: this one takes the rate that the budget suggests
        guessing = RunWeights(language=language, rate=mechanism.epsilon / max(mechanism.adjacency, 1))
    else:
        guessing = replace(own, with_prior=False, balance=None)  # words are weighed by π, never by s
    steps = language.length * max(guessing.graph.edge_count, 1) * guessing.costs.phases
    words = public_words(language, int(min(_MOST_DRAWS, max(_FEWEST_DRAWS, _MOST_STEPS // steps))))
    bits = NotPrivateSeededBits(_SEED)
    released = mechanism.release_codes(words, bits=bits) if own is None else draw_rows(own, words, bits)
    begin = 1 if language.public_start else 0
    right = (likeliest_symbols(guessing, released)[0] == words)[:, begin:]
    if own is None:
        whole = float((released == words).all(axis=1).mean())
    else:  # the likeliest word is the released one: how often that is the true one is known for each word
        whole = float(np.exp(own.log_prior(words) - log_totals(own, words)).mean())
    before, none = _before(language, words, begin), 1 if not begin else len(_starts(language))
    after = right.mean(axis=0)
    mean = float(right.mean())
    return AttackerView(
        Guess(float(before.mean()), mean),
        Guess(float(before[0]), float(after[0])),
        Guess(float(before[-1]), float(after[-1])),
        Guess(none / language.size, whole),
        "at-least",
        interval=mean_interval(mean, len(words)),
    )


def _starts(language: RunLanguage) -> dict[int, int]:
    """The first symbols of words, with how many words begin with each."""
    graph, ways = language.graph, language.ways[language.length - 1]
    found = {int(graph.symbol[edge]): int(ways[graph.target[edge]]) for edge in graph.edges(graph.start)}
    return {symbol: count for symbol, count in found.items() if count}


def _before(language: RunLanguage, words: Codes, begin: int) -> Floats:
    """The chance of the likeliest symbol at each secret position, given the public start."""
    uniform = RunWeights(language=language, rate=Fraction(0))
    if not begin:
        return np.asarray(likeliest_symbols(uniform, words[:1])[1][0], dtype=np.float64)
    starts = _starts(language)
    if len(starts) * language.length * language.graph.edge_count > _MOST_STEPS:
        return np.asarray(likeliest_symbols(uniform, words)[1][:, begin:].mean(axis=0))
    rows = np.zeros((len(starts), language.length), dtype=np.int32)  # only the first symbol counts
    rows[:, 0] = list(starts)
    shares = np.array([count / language.size for count in starts.values()])
    return np.asarray(shares @ likeliest_symbols(uniform, rows)[1][:, begin:])


def mean_interval(mean: float, draws: int, *, fails: float = _FAILS) -> tuple[float, float]:
    """Where the expectation of numbers in [0, 1] lies: all μ whose relative entropy from the mean is at most ln(2/δ)/t.

    By Chernoff's bound, with Hoeffding's lemma for numbers between 0 and 1: it misses with a chance of at most δ, at
    any t, and is never wider than Hoeffding's interval.

    Parameters
    ----------
    mean
        The mean of independent draws.
    draws
        t: how many.
    fails
        δ: the chance of missing.

    >>> [round(end, 3) for end in mean_interval(0.9, 200)]
    [0.833, 0.948]
    """
    limit = math.log(2 / fails) / draws

    def end(low: float, high: float) -> float:
        """From inside the interval at `low` to the edge outside, towards `high`."""
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if _relative_entropy(mean, middle) <= limit else (low, middle)
        return high

    return end(mean, 0.0), end(mean, 1.0)


def _relative_entropy(mean: float, other: float) -> float:
    terms = [(mean, other), (1 - mean, 1 - other)]
    return math.fsum(p * math.log(p / q) if p and q else math.inf if p else 0.0 for p, q in terms)
