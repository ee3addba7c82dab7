"""Answers: estimates from a private file and its manifest, as a table and a picture."""

from __future__ import annotations

import html
from collections.abc import Mapping

from symveil.errors import ParameterError
from symveil.estimation.estimate import NUMBERS, Estimate
from symveil.estimation.statistics import NGRAMS, read_statistic
from symveil.formats.maps.coordinates import read_coordinates
from symveil.formats.page import table
from symveil.numbers.progress import Progress, named
from symveil.studio.answer import Answer, Section
from symveil.studio.tasks.central import central_answer
from symveil.studio.tasks.subject import read_whole
from symveil.tasks.estimate import estimate

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
    found = estimate(
        values["private"],
        statistic,
        manifest=values["manifest"],
        model=values["model"] or None,
        target=values["target"],
        cluster=values["cluster"].strip() or None,
        confidence=_confidence(values["confidence"]),
        assume=values["assume"] or None,
    )
    listed = found.largest(MOST_ROWS).table
    return Answer(
        title=f"symveil: {found.statistic} of the true sequences",
        sections=(_picture(found, values["places"]), _rows(found), _said(found)),
        document=found.document(MOST_ROWS),
        columns=tuple(listed.column_names),
        rows=tuple(zip(*(column.to_pylist() for column in listed.columns), strict=True)),
        marks=(("statistic", found.statistic), ("rows", str(len(found))), ("method", found.method)),
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


def _picture(found: Estimate, places: str) -> Section:
    return Section(
        heading=f"Estimated {found.statistic}",
        svg=found.to_svg(read_coordinates(places) if places else None),
        picture=found.statistic.replace(":", "-"),
        wide=True,
        large=True,
    )


def _rows(found: Estimate) -> Section:
    columns, rows = found.as_text(NUMBERS, top=SHOWN_ROWS)
    after = ""
    if len(rows) < len(found):
        more = f"; the {MOST_ROWS:,} largest can be downloaded" if len(found) > MOST_ROWS else ""
        after = f'<p class="quiet">The {len(rows)} largest of {len(found):,} rows{more}.</p>'
    return Section(
        heading="Row by row",
        body=table(columns, [[html.escape(cell) for cell in row] for row in rows]),
        after=after,
        wide=True,
    )


def _said(found: Estimate) -> Section:
    about = "these sequences" if found.target == "file" else "as many sequences of their population"
    lead = (
        f"<p>About {about}, by {html.escape(found.method)}. <b>low</b> and <b>high</b> cover each number with "
        f"confidence {found.confidence:g}, <b>low all</b> and <b>high all</b> all of them at once. The estimate is "
        "unbiased and may be negative; <b>consistent</b> is the nearest table that could be true.</p>"
    )
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in found.assumptions)
    return Section(heading="What it rests on", body=f"{lead}<ul>{notes}</ul>", wide=True)
