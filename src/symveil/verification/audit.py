"""The audit: the exact worst-case loss of a law, by looking at every pair of adjacent words.

ε-privacy says P(w'|w) ≤ e^ε P(w'|v) for every released w' and every adjacent w, v. On a small
language there is nothing to believe: all of these can be computed and compared.

Where words have different lengths the inputs are all words of up to a length. The outputs are all words that can be
released, or, where there is no end to them, all up to a length; what longer outputs can tell is then not
enumerated, and the verdict carries what the mechanism proves of it.

What an audit finds: the worst loss, where it is attained, and whether a promise is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError, SymveilError, TooLargeError
from symveil.laws.law import Law
from symveil.models.alphabet import FAR, Codes, Metric, Symbol, read_length
from symveil.numbers.progress import Progress
from symveil.numbers.rationals import at_least, shown_at_least
from symveil.reports.page import Reported
from symveil.reports.report import Report, Section, Table, facts_report

# Logarithms of probabilities are right to about 1e-13; a loss above nominal by more is real.
_ROUNDING = 1e-9


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
class LossAtDistance:
    """The largest loss of words that differ in at most `distance` places: as enumerated, and as proved."""

    distance: int
    enumerated: float
    proved: float | None
    """None where the law has no bound beyond its ε."""

    @property
    def kept(self) -> bool:
        """Whether the truth is at most what is proved (within 1e-9, the rounding of logarithms)."""
        return self.proved is None or self.enumerated <= self.proved + _ROUNDING

    def document(self) -> dict[str, object]:
        """The JSON form."""
        numbers = {"enumerated": self.enumerated, "proved": self.proved}
        shown = {name: "infinity" if value == math.inf else value for name, value in numbers.items()}
        return {"distance": self.distance, **shown}


@dataclass(frozen=True, slots=True)
class AuditVerdict(Reported):
    """The exact worst-case loss of a mechanism on its language, and whether it keeps its promise."""

    mechanism: str
    nominal_epsilon: float
    worst_epsilon: float
    witness: Witness | None
    pairs_checked: int
    outputs_up_to: int | None = None
    """The length of the longest outputs looked at, where words have different lengths."""
    longer_outputs_epsilon: float | None = None
    """What is proved, not enumerated, of longer outputs; None where there are none."""
    by_distance: tuple[LossAtDistance, ...] = ()
    """The loss at every distance that was enumerated."""

    def report(self, metric: Metric = "hamming") -> Report:
        """The worst case beside what was promised, who attains it, and the loss at every distance.

        Parameters
        ----------
        metric
            What distances count.
        """
        rounding = ", up to the rounding of logarithms" if self.worst_epsilon > self.nominal_epsilon else ""
        facts = [
            ("mechanism", self.mechanism),
            ("promised", f"epsilon = {shown_at_least(self.nominal_epsilon)}"),
            ("worst case", f"epsilon = {shown_at_least(self.worst_epsilon, 9)} over {self.pairs_checked} pairs"),
            ("private", f"yes{rounding}" if self.private else "NO"),
        ]
        if self.longer_outputs_epsilon is not None:
            proved = shown_at_least(self.longer_outputs_epsilon, 9)
            facts.append(("longer outputs", f"epsilon = {proved}, proved, beyond {self.outputs_up_to} symbols"))
        if self.witness:
            facts += [(name, " ".join(map(repr, word)) or "(the empty word)") for name, word in self.witness.items()]
        further = []
        if self.by_distance:
            unit = "edits apart, up to" if metric == "levenshtein" else "symbols apart, up to"
            columns = (unit, "largest loss, enumerated", "proved bound")
            table = Table.from_rows(columns, [_row(row) for row in self.by_distance])
            further.append(Section("Loss by distance", (table,)))
        return facts_report("Audit", facts, *further)

    @property
    def private(self) -> bool:
        """Whether the worst loss is at most the nominal ε (within 1e-9, the rounding of logarithms).

        And no distance loses more than is proved of it.
        """
        worst = max(self.worst_epsilon, self.longer_outputs_epsilon or 0.0)
        return worst <= self.nominal_epsilon + _ROUNDING and all(row.kept for row in self.by_distance)

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        document: dict[str, object] = {
            "mechanism": self.mechanism,
            "nominal_epsilon": self.nominal_epsilon,
            "worst_epsilon": "infinity" if math.isinf(self.worst_epsilon) else self.worst_epsilon,
            "witness": self.witness.document() if self.witness else None,
            "pairs_checked": self.pairs_checked,
            "private": self.private,
            "loss_at": [row.document() for row in self.by_distance],
        }
        if self.outputs_up_to is not None:
            document |= {"outputs_up_to": self.outputs_up_to, "longer_outputs_epsilon": self.longer_outputs_epsilon}
        return document


def losses(of_word: NDArray[np.float64], of_neighbours: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln P(w'|w) − ln P(w'|v); +∞ where only v cannot release w', −∞ where w cannot."""
    with np.errstate(invalid="ignore"):
        losses = of_word - of_neighbours
    losses[np.isnan(losses)] = -np.inf  # neither can release it: nothing is learned from what never happens
    return losses


