"""The audit of a mechanism for words of different lengths: every pair of short words, every short output.

The inputs are all words of up to a length, adjacent where their Levenshtein distance is at most b. The
outputs are all words that can be released, or, where there is no end to them, all up to a length; what
longer outputs can tell is then not enumerated, and the verdict carries what the mechanism proves of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError, SymveilError, TooLargeError
from symveil.languages.edit_distance import distance_table
from symveil.models.word import Codes
from symveil.numerics.rationals import at_least
from symveil.privacy.edit_law import EditLaw
from symveil.verification.verdict import AuditVerdict, Witness, losses

MOST_INPUTS = 1_500
MOST_OUTPUTS = 20_000
_MOST_TABLE = 20_000_000
_MOST_COMPARISONS = 2 * 10**9

Progress = Callable[[int, int], None]


def audit_edits(
    law: EditLaw, *, length: int, output_length: int | None = None, progress: Progress | None = None
) -> AuditVerdict:
    """The worst loss over all adjacent words of up to `length` symbols, and outputs of up to `output_length`.

    >>> import symveil as sv
    >>> channel = sv.EditChannel(alphabet="ab", epsilon=4)
    >>> verdict = audit_edits(channel, length=3, output_length=6)
    >>> verdict.private, round(verdict.worst_epsilon, 6), round(verdict.longer_outputs_epsilon, 6)
    (True, 4.0, 4.0)
    """
    inputs = law.inputs(_read(length, "length"), at_most=MOST_INPUTS)
    outputs = law.outputs(_output_length(law, length, output_length), at_most=MOST_OUTPUTS)
    words = [word for rows in inputs for word in rows]
    released = [word for rows in outputs for word in rows]
    if len(words) * len(released) > _MOST_TABLE or (len(words) * len(inputs)) ** 2 > _MOST_COMPARISONS:
        raise TooLargeError(
            f"audit: expected at most {_MOST_TABLE} pairs of an input and an output, and short words, found "
            f"{len(words)} × {len(released)} with up to {len(inputs) - 1} symbols; use a smaller length"
        )
    whole = law.largest_output is not None and law.largest_output < len(outputs)
    table = np.empty((len(words), len(released)))
    for index, word in enumerate(words):
        table[index] = np.concatenate([law.log_probabilities(word, rows) for rows in outputs])
        _check_total(law, float(np.exp(table[index]).sum()), index, whole=whole)
        if progress:
            progress(index + 1, 2 * len(words))
    distance = distance_table(inputs)
    worst, place, pairs = _worst(law, table, distance, progress)
    finite = np.abs(table[np.isfinite(table)])
    worst -= 4 * float(finite.max(initial=0.0)) * 2.0**-52  # what is reported was really attained
    return AuditVerdict(
        mechanism=law.name,
        nominal_epsilon=at_least(law.epsilon),
        worst_epsilon=max(worst, 0.0),
        witness=_witness(law, words, released, place) if place else None,
        pairs_checked=pairs,
        outputs_up_to=len(outputs) - 1,
        longer_outputs_epsilon=None if whole else law.guarantee.epsilon,
    )


def _worst(
    law: EditLaw, table: NDArray[np.float64], distance: NDArray[np.int64], progress: Progress | None
) -> tuple[float, tuple[int, int, int] | None, int]:
    worst, place, pairs = -math.inf, None, 0
    for index in range(len(table)):
        neighbours = np.flatnonzero((distance[index] > 0) & (distance[index] <= law.adjacency))
        pairs += len(neighbours)
        for part in np.array_split(neighbours, max(1, len(neighbours) // 64)):
            found = losses(table[index], table[part])
            if found.size and found.max() > worst:
                worst = float(found.max())
                row, released = np.unravel_index(int(found.argmax()), found.shape)
                place = (index, int(part[row]), int(released))
        if progress:
            progress(len(table) + index + 1, 2 * len(table))
    return worst, place, pairs


def _output_length(law: EditLaw, length: int, asked: int | None) -> int:
    """All outputs where they end; else as asked, else as long as few enough of them exist."""
    if law.largest_output is not None:
        return law.largest_output
    if asked is not None:
        return _read(asked, "output_length")
    symbols, longest, total = len(law.alphabet), length + 1, 0
    total = sum(symbols**each for each in range(longest + 1))
    while longest < length + 4 and total + symbols ** (longest + 1) <= MOST_OUTPUTS // 4:
        longest += 1
        total += symbols**longest
    return longest


def _check_total(law: EditLaw, total: float, index: int, *, whole: bool) -> None:
    """A table whose rows do not sum to 1, or exceed it where some outputs are left out, is no law at all."""
    if total > 1 + 1e-9 or (whole and total < 1 - 1e-9):
        raise SymveilError(
            f"audit: expected the probabilities of {law.name} to sum to 1 for every word, found {total!r} for word "
            f"number {index + 1}"
        )


def _witness(law: EditLaw, words: list[Codes], released: list[Codes], place: tuple[int, int, int]) -> Witness:
    symbols = law.alphabet.symbols
    chosen = (words[place[0]], words[place[1]], released[place[2]])
    return Witness(*(tuple(symbols[code] for code in word) for word in chosen))


def _read(value: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise ParameterError(name, expected="a whole number, 0 or more", found=value)
    return int(value)
