"""What a mechanism tells about itself: the protocol that verifiers read, and the law of the distance.

A mechanism as a labelled chain: started in the state of a word, it shows the released word label by label.

A verifier that reads this chain needs to know nothing about the mechanism, its analysis or its code. The
probabilities of a mechanism are real numbers such as e^{−η}; those of a chain are rationals. So the chain
has a law of its own, and `log_error` bounds how far it can be from the mechanism's, for every word that
can be released: |ln P_chain(u|w) − ln P(u|w)| ≤ log_error. Anyone who proves something about the chain pays for that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, Protocol

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.errors import TooLargeError
from symveil.laws.guarantee import Guarantee
from symveil.laws.limits import LIMITS
from symveil.models.alphabet import Alphabet, Codes, Metric
from symveil.models.labelled_chain import END_LABEL, START_LABEL, LabelledChain, Pair
from symveil.models.names import unlike
from symveil.numbers.conversions import decimal, shortened, upper_bound
from symveil.pictures.charts import bars_chart
from symveil.pictures.marks import Chart
from symveil.reports.page import Reported
from symveil.reports.report import Picture, Report, Section, Table

# Weights are rounded to this many bits: far below anything that a verdict shows.
WEIGHT_BITS = 128
WEIGHT_PRECISION = 256

State = tuple[object, ...]
Moves = Callable[[State], Iterable[tuple[int, State, Fraction]]]
"""The moves of a release in progress: (symbol to release, or ENDS or GOES_ON; state after it; probability)."""

ENDS, GOES_ON = -1, -2
"""Instead of a symbol: the released word ends here; or it goes on, but no more of it is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseChain:
    """The chain, the state in which each word starts, and how far its law is from the mechanism's."""

    chain: LabelledChain
    starts: tuple[str, ...]
    log_error: Fraction


def release_chain(
    alphabet: Alphabet, length: int, moves: Sequence[tuple[State, Moves]], *, log_error: Fraction
) -> ReleaseChain:
    """One chain for several words, each given by its first state and its moves; all starts are related.

    States are numbered and say nothing about the words; labels are the released symbols. After `length` of
    them every word ends; before that it ends where a move says so.
    """
    label_of = label_names(alphabet)
    last = {
        ENDS: (END_LABEL_STATE, unlike(END_LABEL, label_of)),
        GOES_ON: (MORE_LABEL_STATE, unlike(MORE_LABEL, label_of)),
    }
    goes_on = False
    rows: list[tuple[str, str, Fraction]] = []
    labels: dict[str, str] = {}
    starts: list[str] = []
    for number, (start, step) in enumerate(moves, start=1):
        name = f"word {number}"
        starts.append(name)
        labels[name] = START_LABEL
        layer: dict[tuple[int, State], str] = {(-1, start): name}
        for position in range(1, length + 1):
            following: dict[tuple[int, State], str] = {}
            for (_, state), source in layer.items():
                for symbol, target, chance in step(state):
                    if symbol in last:
                        rows.append((source, last[symbol][0], chance))
                        goes_on |= symbol == GOES_ON
                        continue
                    key = (symbol, target)
                    if key not in following:
                        following[key] = f"{number}.{position}.{len(following) + 1}"
                        labels[following[key]] = label_of[symbol]
                    rows.append((source, following[key], chance))
            layer = following
            if len(labels) > LIMITS.now.chain_states:
                raise TooLargeError(
                    f"chain of the mechanism: expected at most {LIMITS.now.chain_states} states, found more; use fewer "
                    "words, a shorter length or a smaller alphabet"
                )
        rows += [(source, END_LABEL_STATE, Fraction(1)) for source in layer.values()]
    for symbol in (ENDS, GOES_ON) if goes_on else (ENDS,):
        name, label = last[symbol]
        labels[name] = label
        rows.append((name, name, Fraction(1)))
    related: list[Pair] = [(a, b) for index, a in enumerate(starts) for b in starts[index + 1 :]]
    chain = LabelledChain.from_transitions(
        rows, labels=labels, states=tuple(labels), related=related if len(starts) <= LIMITS.now.related_words else ()
    )
    return ReleaseChain(chain=chain, starts=tuple(starts), log_error=log_error)


