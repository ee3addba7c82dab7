"""Words of many lengths at once: one mechanism for each length, and one call for all of them.

This is what a batch of a file sees. Words stand one after the other in one array of codes, `lengths`
says where they end; what is released comes back in the same form, and may have other lengths. A
mechanism that is not made for one length (`ragged_edits`) implements `RaggedMechanism` itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ModelError, ParameterError
from symveil.languages.free import FreeLanguage
from symveil.languages.graph import Model, WordGraph, ends_unaccepted, word_graph
from symveil.languages.neighbours import resample_ragged
from symveil.languages.runs import RunLanguage
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.jones2019_printed import Jones2019Printed
from symveil.mechanisms.mechanism import WordMechanism
from symveil.mechanisms.selection import select_mechanism
from symveil.models.alphabet import Alphabet
from symveil.models.word import Codes
from symveil.numerics.once import computed_once
from symveil.numerics.rationals import Number
from symveil.privacy.guarantee import Guarantee
from symveil.privacy.parameters import Adjacency, read_epsilon, read_offset, require_spellable
from symveil.randomness import BitSource

Lengths = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LengthClass:
    """Words of these lengths (from, to; None: no bound) are released by one mechanism at one rate."""

    lengths: tuple[int, int | None]
    mechanism: str
    rate: Fraction | None
    guarantee: Guarantee


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a word cannot be released: of one symbol, of its length, or of where it ends."""

    because: Literal["symbol", "length", "end"]
    position: int | None = None
    """Where the first wrong symbol stands, counted from 1."""


class RaggedMechanism(Protocol):
    """What a batch of words of any lengths asks of a mechanism."""

    @property
    def alphabet(self) -> Alphabet:
        """The symbols, in the order of their codes."""

    @property
    def epsilon(self) -> Fraction:
        """What one word is charged."""

    @property
    def keeps_lengths(self) -> bool:
        """Whether a released word is as long as the true one."""

    def first_refused(self, codes: Codes, lengths: Lengths) -> NDArray[np.int64]:
        """Where each word leaves the language, counted from 1; 0 for the words that can be released."""

    def refusal(self, codes: Codes) -> Refusal:
        """Why a word that `first_refused` found is refused."""

    def release(self, codes: Codes, lengths: Lengths, bits: BitSource) -> tuple[Codes, Lengths]:
        """A private word for each word; row by row from `bits`."""

    def classes(self, lengths: NDArray[np.int64]) -> list[LengthClass]:
        """What happens to words of these lengths: public, and the same for every word."""


@dataclass(frozen=True, kw_only=True)
class MechanismParameters:
    """What is asked for before the words are known: the parameters of every mechanism for a file."""

    epsilon: Fraction
    alphabet: Any = None  # becomes the model's where a model is given
    model: Model | None = None
    public_start: bool = False
    mechanism: str = "auto"
    adjacency: Adjacency = 1
    calibration: str = "tight"
    prior: str = "uniform"
    utility: str = "distance"
    offset: Number = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", require_spellable(read_epsilon(self.epsilon), "epsilon"))
        require_spellable(read_offset(self.offset), "offset")
        if (self.alphabet is None) == (self.model is None):
            found = "none" if self.model is None else "both"
            raise ParameterError("alphabet", expected="an alphabet or a model", found=found)

    @property
    def chosen_by(self) -> dict[str, Any]:
        """What `select_mechanism` asks for besides a language."""
        names = ("epsilon", "mechanism", "adjacency", "calibration", "prior", "utility", "offset")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, kw_only=True)
