"""Words of any lengths at once, where the length is a secret: one edit mechanism for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError, WordError
from symveil.languages.bounded import BoundedWords, EveryWord, runs_up_to
from symveil.mechanisms.edit_mechanism import EditMechanism, OpenLanguage
from symveil.mechanisms.ragged import LengthClass, Lengths, MechanismOfLength, MechanismParameters, Refusal
from symveil.mechanisms.selection import select_mechanism
from symveil.models.alphabet import Alphabet
from symveil.models.word import Codes
from symveil.numerics.once import computed_once
from symveil.privacy.parameters import read_metric
from symveil.randomness import BitSource


@dataclass(frozen=True, kw_only=True)
class EditsOfAnyLength(MechanismParameters):
    """An edit mechanism for the words of a file. Nothing it says depends on how long they are.

    >>> import numpy as np
    >>> from symveil.randomness import NotPrivateSeededBits
    >>> family = EditsOfAnyLength(alphabet=Alphabet.from_symbols("abc"), epsilon=1000)
    >>> codes, lengths = np.array([0, 1, 2, 0], dtype=np.int32), np.array([3, 0, 1])
    >>> released, ends = family.release(codes, lengths, NotPrivateSeededBits(1))
    >>> released.tolist(), ends.tolist()
    ([0, 1, 2, 0], [3, 0, 1])
    """

    max_length: int | None = None
    cutoff: int | None = None
    keeps_lengths: ClassVar[bool] = False
    metric: ClassVar[str] = "levenshtein"

    def __post_init__(self) -> None:
        read_metric(self.metric, max_length=self.max_length)
        super().__post_init__()
        if self.public_start:
            raise ParameterError("public_start", expected="metric hamming with it", found="levenshtein")
        object.__setattr__(self, "alphabet", self._language.alphabet)
        object.__setattr__(self, "mechanism", self.chosen.name)  # parameters are checked even where there is no word

    @computed_once
    def _language(self) -> OpenLanguage:
        if self.model is not None:
            if self.max_length is None:
                raise ParameterError("max_length", expected="a public bound on the lengths with a model", found="none")
            return runs_up_to(self.model, self.max_length)
        symbols = Alphabet.from_symbols(self.alphabet)
        return EveryWord(symbols) if self.max_length is None else BoundedWords(symbols, self.max_length)

    @computed_once
    def chosen(self) -> EditMechanism:
        """The mechanism that all words go through."""
        return select_mechanism(self._language, **self.chosen_by, cutoff=self.cutoff)

    def of_length(self, length: int) -> None:
        """None: there is no mechanism for one length, since lengths are secret."""
        del length

    def first_refused(self, codes: Codes, lengths: Lengths) -> NDArray[np.int64]:
        """Where each word leaves the language, counted from 1; 0 for the words that can be released."""
        wrong = np.zeros(len(lengths), dtype=np.int64)
        ends = np.cumsum(lengths)
        suspect = np.arange(len(lengths))
        if self.model is None:  # only unknown symbols and lengths can be wrong
            unknown = np.flatnonzero((codes < 0) | (codes >= len(self.alphabet)))
            too_long = lengths > (self.max_length if self.max_length is not None else np.iinfo(np.int64).max)
            suspect = np.union1d(np.searchsorted(ends, unknown, side="right"), np.flatnonzero(too_long))
        for row in suspect.tolist():
            try:
                self._language.check(codes[ends[row] - lengths[row] : ends[row]])
            except WordError as error:
                # a word is too long from the bound on, and one that may not end there goes wrong after its end
                bound = lengths[row] if self.max_length is None else self.max_length
                wrong[row] = error.position or min(lengths[row], bound) + 1
        return wrong

    def refusal(self, codes: Codes) -> Refusal:
        """Why a word that `first_refused` found is refused."""
        try:
            self._language.check(codes)
        except WordError as error:
            if error.position is not None:
                return Refusal("symbol", error.position)
        return Refusal("length" if self.max_length is not None and len(codes) > self.max_length else "end")

    def release(self, codes: Codes, lengths: Lengths, bits: BitSource) -> tuple[Codes, Lengths]:
        """A private word for each word. Where each record has its own bits, what it becomes depends on it only."""
        if not bits.per_record or not len(lengths):
            return self.chosen.release_flat(codes, lengths, bits=bits)
        ends = np.cumsum(lengths)
        parts, sizes = [], np.empty(len(lengths), dtype=np.int64)
        for row in range(len(lengths)):
            word = codes[ends[row] - lengths[row] : ends[row]]
            drawn, size = self.chosen.release_flat(word, lengths[row : row + 1], bits=bits.of_row(row))
            parts.append(drawn)
            sizes[row] = size[0]
        return np.concatenate(parts), sizes

    def classes(self, lengths: NDArray[np.int64]) -> list[LengthClass]:
        """One class for all words: which lengths occur is a secret."""
        del lengths
        return [LengthClass((0, self.chosen.largest_output), self.chosen.name, None, self.chosen.guarantee)]


Family = MechanismOfLength | EditsOfAnyLength
"""What releases the words of a file."""


def mechanism_for_files(
    *, metric: str = "hamming", max_length: int | None = None, cutoff: int | None = None, **parameters: Any
) -> Family:
    """One mechanism for each length, or, with metric "levenshtein", one for words of all lengths."""
    if read_metric(metric, max_length=max_length) == "levenshtein":
        return EditsOfAnyLength(max_length=max_length, cutoff=cutoff, **parameters)
    if cutoff is not None:
        raise ParameterError("cutoff", expected="the mechanism truncated-levenshtein with it", found=cutoff)
    return MechanismOfLength(**parameters)
