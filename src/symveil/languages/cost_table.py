"""What symbols cost, as it was given: a table of pairs, or places on a map. It travels with a choice, and is public.

`CostTable` is data: read once, written into the manifest as it is and read from there again. What it means for the
words of a model says `cost` (`languages/given_costs.py`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from symveil.errors import ParameterError
from symveil.languages.costs import Cost
from symveil.languages.runs import RunLanguage
from symveil.models.alphabet import Alphabet
from symveil.numbers.once import LastFew
from symveil.numbers.rationals import Number, exact, spelled

_KINDS = ("table", "places")
_priced: LastFew[tuple[CostTable, Alphabet, int | None], Cost] = LastFew(8)  # the same for words of all lengths


@dataclass(frozen=True, slots=True)
class CostTable:
    """Costs of pairs of symbols. Construct with `from_rows` or `from_places`.

    Parameters
    ----------
    kind
        "table": rows are symbol, symbol, cost; "places": rows are symbol, x, y.
    rows
        The rows as they were given, numbers kept exact.
    unit
        Of places: how far a cost of 1 reaches.

    >>> table = CostTable.from_rows([("a", "b", 2), ("b", "c", "1.5")])
    >>> CostTable.from_document(table.document()) == table
    True
    """

    kind: Literal["table", "places"]
    rows: tuple[tuple[str, str | Fraction, Fraction], ...]
    unit: Fraction = Fraction(1)

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[str, str, Number]]) -> CostTable:
        """From rows of symbol, symbol, cost; a pair that is left out costs what the cheapest way over others costs.

        Parameters
        ----------
        rows
            Each pair once, in either order; costs are above 0.
        """
        read = []
        for number, (one, two, cost) in enumerate(rows, start=1):
            read.append((str(one), str(two), exact(cost, name=f"costs, row {number}", expected="a number above 0")))
        if not read:
            raise ParameterError("costs", expected="at least one row of symbol, symbol, cost", found="none")
        return cls("table", tuple(read))

    @classmethod
    def from_places(cls, places: Mapping[str, tuple[Number, Number]], *, metres_per_unit: Number) -> CostTable:
        """From coordinates of symbols: the distance in units, rounded up.

        Parameters
        ----------
        places
            (x, y) of every symbol, in metres or any other unit of length.
        metres_per_unit
            How far a cost of 1 reaches.

        >>> CostTable.from_places({"a": (0, 0), "b": (300, 400)}, metres_per_unit=250).kind
        'places'
        """
        step = exact(metres_per_unit, name="metres_per_unit", expected="a number above 0 such as 100")
        if step <= 0:
            raise ParameterError("metres_per_unit", expected="a number above 0 such as 100", found=metres_per_unit)
        if not places:
            raise ParameterError("places", expected="at least one row of symbol, x, y", found="none")
        return cls(
            "places",
            tuple((str(symbol), exact(x, name="x"), exact(y, name="y")) for symbol, (x, y) in places.items()),
            step,
        )

    def cost(self, language: RunLanguage, *, cap: int | None = None) -> Cost:
        """What it means for the words of a model; `Cost.note` says what was put right.

        Parameters
        ----------
        language
            The feasible words; the table has to know all their symbols, and may know others.
        cap
            The most that a symbol costs; None: as much as it costs.
        """
        found = _priced.of((self, language.alphabet, cap), lambda: self._priced(language, cap))
        return replace(found, metric_of=(0,) * language.length)

    def _priced(self, language: RunLanguage, cap: int | None) -> Cost:
        # imported when first needed: a table that is only handed on must not wait for scipy to load
        from symveil.languages.given_costs import between_places, given  # noqa: PLC0415

        known = set(language.alphabet.symbols)
        if self.kind == "places":
            places: dict[Any, tuple[Number, Number]] = {
                symbol: (Fraction(x), y) for symbol, x, y in self.rows if symbol in known
            }
            return between_places(language, places, unit=self.unit, cap=cap)
        missing = known - {symbol for one, two, _ in self.rows for symbol in (one, str(two))}
        if missing and len(known) > 1:
            example = sorted(map(str, missing))[0]
            raise ParameterError(
                "costs", expected="a cost for every symbol of the model", found=f"none for {example!r}"
            )
        return given(language, ((one, two, cost) for one, two, cost in self.rows), closure=True, cap=cap)

    @property
    def digest(self) -> str:
        """The SHA-256 of what it says."""
        return hashlib.sha256(json.dumps(self.document(), sort_keys=True).encode()).hexdigest()

    def document(self) -> dict[str, Any]:
        """The JSON form: everything, so that anyone who has it can work with the same costs."""
        rows = [[one, two if isinstance(two, str) else spelled(two), spelled(last)] for one, two, last in self.rows]
        return {"kind": self.kind, "unit": spelled(self.unit), "rows": rows}

    @classmethod
    def from_document(cls, document: object) -> CostTable:
        """The table that a document describes."""
        expected = 'costs as symveil writes them: {"kind", "unit", "rows"}'
        if not isinstance(document, Mapping) or document.get("kind") not in _KINDS:
            raise ParameterError("costs", expected=expected, found="something else")
        rows = document.get("rows")
        if not isinstance(rows, list) or not all(isinstance(row, list) and len(row) == 3 for row in rows):
            raise ParameterError("costs", expected=expected, found="other rows")
        if not all(isinstance(row[0], str) for row in rows):
            raise ParameterError("costs", expected="symbols as text in every row", found="something else")
        if document["kind"] == "table":
            return cls.from_rows(rows)
        if len({row[0] for row in rows}) < len(rows):
            raise ParameterError("costs", expected="every symbol once", found="one twice")
        return cls.from_places({symbol: (x, y) for symbol, x, y in rows}, metres_per_unit=document.get("unit", "1"))

    def __repr__(self) -> str:
        unit = f", unit {spelled(self.unit)}" if self.kind == "places" else ""
        return f"CostTable({self.kind} of {len(self.rows)} rows{unit})"
