"""XES event logs, read by a small reader of our own on expat.

A trace is a case and its events are a sequence: the attribute `concept:name` of an event is its
symbol, that of the trace is the case; a trace without one is called by its number. Attributes of traces are
named with `case:` in front, as in tables made from XES. Other attributes pass only when they are kept.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from symveil.errors import AlphabetError, FileError, ParameterError, SymveilError
from symveil.formats.limits import LIMITS
from symveil.formats.reading import LONGEST, MOST_TIMES, open_bytes, share_read
from symveil.formats.sequences.columns import PROCESS_MINING, ColumnOptions, LongColumns
from symveil.formats.sequences.event_groups import EventOrder
from symveil.formats.sequences.layout import RowWriter
from symveil.formats.sequences.records import (
    ID,
    PERSON,
    ROW_NUMBER,
    SYMBOLS,
    columns_beside,
    gathered,
    keep_column,
    made_in_order,
    spelled_names,
    too_long,
)
from symveil.formats.sequences.sequence_file import SequenceFile
from symveil.formats.sequences.stamps import ArtificialTimes, PrivateWaits
from symveil.formats.sequences.xes_writer import CASE_PREFIX, HOUR_KEY, XesWriter
from symveil.formats.xml_text import XmlReader
from symveil.models.alphabet import Alphabet
from symveil.models.names import numeral_name, person_name
from symveil.numbers.progress import note_input
from symveil.pictures.text import displayable

_SIZE_OF_EVENT = 16
"""Characters that an event counts as, beside those of its values."""
_VALUES = ("string", "date", "int", "float", "boolean", "id")
_WITHIN = {"log": "a log around everything", "trace": "traces in the log", "event": "events in a trace"}
_CASE = CASE_PREFIX
_AS_OF_TRACE = f"; an attribute of traces is named {_CASE}{{}}"
"""Advice where no event has an attribute that was named without the prefix."""


@dataclass
class _Trace:
    values: dict[str, str] = field(default_factory=dict)
    events: list[dict[str, str]] = field(default_factory=list)
    size: int = 0


class XesFile(SequenceFile):
    """A log, read one batch of traces at a time."""

    form = "long"
    unit = "trace"
    has_ids = True

    def __init__(
        self,
        file: Path,
        options: ColumnOptions,
        *,
        longest: int = LONGEST,
        most_times: int = MOST_TIMES,
        times: ArtificialTimes | PrivateWaits | None = None,
    ) -> None:
        if options.sequence is not None or options.identifier is not None or options.separator is not None:
            raise ParameterError("sequence", expected="`case`, `order` and `symbol` with XES", found="`sequence`")
        self.file = file
        self.columns = LongColumns(
            case=options.case or PROCESS_MINING["case"],
            symbol=options.symbol or PROCESS_MINING["symbol"],
            order=options.order,  # without it events stay as they stand: XES says that this is their order
            person=options.person,
            keep=options.keep,
            time=options.time,
            attributes=options.attributes,
        )
        self._date_format = options.date_format
        if not self.columns.case.startswith(_CASE):
            raise ParameterError("case", expected=f"an attribute of the trace, {_CASE}…", found=self.columns.case)
        if times is not None and PROCESS_MINING["order"] in (*self.columns.keep, self.columns.symbol):
            raise ParameterError("start", expected="no `keep` of the times that it replaces", found="both")
        # a time in each event, because tools that read logs ask for one; with `keep` the true ones pass
        own = PROCESS_MINING["order"] not in (*self.columns.keep, self.columns.symbol)
        self.times = (times or ArtificialTimes.read()) if own else None
        self._longest, self._most_times = longest, most_times
        self._hour: dict[str, str] = {}
        self._raw: BinaryIO | None = None
        self.kinds: dict[str, str] = {}
        self.kind_of_symbols = "string"
        """What symbols are written as: what the log's head declares, before any event. Not what the first event says:
        that may depend on its symbol, and whether there is one on a secret length.
        """

    def names(self) -> dict[str, str]:
        """Case and symbol. No order: what is written stands in its order, without the attribute that gave it."""
        return {"case": self.columns.case, "symbol": self.columns.symbol, **self._hour}

    def add_hours(self) -> None:
        """Let the output have the private hour of each event."""
        if HOUR_KEY in self.columns.keep:
            raise ParameterError("keep", expected=f"no {HOUR_KEY!r} beside the private hours", found=repr(HOUR_KEY))
        self._hour = {"hour": HOUR_KEY}

    def check_symbols(self, alphabet: Alphabet) -> None:
        """XML holds neither control characters nor halves of characters, not even as references."""
        super().check_symbols(alphabet)
        for position, symbol in enumerate(alphabet.symbols, start=1):
            if displayable(str(symbol)) != str(symbol):
                raise AlphabetError(
                    f"alphabet: expected symbols without control characters, which XES cannot hold, found one at "
                    f"position {position}"
                )

    def check_lengths_may_change(self) -> None:
        """Traces may be empty, and keep their attributes; what belongs to an event has no place among other events."""
        for option, names in (("keep", self.columns.keep), ("person", (self.columns.person,))):
            for name in names:
                if name is not None and not name.startswith(_CASE):
                    raise ParameterError(
                        option,
                        expected=f"attributes of traces ({_CASE}…) with metric levenshtein, where events come and go",
                        found=f"the events' {name!r}",
                    )

    def done(self) -> float:
        """How much of the file has been read, from 0 to 1."""
        return share_read(self.file, self._raw)

    def _opened(self, raw: BinaryIO) -> None:
        self._raw = raw

    def records(self) -> Iterator[pa.RecordBatch]:
        """The traces, as records."""
        order = EventOrder(self.file, self.unit)
        numbered = ((each, each[1].size) for each in enumerate(self._traces(), start=1))
        with closing(gathered(numbered, most=LIMITS.now.grouped_records, size=LIMITS.now.trace_characters)) as groups:
            yield from made_in_order(
                groups,
                lambda traces: self._batch(traces, order),
                lambda traces, start, stop: traces[start:stop],
            )
        self._refuse_unseen()

    def row_writer(self, out: BinaryIO, rows: pa.RecordBatch | None) -> RowWriter:
        """Traces are written as they are; what kinds of values there are is known once the log was read."""
        del rows
        return XesWriter(out, self.columns, self.kinds, self.kind_of_symbols, self.times)

    def _refuse_unseen(self) -> None:
        """An attribute to keep that no trace and no event has is a slip of the pen; known only at the end."""
        for name in self.columns.keep:
            of_trace = name.startswith(_CASE)
            some = any(known.startswith(_CASE) == of_trace for known in self.kinds)  # an empty log misses nothing
            if some and name not in self.kinds:
                whose = "traces" if of_trace else "events"
                advice = "" if of_trace else _AS_OF_TRACE.format(name)
                raise FileError(
                    str(self.file), expected=f"an attribute {name!r} (`keep`) of {whose}", found=f"none{advice}"
                )

    def _batch(self, traces: list[tuple[int, _Trace]], order: EventOrder) -> pa.RecordBatch:
        columns = self.columns
        if columns.order is not None:
            for number, trace in traces:
                keys = [self._required(event, columns.order, number, "an order") for event in trace.events]
                floor, rest = order.keys(pa.array(keys, type=pa.string()), pa.array([number] * len(keys)))
                trace.events = [trace.events[each] for each in np.lexsort((rest, floor)).tolist()]
        arrays: dict[str, Any] = {
            ROW_NUMBER: pa.array([number for number, _ in traces], type=pa.int64()),
            ID: [self._name(trace, number) for number, trace in traces],
        }
        if columns.person is not None:
            arrays[PERSON] = [self._person(trace, number) for number, trace in traces]
        elif any(self._is_numbered(trace) for _, trace in traces):
            # a number is nobody's name: in another log it is another person's
            pairs = zip(traces, arrays[ID], strict=True)
            arrays[PERSON] = [f"{self.unit} {n}" if self._is_numbered(trace) else name for (n, trace), name in pairs]
        symbols = [
            [self._required(event, columns.symbol, number, "a symbol") for event in trace.events]
            for number, trace in traces
        ]
        arrays[SYMBOLS] = pa.array(symbols, type=pa.list_(pa.string()))
        passing = {keep_column(index) for index in range(len(columns.keep))}
        for own, name in columns_beside(columns).items():
            values: list[Any] = [[event.get(name) for event in trace.events] for _, trace in traces]
            if name.startswith(_CASE):  # of a trace: written once where it is kept, else one value for all its events
                values = [trace.values.get(name.removeprefix(_CASE)) for _, trace in traces]
                if own not in passing:
                    values = [[value] * len(trace.events) for value, (_, trace) in zip(values, traces, strict=True)]
            of_trace = name.startswith(_CASE) and own in passing
            arrays[own] = pa.array(values, type=pa.string() if of_trace else pa.list_(pa.string()))
        return pa.record_batch(
            [pa.array(array, type=pa.string()) if isinstance(array, list) else array for array in arrays.values()],
            names=list(arrays),
        )

    def _is_numbered(self, trace: _Trace) -> bool:
        """Whether a trace has no name. An attribute that was asked for must be there."""
        return self.columns.case == PROCESS_MINING["case"] and self.columns.case.removeprefix(_CASE) not in trace.values

    def _name(self, trace: _Trace, number: int) -> str:
        if self._is_numbered(trace):
            return str(number)
        return self._named(trace.values, self.columns.case.removeprefix(_CASE), number, "a name")

    def _person(self, trace: _Trace, number: int) -> str:
        name = self.columns.person or ""
        if name.startswith(_CASE):
            return self._named(trace.values, name.removeprefix(_CASE), number, "a person")
        persons = {person_name(self._named(event, name, number, "a person", _AS_OF_TRACE)) for event in trace.events}
        if len(persons) != 1:
            raise self._error(number, "one person in a trace", "several" if persons else "none")
        return persons.pop()

    def spelled(self, cells: Any) -> Any:
        """Persons as names. A time is none, nor is a number that is not whole; a log writes true in several ways."""
        kind = self.kinds.get(self.columns.person or self.columns.case)
        names = spelled_names(cells)
        if kind == "date":
            return pa.nulls(len(cells), pa.string())
        if kind == "boolean":
            return pc.utf8_lower(names)
        if kind == "float":
            return pa.array([_number_or_text(name) for name in names.to_pylist()], type=pa.string())
        return names

    def _required(self, values: dict[str, str], key: str, number: int, what: str, advice: str = "") -> str:
        if key not in values:
            if key == PROCESS_MINING["symbol"]:
                advice = "; name the attribute that has it with `symbol`"
            raise self._error(number, f"{what} ({key})", f"none{advice.format(key)}")
        return values[key]

    def _named(self, values: dict[str, str], key: str, number: int, what: str, advice: str = "") -> str:
        name = self._required(values, key, number, what, advice)
        if not name:  # all that have none would be one
            raise self._error(number, f"{what} ({key})", "an empty one")
        return name

    def _error(self, number: int, expected: str, found: str) -> FileError:
        return FileError(f"{self.file}: trace {number}", expected=expected, found=found)

    # --- parsing -------------------------------------------------------------------------------

    def _traces(self) -> Generator[_Trace]:
        handler = _Handler(self)
        refused: SymveilError | None = None
        with open_bytes(self.file, what="XES log", most_times=self._most_times, opened=self._opened) as file:
            try:
                for _ in handler.steps(iter(lambda: file.read(LIMITS.now.xes_bytes), b"")):
                    yield from handler.taken()
            except SymveilError as error:
                refused = error
            if refused is not None:
                yield from handler.taken()  # in the traces before it something may be wrong too
                raise refused
        if not handler.is_log:
            raise FileError(str(self.file), expected="an XES log", found="another XML document")
        if handler.has_events_outside:
            note_input(f"{self.file}: events that stand outside traces are left out: they belong to no sequence")

    def wanted(self) -> tuple[set[str], set[str]]:
        """The attributes of traces and of events that matter."""
        names = {name for name in self.columns.read() if name is not None}
        of_traces = {name.removeprefix(_CASE) for name in names if name.startswith(_CASE)}
        return of_traces, {name for name in names if not name.startswith(_CASE)}

    def unrequired(self) -> frozenset[str]:
        """The attributes that are only read beside the symbols: where one is missing, it is unknown."""
        own = self.columns
        return frozenset(own.beside) - {own.case, own.symbol, own.order, own.person, *own.keep}

    @property
    def longest(self) -> int:
        """The longest trace that is believed."""
        return self._longest


def _number_or_text(name: str | None) -> str | None:
    """A value that the log calls a float: whole numbers and text are names."""
    try:
        float(name or "text")
    except ValueError:
        return name
    return numeral_name(name or "")


class _Handler(XmlReader):
    """Collects traces; holds no more than the traces of one chunk."""

    def __init__(self, reader: XesFile) -> None:
        super().__init__(reader.file)
        self._reader = reader
        self._of_traces, self._of_events = reader.wanted()
        self._unrequired = reader.unrequired()
        self._trace = _Trace()
        self._event: dict[str, str] = {}
        self._scope: str | None = None
        self._finished: list[_Trace] = []
        self._count = 0
        self.is_log = self.has_events_outside = False

    def taken(self) -> Iterator[_Trace]:
        finished, self._finished = self._finished, []
        yield from finished

    def started(self, name: str, attributes: dict[str, str]) -> None:
        """A log, a trace, an event, or an attribute of one of them."""
        if self.path == ["log"]:
            self.is_log = True
        elif self.path == ["log", "trace"]:
            self._trace = _Trace()
            self._count += 1
        elif self.path == ["log", "trace", "event"]:
            self._event = {}
        elif name in _VALUES and self.path[:-1] == ["log", "trace", "event"]:
            self._value(name, attributes, self._event, self._of_events, "")
        elif name in _VALUES and self.path[:-1] == ["log", "trace"]:
            self._value(name, attributes, self._trace.values, self._of_traces, _CASE)
        elif self.path == ["log", "event"]:
            self.has_events_outside = True
        elif name in _WITHIN:
            raise self.refusal(f"{_WITHIN[name]}, and nowhere else", "one elsewhere")
        elif self.path == ["log", "global"]:
            self._scope = attributes.get("scope")
        elif name in _VALUES and self.path[:-1] == ["log", "global"]:
            self._declared(name, attributes)

    def _value(
        self, kind: str, attributes: dict[str, str], values: dict[str, str], wanted: set[str], prefix: str
    ) -> None:
        key = attributes.get("key")
        if key not in wanted:
            return
        value = attributes.get("value")
        if value is None or len(value) > LIMITS.now.xes_value or key in values:
            if prefix + key in self._unrequired:
                return  # a time or an attribute that is read beside the symbols refuses nothing
            if key in values:  # readers differ in which of them they take: whose budget, which symbol?
                raise self.refusal("each attribute once in an event or a trace", "one again")
            raise self.refusal(
                f"a value of at most {LIMITS.now.xes_value} characters", "none" if value is None else "more"
            )
        values[key] = value
        self._trace.size += len(value)
        if self._trace.size > LIMITS.now.line_characters:
            raise self.refusal(f"traces of at most {LIMITS.now.line_characters} characters", "a larger one")
        self._reader.kinds.setdefault(prefix + key, kind)

    def _declared(self, kind: str, attributes: dict[str, str]) -> None:
        """What all events have, as the log's head says it: after a trace it would be too late."""
        if self._scope == "event" and not self._count and attributes.get("key") == self._reader.columns.symbol:
            self._reader.kind_of_symbols = kind

    def ended(self) -> None:
        """An event or a trace is complete."""
        if self.path == ["log", "trace", "event"]:
            self._trace.events.append(self._event)
            self._trace.size += _SIZE_OF_EVENT
            if len(self._trace.events) > self._reader.longest:
                raise too_long(f"{self._reader.file}: trace {self._count}", self._reader.longest)
        elif self.path == ["log", "trace"]:
            self._finished.append(self._trace)
