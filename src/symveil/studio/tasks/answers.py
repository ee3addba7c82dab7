"""Answers: estimates from a private file and its manifest, as a table and a picture.

Answers from a central release: a table of private counts with intervals, synthetic words, what a model cost.

Ledger: who has spent what. Nothing is ever changed from here, but a made-up ledger where there is no other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from symveil.central.counts import shown_threshold
from symveil.central.unlisted_cells import counted_plainly
from symveil.comparison.distributions import CodedWords
from symveil.errors import FileError, ParameterError, SymveilError
from symveil.estimation.named_table import SHOWN, Estimate, NamedTable
from symveil.estimation.statistics import NGRAMS, Statistic, read_statistic
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.shapes import read_coordinates
from symveil.ledger.statements import Account, Entry, Totals
from symveil.numbers.progress import Progress, named
from symveil.numbers.rationals import exact, percent, spelled
from symveil.parameters import read_confidence, read_whole
from symveil.randomness import NotPrivateSeededBits
from symveil.release.central_job import queries_of
from symveil.reports.report import Facts, Headline, Listing, Marked, Part, Picture, Report, Section, Share, Table, Text
from symveil.studio.answer import Answer
from symveil.studio.limits import LIMITS
from symveil.tasks.budgets import (
    grant_budget,
    history_report,
    ledger_accounts,
    ledger_history,
    ledger_status,
    person_status,
    spent_in_units,
)
from symveil.tasks.compare_tables import plain_counts, read_words
from symveil.tasks.estimate import estimate
from symveil.tasks.estimate_runs import DURATIONS
from symveil.tasks.privatize_file import privatize_file
from symveil.tasks.synthesize import what_it_is
from symveil.tasks.table_files import central_manifest, read_counts, require_bytes

_ANY_LENGTH = 1 << 40


def answer_answers(values: Mapping[str, str], progress: Progress) -> Answer:
    """The Answers panel."""
    if values["source"] == "example":
        return _of_example(values, progress)
    if values["source"] != "file":
        raise ParameterError("source", expected="example or file", found=values["source"])
    if not values["private"] and not values["manifest"]:
        return _none()
    for name, what in (("private", "the private file"), ("manifest", "the manifest of the private file")):
        if not values[name]:
            raise ParameterError(name, expected=f"{what}: drop it here", found="none yet")
    statistic = values["statistic"]
    if statistic == NGRAMS:
        statistic = f"ngrams:{read_whole('order', values['order'])}"
    by = values["by"] or None
    central = None if by or statistic == DURATIONS else _central(values, read_statistic(statistic))
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
        confidence=read_confidence(values["confidence"]),
        assume=values["assume"] or None,
        by=by,
    )
    heading = f"Estimated {result.statistic}"
    title = f"symveil: {result.statistic} of the true sequences"
    return table_answer(result, values["places"], _assumptions(result), heading, title, result.method)


_PAGES = ("home", "search", "item", "basket", "pay", "help")
_VISITS, _SEED, _EPSILON = 4000, 1799, 3
_ONWARD = {"home": (1, 1, 2, 5), "search": (2, 2, 1, 0), "item": (3, 1, 2, 0), "basket": (4, 4, 2, 1)}
"""Where the visitors of a made-up shop go on to, as numbers of pages; from the other pages anywhere."""


@lru_cache(maxsize=1)
def _clicks() -> tuple[tuple[str, ...], ...]:
    """Visits to a made-up shop, the same each time."""
    lanes = NotPrivateSeededBits(_SEED).lanes(8 * _VISITS).reshape(_VISITS, 8).tolist()
    words = []
    for length, *draws in lanes:
        word = ["home"]
        for draw in draws[: 1 + length % 6]:
            onward = _ONWARD.get(word[-1], tuple(range(len(_PAGES))))
            word.append(_PAGES[onward[draw % len(onward)]])
        words.append(tuple(word))
    return tuple(words)


@lru_cache(maxsize=1)
def _private_clicks(folder: str | None) -> tuple[bytes, bytes]:
    """A private file of these visits and its manifest: one release, whatever is asked of it."""
    with TemporaryDirectory(dir=folder) as inside:
        true = Path(inside, "true.csv")
        lines = (f"{number},{' '.join(word)}\n" for number, word in enumerate(_clicks()))
        true.write_text(f"visit,pages\n{''.join(lines)}")
        released = privatize_file(
            true, Path(inside, "private.csv"), alphabet=_PAGES, epsilon=_EPSILON, identifier="visit", sequence="pages"
        )
        return released.out.read_bytes(), released.manifest_file.read_bytes()


def _of_example(values: Mapping[str, str], progress: Progress) -> Answer:
    """An answer from the example, beside the truth, which may be shown because the visits are made up."""
    named(progress, "Making a private file to ask")(0, None)
    folder = values.get("folder")
    with TemporaryDirectory(dir=folder) as inside:
        private, manifest = Path(inside, "private.csv"), Path(inside, "private.csv.manifest.json")
        for file, content in zip((private, manifest), _private_clicks(folder), strict=True):
            file.write_bytes(content)
        own = {**values, "source": "file", "private": str(private), "manifest": str(manifest), "model": ""}
        answer = answer_answers(own, progress)
    explained = Text(
        f"**{_VISITS:,} visits to a made-up shop**, released at ε = {_EPSILON} for visits that differ in one page. The "
        "cross is what one counts in the private file, the bar the estimate with its interval. The visits "
        "are made up, so that the truth can be shown beside."
    )
    first, *others = answer.sections
    sections = (Section(first.heading, (explained, *first.parts)), *_beside(answer), *others)
    return replace(answer, report=replace(answer.report, sections=sections))


def _beside(answer: Answer) -> tuple[Section, ...]:
    """The true counts of the example beside the estimates, and how many intervals cover them."""
    statistic = read_statistic(str(answer.document["statistic"]))
    if statistic.name in ("positions", "presence", "transitions") or answer.document["target"] != "file":
        return ()
    words = CodedWords.from_words([[_PAGES.index(page) for page in word] for word in _clicks()], symbols=len(_PAGES))
    true = plain_counts(statistic, _PAGES, words, longest=_ANY_LENGTH)
    rows, covered = [], 0
    for row in answer.document["rows"]:  # type: ignore[attr-defined]
        cell = tuple(row["symbols"]) if statistic.kind != "lengths" else (str(row["length"]),)
        covered += row["low"] <= true[cell] <= row["high"]
        numbers = (f"{row[name]:,.0f}" for name in ("released", "estimate", "low", "high"))
        rows.append((" → ".join(cell), f"{true[cell]:,}", *numbers))
    sentence = Text(f"{covered} of {len(rows)} intervals cover the true count.")
    columns = ("row", "true", "in the private file", "estimate", "low", "high")
    return (Section("Beside the truth", (sentence, Table.from_rows(columns, rows[: LIMITS.now.rows_beside]))),)


def table_answer(table: NamedTable, places: str, about: Section, heading: str, title: str, method: str) -> Answer:
    """A table of estimates or of private counts: its picture, its largest rows, and what is known about them.

    `about` says what the numbers rest on; `places` is a file, or an empty text.
    """
    listing, *others = table.report(SHOWN).sections
    first, _, covers = listing.heading.partition("\n")
    more = f"; the {LIMITS.now.rows:,} largest can be downloaded" if len(table) > LIMITS.now.rows else ""
    row_by_row = Section("Row by row", (*listing.parts, Text(f"{first}{more}; {covers}.", "quiet")))
    svg = table.to_svg(read_coordinates(places) if places else None)
    picture = Picture(svg, table.statistic.replace(":", "-"), large=True)
    listed = table.largest(LIMITS.now.rows).table
    return Answer(
        report=Report(title=title, sections=(Section(heading, (picture,)), row_by_row, *others, about)),
        document=table.document(LIMITS.now.rows),
        columns=tuple(listed.column_names),
        rows=tuple(zip(*(column.to_pylist() for column in listed.columns), strict=True)),
        marks=(("statistic", table.statistic), ("rows", str(len(table))), ("method", method)),
    )


def _none() -> Answer:
    explained = (
        "Drop a private file and its manifest beside: both were written by `symveil privatize`. Where the release was "
        "on the words of a model, drop the model too. A table that `symveil count` wrote and synthetic words can be "
        "looked at in the same way.",
        "Nothing else is read: an answer costs no privacy. The same on the command line: `symveil estimate private.csv "
        "--statistic visits`.",
    )
    sections = (Section("No private file yet", tuple(map(Text, explained))),)
    return Answer.without(Report(title="symveil: answers", sections=sections))


def _assumptions(estimate: Estimate) -> Section:
    about = "these sequences" if estimate.target == "file" else "as many sequences of their population"
    lead = (
        f"About {about}, by {estimate.method}. **low** and **high** cover each number with confidence "
        f"{estimate.confidence:g}, **low all** and **high all** all of them at once. The estimate is unbiased and may "
        "be negative; **consistent** is the nearest table that could be true."
    )
    return Section("What it rests on", (Text(lead), Listing(tuple(estimate.assumptions))))


# --- central releases: a table of private counts, synthetic words, a model -------------------------------------


def _central(values: Mapping[str, str], statistic: Statistic) -> Answer | None:
    """What there is to see of a central release; None where the manifest is another's."""
    path, manifest = Path(values["private"]), Path(values["manifest"])
    document = central_manifest(path, manifest)
    if document is None:
        return None
    try:
        if document["release"] == "count":
            table: NamedTable = read_counts(path, manifest=manifest)
            lead, kind = Text(about_counts(document)), "private counts"
        else:
            require_bytes(path, document)
            if document["release"] != "synthesize":
                return _model(document)
            table = _counted(path, document, counted_plainly(statistic))
            lead = Text(
                f"These are {what_it_is(document)}: counted as they are. A synthetic word belongs to no person."
            )
            kind = "synthetic"
        heading = f"{table.statistic}: {kind}"
        promise = central_promise(document, lead)
        return table_answer(table, values["places"], promise, heading, f"symveil: {table.statistic}, {kind}", kind)
    except SymveilError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise FileError(str(manifest), expected="a manifest as symveil writes it", found="another document") from None


