"""Privatise many words of any mixture of lengths."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack

import numpy as np

from symveil.engines.promise import Release
from symveil.errors import WordError
from symveil.languages.graph import NOT_ACCEPTED, Model
from symveil.languages.language import Language, refusal
from symveil.mechanisms.choice import MechanismChoice
from symveil.models.alphabet import Alphabet, Symbol
from symveil.models.word import Codes, Word, decode, encode_many, split_words
from symveil.randomness import BitSource, system_bits
from symveil.workflows.parameters import ChoiceParameters, check_choice_names, described_choice, shows_fields


@shows_fields(MechanismChoice, types=ChoiceParameters, first=("alphabet", "model", "epsilon"))
def privatize(
    words: Iterable[Word],
    *,
    alphabet: Alphabet | Iterable[Symbol] | None = None,
    model: Model | None = None,
    choice: MechanismChoice | None = None,
    bits: BitSource | None = None,
    **named: Unpack[ChoiceParameters],
) -> list[Word]:
    """A private word for each word, in the same order.

    With metric "hamming" each word's length is public and kept. With "levenshtein" it is secret, and the
    released word has another one; `max_length` is then a public bound on the lengths (truncated-levenshtein
    needs it, edit does not).

    Parameters
    ----------
    words
        The words, of any mixture of lengths.
    alphabet, model
        One of them: the symbols, or the model whose words are released.
    choice
        Which mechanism with which parameters; or its fields by name: epsilon, mechanism, adjacency, calibration, prior,
        utility, offset, public_start, metric, max_length, cutoff, cost, cap, balanced, step, costs.
    bits
        Where random bits come from; by default the system.

    >>> import symveil as sv
    >>> private = sv.privatize(["ab", "abcab", ""], alphabet="abc", epsilon=2)
    >>> [len(word) for word in private]
    [2, 5, 0]
    >>> sv.privatize(["ab", "abcab", ""], alphabet="abc", epsilon=1000, metric="levenshtein")
    ['ab', 'abcab', '']
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> all("bb" not in word for word in sv.privatize(["abab", "ba"] * 20, model=chain, epsilon=1))
    True
    """
    loose = dict(named)
    check_choice_names("privatize", ChoiceParameters, loose, choice)
    choice = described_choice(choice, loose)
    built = Release.of(choice, alphabet=alphabet, model=model).mechanism
    language = built.language
    sources = words if isinstance(words, str) else list(words)
    rows = encode_many(sources, language.alphabet, tell_length=choice.metric == "hamming")
    codes = np.concatenate([np.empty(0, dtype=np.int32), *rows])
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    wrong = language.first_refused(codes, lengths)
    if wrong.any():
        number = int(np.argmax(wrong > 0))
        raise _refused(number, rows[number], language)
    released, new_lengths = built.release_checked(codes, lengths, bits or system_bits()) if rows else (codes, lengths)
    parts = zip(split_words(released, new_lengths), sources, strict=True)
    return [decode(part, language.alphabet, like=source) for part, source in parts]


def _refused(number: int, row: Codes, language: Language) -> WordError:
    """Why a word cannot be released, without telling a symbol, or a length that is secret."""
    which, why = f"word {number + 1}, word", refusal(language, row)
    if why.because == "length":
        return WordError(
            f"{which}: expected at most {language.max_length} symbols, which is the public bound, found more"
        )
    if why.because == "end":
        return WordError(f"{which}: {NOT_ACCEPTED}")
    length = f" of {len(row)}" if language.metric == "hamming" else ""
    return WordError(
        f"{which}: expected a word that the model can produce, found an impossible symbol at position "
        f"{why.position}{length}",
        position=why.position,
    )
