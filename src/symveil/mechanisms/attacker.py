"""The attacker's view: how often the best guess with the public model is right, before and after.

The attacker knows that every word of the language is as likely as any other (π) and sees one private word o. The best
guess of the symbol at position i is right with the chance S_i = Σ_o max_y Σ_{w: w_i=y} π(w)P(o|w); without o it is
max_y π(w_i = y). A public first symbol is known to the attacker, and is no position that is counted.

Three ways, the first that applies:
* on Σⁿ, where P(o|w) depends on the distance only, closed forms;
* a small language is written out, from the definition;
* elsewhere an attacker is played: words are drawn from the public model by fixed bits and released, and each symbol is
  guessed by one pass forwards and one backwards with o in the place of w, words weighed by π·κ. That attacker ignores
  Z(w), so that the best one is right at least as often, and at most max Z/min Z times as often.

What the promise allows at most, whatever the mechanism, is in `windows`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from symveil.languages.costs import INFINITE
from symveil.languages.run_draws import draw_rows
from symveil.languages.run_laws import likeliest_symbols, log_totals
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage
from symveil.laws.losses import most_right
from symveil.laws.protection import public_words
from symveil.mechanisms.attacker_windows import (
    FAILS,
    Floats,
    Losses,
    largest_share,
    mean_interval,
    promised_by_enumeration,
    promised_by_sampling,
)
from symveil.mechanisms.limits import LIMITS
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.alphabet import Codes
from symveil.numbers.rationals import percent, shown_at_least
from symveil.randomness import NotPrivateSeededBits

_SEED = 29  # public: the words that are released here are drawn from the public model
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
    """How often an attacker who knows the public model and sees one private word guesses right.

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
        The most that `symbol.after` can be by what is promised, whatever the mechanism; None where not computed.
    prior
        What the attacker knows.
    versions
        How many private versions of the same word the attacker sees.
    limit_confidence
        Of `promised`, where it is an upper confidence limit; None where it is proved.
    by_first_version
        Of several versions only the first was looked at: the best guess with all of them is no worse.

    >>> import symveil as sv
    >>> view = attacker_view(sv.Exponential(sv.words("abc", 4), epsilon=2))
    >>> view.sentence()
    'names 33 % of symbols before and 79 % after (exact); the promise allows at most 78.7 %'
    """

    symbol: Guess
    first: Guess
    last: Guess
    word: Guess
    how: Literal["exact", "at-least"]
    interval: tuple[float, float] | None = None
    promised: float | None = None
    prior: str = "uniform words"
    versions: int = 1
    limit_confidence: float | None = None
    by_first_version: bool = False

    @property
    def hides_little(self) -> bool:
        """Whether nine guesses in ten are right."""
        return self.symbol.after >= _OFTEN

    def agrees_with(self, other: AttackerView) -> bool:
        """Whether another machine may have found the other one: where guesses were played, one in fifty may differ."""
        if (self.how, self.prior, self.versions) != (other.how, other.prior, other.versions):
            return False
        numbers = [
            [each for guess in (view.symbol, view.first, view.last, view.word) for each in (guess.before, guess.after)]
            + [math.inf if view.promised is None else view.promised]
            for view in (self, other)
        ]
        room = 1e-3 if self.how == "exact" else 0.02
        return all(one == two or abs(one - two) <= room for one, two in zip(*numbers, strict=True))

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
            "limit_confidence": self.limit_confidence,
            **({} if self.versions == 1 else {"versions": self.versions}),
            **({"by_first_version": True} if self.by_first_version else {}),
        }

    def sentence(self) -> str:
        """What an attacker who knows the model does, before and after, in one line."""
        known = "exact" if self.how == "exact" else "at least, by the first of them alone"
        if self.interval is not None:
            low, high = self.interval
            least = "at least, by the first of them alone" if self.by_first_version else "at least"
            known = f"{least}; 95 %: {percent(low)[:-2]}–{percent(high)}"
        before, after = percent(self.symbol.before), percent(self.symbol.after)
        seen = "" if self.versions == 1 else f" {self.versions} private versions of the word"
        line = f"names {before} of symbols before and {after} after{seen} ({known})"
        if self.promised is None:
            return line
        sure = "" if self.limit_confidence is None else f" (confidence {self.limit_confidence:g})"
        return f"{line}; the promise allows at most {shown_at_least(100 * self.promised, 3)} %{sure}"


def view_from_document(document: Mapping[str, Any]) -> AttackerView:
    """What `AttackerView.document` wrote down.

    >>> import symveil as sv
    >>> view = attacker_view(sv.Exponential(sv.words("abc", 4), epsilon=2))
    >>> view_from_document(view.document()) == view
    True
    """
    guesses = {name: Guess(**document[name]) for name in ("symbol", "first", "last", "word")}
    interval = document["interval"]
    return AttackerView(
        **guesses,
        how=document["how"],
        interval=None if interval is None else (interval[0], interval[1]),
        promised=document["promised"],
        prior=document["prior"],
        versions=document.get("versions", 1),
        by_first_version=document.get("by_first_version", False),
        limit_confidence=document.get("limit_confidence"),
    )


def attacker_view(mechanism: Mechanism, *, loss_at: Losses | None = None, versions: int = 1) -> AttackerView | None:
    """How often an attacker is right who knows the public model and sees one private word. Nothing secret is read.

    None where words have secret lengths or no secret symbol, and where no attacker is known.

    `loss_at` is a proved bound on the loss between words that differ in d places; without one it is the guarantee up to
    the adjacency, and what the mechanism says of words farther apart. What is promised is about `versions` private
    versions of the word: their losses add up. What a guess achieves with all of them says `attacker_of_versions`.

    >>> import symveil as sv
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> view = attacker_view(sv.Exponential(sv.runs(chain, length=3), epsilon=2, adjacency=1))
    >>> view.how, round(view.symbol.before, 3), round(view.symbol.after, 3)
    ('exact', 0.667, 0.896)
    """
    language = mechanism.language
    if mechanism.metric != "hamming" or not mechanism.length or not language.largest_distance:
        return None
    proved = loss_at or (mechanism.loss_at if language.homogeneous else lambda apart: _named_loss(mechanism, apart))

    def losses(apart: int) -> float:
        return versions * proved(apart)

    by_distance = mechanism._log_weights_by_distance()
    if language.homogeneous and by_distance is not None:
        return _by_distance(mechanism, by_distance, losses)
    words = written_out(mechanism)
    if words is not None:
        return _enumerated(mechanism, *words, losses)
    runs = language.runs
    if runs is None or mechanism.released_language is not language:
        return None
    return _played(mechanism, runs, losses)


def _named_loss(mechanism: Mechanism, apart: int) -> float:
    """What is promised, without writing out the law of all pairs."""
    known = mechanism._loss_beyond(apart)
    return min(known, mechanism.guarantee.epsilon) if apart <= mechanism.reach else known


# --- Σⁿ ----------------------------------------------------------------------------------------


def _by_distance(mechanism: Mechanism, by_distance: Floats, losses: Losses) -> AttackerView:
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


def written_out(mechanism: Mechanism) -> tuple[Codes, Codes] | None:
    """All words and all that may be released, where they are few enough."""
    most = LIMITS.now.attacker_words
    if not (mechanism.language.has_at_most(most) and mechanism.released_language.has_at_most(most)):
        return None
    words, released = mechanism.inputs(at_most=most), mechanism.outputs(at_most=most)
    if len(words) != 1 or len(released) != 1:
        return None
    entries = words[0].size * len(released[0])
    one_by_one = mechanism._run_weights is None
    return (
        (words[0], released[0])
        if entries <= (LIMITS.now.attacker_entries_one_by_one if one_by_one else LIMITS.now.attacker_entries)
        else None
    )


def _enumerated(mechanism: Mechanism, words: Codes, released: Codes, losses: Losses) -> AttackerView:
    begin = 1 if mechanism.language.public_start else 0
    law = law_of_all(mechanism, words, released) / len(words)  # π(w)·P(o|w)
    known = words[:, 0] if begin else np.zeros(len(words), dtype=np.int32)  # what is public of each word
    guesses = []
    for position in range(begin, words.shape[1]):
        order = np.argsort(words[:, position], kind="stable")
        first = np.flatnonzero(np.diff(words[order, position], prepend=-1))
        after = np.add.reduceat(law[order], first, axis=0).max(axis=0).sum()
        guesses.append(Guess(largest_share(known, words[:, position])[0].sum() / len(words), float(after)))
    symbol = Guess(*(float(np.mean([getattr(guess, when) for guess in guesses])) for when in ("before", "after")))
    word = Guess(len(np.unique(known)) / len(words), float(law.max(axis=0).sum()))
    promised = None if mechanism.guarantee.delta else promised_by_enumeration(words, known, begin, losses)
    return AttackerView(symbol, guesses[0], guesses[-1], word, "exact", promised=promised)


def law_of_all(mechanism: Mechanism, words: Codes, released: Codes) -> Floats:
    """P(o|w), a row for each word."""
    weights = mechanism._run_weights
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


# --- large models --------------------------------------------------------------------------------


def _played(mechanism: Mechanism, language: RunLanguage, losses: Losses) -> AttackerView | None:
    """An attacker who weighs words by π·κ, played on words of the public model; None where that would take long."""
    own = mechanism._run_weights
    if own is None:  # any guess is an attacker: this one takes the rate that the budget suggests
        guessing = RunWeights(language=language, rate=mechanism.epsilon / max(mechanism.adjacency, 1))
    else:
        guessing = replace(own, with_prior=False, balance=None)  # words are weighed by π, never by s
    words = drawn_words(guessing, language)
    if words is None:
        return None
    bits = NotPrivateSeededBits(_SEED)
    released = mechanism.release_codes(words, bits=bits) if own is None else draw_rows(own, words, bits)
    begin = 1 if language.public_start else 0
    right = (likeliest_symbols(guessing, released)[0] == words)[:, begin:]
    if own is None:
        whole = float((released == words).all(axis=1).mean())
    else:  # the likeliest word is the released one: how often that is the true one is known for each word
        whole = float(np.exp(own.log_prior(words) - log_totals(own, words)).mean())
    before, exact = _before(language, words, begin)
    none = 1 if not begin else len(_starts(language))
    after = right.mean(axis=0)
    mean, (low, high) = float(right.mean()), mean_interval(float(right.mean()), len(words))
    if exact:  # whoever sees a private word can still guess without it
        after, blind = np.maximum(after, before), float(before.mean())
        mean, low, high = max(mean, blind), max(low, blind), max(high, blind)
    promised = None
    if not mechanism.guarantee.delta:
        promised = promised_by_sampling(language, losses, before if exact else np.ones(len(before)))
    return AttackerView(
        Guess(float(before.mean()), mean),
        Guess(float(before[0]), float(after[0])),
        Guess(float(before[-1]), float(after[-1])),
        Guess(none / language.size, whole),
        "at-least",
        interval=(low, high),
        promised=promised,
        limit_confidence=None if promised is None else 1 - FAILS,
    )


def drawn_words(guessing: RunWeights, language: RunLanguage, *, passes: int = 1) -> Codes | None:
    """As many words of the public model as an attacker is played with in about a second; None where too few."""
    steps = language.length * max(guessing.graph.edge_count, 1) * guessing.costs.phases * passes
    draws = min(LIMITS.now.attacker_draws, LIMITS.now.attacker_steps // steps)
    return None if draws < LIMITS.now.fewest_attacker_draws else public_words(language, draws)


def _starts(language: RunLanguage) -> dict[int, int]:
    """The first symbols of words, with how many words begin with each."""
    graph, ways = language.graph, language.ways[language.length - 1]
    results = {int(graph.symbol[edge]): int(ways[graph.target[edge]]) for edge in graph.edges(graph.start)}
    return {symbol: count for symbol, count in results.items() if count}


def _before(language: RunLanguage, words: Codes, begin: int) -> tuple[Floats, bool]:
    """The chance of the likeliest symbol at each secret position, given the public start; and whether it is exact."""
    uniform = RunWeights(language=language, rate=Fraction(0))
    if not begin:
        return np.asarray(likeliest_symbols(uniform, words[:1])[1][0], dtype=np.float64), True
    starts = _starts(language)
    if len(starts) * language.length * language.graph.edge_count > LIMITS.now.attacker_steps:
        return np.asarray(likeliest_symbols(uniform, words)[1][:, begin:].mean(axis=0)), False
    rows = np.zeros((len(starts), language.length), dtype=np.int32)  # only the first symbol counts
    rows[:, 0] = list(starts)
    shares = np.array([count / language.size for count in starts.values()])
    return np.asarray(shares @ likeliest_symbols(uniform, rows)[1][:, begin:]), True
