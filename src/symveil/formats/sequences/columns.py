"""Which column of a file is what: named by the user, or found where there is only one reading.

Messages give positions of columns, never names: a file without a header has a secret in its place.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Self

from symveil.errors import FileError, ParameterError
from symveil.formats.limits import LIMITS
from symveil.parameters import Domain, Several, declared, listing_fields

_NO_COLUMNS = ("separator", "delimiter", "date_format", "person_option")
_COLUMN = Domain(placeholder="COL")
_OTHER_DELIMITERS = {";": ("semicolons", ";"), "\t": ("tabs", "\\t")}

PROCESS_MINING = {"case": "case:concept:name", "symbol": "concept:name", "order": "time:timestamp"}
"""The names that event logs use (XES, and tables made from it)."""


@listing_fields
@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnOptions:
    """The columns that the user named; those that are None are detected.

    >>> ColumnOptions(sequence="links", person="rider").is_long
    False
    """

    sequence: str | None = field(
        default=None,
        metadata=declared(
            "Wide form: the column of the sequences, lists or text.", label="Column of sequences", domain=_COLUMN
        ),
    )
    separator: str | None = field(
        default=None,
        metadata=declared(
            'Wide form: what separates symbols in text; blanks by default, "" for every character.',
            label="Between symbols",
            domain=Domain(placeholder="S"),
        ),
    )
    identifier: str | None = field(
        default=None,
        metadata=declared(
            "Wide form: the column that names the record.", label="Column of ids", domain=_COLUMN, option="--id"
        ),
    )
    case: str | None = field(
        default=None,
        metadata=declared("Long form, one event per row: the column of the case.", label="Case", domain=_COLUMN),
    )
    order: str | None = field(
        default=None,
        metadata=declared(
            "Long form: numbers or timestamps that put a case's events in order.", label="Order", domain=_COLUMN
        ),
    )
    symbol: str | None = field(
        default=None, metadata=declared("Long form: the column of the symbols.", label="Symbol", domain=_COLUMN)
    )
    person: str | None = field(
        default=None,
        metadata=declared("Whose budget a sequence is charged to; by default its own.", label="Person", domain=_COLUMN),
    )
    keep: tuple[str, ...] = field(
        default=(),
        metadata=declared(
            "A public column that passes as it is. Repeatable.",
            label="Columns that pass",
            domain=Several(placeholder="COL"),
        ),
    )
    delimiter: str | None = field(
        default=None,
        metadata=declared(
            'CSV: what separates cells, such as ";" or tab; commas by default.',
            label="Between cells",
            domain=Domain(placeholder="D"),
            more="In a `.tsv` file a tab.",
        ),
    )
    date_format: str | None = field(
        default=None,
        metadata=declared(
            "Long form: how dates in `order` are written, such as %d.%m.%Y %H:%M.",
            label="Dates",
            domain=Domain(placeholder="F"),
            more="As strptime has it; by default ISO 8601.",
        ),
    )
    person_option: str = field(
        default="person",
        metadata=declared(
            "What messages call `person`: estimates call it a cluster.",
            label="Name of the person option",
            domain=Domain(),
            option=None,
        ),
    )
    time: str | None = field(
        default=None,
        metadata=declared(
            "The column of times, read beside the symbols.",
            label="Times",
            domain=_COLUMN,
            option=None,
            more="Of events, or a cell for each sequence. It puts nothing in order and refuses nothing.",
        ),
    )
    attributes: tuple[str, ...] = field(
        default=(),
        metadata=declared(
            "Other columns of events that are read beside the symbols.",
            label="Attributes",
            domain=Several(placeholder="COL"),
            option=None,
        ),
    )

    def __post_init__(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n\0'):
            raise ParameterError(
                "delimiter", expected="one character, no quote and no line end", found=repr(self.delimiter)
            )
        if self.date_format is not None:
            _check_format(self.date_format)
        long = next((name for name in ("case", "order", "symbol") if getattr(self, name) is not None), None)
        wide = next((name for name in ("sequence", "separator", "identifier") if getattr(self, name) is not None), None)
        if long and wide:
            raise ParameterError(
                wide, expected=f"no {_option(wide)} with {_option(long)}: one event or one sequence per row",
                found="both",
            )  # fmt: skip
        for name in self.keep:
            if self.keep.count(name) > 1:
                raise ParameterError("keep", expected="each column once", found=repr(name))

    @classmethod
    def from_names(cls, names: Mapping[str, str]) -> Self:
        """The options that read an output again, from the columns that its manifest names."""
        named = {"identifier" if key == "id" else key: value for key, value in names.items() if key != "hour"}
        return cls(**named)  # type: ignore[arg-type]

    @property
    def is_long(self) -> bool | None:
        """Whether there is an event in each row; None: not said."""
        if self.case is not None or self.symbol is not None or self.order is not None:
            return True
        return False if self.sequence is not None or self.identifier is not None else None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Columns(ABC):
    person: str | None
    keep: tuple[str, ...]
    time: str | None = None
    attributes: tuple[str, ...] = ()

    @property
    @abstractmethod
    def _own(self) -> tuple[str | None, ...]:
        """The columns that make a record, in either form."""

    def read(self) -> list[str]:
        """The columns that are needed."""
        return list(
            dict.fromkeys(name for name in (*self._own, self.person, *self.keep, *self.beside) if name is not None)
        )

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns that are read beside the symbols, and never written."""
        return (*(() if self.time is None else (self.time,)), *self.attributes)

    def written(self, names: Sequence[str]) -> list[str]:
        """The columns that are written, in the file's order."""
        return [name for name in names if name in {*self._own, *self.keep}]


