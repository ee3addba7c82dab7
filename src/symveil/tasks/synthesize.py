"""Draw synthetic words from a law that was learned privately: for nothing more.

The manifest beside synthetic words: that of the release that their model is, with the file that was drawn.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from symveil import __version__
from symveil.central.attribute_law import OF_CASES
from symveil.central.limits import LIMITS
from symveil.central.noise import Quality
from symveil.central.time_law import draw_times
from symveil.errors import FileError, InputError, ParameterError, SymveilError, either
from symveil.formats.manifest import Manifest, manifest_path, read_any_manifest
from symveil.formats.models.model_json import read_law
from symveil.formats.reading import path_of
from symveil.formats.sequences.columns import PROCESS_MINING, LongColumns
from symveil.formats.sequences.frames import ATTRS
from symveil.formats.sequences.records import ID, SYMBOLS, TIME, keep_column
from symveil.formats.sequences.stamps import ArtificialTimes
from symveil.formats.sequences.xes_writer import XesWriter
from symveil.languages.graph import Model
from symveil.laws.parameters import read_epsilon
from symveil.models.times import WallClock
from symveil.numbers.rationals import spelled
from symveil.randomness import BitSource, system_bits
from symveil.reports.page import Reported
from symveil.reports.report import Report, facts_report
from symveil.storage.files import digest_of, write_files
from symveil.tasks.central_files import counts_records, declared_rules, law_warnings, require_legal_words
from symveil.tasks.learn_privately import LearnedPrivately

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]


def synthetic_manifest(model: Path, target: Path, content: bytes, *, count: int, separator: str) -> dict[Path, bytes]:
    """The manifest of words drawn from a model, as a file to write; none where the model has none beside it.

    Words have the release id and the promise of their model: drawing costs nothing more.
    """
    promise = model_promise(model)
    if promise is None:
        return {}
    kind = target.suffix.lower()[1:]
    document = {
        **promise,
        "version": __version__,
        "release": "synthesize",
        "parameters": {**promise["parameters"], "count": count},
        "drawn_from": {"file": model.name, "digest": promise["digests"]["output"]},
        "digests": {**promise["digests"], "output": hashlib.sha256(content).hexdigest()},
        "output": {
            "file": target.name,
            "format": kind,
            "form": "long" if kind == "xes" or "times" in promise else "wide",
            "columns": synthetic_columns(kind, separator, times="times" in promise),
        },
        "charged": None,
    }
    return {manifest_path(target): Manifest(document).text().encode()}


def synthetic_columns(kind: str, separator: str, *, times: bool = False) -> dict[str, str]:
    """How a file of synthetic words is read: the columns of its format; with times there is an event in each row.

    >>> synthetic_columns("csv", "|")
    {'id': 'id', 'sequence': 'sequence', 'separator': '|'}
    """
    if kind == "xes":
        return {name: PROCESS_MINING[name] for name in ("case", "symbol")}
    if times:
        return dict(PROCESS_MINING)
    return {"id": "id", "sequence": "sequence", **({"separator": separator} if kind == "csv" else {})}


def model_promise(model: Path) -> dict[str, Any] | None:
    """The manifest beside a model that was learned privately, where it is about that very file."""
    path = manifest_path(model)
    if not path.is_file():
        return None
    try:
        result = read_any_manifest(path)
    except SymveilError:  # something else of that name
        return None
    if not result.central or result.document["digests"].get("output") != digest_of(model):
        return None
    return result.document


def what_it_is(document: dict[str, Any]) -> str:
    """What synthetic words are, for a reader."""
    epsilon = spelled(read_epsilon(document["epsilon_exact"]))
    per = "record" if counts_records(document) else "person"
    return f"synthetic words from a model that was learned with epsilon {epsilon} per {per}"


NOT_LEARNED = (
    "of times, the means of rare long waits are not learned, nor bursts, load and who works when: take medians, and "
    "ask symveil count --statistic longest-waits for the bottleneck"
)
"""Beside every result with synthetic times."""

_FREE = "it costs no privacy: only the model was read, which was learned privately"

_NOT_IN_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


@dataclass(frozen=True, kw_only=True, eq=False)
class Synthesized(Reported):
    """Synthetic words, in a file or in memory. It is itself a table that pandas, polars, Arrow and `compare` take.

    Parameters
    ----------
    out
        The file; None: nothing was written.
    released
        How many words there are.
    words
        The words.
    promise
        The manifest of the model that they were drawn from, where it has one.
    quality
        The noise that the model was learned from, where its file says it.
    times
        When events happen, where the model has times.
    """

    out: Path | None
    released: int
    words: list[list[str]] = field(default_factory=list, repr=False)
    promise: dict[str, Any] | None = field(default=None, repr=False)
    quality: Quality | None = None
    times: SyntheticTimes | None = field(default=None, repr=False)

    @property
    def table(self) -> pa.Table:
        """The words as an Arrow table with the columns id and sequence, whose cells are lists; with times an event in
        each row, as event logs name its columns.
        """
        if self.times is not None:
            return _events(self.words, self.times)
        numbers = np.arange(1, len(self.words) + 1)
        return pa.table({"id": numbers, "sequence": pa.array(self.words, pa.list_(pa.string()))})

    @property
    def warnings(self) -> tuple[str, ...]:
        """Where the words, or their times, are mostly noise."""
        return law_warnings(self.promise, self.quality)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not learned of times, where there are some."""
        return () if self.times is None else (NOT_LEARNED,)

    @property
    def column_names(self) -> list[str]:
        """The columns of the table."""
        return ["id", "sequence"] if self.times is None else [*PROCESS_MINING.values(), *self.times.attributes]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's own interchange: `polars.DataFrame(words)`, `pyarrow.table(words)`."""
        return self.table.__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pd.DataFrame:
        """The words as a DataFrame, with the promise of their model in `.attrs`; needs pandas."""
        try:
            frame = self.table.to_pandas()
        except ModuleNotFoundError:
            raise InputError("pandas: expected it to be installed (pip install pandas), found none") from None
        if self.promise is not None:
            frame.attrs[ATTRS] = self.promise
        return frame

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "out": None if self.out is None else str(self.out),
            "released": self.released,
            "quality": None if self.quality is None else self.quality.document(),
        }

    def report(self) -> Report:
        """How many words there are, and where; what to expect of them."""
        facts = [("words", str(self.released)), *([] if self.out is None else [("file", str(self.out))])]
        return replace(facts_report("Synthesised", facts), notes=(_FREE, *self.notes), warnings=self.warnings)