class MechanismOfLength(MechanismParameters):
    """A mechanism for each length of words over an alphabet, or of a model's words.

    >>> import numpy as np
    >>> from symveil.randomness import NotPrivateSeededBits
    >>> family = MechanismOfLength(alphabet=Alphabet.from_symbols("abc"), epsilon=Fraction(1000))
    >>> codes, lengths = np.array([0, 1, 2, 0], dtype=np.int32), np.array([3, 0, 1])
    >>> released, ends = family.release(codes, lengths, NotPrivateSeededBits(1))
    >>> released.tolist(), ends.tolist()
    ([0, 1, 2, 0], [3, 0, 1])
    """

    keeps_lengths: ClassVar[bool] = True
    metric: ClassVar[str] = "hamming"
    max_length: ClassVar[None] = None
    cutoff: ClassVar[None] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model is not None:
            object.__setattr__(self, "alphabet", self._graph.alphabet)
        elif not isinstance(self.alphabet, Alphabet):
            object.__setattr__(self, "alphabet", Alphabet.from_symbols(self.alphabet))
        if self.model is None and self.public_start:
            raise ParameterError("public_start", expected="a model with public_start", found="an alphabet")
        if self.mechanism == Jones2019Printed.name:
            raise ParameterError("mechanism", expected="one that is private", found=self.mechanism)
        # parameters are checked even where there is no word; a model may have words of one length only
        self._select(FreeLanguage(self.alphabet, 0) if self.model is None else self._any_language())

    # --- one length ----------------------------------------------------------------------------

    def of_length(self, length: int) -> WordMechanism | None:
        """The mechanism for words of this length; None where the model has no such word."""
        with self._lock:
            if length not in self._made:
                language = self._language(length)
                self._made[length] = None if language is None else self._select(language)
            return self._made[length]

    def _select(self, language: FreeLanguage | RunLanguage) -> WordMechanism:
        return select_mechanism(language, **self.chosen_by)

    def _language(self, length: int) -> FreeLanguage | RunLanguage | None:
        if self.model is None:
            return FreeLanguage(self.alphabet, length)
        try:
            return RunLanguage(graph=self._graph, length=length, public_start=self.public_start, model=self.model)
        except ModelError:
            return None

    def _any_language(self) -> RunLanguage:
        """The shortest words there are."""
        for length in range(self._graph.state_count + 1):
            language = self._language(length)
            if isinstance(language, RunLanguage):
                return language
        raise ModelError("model", expected="at least one word, so that one can be released", found="none")

    @computed_once
    def _graph(self) -> WordGraph:
        assert self.model is not None  # noqa: S101 - asked only then
        return word_graph(self.model)

    @computed_once
    def _made(self) -> dict[int, WordMechanism | None]:
        return {}

    @computed_once
    def _lock(self) -> Lock:
        return Lock()

    def __getstate__(self) -> dict[str, object]:
        # a worker gets the parameters; locks do not travel, and mechanisms are made again
        return {name: value for name, value in self.__dict__.items() if name not in ("_made", "_lock")}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)

    # --- many words ----------------------------------------------------------------------------

    def first_refused(self, codes: Codes, lengths: Lengths) -> NDArray[np.int64]:
        """Where each word leaves the language, counted from 1; 0 for the words that can be released."""
        ends = np.cumsum(lengths)
        wrong = np.zeros(len(lengths), dtype=np.int64)
        unknown = np.flatnonzero((codes < 0) | (codes >= len(self.alphabet)))
        row_of = np.searchsorted(ends, unknown, side="right")
        # from the last to the first, so that the first one stays
        wrong[row_of[::-1]] = unknown[::-1] - (ends - lengths)[row_of[::-1]] + 1
        if self.model is None:
            return wrong
        for length in np.unique(lengths).tolist():
            rows = np.flatnonzero((lengths == length) & (wrong == 0))
            mechanism = self.of_length(length)
            if mechanism is None:
                wrong[rows] = max(length, 1)
            elif isinstance(mechanism.language, RunLanguage):
                wrong[rows] = mechanism.language.first_impossible(_gathered(codes, ends, lengths, rows, length))
        return wrong

    def refusal(self, codes: Codes) -> Refusal:
        """Why a word that `first_refused` found is refused."""
        position = int(self.first_refused(codes, np.array([len(codes)]))[0])
        if self.model is None or (codes < 0).any():
            return Refusal("symbol", position)
        if ends_unaccepted(self._graph, codes.tolist()):
            return Refusal("end")
        if self.of_length(len(codes)) is None:  # no word has that length: the step that does not exist is to blame
            position = len(self._graph.states_of(codes.tolist()))
        return Refusal("symbol", position)

    def release(self, codes: Codes, lengths: Lengths, bits: BitSource) -> tuple[Codes, Lengths]:
        """A private word for each word, of the same length. What a row becomes depends on that row only."""
        if (shared := self._symbol_by_symbol(lengths)) is not None:
            return _resampled(shared, codes, lengths, bits), lengths
        released = codes.copy()
        ends = np.cumsum(lengths)
        for length in np.unique(lengths).tolist():
            rows = np.flatnonzero(lengths == length)
            mechanism = self.of_length(length)
            if mechanism is None:
                raise ModelError("model", expected=f"words of {length} symbols", found="none")
            words = _gathered(codes, ends, lengths, rows, length)
            drawn = mechanism.release_codes(words, bits=bits.for_rows(rows))
            released[(ends - lengths)[rows][:, None] + np.arange(length)] = drawn
        return released, lengths

    def _symbol_by_symbol(self, lengths: Lengths) -> Exponential | None:
        """On Σⁿ the exponential mechanism treats symbols alike in words of all lengths from b on."""
        if self.model is not None or self.adjacency == "all" or not len(lengths):
            return None
        if int(lengths[lengths > 0].min(initial=self.adjacency)) < self.adjacency:
            return None
        chosen = self.of_length(int(self.adjacency))
        return chosen if isinstance(chosen, Exponential) and chosen.utility == "distance" else None

    # --- what is promised ----------------------------------------------------------------------

    def classes(self, lengths: NDArray[np.int64]) -> list[LengthClass]:
        """What happens to words of these lengths, neighbouring lengths with the same promise as one."""
        found: list[LengthClass] = []
        for length in np.unique(lengths[lengths > 0]).tolist():
            mechanism = self._shared_at(length)
            if mechanism is None:
                continue
            rate = getattr(mechanism, "rate", None)
            new = LengthClass((length, length), mechanism.name, rate, mechanism.guarantee)
            if found and (found[-1].mechanism, found[-1].rate, found[-1].guarantee) == (
                new.mechanism,
                new.rate,
                new.guarantee,
            ):
                # they print alike; what is proved for all of them is the larger loss
                worst = max(found[-1].guarantee, new.guarantee, key=_exact_loss)
                found[-1] = LengthClass((found[-1].lengths[0], length), new.mechanism, new.rate, worst)
            else:
                found.append(new)
        return found

    def _shared_at(self, length: int) -> WordMechanism | None:
        """The mechanism of a length, or another one with the same promise that exists already."""
        if self.model is None and self.adjacency != "all":
            shared = self.of_length(int(self.adjacency))
            if length >= self.adjacency and isinstance(shared, Exponential) and shared.utility == "distance":
                return shared
        return self.of_length(length)


def _exact_loss(guarantee: Guarantee) -> Fraction | float:
    return math.inf if guarantee.loss is None else guarantee.loss


def _resampled(mechanism: Exponential, codes: Codes, lengths: Lengths, bits: BitSource) -> Codes:
    """The exponential mechanism on Σⁿ as what it does to each symbol, whatever the length of its word."""
    size = len(mechanism.language.alphabet)
    return codes.copy() if size == 1 else resample_ragged(codes, lengths, size, mechanism.resample_choice, bits)


def _gathered(codes: Codes, ends: Lengths, lengths: Lengths, rows: NDArray[np.int64], length: int) -> Codes:
    """The words of some rows, all of one length, as a table."""
    return np.asarray(codes[(ends - lengths)[rows][:, None] + np.arange(length)])