# The table of all P(w'|w) has one float for every pair of an input and an output.
MOST_WORDS = 4096
_MOST_WORDS_OF_ALL_LENGTHS, _MOST_OUTPUTS = 1_500, 20_000
_MOST_TABLE = 20_000_000
_MOST_COMPARISONS = 2 * 10**10
_MOST_COMPARISONS_BEYOND = 2 * 10**9  # of all pairs, for the loss at every distance: some seconds
_SHORT = 3  # symbols: how long the words of an audit are where nothing else is said

Indices = tuple[int, int, int]
"""Of a word, of a neighbour, and of an output."""


def _row(row: LossAtDistance) -> tuple[str, str, str]:
    """Both numbers as they are rounded against the claim; what is broken is marked."""

    def shown(loss: float | None) -> str:
        return "—" if loss is None else "not bounded" if loss == math.inf else shown_at_least(loss, 9)

    return str(row.distance), shown(row.enumerated) + ("" if row.kept else " EXCEEDS THE BOUND"), shown(row.proved)


@dataclass(frozen=True, slots=True)
class _Enumerated:
    """What an audit looks at: all words that may be handed in, all that may be released, or the short ones."""

    inputs: list[Codes]
    outputs: list[Codes]
    whole: bool
    """Whether these are all outputs."""

    @property
    def words(self) -> list[Codes]:
        return [word for rows in self.inputs for word in rows]

    @property
    def released(self) -> list[Codes]:
        return [word for rows in self.outputs for word in rows]


def require_law(law: object) -> None:
    """Refuse what is no mechanism and has no law."""
    if isinstance(law, type) or not all(hasattr(law, name) for name in _METHODS_OF_A_LAW):
        raise ParameterError(
            "law",
            expected="a mechanism such as sv.Exponential(...), or an object with the methods of its law",
            found=f"the class {law.__name__}" if isinstance(law, type) else f"an object of type {type(law).__name__}",
        )


_METHODS_OF_A_LAW = ("inputs", "outputs", "distance", "log_probabilities")


