"""A mechanism as other libraries expect one: a measurement of OpenDP, a loss distribution of dp-accounting.

Neither library is needed to use symveil; each is imported when it is asked for. What they are given is never less than
what a mechanism loses: losses and chances are rounded upwards, and where the law is not known beyond its ε they get the
worst that this ε allows.

The law of a mechanism for words given as codes: checked first, so that no number is returned for what is no word.
"""

from __future__ import annotations

import importlib
import math
from abc import ABC, abstractmethod
from fractions import Fraction
from hashlib import sha256
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError, SymveilError, WordError
from symveil.laws.losses import (
    PairLosses,
    by_distances,
    enumerated,
    largest_losses,
    worst_by_distances,
    worst_deltas,
)
from symveil.models.word import Codes, Word, read_codes
from symveil.numbers.once import LastFew, computed_once
from symveil.numbers.progress import listener, silent
from symveil.numbers.rationals import at_least, exact

if TYPE_CHECKING:
    from symveil.mechanisms.mechanism import Mechanism

_MOST_DOTS = 20_001
"""At how many values of ε δ is worked out: between two of them the distribution is rounded upwards."""
_MOST_PAIRS = 20_000


def _library(name: str, package: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise ParameterError(
            "library", expected=f"{package} to be installed (pip install {package})", found="none"
        ) from None


def loss_at(mechanism: Mechanism, distance: int) -> float:
    """The most that is lost between words so far apart, rounded upwards; infinite where nothing is promised."""
    if isinstance(distance, bool) or not isinstance(distance, int | np.integer) or distance < 0:
        raise ParameterError("distance", expected="a whole number, 0 or more", found=distance)
    farthest = mechanism.language.largest_distance
    apart = int(distance) if farthest is None else min(int(distance), farthest)
    if apart == 0:
        return 0.0
    known = mechanism.loss_beyond(apart)
    if apart <= mechanism.reach:
        known = min(known, mechanism.proved_loss.epsilon)
    weights = mechanism.log_weights_by_distance()
    if weights is not None:
        return min(known, worst_by_distances(weights, apart))
    every = mechanism.losses_of_every_pair
    return known if every is None else min(known, float(every[: apart + 1].max()))


def excess(mechanism: Mechanism) -> float:
    """K: the largest loss_at(d)·b/(dε), rounded upwards; at most 1 is the graceful promise.

    Losses are floats, rounded upwards; so is (d/b)·ε here, or a loss of exactly 1/3 would be more than 1/3.

    Where words lie between any two, on an alphabet, the loss of one change decides: every other loss is at most the
    sum of such (docs/theory/beyond-b.md).
    """
    b, farthest = max(mechanism.adjacency, 1), mechanism.language.largest_distance
    last = 1 if mechanism.language.graph is None else farthest or 0
    largest = Fraction(0)
    for apart in range(1, last + 1):
        loss = loss_at(mechanism, apart)
        if not loss < math.inf:
            return math.inf
        largest = max(largest, exact(loss) / exact(at_least(mechanism.epsilon * apart / b)))
    return at_least(largest)


def pairs_of_laws(mechanism: Mechanism) -> list[PairLosses] | None:
    """The losses of all kinds of adjacent words, where the law is known and can be written out; None elsewhere."""
    weights = mechanism.log_weights_by_distance()
    if weights is None:
        return _few_pairs(mechanism, mechanism.reach)
    results = []
    for apart in range(1, mechanism.reach + 1):
        pair = by_distances(weights, len(mechanism.alphabet), apart)
        if pair is None:
            return None
        results.append(pair)
    return results


def _few_pairs(mechanism: Mechanism, apart: int) -> list[PairLosses] | None:
    if mechanism.largest_output is None:
        return None
    pair_losses: list[PairLosses] = []
    try:
        for pair in enumerated(mechanism, apart):
            pair_losses.append(pair)
            if len(pair_losses) > _MOST_PAIRS:
                return None
    except SymveilError:  # too many words, or none that can be listed
        return None
    return pair_losses


def privacy_loss_distribution(mechanism: Mechanism, value_discretization_interval: float) -> Any:
    """The distribution of the loss for dp-accounting, pessimistic."""
    interval = value_discretization_interval
    if not isinstance(interval, float | int) or not 0 < interval <= 1:
        raise ParameterError("value_discretization_interval", expected="a number above 0, at most 1", found=interval)
    pld = _library("dp_accounting.pld.privacy_loss_distribution", "dp-accounting")
    epsilon = mechanism.guarantee.epsilon
    pairs = pairs_of_laws(mechanism)
    if mechanism.guarantee.delta:
        pairs = None
    pairs = pairs and [pair.at_most(epsilon) for pair in pairs]
    largest = max((pair.largest for pair in pairs), default=0.0) if pairs is not None else epsilon
    if pairs is None or not pairs or not math.isfinite(largest):
        if not math.isfinite(epsilon):
            raise ParameterError("mechanism", expected="one whose loss is bounded", found=mechanism.name)
        common = _library("dp_accounting.pld.common", "dp-accounting")
        parameters = common.DifferentialPrivacyParameters(epsilon, float(mechanism.guarantee.delta))
        return pld.from_privacy_parameters(parameters, value_discretization_interval=interval)
    dots = _library("dp_accounting.pld.pld_pmf", "dp-accounting")
    top = max(1, math.ceil(largest / interval))
    steps = np.unique(np.rint(np.linspace(-top, top, min(2 * top + 1, _MOST_DOTS))).astype(np.int64))
    deltas = worst_deltas(pairs, np.asarray(steps * interval, dtype=np.float64))
    deltas[-1] = 0.0  # no loss is above the last step
    return pld.PrivacyLossDistribution(dots.create_pmf_pessimistic_connect_dots(interval, steps, deltas))


def to_opendp(mechanism: Mechanism) -> Any:
    """The mechanism as a measurement of OpenDP."""
    dp = _library("opendp.prelude", "opendp")
    language = mechanism.language

    def is_word(word: Word) -> bool:
        try:
            language.encode(word)
        except SymveilError:
            return False
        return True

    metric = "Hamming distance" if mechanism.metric == "hamming" else "Levenshtein distance"
    return dp.m.make_user_measurement(
        dp.user_domain("symveil words", is_word),
        dp.user_distance(metric),
        dp.max_divergence(),
        mechanism.release,
        lambda distance: loss_at(mechanism, int(distance)),
    )


class Interoperable:
    """What other libraries ask of a mechanism; every mechanism has it."""

    def loss_at(self, distance: int) -> float:
        """Group privacy: the most that is lost between words at most so far apart, rounded upwards.

        Exact where the law is known (on Σⁿ by distances, on small languages by looking at every pair); within the
        adjacency at most the guarantee. On a model it is what the mechanism's theorem says of any two feasible words
        of one length, with a public start of those that begin alike (docs/theory/beyond-b.md); infinite where there is
        none.

        Parameters
        ----------
        distance
            How far apart, by what adjacency counts.

        >>> import symveil as sv
        >>> mechanism = sv.Exponential(sv.words("abc", 6), epsilon=1)
        >>> [round(mechanism.loss_at(distance), 6) for distance in range(4)]
        [0.0, 1.0, 2.0, 3.0]
        """
        return loss_at(cast("Mechanism", self), distance)

    def privacy_loss_distribution(self, *, value_discretization_interval: float = 1e-4) -> Any:
        """The distribution of the loss between adjacent words, for dp-accounting: to be composed with others.

        From the exact law where that is known, else from ε alone; rounded against the claim. Needs dp-accounting
        (`pip install dp-accounting`).

        Parameters
        ----------
        value_discretization_interval
            The width of a bin of losses; those that are composed need the same.

        >>> import symveil as sv
        >>> losses = sv.Exponential(sv.words("abcd", 14), epsilon="0.1").privacy_loss_distribution()
        >>> round(losses.self_compose(100).get_epsilon_for_delta(1e-6), 1)        # adding would say 10
        3.3
        """
        return privacy_loss_distribution(cast("Mechanism", self), value_discretization_interval)

    def to_opendp(self) -> Any:
        """The mechanism as a measurement of OpenDP, whose privacy map is `loss_at`.

        Needs OpenDP (`pip install opendp`) with `dp.enable_features("contrib", "honest-but-curious")`: OpenDP takes our
        word for what it cannot prove. docs/how-to/python-libraries.md has an example.
        """
        return to_opendp(cast("Mechanism", self))

    def loss_beyond(self, distance: int) -> float:
        """A bound on the loss between words at any distance, by the mechanism's own theorem; infinite: none is known.

        Parameters
        ----------
        distance
            How far apart.
        """
        own = cast("Mechanism", self)
        if own.language.graph is not None or own.proved_loss.loss is None:
            return math.inf
        return at_least(Fraction(-(-distance // max(own.reach, 1))) * exact(own.proved_loss.epsilon))

    @computed_once
    def losses_of_every_pair(self) -> NDArray[np.float64] | None:
        """The largest loss at each distance, over all pairs of words, where there are few; None elsewhere."""
        own = cast("Mechanism", self)
        if own.largest_output is None:
            return None
        try:
            return largest_losses(own)
        except SymveilError:  # too many words, or none that can be listed
            return None

    def log_weights_by_distance(self) -> NDArray[np.float64] | None:
        """ln P of one released word at distance 0, 1 … n, where that is all that the law depends on; None elsewhere."""
        return None


_ROWS_REMEMBERED = 64


class CodeLaw(ABC):
    """What `Mechanism` asks of codes; a subclass says `_log_probabilities`, which gets words that are checked."""

    def log_probabilities(self, word: Codes, released: Codes) -> NDArray[np.float64]:
        """ln P(row | word) for every row of `released`; −∞ for a word of the language that is never released.

        Parameters
        ----------
        word
            A word of the language, as codes.
        released
            Rows of codes, all of one length: words of the language or words that can be released.

        >>> import symveil as sv
        >>> mechanism = sv.Exponential(sv.words("ab", 2), epsilon=1)
        >>> mechanism.log_probabilities([0, 0], [[0, 0], [1, 1]]).round(4).tolist()
        [-0.6265, -2.6265]
        >>> mechanism.log_probabilities([0, 0], [[0, 7]])
        Traceback (most recent call last):
        symveil.errors.WordError: released, row 1: expected a word that can be released, found none (position 2)
        """
        codes, rows = read_codes(word, axes=1, name="word"), read_codes(released, axes=2, name="released")
        mechanism = cast("Mechanism", self)
        mechanism.language.check(codes, np.array([len(codes)]))
        self._checked.of((rows.shape, sha256(rows.tobytes()).digest()), lambda: _check_released(mechanism, rows))
        return self._log_probabilities(codes, rows)

    def expected_errors(self, words: Codes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """For each word the expected number of wrong symbols, and what they cost together.

        Parameters
        ----------
        words
            Rows of codes, words of the language.

        >>> import symveil as sv
        >>> mechanism = sv.Exponential(sv.words("ab", 2), epsilon=1)
        >>> mechanism.expected_errors([[0, 0], [1, 0]])[0].round(4).tolist()
        [0.5379, 0.5379]
        """
        rows = read_codes(words, axes=2, name="words")
        cast("Mechanism", self).language.check(rows.reshape(-1), np.full(len(rows), rows.shape[1]))
        return self._expected_errors(rows)

    @computed_once
    def _checked(self) -> LastFew[tuple[tuple[int, ...], bytes], bool]:
        """Rows that were released ones: an audit asks for the same rows with every word."""
        return LastFew(_ROWS_REMEMBERED)

    @abstractmethod
    def _log_probabilities(self, word: Codes, released: Codes) -> NDArray[np.float64]:
        """ln P(row | word) for a word of the language; −∞ for rows that are words of it and are never released."""

    def _expected_errors(self, words: Codes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same for words of the language; quicker ways than the law of every word override it."""
        mechanism = cast("Mechanism", self)
        progress = listener(f"averaging {mechanism.described}") or silent
        results = []
        for number, word in enumerate(words, start=1):
            results.append(mechanism._law(word).expected_error)
            progress(number, len(words))
        errors = np.array(results)
        return errors, errors


def _check_released(mechanism: Mechanism, rows: Codes) -> bool:
    """True; refuses rows that are neither released nor words of the language."""
    flat, lengths = rows.reshape(-1), np.full(len(rows), rows.shape[1])
    released = mechanism.released_language
    wrong = released.first_refused(flat, lengths)
    if wrong.any() and released is not mechanism.language:
        wrong = np.where(wrong, mechanism.language.first_refused(flat, lengths), 0)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise WordError(
            f"released, row {row + 1}: expected a word that can be released, found none (position {wrong[row]})",
            position=int(wrong[row]),
        )
    return True
