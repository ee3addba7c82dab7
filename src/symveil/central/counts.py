"""Private counts of a whole file: one ε per person, exact intervals, and a bound on what one person adds.

The promise is that of `noise.Query`. Everything after the noise (a bound chosen from noisy bins, intervals, the nearest
table that could be true) reads released numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from symveil.central.cells import (
    GRID,
    MOST_PER_PERSON,
    Cells,
    PersonCounts,
    Read,
    Table,
    bin_names,
    contributed,
    dyadic_bins,
)
from symveil.central.limits import LIMITS
from symveil.central.noise import Neighbours, Query
from symveil.errors import ParameterError
from symveil.estimation.named_table import NamedTable
from symveil.estimation.statistics import Statistic
from symveil.estimation.table import projected
from symveil.laws.guarantee import Guarantee
from symveil.numbers.rationals import percent, spelled
from symveil.randomness import RecordKey

Bound = int | Literal["auto", "normalised"]
"""What one person may add: so many counts, 1 shared among all of theirs, or a bound that is chosen privately."""

BINS = 15
"""Dyadic bins of how many counted things persons have: 1, 2, 3–4, …, and all above 2¹³ in the last one."""
BIN_SHARE = Fraction(1, 20)
"""Of ε, for the bins from which a bound is chosen."""
BOUNDS = tuple(1 << power for power in range(13))


@dataclass(frozen=True, kw_only=True, eq=False)
class PrivateCounts(NamedTable):
    """Counts of a whole file with noise, the largest first: ε-private for every person, whatever they add.

    `low` and `high` bound each count with the confidence, `low_all` and `high_all` all of them at once. They cover what
    was counted after each person's contribution was bounded, not the raw count. `count` may be negative; `consistent`
    is the nearest table without a negative cell.

    Parameters
    ----------
    epsilon
        For each person: two files that differ by all records of one person.
    bound
        How much one person adds at most to all cells together.
    clipped_share
        A private estimate of the share of all counted things that the bound cut off; None where the bound was given.
    queries
        What was asked of the data, each with its share of ε.
    notes
        What it covers and what it leaves out, in sentences.
    delta
        Above 0 where cells were not public: then the promise is (ε, δ), and only rows from `threshold` on are there.
    threshold
        The least count that is shown; None where all cells are.
    per
        "person", or "record" where no column says whose a record is, so that each counts as one person.
    statistic, confidence, symbols, leading, places, codes, numbers
        As in `NamedTable`.

    >>> import pathlib, tempfile
    >>> import symveil as sv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = pathlib.Path(folder, "words.csv")
    ...     _ = source.write_text("id,word\\n" + "".join(f"{i},a b\\n" for i in range(200)))
    ...     table = sv.count(source, "first", epsilon=1, alphabet="ab", bound=1)
    >>> table.row(0)["symbols"], table.guarantee
    (['a'], Guarantee(epsilon=1.0, how='certified'))
    """

    epsilon: Fraction
    bound: int
    clipped_share: float | None
    queries: tuple[Query, ...]
    notes: tuple[str, ...]
    delta: Fraction = Fraction(0)
    threshold: float | None = None
    per: str = "person"
    what: ClassVar[str] = "private counts"

    @property
    def kind(self) -> str:
        """What each person loses at most."""
        delta = f", delta {spelled(self.delta)}" if self.delta else ""
        return f"at most {self.bound} of each {self.per}; epsilon {spelled(self.epsilon)}{delta} per {self.per}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those of the notes without which the table would be misread; they are the first notes."""
        return warnings_of(self.queries, self.clipped_share)

    @property
    def guarantee(self) -> Guarantee:
        """The loss of a person, proved; where sums are whole multiples of the grid it is attained."""
        return Guarantee.of_loss(self.epsilon, "certified", delta=self.delta)

    def document(self, top: int | None = None) -> dict[str, Any]:
        """The JSON form.

        Parameters
        ----------
        top
            How many rows, from the largest on; None: all.
        """
        return {
            **super().document(top),
            "bound": self.bound,
            "clipped_share": self.clipped_share,
            "epsilon": spelled(self.epsilon),
            **({"delta": spelled(self.delta), "threshold": self.threshold} if self.delta else {}),
            "guarantee": self.guarantee.document(),
            "unit": "person",
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return f"PrivateCounts({self.statistic!r}, {len(self)} rows, {self.kind.partition('; ')[2]})"

    @classmethod
    def of(
        cls,
        statistic: Statistic,
        codes: NDArray[np.int64],
        answers: Sequence[int],
        queries: Sequence[Query],
        *,
        names: Sequence[object],
        clipped_share: float | None,
        confidence: float,
    ) -> Self:
        """The noisy sums of the last query with names and intervals; `codes` are the symbols of each cell.

        Bounds for all cells at once need their number, which is a secret where cells are not public.
        """
        query = queries[-1]
        widths = {"": query.half_width(confidence)}
        if not query.delta:
            widths["_all"] = query.half_width(confidence, cells=len(codes))
        columns = {
            "count": [_nearest(value) for value in answers],
            **{
                f"{end}{suffix}": [_outward(value, half, end) for value in answers]
                for suffix, half in widths.items()
                for end in ("low", "high")
            },
        }
        numbers = {name: np.array(values, dtype=np.float64) for name, values in columns.items()}
        numbers["consistent"] = projected(numbers["count"])
        order = np.argsort(-numbers["count"], kind="stable")
        codes, by_length = codes[order], statistic.kind == "lengths"
        return cls(
            statistic=statistic.name,
            confidence=confidence,
            symbols=tuple(map(str, names)),
            leading="length" if by_length else None,
            places=codes[:, 0] if by_length else None,
            codes=codes[:, :0] if by_length else codes,
            numbers={name: values[order] for name, values in numbers.items()},
            epsilon=sum((each.epsilon for each in queries), Fraction(0)),
            bound=query.bound,
            clipped_share=clipped_share,
            queries=tuple(queries),
            notes=notes_of(queries, clipped_share),
            delta=query.delta,
            threshold=shown_threshold(query),
        )


@dataclass(frozen=True, kw_only=True)
class CountTerms:
    """On which terms a table is counted.

    Parameters
    ----------
    epsilon, delta
        For each person; a δ where cells are not public.
    bound
        What one person adds at most, and, with a δ, in how many different cells.
    confidence
        How often intervals cover.
    neighbours
        Which files are to look alike.
    """

    epsilon: Fraction
    bound: Bound
    confidence: float = 0.95
    neighbours: Neighbours = "add-remove"
    delta: Fraction = Fraction(0)

    def queries(self, name: str, chosen: int) -> tuple[Query, ...]:
        """The queries of a count, the table itself last; where the bound is "auto", the bins it is chosen from are
        first.

        `chosen` is what one person adds at most to the table.

        >>> terms = CountTerms(epsilon=Fraction(1), bound="auto", neighbours="replace")
        >>> [each.name for each in terms.queries("visits", 8)]
        ['bound', 'visits']
        """
        bins = Query(name="bound", epsilon=self.epsilon * BIN_SHARE, bound=1, neighbours=self.neighbours)
        before = (bins,) if self.bound == "auto" else ()
        left = self.epsilon - bins.epsilon * len(before)
        table = Query(name=name, epsilon=left, bound=chosen, neighbours=self.neighbours, delta=self.delta)
        return (*before, table)

    def bounded(
        self, name: str, counted: PersonCounts, cells: int | None, keys: RecordKey
    ) -> tuple[tuple[Query, ...], float | None]:
        """The queries of a count: a bound that is not given is bought first, privately; and the share it cuts off.

        `counted` is a secret; the number of cells is None where it is one too.
        """
        if self.bound != "auto":
            return self.queries(name, 1 if self.bound == "normalised" else self.bound), None
        bins = [GRID * count for count in dyadic_bins(counted.counts, BINS)]
        noisy = [_nearest(value) for value in self.queries(name, 1)[0].answered(bins, keys, cells=bin_names(BINS))]

        def least(chosen: int) -> float:
            return self.queries(name, chosen)[-1].threshold / GRID

        threshold = least if cells is None else None
        chosen, share = chosen_bound(noisy, epsilon=self.epsilon, cells=cells, threshold=threshold)
        return self.queries(name, chosen), share

    def answered(
        self, name: str, cells: Table, read: Read, persons: int, *, names: Sequence[str], keys: RecordKey
    ) -> tuple[list[int], tuple[Query, ...], float | None]:
        """The noisy sums of a table, the queries that it cost, and the share that its bound cuts off.

        The groups of words are persons, numbered from 0. How many there are is a secret, and nothing but the sums
        depends on it.
        """
        counted = PersonCounts.of(cells, read(), persons)
        queries, share = self.bounded(name, counted, len(cells), keys)
        sums = contributed(cells, read(), counted.weights(queries[-1].bound))
        return queries[-1].answered(sums, keys, cells=cells.names(names)), queries, share


def private_counts(
    cells: Cells, read: Read, persons: int, terms: CountTerms, *, names: Sequence[str], keys: RecordKey
) -> PrivateCounts:
    """Count with one ε per person.

    The groups of words are persons, numbered from 0. How many there are is a secret, and nothing but the sums depends
    on it. The same keys draw the same noise.

    >>> from symveil.central.cells import cells_of
    >>> from symveil.estimation.table import Batch
    >>> words = Batch(np.array([0, 1, 1] * 500, dtype=np.int32), np.full(500, 3), np.arange(500))
    >>> table = private_counts(
    ...     cells_of("visits", symbols=2, longest=9), lambda: [words], 500, CountTerms(epsilon=Fraction(1), bound=3),
    ...     names="ab", keys=RecordKey(bytes(32), "example"),
    ... )
    >>> table, table.row(0)["symbols"], round(table.row(0)["count"], -2)
    (PrivateCounts('visits', 2 rows, epsilon 1 per person), ['b'], 1000.0)
    """
    name = cells.statistic.name
    answers, queries, share = terms.answered(name, cells, read, persons, names=names, keys=keys)
    return PrivateCounts.of(
        cells.statistic, cells.codes(), answers, queries, names=names, clipped_share=share, confidence=terms.confidence
    )


def chosen_bound(
    bins: Sequence[float],
    *,
    epsilon: Fraction,
    cells: int | None = None,
    threshold: Callable[[int], float] | None = None,
) -> tuple[int, float | None]:
    """A bound on what one person adds, from noisy bins alone, and the share that it cuts off; None: nothing is known.

    The error of a table has two parts: what is cut off, and noise of L/ε in every cell that anything is left of. The
    bound with the least sum of both is taken, in powers of two. Where the number of cells is a secret, the second part
    is what a threshold hides: that of `nominal_cells` cells just below it, and everything at most.

    `bins` are noisy numbers of persons with 1, 2, 3–4, 5–8 … counted things, ε is that of everything together.

    >>> bound, share = chosen_bound([900.0, 30.0, 500.0, 0.0, 190.0], cells=100, epsilon=Fraction(1))
    >>> bound, round(share, 3)
    (8, 0.162)
    """
    noise = float(1 / (epsilon * BIN_SHARE))
    # An empty bin that passes for full costs as much as its persons would have: twice as much, half as likely
    clear = [(LIMITS.now.clear + j * math.log(2)) * noise for j in range(len(bins))]
    clear_counts = [count if count >= least else 0.0 for count, least in zip(bins, clear, strict=True)]
    middle = [1.0, *(0.75 * 2**j for j in range(1, len(bins)))]
    total = math.fsum(count * mid for count, mid in zip(clear_counts, middle, strict=True))
    if total <= 0:
        return LIMITS.now.unknown_bound, None
    left = float(epsilon * (1 - BIN_SHARE))

    def cut_off(bound: int) -> float:
        return math.fsum(count * max(mid - bound, 0.0) for count, mid in zip(clear_counts, middle, strict=True)) / total

    def error(bound: int) -> float:
        if threshold is not None:
            lost = min(LIMITS.now.nominal_cells * threshold(bound), total) / total
        else:
            lost = min(cells or 1, total * left / bound) * (bound / left) / total
        return LIMITS.now.clipped_weight * cut_off(bound) + lost

    best = min(BOUNDS, key=lambda bound: (error(bound), bound))
    return best, cut_off(best)


def read_bound(value: object) -> Bound:
    """A bound as it is typed: a whole number, auto, or normalised.

    >>> read_bound("20"), read_bound("auto")
    (20, 'auto')
    """
    if value in ("auto", "normalised"):
        return "auto" if value == "auto" else "normalised"
    text = str(value)
    if not isinstance(value, bool) and text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_PER_PERSON:
        return int(text)
    wanted = f"a whole number from 1 to {MOST_PER_PERSON}, or auto, or normalised"
    raise ParameterError("bound", expected=wanted, found=value)


def warnings_of(queries: Sequence[Query], clipped_share: float | None) -> tuple[str, ...]:
    """What a reader must know before the table, and what the holder can do about it.

    >>> asked = CountTerms(epsilon=Fraction(1), bound="auto").queries("visits", 4)
    >>> warnings_of(asked, 0.02), warnings_of(asked, 0.986)[0][:60]
    ((), 'the automatic bound of 4 cuts off about 99 % of what is coun')
    >>> warnings_of(asked, None)[0][:60]
    'too few persons for the private choice: the bound of 4 is a '
    """
    if clipped_share is None and len(queries) > 1:
        return (
            f"too few persons for the private choice: the bound of {queries[-1].bound} is a guess, and which share it "
            "cuts off is not known; give `bound` with what a person has as a rule, a public guess, or take a larger "
            "epsilon",
        )
    if clipped_share is None or clipped_share <= LIMITS.now.much_clipped:
        return ()
    return (
        f"the automatic bound of {queries[-1].bound} cuts off about {percent(clipped_share)} of what is counted, by a "
        "private estimate: counts are far below the true ones, and the order of small ones is noise; give `bound` with "
        "what a person has as a rule, a public guess (its noise grows with it), or take fewer cells or more epsilon",
    )


def notes_of(queries: Sequence[Query], clipped_share: float | None) -> tuple[str, ...]:
    """What a table covers and what it leaves out, in sentences; warnings are the first."""
    return (*warnings_of(queries, clipped_share), *_covered(queries, clipped_share))


def _covered(queries: Sequence[Query], clipped_share: float | None) -> tuple[str, ...]:
    query, bound = queries[-1], queries[-1].bound
    if bound == 1:
        what = "each person adds 1 in all, shared among everything of theirs that is counted"
    else:
        what = f"each person adds at most {bound} in all; those with more are scaled down to that"
    covered: tuple[str, ...] = (f"{what}; intervals cover the sums after that, not the raw counts",)
    if clipped_share is not None:
        covered += (f"that cuts off about {percent(clipped_share)}, by a private estimate",)
    elif len(queries) == 1:  # else the warning has said so
        covered += ("which share that cuts off is not known, because the bound was given",)
    if not query.delta:
        return covered
    return (
        f"another promise than without delta: with a chance of up to {spelled(query.delta)} a row may be there that "
        "reveals one person",
        f"rows are those whose noisy count reaches {shown_threshold(query):.6g}; what is rarer is not "
        "there, and how much that is, is not shown",
        f"of a person with more than {bound} different rows, {bound} count, drawn with the release's key",
        *covered,
        "an interval covers as often as it says over all cells, shown or not; of the rows near the threshold fewer are "
        "covered, because large noise has shown them",
    )


def shown_threshold(query: Query) -> float | None:
    """The least count that is shown, rounded upwards; None where all cells are."""
    return _outward(query.threshold, 0, "high") if query.delta else None


def _nearest(value: int) -> float:
    return value / GRID


def _outward(value: int, half: int, end: str) -> float:
    """An end of an interval, rounded away from the count; no count is below 0."""
    exact = value - half if end == "low" else value + half
    shown = exact / GRID
    if Fraction(shown) * GRID != exact:
        shown = math.nextafter(shown, -math.inf if end == "low" else math.inf)
    return max(shown, 0.0)