def synthesize(
    model: LearnedPrivately | str | Path,
    out: str | Path | None = None,
    *,
    count: int,
    no_repeats: bool = False,
    constraint: Model | str | Path | None = None,
    separator: str = " ",
    bits: BitSource | None = None,
) -> Synthesized:
    """Draw words from a model that was learned privately: every one is legal, and none costs anything.

    Parameters
    ----------
    model
        What `learn` returned, or the model file that it wrote.
    out
        The file to write: .csv with the columns id and sequence, .jsonl or .parquet with lists, or .xes, a log for
        process mining with artificial times. Where the model has times, every format has an event in each row, with its
        time. None: nothing is written, and the words are in the result only.
    count
        How many words: a number that is declared, not counted in secret data.
    no_repeats
        Whether words are drawn given that they have every symbol at most once.
    constraint
        A model (or its file): words are drawn given that they are words of it.
    separator
        What separates symbols in a CSV file.
    bits
        Where random bits come from; by default the operating system's.

    >>> import tempfile
    >>> from symveil.tasks.learn_privately import learn
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source, model = Path(folder, "trips.csv"), Path(folder, "model.json")
    ...     _ = source.write_text("id,links\\n1,a b\\n2,b a\\n")
    ...     _ = learn(source, model, epsilon=1, lengths=(2, 2), alphabet="ab")
    ...     _ = synthesize(model, Path(folder, "synthetic.csv"), count=3)
    ...     len(Path(folder, "synthetic.csv").read_text().splitlines())
    4

    Without a file; the result is a table:

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = pa.table({"id": [1, 2], "links": ["a b", "b a"]})
    ...     words = synthesize(learn(source, Path(folder, "m.json"), epsilon=1, lengths=(2, 2), alphabet="ab"), count=3)
    >>> words.table.num_rows, list(words.to_pandas().columns)
    (3, ['id', 'sequence'])
    """
    target = None if out is None else path_of(out, name="out")
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ParameterError("count", expected="a whole number, 1 or more", found=count)
    if target is not None and target.suffix.lower() not in SYNTHETIC_SUFFIXES:
        raise ParameterError(
            "out", expected=f"a file name ending in {either(SYNTHETIC_SUFFIXES)}", found=repr(target.name)
        )
    source = model.out if isinstance(model, LearnedPrivately) else path_of(model, name="model")
    if target is not None and target.exists() and source.exists() and target.samefile(source):
        raise FileError(str(target), expected="another file than the model", found="the same")
    law = read_law(source)
    rules = declared_rules(law.symbols, no_repeats=no_repeats, constraint=constraint)
    require_legal_words(law.support, law.rules.and_those(rules), law.symbols)
    kind = None if target is None else target.suffix.lower()
    if (
        kind == ".csv"
        and law.times is None
        and any((separator in symbol) if separator else len(symbol) != 1 for symbol in law.symbols)
    ):
        expected = 'text that occurs in no symbol, such as "|", or a file .jsonl, which needs none'
        raise ParameterError("separator", expected=expected, found=repr(separator))
    if kind == ".xes" and any(_NOT_IN_XML.search(symbol) for symbol in law.symbols):
        raise ParameterError("out", expected="symbols that XML can hold, or .jsonl", found="control characters in one")
    source_of_bits = system_bits() if bits is None else bits
    # times are chosen so that cycles are those of the law: that is fitted on enough words, however few are wanted
    drawn = count if law.times is None else max(count, LIMITS.now.fitted_words)
    codes, lengths = law.under(rules).draw(drawn, source_of_bits)
    times = None
    if law.times is not None:
        instants = draw_times(law.times, codes, lengths, count, source_of_bits)
        codes, lengths = codes[: int(lengths[:count].sum())], lengths[:count]
        values = {each.values.name: each.drawn(codes, lengths, source_of_bits) for each in law.attributes}
        times = SyntheticTimes(instants, law.times.settings.clock, values)
    names = np.array(law.symbols, dtype=object)[codes]
    words = [word.tolist() for word in np.split(names, np.cumsum(lengths)[:-1])]
    if target is not None and kind is not None:
        content = _WRITERS[kind](words, separator, times)
        document = synthetic_manifest(source, target, content, count=count, separator=separator)
        write_files({target: content, **document})
    return Synthesized(
        out=target, released=count, words=words, promise=model_promise(source), quality=law.quality, times=times
    )


