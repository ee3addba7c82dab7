"""A report as data: a title, and sections of facts, tables, bars, pictures and sentences. It renders nothing.

All texts are plain: a renderer escapes what its medium needs. Two stars on both sides make a text **strong**, and
backticks make it something to type.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["plain", "quiet", "warning"]


@dataclass(frozen=True, slots=True)
class Text:
    """A sentence or a paragraph."""

    text: str
    kind: Kind = "plain"


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and what they are, a pair in a row."""

    rows: tuple[tuple[str, str], ...]

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[str, str]]) -> Facts:
        """Facts in their order."""
        return cls(tuple(rows))


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts; the columns whose numbers are in `words` hold words of symbols."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[int, ...] = ()

    @classmethod
    def from_rows(cls, columns: Iterable[str], rows: Iterable[Sequence[str]], *, words: Sequence[int] = ()) -> Table:
        """A table from rows of any kind."""
        return cls(tuple(columns), tuple(map(tuple, rows)), tuple(words))


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars beside each other: of each its label, its number as text, and its length as a share of the longest.

    >>> Bars.from_numbers(("distance", "probability"), ["0", "1"], [0.25, 0.75], number="{:.2f}").rows
    (('0', '0.25', 0.3333333333333333), ('1', '0.75', 1.0))
    """

    columns: tuple[str, str]
    rows: tuple[tuple[str, str, float], ...]

    @classmethod
    def from_numbers(
        cls, columns: tuple[str, str], labels: Iterable[str], numbers: Sequence[float], *, number: str = "{:.6g}"
    ) -> Bars:
        """Bars of numbers that are 0 or more."""
        largest = max(numbers, default=0.0) or 1.0
        each = zip(labels, numbers, strict=True)
        return cls(columns, tuple((label, number.format(value), value / largest) for label, value in each))


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as SVG, and the name of the file that it is saved in."""

    svg: str
    name: str
    large: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """Sentences, one to a line."""

    items: tuple[str, ...]


Part = Text | Facts | Table | Bars | Picture | Listing


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its parts."""

    heading: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a result says.

    Parameters
    ----------
    title, lead
        What it is about, and a sentence about that.
    sections
        In their order.
    notes, warnings
        What should be known besides, and before.

    >>> report = Report(title="A walk", sections=(Section("Steps", (Facts((("steps", "3"),)),)),))
    >>> report.facts("Steps")
    {'steps': '3'}
    """

    title: str
    sections: tuple[Section, ...]
    lead: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def facts(self, heading: str) -> dict[str, str]:
        """The facts of a section, by their names."""
        parts = (part for section in self.sections if section.heading == heading for part in section.parts)
        return {name: value for part in parts if isinstance(part, Facts) for name, value in part.rows}


def facts_report(title: str, rows: Iterable[tuple[str, str]], *further: Section) -> Report:
    """A report that opens with facts: what most results need.

    Parameters
    ----------
    title
        What it is about; the heading of the facts too.
    rows
        The facts.
    further
        Sections behind them.
    """
    return Report(title=title, sections=(Section(title, (Facts.from_rows(rows),)), *further))


def text_report(title: str, texts: Iterable[str]) -> Report:
    """A report of a few sentences.

    Parameters
    ----------
    title
        What it is about.
    texts
        The sentences, a line each.
    """
    return Report(title=title, sections=(Section(title, tuple(map(Text, texts))),))
