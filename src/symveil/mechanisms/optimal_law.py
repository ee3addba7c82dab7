"""The law of the optimal mechanism: whole numbers over a power of two, made of what a solver proposes.

What is written down (`SolvedLaw`) decides it, in integer arithmetic and on every machine: the cells that do not follow
from others ("peaks"), the ratio c that others follow with, and how much of the uniform law is mixed in. Then the
largest ratio between adjacent words is computed in integers. It is the guarantee; the solver is believed in nothing.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.bounds.prior import Floats
from symveil.errors import ParameterError
from symveil.mechanisms.limits import LIMITS
from symveil.mechanisms.optimal_programme import Programme
from symveil.numbers.conversions import exp_enclosure
from symveil.numbers.once import Memo, begin_search, computed_once

# A larger budget is not spent: e^600 is nearly the largest float.
_LARGEST_EXPONENT = Fraction(600)
# The programme is solved for a ratio that is so much closer to 1, relative to c − 1, so that rounding has room.
_ROOM = Fraction(1, 2**26)
# A cell that exceeds what follows from another by less than this share follows from it.
_FOLLOWS = 1e-9
# The share of the uniform law, relative to the expected loss: far below what anybody can notice.
_UNIFORM_BITS = 30
_UNIFORM_BITS_WITHOUT_LOSS = 64
# Probabilities are rounded to so many bits below the least one.
_SPARE_BITS = 16
# Above the relative error of a logarithm in floats, of a difference of two, and of what they are compared with.
_LOG_ERROR = 2.0**-48

_EXPECTED = "a law as symveil writes it: adjacent_ratio, uniform_bits, bits and peaks"


@dataclass(frozen=True, slots=True)
class SolvedLaw:
    """What a solver found, as it is written down: everything that decides the law of the words of one length.

    Parameters
    ----------
    ratio
        c: what is probable for one word is at least 1/c times as probable for an adjacent one.
    uniform_bits
        2^−uniform_bits is the share of the uniform law.
    bits
        Probabilities are whole multiples of 2^−bits.
    peaks
        (word, released word, probability) of the cells that do not follow from others; words are numbered in
        alphabetical order.

    >>> law = SolvedLaw(2.0, 30, 64, ((0, 0, 0.75), (1, 1, 0.75)))
    >>> law.document()["peaks"]
    '0 0 0.75;1 1 0.75'
    >>> SolvedLaw.from_document(law.document()) == law
    True
    """

    ratio: float
    uniform_bits: int
    bits: int
    peaks: tuple[tuple[int, int, float], ...]

    def document(self) -> dict[str, object]:
        """The JSON form, for manifests."""
        peaks = ";".join(f"{word} {output} {value!r}" for word, output, value in self.peaks)
        return {"adjacent_ratio": self.ratio, "uniform_bits": self.uniform_bits, "bits": self.bits, "peaks": peaks}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> SolvedLaw:
        """The law that a document describes; it may come from anybody."""
        try:
            ratio, peaks = float(document["adjacent_ratio"]), []
            uniform_bits, bits = document["uniform_bits"], document["bits"]
            for text in document["peaks"].split(";"):
                word, output, value = text.split()
                peaks.append((int(word[:9]), int(output[:9]), float(value)))
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError):
            raise ParameterError("law", expected=_EXPECTED, found="something else") from None
        whole = all(type(number) is int and 0 <= number <= LIMITS.now.document_bits for number in (uniform_bits, bits))
        real = math.isfinite(ratio) and ratio >= 1 and all(0 < value <= 1 for _, _, value in peaks)
        if not whole or not real or uniform_bits > bits:
            raise ParameterError("law", expected=_EXPECTED, found="other numbers")
        return cls(ratio, uniform_bits, bits, tuple(peaks))


@dataclass(frozen=True, eq=False)
class ExactLaw:
    """P(x|w) = numerators[w, x] / 2^bits over the words of one length: Python's whole numbers.

    `groups` has the words of each public start; one group where no start is public.
    """

    numerators: NDArray[np.object_]
    bits: int
    programmes: tuple[Programme, ...]
    groups: tuple[NDArray[np.int64], ...]

    @computed_once
    def ratio(self) -> Fraction:
        """The largest P(x|w)/P(x|v) over adjacent words w, v and all words x that can be released."""
        top, bottom = 1, 1
        for above, below, _ in self._compared_rows():
            for high, low in zip(above, below, strict=True):
                if high * bottom > top * low:
                    top, bottom = high, low
        return Fraction(top, bottom)

    def missing(self, budget: Fraction) -> Fraction:
        """The largest P(x|w) − c·P(x|v) over the pairs that an inequality is about; at most 0: all of them hold.

        `budget` is at least ln c: what adjacent words may lose, under the graceful promise what one place may lose.
        """
        allowed: Memo[int, Fraction] = Memo(lambda step: allowed_ratio(budget * step))
        largest = Fraction(0)
        for above, below, step in self._compared_rows(budget):
            most = allowed[step]
            excess = int((above * most.denominator - below * most.numerator).max())
            largest = max(largest, Fraction(excess, most.denominator)) if excess > 0 else largest
        return largest / (1 << self.bits)

    def _compared_rows(
        self, budget: Fraction | None = None
    ) -> Iterator[tuple[NDArray[np.object_], NDArray[np.object_], int]]:
        """The rows of words that are compared, within the words that they may be released as, and their steps.

        With a budget those are left out whose logarithms in floats show that the words lose less.
        """
        for programme, group in zip(self.programmes, self.groups, strict=True):
            own = self.numerators[np.ix_(group, group)]
            pairs, steps = programme.adjacent, programme.steps
            if budget is not None:
                close = _may_lose(own, pairs, steps, budget)
                pairs, steps = pairs[close], steps[close]
            for (word, other), step in zip(pairs.tolist(), steps.tolist(), strict=True):
                yield own[word], own[other], step

    @computed_once
    def digest(self) -> str:
        """SHA-256 of the table: two laws with one digest are one law."""
        text = f"{self.bits};" + ";".join(",".join(f"{each:x}" for each in row) for row in self.numerators.tolist())
        return hashlib.sha256(text.encode()).hexdigest()


def _may_lose(
    numerators: NDArray[np.object_], pairs: NDArray[np.int64], steps: NDArray[np.int64], budget: Fraction
) -> NDArray[np.bool_]:
    """Which of the pairs may lose more than `steps` budgets: all but those that floats show to lose less."""
    logs = np.array([[math.log(unit) if unit > 0 else -math.inf for unit in row] for row in numerators.tolist()])
    finite = np.abs(logs[np.isfinite(logs)]).max(initial=0.0)
    limits = np.minimum(float(budget), float(_LARGEST_EXPONENT)) * steps
    margins = _LOG_ERROR * (1.0 + finite + limits)
    close = np.empty(len(pairs), dtype=np.bool_)
    with np.errstate(invalid="ignore"):  # −∞ − (−∞) is no number, and then it may
        for first in range(0, len(pairs), LIMITS.now.optimal_pairs_at_once):
            part = slice(first, first + LIMITS.now.optimal_pairs_at_once)
            lost = (logs[pairs[part, 0]] - logs[pairs[part, 1]]).max(axis=1)
            allowed = np.minimum(limits[part], float(_LARGEST_EXPONENT)) - margins[part]
            close[part] = ~(lost <= allowed)
    return close


def allowed_ratio(epsilon: Fraction) -> Fraction:
    """A rational c with 1 < c ≤ e^ε, hardly below it.

    >>> float(allowed_ratio(Fraction(1)))
    2.7182818284590446
    """
    # e^ε ≥ 1 + ε, the larger one where ε is tiny
    return max(exp_enclosure(min(epsilon, _LARGEST_EXPONENT))[0], 1 + min(epsilon, _LARGEST_EXPONENT))


def aimed_ratio(epsilon: Fraction) -> float:
    """The ratio that the programme is solved for: a little below what is allowed."""
    return float(1 + (allowed_ratio(epsilon) - 1) * (1 - _ROOM))


def solved_law(
    programmes: tuple[Programme, ...],
    groups: tuple[NDArray[np.int64], ...],
    budget: Fraction,
    *,
    proposed: Sequence[Floats] | None = None,
) -> SolvedLaw:
    """The best law that a solver proposes, with as much of the uniform law as it takes for the loss to be allowed.

    There is a programme for each public start, with the numbers of its words. `budget` is what adjacent words may lose,
    under the graceful promise what one place may lose. Where no law is `proposed` for each programme, a solver proposes
    it.
    """
    begin_search("a table")
    ratio, most = aimed_ratio(budget), allowed_ratio(budget)
    peaks: list[tuple[int, int, float]] = []
    loss, weight = 0.0, 0.0
    for number, (programme, group) in enumerate(zip(programmes, groups, strict=True)):
        law = programme.proposal(ratio) if proposed is None else proposed[number]
        loss, weight = loss + programme.expected_loss(law) * programme.shares.sum(), weight + programme.shares.sum()
        peaks += [
            (int(group[word]), int(group[output]), value) for word, output, value in _peaks(programme, law, ratio)
        ]
    if loss > 0:  # relative to what a wrong word costs, so that the unit of costs does not matter
        costly = max(float(programme.losses.max()) for programme in programmes)
        uniform_bits = _UNIFORM_BITS + max(0, -math.floor(math.log2(loss / weight / costly)))
    else:
        uniform_bits = _UNIFORM_BITS_WITHOUT_LOSS
    # below the least probability, and below what the ratio is above 1
    largest = max(len(group) for group in groups)
    spare = largest.bit_length() + max(0, -_floor_log2(most - 1)) + _SPARE_BITS
    while True:
        result = SolvedLaw(ratio, uniform_bits, uniform_bits + spare, tuple(peaks))
        missing = exact_law(result, programmes, groups).missing(budget)
        if missing <= 0 or uniform_bits == 0:
            return result
        # (1−λ)(p − cq) ≤ λ(c−1)/count is what the uniform law has to make good
        share = 2 * Fraction(1, 2**uniform_bits) + missing * largest / (most - 1)
        uniform_bits = max(0, -_floor_log2(share) - 2)


def exact_law(solved: SolvedLaw, programmes: tuple[Programme, ...], groups: tuple[NDArray[np.int64], ...]) -> ExactLaw:
    """The law that was written down: the same integers everywhere.

    There is a programme for each public start, with the numbers of its words; only their words and their adjacency are
    looked at.
    """
    count = sum(len(group) for group in groups)
    cells = {(word, output): value for word, output, value in solved.peaks}
    numerators = np.zeros((count, count), dtype=object)
    for programme, group in zip(programmes, groups, strict=True):
        own = {int(number): index for index, number in enumerate(group)}
        mine = [cell for cell in cells if cell[0] in own and cell[1] in own]
        peaks = [(own[word], own[output], cells.pop((word, output))) for word, output in mine]
        numerators[np.ix_(group, group)] = _rounded(solved, _raised(solved, programme, peaks))
    if cells:
        raise ParameterError(
            "law", expected="words of the language, and released words with their start", found="others"
        )
    return ExactLaw(numerators, solved.bits, programmes, groups)


def _peaks(programme: Programme, law: Floats, ratio: float) -> list[tuple[int, int, float]]:
    """The cells that do not follow from others in their column."""
    others = programme.decays(ratio)
    np.fill_diagonal(others, 0.0)
    following = np.stack([(decay[:, None] * law).max(axis=0) for decay in others])
    # two cells must not both follow from each other, however close to 1 the ratio is
    margin = 1 + min(_FOLLOWS, (ratio - 1) / 1000)
    words, outputs = np.nonzero(law > following * margin)
    return [
        (int(word), int(output), float(min(law[word, output], 1.0)))
        for word, output in zip(words, outputs, strict=True)
    ]


def _raised(solved: SolvedLaw, programme: Programme, peaks: list[tuple[int, int, float]]) -> NDArray[np.object_]:
    """Each cell the largest of what follows from peaks, value·c^−hops: whole numbers of some small unit."""
    count, scale = len(programme.words), solved.bits + 64
    ratio = Fraction(solved.ratio)
    powers = [math.floor((1 << scale) / ratio**hops) for hops in range(int(programme.hops.max(initial=0)) + 1)]
    decays = np.array([*powers, 0], dtype=object)[programme.hops]  # −1, no way, is the last
    table = np.zeros((count, count), dtype=object)
    for word, output, value in peaks:
        exact = Fraction(value)
        column = decays[word] * ((exact.numerator << scale) // exact.denominator)
        table[:, output] = np.maximum(table[:, output], column)
    return table


def _rounded(solved: SolvedLaw, table: NDArray[np.object_]) -> NDArray[np.object_]:
    """Rows that add up to 2^bits, with the uniform law mixed in; what rounding down leaves goes to the word itself."""
    count = len(table)
    rounded = np.empty((count, count), dtype=object)
    for word in range(count):
        if not table[word].any():
            table[word, word] = 1
        total = int(table[word].sum())
        mixed = table[word] * (count * ((1 << solved.uniform_bits) - 1)) + total
        units = mixed * (1 << (solved.bits - solved.uniform_bits)) // (total * count)
        units[word] += (1 << solved.bits) - int(units.sum())
        rounded[word] = units
    return rounded


def _floor_log2(value: Fraction) -> int:
    """A whole number at most log₂ of a rational above 0, and at most 1 below it."""
    return value.numerator.bit_length() - value.denominator.bit_length() - 1