@dataclass(frozen=True, eq=False)
class SyntheticTimes:
    """When the events of synthetic words happen, and on which clock they are written.

    Parameters
    ----------
    instants
        Seconds since 1970, for all events one after the other.
    clock
        What a wall shows then.
    attributes
        Other attributes of the events, by name.

    >>> SyntheticTimes(np.array([0]), WallClock.read("Europe/Amsterdam")).texts()
    ['1970-01-01T01:00:00.000+01:00']
    """

    instants: NDArray[np.int64]
    clock: WallClock
    attributes: Mapping[str, list[str]] = field(default_factory=dict)

    sentence: ClassVar[str] = (
        "synthetic: drawn from a law of times that was learned privately; means of rare long waits are not learned"
    )
    """What a log says of its times."""

    def texts(self) -> list[str]:
        """All times with their offsets, so that they never go backwards where a clock is set back."""
        offsets = self.clock.offsets(self.instants)
        offsets = np.where(offsets % 60 == 0, offsets, 0)  # zones had odd seconds once: those are written in UTC
        shown = np.datetime_as_string((self.instants + offsets).astype("datetime64[s]"), unit="ms")
        called = {offset: _spelled_offset(offset) for offset in np.unique(offsets).tolist()}
        return [f"{time}{called[offset]}" for time, offset in zip(shown.tolist(), offsets.tolist(), strict=True)]


