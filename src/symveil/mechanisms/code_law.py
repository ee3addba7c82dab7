"""The law of a mechanism: its words, its promise, its probabilities, and what is lost at every distance.

Words are given as codes and checked first, so that no number is returned for what is no word.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError, SymveilError, WordError
from symveil.languages.language import Language
from symveil.laws.adjacency import chosen_adjacency
from symveil.laws.guarantee import Guarantee, LossCurve
from symveil.laws.law import DistanceLaw, Moves, ReleaseChain, State, release_chain
from symveil.laws.losses import (
    PairLosses,
    largest_losses,
    listed_pairs,
    opendp_measurement,
    pairs_by_distances,
    privacy_loss_distribution,
    worst_by_distances,
)
from symveil.laws.parameters import Adjacency, read_adjacency, read_calibration, read_epsilon
from symveil.mechanisms.limits import LIMITS
from symveil.models.alphabet import FAR, Alphabet, Codes, Metric, Word, read_codes
from symveil.numbers.once import LastFew, computed_once
from symveil.numbers.progress import listener, silent
from symveil.numbers.rationals import Number, at_least, exact


class CodeLaw(ABC):
    """What is known about a mechanism: its words, its promise, its law and its loss at every distance.

    A subclass says ln P(released | word) of words that are checked (`_log_probabilities`), the law of the distance
    (`_law`) and its `_proved_loss`; where it releases symbol by symbol, also `_moves`. It may say more: a bound on the
    loss between any words (`_loss_beyond`), ln P by distance where that is all that counts
    (`_log_weights_by_distance`), and quicker averages (`_expected_errors`).
    """

    name: str
    """What people call it by."""
    label: ClassVar[str]
    """Its name in a list that people choose from."""
    metric: ClassVar[Metric] = "hamming"
    """What adjacency counts: a mechanism is made for one metric, and takes the languages that have it."""
    private: ClassVar[bool] = True
    """Whether its loss is at most ε; what is kept only to reproduce a paper may lose more."""
    _zero_epsilon_allowed: ClassVar[bool] = False
    """Whether it takes ε = 0, as figures of papers do."""

    def __init__(
        self, language: Language, *, epsilon: Number, adjacency: Adjacency | None = None, calibration: str = "tight"
    ) -> None:
        if getattr(language, "metric", None) != self.metric:
            raise ParameterError("language", expected=_LANGUAGES[self.metric], found=type(language).__name__)
        adjacency = chosen_adjacency(adjacency, language)
        farthest = language.largest_distance
        everything = isinstance(adjacency, str) and adjacency == "all"
        if everything and language.max_length is None and self.metric == "levenshtein":
            raise ParameterError(
                "adjacency", expected='a whole number, or max_length with "all", which bounds it', found="all"
            )
        self.language: Final = language
        self.epsilon: Final = read_epsilon(epsilon, zero_allowed=self._zero_epsilon_allowed)
        self._given_adjacency: Final = adjacency
        self.adjacency: Final = read_adjacency(
            adjacency, length=FAR - 1 if farthest is None else language.max_length or 0
        )
        self.calibration: Final = read_calibration(calibration)

    @property
    def reach(self) -> int:
        """b, or the largest distance between two words where that is smaller: a larger b asks for no more."""
        farthest = self.language.largest_distance
        return self.adjacency if farthest is None else min(self.adjacency, farthest)

    # --- what a subclass says ------------------------------------------------------------------

    @property
    @abstractmethod
    def _proved_loss(self) -> Guarantee:
        """The loss of adjacent words, rounded upwards, and how it is known; `guarantee` adds that of all others."""

    @abstractmethod
    def release(self, word: Word) -> Word:
        """One private word."""

    @abstractmethod
    def _law(self, codes: Codes | None) -> DistanceLaw:
        """The law of the distance from this word; None stands for any word where all have the same law."""

    def _moves(self, codes: Codes, shown: int) -> tuple[State, Moves, Fraction]:
        """The release of this word symbol by symbol, in rationals, and a bound on the error of ln P in that.

        Of the released word the first `shown` symbols are shown.
        """
        del codes, shown
        raise ParameterError("mechanism", expected="one that releases symbol by symbol, as a chain", found=self.name)

    @abstractmethod
    def _log_probabilities(self, word: Codes, released: Codes) -> NDArray[np.float64]:
        """ln P(row | word) for a word of the language; −∞ for rows that are words of it and are never released."""

    def _expected_errors(self, words: Codes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same for words of the language; quicker ways than the law of every word override it."""
        progress = listener(f"averaging {self.described}") or silent
        results = []
        for number, word in enumerate(words, start=1):
            results.append(self._law(word).expected_error)
            progress(number, len(words))
        errors = np.array(results)
        return errors, errors

    def _loss_beyond(self, distance: int) -> float:
        """A bound on the loss of words at any distance, by the mechanism's own theorem; infinite: none is known."""
        if self.language.graph is not None or self._proved_loss.loss is None:
            return math.inf
        return at_least(Fraction(-(-distance // max(self.reach, 1))) * exact(self._proved_loss.epsilon))

    def _log_weights_by_distance(self) -> NDArray[np.float64] | None:
        """ln P of one released word at distance 0, 1 … n, where that is all that the law depends on; None elsewhere."""
        return None

    @property
    def guarantee(self) -> Guarantee:
        """The loss that the mechanism really has, at every distance, rounded upwards, and how it is known."""
        curve = LossCurve(max(self.adjacency, 1), self.language.largest_distance, self.loss_at)
        return replace(self._proved_loss, curve=curve)

    # --- what the language says ----------------------------------------------------------------

    @property
    def alphabet(self) -> Alphabet:
        """The symbols, in the order of their codes."""
        return self.language.alphabet

    @property
    def length(self) -> int | None:
        """How many symbols every word has; None where words have different lengths."""
        return self.language.length

    @property
    def released_language(self) -> Language:
        """The words that may come out: those that may be handed in, unless a mechanism says otherwise."""
        return self.language

    @property
    def largest_output(self) -> int | None:
        """How long a released word can be; None where there is no bound."""
        return self.language.max_length

    def inputs(self, length: int | None = None, *, at_most: int) -> list[Codes]:
        """The words that may be handed in, by their length: all, or those of up to `length` symbols."""
        return self.language.by_length(at_most=at_most, longest=length)

    def outputs(self, length: int | None = None, *, at_most: int) -> list[Codes]:
        """The words that may be released, by their length: all, or those of up to `length` symbols."""
        return self.released_language.by_length(at_most=at_most, longest=length)

    def distance(self, word: Codes, words: Codes) -> NDArray[np.int64]:
        """How far each row of `words` is from `word`, by what adjacency counts."""
        return self.language.distance(word, words)

    @property
    def described(self) -> str:
        """Its name, with what else tells it from others of that name."""
        return self.name

    # --- the law and its losses ----------------------------------------------------------------

    def distances(self, word: Word | None = None) -> DistanceLaw:
        """The law of the distance between `word` and its private version.

        On the free language it is the same for every word, so the word may be left out.
        """
        if word is None:
            if not self.language.homogeneous:
                where = "on a model" if self.language.graph is not None else "where lengths differ"
                raise WordError(f"word: expected a word, because {where} the law depends on it, found none")
            return self._law(None)
        return self._law(self.language.encode(word))

    def probability(self, word: Word, released: Word) -> float:
        """P(released | word)."""
        return math.exp(self.log_probability(word, released))

    def log_probability(self, word: Word, released: Word) -> float:
        """ln P(released | word): finite for every word that can be released, however unlikely."""
        row = self.released_language.encode(released)[None, :]
        return float(self._log_probabilities(self.language.encode(word), row)[0])

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
        self.language.check(codes, np.array([len(codes)]))
        self._checked.of((rows.shape, sha256(rows.tobytes()).digest()), lambda: _check_released(self, rows))
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
        self.language.check(rows.reshape(-1), np.full(len(rows), rows.shape[1]))
        return self._expected_errors(rows)

    @computed_once
    def _checked(self) -> LastFew[tuple[tuple[int, ...], bytes], bool]:
        """Rows that were released ones: an audit asks for the same rows with every word."""
        return LastFew(LIMITS.now.remembered_rows)

    def loss_at(self, distance: int) -> float:
        """Group privacy: the most that is lost between words at most so far apart, rounded upwards.

        Exact where the law is known (on Σⁿ by distances, on small languages by looking at every pair); within the
        adjacency at most the guarantee. On a model it is what the mechanism's theorem says of any two feasible words
        of one length, with a public start of those that begin alike (docs/theory/losses.md); infinite where there is
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
        if isinstance(distance, bool) or not isinstance(distance, int | np.integer) or distance < 0:
            raise ParameterError("distance", expected="a whole number, 0 or more", found=distance)
        farthest = self.language.largest_distance
        apart = int(distance) if farthest is None else min(int(distance), farthest)
        if apart == 0:
            return 0.0
        known = self._loss_beyond(apart)
        if apart <= self.reach:
            known = min(known, self._proved_loss.epsilon)
        weights = self._log_weights_by_distance()
        if weights is not None:
            return min(known, worst_by_distances(weights, apart))
        every = self._losses_of_every_pair
        return known if every is None else min(known, float(every[: apart + 1].max()))

    @computed_once
    def _losses_of_every_pair(self) -> NDArray[np.float64] | None:
        """The largest loss at each distance, over all pairs of words, where there are few; None elsewhere."""
        if self.largest_output is None:
            return None
        try:
            return largest_losses(self)
        except SymveilError:  # too many words, or none that can be listed
            return None

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
        return privacy_loss_distribution(self, pairs_of_laws(self), value_discretization_interval)

    def to_opendp(self) -> Any:
        """The mechanism as a measurement of OpenDP, whose privacy map is `loss_at`.

        Needs OpenDP (`pip install opendp`) with `dp.enable_features("contrib", "honest-but-curious")`: OpenDP takes our
        word for what it cannot prove. docs/how-to/python-libraries.md has an example.
        """
        return opendp_measurement(self.metric, self.language.encode, self.release, self.loss_at)

    # --- for verifiers -------------------------------------------------------------------------

    def release_chain(self, words: Iterable[Word], *, output_length: int | None = None) -> ReleaseChain:
        """The mechanism as a labelled chain, with a state for each of these words to start from.

        A mechanism without a longest output shows the first `output_length` symbols and whether more follow.

        >>> import symveil as sv
        >>> mechanism = sv.Exponential(sv.words("ab", 2), epsilon=1)
        >>> compiled = mechanism.release_chain(["ab", "aa"])
        >>> compiled.chain
        LabelledChain(11 states, 17 transitions, 4 labels, 1 related pair)
        >>> sv.verify_privacy(compiled, epsilon="1.0001", delta=0).holds
        True
        """
        rows = [self.language.encode(word) for word in words]
        if not rows:
            raise WordError("words: expected at least one word, found none")
        return self.compile_chain(rows, output_length=output_length)

    def compile_chain(self, words: Sequence[Codes], *, output_length: int | None = None) -> ReleaseChain:
        """The same for words as codes."""
        shown = self._shown(words, output_length)
        compiled = [self._moves(row, shown) for row in words]
        return release_chain(
            self.alphabet,
            shown if self.length is not None else shown + 1,  # where lengths differ, a step says that the word ends
            [(start, moves) for start, moves, _ in compiled],
            log_error=max(error for _, _, error in compiled),
        )

    def _shown(self, words: Sequence[Codes], output_length: int | None) -> int:
        """How many symbols of a released word a chain shows."""
        del words
        if self.largest_output is None or output_length is not None:
            raise ParameterError("output_length", expected="none: all of a released word is shown", found=output_length)
        return self.largest_output


def excess(mechanism: CodeLaw) -> float:
    """K: the largest loss_at(d)·b/(dε), rounded upwards; at most 1 is the graceful promise.

    Losses are floats, rounded upwards; so is (d/b)·ε here, or a loss of exactly 1/3 would be more than 1/3.

    Where words lie between any two, on an alphabet, the loss of one change decides: every other loss is at most the
    sum of such (docs/theory/losses.md).
    """
    b, farthest = max(mechanism.adjacency, 1), mechanism.language.largest_distance
    last = 1 if mechanism.language.graph is None else farthest or 0
    largest = Fraction(0)
    for apart in range(1, last + 1):
        loss = mechanism.loss_at(apart)
        if not loss < math.inf:
            return math.inf
        largest = max(largest, exact(loss) / exact(at_least(mechanism.epsilon * apart / b)))
    return at_least(largest)


def pairs_of_laws(mechanism: CodeLaw) -> list[PairLosses] | None:
    """The losses of all kinds of adjacent words, where the law is known and can be written out; None elsewhere."""
    weights = mechanism._log_weights_by_distance()
    if weights is None:
        return listed_pairs(mechanism, mechanism.reach)
    return pairs_by_distances(weights, len(mechanism.alphabet), mechanism.reach)


def _check_released(mechanism: CodeLaw, rows: Codes) -> bool:
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


_LANGUAGES = {
    "hamming": "a language such as words(alphabet, length) or runs(model, length)",
    "levenshtein": "words_up_to(alphabet, max_length) or runs_up_to(model, max_length)",
}
