"""A report as data: a title, and sections of facts, tables, bars, pictures and sentences. It renders nothing.

All texts are plain: a renderer escapes what its medium needs. In a sentence two stars on both sides make a text
**strong**, and backticks make it something to type; what users have typed goes into `Marked`, which obeys neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["plain", "quiet", "warning", "sentence", "word true", "command"]


class Marked(tuple[str, ...]):
    """A text in pieces, of which the second, the fourth and so on are strong. All of them are shown as they are.

    >>> str(Marked(("main st, ", "**", ", quay")))
    'main st, **, quay'
    """

    __slots__ = ()

    def __str__(self) -> str:
        return "".join(self)


@dataclass(frozen=True, slots=True)
class Share:
    """A share from 0 to 1, shown as a bar."""

    share: float


Cell = str | Marked | Share
"""What a table has in a cell; a text is shown as it is."""


@dataclass(frozen=True, slots=True)
class Headline:
    """A number to remember, what it means, and a word that says how it is known, such as exact."""

    number: str
    meaning: str | Marked
    badge: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A sentence or a paragraph."""

    text: str | Marked
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
    """A table; the columns whose numbers are in `words` hold words of symbols."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    words: tuple[int, ...] = ()

    @classmethod
    def from_rows(cls, columns: Iterable[str], rows: Iterable[Sequence[Cell]], *, words: Sequence[int] = ()) -> Table:
        """A table from rows of any kind."""
        return cls(tuple(columns), tuple(map(tuple, rows)), tuple(words))

    @classmethod
    def from_numbers(
        cls, columns: tuple[str, str], labels: Iterable[str], numbers: Sequence[float], *, number: str = "{:.6g}"
    ) -> Table:
        """Numbers that are 0 or more, each with a bar: its share of the largest.

        >>> Table.from_numbers(("distance", "probability"), ["0", "1"], [0.25, 0.5], number="{:.2f}").rows
        (('0', '0.25', Share(share=0.5)), ('1', '0.50', Share(share=1.0)))
        """
        largest = max(numbers, default=0.0) or 1.0
        each = zip(labels, numbers, strict=True)
        return cls(
            (*columns, ""), tuple((label, number.format(value), Share(value / largest)) for label, value in each)
        )


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as SVG, the name of the file that it is saved in, and what it shows where there are several.

    A `large` one is not made smaller than can be read where there is room to scroll.
    """

    svg: str
    name: str
    large: bool = False
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """Sentences, one to a line."""

    items: tuple[str, ...]


Part = Headline | Text | Facts | Table | Picture | Listing


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its parts; a `half` one may stand beside another."""

    heading: str
    parts: tuple[Part, ...]
    half: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a result says.

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

    The title is the heading of the facts too; `further` sections follow them.
    """
    return Report(title=title, sections=(Section(title, (Facts.from_rows(rows),)), *further))


def text_report(title: str, texts: Iterable[str]) -> Report:
    """A report of a few sentences."""
    return Report(title=title, sections=(Section(title, tuple(map(Text, texts))),))
