"""File: a whole file with one ε for each person, as synthetic sequences or as a table of counts, beside the truth."""

from __future__ import annotations

import csv
import re
import tempfile
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from shlex import quote
from typing import Any

import pyarrow as pa

from symveil.central.time_cells import TIME_STATISTICS
from symveil.errors import ParameterError
from symveil.estimation.statistics import NGRAMS
from symveil.examples.millford import LONGEST, SHORTEST, millford, millford_map, millford_times, millford_trips
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.shapes import read_coordinates
from symveil.formats.symbols import read_alphabet
from symveil.numbers.progress import Progress, named
from symveil.parameters import read_confidence, read_range, read_whole
from symveil.pictures.maps import Road, road_map_svg
from symveil.reports.report import Headline, Marked, Part, Picture, Report, Section, Table, Text
from symveil.studio.answer import Answer
from symveil.studio.tasks.answers import about_counts, central_promise, table_answer
from symveil.studio.tasks.subject import warning
from symveil.tasks.compare import Comparison, compare
from symveil.tasks.compare_report import comparison_sections
from symveil.tasks.compare_tables import compare_table
from symveil.tasks.count import count_file
from symveil.tasks.learn_privately import LearnedPrivately, learn
from symveil.tasks.synthesize import NOT_LEARNED, Synthesized, synthesize

COLUMNS = (
    *("sequence", "separator", "identifier", "case", "order", "symbol", "person", "time", "delimiter", "date_format"),
)
"""How a file of one's own is read."""
TIME_ROWS = TIME_STATISTICS
STATISTICS = ("visits", "first", "last", "transitions", "od", NGRAMS, "lengths", "directly-follows", *TIME_ROWS)
EXAMPLE = {"lengths": f"{SHORTEST}..{LONGEST}", "period": "2024-05-06..2024-05-10", "zones": "3x2", "cap": "1h"}
"""What is public about the example."""

_EXAMPLE_COLUMNS = {"case": "trip", "order": "time", "symbol": "street", "person": "person", "time": "time"}
_SHOWN_WORDS, _SHOWN_TRIPS, _SHOWN_VALUES, _MOST_SYNTHETIC = 10, 4, 24, 100_000


def answer_whole_file(values: Mapping[str, str], progress: Progress) -> Answer:
    """The File panel."""
    if values["source"] not in ("millford", "file"):
        raise ParameterError("source", expected="millford or file", found=values["source"])
    if values["task"] not in ("synthesize", "count"):
        raise ParameterError("task", expected="synthesize or count", found=values["task"])
    if values["source"] == "file" and not values["data"]:
        return _none()
    # below the folder of the session, which goes with it, whatever becomes of this process
    with tempfile.TemporaryDirectory(dir=values.get("folder")) as folder:
        return (
            _synthetic(values, Path(folder), progress)
            if values["task"] == "synthesize"
            else _counted(values, Path(folder), progress)
        )


def _none() -> Answer:
    explained = (
        "Drop a file of sequences, and say what is public: the alphabet, or a model whose words are the possible ones. "
        "Nothing is written, charged or sent: this is a try-out for the holder of the file.",
        "What is released later is made by `symveil learn`, `symveil synthesize` and `symveil count`, with a ledger.",
    )
    return Answer.without(
        Report(title="symveil: a file", sections=(Section("No file yet", tuple(map(Text, explained))),))
    )


# --- what is read ----------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _example() -> pa.Table:
    trips, times = millford_trips(), millford_times()
    events = [
        (name, trip.person, block, at.isoformat(), trip.purpose)
        for name, trip in trips.items()
        for block, at in zip(trip.blocks, times[name], strict=True)
    ]
    names = ("trip", "person", "street", "time", "case:purpose")
    return pa.table(dict(zip(names, map(list, zip(*events, strict=True)), strict=True)))


