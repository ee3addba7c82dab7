"""Words of many lengths whose lengths are public: one mechanism for each length, and one call for all of them.

Words stand one after the other in one array of codes, `lengths` says where they end. What a word becomes depends on
that word only, whatever else is in the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from symveil.errors import InputError, ModelError, ParameterError
from symveil.languages.free import resample_ragged
from symveil.languages.language import AnyLength, Language, gathered
from symveil.laws.guarantee import Guarantee, LossCurve
from symveil.laws.law import DistanceLaw, ReleaseChain
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.limits import LIMITS
from symveil.mechanisms.mechanism import LengthClass, Mechanism, Remarks
from symveil.models.alphabet import Codes, Lengths
from symveil.numbers.once import Memo, computed_once
from symveil.numbers.rationals import at_least
from symveil.randomness import BitSource

if TYPE_CHECKING:
    from symveil.mechanisms.choice import MechanismChoice

Choose = Callable[["MechanismChoice", Language], Mechanism]
ByLaw = Callable[[Language, int], Mechanism]
"""The mechanism by the law of the words of one length, given these words and the length."""


def _no_other_length(language: Language, length: int) -> Mechanism:
    """Refuses a length that was not there when laws were calibrated."""
    del language, length
    raise InputError("input: expected one that stays as it is while it is released, found a sequence of another length")


class ByLength(Mechanism):
    """A mechanism for each length of the words over an alphabet, or of a model's words.

    >>> import symveil as sv
    >>> from symveil.languages.language import words_of_any_length
    >>> from symveil.randomness import NotPrivateSeededBits
    >>> family = sv.select_mechanism(words_of_any_length("abc"), epsilon=3)
    >>> codes, lengths = np.array([0, 1, 2, 0], dtype=np.int32), np.array([3, 0, 1])
    >>> released, ends = family.release_flat(codes, lengths, bits=NotPrivateSeededBits(1))
    >>> len(released), ends.tolist()
    (4, [3, 0, 1])
    """

    label: ClassVar[str] = "one mechanism for each length"

    def __init__(
        self,
        language: AnyLength,
        choice: MechanismChoice,
        choose: Choose,
        *,
        name: str | None = None,
        laws: ByLaw | None = None,
        released: AnyLength | None = None,
    ) -> None:
        super().__init__(language, epsilon=choice.epsilon, adjacency=choice.adjacency, calibration=choice.calibration)
        self.choice = choice
        self.name = name or choice.mechanism
        self._words = language
        self._released = language if released is None else released
        self._choose = choose
        self._laws = laws
        """Mechanisms by laws that were handed over; None: each is calibrated when a word of its length is met."""
        self._known: dict[int, Mechanism | None] = {}
        """Mechanisms that were made elsewhere, such as in the process that calibrated them."""
        # parameters are checked even where there is no word
        self._notes = choose(choice, language.shortest).remarks.notes if laws is None else ()

    @property
    def _family(self) -> Self:  # type: ignore[override]
        return self

    @property
    def released_language(self) -> AnyLength:
        """The words that may come out: those that may be handed in, unless others were named."""
        return self._released

    def member(self, length: int) -> Mechanism | None:
        """The mechanism for words of this length; None where the model has no such word."""
        return self._made[length]

    @computed_once
    def _made(self) -> Memo[int, Mechanism | None]:
        def make(length: int) -> Mechanism | None:
            if length in self._known:
                return self._known[length]
            language = self._words.of_length(length)
            if language is None:
                return None
            return self._choose(self.choice, language) if self._laws is None else self._laws(language, length)

        return Memo(make, one_at_a_time=True)  # choosing may search for seconds

    @property
    def needs_lengths(self) -> bool:
        """Whether lengths have laws of their own: not where symbols of all words of b symbols and more are alike."""
        return self.adjacency > LIMITS.now.shared_adjacency or self._shared_at(self.adjacency) is None

    def calibrated_for(self, lengths: Lengths) -> Self:
        """The same with the laws of words of these lengths: of other lengths it releases none."""
        if not self.needs_lengths:
            for shorter in range(1, self.adjacency + 1):
                _ = self._of(shorter).law
            return self
        known = {length: self.member(length) for length in np.unique(lengths).tolist()}
        for each in known.values():
            if each is not None:
                _ = each.law
        sealed = copy(self)
        vars(sealed).pop("_made", None)
        vars(sealed).update(_known=known, _laws=_no_other_length)
        return sealed

    def __getstate__(self) -> dict[str, object]:
        # a worker is handed the laws that are known: it does not search for them again
        made = dict(self._made.computed())
        return super().__getstate__() | {"_known": {**self._known, **made}}

    @property
    def remarks(self) -> Remarks:
        """About the parameters, the same for all lengths; else for the longest of the words that were looked at."""
        known = {length: each.remarks for length, each in sorted(self._made.computed()) if each is not None}
        reasons = [each.given_up for each in known.values() if each.given_up]
        prices = [(length, each.price_of_grace) for length, each in known.items() if each.price_of_grace]
        return Remarks(
            notes=self._notes,
            given_up=reasons[-1] if reasons else None,
            tells_apart=any(each.tells_apart for each in known.values()),
            price_of_grace=f"in sequences of {prices[-1][0]} symbols, {prices[-1][1]}" if prices else None,
        )

    def _of(self, length: int) -> Mechanism:
        mechanism = self.member(length)
        if mechanism is None:
            raise ModelError("model", expected=f"words of {length} symbols", found="none")
        return mechanism

    def __repr__(self) -> str:
        return f"ByLength({self.language!r}, {self.choice!r})"

    def _shared_at(self, length: int) -> Exponential | None:
        """The mechanism of another length that treats symbols alike in words of this one, where there is one."""
        if self._words.graph is not None or self.choice.adjacency == "all" or length < self.adjacency:
            return None
        shared = self.member(self.adjacency if self._laws is None else length)
        return shared if isinstance(shared, Exponential) and shared.draws_symbols_alike(length) else None

    # --- drawing -------------------------------------------------------------------------------

    def _draw(self, codes: Codes, lengths: Lengths, bits: BitSource) -> tuple[Codes, Lengths]:
        occurring = lengths[lengths > 0]
        if len(occurring) and (shared := self._shared_at(int(occurring.min()))) is not None:
            symbols = len(self.alphabet)
            if symbols == 1:
                return codes.copy(), lengths
            return resample_ragged(codes, lengths, symbols, shared.resample_choice, bits), lengths
        released = codes.copy()
        begins = np.cumsum(lengths) - lengths
        for length in np.unique(lengths).tolist():
            rows = np.flatnonzero(lengths == length)
            words = gathered(codes, lengths, rows, length)
            drawn, _ = self._of(length).release_flat(
                words.reshape(-1), lengths[rows], bits=bits.for_rows(rows), checked=True
            )
            released[begins[rows][:, None] + np.arange(length)] = drawn.reshape(len(rows), length)
        return released, lengths

    # --- the law -------------------------------------------------------------------------------

    @property
    def _proved_loss(self) -> Guarantee:
        """What holds for every length: the mechanism of each is ε-private; `length_classes` have the loss of each."""
        return Guarantee.of_loss(self.epsilon, "certified" if self._words.graph is None else "classic")

    def _loss_beyond(self, distance: int) -> float:
        """What the choice keeps for words of every length: K·(d/b)·ε, where it keeps anything on a model."""
        if self._words.graph is None or self.choice.grace is None or self.choice.adjacency == "all":
            return super()._loss_beyond(distance)
        return at_least(self.choice.grace * self.epsilon * distance / self.adjacency)

    def loss_curve(self, lengths: Lengths) -> LossCurve:
        """The loss at every distance of words of these public lengths: that of the length which loses most."""
        rates: list[tuple[int, Fraction]] = []
        parts: list[Mechanism] = []
        for length in np.unique(lengths[lengths > 0]).tolist():
            if (shared := self._shared_at(length)) is not None:
                rates.append((length, shared.rate))
            elif (own := self.member(length)) is not None:
                parts.append(own)

        def bound(distance: int) -> float:
            alike = [at_least(rate * min(distance, length)) for length, rate in rates]
            return max([*alike, *(part.loss_at(distance) for part in parts)], default=0.0)

        farthest = [length for length, _ in rates] + [part.language.largest_distance or 0 for part in parts]
        return LossCurve(max(self.adjacency, 1), max(farthest, default=0), bound)

    def _log_probabilities(self, word: Codes, released: Codes) -> NDArray[np.float64]:
        """ln P(row | word): a word of another length cannot be released."""
        if released.shape[1] != len(word):
            return np.full(len(released), -np.inf)
        return self._of(len(word))._log_probabilities(word, released)

    def _law(self, codes: Codes | None) -> DistanceLaw:
        assert codes is not None  # noqa: S101 - `distances` asks for a word where they do not look alike
        mechanism = self._of(len(codes))
        return mechanism._law(codes)

    def compile_chain(self, words: Sequence[Codes], *, output_length: int | None = None) -> ReleaseChain:
        """The chain of the mechanism for the length of the words, which must be one."""
        lengths = {len(word) for word in words}
        if len(lengths) != 1:
            raise ParameterError("words", expected="words of one length for a chain", found="several lengths")
        return self._of(lengths.pop()).compile_chain(words, output_length=output_length)

    # --- what is promised ----------------------------------------------------------------------

    def symbol_rate(self) -> Fraction | None:
        """The rate of the exponential mechanism on Σⁿ where one symbol is hidden."""
        # laws that were handed over are about the lengths that occur
        shared = self._shared_at(1) if len(self.alphabet) > 1 and self._laws is None else None
        return None if shared is None else shared.rate

    def length_classes(self, lengths: Lengths) -> list[LengthClass]:
        """What happens to words of these lengths, neighbouring lengths with the same promise as one."""
        classes: list[LengthClass] = []
        for length in np.unique(lengths[lengths > 0]).tolist():
            mechanism = self._shared_at(length) or self.member(length)
            if mechanism is None:
                continue
            promise = (mechanism.name, getattr(mechanism, "rate", None), mechanism.guarantee)
            first = length
            if classes and (classes[-1].mechanism, classes[-1].rate, classes[-1].guarantee) == promise:
                first = classes.pop().lengths[0]
            classes.append(LengthClass((first, length), *promise))
        return classes


# --- what can be asked of any mechanism ---------------------------------------------------------


def needs_lengths(mechanism: Mechanism) -> bool:
    """Whether a mechanism takes the public lengths of words to calibrate."""
    return mechanism._family is not None and mechanism._family.needs_lengths


def calibrated(mechanism: Mechanism, lengths: Lengths) -> Mechanism:
    """The mechanism with its laws known, for words of these public lengths: nothing is left to be searched for."""
    if mechanism._family is not None:
        return mechanism._family.calibrated_for(lengths)
    _ = mechanism.law
    return mechanism


def of_length(mechanism: Mechanism, length: int) -> Mechanism | None:
    """The mechanism that draws words of this length: the same, unless each length has its own."""
    return mechanism if mechanism._family is None else mechanism._family.member(length)


def length_classes(mechanism: Mechanism, lengths: Lengths) -> list[LengthClass]:
    """What happens to words of these public lengths; one class for all where lengths are a secret."""
    if mechanism._family is not None:
        return mechanism._family.length_classes(lengths)
    return [LengthClass((0, mechanism.largest_output), mechanism.name, None, mechanism.guarantee)]


def loss_curve(mechanism: Mechanism, lengths: Lengths) -> LossCurve:
    """The loss at every distance of words of these public lengths."""
    if mechanism._family is not None:
        return mechanism._family.loss_curve(lengths)
    return LossCurve(max(mechanism.adjacency, 1), mechanism.language.largest_distance, mechanism.loss_at)


def symbol_rate(mechanism: Mechanism) -> Fraction | None:
    """η where every symbol of every word is drawn by itself, and one symbol is what is hidden; None elsewhere."""
    return None if mechanism._family is None else mechanism._family.symbol_rate()