def label_names(alphabet: Alphabet) -> list[str]:
    """A label for each symbol: the symbol itself where all are strings, so that no two labels are alike."""
    if all(isinstance(symbol, str) for symbol in alphabet.symbols):
        return [str(symbol) for symbol in alphabet.symbols]
    return [repr(symbol) for symbol in alphabet.symbols]


END_LABEL_STATE, MORE_LABEL_STATE, MORE_LABEL = "end", "more", "…"


def rounded_weight(weight: arb) -> tuple[Fraction, Fraction]:
    """A positive rational near a ball, and a bound on |ln| of their quotient."""
    mantissa, exponent = weight.mid().man_exp()
    digits, shift = int(mantissa), int(exponent)
    spare = digits.bit_length() - WEIGHT_BITS
    if spare > 0:
        digits, shift = digits >> spare, shift + spare
    near = Fraction(digits) * Fraction(2) ** shift
    quotient = weight / arb(near.numerator) * arb(near.denominator)
    return near, upper_bound(abs(quotient.log()))


class Law(Protocol):
    """The conditional law P(released | word) of a mechanism, with what it claims about it."""

    @property
    def name(self) -> str:
        """The mechanism's public name."""

    @property
    def epsilon(self) -> Fraction:
        """The nominal budget."""

    @property
    def adjacency(self) -> int:
        """The distance up to which two words are adjacent."""

    @property
    def guarantee(self) -> Guarantee:
        """The loss that the mechanism claims to have."""

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the words, in the order of their codes."""

    @property
    def length(self) -> int | None:
        """How many symbols every word has that may be handed in; None where they have different lengths."""

    @property
    def largest_output(self) -> int | None:
        """How long a released word can be; None where there is no bound."""

    @property
    def metric(self) -> Metric:
        """What adjacency counts: "hamming" or "levenshtein"."""

    def inputs(self, length: int | None = None, *, at_most: int) -> list[Codes]:
        """The words that may be handed in, those of one length as the rows of an array.

        All of them where they have one length, else those of up to `length` symbols.
        """

    def outputs(self, length: int | None = None, *, at_most: int) -> list[Codes]:
        """The words that may be released, in the same form."""

    def distance(self, word: Codes, words: Codes) -> NDArray[np.int64]:
        """How far each row of `words` is from `word`, by what adjacency counts; FAR where they are never adjacent."""

    def log_probabilities(self, word: Codes, released: Codes) -> NDArray[np.float64]:
        """ln P(row | word) for every row of `released`, which all have one length."""

    def compile_chain(self, words: Sequence[Codes], *, output_length: int | None = None) -> ReleaseChain:
        """The law of the released word for each of the words, as a labelled chain."""


@dataclass(frozen=True, slots=True)
class ErrorBounds:
    """Proved bounds on an expected error."""

    lower: float
    upper: float

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {"lower": self.lower, "upper": self.upper}


@dataclass(frozen=True, slots=True, eq=False)
class DistanceLaw(Reported):
    """How far a released word lies from the true one: P(ℓ) for every distance ℓ that occurs.

    `probabilities[ℓ]` may underflow to 0.0 as a float; `log_probabilities[ℓ]` never does. With `or_more` the last
    row stands for its distance *or more*. `measured` is "edits" where the edits that were made are counted: the
    distance is at most that.

    Parameters
    ----------
    distances
        The distances that occur, in rising order.
    all_counts
        Computes how many words lie at each distance; None where they were not counted.
    probabilities, log_probabilities
        P(ℓ) and ln P(ℓ) of each distance.
    expected_error
        The mean distance.
    length
        Symbols of the word.
    bounds
        Bounds on the expected error that are proved beforehand, where there are some.
    measured
        "distance", or "edits" where the edits that were made are counted.
    or_more
        Whether the last row stands for its distance or more.
    metric
        "hamming" or "levenshtein".
    expected_cost
        The mean cost between the words, where costs of symbols were given.

    >>> import symveil as sv
    >>> law = sv.Exponential(sv.words("ab", 2), epsilon=2).distances()
    >>> law.distances.tolist(), law.counts, f"{law.expected_error:.4f}"      # 2/(1 + e²)
    ([0, 1, 2], [1, 2, 1], '0.2384')
    """

    distances: NDArray[np.int64]
    all_counts: Callable[[], Iterable[int | None]] = field(repr=False)
    """How many words lie at distance 0, 1 …; None where they were not counted."""
    probabilities: NDArray[np.float64]
    log_probabilities: NDArray[np.float64]
    expected_error: float
    length: int
    bounds: ErrorBounds | None = None
    measured: Literal["distance", "edits"] = "distance"
    or_more: bool = False
    metric: Metric = "hamming"
    expected_cost: float | None = None
    """What the wrong symbols cost together, where costs were given."""

    def __post_init__(self) -> None:
        for array in (self.distances, self.probabilities, self.log_probabilities):
            array.flags.writeable = False

    @property
    def counts(self) -> list[int | None]:
        """How many words lie at each distance: exact integers, which may be very long; None where not counted."""
        wanted = set(self.distances.tolist())
        return [count for distance, count in enumerate(self.all_counts()) if distance in wanted]

    @property
    def words(self) -> tuple[int | None, ...]:
        """The counts."""
        return tuple(self.counts)

    def label(self, index: int) -> str:
        """The distance of a row as it is read."""
        last = self.or_more and index == len(self.distances) - 1
        return f"{self.distances[index]} or more" if last else str(self.distances[index])

    def tail(self, deviation: float) -> float:
        """P(|ℓ − E ℓ| ≥ deviation), exactly."""
        far = np.abs(self.distances - self.expected_error) >= deviation
        return float(min(1.0, self.probabilities[far].sum()))

    def tail_bound(self, deviation: float) -> float:
        """The bound 2·exp(−2t²/n²) of B26 Theorem 2 on `tail(t)`, for t > 0."""
        if deviation <= 0 or self.length == 0:
            return 1.0
        return min(1.0, 2 * math.exp(-2 * (deviation / self.length) ** 2))

    def document(self) -> list[dict[str, object]]:
        """The JSON form, a row for each distance."""
        last = len(self.distances) - 1
        columns = (self.distances, self.probabilities, self.log_probabilities)
        return [
            {
                "distance": distance,
                **({} if self.metric == "hamming" else {"or_more": self.or_more and index == last}),
                "words": None if count is None else decimal(count),
                "probability": probability,
                "log_probability": log_probability if math.isfinite(log_probability) else None,
            }
            for index, (count, distance, probability, log_probability) in enumerate(
                zip(self.counts, *(column.tolist() for column in columns), strict=True)
            )
        ]

    @property
    def unit(self) -> str:
        """What the distances count, for an axis."""
        if self.measured == "edits":
            return f"edits made (last: {self.label(len(self.distances) - 1)})"
        return "symbols changed" if self.metric == "hamming" else "edits away"

    def chart(self, title: str | None = None) -> Chart:
        """The law as bars, the expected error pointed out."""
        return bars_chart(
            self.distances,
            self.probabilities,
            title=title or f"Law of the distance, expected {self.expected_error:.4g}",
            x_label=self.unit,
            y_label="probability",
            mark=self.expected_error,
            mark_label=f"expected {self.expected_error:.3g}",
        )

    def to_svg(self) -> str:
        """The picture of the studio and of notebooks.

        >>> import symveil as sv
        >>> sv.Exponential(sv.words("ab", 3), epsilon=2).distances().to_svg().count("<title>")
        5
        """
        return self.chart().to_svg()

    def report(self) -> Report:
        """The law as a picture and a table, and the expected error."""
        likeliest = np.sort(np.argsort(-self.probabilities, kind="stable")[:20])
        counts = self.counts
        rows = [(self.label(each), _shown(counts[each]), f"{self.probabilities[each]:.6g}") for each in likeliest]
        table = Table.from_rows((self.measured, "words", "probability"), rows)
        heading = f"Expected {'error' if self.metric == 'hamming' else self.measured}: {self.expected_error:.6g}"
        return Report(title=heading, sections=(Section(heading, (Picture(self.to_svg(), "law"), table)),))


def _shown(count: int | None) -> str:
    return "" if count is None else shortened(count)
