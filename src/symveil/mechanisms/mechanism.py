"""What every mechanism shares: words in, words out, the law of each, and a guarantee."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from symveil.calibration.certificate import CertifiedRate
from symveil.errors import ParameterError, WordError
from symveil.languages.hamming_automaton import hamming_automaton
from symveil.languages.language import FAR, Language, Metric
from symveil.languages.run_product import AutomatonSize, product_size
from symveil.laws.adjacency import chosen_adjacency
from symveil.laws.guarantee import Guarantee, LossCurve
from symveil.laws.law import DistanceLaw, Moves, ReleaseChain, State, release_chain
from symveil.laws.parameters import Adjacency, read_adjacency, read_calibration, read_epsilon
from symveil.mechanisms.interoperability import CodeLaw, Interoperable
from symveil.mechanisms.law import Law, chosen_parameters, parameter_names
from symveil.models.alphabet import Alphabet
from symveil.models.word import Codes, Lengths, Word, decode, split_words
from symveil.numbers.once import computed_once, searched_once
from symveil.numbers.rationals import Number, spelled
from symveil.randomness import BitSource, system_bits

if TYPE_CHECKING:
    from symveil.calibration.weighting import Weighting
    from symveil.languages.run_weights import RunWeights
    from symveil.mechanisms.choice import MechanismChoice  # which knows the mechanisms by name


@dataclass(frozen=True, slots=True)
class LengthClass:
    """Words of these lengths (from, to; None: no bound) are released by one mechanism at one rate."""

    lengths: tuple[int, int | None]
    mechanism: str
    rate: Fraction | None
    guarantee: Guarantee


class Mechanism(CodeLaw, Interoperable, ABC):
    """A mechanism that takes a word of a language and releases a word.

    A subclass says its `proved_loss`, its `_log_probabilities`, the law of the distance (`_law`) and how it draws
    (`_draw`); where it releases symbol by symbol, also `_moves`. What differs between languages, it asks the language.
    """

    name: str
    """What people call it by."""
    label: ClassVar[str]
    """Its name in a list that people choose from."""
    metric: ClassVar[Metric] = "hamming"
    """What adjacency counts: a mechanism is made for one metric, and takes the languages that have it."""
    private: ClassVar[bool] = True
    """Whether its loss is at most ε; what is kept only to reproduce a paper may lose more."""
    zero_epsilon_allowed: ClassVar[bool] = False
    of_many_lengths: bool = False
    """Whether words of other lengths are released by the same choice: then one proof is made for many of them."""
    chosen_because: str | None = None
    """Why "auto" took it, over the public model; None where it was asked for by name or there was no choice."""
    price_of_grace: str | None = None
    """What a promise for words within b alone would change, where that is much and known; None elsewhere."""

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
        self.epsilon: Final = read_epsilon(epsilon, zero_allowed=self.zero_epsilon_allowed)
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

    @classmethod
    def from_choice(cls, language: Language, choice: MechanismChoice) -> Self:
        """The mechanism on this language with the parameters of a choice that it takes."""
        return cls(language, epsilon=choice.epsilon, adjacency=choice.adjacency, **chosen_parameters(cls, choice))

    @classmethod
    def from_law(cls, law: Law) -> Self:
        """The mechanism that draws by a law. It searches for nothing and proves nothing.

        Parameters
        ----------
        law
            The law, of this kind.
        """
        made = cls(law.language, epsilon=law.epsilon, adjacency=law.adjacency, **dict(law.parameters))
        vars(made)["law"] = law
        return made

    @searched_once
    def law(self) -> Law:
        """How words are released, as data: calibrated when it is first needed, or handed over (`from_law`)."""
        return self._calibrated(None)

    def proved_again(self) -> Law:
        """The law with its loss proved once more at the rate that it has: one evaluation, and no search."""
        return self._calibrated(self.law)

    # --- what a subclass says ------------------------------------------------------------------

    @property
    def proved_loss(self) -> Guarantee:
        """The loss of adjacent words, rounded upwards, and how it is known; `guarantee` adds that of all others."""
        return self.law.proved

    def _calibrated(self, claimed: Law | None) -> Law:
        """The law, with whatever has to be searched for; of a `claimed` one the loss that is proved at its rate.

        A mechanism without anything to search for overrides `proved_loss` instead.
        """
        del claimed
        return self._law_with(self.proved_loss)

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
    def _law(self, codes: Codes | None) -> DistanceLaw:
        """The law of the distance from this word; None stands for any word where all have the same law."""

    @abstractmethod
    def _draw(self, codes: Codes, lengths: Lengths, bits: BitSource) -> tuple[Codes, Lengths]:
        """A private word for each word of the language: all of them one after the other, with their lengths.

        Bits belong to rows: what is drawn for a word takes its bits from `bits.of_row` or the like.
        """

    def _moves(self, codes: Codes, shown: int) -> tuple[State, Moves, Fraction]:
        """The release of this word symbol by symbol, in rationals, and a bound on the error of ln P in that.

        Of the released word the first `shown` symbols are shown.
        """
        del codes, shown
        raise ParameterError("mechanism", expected="one that releases symbol by symbol, as a chain", found=self.name)

    @property
    def guarantee(self) -> Guarantee:
        """The loss that the mechanism really has, at every distance, rounded upwards, and how it is known."""
        curve = LossCurve(max(self.adjacency, 1), self.language.largest_distance, self.loss_at)
        return replace(self.proved_loss, curve=curve)

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

    # --- what is public about a release --------------------------------------------------------

    @property
    def certified(self) -> CertifiedRate | None:
        """The proof behind the rate; None where none is needed or none exists."""
        return self.law.certificate

    def parameters_document(self) -> dict[str, object]:
        """What the mechanism was given or has chosen besides ε and the adjacency, as JSON; all of it public."""
        return {}

    @property
    def notes(self) -> tuple[str, ...]:
        """What should be said about its parameters, all of them public; nothing where they are as they were given."""
        return ()

    @property
    def given_up(self) -> str | None:
        """What is not promised that others promise, beyond the adjacency; None: nothing."""
        return None

    @property
    def tells_apart(self) -> bool:
        """Whether some words that are not adjacent can be distinguished, however small ε is."""
        return False

    @property
    def described(self) -> str:
        """Its name, with what else tells it from others of that name."""
        return self.name

    @property
    def weighting(self) -> Weighting | None:
        """Everything about its weights but their rate, where they are made by passes over a model; None elsewhere."""
        return None

    @property
    def run_weights(self) -> RunWeights | None:
        """The weights s(w')·κ(w, w') that words are drawn by, where passes over a model make them; None elsewhere."""
        return None

    @property
    def hamming_rate(self) -> Fraction | None:
        """η where P(w'|w) is proportional to e^{−η·(Hamming distance)} on the language; None elsewhere."""
        return None

    def symbol_rate(self) -> Fraction | None:
        """η where every symbol of every word is drawn by itself, and one symbol is what is hidden; None elsewhere."""
        return None

    @property
    def needs_lengths(self) -> bool:
        """Whether it takes the public lengths of words to calibrate."""
        return False

    def calibrated(self, lengths: Lengths) -> Mechanism:
        """The mechanism with its laws known, for words of these public lengths: nothing is left to be searched for.

        Parameters
        ----------
        lengths
            The lengths that occur; looked at where each length has a law of its own.
        """
        del lengths
        _ = self.law
        return self

    def of_length(self, length: int) -> Mechanism | None:
        """The mechanism that draws words of this length: this one, unless each length has its own."""
        del length
        return self

    def parts(self, lengths: Lengths | None) -> dict[str, Mechanism] | None:
        """The mechanisms that draw words of these public lengths, by length; None: not known before lengths are."""
        del lengths
        return {"any": self}

    def classes(self, lengths: Lengths) -> list[LengthClass]:
        """What happens to words of these public lengths; one class for all where lengths are a secret."""
        del lengths
        return [LengthClass((0, self.largest_output), self.name, None, self.guarantee)]

    def curve(self, lengths: Lengths) -> LossCurve:
        """The loss at every distance of words of these public lengths.

        Parameters
        ----------
        lengths
            The lengths that occur; looked at where each length has a mechanism of its own.
        """
        del lengths
        return LossCurve(max(self.adjacency, 1), self.language.largest_distance, self.loss_at)

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

    def release_copies(self, word: Word, count: int, *, bits: BitSource | None = None) -> list[Word]:
        """`count` private versions of one word. They are about one person, so their costs add up."""
        if count < 1:
            raise ParameterError("count", expected="a whole number, 1 or more", found=count)
        codes = self.language.encode(word)
        released, sizes = self._draw(np.tile(codes, count), np.full(count, len(codes)), bits or system_bits())
        return [decode(piece, self.alphabet, like=word) for piece in split_words(released, sizes)]

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

    def release_flat(self, codes: Codes, lengths: Lengths, *, bits: BitSource | None = None) -> tuple[Codes, Lengths]:
        """The fast path: the codes of all words one after the other (int32) with their lengths, in and out.

        >>> import symveil as sv
        >>> channel = sv.EditChannel(alphabet="abc", epsilon=6)
        >>> codes, lengths = channel.release_flat(np.array([0, 1, 2, 2], dtype=np.int32), np.array([3, 0, 1]))
        >>> len(lengths), len(codes) - int(lengths.sum())
        (3, 0)
        """
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
        return self.release_checked(np.ascontiguousarray(flat), sizes, bits or system_bits())

    def release_checked(self, codes: Codes, lengths: Lengths, bits: BitSource) -> tuple[Codes, Lengths]:
        """The same for words that the language is known to have: `language.first_refused` has passed them."""
        return self._draw(codes, lengths, bits) if len(lengths) else (codes.copy(), lengths.copy())

    # --- the law -------------------------------------------------------------------------------

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

    def automaton_size(self, word: Word) -> AutomatonSize:
        """States and edges of the automaton around a word, on a model of its product with it."""
        runs = self.language.runs
        if runs is not None:
            return product_size(runs, runs.encode(word))
        automaton = hamming_automaton(word, alphabet=self.alphabet)
        return AutomatonSize(automaton.state_count, automaton.edge_count)

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


_LANGUAGES = {
    "hamming": "a language such as words(alphabet, length) or runs(model, length)",
    "levenshtein": "words_up_to(alphabet, max_length) or runs_up_to(model, max_length)",
}
