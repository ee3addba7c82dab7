"""The audit: the exact worst-case loss of a law, by looking at every pair of adjacent words.

ε-privacy says P(w'|w) ≤ e^ε P(w'|v) for every released w' and every adjacent w, v. On a small
language there is nothing to believe: all of these can be computed and compared.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.errors import SymveilError, TooLargeError
from symveil.languages.language import Language
from symveil.models.alphabet import Symbol
from symveil.models.word import Codes
from symveil.numerics.rationals import at_least
from symveil.privacy.law import Law

# The table of all P(w'|w) has one float for every pair of words: 128 MiB at this size.
MOST_WORDS = 4096
_MOST_COMPARISONS = 2 * 10**10
# Logarithms of probabilities are right to about 1e-13; a loss above nominal by more is real.
_ROUNDING = 1e-9

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Witness:
    """Where the worst loss is attained: `released` is that much likelier from `word` than from `neighbour`."""

    word: tuple[Symbol, ...]
    neighbour: tuple[Symbol, ...]
    released: tuple[Symbol, ...]

    def items(self) -> tuple[tuple[str, tuple[Symbol, ...]], ...]:
        """Each of the three words with its name."""
        return (("word", self.word), ("neighbour", self.neighbour), ("released", self.released))

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        return {name: list(word) for name, word in self.items()}


@dataclass(frozen=True, slots=True)
class AuditVerdict:
    """The exact worst-case loss of a mechanism on its language, and whether it keeps its promise."""

    mechanism: str
    nominal_epsilon: float
    worst_epsilon: float
    witness: Witness | None
    pairs_checked: int

    def _repr_html_(self) -> str:
        verdict = "keeps" if self.private else "<b>breaks</b>"
        return (
            f"<p>{html.escape(self.mechanism)} {verdict} its promise of ε = {self.nominal_epsilon:.6g}: worst loss "
            f"{self.worst_epsilon:.6g} over {self.pairs_checked} pairs.</p>"
        )

    @property
    def private(self) -> bool:
        """Whether the worst loss is at most the nominal ε (within 1e-9, the rounding of logarithms)."""
        return self.worst_epsilon <= self.nominal_epsilon + _ROUNDING

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        return {
            "mechanism": self.mechanism,
            "nominal_epsilon": self.nominal_epsilon,
            "worst_epsilon": "infinity" if math.isinf(self.worst_epsilon) else self.worst_epsilon,
            "witness": self.witness.document() if self.witness else None,
            "pairs_checked": self.pairs_checked,
            "private": self.private,
        }


def audit(law: Law, *, progress: Progress | None = None) -> AuditVerdict:
    """The exact worst-case loss of `law` over all ordered pairs of adjacent words, with a witness.

    >>> import symveil as sv
    >>> verdict = sv.audit(sv.PermuteAndFlip(sv.words("abc", 3), epsilon=1))
    >>> verdict.private, round(verdict.worst_epsilon, 9), verdict.pairs_checked
    (True, 1.0, 162)
    """
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
            losses = _losses(log_law[index], log_law[part])
            if losses.size and losses.max() > worst:
                worst = float(losses.max())
                row, released = np.unravel_index(int(losses.argmax()), losses.shape)
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


def _losses(of_word: NDArray[np.float64], of_neighbours: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln P(w'|w) − ln P(w'|v); +∞ where only v cannot release w', −∞ where w cannot."""
    with np.errstate(invalid="ignore"):
        losses = of_word - of_neighbours
    losses[np.isnan(losses)] = -np.inf  # neither can release it: nothing is learned from what never happens
    return losses


def _witness(language: Language, words: Codes, place: tuple[int, int, int]) -> Witness:
    spelled = (tuple(language.alphabet.symbols[code] for code in words[index]) for index in place)
    return Witness(*spelled)