@dataclass(frozen=True, kw_only=True, slots=True)
class WideColumns(_Columns):
    """One sequence in each row."""

    sequence: str
    identifier: str | None

    @property
    def _own(self) -> tuple[str | None, ...]:
        return self.identifier, self.sequence


@dataclass(frozen=True, kw_only=True, slots=True)
class LongColumns(_Columns):
    """One event in each row."""

    case: str
    symbol: str
    order: str | None

    @property
    def _own(self) -> tuple[str | None, ...]:
        return self.case, self.order, self.symbol


def choose_columns(
    file: Path,
    options: ColumnOptions,
    names: Sequence[str],
    lists: Sequence[str] = (),
    *,
    only_sequences: bool = False,
) -> WideColumns | LongColumns:
    """The columns of a file with these `names`, of which `lists` hold lists; with `only_sequences` without its ids.

    >>> wide = choose_columns(Path("trips.csv"), ColumnOptions(), ["trip_id", "links"])
    >>> wide.sequence, wide.identifier
    ('links', 'trip_id')
    >>> long = choose_columns(Path("log.csv"), ColumnOptions(), ["case:concept:name", "concept:name", "cost"])
    >>> long.case, long.symbol, long.order
    ('case:concept:name', 'concept:name', None)
    """
    _check_names(file, options, names)
    long = options.is_long
    if long is None:
        long = not lists and PROCESS_MINING["case"] in names and PROCESS_MINING["symbol"] in names
    if not long:
        return _wide(file, options, names, lists, only_sequences=only_sequences)
    case = options.case or _only(file, "case", names)
    symbol = options.symbol or _only(file, "symbol", names)
    order = options.order
    if order is None and PROCESS_MINING["order"] in names:
        order = PROCESS_MINING["order"]
    roles = [case, symbol, *([order] if order else [])]
    if len(set(roles)) < len(roles):
        raise FileError(str(file), expected="different columns for case, order and symbol", found="one of them twice")
    for name in (case, symbol):
        if name in options.keep:
            raise ParameterError("keep", expected="other columns than case and symbol", found=repr(name))
    return LongColumns(
        case=case, symbol=symbol, order=order, person=options.person, keep=options.keep,
        time=options.time, attributes=options.attributes,
    )  # fmt: skip


def ids_among(names: Sequence[str]) -> list[str]:
    """The names of columns that look like those of ids.

    >>> ids_among(["trip_id", "links", "ID", "paid"])
    ['trip_id', 'ID']
    """
    return [name for name in names if _is_like_id(name)]


def check_delimiter(file: Path, options: ColumnOptions, names: Sequence[str]) -> None:
    """Refuse a CSV file whose header is one cell with other delimiters in it, unless the user names that column."""
    if len(names) == 1 and options.delimiter is None and options.sequence != names[0]:
        for sign, (called, typed) in _OTHER_DELIMITERS.items():
            if sign in names[0]:
                raise FileError(
                    str(file),
                    expected="commas between the cells of the header",
                    found=f"{called} and no comma; name them with `delimiter='{typed}'`",
                )


