"""A row of the comparison, and all rows of the papers one asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from symveil.errors import ParameterError


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One published statement, what we find, and whether they agree."""

    paper: str
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


def reproduce(papers: dict[str, Callable[[], Iterator[Row]]], paper: str | None = None) -> Reproduction:
    """The rows of one paper, or of all."""
    if paper is not None and paper not in papers:
        raise ParameterError("paper", expected=f"one of {', '.join(papers)}", found=paper)
    chosen = papers.values() if paper is None else [papers[paper]]
    return Reproduction(tuple(row for rows in chosen for row in rows()))
