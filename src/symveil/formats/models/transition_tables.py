"""Transition tables: a chain or a transition system as rows of a CSV or Parquet file.

Columns `from`, `to` and, where it is known, `probability` make a Markov chain; `from`, `symbol`,
`to` a transition system. Where no column is called exactly so, the first that begins with `from`
and the first that begins with `to` are taken (`from_link`, `to_link`). A table of edges, with a link and
its two nodes `u` and `v` in each row, is a road network (`road_graphs`).

Channel tables: a CSV or Parquet file with the columns input, output and probability.

A column `related` may name an input that the row's input is to look like. Otherwise it is given separately: all inputs,
numbers that are close to each other, or a table of pairs with columns `input` and `related`, and perhaps `distance`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from symveil.errors import FileError, ModelError, ParameterError
from symveil.formats.reading import csv_rows, placed, suffix
from symveil.formats.shapes import NAMES
from symveil.models.automaton import TransitionSystem
from symveil.models.channel import Channel, Related
from symveil.models.markov_chain import MarkovChain, read_probability
from symveil.models.names import shown
from symveil.numbers.rationals import Number, exact

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet")

_ROLES = ("from", "symbol", "to", "probability")


@dataclass(frozen=True, slots=True)
class Columns:
    """The cells of the columns that matter, by their roles, and how messages call each row."""

    columns: dict[str, list[object]]
    row_names: list[str]

    def names(self, role: str) -> list[str]:
        """The cells of a column of names."""
        return [_name(cell, where) for cell, where in zip(self.columns[role], self.row_names, strict=True)]

    def chances(self) -> list[Number]:
        """The cells of the column of probabilities, as they are spelled."""
        return [_chance(cell, where) for cell, where in zip(self.columns["probability"], self.row_names, strict=True)]


def read_transition_table(
    path: str | Path, *, initial: str | None = None, notes: list[str] | None = None
) -> MarkovChain | TransitionSystem:
    """The model in a transition table.

    Without probabilities every move from a state is equally likely. A transition system starts in
    the first row's state unless `initial` says otherwise. `notes` gets a line for each assumption.
    """
    file = Path(path)
    messages = notes if notes is not None else []
    if suffix(file) != ".parquet" and _lists_edges(read_header(file, what="transition table")):
        from symveil.formats.road_graphs import road_model  # noqa: PLC0415 - it stands above tables

        roads = road_model(file)
        messages += ["a table of edges: its links are the states, as symveil roads makes them", *roads.notes]
        return roads.chain
    table = read_columns(file, lambda header: _roles(header, file, messages), what="transition table")
    sources, targets = table.names("from"), table.names("to")
    with placed(file, table.row_names.__getitem__):
        if "symbol" in table.columns:
            if initial is None:
                messages.append(f"the first row's state, {shown(sources[0])}, is taken as the initial state")
            rows = zip(sources, table.names("symbol"), targets, strict=True)
            return TransitionSystem.from_transitions(rows, initial=sources[0] if initial is None else initial)
        chances: Sequence[Number]
        if "probability" in table.columns:
            chances = table.chances()
        else:
            messages.append("no column of probabilities: every move from a state is taken as equally likely")
            degree = Counter(sources)
            chances = [Fraction(1, degree[source]) for source in sources]
        rows_of_chain = zip(sources, targets, chances, strict=True)
        return MarkovChain.from_transitions(rows_of_chain, initial=initial, notes=messages)


def read_columns(file: Path, roles_of: Callable[[Sequence[str]], dict[str, int]], *, what: str) -> Columns:
    """The columns of a CSV or Parquet table that play a role, which is asked of its header; it has a row at least."""
    table = _read_parquet(file, roles_of) if suffix(file) == ".parquet" else _read_csv(file, roles_of, what)
    if not table.row_names:
        raise FileError(str(file), expected=f"at least one row in a {what}", found="none")
    return table


def read_header(file: Path, *, what: str) -> list[str]:
    """The names of the columns."""
    if suffix(file) == ".parquet":
        from symveil.formats.sequences.rows_parquet import ParquetRows  # noqa: PLC0415 - pyarrow takes its time

        return list(ParquetRows(file).names)
    with closing(csv_rows(file, what=what)) as lines:
        return next(lines)[1]


def _read_parquet(file: Path, roles_of: Callable[[Sequence[str]], dict[str, int]]) -> Columns:
    from symveil.formats.sequences.rows_parquet import ParquetRows, python_cells  # noqa: PLC0415 - pyarrow takes its time

    source = ParquetRows(file)
    roles = roles_of(source.names)
    names = [source.names[index] for index in roles.values()]
    columns: dict[str, list[object]] = {role: [] for role in roles}
    with closing(source.batches(names, "")) as batches:
        for batch in batches:
            for number, role in enumerate(roles, start=1):  # the first column says which row it is
                columns[role] += python_cells(batch.column(number))
    count = len(next(iter(columns.values()), []))
    return Columns(columns, [f"{file}: row {number}" for number in range(1, count + 1)])


def _read_csv(file: Path, roles_of: Callable[[Sequence[str]], dict[str, int]], what: str) -> Columns:
    with closing(csv_rows(file, what=what)) as lines:
        roles = roles_of(next(lines)[1])
        rows = list(lines)
    return Columns(
        {role: [row[index] for _, row in rows] for role, index in roles.items()},
        [f"{file}: line {line}" for line, _ in rows],
    )


def _lists_edges(header: Sequence[str]) -> bool:
    """Whether a table has a link with its two nodes in each row, and not a move from one state to another.

    >>> _lists_edges(["link_id", "u", "v", "length"]), _lists_edges(["from", "to", "id"]), _lists_edges(["u", "v"])
    (True, False, False)
    """
    names = [name.strip().lower() for name in header]
    moves = any(name.startswith("from") for name in names) and any(name.startswith("to") for name in names)
    return not moves and {"u", "v"} <= set(names) and any(name in names for name in NAMES)


def _roles(header: Sequence[str], file: Path, notes: list[str]) -> dict[str, int]:
    """Which column plays which role, by number; says which columns are left out."""
    names = [name.strip().lower() for name in header]
    roles: dict[str, int] = {}
    for role in _ROLES:
        exact_matches = [index for index, name in enumerate(names) if name == role]
        if len(exact_matches) > 1:
            raise FileError(str(file), expected=f"one column {role!r}", found=str(len(exact_matches)))
        like = [index for index, name in enumerate(names) if role in ("from", "to") and name.startswith(role)]
        for index in (*exact_matches, *like)[:1]:
            roles[role] = index
    if "from" not in roles or "to" not in roles:
        raise FileError(
            str(file),
            expected="columns from, to and probability (or none), or from, symbol, to",
            found=", ".join(shown(name) for name in header[:8]),
        )
    if "symbol" in roles and "probability" in roles:
        raise FileError(str(file), expected="a column symbol or a column probability", found="both")
    _note_unused(header, roles, notes)
    return roles


def _note_unused(header: Sequence[str], roles: Mapping[str, int], notes: list[str]) -> None:
    left_out = [shown(name) for index, name in enumerate(header) if index not in roles.values()]
    if left_out:
        notes.append(f"columns not used: {', '.join(left_out[:8])}{', …' if len(left_out) > 8 else ''}")


def _name(cell: object, where: str) -> str:
    if isinstance(cell, int) and not isinstance(cell, bool):
        return str(cell)
    if not isinstance(cell, str) or not cell:
        actual = "none" if cell in (None, "") else f"a {type(cell).__name__}"
        raise ModelError(where, expected="a name in every cell", found=actual)
    return cell


def _chance(cell: object, where: str) -> Number:
    if isinstance(cell, str):
        return cell.strip()
    if isinstance(cell, int | float | Decimal) and not isinstance(cell, bool):
        return cell
    raise ModelError(where, expected="a probability", found="none" if cell is None else f"a {type(cell).__name__}")


_CHANNEL_ROLES = ("input", "output", "probability")
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
    sentences: list[str] = []
    table = read_columns(
        file, lambda header: _channel_roles(header, (*_CHANNEL_ROLES, "related"), file, sentences), what=_WHAT
    )
    inputs, outputs = table.names("input"), table.names("output")
    chances = table.chances()
    for chance, where in zip(chances, table.row_names, strict=True):
        read_probability(chance, where=where)
    if isinstance(related, Path):
        related = _read_related(related, apart)
    elif related is None:
        related = _pairs(inputs, table.columns["related"]) if "related" in table.columns else "all"
    with placed(file):
        channel = Channel.from_rows(zip(inputs, outputs, chances, strict=True), related=related, notes=sentences)
    if notes is not None:
        notes.extend(f"{file}: {note}" for note in sentences)
    return channel


def _read_related(file: Path, apart: Number) -> list[tuple[str, str]]:
    table = read_columns(
        file,
        lambda header: _channel_roles(header, ("input", "related", "distance"), file, []),
        what="table of related inputs",
    )
    pairs = list(zip(table.names("input"), table.names("related"), strict=True))
    if "distance" not in table.columns:
        return pairs
    most = exact(apart, name="apart")
    distances = [_distance(cell, where) for cell, where in zip(table.columns["distance"], table.row_names, strict=True)]
    return [pair for pair, distance in zip(pairs, distances, strict=True) if distance <= most and pair[0] != pair[1]]


def _channel_roles(header: Sequence[str], wanted: Sequence[str], file: Path, notes: list[str]) -> dict[str, int]:
    """Which column plays which role; the last of the wanted ones may be missing."""
    names = [name.strip().lower() for name in header]
    for role in wanted:
        if names.count(role) > 1 or (role != wanted[-1] and role not in names):
            raise FileError(
                str(file),
                expected=f"columns {', '.join(wanted[:-1])} (and {wanted[-1]}, or none), each once",
                found=", ".join(shown(name) for name in header[:8]),
            )
    roles = {role: names.index(role) for role in wanted if role in names}
    _note_unused(header, roles, notes)
    return roles


def _pairs(inputs: list[str], cells: list[object]) -> list[tuple[str, str]]:
    """Each input with what its rows name; an empty cell names nothing."""
    named = dict.fromkeys((one, str(cell)) for one, cell in zip(inputs, cells, strict=True) if cell not in (None, ""))
    return [pair for pair in named if pair[0] != pair[1]]


def _distance(cell: object, where: str) -> Fraction:
    try:
        return exact(cell)  # type: ignore[arg-type]
    except ParameterError:
        raise FileError(where, expected="a distance such as 1 or 0.5", found=shown(cell)) from None
