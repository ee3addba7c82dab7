"""What symbols cost, as it was given: a table of pairs, or places on a map. It travels with a choice, and is public.

`CostTable` is data: read once, written into the manifest as it is and read from there again. What it means for the
words of a model says `cost` (`languages/cost_table.py`).

Costs that the user gives: a wrong street next door is better than one across town.

A table of pairs of symbols, or places on a map. What is taken must be a metric: 0 for a symbol and itself only, the
same in both directions, and never more than a way over a third symbol, because that is what the guarantee's proof
uses (docs/theory/certificates.md). A table that is not is refused, or replaced by its closure, the cheapest ways.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError, TooLargeError
from symveil.languages.costs import INFINITE, Cost, SymbolCosts
from symveil.languages.limits import LIMITS
from symveil.languages.runs import RunLanguage
from symveil.models.alphabet import Alphabet, Symbol
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
        result = _priced.of((self, language.alphabet, cap), lambda: self._priced(language, cap))
        return replace(result, metric_of=(0,) * language.length)

    def _priced(self, language: RunLanguage, cap: int | None) -> Cost:
        # imported when first needed: a table that is only handed on must not wait for scipy to load

        known = set(language.alphabet.symbols)
        if self.kind == "places":
            positions: dict[Any, tuple[Number, Number]] = {
                symbol: (Fraction(x), y) for symbol, x, y in self.rows if symbol in known
            }
            return between_positions(language, positions, unit=self.unit, cap=cap)
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


_MOST_UNITS = 10**12
_LARGEST = 2**52  # sums of costs are exact as floats below this
_EXPECTED = "a number above 0 such as 2 or 1.5"


def given(
    language: RunLanguage,
    rows: Iterable[tuple[Symbol, Symbol, Number]],
    *,
    closure: bool = False,
    cap: int | None = None,
) -> Cost:
    """Costs from a table of (symbol, symbol, cost); each pair once, in either order.

    With `closure` pairs may be missing in a table: they cost what the cheapest way over others costs, or can never
    stand for each other where there is none. `Cost.note` says how many pairs of a table that is no metric changed.
    `cap` is the most that a pair costs.

    >>> import symveil as sv
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> cost = given(sv.runs(chain, length=3), [("a", "b", "2.5")])
    >>> cost.values
    (Fraction(0, 1), Fraction(5, 2))
    """
    size = len(language.alphabet)
    if size > LIMITS.now.cost_symbols:
        raise TooLargeError(f"costs: expected at most {LIMITS.now.cost_symbols} symbols, found {size}")
    pairs = _read(language, rows)
    from scipy import sparse  # noqa: PLC0415  # slow to import, and for tables of costs only
    from scipy.sparse.csgraph import shortest_path  # noqa: PLC0415

    unit = _common_unit("costs", pairs.values())
    table = np.full((size, size), np.inf)
    np.fill_diagonal(table, 0.0)
    for (one, two), cost in pairs.items():
        scaled = cost * unit
        if scaled * size > _LARGEST:
            raise ParameterError("costs", expected="numbers with few digits, of about the same size", found=cost)
        table[one, two] = table[two, one] = int(scaled)
    closed = shortest_path(sparse.csr_matrix(np.where(np.isinf(table), 0.0, table)), directed=False)
    missing = int(np.isinf(table).sum()) // 2
    changed = int(np.count_nonzero(closed != table)) // 2
    if changed and not closure:
        _refuse(language, table, closed)
    note = ""
    if changed:
        note = f"{changed} of {size * (size - 1) // 2} pairs cost what the cheapest way over others costs"
        note += f" ({missing} of them were not given)" if missing else ": the table was no metric"
    return _cost(language, closed, unit, cap, name="given", note=note)


def between_positions(
    language: RunLanguage,
    positions: Mapping[Symbol, tuple[Number, Number]],
    *,
    unit: Number,
    cap: int | None = None,
) -> Cost:
    """Costs from a map: the distance in units, rounded up, and at least 1 between different symbols.

    Rounding up keeps the triangle inequality, ⌈x + y⌉ ≤ ⌈x⌉ + ⌈y⌉, and whole numbers suit staircases.

    `unit` is how far a cost of 1 reaches, in the unit of the coordinates; `cap` is the most that a pair costs.

    >>> import symveil as sv
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> between_positions(sv.runs(chain, length=3), {"a": (0, 0), "b": (300, 400)}, unit=250).values
    (Fraction(0, 1), Fraction(2, 1))
    """
    size = len(language.alphabet)
    if size > LIMITS.now.cost_symbols:
        raise TooLargeError(f"places: expected at most {LIMITS.now.cost_symbols} symbols, found {size}")
    step = exact(unit, name="unit", expected=_EXPECTED)
    if step <= 0:
        raise ParameterError("unit", expected=_EXPECTED, found=unit)
    points = []
    for symbol in language.alphabet.symbols:
        if symbol not in positions:
            raise ParameterError("places", expected="coordinates of every symbol", found=f"none of {symbol!r}")
        x, y = positions[symbol]
        points.append((exact(x, name="x") / step, exact(y, name="y") / step))
    unit_of_all = _common_unit("places", (part for point in points for part in point))
    across = np.array([int(x * unit_of_all) for x, _ in points], dtype=object)
    along = np.array([int(y * unit_of_all) for _, y in points], dtype=object)
    table = np.zeros((size, size))
    for row in range(size):
        squares = (across - across[row]) ** 2 + (along - along[row]) ** 2
        if max(squares) > (_MOST_UNITS * unit_of_all) ** 2:  # beyond it, costs would not be whole numbers as floats
            raise ParameterError(
                "places",
                expected=f"places at most {_MOST_UNITS:,} units apart",
                found="more; let a unit be more metres",
            )
        table[row] = [max(1, _rounded_up_root(int(square), unit_of_all)) for square in squares]
        table[row, row] = 0.0
    return _cost(language, table, 1, cap, name="places", note="")


def _common_unit(name: str, numbers: Iterable[Fraction]) -> int:
    """A whole number that makes all of them whole when they are multiplied by it."""
    unit = 1
    for number in numbers:
        unit = lcm(unit, number.denominator)
        if unit > _LARGEST:
            raise ParameterError(name, expected="numbers with few digits", found="more than 15 together")
    return unit


def _rounded_up_root(square: int, unit: int) -> int:
    """⌈√square / unit⌉, exactly."""
    root = math.isqrt(square)
    whole = root + (root * root < square)  # ⌈√square⌉: dividing by a whole number and rounding up commute
    return -(-whole // unit)


def _read(language: RunLanguage, rows: Iterable[tuple[Symbol, Symbol, Number]]) -> dict[tuple[int, int], Fraction]:
    code = language.alphabet.code
    pairs: dict[tuple[int, int], Fraction] = {}
    for number, (one, two, value) in enumerate(rows, start=1):
        for symbol in (one, two):
            if symbol not in code:
                raise ParameterError(f"costs, row {number}", expected="symbols of the model", found=repr(symbol))
        cost = exact(value, name=f"costs, row {number}", expected=_EXPECTED)
        if one == two:
            if cost != 0:
                raise ParameterError(f"costs, row {number}", expected="0 for a symbol and itself", found=value)
            continue
        if cost <= 0:
            raise ParameterError(f"costs, row {number}", expected=_EXPECTED, found=value)
        pair = (min(code[one], code[two]), max(code[one], code[two]))
        if pairs.setdefault(pair, cost) != cost:
            raise ParameterError(
                f"costs, row {number}", expected=f"{pairs[pair]}, as for the same pair before", found=value
            )
    return pairs


def _refuse(language: RunLanguage, table: NDArray[np.float64], closed: NDArray[np.float64]) -> None:
    one, two = (int(index) for index in np.argwhere(closed != table)[0])
    names = language.alphabet.symbols
    if np.isinf(table[one, two]):
        raise ParameterError(
            "costs", expected="a cost for every pair, or closure", found=f"none for {names[one]!r} and {names[two]!r}"
        )
    raise ParameterError(
        "costs",
        expected="a metric (no way over a third symbol is cheaper), or closure",
        found=f"a cheaper way between {names[one]!r} and {names[two]!r}",
    )


def _cost(
    language: RunLanguage, table: NDArray[np.float64], unit: int, cap: int | None, *, name: str, note: str
) -> Cost:
    if cap is not None:
        if cap < 1:
            raise ParameterError("cap", expected="a whole number, 1 or more", found=cap)
        table = np.minimum(table, float(cap * unit))
    levels, number = np.unique(table, return_inverse=True)
    number = number.reshape(table.shape).astype(np.int32)
    finite = np.isfinite(levels)
    # what most pairs cost need not be listed
    far: int = INFINITE
    if finite.all():
        far = len(levels) - 1
    listed = np.isfinite(table) if far == INFINITE else (number != far) | np.eye(len(table), dtype=np.bool_)
    first = np.concatenate([[0], np.cumsum(listed.sum(axis=1))]).astype(np.int64)
    listing: tuple[Any, ...] = np.nonzero(listed)
    metric = SymbolCosts(first, listing[1].astype(np.int32), number[listed].astype(np.int32))
    return Cost(
        name=name,
        values=tuple(Fraction(int(level), unit) for level in levels[finite]),
        far=far,
        metrics=(metric,),
        metric_of=(0,) * language.length,
        note=note,
    )
