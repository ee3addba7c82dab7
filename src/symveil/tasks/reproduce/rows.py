"""A row of the comparison."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from symveil.reports.report import Report, Section, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One published statement, what we find, and whether they agree."""

    paper: str = ""
    """Its key, which `reproduce` adds."""
    item: str
    published: str
    ours: str
    agrees: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Reproduction:
    """All rows that were asked for."""

    rows: tuple[Row, ...]

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        return {"rows": [asdict(row) for row in self.rows]}

    def report(self) -> Report:
        """A table for each paper."""
        columns = ("item", "published", "ours", "agrees", "note")
        papers: dict[str, list[tuple[str, ...]]] = {}
        for row in self.rows:
            cells = (row.item, row.published, row.ours, "yes" if row.agrees else "NO", row.note)
            papers.setdefault(row.paper, []).append(cells)
        sections = tuple(Section(paper, (Table.from_rows(columns, rows),)) for paper, rows in papers.items())
        return Report(title="Published figures and ours", sections=sections)