def _spelled_offset(seconds: int) -> str:
    minutes = abs(seconds) // 60
    return f"{'-' if seconds < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def _events(words: list[list[str]], times: SyntheticTimes) -> pa.Table:
    """An event in each row."""
    names = [str(number) for number, word in enumerate(words, start=1) for _ in word]
    moments = pa.array(times.instants * 10**6, pa.int64()).cast(pa.timestamp("us", times.clock.zone))
    columns = [
        pa.array(names, pa.string()),
        pa.array([symbol for word in words for symbol in word], pa.string()),
        moments,
    ]
    table = dict(zip((PROCESS_MINING[name] for name in ("case", "symbol", "order")), columns, strict=True))
    return pa.table(table | {name: pa.array(values, pa.string()) for name, values in times.attributes.items()})


def _rows(words: list[list[str]], times: SyntheticTimes) -> tuple[list[str], Iterator[tuple[str, ...]]]:
    """The names of the columns, and the rows, of text."""
    table = _events(words, times)
    cells = [*(table[at].to_pylist() for at in range(2)), times.texts(), *times.attributes.values()]
    return table.column_names, zip(*cells, strict=True)


def _csv(words: list[list[str]], separator: str, times: SyntheticTimes | None) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if times is not None:
        names, rows = _rows(words, times)
        writer.writerow(names)
        writer.writerows(rows)
        return text.getvalue().encode()
    writer.writerow(["id", "sequence"])
    writer.writerows([number, separator.join(word)] for number, word in enumerate(words, start=1))
    return text.getvalue().encode()


def _parquet(words: list[list[str]], separator: str, times: SyntheticTimes | None) -> bytes:
    del separator
    sink = io.BytesIO()
    if times is None:
        numbers = pa.array(np.arange(1, len(words) + 1))
        table = pa.table({"id": numbers, "sequence": pa.array(words, pa.list_(pa.string()))})
    else:
        table = _events(words, times)
    pq.write_table(table, sink)
    return sink.getvalue()


def _json_lines(words: list[list[str]], separator: str, times: SyntheticTimes | None) -> bytes:
    del separator
    if times is not None:
        names, cells = _rows(words, times)
        events = (dict(zip(names, row, strict=True)) for row in cells)
        return "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events).encode()
    rows = ({"id": number, "sequence": word} for number, word in enumerate(words, start=1))
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _xes(words: list[list[str]], separator: str, times: SyntheticTimes | None) -> bytes:
    """A log as tools for process mining read it: numbered traces, with learned times or artificial ones."""
    del separator
    out = io.BytesIO()
    attributes = {} if times is None else times.attributes
    columns = LongColumns(
        person=None, keep=tuple(attributes), case=PROCESS_MINING["case"], symbol=PROCESS_MINING["symbol"], order=None
    )
    own_times = ArtificialTimes.read(longest=max(map(len, words))) if times is None else times
    writer = XesWriter(out, columns, {}, "string", own_times)
    names = pa.array([str(number) for number in range(1, len(words) + 1)])
    arrays = {ID: names, SYMBOLS: pa.array(words, pa.list_(pa.string()))}
    if times is not None:
        ends = np.concatenate([[0], np.cumsum([len(word) for word in words])])
        arrays[TIME] = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(times.texts(), pa.string()))
        for index, (name, values) in enumerate(attributes.items()):
            column = pa.array(values, pa.string())
            of_events = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), column)
            first = column.take(pa.array(ends[:-1]))  # every word has a first event
            arrays[keep_column(index)] = first if name.startswith(OF_CASES) else of_events
    writer.write(pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays)))
    writer.close()
    return out.getvalue()


_WRITERS: dict[str, Callable[[list[list[str]], str, SyntheticTimes | None], bytes]] = {
    ".csv": _csv,
    ".jsonl": _json_lines,
    ".parquet": _parquet,
    ".xes": _xes,
}
SYNTHETIC_SUFFIXES = tuple(_WRITERS)
"""What a file of synthetic words may be."""
