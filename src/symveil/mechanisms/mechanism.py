"""What every mechanism shares: how it is made, words in, words out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from symveil.errors import ParameterError, WordError
from symveil.languages.language import Language
from symveil.laws.guarantee import Guarantee, LossCurve
from symveil.mechanisms.code_law import CodeLaw
from symveil.mechanisms.law import Law, RequestedParameters, chosen_parameters, parameter_names
from symveil.models.alphabet import Codes, Lengths, Word, decode, split_words
from symveil.numbers.once import computed_once, searched_once
from symveil.numbers.rationals import spelled
from symveil.randomness import BitSource, system_bits

if TYPE_CHECKING:
    from symveil.calibration.weighting import Weighting
    from symveil.languages.run_weights import RunWeights


@dataclass(frozen=True, slots=True)
class LengthClass:
    """Words of these lengths (from, to; None: no bound) are released by one mechanism at one rate."""

    lengths: tuple[int, int | None]
    mechanism: str
    rate: Fraction | None
    guarantee: Guarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class Remarks:
    """What people should know of a mechanism beside its guarantee; all of it public."""

    notes: tuple[str, ...] = ()
    """About its parameters; nothing where they are as they were given."""
    given_up: str | None = None
    """What is not promised that others promise, beyond the adjacency; None: nothing."""
    tells_apart: bool = False
    """Whether some words that are not adjacent can be distinguished, however small ε is."""
    chosen_because: str | None = None
    """Why "auto" took it, over the public model; None where it was asked for by name or there was no choice."""
    price_of_grace: str | None = None
    """What a promise for words within b alone would change, where that is much and known; None elsewhere."""


class Family(Protocol):
    """Mechanisms for words of many lengths, one for each (`by_length.ByLength`)."""

    @property
    def needs_lengths(self) -> bool:
        """Whether lengths have laws of their own, so that they must be known to calibrate."""

    def calibrated_for(self, lengths: Lengths) -> Mechanism:
        """The same with the laws of words of these lengths: of other lengths it releases none."""

    def member(self, length: int) -> Mechanism | None:
        """The mechanism for words of this length; None where there is no such word."""

    def length_classes(self, lengths: Lengths) -> list[LengthClass]:
        """What happens to words of these lengths, neighbouring lengths with the same promise as one."""

    def loss_curve(self, lengths: Lengths) -> LossCurve:
        """The loss at every distance of words of these lengths: that of the length which loses most."""

    def symbol_rate(self) -> Fraction | None:
        """The rate of the exponential mechanism on Σⁿ where one symbol is hidden."""


class Mechanism(CodeLaw):
    """A mechanism that takes a word of a language and releases a word.

    A subclass says beside its law (`CodeLaw`) how it draws (`_draw`) and what its law is as data (`_calibrated`, or
    `_proved_loss` where nothing is searched for). It may say which weights its passes over a model draw by
    (`_run_weights`), and `remarks`. What differs between languages, it asks the language. Words of many lengths have a
    mechanism each (`_family`), which the functions of `by_length` ask.
    """

    _of_many_lengths: bool = False
    """Whether words of other lengths are released by the same choice: then one proof is made for many of them."""
    _chosen: Remarks = Remarks()
    """What "auto" says about its choice."""
    _family: Family | None = None
    """The mechanisms of each length; None: it is one for all its words."""

    @classmethod
    def _on_language(cls, language: Language, **parameters: Any) -> Self:
        """The mechanism for the words of a language, with the parameters of its constructor."""
        return cls(language, **parameters)

    @classmethod
    def from_choice(cls, language: Language, choice: RequestedParameters) -> Self:
        """The mechanism on this language with the parameters of a choice that it takes."""
        chosen = chosen_parameters(cls, choice)
        return cls._on_language(language, epsilon=choice.epsilon, adjacency=choice.adjacency, **chosen)

    @classmethod
    def from_law(cls, law: Law) -> Self:
        """The mechanism that draws by a law. It searches for nothing and proves nothing."""
        made = cls._on_language(law.language, epsilon=law.epsilon, adjacency=law.adjacency, **dict(law.parameters))
        vars(made)["law"] = law
        return made

    @searched_once
    def law(self) -> Law:
        """How words are released, as data: calibrated when it is first needed, or handed over (`from_law`)."""
        return self._calibrated(None)

    # --- what a subclass says ------------------------------------------------------------------

    @property
    def _proved_loss(self) -> Guarantee:
        """The loss of adjacent words, rounded upwards, and how it is known; `guarantee` adds that of all others."""
        return self.law.proved

    def _calibrated(self, claimed: Law | None) -> Law:
        """The law, with whatever has to be searched for; of a `claimed` one the loss that is proved at its rate.

        A mechanism without anything to search for overrides `_proved_loss` instead.
        """
        del claimed
        if type(self)._proved_loss is Mechanism._proved_loss:  # each of the two would ask the other
            raise TypeError(
                f"{type(self).__name__}: expected a _proved_loss or a _calibrated of its own, found neither"
            )
        return self._law_with(self._proved_loss)

    def _law_with(self, proved: Guarantee, **results: Any) -> Law:
        """The law with these results; `parameters` are those of the constructor unless they are among the results."""
        chosen = results.pop("parameters", {})
        names = [name for name in parameter_names(type(self)) if hasattr(self, name)]
        given = {name: getattr(self, name) for name in names} | chosen
        return Law(
            kind=self.name,
            language=self.language,
            epsilon=self.epsilon,
            adjacency=self._given_adjacency,
            parameters=tuple(given.items()),
            proved=proved,
            **results,
        )

    @abstractmethod
    def _draw(self, codes: Codes, lengths: Lengths, bits: BitSource) -> tuple[Codes, Lengths]:
        """A private word for each word of the language: all of them one after the other, with their lengths.

        Bits belong to rows: what is drawn for a word takes its bits from `bits.of_row` or the like.
        """

    # --- what is public about a release --------------------------------------------------------

    def parameters_document(self) -> dict[str, object]:
        """What the mechanism was given or has chosen besides ε and the adjacency, as JSON; all of it public."""
        return {}

    @property
    def remarks(self) -> Remarks:
        """What should be said about it beside its guarantee."""
        return self._chosen

    @property
    def weighting(self) -> Weighting | None:
        """Everything about its weights but their rate, where they are made by passes over a model; None elsewhere."""
        return None

    @property
    def _run_weights(self) -> RunWeights | None:
        """The weights s(w')·κ(w, w') that words are drawn by, where passes over a model make them; None elsewhere."""
        return None

    # --- releasing -----------------------------------------------------------------------------

    def release(self, word: Word, *, bits: BitSource | None = None) -> Word:
        """One private word: a string where a string came in, a tuple of symbols otherwise."""
        codes = self.language.encode(word)
        released, _ = self._draw(codes, np.array([len(codes)]), bits or system_bits())
        return decode(released, self.alphabet, like=word)

    def release_many(self, words: Iterable[Word], *, bits: BitSource | None = None) -> list[Word]:
        """A private word for each word, each with the guarantee of its own."""
        if isinstance(words, str):
            # each of its characters would be a word of its own, with a budget of its own
            raise WordError("words: expected a list of words, found a single string; put it into a list")
        sources, rows = list(words), []
        for number, word in enumerate(sources, start=1):
            try:
                rows.append(self.language.encode(word))
            except WordError as error:
                raise WordError(f"word {number}, {error}", position=error.position) from None
        if not rows:
            return []
        lengths = np.array([len(row) for row in rows])
        released, sizes = self._draw(np.concatenate(rows), lengths, bits or system_bits())
        pieces = split_words(released, sizes)
        return [decode(piece, self.alphabet, like=word) for piece, word in zip(pieces, sources, strict=True)]

    def release_codes(self, codes: Codes, *, bits: BitSource | None = None) -> Codes:
        """The fast path for words of one length: rows of codes (int32, alphabet order) in, rows of that shape out."""
        length = self.length
        if length is None:
            raise ParameterError(
                "codes", expected="words of one length here; release_flat takes others", found="others"
            )
        expected = "an int32 array with a row per word"
        try:
            rows = np.asarray(codes)
        except ValueError:
            raise ParameterError("codes", expected=expected, found="ragged rows") from None
        if rows.ndim != 2 or rows.dtype != np.int32:
            raise ParameterError("codes", expected=expected, found=f"a {rows.dtype} array with {rows.ndim} axes")
        if rows.shape[1] != length:
            raise WordError(f"codes: expected {length} symbols per row, found {rows.shape[1]}")
        lengths = np.full(len(rows), length)
        flat = np.ascontiguousarray(rows).reshape(-1)
        self.language.check(flat, lengths)
        return self._draw(flat, lengths, bits or system_bits())[0].reshape(rows.shape)

    def release_flat(
        self, codes: Codes, lengths: Lengths, *, bits: BitSource | None = None, checked: bool = False
    ) -> tuple[Codes, Lengths]:
        """The fast path: the codes of all words one after the other (int32) with their lengths, in and out.

        `checked` words are known to be of the language: `language.first_refused` has passed them.

        >>> import symveil as sv
        >>> channel = sv.EditChannel(alphabet="abc", epsilon=6)
        >>> codes, lengths = channel.release_flat(np.array([0, 1, 2, 2], dtype=np.int32), np.array([3, 0, 1]))
        >>> len(lengths), len(codes) - int(lengths.sum())
        (3, 0)
        """
        if checked:
            return self._draw(codes, lengths, bits or system_bits()) if len(lengths) else (codes.copy(), lengths.copy())
        flat, sizes = np.asarray(codes), np.asarray(lengths)
        if flat.ndim != 1 or flat.dtype != np.int32:
            raise ParameterError(
                "codes", expected="an int32 array with one axis", found=f"a {flat.dtype} array with {flat.ndim} axes"
            )
        whole = sizes.ndim == 1 and np.issubdtype(sizes.dtype, np.integer)
        if not whole or (sizes < 0).any() or sizes.sum() != len(flat):
            raise ParameterError("lengths", expected="whole numbers that add up to the number of codes", found="others")
        if not len(sizes):
            return flat.copy(), sizes.astype(np.int64)
        sizes = sizes.astype(np.int64)
        self.language.check(flat, sizes)
        return self._draw(np.ascontiguousarray(flat), sizes, bits or system_bits())

    # --- it is what it was built as ------------------------------------------------------------

    def __setattr__(self, name: str, value: object) -> None:
        # another ε under the old guarantee would be a broken promise
        if name in self.__dict__:
            raise AttributeError(f"{type(self).__name__}.{name} cannot be changed; build another mechanism")
        super().__setattr__(name, value)

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)

    def __getstate__(self) -> dict[str, object]:
        # tables are made again where they are needed: a worker gets the parameters, and the law where it is known
        kind = type(self)
        return {
            name: value
            for name, value in self.__dict__.items()
            if name == "law" or not isinstance(getattr(kind, name, None), computed_once)
        }

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.language!r}, epsilon={spelled(self.epsilon)}, "
            f"adjacency={self.adjacency}, calibration={self.calibration!r})"
        )


def proved_again(mechanism: Mechanism) -> Law:
    """The law of a mechanism with its loss proved once more at the rate that it has: one evaluation, and no search."""
    return mechanism._calibrated(mechanism.law)
