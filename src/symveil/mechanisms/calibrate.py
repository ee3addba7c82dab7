"""From a choice to laws, and what can be asked of laws: the only slow step, and functions over frozen data.

laws = calibrate(choice, language, lengths)      # searches and proves
draw(laws, codes, lengths, bits)                 # reads

Expected errors are averages over the words of a public model: over all words, or over a sample by public bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symveil.bounds.prior import Prior
from symveil.errors import FileError, InputError
from symveil.languages.edit_neighbours import EditNeighbours
from symveil.languages.hamming_automaton import HammingAutomaton, hamming_automaton
from symveil.languages.language import AnyLength, Language
from symveil.languages.levenshtein_automaton import LevenshteinAutomaton, levenshtein_automaton
from symveil.languages.run_product import AutomatonSize, product_size
from symveil.languages.runs import RunLanguage
from symveil.laws.guarantee import Guarantee
from symveil.laws.protection import public_words
from symveil.mechanisms.attacker import AttackerView, Guess, attacker_view
from symveil.mechanisms.by_length import ByLength, calibrated, of_length
from symveil.mechanisms.choice import BY_NAME, MechanismChoice
from symveil.mechanisms.code_law import excess
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.law import Law, law_from_row, law_row
from symveil.mechanisms.limits import LIMITS
from symveil.mechanisms.mechanism import Mechanism, proved_again
from symveil.mechanisms.selection import choose_mechanism, select_one_of_many
from symveil.models.alphabet import Codes, Lengths, Word
from symveil.numbers.once import LastFew
from symveil.numbers.progress import Progress, reporting_to
from symveil.numbers.rationals import at_least, shown_at_least, spelled
from symveil.randomness import BitSource, NotPrivateSeededBits, system_bits

# What stands for longer words, in the order in which it is tried.
_SHORTER = (100, 50, 20, 10)
_SIMULATED, _SEED = 40, 13


def mean_error(mechanism: Mechanism, *, progress: Progress | None = None) -> tuple[float, float]:
    """The expected error over the words of a language, each as likely as any other, and its standard error.

    `progress` is called where words are looked at one by one.

    >>> import symveil as sv
    >>> round(mean_error(sv.Exponential(sv.words("abc", 3), epsilon=2))[0], 3)
    0.639
    """
    return mean_of_words(mechanism, expected_errors_of_words(mechanism, progress)[0])


def mean_of_words(mechanism: Mechanism, errors: Sequence[float]) -> tuple[float, float]:
    """The average of errors over the words of a language, and its standard error; 0 where all words were looked at."""
    whole = mechanism.language.homogeneous or mechanism.language.has_at_most(_written_out(mechanism))
    shares = _shares(mechanism) if whole and len(errors) > 1 else np.full(len(errors), 1 / len(errors))
    spread = 0.0 if whole else float(np.std(errors, ddof=1)) / math.sqrt(len(errors))
    return float(shares @ np.array(errors)), spread


def prior_of(mechanism: Mechanism) -> str:
    """What averages are over: "uniform" words, or words as the "chain" has them."""
    return "chain" if getattr(mechanism, "prior", None) == "chain" else "uniform"


def _written_out(mechanism: Mechanism) -> int:
    """Up to how many words all of them are looked at: a law that is written down has them all."""
    return LIMITS.now.averaged_words if mechanism.law.table is None else LIMITS.now.optimal_words


def expected_errors_of_words(
    mechanism: Mechanism, progress: Progress | None = None
) -> tuple[list[float], list[float] | None]:
    """The expected error of all words, or of a sample from the prior by public bits; one where all have the same.

    And what it costs, where costs are given.
    """
    language = mechanism.language.runs
    if language is None:
        return [mechanism.distances().expected_error], None
    if language.has_at_most(_written_out(mechanism)):
        rows = language.enumerate_codes(at_most=_written_out(mechanism))
    else:
        rows = _sampled(language, prior_of(mechanism))
    with nullcontext() if progress is None else reporting_to(progress):
        symbols, spent = mechanism.expected_errors(rows)
    return symbols.tolist(), spent.tolist() if getattr(mechanism, "cost", None) == "given" else None


def _sampled(language: RunLanguage, kind: str) -> Codes:
    steps = max(language.length * language.graph.edge_count, 1)
    count = int(min(LIMITS.now.sampled_words, max(LIMITS.now.fewest_sampled_words, LIMITS.now.sampled_steps // steps)))
    return public_words(language, count, prior=kind)


def _shares(mechanism: Mechanism) -> NDArray[np.float64]:
    """How likely each word of a language is that is written out."""
    language = mechanism.language.runs
    assert language is not None  # noqa: S101 - others have one law for all words
    return Prior(language, prior_of(mechanism)).word_probabilities(
        language.enumerate_codes(at_most=_written_out(mechanism))
    )


# --- of a file, for its manifest ----------------------------------------------------------------


def expected_error_of_file(mechanism: Mechanism, lengths: NDArray[np.int64]) -> dict[str, object] | None:
    """For a manifest: how many symbols change on average in words of the middle one of the lengths of a file.

    The average is over the public model. Where words are long or the model is large, shorter words stand for them; None
    where that takes long too, and where lengths are secret.

    >>> import symveil as sv
    >>> expected_error_of_file(sv.Exponential(sv.words("abc", 3), epsilon=2), np.array([3]))
    {'length': 3, 'symbols': 0.639042, 'standard_error': 0.0, 'words': 'uniform'}
    """
    own = _of_middle_length(mechanism, lengths)
    if own is None:
        return None
    language = own.language.runs
    if language is None and not own.language.homogeneous:
        return None
    if language is not None and own.weighting is None and own.law.table is None:
        words = public_words(language, _SIMULATED, prior=prior_of(own))
        drawn = own.release_codes(words, bits=NotPrivateSeededBits(_SEED))
        errors = np.count_nonzero(drawn != words, axis=1).astype(np.float64).tolist()
        mean, spread = float(np.mean(errors)), float(np.std(errors, ddof=1)) / math.sqrt(len(errors))
    else:
        errors, _ = expected_errors_of_words(own, None)
        mean, spread = mean_of_words(own, errors)
    return {
        "length": own.length,
        "symbols": float(f"{mean:.6g}"),
        "standard_error": float(f"{spread:.3g}"),
        "words": prior_of(own),
    }


def attacker_of_file(mechanism: Mechanism, lengths: NDArray[np.int64]) -> dict[str, object] | None:
    """For a manifest: what an attacker guesses who knows the public model and sees one private word of the middle
    length.

    The public model, the lengths and the mechanism decide it, never the words of the file. None where lengths are
    secret and where it would take long.

    >>> import symveil as sv
    >>> document = attacker_of_file(sv.Exponential(sv.words("abc", 3), epsilon=2), np.array([3]))
    >>> document["length"], document["symbol"], document["how"]
    (3, {'before': 0.333333, 'after': 0.786986}, 'exact')
    """
    own = _of_middle_length(mechanism, lengths)
    view = None if own is None else attacker_view(own)
    if own is None or view is None:
        return None
    return {"length": own.length, **_six_digits(view).document()}


def _six_digits(view: AttackerView) -> AttackerView:
    """The same as machines agree on it; what is promised at most, and the ends of an interval, rounded outwards."""

    def nearest(guess: Guess) -> Guess:
        return Guess(float(f"{guess.before:.6g}"), float(f"{guess.after:.6g}"))

    ends = view.interval and (max(view.interval[0] - 1e-6, 0.0), min(view.interval[1] + 1e-6, 1.0))
    rounded = ends and (float(f"{ends[0]:.6g}"), float(f"{ends[1]:.6g}"))
    promised = None if view.promised is None else min(float(shown_at_least(view.promised, 6)), 1.0)
    return replace(
        view,
        symbol=nearest(view.symbol),
        first=nearest(view.first),
        last=nearest(view.last),
        word=nearest(view.word),
        interval=rounded,
        promised=promised,
    )


def _of_middle_length(mechanism: Mechanism, lengths: NDArray[np.int64]) -> Mechanism | None:
    """What releases words of the middle one of the lengths that occur, or shorter ones where those take long.

    None where lengths are secret, and where all of that takes long.
    """
    positive = lengths[lengths > 0]
    if mechanism.metric != "hamming" or not len(positive):
        return None
    for length in _quick_lengths(mechanism, int(positive[len(positive) // 2])):
        own = of_length(mechanism, length)
        if own is not None and own.length == length:
            return own
    return None


def _quick_lengths(mechanism: Mechanism, length: int) -> list[int]:
    """This length and shorter ones in its place, without those that take long."""
    graph = mechanism.language.graph
    steps = 0 if graph is None else graph.edge_count
    return [
        each
        for each in (length, *(shorter for shorter in _SHORTER if shorter < length))
        if each <= LIMITS.now.manifest_length and each * steps <= LIMITS.now.manifest_steps
    ]


def averaged_lengths(mechanism: Mechanism, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The lengths that averages in a manifest may be about, where words of these lengths occur: they need laws too."""
    language = mechanism.language
    if not isinstance(language, AnyLength):
        return lengths
    averaged = set()
    for length in lengths[lengths > 0].tolist():
        quick = _quick_lengths(mechanism, length)
        averaged.update(next(([each] for each in quick if language.of_length(each) is not None), []))
    return np.array(sorted(averaged), dtype=np.int64)


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
    AutomatonSize(state_count=6, edge_count=6)
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
