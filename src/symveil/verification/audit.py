"""The audit: the exact worst-case loss of a law, by looking at every pair of adjacent words.

ε-privacy says P(w'|w) ≤ e^ε P(w'|v) for every released w' and every adjacent w, v. On a small
language there is nothing to believe: all of these can be computed and compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError, SymveilError, TooLargeError
from symveil.languages.language import Language
from symveil.models.word import Codes
from symveil.numerics.rationals import at_least
from symveil.privacy.edit_law import EditLaw
from symveil.privacy.law import Law
from symveil.verification.edit_audit import audit_edits
from symveil.verification.verdict import AuditVerdict, Witness, losses

# The table of all P(w'|w) has one float for every pair of words: 128 MiB at this size.
MOST_WORDS = 4096
_MOST_COMPARISONS = 2 * 10**10
_SHORT = 3  # symbols: how long the words of an audit are where nothing else is said

Progress = Callable[[int, int], None]


def audit(
    law: Law | EditLaw,
    *,
    length: int | None = None,
    output_length: int | None = None,
    progress: Progress | None = None,
) -> AuditVerdict:
    """The exact worst-case loss of `law` over all ordered pairs of adjacent words, with a witness.

    For mechanisms under Levenshtein adjacency the words are those of up to `length` symbols (by default up to
    the longest that can be released, or 3), and the outputs, where there is no end to them, those of up to
    `output_length`; see `verification.edit_audit`.

    >>> import symveil as sv
    >>> verdict = sv.audit(sv.PermuteAndFlip(sv.words("abc", 3), epsilon=1))
    >>> verdict.private, round(verdict.worst_epsilon, 9), verdict.pairs_checked
    (True, 1.0, 162)
    >>> sv.audit(sv.TruncatedLevenshtein(sv.words_up_to("ab", 4), epsilon=3)).private
    True
    """
    if getattr(law, "metric", "hamming") == "levenshtein":
        edits = cast(EditLaw, law)
        if length is None:
            length = _SHORT if edits.largest_output is None else edits.largest_output
        return audit_edits(edits, length=length, output_length=output_length, progress=progress)
    if length is not None or output_length is not None:
        raise ParameterError(
            "length", expected="none: the words of this language have one length, and all are enumerated", found=length
        )
    return _audit_one_length(cast(Law, law), progress)


def _audit_one_length(law: Law, progress: Progress | None) -> AuditVerdict:
    words = law.language.enumerate_codes(at_most=MOST_WORDS)
    near = [neighbours_of(law, words, index) for index in range(len(words))]
    pairs = sum(map(len, near))
    if pairs * len(words) > _MOST_COMPARISONS:
        raise TooLargeError(
            f"audit: expected at most {_MOST_COMPARISONS} comparisons, found {pairs * len(words)}; use a shorter "
            "length, a smaller alphabet or a smaller adjacency",
        )
    log_law = _log_law_table(law, words)
    worst, place = -math.inf, None
    for index, neighbours in enumerate(near):
        for part in np.array_split(neighbours, max(1, len(neighbours) // 64)):
            found = losses(log_law[index], log_law[part])
            if found.size and found.max() > worst:
                worst = float(found.max())
                row, released = np.unravel_index(int(found.argmax()), found.shape)
                place = (index, int(part[row]), int(released))
        if progress:
            progress(index + 1, len(words))
    # A difference of two rounded logarithms may be this much too large: what is reported was really attained.
    finite = np.abs(log_law[np.isfinite(log_law)])
    worst -= 4 * float(finite.max(initial=0.0)) * 2.0**-52
    return AuditVerdict(
        mechanism=law.name,
        nominal_epsilon=at_least(law.epsilon),
        worst_epsilon=max(worst, 0.0),
        witness=_witness(law.language, words, place) if place else None,
        pairs_checked=pairs,
    )


def neighbours_of(law: Law, words: Codes, index: int) -> NDArray[np.int64]:
    """The words that are to be hard to tell from a word: close to it, and alike in what is public."""
    distance = np.count_nonzero(words != words[index], axis=1)
    near = (distance > 0) & (distance <= law.adjacency) & law.language.comparable(words[index], words)
    return np.flatnonzero(near)


def _log_law_table(law: Law, words: Codes) -> NDArray[np.float64]:
    """ln P(w'|w), a row for each w. A table whose rows do not sum to 1 is no law at all."""
    table = np.empty((len(words), len(words)))
    for index, word in enumerate(words):
        table[index] = law.log_probabilities(word, words)
        total = float(np.exp(table[index]).sum())
        if abs(total - 1) > 1e-9:
            raise SymveilError(
                f"audit: expected the probabilities of {law.name} to sum to 1 for every word, found {total!r} for "
                f"word number {index + 1} of the language"
            )
    return table


def _witness(language: Language, words: Codes, place: tuple[int, int, int]) -> Witness:
    spelled = (tuple(language.alphabet.symbols[code] for code in words[index]) for index in place)
    return Witness(*spelled)