def _model(document: dict[str, Any]) -> Answer:
    lead = Text(
        "A model that was learned privately. Drop it on **Release** as the public model of private words, or draw from "
        "it: `symveil synthesize model.json --count 1000 --out synthetic.csv`."
    )
    rows = tuple((each.name, spelled(each.epsilon), each.bound) for each in queries_of(document))
    return Answer(
        report=Report(title="symveil: a model that was learned privately", sections=(central_promise(document, lead),)),
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


def about_counts(document: dict[str, Any]) -> str:
    """What private counts are, by their manifest."""
    delta = ""
    if "delta_exact" in document:
        least = shown_threshold(queries_of(document)[-1])
        delta = f" The alphabet was not public: only rows from {least:.6g} on are there."
    return (
        "Counts of a whole file with noise, one ε for each person. **low** and **high** cover each bounded count with "
        f"confidence {float(document['parameters']['confidence']):g}.{delta}"
    )


def central_promise(document: dict[str, Any], *lead: Text) -> Section:
    """What each person loses at most by a central release, query by query."""
    queries = queries_of(document)
    columns = ("query", "epsilon", "one person adds at most", "scale of the noise")
    rows = [(each.name, spelled(each.epsilon), str(each.bound), str(each.document()["scale"])) for each in queries]
    delta = f", δ = {document['delta_exact']}" if "delta_exact" in document else ""
    files = "with other records in a person's place" if document["neighbours"] == "replace" else "without a person"
    epsilon = spelled(sum((each.epsilon for each in queries), start=Fraction(0)))
    loss = Marked((
        f"ε = {epsilon}{delta} for each ", "person", f", whatever their number of records; files {files} look alike. "
        f"Release {document['release_id']}; symveil check rechecks all of it.",
    ))  # fmt: skip
    return Section("What is promised", (*lead, Text(loss), Table.from_rows(columns, rows)))


def answer_ledger(values: Mapping[str, str], progress: Progress) -> Answer:
    """The Ledger panel; `address` is the ledger that the studio was started with."""
    ledger = values["ledger"] or values["address"]
    if not ledger:
        return _of_example_ledger(values, progress)
    named(progress, "Reading the ledger")(0, None)
    totals = ledger_status(ledger)
    person = values["person"].strip()
    accounts = [person_status(ledger, person)] if person else ledger_accounts(ledger, most=LIMITS.now.persons)
    entries = ledger_history(ledger, person or None)
    return Answer(
        report=Report(
            title="symveil: the ledger",
            sections=(
                *_totals(totals, values.get("named") or ("the dropped file" if values["ledger"] else _plain(ledger))),
                _accounts(accounts, totals, person),
                _history(entries),
            ),
        ),
        document={
            "status": totals.document(),
            "accounts": [each.document() for each in accounts],
            "entries": [entry.document() for entry in entries[-LIMITS.now.entries :]],
        },
        columns=("person", "granted", "spent", "left", "units"),
        rows=tuple((each.person, each.granted, each.spent, each.left, spent_in_units(each)) for each in accounts),
        marks=(("persons", str(totals.persons)), ("spent", totals.most_spent), ("left", totals.least_left)),
        secret=True,
    )


_PERSONS = ("ada", "alan", "barbara", "edsger", "grace", "tony")
_RELEASES = (("september", "0.5", 1), ("october", "1", 2))
"""Releases of the example: a name, an ε, and how many times more trips a person has than the one before."""


def _of_example_ledger(values: Mapping[str, str], progress: Progress) -> Answer:
    """A made-up ledger, where there is no other: two releases of the trips of six persons."""
    named(progress, "Making up a ledger")(0, None)
    with TemporaryDirectory(dir=values.get("folder")) as inside:
        ledger, true = Path(inside, "example.db"), Path(inside, "true.csv")
        grant_budget(ledger, "6", everyone=True)
        grant_budget(ledger, "4", persons=["grace"])
        for name, epsilon, more in _RELEASES:
            owners = [person for trips, person in enumerate(_PERSONS) for _ in range(more * trips // 2 + 1)]
            lines = (f"{number},{person},ab\n" for number, person in enumerate(owners))
            true.write_text(f"trip,person,streets\n{''.join(lines)}")
            privatize_file(
                true, Path(inside, f"{name}.csv"), alphabet="abc", epsilon=epsilon, identifier="trip", person="person",
                sequence="streets", separator="", ledger=ledger, release_id=name, over_budget="drop",
            )  # fmt: skip
        answer = answer_ledger({**values, "ledger": str(ledger), "named": "the example"}, progress)
    explained = (
        "**A made-up ledger:** every person may spend ε = 6, and one of them more. Each release is charged before "
        "anything is drawn, once for each trip of a person; a release that a budget does not cover leaves that person "
        "out.",
        "Start the studio with `symveil studio --ledger budgets.db`, or drop a ledger file beside, to see your own. It "
        "is only read.",
    )
    opening = Section("An example", tuple(map(Text, explained)))
    return replace(answer, report=replace(answer.report, sections=(opening, *answer.sections)), secret=False)


def _plain(ledger: str) -> str:
    """A name for the page: no folder, and no password, which may also stand behind a question mark.

    >>> _plain("postgresql://ada:secret@host/budgets?sslpassword=secret"), _plain("/home/ada/budgets.db")
    ('host/budgets', 'budgets.db')
    """
    return ledger.rpartition("@")[2].partition("?")[0] if "://" in ledger else Path(ledger).name


def _totals(totals: Totals, name: str) -> tuple[Section, ...]:
    """The ledger as the command line shows it, below its largest numbers."""
    report = totals.report()
    persons = "person" if totals.persons == 1 else "persons"
    releases = f"{totals.releases:,} release{'' if totals.releases == 1 else 's'}"
    facts = Facts.from_rows(row for row in report.facts(report.title).items() if row[0] not in _HEADLINES)
    parts: tuple[Part, ...] = (
        Headline(f"{totals.persons:,}", Marked((f"{persons} in {name}; {releases}.",))),
        Headline(f"ε = {totals.most_spent}", "is the most that a person has spent."),
        Headline(f"ε = {totals.least_left}", "is the least that a person has left."),
        facts,
        *(Text(Marked((f"{note[:1].upper()}{note[1:]}.",)), "quiet") for note in report.notes),
    )
    return Section("The ledger", parts), *report.sections[1:]


_HEADLINES = {"persons", "releases", "most spent", "least left"}


def _accounts(accounts: list[Account], totals: Totals, person: str) -> Section:
    columns = ("person", "used", "", "spent ε", "granted ε", "left ε", "in which unit")
    rows = []
    for each in accounts:
        used = _used(each)
        composed = "" if each.composed_epsilon is None else f" (composed {each.composed_epsilon:.4g})"
        left = each.left + composed
        bar = Share(min(used, 1.0))
        rows.append((each.person, bar, percent(used), each.spent, each.granted, left, spent_in_units(each)))
    parts: list[Table | Text] = [Table.from_rows(columns, rows)]
    more = totals.persons - len(accounts)
    if not person and more > 0:
        parts.append(Text(f"Those who have spent most; {more:,} more. Name a person to see theirs.", "quiet"))
    return Section("Who has spent what", tuple(parts))


def _used(account: Account) -> float:
    """Which share of a budget was spent."""
    granted = exact(account.granted)
    return float(exact(account.spent) / granted) if granted > 0 else float(exact(account.spent) > 0)


def _history(entries: list[Entry]) -> Section:
    shown = entries[-LIMITS.now.entries :][::-1]
    (section,) = history_report(shown).sections
    more = len(entries) - len(shown)
    earlier = (Text(f"The newest first; {more:,} earlier ones.", "quiet"),) if more > 0 else ()
    return Section("What happened", (*section.parts, *earlier))
