"""Answers: estimates from a private file and its manifest, as a table and a picture.

Answers from a central release: a table of private counts with intervals, synthetic words, what a model cost.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from symveil.central.counts import PrivateCounts, shown_threshold
from symveil.central.unlisted_cells import counted_plainly
from symveil.errors import FileError, ParameterError, SymveilError
from symveil.estimation.estimate import NUMBERS, Estimate
from symveil.estimation.named_table import NamedTable
from symveil.estimation.names import NGRAMS
from symveil.estimation.statistics import Statistic, read_statistic
from symveil.formats.maps.coordinates import read_coordinates
from symveil.formats.sequences.columns import ColumnOptions
from symveil.numbers.progress import Progress, named
from symveil.numbers.rationals import spelled
from symveil.release.spec import queries_of
from symveil.reports.page import table
from symveil.studio.answer import Answer, Section
from symveil.studio.tasks.subject import read_whole
from symveil.tasks.central_files import central_manifest, read_counts, require_bytes
from symveil.tasks.compare import read_words
from symveil.tasks.compare_tables import plain_counts
from symveil.tasks.estimate import estimate
from symveil.tasks.synthesize import what_it_is

_COLUMNS = ("count", "low", "high", "low_all", "high_all", "consistent")
_ANY_LENGTH = 1 << 40


def central_answer(values: Mapping[str, str], statistic: Statistic, *, shown: int, most: int) -> Answer | None:
    """What there is to see of a central release; None where the manifest is another's.

    Parameters
    ----------
    values
        The form: the file, its manifest, places.
    statistic
        What is counted in synthetic words.
    shown, most
        Rows on the page, and in what is downloaded.
    """
    path, manifest = Path(values["private"]), Path(values["manifest"])
    document = central_manifest(path, manifest)
    if document is None:
        return None
    try:
        if document["release"] == "count":
            answer_table: NamedTable = read_counts(path, manifest=manifest)
            lead = _about_counts(document)
        else:
            require_bytes(path, document)
            if document["release"] != "synthesize":
                return _model(document)
            answer_table = _counted(path, document, counted_plainly(statistic))
            lead = (
                f"<p>These are {what_it_is(document)}: counted as they are. A synthetic word belongs to no person.</p>"
            )
        return _shown(answer_table, values["places"], _promise(document, lead), shown, most)
    except SymveilError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise FileError(str(manifest), expected="a manifest as symveil writes it", found="another document") from None


def _shown(table_shown: NamedTable, places: str, promise: Section, shown: int, most: int) -> Answer:
    heads, rows = table_shown.as_text([name for name in _COLUMNS if name in table_shown.numbers], top=shown)
    after = (
        f'<p class="quiet">The {len(rows)} largest of {len(table_shown):,} rows.</p>'
        if len(rows) < len(table_shown)
        else ""
    )
    listed = table_shown.largest(most).table
    kind = "private counts" if isinstance(table_shown, PrivateCounts) else "synthetic"
    return Answer(
        title=f"symveil: {table_shown.statistic}, {kind}",
        sections=(
            Section(
                heading=f"{table_shown.statistic}: {kind}",
                svg=table_shown.to_svg(read_coordinates(places) if places else None),
                picture=table_shown.statistic.replace(":", "-"),
                wide=True,
                large=True,
            ),
            Section(
                heading="Row by row",
                body=table(heads, [[html.escape(cell) for cell in row] for row in rows]),
                after=after,
                wide=True,
            ),
            promise,
        ),
        document=table_shown.document(most),
        columns=tuple(listed.column_names),
        rows=tuple(zip(*(column.to_pylist() for column in listed.columns), strict=True)),
        marks=(("statistic", table_shown.statistic), ("rows", str(len(table_shown))), ("method", kind)),
    )


def _model(document: dict[str, Any]) -> Answer:
    lead = (
        "<p>A model that was learned privately. Drop it on <b>Release</b> as the public model of private words, or "
        "draw from it: <code>symveil synthesize model.json --count 1000 --out synthetic.csv</code>.</p>"
    )
    promise = _promise(document, lead)
    rows = tuple((each.name, spelled(each.epsilon), each.bound) for each in queries_of(document))
    return Answer(
        title="symveil: a model that was learned privately",
        sections=(promise,),
        document=document,
        columns=("query", "epsilon", "bound"),
        rows=rows,
        marks=(("statistic", "model"), ("rows", str(len(rows))), ("method", "learned privately")),
    )


def _counted(path: Path, document: dict[str, Any], statistic: Statistic) -> NamedTable:
    """What synthetic words have of a statistic: counts, and no interval, because nothing is estimated."""
    symbols, words = read_words(path, ColumnOptions.from_names(document["output"]["columns"]), name="synthetic")
    counts = sorted(
        plain_counts(statistic, symbols, words, longest=_ANY_LENGTH).items(), key=lambda each: (-each[1], each[0])
    )
    by_length, code = statistic.kind == "lengths", {symbol: index for index, symbol in enumerate(symbols)}
    numbers = np.array([count for _, count in counts], dtype=np.float64)
    cells = [[] if by_length else [code[symbol] for symbol in cell] for cell, _ in counts]
    return NamedTable(
        statistic=statistic.name,
        confidence=1.0,
        symbols=symbols,
        leading="length" if by_length else None,
        places=np.array([int(cell[0]) for cell, _ in counts], dtype=np.int64) if by_length else None,
        codes=np.array(cells, dtype=np.int64).reshape(len(counts), 0 if by_length else statistic.order),
        numbers={"count": numbers, "low": numbers, "high": numbers, "consistent": numbers},
    )


def _about_counts(document: dict[str, Any]) -> str:
    delta = ""
    if "delta_exact" in document:
        least = shown_threshold(queries_of(document)[-1])
        delta = f" The alphabet was not public: only rows from {least:.6g} on are there."
    return (
        "<p>Counts of a whole file with noise, one ε for each person. <b>low</b> and <b>high</b> cover each bounded "
        f"count with confidence {float(document['parameters']['confidence']):g}.{delta}</p>"
    )


def _promise(document: dict[str, Any], lead: str) -> Section:
    queries = queries_of(document)
    columns = ("query", "epsilon", "one person adds at most", "scale of the noise")
    rows = [(each.name, spelled(each.epsilon), str(each.bound), str(each.document()["scale"])) for each in queries]
    delta = f", δ = {html.escape(str(document['delta_exact']))}" if "delta_exact" in document else ""
    files = "with other records in a person's place" if document["neighbours"] == "replace" else "without a person"
    body = (
        f"{lead}<p>ε = {html.escape(spelled(sum((each.epsilon for each in queries), start=Fraction(0))))}"
        f"{delta} for each <b>person</b>, whatever their number of records; files {files} look alike. Release "
        f"<code>{html.escape(str(document['release_id']))}</code>; <code>symveil check</code> rechecks all of it.</p>"
    )
    cells = [[html.escape(cell) for cell in row] for row in rows]
    return Section(heading="What is promised", body=body + table(columns, cells), wide=True)


SHOWN_ROWS, MOST_ROWS = 50, 20_000
"""On the page, and in what is downloaded from it."""


def answer_answers(values: Mapping[str, str], progress: Progress) -> Answer:
    """The Answers panel."""
    if not values["private"] and not values["manifest"]:
        return _none()
    for name, what in (("private", "the private file"), ("manifest", "the manifest of the private file")):
        if not values[name]:
            raise ParameterError(name, expected=f"{what}: drop it here", found="none yet")
    statistic = values["statistic"]
    if statistic == NGRAMS:
        statistic = f"ngrams:{read_whole('order', values['order'])}"
    central = central_answer(values, read_statistic(statistic), shown=SHOWN_ROWS, most=MOST_ROWS)
    if central is not None:
        return central
    named(progress, "Undoing the noise; for a file on a model this can take minutes")(0, None)
    result = estimate(
        values["private"],
        statistic,
        manifest=values["manifest"],
        model=values["model"] or None,
        target=values["target"],
        cluster=values["cluster"].strip() or None,
        confidence=_confidence(values["confidence"]),
        assume=values["assume"] or None,
    )
    listed = result.largest(MOST_ROWS).table
    return Answer(
        title=f"symveil: {result.statistic} of the true sequences",
        sections=(_picture(result, values["places"]), _rows(result), _assumptions(result)),
        document=result.document(MOST_ROWS),
        columns=tuple(listed.column_names),
        rows=tuple(zip(*(column.to_pylist() for column in listed.columns), strict=True)),
        marks=(("statistic", result.statistic), ("rows", str(len(result))), ("method", result.method)),
    )


def _none() -> Answer:
    body = (
        "<p>Drop a private file and its manifest beside: both were written by <code>symveil privatize</code>. Where "
        "the release was on the words of a model, drop the model too. A table that <code>symveil count</code> wrote "
        "and synthetic words can be looked at in the same way.</p><p>Nothing else is read: an answer costs no "
        "privacy. The same on the command line: <code>symveil estimate private.csv --statistic visits</code>.</p>"
    )
    return Answer.without("symveil: answers", heading="No private file yet", body=body)


def _confidence(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError("confidence", expected="a number between 0 and 1 such as 0.95", found=text) from None


def _picture(estimate: Estimate, places: str) -> Section:
    return Section(
        heading=f"Estimated {estimate.statistic}",
        svg=estimate.to_svg(read_coordinates(places) if places else None),
        picture=estimate.statistic.replace(":", "-"),
        wide=True,
        large=True,
    )


def _rows(estimate: Estimate) -> Section:
    columns, rows = estimate.as_text(NUMBERS, top=SHOWN_ROWS)
    after = ""
    if len(rows) < len(estimate):
        more = f"; the {MOST_ROWS:,} largest can be downloaded" if len(estimate) > MOST_ROWS else ""
        after = f'<p class="quiet">The {len(rows)} largest of {len(estimate):,} rows{more}.</p>'
    return Section(
        heading="Row by row",
        body=table(columns, [[html.escape(cell) for cell in row] for row in rows]),
        after=after,
        wide=True,
    )


def _assumptions(estimate: Estimate) -> Section:
    about = "these sequences" if estimate.target == "file" else "as many sequences of their population"
    lead = (
        f"<p>About {about}, by {html.escape(estimate.method)}. <b>low</b> and <b>high</b> cover each number with "
        f"confidence {estimate.confidence:g}, <b>low all</b> and <b>high all</b> all of them at once. The estimate is "
        "unbiased and may be negative; <b>consistent</b> is the nearest table that could be true.</p>"
    )
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in estimate.assumptions)
    return Section(heading="What it rests on", body=f"{lead}<ul>{notes}</ul>", wide=True)
