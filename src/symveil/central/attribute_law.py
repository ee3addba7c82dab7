"""Attributes of events and cases beside a law of words: one private table for each, with its share of ε.

*Promise.* A person with n_j events that have a listed value in each of r rows adds ⌊M/(r·n_j)⌋ for each of them, at
most M in all; of an attribute of cases ⌊M/T⌋ for each of T cases. Rows follow from released tables. So the proof of
`time_tables` holds word for word. Values that are not listed add nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

import numpy as np

from symveil.central.cells import GRID, Entries, Read, cell_name, summed
from symveil.central.limits import LIMITS
from symveil.central.noise import Neighbours, Query
from symveil.central.time_law import are_laws, tilted, tilted_rows
from symveil.central.time_tables import WordsReleased, among_all, own_rows, row_names, waits_of
from symveil.central.word_law import Support, column_of
from symveil.errors import TooLargeError
from symveil.estimation.table import Floats, Indices, projected
from symveil.models.alphabet import Codes, Lengths
from symveil.models.times import PublicValues
from symveil.randomness import BitSource

USUAL_ATTRIBUTE_SHARE = Fraction(1, 10)
"""Of ε, for each attribute."""
OF_CASES = "case:"
"""What the names of attributes of cases begin with."""


@dataclass(frozen=True, eq=False)
class AttributeLaw:
    """How likely each value of an attribute is, given the activity of an event.

    Parameters
    ----------
    values
        The public values.
    row_of_activity
        The row of each activity; of an attribute of cases all have one.
    shares
        For each row the shares of the values.
    """

    values: PublicValues
    row_of_activity: Indices = field(repr=False)
    shares: Floats = field(repr=False)

    @property
    def of_cases(self) -> bool:
        """Whether a case has one value."""
        return self.values.name.startswith(OF_CASES)

    def document(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            **self.values.document(),
            "row_of_activity": self.row_of_activity.tolist(),
            "shares": self.shares.tolist(),
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any], symbols: int) -> Self:
        """The law of an attribute in a model file; a ValueError where it is none."""
        values = PublicValues.from_document(document)
        rows = np.array(document["row_of_activity"], dtype=np.int64).reshape(-1)
        shares = np.array(document["shares"], dtype=np.float64)
        right = len(rows) == symbols and rows.min(initial=0) >= 0
        if not (right and are_laws(shares, (int(rows.max(initial=-1)) + 1, len(values)))):
            raise ValueError("sizes that do not fit")
        return cls(values, rows, shares)

    def drawn(self, codes: Codes, lengths: Lengths, bits: BitSource) -> list[str]:
        """A value for each event: drawn independently given its activity; the events of a case share one of cases."""
        count = len(lengths) if self.of_cases else len(codes)
        rows = np.zeros(count, dtype=np.int64) if self.of_cases else self.row_of_activity[codes]
        number = column_of(self.shares[rows], bits.fractions(count))
        texts = self.values.sampled(number, bits.fractions(count))
        return (
            [text for text, size in zip(texts, lengths.tolist(), strict=True) for _ in range(size)]
            if self.of_cases
            else texts
        )


def attribute_queries(names: Sequence[str], epsilon: Fraction, neighbours: Neighbours) -> tuple[Query, ...]:
    """A query for each attribute, with its ε.

    >>> [each.name for each in attribute_queries(["ward"], Fraction(1, 10), "add-remove")]
    ['attribute: ward']
    """
    return tuple(Query(name=f"attribute: {name}", epsilon=epsilon, bound=1, neighbours=neighbours) for name in names)


def attribute_cells(values: PublicValues, row_of_activity: Indices, symbols: Sequence[str]) -> list[bytes]:
    """The cells of an attribute: the activities of a row among those of all rows, and a value."""
    rows = among_all(row_names(row_of_activity, symbols))
    return [cell_name([row, value]) for row in rows for value in values.values]


def attribute_rows(codes: Codes, lengths: Lengths, symbols: int, persons: float, least: float) -> Indices:
    """The row of each activity: its own where some words of the released law expect enough weight in it.

    `persons` is by released tables; a row needs at least the weight `least`.
    """
    own = codes.astype(np.int64)
    share = Entries(waits_of(lengths)[0], own, own).shared() / GRID
    weight = np.bincount(own, weights=share, minlength=symbols)
    return own_rows(weight * persons / max(len(lengths), 1) >= least)


def attribute_sums(
    read: Read, index: int, support: Support, row_of_activity: Indices, size: int, *, of_cases: bool, cut: bool
) -> list[int]:
    """The sums of an attribute by row and value.

    `cut`: whether longer words count with their first events, or not at all. The value of a case is that of its first
    event.
    """
    parts = []
    for batch in read():
        words = batch if cut else batch.only(np.asarray(batch.lengths <= support.longest))
        value = words.attributes[index]
        counted = words.events_of(support.shortest, support.longest) & (value >= 0)
        events = np.flatnonzero(counted & (words.position == 0) if of_cases else counted)
        row = np.zeros(len(events), dtype=np.int64) if of_cases else row_of_activity[words.codes[events]]
        parts.append((words.groups[words.word[events]], row, value[events]))
    own = Entries.gathered(parts)
    rows = 1 if of_cases else int(row_of_activity.max(initial=-1)) + 1
    return summed(own.rows * size + own.values, own.shared(), rows * size)


def learn_attributes(
    released: WordsReleased, attributes: Sequence[PublicValues], epsilon: Fraction
) -> tuple[tuple[AttributeLaw, ...], tuple[Query, ...]]:
    """The laws of attributes beside a released law of words, and the queries that they cost, each this ε."""
    support, symbols = released.support, released.symbols
    queries = attribute_queries([each.name for each in attributes], epsilon, released.neighbours)
    laws = []
    for index, (values, query) in enumerate(zip(attributes, queries, strict=True)):
        of_cases, size = values.name.startswith(OF_CASES), len(values)
        rows = np.zeros(support.symbols, dtype=np.int64)
        if not of_cases:  # fewer would say less of a row than the sum of all rows does
            least = size * float(query.scale / GRID)
            rows = attribute_rows(*released.words, support.symbols, released.judged, least)
        count = int(rows.max(initial=-1)) + 1
        cells = attribute_cells(values, rows, symbols)
        sums = attribute_sums(released.read, index, support, rows, size, of_cases=of_cases, cut=released.cut)
        noisy = query.released(sums, released.keys, cells=cells).values.reshape(count, size)
        common = projected(noisy.sum(axis=0))
        common = tilted(common, np.full(size, 1 / size), query.deviation * math.sqrt(count))
        laws.append(AttributeLaw(values, rows, tilted_rows(noisy, common, query.deviation)))
    return tuple(laws), queries


def require_small(attributes: Sequence[PublicValues], symbols: int) -> None:
    """Refuse tables that would take minutes of noise alone."""
    for each in attributes:
        if len(each) * symbols > LIMITS.now.cells:
            raise TooLargeError(
                f"attribute {each.name}: expected at most {LIMITS.now.cells:,} activities x values, found "
                f"{len(each) * symbols:,}; group its values"
            )