def audit(
    law: Law, *, length: int | None = None, output_length: int | None = None, progress: Progress | None = None
) -> AuditVerdict:
    """The exact worst-case loss of `law` over all ordered pairs of adjacent words, with a witness.

    And at every distance, beside the proved bound, where all pairs of words can be compared.

    Parameters
    ----------
    law
        A mechanism, or anything else that says which words it takes and releases, and with what probability.
    length
        Where words have different lengths: those of up to so many symbols are compared (by default up to the longest
        that can be released, or 3).
    output_length
        Where there is no end to the outputs: those of up to so many symbols are looked at.
    progress
        Called with the number of words done and the number of all.

    >>> import symveil as sv
    >>> verdict = sv.audit(sv.PermuteAndFlip(sv.words("abc", 3), epsilon=1))
    >>> verdict.private, round(verdict.worst_epsilon, 9), verdict.pairs_checked
    (True, 1.0, 162)
    >>> [(row.distance, round(row.enumerated, 3), round(row.proved, 3)) for row in verdict.by_distance]
    [(1, 1.0, 1.0), (2, 1.914, 1.914), (3, 2.804, 2.804)]
    >>> verdict = sv.audit(sv.EditChannel(alphabet="ab", epsilon=4), length=3, output_length=6)
    >>> verdict.private, round(verdict.worst_epsilon, 6), round(verdict.longer_outputs_epsilon, 6)
    (True, 4.0, 4.0)
    """
    require_law(law)
    listed = _enumerated(law, length, output_length)
    words = listed.words
    outputs = sum(map(len, listed.outputs))
    adjacent = min(law.adjacency, FAR - 1)
    reach = FAR - 1 if len(words) ** 2 * outputs <= _MOST_COMPARISONS_BEYOND else adjacent
    near = list(_near(law, listed.inputs, reach))
    pairs = sum(int(np.count_nonzero(apart <= adjacent)) for _, apart in near)
    if pairs * outputs > _MOST_COMPARISONS:
        raise TooLargeError(
            f"audit: expected at most {_MOST_COMPARISONS} comparisons, found {pairs * outputs}; use a shorter "
            "length, a smaller alphabet or a smaller adjacency"
        )

    def half_done(step: int) -> None:  # half of the work on a word is its row of the table, half are its comparisons
        if progress and step % 2:
            progress(step // 2 + 1, len(words))

    log_law = _log_law_table(law, listed, half_done)
    worst, indices, largest = _worst(log_law, near, adjacent, lambda index: half_done(len(words) + index))
    # A difference of two rounded logarithms may be this much too large: what is reported was really attained.
    finite = np.abs(log_law[np.isfinite(log_law)])
    rounding = 4 * float(finite.max(initial=0.0)) * 2.0**-52
    worst -= rounding
    one_length = law.length is not None
    return AuditVerdict(
        mechanism=law.name,
        nominal_epsilon=at_least(law.epsilon),
        worst_epsilon=max(worst, 0.0),
        witness=_witness(law, listed, indices) if indices else None,
        pairs_checked=pairs,
        outputs_up_to=None if one_length else len(listed.outputs) - 1,
        longer_outputs_epsilon=None if listed.whole else law.guarantee.epsilon,
        by_distance=_by_distance(law, np.maximum(largest - rounding, 0.0)),
    )


def neighbours(law: Law, inputs: list[Codes]) -> Iterator[NDArray[np.int64]]:
    """For each of the words, given by their length, the indices of those that are to be hard to tell from it."""
    for others, _ in _near(law, inputs, min(law.adjacency, FAR - 1)):
        yield others


def _near(law: Law, inputs: list[Codes], reach: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """For each of the words the indices of the others that are at most `reach` apart, and how far."""
    for rows in inputs:
        for word in rows:
            distance = np.concatenate([law.distance(word, others) for others in inputs])
            others = np.flatnonzero((distance > 0) & (distance <= reach))
            yield others, distance[others]


def _by_distance(law: Law, largest: NDArray[np.float64]) -> tuple[LossAtDistance, ...]:
    """The largest loss of words that differ in at most 1, 2 … places, as enumerated, beside what is proved of it."""
    curve = getattr(getattr(law, "guarantee", None), "curve", None)  # a law of another library may claim nothing
    return tuple(
        LossAtDistance(distance, float(loss), None if curve is None else curve.bound(distance))
        for distance, loss in enumerate(np.maximum.accumulate(largest).tolist())
        if distance
    )


def _enumerated(law: Law, length: int | None, output_length: int | None) -> _Enumerated:
    if law.length is not None:
        if length is not None or output_length is not None:
            raise ParameterError(
                "length",
                expected="none: the words of this language have one length, and all are enumerated",
                found=length,
            )
        return _Enumerated(law.inputs(at_most=MOST_WORDS), law.outputs(at_most=MOST_WORDS), whole=True)
    if length is None:
        length = _SHORT if law.largest_output is None else law.largest_output
    inputs = law.inputs(read_length(length), at_most=_MOST_WORDS_OF_ALL_LENGTHS)
    outputs = law.outputs(_longest_output(law, length, output_length), at_most=_MOST_OUTPUTS)
    taken, given = sum(map(len, inputs)), sum(map(len, outputs))
    if taken * given > _MOST_TABLE or (taken * len(inputs)) ** 2 > _MOST_COMPARISONS // 10:
        raise TooLargeError(
            f"audit: expected at most {_MOST_TABLE} pairs of an input and an output, and short words, found "
            f"{taken} × {given} with up to {len(inputs) - 1} symbols; use a smaller length"
        )
    whole = law.largest_output is not None and law.largest_output < len(outputs)
    return _Enumerated(inputs, outputs, whole=whole)


def _longest_output(law: Law, length: int, requested: int | None) -> int:
    """All outputs where they end; else as asked, else as long as few enough of them exist."""
    if law.largest_output is not None:
        return law.largest_output
    if requested is not None:
        return read_length(requested, name="output_length")
    symbols, longest = len(law.alphabet), length + 1
    total = sum(symbols**each for each in range(longest + 1))
    while longest < length + 4 and total + symbols ** (longest + 1) <= _MOST_OUTPUTS // 4:
        longest += 1
        total += symbols**longest
    return longest


def _log_law_table(law: Law, listed: _Enumerated, done: Callable[[int], None]) -> NDArray[np.float64]:
    """ln P(w'|w), a row for each w. A table whose rows do not sum to 1 is no law at all."""
    words = listed.words
    table = np.empty((len(words), sum(map(len, listed.outputs))))
    for index, word in enumerate(words):
        table[index] = np.concatenate([law.log_probabilities(word, rows) for rows in listed.outputs])
        total = float(np.exp(table[index]).sum())
        if total > 1 + 1e-9 or (listed.whole and total < 1 - 1e-9):
            raise SymveilError(
                f"audit: expected the probabilities of {law.name} to sum to 1 for every word, found {total!r} for "
                f"word number {index + 1} of the language"
            )
        done(index)
    return table


def _worst(
    table: NDArray[np.float64],
    near: Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]],
    adjacent: int,
    done: Callable[[int], None],
) -> tuple[float, Indices | None, NDArray[np.float64]]:
    """The largest loss of any adjacent pair at any output, and where it is; and the largest loss at each distance."""
    worst, indices, largest = -math.inf, None, np.zeros(1)
    for index, (others, apart) in enumerate(near):
        largest = np.pad(largest, (0, max(0, int(apart.max(initial=0)) + 1 - len(largest))))
        for part in np.array_split(np.arange(len(others)), max(1, len(others) // 64)):
            loss = losses(table[index], table[others[part]])
            if not loss.size:
                continue
            np.maximum.at(largest, apart[part], loss.max(axis=1))
            close = apart[part] <= adjacent
            if close.any() and loss[close].max() > worst:
                worst = float(loss[close].max())
                row, released = np.unravel_index(int(np.where(close[:, None], loss, -np.inf).argmax()), loss.shape)
                indices = (index, int(others[part[row]]), int(released))
        done(index)
    return worst, indices, largest


def _witness(law: Law, listed: _Enumerated, indices: Indices) -> Witness:
    symbols = law.alphabet.symbols
    words, released = listed.words, listed.released
    chosen = (words[indices[0]], words[indices[1]], released[indices[2]])
    return Witness(*(tuple(symbols[code] for code in word) for word in chosen))