def _read(values: Mapping[str, str], folder: Path) -> tuple[Any, dict[str, Any], dict[str, Any], dict[str, Road]]:
    """The sequences, how they are read, what is public about them, and where symbols lie."""
    if values["source"] == "millford":
        roads = millford_map()
        places = folder / "places.csv"
        with places.open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(("state", "x1", "y1", "x2", "y2"))
            rows.writerows((name, *start, *end) for name, (start, end) in roads.items())
        return _example(), dict(_EXAMPLE_COLUMNS), {"model": millford(), "places": places}, roads
    columns = {name: values[name] for name in COLUMNS if values[name]}
    if columns.get("separator") == '""':
        columns["separator"] = ""
    public: dict[str, Any] = {"model": Path(values["model"])} if values["model"] else {}
    if values["alphabet"]:
        if values["alphabet"].startswith("@"):
            raise ParameterError("alphabet", expected="characters, or a list with commas", found="a file name")
        public["alphabet"] = read_alphabet(values["alphabet"])
    roads = {}
    if values["places"]:
        public["places"], roads = Path(values["places"]), read_coordinates(values["places"])
    return Path(values["data"]), columns, public, roads


def _given(values: Mapping[str, str], *names: str) -> dict[str, str]:
    """The fields in which something was typed."""
    return {name: text for name in names if (text := values[name].strip())}


def _command(
    verb: str, values: Mapping[str, str], options: Mapping[str, object], columns: Mapping[str, str]
) -> Section:
    """How the same is released."""
    own = values["source"] == "file"
    words = [f"symveil {verb} {quote(Path(values['data']).name) if own else 'trips.csv'} --epsilon {values['epsilon']}"]
    typed = {"model": Path(values["model"]) if own else "roads.json", "alphabet": values["alphabet"]}
    for name, value in (*options.items(), *columns.items()):
        option = _OPTIONS.get((verb, name)) or _OPTIONS.get(("", name)) or f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value is not False:
            shown = typed.get(name, value)
            each = _typed_attributes(shown) if isinstance(shown, dict) else [shown]
            words += [f"{option} {quote(one.name if isinstance(one, Path) else str(one))}" for one in each]
    explained = "Nothing was written or charged here. The release itself is made on the command line, with a ledger:"
    return Section("To release it", (Text(explained), Text(Marked((" ".join(words),)), "command")))


_OPTIONS = {
    ("", "identifier"): "--id",
    ("", "threshold"): "--from",
    ("learn", "model"): "--from-graph",
    ("learn", "attributes"): "--attribute",
}
"""Options that are not called as their parameters."""


_EDGES = re.compile(r"-?\d+(\.\d+)?(,-?\d+(\.\d+)?)+", re.ASCII)
"""Edges of bins. Whatever else is typed is a list of names: no file of this machine is read for it."""


def read_attributes(text: str) -> dict[str, str | list[str]]:
    """Columns with their public values, as `learn` takes them.

    >>> read_attributes("case:purpose=work, school; amount=0,10,100")
    {'case:purpose': ['work', 'school'], 'amount': '0,10,100'}
    """
    read: dict[str, str | list[str]] = {}
    for part in filter(None, map(str.strip, text.split(";"))):
        column, equals, listed = (each.strip() for each in part.partition("="))
        values = [each.strip() for each in listed.split(",")]
        if not (column and equals and listed) or column in read:
            expected = "columns and their public values, such as amount=0,10,100; kind=a,b, each column once"
            raise ParameterError("attributes", expected=expected, found="another")
        edges = ",".join(values)
        read[column] = edges if _EDGES.fullmatch(edges) else values
    return read


def _typed_attributes(attributes: Mapping[str, str | list[str]]) -> list[str]:
    """As the command line takes them: names stand in a file, one in each line."""
    files = {column: f"{column.removeprefix('case:')}.txt" for column in attributes}
    return [f"{column}={values if isinstance(values, str) else files[column]}" for column, values in attributes.items()]


# --- synthetic sequences ---------------------------------------------------------------------------