def secret_lengths_in_long_form() -> ParameterError:
    """The refusal of a table with an event in each row where lengths are secret: no row, no case, no secret."""
    return ParameterError(
        "metric",
        expected="one sequence per row (`sequence`) with levenshtein: where each row is one event, a case whose "
        "sequence is empty has no row, and that it is missing tells its length",
        found="one event per row",
    )


def _wide(
    file: Path, options: ColumnOptions, names: Sequence[str], lists: Sequence[str], *, only_sequences: bool
) -> WideColumns:
    beside = (options.time, *options.attributes)
    others = (options.sequence, options.person, *options.keep, *lists, *beside)
    like_ids = [name for name in ids_among(names) if name not in others]
    identifier = options.identifier
    if identifier is None and len(like_ids) == 1 and len(names) > 1:
        identifier = like_ids[0]
    sequence = options.sequence
    if sequence is None:
        taken = {identifier, options.person, *options.keep, *beside}
        candidates = [name for name in (lists or names) if name not in taken]
        if only_sequences and len(candidates) > 1:  # whatever of them is the id
            candidates = [name for name in candidates if name not in like_ids]
        if len(candidates) != 1:
            positions = ", ".join(str(names.index(name) + 1) for name in candidates[:10])
            raise FileError(
                str(file),
                expected="one column that can hold the sequences",
                found=f"{len(candidates)}{f' (columns {positions})' if positions else ''}; which one is it? Name it "
                "with `sequence`, or name `case` and `symbol` where each row is one event",
            )
        sequence = candidates[0]
    for option, taken_columns in (
        ("identifier", (identifier,)),
        (options.person_option, (options.person,)),
        ("keep", options.keep),
        ("time", (options.time,)),
        ("attributes", options.attributes),
    ):
        if sequence in taken_columns:
            raise ParameterError("sequence", expected=f"another column than {_option(option)}", found=repr(sequence))
    return WideColumns(
        sequence=sequence,
        identifier=None if only_sequences else identifier,
        person=options.person,
        keep=options.keep,
        time=options.time,
        attributes=options.attributes,
    )


def _only(file: Path, role: str, names: Sequence[str]) -> str:
    standard = PROCESS_MINING[role]
    if standard in names:
        return standard
    raise FileError(
        str(file), expected=f"a column called {standard}, or {_option(role)}", found=f"neither in {len(names)} columns"
    )


def _check_names(file: Path, options: ColumnOptions, names: Sequence[str]) -> None:
    for name in fields(options):
        if name.name in _NO_COLUMNS:
            continue
        option = options.person_option if name.name == "person" else name.name
        value = getattr(options, name.name)
        for wanted in value if isinstance(value, tuple) else (value,):
            if wanted is not None and names.count(wanted) != 1:
                raise FileError(
                    str(file),
                    expected=f"one column {wanted!r} ({_option(option)})",
                    found=f"{names.count(wanted) or 'none'} in {len(names)} columns"
                    + _what_there_is(options, wanted, names),
                )


def _what_there_is(options: ColumnOptions, wanted: str, names: Sequence[str]) -> str:
    """The names of the columns where they are known to be names.

    The first line of a CSV file that has no header holds cells of data. It is taken for a header where another
    option names one of its cells; else only a cell is shown that the user has almost typed.
    """
    given = [getattr(options, each.name) for each in fields(options) if each.name not in _NO_COLUMNS]
    typed = {name for value in given for name in (value if isinstance(value, tuple) else (value,)) if name is not None}
    if typed.intersection(names):
        listed = ", ".join(names[: LIMITS.now.listed_columns])
        return f": {listed}{' …' if len(names) > LIMITS.now.listed_columns else ''}"
    close = difflib.get_close_matches(wanted, names, n=1, cutoff=0.8)
    if close:
        return f"; is it {close[0]!r}?"
    return ""


def _check_format(spelling: str) -> None:
    """Refuse a format of dates that `strptime` does not take."""
    try:
        datetime.strptime("", spelling)
    except ValueError as error:
        if "%" in spelling and "does not match" in str(error):
            return
    raise ParameterError("date_format", expected="a format such as %d.%m.%Y %H:%M", found=repr(spelling))


def _option(field: str) -> str:
    return f"`{field}`"


def _is_like_id(name: str) -> bool:
    return name.strip().lower() == "id" or name.strip().lower().endswith("_id")
