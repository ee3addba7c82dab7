"""Costs of symbols in files: CSV tables of symbol, symbol, cost, or of symbol, x, y.

A header is skipped where its last cell is no number. What is read is public, like a model.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from symveil.errors import FileError, ParameterError
from symveil.formats.limits import LIMITS
from symveil.formats.reading import csv_rows
from symveil.languages.cost_table import CostTable
from symveil.models.names import shown
from symveil.numbers.rationals import Number, exact, spelled
from symveil.parameters import Exact, File, declared, listing_fields

_METRES = "100"


@listing_fields
@dataclass(frozen=True, kw_only=True, slots=True)
class CostFiles:
    """Where the costs of a mechanism come from: a table, a map, or neither.

    >>> CostFiles().table() is None
    True
    """

    costs: Path | None = field(
        default=None,
        metadata=declared("What wrong symbols cost: CSV of symbol, symbol, cost.", label="Costs", domain=File()),
    )
    places: Path | None = field(
        default=None,
        metadata=declared(
            "What wrong symbols cost, from a map: CSV of symbol, x, y.", label="Costs from a map", domain=File()
        ),
    )
    metres_per_unit: str | None = field(
        default=None,
        metadata=declared(
            f"With `places`: how far a cost of 1 reaches; {_METRES} by default.",
            label="Metres that cost 1",
            domain=Exact(placeholder="M"),
        ),
    )

    def __post_init__(self) -> None:
        if self.costs is not None and self.places is not None:
            raise ParameterError("places", expected="`costs` or `places`", found="both")
        if self.metres_per_unit is not None and self.places is None:
            raise ParameterError("metres_per_unit", expected="`places` with it", found="none")

    def table(self) -> CostTable | None:
        """What the files hold."""
        if self.costs is not None:
            return read_costs(self.costs)
        return (
            None if self.places is None else read_places(self.places, metres_per_unit=self.metres_per_unit or _METRES)
        )


def read_costs(path: str | Path) -> CostTable:
    """What pairs of symbols cost, from a CSV file of symbol, symbol, cost.

    Parameters
    ----------
    path
        The file, perhaps gzipped. A pair that is left out costs what the cheapest way over other symbols costs.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "costs.csv")
    ...     _ = file.write_text("one,two,cost\\na,b,2\\nb,c,1.5\\n")
    ...     read_costs(file)
    CostTable(table of 2 rows)
    """
    file = Path(path)
    rows = _rows(file, what="table of costs", columns="symbol, symbol, cost")
    seen: dict[tuple[str, str], Fraction] = {}
    results = []
    for line, (one, two, cost) in rows:
        location = f"{file}: line {line}"
        value = _number(cost, location, "a cost, a number above 0")
        if value < 0 or (value == 0) != (one == two):
            expected = "0 for a symbol and itself" if one == two else "a cost above 0"
            raise FileError(location, expected=expected, found=shown(cost))
        pair = (min(one, two), max(one, two))
        if seen.setdefault(pair, value) != value:
            raise FileError(location, expected=f"{spelled(seen[pair])}, as for the same pair before", found=shown(cost))
        if one != two:
            results.append((one, two, value))
    if not results:
        raise FileError(str(file), expected="at least one row of symbol, symbol, cost", found="none")
    return CostTable.from_rows(results)


def read_places(path: str | Path, *, metres_per_unit: Number) -> CostTable:
    """What pairs of symbols cost by their places, from a CSV file of symbol, x, y.

    Parameters
    ----------
    path
        The file, perhaps gzipped.
    metres_per_unit
        How far a cost of 1 reaches, in the unit of the coordinates, such as 100 metres.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "places.csv")
    ...     _ = file.write_text("symbol,x,y\\na,0,0\\nb,300,400\\n")
    ...     read_places(file, metres_per_unit=250)
    CostTable(places of 2 rows, unit 250)
    """
    file = Path(path)
    positions: dict[str, tuple[Number, Number]] = {}
    for line, (symbol, x, y) in _rows(file, what="table of places", columns="symbol, x, y"):
        location = f"{file}: line {line}"
        if symbol in positions:
            raise FileError(location, expected="one place for each symbol", found=f"{shown(symbol)} a second time")
        positions[symbol] = (_number(x, location, "a coordinate"), _number(y, location, "a coordinate"))
    if not positions:
        raise FileError(str(file), expected="at least one row of symbol, x, y", found="none")
    return CostTable.from_places(positions, metres_per_unit=metres_per_unit)


def _rows(file: Path, *, what: str, columns: str) -> list[tuple[int, tuple[str, str, str]]]:
    results: list[tuple[int, tuple[str, str, str]]] = []
    with closing(csv_rows(file, what=what)) as lines:
        for line, cells in lines:
            if len(cells) != 3:
                actual_columns = f"{len(cells)} of them"
                raise FileError(f"{file}: line {line}", expected=f"three columns: {columns}", found=actual_columns)
            row = (cells[0].strip(), cells[1].strip(), cells[2].strip())
            if not results and line == 1 and not _is_number(row[2]):
                continue
            if not row[0] or not row[1]:
                raise FileError(f"{file}: line {line}", expected=columns, found="an empty cell")
            results.append((line, row))
            if len(results) > LIMITS.now.cost_rows:
                raise FileError(str(file), expected=f"at most {LIMITS.now.cost_rows} rows", found="more")
    return results


def _is_number(text: str) -> bool:
    try:
        exact(text)
    except ParameterError:
        return False
    return True


def _number(text: str, location: str, expected: str) -> Fraction:
    try:
        return exact(text)
    except ParameterError:
        raise FileError(location, expected=expected, found=shown(text)) from None