def _synthetic(values: Mapping[str, str], folder: Path, progress: Progress) -> Answer:
    data, columns, public, roads = _read(values, folder)
    shortest = "the shortest and the longest length, such as 2..12"
    lengths = read_range("lengths", values["lengths"].strip(), expected=shortest)
    count = read_whole("count", values["count"])
    if not 1 <= count <= _MOST_SYNTHETIC:
        raise ParameterError("count", expected=f"a whole number from 1 to {_MOST_SYNTHETIC:,}", found=count)
    timed = _given(values, "period", "timezone", "durations", "time_share") if "time" in columns else {}
    mapped = _given(values, "zones") if roads else {}
    attributes = read_attributes(values["attributes"])
    others = {"attributes": attributes} if attributes else {}
    rules: dict[str, Any] = {"no_repeats": values["no_repeats"] == "yes"}
    if values["constraint"]:
        rules["constraint"] = Path(values["constraint"])
    options: dict[str, Any] = {**timed, **mapped, **rules, "neighbours": values["neighbours"], "kind": values["kind"]}
    options |= {**others, **_given(values, "attribute_share")}
    named(progress, "Learning a law of sequences from the file, with noise")(0, None)
    learned = learn(
        data, folder / "model.json", epsilon=values["epsilon"], lengths=lengths, columns=ColumnOptions(**columns),
        **public, **options,
    )  # fmt: skip
    named(progress, "Drawing synthetic sequences")(0, None)
    drawn = synthesize(learned, folder / "synthetic.csv", count=count, separator="|")
    named(progress, "Comparing them with the true ones")(0, None)
    reading: dict[str, Any] = {name: text for name, text in columns.items() if name != "person"}
    reading |= {name: timed[name] for name in ("timezone",) if name in timed}
    reading["zones"] = mapped.get("zones")
    compared = compare(data, folder / "synthetic.csv", places=public.get("places"), **reading)
    metrics, (first, *further) = compared.report(), comparison_sections(compared)
    sections = (
        _promised(values["epsilon"], learned, compared),
        first,
        _words(drawn, roads),
        *further,
        *_attributes(drawn),
        *(Section("All metrics", section.parts) for section in metrics.sections),
        central_promise(learned.manifest),
        _command("learn", values, {"lengths": values["lengths"], **public, **options, "out": "model.json"}, columns),
    )
    document: dict[str, object] = {
        "quality": None if learned.quality is None else learned.quality.document(),
        "guarantee": learned.guarantee.document(),
        "released": drawn.released,
        "comparison": {**compared.document(), "true": {"sequences": len(compared.true.words)}, "private": {}},
    }
    return Answer(
        report=Report(
            title=f"symveil: synthetic sequences, ε = {values['epsilon']} for each person", sections=sections
        ),
        document=document,
        columns=("metric", "value"),
        rows=tuple(compared.metrics.items()),
        marks=(("epsilon", values["epsilon"]), ("task", "synthesize"), ("times", str(compared.times is not None))),
        secret=True,
    )


def _promised(epsilon: str, learned: LearnedPrivately, compared: Comparison) -> Section:
    quality = learned.quality
    similarity = compared.metrics.get("log_similarity")
    loss = (
        "is what each **person** loses at most, for all of their records together. Synthetic sequences cost nothing "
        "more, however many are drawn."
    )
    parts: list[Part] = [Headline(f"ε = {epsilon}", loss, learned.guarantee.how)]
    if similarity is not None:
        meaning = (
            "is how alike the synthetic sequences are to the true ones: 1 − the earth mover's distance between them. "
            "1 is the same, and what follows on this page is for the holder of the file."
        )
        parts.append(Headline(f"{similarity:.2f} of 1", meaning))
    parts += [warning(each) for each in learned.warnings]
    if quality is not None:
        for section in quality.report().sections:
            parts += [Text(f"{section.heading}:", "quiet"), *section.parts]
    if compared.times is not None:
        parts.append(Text(f"{NOT_LEARNED[:1].upper()}{NOT_LEARNED[1:]}.", "quiet"))
    return Section("What is promised, and what to expect", tuple(parts))


