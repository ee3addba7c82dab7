"""From a choice to laws, and what can be asked of laws: the only slow step, and functions over frozen data.

laws = calibrate(choice, language, lengths)      # searches and proves
draw(laws, codes, lengths, bits)                 # reads
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symveil.errors import FileError, InputError
from symveil.languages.edit_neighbours import EditNeighbours
from symveil.languages.hamming_automaton import HammingAutomaton, hamming_automaton
from symveil.languages.language import AnyLength, Language
from symveil.languages.levenshtein_automaton import LevenshteinAutomaton, levenshtein_automaton
from symveil.languages.run_product import AutomatonSize, product_size
from symveil.laws.guarantee import Guarantee
from symveil.mechanisms.averages import mean_error
from symveil.mechanisms.by_length import ByLength, calibrated, of_length
from symveil.mechanisms.choice import BY_NAME, MechanismChoice
from symveil.mechanisms.code_law import excess
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.law import Law, law_from_row, law_row
from symveil.mechanisms.mechanism import Mechanism, proved_again
from symveil.mechanisms.selection import choose_mechanism, select_one_of_many
from symveil.models.alphabet import Codes, Lengths, Word
from symveil.numbers.once import LastFew
from symveil.numbers.rationals import at_least, spelled
from symveil.randomness import BitSource, system_bits

_MECHANISMS_REMEMBERED = 64
_EDITS_SHOWN = 2


def calibrate(
    choice: MechanismChoice, language: Language, lengths: ArrayLike | None = None
) -> dict[tuple[int, int | None], Law]:
    """The laws by which words are released, by the lengths (from, to) of the words: the one slow step.

    Parameters
    ----------
    choice
        Which mechanism, with which parameters.
    language
        The words: of one length, of any length, or of secret lengths.
    lengths
        The public lengths that occur, where words of any length are meant.

    >>> import symveil as sv
    >>> laws = calibrate(sv.MechanismChoice(epsilon=2), sv.words("abc", 5))
    >>> [(lengths, law.kind, law.rate) for lengths, law in laws.items()]
    [((5, 5), 'exponential', Fraction(2, 1))]
    """
    chosen = choose_mechanism(choice, language)
    if language.length is not None or language.metric == "levenshtein":
        return {(language.length or 0, language.max_length): with_losses(chosen)}
    occurring = np.unique(np.asarray([] if lengths is None else lengths, dtype=np.int64))
    sealed = calibrated(chosen, occurring)
    made = {length: of_length(sealed, length) for length in occurring[occurring > 0].tolist()}
    return {(length, length): with_losses(own) for length, own in made.items() if own is not None}


def with_losses(mechanism: Mechanism) -> Law:
    """The law of a mechanism with its loss at the distances that people ask about."""
    curve = mechanism.guarantee.curve
    assert curve is not None  # noqa: S101 - that of a mechanism has one
    rows = [(int(str(row["distance"])), mechanism.loss_at(int(str(row["distance"])))) for row in curve.rows()]
    return replace(mechanism.law, losses=tuple(rows))


def mechanism_of(law: Law) -> Mechanism:
    """The mechanism that draws by a law; the same object for the same law, so that its tables are made once.

    >>> import symveil as sv
    >>> law = sv.Exponential(sv.words("abc", 5), epsilon=2).law
    >>> mechanism_of(law) is mechanism_of(law), mechanism_of(law).rate
    (True, Fraction(2, 1))
    """
    return _mechanisms.of(id(law), lambda: (law, BY_NAME[law.kind].from_law(law)))[1]


_mechanisms: LastFew[int, tuple[Law, Mechanism]] = LastFew(_MECHANISMS_REMEMBERED)
"""By the identity of a law, which the entry keeps alive."""


def draw(law: Law, codes: Codes, lengths: Lengths, bits: BitSource | None = None) -> tuple[Codes, Lengths]:
    """A private word for each word: their codes one after the other with their lengths, in and out.

    Parameters
    ----------
    law
        The law of words of these lengths.
    codes, lengths
        The words.
    bits
        Where random bits come from; by default the system.

    >>> import symveil as sv
    >>> from symveil.randomness import NotPrivateSeededBits
    >>> law = sv.Exponential(sv.words("abc", 3), epsilon=9).law
    >>> draw(law, np.array([0, 1, 2], dtype=np.int32), np.array([3]), NotPrivateSeededBits(1))[0].tolist()
    [0, 1, 2]
    """
    return mechanism_of(law).release_flat(codes, lengths, bits=bits or system_bits())


def log_probabilities(law: Law, word: Codes, released: Codes) -> NDArray[np.float64]:
    """ln P(row | word) for every row of `released`.

    >>> import symveil as sv
    >>> law = sv.Exponential(sv.words("ab", 2), epsilon=1).law
    >>> log_probabilities(law, [0, 0], [[0, 0], [1, 1]]).round(4).tolist()
    [-0.6265, -2.6265]
    """
    return mechanism_of(law).log_probabilities(word, released)


def expected_error(law: Law) -> float:
    """The expected number of wrong symbols, on average over the words of the language.

    >>> import symveil as sv
    >>> round(expected_error(sv.Exponential(sv.words("abc", 3), epsilon=2).law), 3)
    0.639
    """
    return mean_error(mechanism_of(law))[0]


def loss_at(law: Law, distance: int) -> float:
    """The most that is lost between words so far apart, rounded upwards; infinite where nothing is proved.

    >>> import symveil as sv
    >>> loss_at(sv.Exponential(sv.words("abc", 6), epsilon=1).law, 2)
    2.0
    """
    return dict(law.losses).get(distance) or mechanism_of(law).loss_at(distance)


def automaton_size(law: Law, word: Word) -> AutomatonSize:
    """States and edges of the automaton around a word, on a model of its product with it.

    >>> import symveil as sv
    >>> automaton_size(sv.Exponential(sv.words("ab", 2), epsilon=1).law, "ab")
    AutomatonSize(states=6, edges=8)
    """
    language = law.language
    if law.channel is not None:
        around: HammingAutomaton | LevenshteinAutomaton | EditNeighbours = levenshtein_automaton(
            word, _EDITS_SHOWN, alphabet=language.alphabet
        )
    elif language.metric == "levenshtein":
        around = cast(EditNeighbours, language.around(language.encode(word), within=law["cutoff"]))
    elif language.runs is not None:
        return product_size(language.runs, language.runs.encode(word))
    else:
        around = hamming_automaton(word, alphabet=language.alphabet)
    return AutomatonSize(around.state_count, around.edge_count)


def law_rows(mechanism: Mechanism, lengths: Lengths) -> list[dict[str, Any]]:
    """The laws of words of these lengths as manifests have them: neighbouring lengths with the same law are one row.

    The lengths that occur are looked at where they are public.
    """
    if mechanism.metric == "levenshtein":
        return [{"lengths": [0, mechanism.largest_output], **_row(mechanism)}]
    rows: list[dict[str, Any]] = []
    for length in np.unique(lengths[lengths > 0]).tolist():
        own = of_length(mechanism, length)
        if own is None:
            continue
        row, first = _row(own), length
        if rows and {key: value for key, value in rows[-1].items() if key != "lengths"} == row:
            first = rows.pop()["lengths"][0]
        rows.append({"lengths": [first, length], **row})
    return rows


def _row(mechanism: Mechanism) -> dict[str, object]:
    return law_row(mechanism.law, reach=mechanism.reach, parameters=mechanism.parameters_document())


# --- laws of a manifest -------------------------------------------------------------------------


@dataclass(frozen=True)
class RowLaws:
    """The laws in the rows of a manifest, made when a length is asked for. Nothing is searched for.

    Parameters
    ----------
    choice
        The parameters in the manifest.
    rows
        Its `law`.
    classes
        Its `classes`, which claim a loss for every length.
    where
        The manifest, for messages.
    prove
        Whether each law is proved again before it is used: one evaluation.
    """

    choice: MechanismChoice
    rows: Sequence[Mapping[str, Any]]
    classes: Sequence[Mapping[str, Any]]
    where: str
    prove: bool = False

    def __call__(self, language: Language, length: int | None) -> Mechanism:
        """The mechanism by the law of words of a length; None: of words of all lengths, which are secret."""
        row = self.row(length, is_free=language.graph is None)
        claimed = (_covering(self.classes, length) or {}).get("guarantee")
        # the averages in a manifest may be about another length, whose loss no class claims
        proved = Guarantee(epsilon=at_least(self.choice.epsilon), how="classic", loss=self.choice.epsilon)
        if claimed is not None:
            proved = Guarantee(epsilon=float(claimed["epsilon"]), how=claimed["how"])
        law = law_from_row(BY_NAME[row["mechanism"]], language, self.choice, row, proved)
        made = self._made(law, of_many_lengths=length is not None)
        if not self.prove:
            return made
        again = self._made(self._proved_again(made, "certificate" in row), of_many_lengths=length is not None)
        if self.choice.grace is not None and excess(again) > self.choice.grace:
            raise InputError(f"beyond: {self.choice.beyond} is not kept between words that are farther apart")
        return again

    def _made(self, law: Law, *, of_many_lengths: bool) -> Mechanism:
        made = BY_NAME[law.kind].from_law(law)
        made._of_many_lengths = of_many_lengths
        return made

    def _proved_again(self, made: Mechanism, names_proof: bool) -> Law:
        """The law with what is proved at its rate, in one evaluation; refused where that is not what is claimed.

        Rows of 0.3 do not name the proof: another one may prove less than what is claimed, not more.
        """
        claimed, proved = made.law, proved_again(made)
        if not proved.proved.within(self.choice.epsilon) or claimed.rate != proved.rate:
            raise InputError(f"the loss is above epsilon, {spelled(self.choice.epsilon)}")
        if not claimed.claims(proved.rate, proved.proved):
            raise InputError("another guarantee than what is computed again")
        if names_proof:
            if not claimed.claims_certificate(proved.certificate):
                raise InputError("another certificate than what is proved again")
            return replace(claimed, proved=proved.proved)
        return replace(claimed, proved=replace(claimed.proved, loss=proved.proved.loss))

    def row(self, length: int | None, *, is_free: bool = False) -> Mapping[str, Any]:
        """The row for words of a length; on Σⁿ longer words whose symbols are drawn alike have the row of others."""
        row = _covering(self.rows, length)
        if row is None and is_free and self.choice.adjacency != "all":
            row = next((each for each in self.rows if self._is_shared(each, length)), None)
        if row is None:
            raise FileError(
                f"{self.where}: $.law", expected="a law for every length in the file", found="none for some"
            )
        return row

    def _is_shared(self, row: Mapping[str, Any], length: int | None) -> bool:
        alike = row["mechanism"] == Exponential.name and row.get("utility") == "distance"
        b = self.choice.adjacency
        return alike and isinstance(b, int) and length is not None and length >= b and (row["lengths"][1] or 0) >= b


def _covering(rows: Sequence[Mapping[str, Any]], length: int | None) -> Mapping[str, Any] | None:
    """The row about words of a length."""
    if length is None:
        return rows[0] if rows else None
    return next((row for row in rows if row["lengths"][0] <= length <= (row["lengths"][1] or length)), None)


def mechanism_by_rows(language: Language, laws: RowLaws) -> Mechanism:
    """The mechanism that draws by the laws of a manifest."""
    if isinstance(language, AnyLength):
        return ByLength(language, laws.choice, select_one_of_many, laws=laws)
    return laws(language, None)
