"""XES event logs as they are written: what tools for process mining expect of one (IEEE 1849).

The extensions whose attributes occur are declared, and what every trace and every event has stands in the head. All of
that follows from the columns that were asked for, and from what the head of the input declares: not from any event.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO, Protocol
from xml.sax.saxutils import quoteattr

import pyarrow as pa

from symveil.errors import FileError
from symveil.formats.sequences.columns import PROCESS_MINING, LongColumns
from symveil.formats.sequences.layout import RowWriter
from symveil.formats.sequences.records import HOURS, ID, SYMBOLS, TIME, keep_column
from symveil.formats.sequences.stamps import ArtificialTimes
from symveil.pictures.text import displayable

CASE_PREFIX = "case:"
"""What attributes of traces have in front, in options and in tables."""

HOUR_KEY = "time:hour"
"""The attribute of a private event that has its private hour."""
TIMES_KEY = "symveil:times"
"""The attribute of a log that says that its times are not the true ones."""

_TIME = PROCESS_MINING["order"]
_EXTENSIONS = {
    "concept": "Concept",
    "lifecycle": "Lifecycle",
    "org": "Organizational",
    "time": "Time",
    "semantic": "Semantic",
    "identity": "ID",
    "cost": "Cost",
}
"""The standard extensions by the prefix of their attributes; each is defined at its address."""
_ADDRESS = "http://www.xes-standard.org/{}.xesext"
_UNSET = {
    "string": "__INVALID__",
    "date": "1970-01-01T00:00:00.000+00:00",
    "int": "0",
    "float": "0.0",
    "boolean": "false",
    "id": "00000000-0000-0000-0000-000000000000",
}
"""What a declaration in the head says as the value: that of attributes which are missing, and none is."""


class TimesOfLog(Protocol):
    """Times that a log has and that are not the true ones: it says what they are."""

    @property
    def sentence(self) -> str:
        """What they are, for people who open the log."""
        ...


class XesWriter(RowWriter):
    """Writes records as the traces of a log: with artificial times, or with those in the column of times."""

    def __init__(
        self,
        out: BinaryIO,
        columns: LongColumns,
        kinds: Mapping[str, str],
        kind_of_symbols: str,
        times: TimesOfLog | None,
    ) -> None:
        self._out = out
        self._columns, self._kinds, self._kind_of_symbols = columns, kinds, kind_of_symbols
        self._times = times
        self._texts: list[str] = []
        self._case = columns.case.removeprefix(CASE_PREFIX)
        self._put(
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<log xes.version="1.0" xes.features="" xmlns="http://www.xes-standard.org/">\n'
        )
        self._put("".join(self._head()))

    def _head(self) -> list[str]:
        keys = [self._case, self._columns.symbol, *(name.removeprefix(CASE_PREFIX) for name in self._columns.keep)]
        keys += [_TIME] if self._times is not None else []
        used = {key.partition(":")[0] for key in keys if ":" in key}
        lines = [
            f'<extension name="{name}" prefix="{prefix}" uri="{_ADDRESS.format(prefix)}"/>\n'
            for prefix, name in _EXTENSIONS.items()
            if prefix in used
        ]
        named = self._kinds.get(self._columns.case, "string")
        lines.append(f'<global scope="trace">{_element(named, self._case, _UNSET[named])}</global>\n')
        kind = self._kind_of_symbols
        events = [_element(kind, self._columns.symbol, _UNSET[kind])]
        events += [_element("date", _TIME, _UNSET["date"])] if self._times is not None else []
        lines.append(f'<global scope="event">{"".join(events)}</global>\n')
        if " " not in self._columns.symbol and "'" not in self._columns.symbol:  # blanks separate keys
            lines.append(f'<classifier name="Activity" keys={quoteattr(self._columns.symbol)}/>\n')
        if self._times is not None:
            lines.append(_element("string", TIMES_KEY, self._times.sentence) + "\n")
        return lines

    def write(self, batch: pa.RecordBatch) -> None:
        """Some more traces."""
        own_times = batch.column(TIME).to_pylist() if TIME in batch.schema.names else None
        hours = batch.column(HOURS).to_pylist() if HOURS in batch.schema.names else None
        keeps = [(name, batch.column(keep_column(index)).to_pylist()) for index, name in enumerate(self._columns.keep)]
        for row, (name, symbols) in enumerate(
            zip(batch.column(ID).to_pylist(), batch.column(SYMBOLS).to_pylist(), strict=True)
        ):
            lines = ["<trace>\n", self._line(self._columns.case, self._case, name)]
            for key, values in keeps:
                if key.startswith(CASE_PREFIX) and values[row] is not None:
                    lines.append(self._line(key, key.removeprefix(CASE_PREFIX), values[row]))
            lines_of_times = self._time_lines(len(symbols)) if own_times is None else map(_time_element, own_times[row])
            for at, (symbol, time) in enumerate(zip(symbols, lines_of_times, strict=True)):
                lines += ["<event>", _element(self._kind_of_symbols, self._columns.symbol, symbol), time]
                if hours is not None:
                    lines.append(_element("int", HOUR_KEY, hours[row][at]))
                for key, values in keeps:
                    if not key.startswith(CASE_PREFIX) and values[row][at] is not None:
                        lines.append(self._line(key, key, values[row][at]))
                lines.append("</event>\n")
            self._put("".join([*lines, "</trace>\n"]))

    def _time_lines(self, count: int) -> list[str]:
        """The times of the first `count` events, made once for all traces."""
        if not isinstance(self._times, ArtificialTimes):
            return [""] * count
        if len(self._texts) < count:
            self._texts = [_time_element(time) for time in self._times.texts(max(count, 64))]
        return self._texts[:count]

    def close(self) -> None:
        """The end of the log."""
        self._put("</log>\n")

    def _line(self, name: str, key: str, value: str) -> str:
        return _element(self._kinds.get(name, "string"), key, value)

    def _put(self, text: str) -> None:
        self._out.write(text.encode())


def _time_element(time: str) -> str:
    return _element("date", _TIME, time)


def _element(kind: str, key: str, value: str) -> str:
    return f"<{kind} key={quoteattr(key)} value={_attribute(value)}/>"


def _attribute(value: str) -> str:
    """A value between quotes; XML would turn line breaks and tabs into blanks."""
    text = str(value)
    if displayable(text) != text:
        raise FileError("XES", expected="text without control characters", found="one, which XML cannot hold")
    return quoteattr(text, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