def _words(drawn: Synthesized, roads: Mapping[str, Road]) -> Section:
    """Some synthetic sequences: on the map, where there is one."""
    explained = Text("They are not real: each is drawn from the law that was learned.", "quiet")
    if not roads:
        rows = [(" ".join(word), str(len(word))) for word in drawn.words[:_SHOWN_WORDS]]
        return Section("Synthetic sequences", (explained, Table.from_rows(("sequence", "symbols"), rows, words=(0,))))
    pictures = [
        Picture(road_map_svg(roads, word, title=name), name.replace(" ", "-"), caption=name)
        for number, word in enumerate(drawn.words[:_SHOWN_TRIPS], start=1)
        for name in [f"synthetic trip {number}"]
    ]
    return Section("Synthetic trips on the map", (explained, *pictures))


def _attributes(drawn: Synthesized) -> tuple[Section, ...]:
    """How often events of the synthetic sequences have each value of the other attributes."""
    parts: list[Part] = []
    for name, values in ({} if drawn.times is None else drawn.times.attributes).items():
        often = Counter(values).most_common(_SHOWN_VALUES)
        numbers = [number / len(values) for _, number in often]
        parts.append(Table.from_numbers((name, "share of events"), [value for value, _ in often], numbers))
    return (Section("Attributes of synthetic events", tuple(parts)),) if parts else ()


_OF_STATISTIC = {
    "starts": ("period",),
    "durations": ("durations", "quantiles"),
    "cycle-times": ("durations", "quantiles"),
    "mean-waits": ("cap",),
    "longest-waits": ("threshold",),
}
"""Options that one statistic of times has."""

# --- counts ----------------------------------------------------------------------------------------


def _counted(values: Mapping[str, str], folder: Path, progress: Progress) -> Answer:
    data, columns, public, _ = _read(values, folder)
    statistic = values["statistic"]
    if statistic == NGRAMS:
        statistic = f"ngrams:{read_whole('gram', values['gram'])}"
    timed = statistic in TIME_ROWS
    reading = {name: text for name, text in columns.items() if timed or name != "time"}
    options: dict[str, Any] = {"neighbours": values["neighbours"], "confidence": read_confidence(values["confidence"])}
    options |= _given(values, "delta")
    if statistic == "od" or statistic in ("starts", "cycle-times"):
        options |= _given(values, "zones") if "places" in public else {}
    else:
        public.pop("places", None)
    if timed:
        options |= _given(values, "by", "timezone", *_OF_STATISTIC.get(statistic, ()))
    bound = values["bound"].strip()
    options["bound"] = int(bound) if bound.isascii() and bound.isdigit() else bound
    if values["max_length"].strip():
        options["max_length"] = read_whole("max_length", values["max_length"])
    elif statistic == "lengths" and values["source"] == "millford":
        options["max_length"] = LONGEST
    named(progress, "Counting the file, with noise")(0, None)
    release = count_file(
        data, statistic, epsilon=values["epsilon"], out=folder / "table.json", columns=ColumnOptions(**reading),
        **public, **options,
    )  # fmt: skip
    assert release.counts is not None  # noqa: S101 - it was made just now
    lead = [Text(about_counts(release.manifest)), *map(warning, release.counts.warnings)]
    title = f"symveil: {statistic}, ε = {values['epsilon']} for each person"
    answer = table_answer(
        release.counts, str(public.get("places", "")) if statistic == "od" and "zones" not in options else "",
        central_promise(release.manifest, *lead), f"{statistic}: private counts", title, "private counts",
    )  # fmt: skip
    beside: tuple[Section, ...] = ()
    if not timed:
        named(progress, "Comparing the table with the true counts")(0, None)
        places, zones = public.get("places"), options.get("zones")
        table = folder / "table.json"
        compared = compare_table(data, table, columns=ColumnOptions(**reading), places=places, zones=zones)
        beside = tuple(Section("Beside the true counts", each.parts) for each in compared.report().sections)
    given = {"statistic": statistic, **public, **options, "out": "table.csv"}
    return answer.with_sections(*beside, _command("count", values, given, reading))
