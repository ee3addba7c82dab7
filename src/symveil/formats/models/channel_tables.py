"""Channel tables: a CSV or Parquet file with the columns input, output and probability.

A column `related` may name an input that the row's input is to look like. Otherwise that is said apart: all inputs,
numbers that are close to each other, or a table of pairs with columns `input` and `related`, and perhaps `distance`.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from symveil.errors import FileError, ParameterError
from symveil.formats.models.places import placed
from symveil.formats.models.transition_tables import TABLE_SUFFIXES, read_columns, read_header
from symveil.formats.reading import suffix
from symveil.models.channel import Channel, Related
from symveil.models.names import shown
from symveil.models.probabilities import read_probability
from symveil.numbers.rationals import Number, exact

_ROLES = ("input", "output", "probability")
_WHAT = "channel table"


def is_channel_table(path: str | Path) -> bool:
    """Whether a file is a table with columns input and output."""
    file = Path(path)
    if suffix(file) not in TABLE_SUFFIXES:
        return False
    header = {name.strip().lower() for name in read_header(file, what="table")}
    return {"input", "output"} <= header


def read_channel(
    path: str | Path, *, related: Related | None = None, apart: Number = 1, notes: list[str] | None = None
) -> Channel:
    """The channel in a table.

    Parameters
    ----------
    path
        A CSV or Parquet file (perhaps gzipped) with the columns input, output and probability, and perhaps related.
    related
        Which inputs are related: as in `Channel.of`, or the path of a table with the columns input and related, and
        perhaps distance. By default what the column `related` says, or all of them.
    apart
        Where that table has distances: the largest distance that is related.
    notes
        Gets a sentence for everything that was assumed or rounded.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "coin.csv")
    ...     _ = file.write_text("input,output,probability\\nyes,heads,3/4\\nyes,tails,0.25\\nno,heads,1\\n")
    ...     read_channel(file)
    Channel(2 inputs, 2 outputs, 1 related pair)
    """
    file = Path(path)
    said: list[str] = []
    table = read_columns(file, lambda header: _roles(header, (*_ROLES, "related"), file, said), what=_WHAT)
    if not table.row_names:
        raise FileError(str(file), expected="at least one row", found="none")
    inputs, outputs = table.names("input"), table.names("output")
    chances = [_chance(cell, where) for cell, where in zip(table.columns["probability"], table.row_names, strict=True)]
    if isinstance(related, Path):
        related = _read_related(related, apart)
    elif related is None:
        related = _pairs(inputs, table.columns["related"]) if "related" in table.columns else "all"
    with placed(lambda where: f"{file}: {where}"):
        channel = Channel.from_rows(zip(inputs, outputs, chances, strict=True), related=related, notes=said)
    if notes is not None:
        notes.extend(f"{file}: {note}" for note in said)
    return channel


def _read_related(file: Path, apart: Number) -> list[tuple[str, str]]:
    table = read_columns(
        file, lambda header: _roles(header, ("input", "related", "distance"), file, []), what="table of related inputs"
    )
    pairs = list(zip(table.names("input"), table.names("related"), strict=True))
    if "distance" not in table.columns:
        return pairs
    most = exact(apart, name="apart")
    distances = [_distance(cell, where) for cell, where in zip(table.columns["distance"], table.row_names, strict=True)]
    return [
        (one, other)
        for (one, other), distance in zip(pairs, distances, strict=True)
        if distance <= most and one != other
    ]


def _roles(header: Sequence[str], wanted: Sequence[str], file: Path, notes: list[str]) -> dict[str, int]:
    """Which column plays which role; the last of the wanted ones may be missing."""
    names = [name.strip().lower() for name in header]
    for role in wanted:
        if names.count(role) > 1 or (role != wanted[-1] and role not in names):
            raise FileError(
                str(file),
                expected=f"columns {', '.join(wanted[:-1])} (and {wanted[-1]}, or none), each once",
                found=", ".join(shown(name) for name in header[:8]),
            )
    left_out = [shown(name) for name, plain in zip(header, names, strict=True) if plain not in wanted]
    if left_out:
        notes.append(f"columns not used: {', '.join(left_out[:8])}{', …' if len(left_out) > 8 else ''}")
    return {role: names.index(role) for role in wanted if role in names}


def _pairs(inputs: list[str], cells: list[object]) -> list[tuple[str, str]]:
    """Each input with what its rows name; an empty cell names nothing."""
    named = dict.fromkeys((one, str(cell)) for one, cell in zip(inputs, cells, strict=True) if cell not in (None, ""))
    return [pair for pair in named if pair[0] != pair[1]]


def _chance(cell: object, where: str) -> Number:
    if isinstance(cell, str):
        cell = cell.strip()
    if not isinstance(cell, str | int | float | Decimal | Fraction) or isinstance(cell, bool):
        found = "none" if cell is None else f"a {type(cell).__name__}"
        raise FileError(where, expected="a probability", found=found)
    read_probability(cell, where=where)
    return cell


def _distance(cell: object, where: str) -> Fraction:
    try:
        return exact(cell)  # type: ignore[arg-type]
    except ParameterError:
        raise FileError(where, expected="a distance such as 1 or 0.5", found=shown(cell)) from None
