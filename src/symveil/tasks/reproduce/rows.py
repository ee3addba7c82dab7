"""A row of the comparison."""

from __future__ import annotations

from dataclasses import asdict, dataclass


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
