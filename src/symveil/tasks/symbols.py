"""Positions in a file become symbols: the step before a file of GPS rows can be privatised.

Rows of positions as trips on links: gathered by case, put in order, matched one by one.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from symveil.errors import FileError, ParameterError
from symveil.formats.models.model_files import load_word_model
from symveil.formats.reading import suffix, wrong_suffix
from symveil.formats.road_graphs import road_model
from symveil.formats.sequences.columns import ColumnOptions, check_delimiter
from symveil.formats.sequences.event_groups import EventOrder
from symveil.formats.sequences.records import ROW_NUMBER, as_text
from symveil.formats.sequences.rows_csv import CsvRows
from symveil.formats.sequences.rows_parquet import ParquetRows
from symveil.formats.sequences.sequence_file import RowSource
from symveil.formats.shapes import read_grid, read_link_lines, read_zone_shapes
from symveil.geography.positions import NO_LINK, GridCells, MatchedLinks, PositionSymbols, ZoneShapes
from symveil.languages.graph import Model
from symveil.models.markov_chain import MarkovChain
from symveil.numbers.progress import listener, silent
from symveil.numbers.rationals import percent
from symveil.reports.page import Reported
from symveil.reports.report import Report, facts_report
from symveil.storage.files import write_files
from symveil.tasks.doubts import DROPPED, warn

Cells = tuple[str, ...]
Numbered = tuple[NDArray[np.int64], list[Cells], NDArray[np.int64]]
"""Rows: where they stand in the file, their case and order as text, and the numbers of their symbols."""
_TRIPS = 100
"""Trips between two reports of progress."""


@dataclass(frozen=True, slots=True)
class Positions:
    """Some rows of a file of positions.

    Parameters
    ----------
    rows
        Where they stand in the file.
    cells
        The case of each, and its order where there is one, as text.
    longitudes, latitudes
        In degrees.
    keys
        What puts them in order; None: they are in order.
    """

    rows: NDArray[np.int64]
    cells: list[Cells]
    longitudes: NDArray[np.float64]
    latitudes: NDArray[np.float64]
    keys: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None


@dataclass(slots=True)
class TripCounts:
    """What became of trips that were matched to links.

    Parameters
    ----------
    cases
        How many trips there are.
    with_gaps
        How many have a step that no legal path explains; a model of the links does not have their words.
    left_out
        How many positions are left out because no legal path leads there.
    filled_in
        How many links without a position are filled in.
    """

    cases: int = 0
    with_gaps: int = 0
    left_out: int = 0
    filled_in: int = 0


def matched_rows(links: MatchedLinks, batches: Iterable[Positions], counts: TripCounts) -> Iterator[Numbered]:
    """The rows of each trip, in order, with the links that are filled in; trips in the order in which they begin.

    A link that is filled in has the case and the order of the position before it.

    `counts` is called with what became of the trips.
    """
    gathered = list(batches)
    if not gathered:
        return
    rows = np.concatenate([batch.rows for batch in gathered])
    cells = [each for batch in gathered for each in batch.cells]
    longitudes = np.concatenate([batch.longitudes for batch in gathered])
    latitudes = np.concatenate([batch.latitudes for batch in gathered])
    number: dict[str, int] = {}
    case = np.array([number.setdefault(each[0], len(number)) for each in cells], dtype=np.int64)
    keys = [batch.keys for batch in gathered if batch.keys is not None]
    in_order = [np.concatenate([key[1] for key in keys]), np.concatenate([key[0] for key in keys])] if keys else []
    order = np.lexsort([np.arange(len(rows)), *in_order, case])
    progress = listener("matching trips") or silent
    ends = np.cumsum(np.bincount(case, minlength=len(number)))
    for done, (begin, end) in enumerate(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)):
        if done % _TRIPS == 0:
            progress(done, len(ends))
        own = order[begin:end]
        yield _trip(links, rows[own], [cells[index] for index in own.tolist()], longitudes[own], latitudes[own], counts)


def _trip(
    links: MatchedLinks,
    rows: NDArray[np.int64],
    cells: list[Cells],
    longitudes: NDArray[np.float64],
    latitudes: NDArray[np.float64],
    counts: TripCounts,
) -> Numbered:
    trip = links.trip(longitudes, latitudes)
    counts.cases += 1
    counts.with_gaps += trip.gaps > 0
    counts.left_out += trip.left_out
    counts.filled_in += sum(map(len, trip.before))
    whose: list[int] = []
    numbers: list[int] = []
    last = 0
    for index, (link, before) in enumerate(zip(trip.links, trip.before, strict=True)):
        whose += [last] * len(before) + [index]
        numbers += [*before, link]
        if link >= 0:
            last = index
    return rows[whose], [cells[index] for index in whose], np.array(numbers, dtype=np.int64)


Outside = Literal["error", "drop", "outside"]
OUTSIDE = "outside"
"""The symbol of positions that have none, where it was asked for."""

NOT_PRIVATE = "symbols are not private: they say where a person was; symveil privatize is the next step"
MATCHED = (
    "each trip is matched as a whole, by itself, to the legal path of links that explains its positions best; links "
    "without a position are filled in"
)
_LONGITUDES, _LATITUDES = ("lon", "lng", "longitude", "x"), ("lat", "latitude", "y")


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolFile(Reported):
    """A file of symbols, and what was left out of it."""

    out: Path
    rows: int
    without_symbol: int
    alphabet: tuple[str, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """What should be looked at before the next step; also raised as a `SymveilWarning`."""
    trips: TripCounts | None = None
    """With links: what became of the trips."""

    def document(self) -> dict[str, object]:
        """The JSON form."""
        document: dict[str, object] = {
            "out": str(self.out),
            "rows": self.rows,
            "without_symbol": self.without_symbol,
            "alphabet_size": len(self.alphabet),
        }
        if self.trips is not None:
            document |= {
                "cases": self.trips.cases,
                "cases_with_gaps": self.trips.with_gaps,
                "positions_left_out": self.trips.left_out,
                "links_filled_in": self.trips.filled_in,
            }
        return document

    def report(self) -> Report:
        """How many rows have a symbol, and what became of trips that were matched to links."""
        facts = [
            ("file", str(self.out)),
            ("rows", str(self.rows)),
            ("without a symbol", str(self.without_symbol)),
            ("symbols that there are", str(len(self.alphabet))),
        ]
        if self.trips is not None:
            cases, gaps = self.trips.cases, self.trips.with_gaps
            facts += [
                ("trips", f"{cases}, of which {gaps} with a step that no legal path explains"),
                ("links filled in", str(self.trips.filled_in)),
                ("positions left out", f"{self.trips.left_out}, to which no legal path leads"),
            ]
        return replace(facts_report("Symbols", facts), notes=self.notes, warnings=self.warnings)


def position_symbols(
    *,
    grid: str | None = None,
    box: str | None = None,
    zones: str | Path | None = None,
    links: str | Path | None = None,
    model: Model | str | Path | None = None,
    tolerance: float = 50.0,
) -> PositionSymbols:
    """What gives positions their symbols: a grid over a box, zones with shapes, or links; one of them.

    Parameters
    ----------
    grid, box
        Cells such as "20" or "30x20", and west,south,east,north in degrees. The box is public: taken from the data it
        would reveal where the outermost person was.
    zones
        GeoJSON polygons, or CSV with `zone` and `wkt`, or with `zone`, `west`, `south`, `east`, `north`.
    links
        CSV with `link_id` and `wkt` or `u_lon`, `u_lat`, `v_lon`, `v_lat`; or GraphML as OSMnx writes it.
    model
        With links: the model (or its file) whose moves are the legal ones. By default a link follows another where it
        begins where the other ends, straight back only where there is no other.
    tolerance
        With links: in metres, how far away a position may be.

    >>> position_symbols(grid="2x1", box="8,47,9,48").alphabet
    ('0,0', '1,0')
    """
    given = [name for name, value in (("grid", grid), ("zones", zones), ("links", links)) if value is not None]
    if len(given) != 1:
        raise ParameterError("grid", expected="one of `grid`, `zones` and `links`", found=" and ".join(given) or "none")
    if (box is None) != (grid is None):
        raise ParameterError("box", expected="`grid` and `box` together", found="one of them")
    if model is not None and links is None:
        raise ParameterError("model", expected="`links` with it", found="none")
    if grid is not None:
        cells = read_grid(str(grid))
        if cells is None:
            raise ParameterError("grid", expected="cells such as 20 or 30x20", found=repr(grid))
        return GridCells(_box(str(box)), columns=cells[0], rows=cells[1])
    if zones is not None:
        return ZoneShapes(read_zone_shapes(Path(zones)))
    file = Path(str(links))
    chain = load_word_model(Path(model)) if isinstance(model, str | Path) else model
    if chain is not None and not isinstance(chain, MarkovChain):
        raise ParameterError("model", expected="a Markov chain whose states are links", found=chain.kind)
    if suffix(file) == ".graphml":
        roads = road_model(file)
        lines, chain = roads.lines, chain or roads.chain
    elif suffix(file) in (".csv", ".tsv"):
        lines = read_link_lines(file)
    else:
        raise wrong_suffix(file, (".csv", ".tsv", ".graphml"))
    moves = None if chain is None else [(source, target) for source, target, _ in chain.transitions]
    return MatchedLinks(lines, tolerance=tolerance, moves=moves)


def _box(text: str) -> tuple[float, float, float, float]:
    try:
        west, south, east, north = (float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError("box", expected="west,south,east,north in degrees", found=repr(text)) from None
    return west, south, east, north


def symbols_file(
    path: str | Path,
    out: str | Path,
    *,
    positions: PositionSymbols,
    case: str,
    order: str | None = None,
    longitude: str | None = None,
    latitude: str | None = None,
    outside: Outside = "error",
    once: bool = False,
    delimiter: str | None = None,
    date_format: str | None = None,
    alphabet_out: str | Path | None = None,
) -> SymbolFile:
    """Turn rows of positions into rows of symbols: case, order and symbol, as `privatize` reads them.

    It is not private. With links the rows of a case are matched together, in their order (`MatchedLinks`); no symbol
    depends on another case. How many positions and trips are dropped depends on the data: it is for the holder.

    Parameters
    ----------
    path
        CSV or Parquet, also gzipped, with a position in each row.
    out
        CSV with the columns of the case and of the order, and `symbol`.
    positions
        What gives positions their symbols: `position_symbols`.
    case, order
        The columns that say whose a row is and when; the order may be left out where rows are in order.
    longitude, latitude
        Their columns, in degrees; by default lon, lng, longitude or x, and lat, latitude or y.
    outside
        What happens to positions without a symbol: "error", "drop", or "outside", a symbol of its own.
    once
        Rows of a case that follow each other with the same symbol become one, the first.
    delimiter
        What separates the cells of a CSV file, such as ";"; a comma by default. Degrees may have decimal commas.
    date_format
        With links: how dates in the order column are written where that is not ISO 8601, such as "%d.%m.%Y %H:%M".
    alphabet_out
        Also write all symbols there are, one a line, for `--alphabet @FILE`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gps = Path(folder, "gps.csv")
    ...     _ = gps.write_text("rider,lon,lat\\nann,8.1,47.2\\nann,8.9,47.7\\n")
    ...     grid = position_symbols(grid="2", box="8,47,9,48")
    ...     made = symbols_file(gps, Path(folder, "cells.csv"), positions=grid, case="rider")
    ...     print(Path(folder, "cells.csv").read_text(), end="")
    rider,symbol
    ann,"0,0"
    ann,"1,1"
    """
    file, target = Path(path), Path(out)
    if outside not in get_args(Outside):
        raise ParameterError("outside", expected="error, drop or outside", found=outside)
    if suffix(target) not in (".csv", ".tsv") or target.name.lower().endswith(".gz"):
        raise wrong_suffix(target, (".csv", ".tsv"))
    source = _source(file, delimiter)
    lon, lat = (
        _column(file, source.names, given, usual, option)
        for given, usual, option in ((longitude, _LONGITUDES, "longitude"), (latitude, _LATITUDES, "latitude"))
    )
    kept_columns = [
        _column(file, source.names, name, (), option) for name, option in ((case, "case"), (order, "order")) if name
    ]
    if "symbol" in kept_columns:
        raise ParameterError("case", expected="a column that is not called symbol", found="symbol")
    alphabet = (*positions.alphabet, *([OUTSIDE] if outside == "outside" else []))
    if len(set(alphabet)) < len(alphabet):
        raise ParameterError("outside", expected=f"no symbol that is called {OUTSIDE!r}", found="one")
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t" if suffix(target) == ".tsv" else ",", lineterminator="\n")
    writer.writerow([*kept_columns, "symbol"])
    rows = without = 0
    last: dict[str, int] = {}
    counts = TripCounts() if isinstance(positions, MatchedLinks) else None
    ordered = EventOrder(file, source.unit, date_format=date_format) if order is not None and counts else None
    batches = _Counted(_positions(source, kept_columns, lon, lat, ordered))
    if isinstance(positions, MatchedLinks) and counts is not None:
        numbered = matched_rows(positions, batches, counts)
    else:
        numbered = ((each.rows, each.cells, positions.numbers(each.longitudes, each.latitudes)) for each in batches)
    for row_numbers, names, numbers in numbered:
        missing = numbers == NO_LINK
        without += int(missing.sum())
        if outside == "error" and missing.any():
            where = f"{file}: {source.unit} {int(row_numbers[int(np.argmax(missing))])}"
            raise FileError(where, expected="a position with a symbol", found="none there; see `outside`")
        shown = np.where(missing, len(alphabet) - 1, numbers) if outside == "outside" else numbers
        for cells, number in zip(names, shown.tolist(), strict=True):
            if number < 0 or (once and last.get(cells[0]) == number):
                continue
            last[cells[0]] = number
            writer.writerow([*cells, alphabet[number]])
            rows += 1
    contents = {target: text.getvalue().encode()}
    if alphabet_out is not None:
        contents[Path(alphabet_out)] = "".join(f"{symbol}\n" for symbol in alphabet).encode()
    write_files(contents)
    warnings = _drops(without if outside == "drop" else 0, batches.positions, counts)
    warn(warnings)
    return SymbolFile(
        out=target,
        rows=rows,
        without_symbol=without,
        alphabet=alphabet,
        notes=() if counts is None else (MATCHED,),
        warnings=(NOT_PRIVATE, *warnings),
        trips=counts,
    )


def _drops(dropped: int, positions: int, trips: TripCounts | None) -> list[str]:
    """The warnings that more than a hundredth of the positions have no symbol, or of the trips no legal path."""
    notes = []
    if dropped > DROPPED * positions:
        notes.append(
            f"{dropped:,} of {positions:,} positions ({percent(dropped / positions, 3)}) are left out: they have no "
            "symbol"
        )
    if trips is None:
        return notes
    if trips.left_out > DROPPED * positions:
        notes.append(
            f"{trips.left_out:,} of {positions:,} positions ({percent(trips.left_out / positions, 3)}) are left out, "
            "because no legal path leads there: are the links and the tolerance those of this map?"
        )
    if trips.with_gaps > DROPPED * trips.cases:
        notes.append(
            f"{trips.with_gaps:,} of {trips.cases:,} trips ({percent(trips.with_gaps / trips.cases, 3)}) have a step "
            "that no legal path of links explains: a model of the links does not have them"
        )
    return notes


class _Counted:
    """Batches, and how many positions they had."""

    def __init__(self, batches: Iterator[Positions]) -> None:
        self._batches, self.positions = batches, 0

    def __iter__(self) -> Iterator[Positions]:
        for batch in self._batches:
            self.positions += len(batch.rows)
            yield batch


def _source(file: Path, delimiter: str | None) -> RowSource:
    options = ColumnOptions(delimiter=delimiter)
    if suffix(file) == ".parquet":
        if delimiter is not None:
            raise ParameterError("delimiter", expected="a CSV file with it", found="Parquet")
        return ParquetRows(file)
    if suffix(file) in (".csv", ".tsv"):
        source = CsvRows(file, delimiter=delimiter)
        check_delimiter(file, options, source.names)
        return source
    raise wrong_suffix(file, (".csv", ".tsv", ".parquet"))


def _column(file: Path, names: list[str], given: str | None, usual: tuple[str, ...], option: str) -> str:
    results = [name for name in names if name == given or (given is None and name.strip().lower() in usual)]
    if len(results) != 1:
        wanted = repr(given) if given is not None else " or ".join(usual)
        raise FileError(
            str(file),
            expected=f"one column {wanted} (`{option}`)",
            found=f"{len(results) or 'none'} in {len(names)} columns",
        )
    return results[0]


def _positions(
    source: RowSource, passed_columns: list[str], lon: str, lat: str, order: EventOrder | None
) -> Iterator[Positions]:
    with closing(source.batches([*passed_columns, lon, lat], lon)) as batches:
        for batch in batches:
            rows = batch.column(ROW_NUMBER).to_numpy()
            x, y = (_degrees(batch.column(name), rows, source, most) for name, most in ((lon, 360.0), (lat, 90.0)))
            names = list(zip(*(as_text(batch.column(name)).to_pylist() for name in passed_columns), strict=True))
            for row, cells in enumerate(names):
                if not all(cells):
                    where = f"{source.file}: {source.unit} {int(rows[row])}"
                    raise FileError(where, expected="a case, and an order where one is named", found="an empty cell")
            keys = None if order is None else order.keys(batch.column(passed_columns[1]), batch.column(ROW_NUMBER))
            yield Positions(rows, names, x, y, keys)


def _degrees(column: Any, rows: NDArray[np.int64], source: RowSource, most: float) -> NDArray[np.float64]:
    """A column as degrees; refused at the first row that has none, without showing it."""
    try:
        values = np.asarray(pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        values = np.array([_degree(cell) for cell in column.to_pylist()], dtype=np.float64)
    wrong = ~(np.abs(values) <= most)
    if wrong.any():
        where = f"{source.file}: {source.unit} {int(rows[int(np.argmax(wrong))])}"
        raise FileError(where, expected=f"degrees from -{most:g} to {most:g}", found="something else")
    return values


def _degree(cell: object) -> float:
    text = str(cell)
    try:  # 8,5012 is a number where cells are separated by semicolons
        return float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)
    except ValueError:
        return math.nan
